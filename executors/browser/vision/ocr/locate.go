package ocr

import (
	"cmp"
	"context"
	"fmt"
	"image"
	"maps"
	"slices"
	"strings"

	"toolsvc/executors/browser/vision"
)

// Locate returns the labels that are the query's name, best first. Only those of the best grade
// are returned (letter for letter, or equal but for case and punctuation, or similar), all with the same
// confidence, because a difference in how well they were read says nothing about which one
// is meant. Without a name, the words of the description that name visible text are used.
func (g *Grounder) Locate(ctx context.Context, shot vision.Screenshot, q vision.Query) ([]vision.Candidate, error) {
	want := wording{strings.TrimSpace(q.Name), strings.TrimSpace(q.Within), strings.TrimSpace(q.Near)}
	if want.name == "" {
		d := describe(q.Description)
		want = wording{d.name, cmp.Or(want.within, d.within), cmp.Or(want.near, d.near)}
	}
	if want.name == "" {
		return nil, nil
	}
	r, data, err := g.ready()
	if err != nil {
		return nil, err
	}
	languages := languagesOf(want.name, want.within, want.near)
	if err := checkLanguages(data, languages); err != nil {
		return nil, err
	}
	region := q.Region
	if want.within != "" || want.near != "" {
		region = vision.Rect{} // the texts that give the scope may stand outside of it
	}
	s, origin, err := g.open(ctx, shot, region)
	if err != nil {
		return nil, fmt.Errorf("look for the text %q: %w", want.name, err)
	}
	search := &search{reader: r, sheet: s, languages: strings.Join(languages, "+"), words: map[int][]word{}}
	found, err := search.locate(ctx, want, func(m match) bool {
		x, y := css(m.run.box, origin, s.scale).Center()
		return q.Region.Empty() || q.Region.Contains(x, y)
	}, g.options.Floor)
	if err != nil {
		return nil, fmt.Errorf("look for the text %q: %w", want.name, err)
	}
	candidates := make([]vision.Candidate, 0, len(found))
	for _, m := range found {
		candidates = append(candidates, vision.Candidate{
			Box: css(m.run.box, origin, s.scale), Text: m.run.text(), Confidence: m.confidence, Exact: m.grade == exact,
			Within: m.within, Near: m.near,
		})
	}
	return candidates, nil
}

// match is a run that is the phrase.
type match struct {
	run run
	verdict
	confidence   float64
	within, near string
}

// search is one question about one sheet.
type search struct {
	reader    *reader
	sheet     *sheet
	languages string
	words     map[int][]word // of the strips that were read
}

func (f *search) locate(ctx context.Context, want wording, inside func(match) bool, floor float64) ([]match, error) {
	labels := findWrapped(f.sheet)
	which := f.plausible(want.name, labels)
	if err := f.read(ctx, which); err != nil {
		return nil, err
	}
	matches := f.matches(want.name, which, labels)
	matches, err := f.readAgain(ctx, want.name, which, labels, matches)
	if err != nil {
		return nil, err
	}
	if matches, err = f.uncontradicted(ctx, matches); err != nil {
		return nil, err
	}
	// Everything that may be the phrase counts as a target, so that no target is taken for the
	// heading of another.
	targets := map[int]bool{}
	for _, m := range matches {
		for _, k := range m.run.strips {
			targets[k] = true
		}
	}
	matches = slices.DeleteFunc(matches, func(m match) bool { return m.confidence < floor || !inside(m) })
	if len(matches) == 0 {
		return nil, nil
	}
	if want.within != "" {
		headings, err := f.find(ctx, want.within, targets)
		if err != nil {
			return nil, err
		}
		var kept []match
		for i, inside := range f.scene().within(boxes(matches), headings, targets) {
			if inside {
				kept = append(kept, matches[i])
			}
		}
		matches = kept
	}
	if want.near != "" {
		texts, err := f.find(ctx, want.near, targets)
		if err != nil {
			return nil, err
		}
		matches = f.nearest(matches, texts, targets)
	}
	matches = bestGrade(matches)
	if len(matches) > 1 || want.within != "" || want.near != "" {
		if err := f.tellApart(ctx, matches, targets); err != nil {
			return nil, err
		}
	}
	return matches, nil
}

func boxes(matches []match) []image.Rectangle {
	list := make([]image.Rectangle, len(matches))
	for i, m := range matches {
		list[i] = m.run.box
	}
	return list
}

func (f *search) scene() *scene {
	return &scene{strips: f.sheet.strips, surfaces: f.sheet.ground.list, size: f.sheet.size}
}

// read reads strips that were not read yet.
func (f *search) read(ctx context.Context, which []int) error {
	unread := slices.DeleteFunc(slices.Clone(which), func(k int) bool { _, ok := f.words[k]; return ok })
	words, err := f.reader.read(ctx, f.sheet, unread, f.languages, lineHeight)
	if err != nil {
		return err
	}
	for n, k := range unread {
		f.words[k] = words[n]
	}
	return nil
}

// plausible selects the strips that can hold the phrase: those of about its length, those that are
// part of a wrapped label, and those that are long because several labels lie on one line.
func (f *search) plausible(phrase string, labels []wrapped) []int {
	var which []int
	for k := range f.sheet.strips {
		if f.suits(k, phrase) {
			which = append(which, k)
		}
	}
	for _, l := range labels {
		for _, k := range l.strips {
			if !slices.Contains(which, k) {
				which = append(which, k)
			}
		}
	}
	return which
}

// suits reports whether a strip, or a part of it between wide gaps, may be a phrase by its size.
func (f *search) suits(k int, phrase string) bool {
	s := &f.sheet.strips[k]
	boxes := make([]image.Rectangle, len(s.letters))
	for i, l := range s.letters {
		boxes[i] = f.sheet.letters[l].box
	}
	return suits(phrase, boxes, s.cap)
}

// runs are the labels among strips that were read.
func (f *search) runs(which []int, labels []wrapped) []run {
	var runs []run
	for _, k := range which {
		runs = append(runs, splitRuns(k, &f.sheet.strips[k], f.words[k])...)
	}
	singles := len(runs)
	for _, l := range labels {
		if joined, ok := l.label(runs[:singles]); ok {
			runs = append(runs, joined)
		}
		if l.centred {
			for i := range runs[:singles] {
				runs[i].partial = runs[i].partial || slices.Contains(l.strips, runs[i].strips[0])
			}
		}
	}
	return runs
}

func (f *search) matches(phrase string, which []int, labels []wrapped) []match {
	var matches []match
	for _, r := range f.runs(which, labels) {
		if r.torn || r.partial {
			continue
		}
		if v := compare(phrase, r.words, f.clear(r)); v.grade != differs {
			matches = append(matches, match{run: r, verdict: v, confidence: confidence(v, r.lines, phrase)})
		}
	}
	return matches
}

// clear reports whether a run stands on surfaces, not on a busy place.
func (f *search) clear(r run) bool {
	return !slices.ContainsFunc(r.strips, func(k int) bool { return f.sheet.strips[k].surface <= 0 })
}

// confidence joins how well a text fits and how well it was read. A short text says less: with two
// letters, a doubtful reading is hardly one.
func confidence(v verdict, lines int, phrase string) float64 {
	weight := 0.3
	switch n := len([]rune(squeeze(phrase))); {
	case n <= 2:
		weight = 0.8
	case n <= 4:
		weight = 0.5
	}
	c := v.quality * (1 - weight*(1-min(1, v.sure/90)))
	if lines > 1 {
		c *= 0.95
	}
	return c
}

// maxAgain bounds how many strips are read a second time.
const maxAgain = 16

// wellRead is how sure the engine is of a word in clear print; below it, and on busy places, a
// second reading has to confirm the first one.
const wellRead = 85

// readAgain reads some strips a second time, at another size: what resembles the phrase without
// being it letter for letter, and what is the phrase but was not read well. The second reading may
// raise the grade of the former, and has to agree about the latter. What reads twice alike is
// what it reads, so it is no longer similar to anything else.
func (f *search) readAgain(ctx context.Context, phrase string, which []int, labels []wrapped, matches []match) ([]match, error) {
	settled, again := map[int]bool{}, []int(nil)
	for _, m := range matches {
		if m.grade == exact && m.sure >= wellRead && f.clear(m.run) {
			for _, k := range m.run.strips {
				settled[k] = true
			}
		}
	}
	add := func(r run) {
		for _, k := range r.strips {
			if !settled[k] && len(again) < maxAgain {
				settled[k] = true
				again = append(again, k)
			}
		}
	}
	for _, m := range matches {
		add(m.run)
	}
	for _, r := range f.runs(which, labels) {
		if resembles(phrase, r.words) {
			add(r)
		}
	}
	if len(again) == 0 {
		return matches, nil
	}
	words, err := f.reader.read(ctx, f.sheet, again, f.languages, otherHeight)
	if err != nil {
		return nil, err
	}
	second := &search{reader: f.reader, sheet: f.sheet, languages: f.languages, words: maps.Clone(f.words)}
	for n, k := range again {
		second.words[k] = words[n]
	}
	joined, doubtful := agree(matches, second.matches(phrase, which, labels), func(r run) bool {
		return slices.ContainsFunc(r.strips, func(k int) bool { return slices.Contains(again, k) })
	}, func(r run) bool { return sameText(r, f.words, second.words) })
	for _, m := range doubtful {
		if words, err = f.reader.read(ctx, f.sheet, m.run.strips, f.languages, thirdHeight); err != nil {
			return nil, err
		}
		for n, k := range m.run.strips {
			second.words[k] = words[n]
		}
		if sameText(m.run, f.words, second.words) {
			m.confidence *= disagreed
			joined = append(joined, m)
		}
	}
	return joined, nil
}

// agree joins the matches of two readings. Again says which runs were read twice, same whether
// they read alike. About those that match the first time only, a third reading has to decide.
func agree(first, second []match, again, same func(run) bool) (joined, doubtful []match) {
	counterpart := func(of match, in []match) int {
		return slices.IndexFunc(in, func(m match) bool {
			return slices.Equal(m.run.strips, of.run.strips) && covers(m.run.box, of.run.box)
		})
	}
	for _, m := range first {
		i := counterpart(m, second)
		switch {
		case !again(m.run):
		case i >= 0 && second[i].grade > m.grade:
			m = second[i]
			m.confidence *= disagreed
		case m.grade == similar:
			if same(m.run) {
				continue
			}
			m.confidence *= disagreed
		case i < 0 || second[i].grade == similar:
			doubtful = append(doubtful, m)
			continue
		}
		joined = append(joined, m)
	}
	for _, m := range second {
		if again(m.run) && m.grade > similar && counterpart(m, first) < 0 && m.sure >= wellRead {
			m.confidence *= disagreed
			joined = append(joined, m)
		}
	}
	return joined, doubtful
}

// disagreed is what is left of the confidence when two readings differ.
const disagreed = 0.94

// sameText reports whether the strips of a run read alike in two readings.
func sameText(r run, a, b map[int][]word) bool {
	for _, k := range r.strips {
		if !slices.EqualFunc(a[k], b[k], func(v, w word) bool { return fold(v.text) == fold(w.text) }) {
			return false
		}
	}
	return true
}

// uncontradicted drops matches over which another layer of the picture reads a longer text that
// holds the phrase: "like" is not a match if the same place also reads "Unlike". And of matches that
// lie over one another it keeps the best.
func (f *search) uncontradicted(ctx context.Context, matches []match) ([]match, error) {
	var kept []match
	for _, m := range matches {
		var others []int
		for k := range f.sheet.strips {
			if !slices.Contains(m.run.strips, k) && covers(f.sheet.strips[k].box, m.run.box) {
				others = append(others, k)
			}
		}
		if err := f.read(ctx, others); err != nil {
			return nil, err
		}
		contradicted := false
		for _, k := range others {
			for _, r := range splitRuns(k, &f.sheet.strips[k], f.words[k]) {
				longer, own := squeeze(fold(r.text())), squeeze(fold(m.run.text()))
				contradicted = contradicted || leastSure(r.words) >= 50 && len(longer) > len(own) && strings.Contains(longer, own)
			}
		}
		if contradicted {
			continue
		}
		i := slices.IndexFunc(kept, func(o match) bool { return covers(o.run.box, m.run.box) })
		switch {
		case i < 0:
			kept = append(kept, m)
		case m.grade > kept[i].grade || m.grade == kept[i].grade && m.confidence > kept[i].confidence:
			kept[i] = m
		}
	}
	return kept, nil
}

// covers reports whether two boxes have half of the smaller one in common.
func covers(a, b image.Rectangle) bool {
	c := a.Intersect(b)
	return c.Dx()*c.Dy()*2 >= min(a.Dx()*a.Dy(), b.Dx()*b.Dy()) && !c.Empty()
}

// find returns the strips that hold a heading or a neighbouring text: those that are the text, else
// those that contain it.
func (f *search) find(ctx context.Context, phrase string, not map[int]bool) (map[int]bool, error) {
	found := map[int]bool{}
	collect := func(which []int) error {
		if err := f.read(ctx, which); err != nil {
			return err
		}
		for _, k := range which {
			for _, r := range splitRuns(k, &f.sheet.strips[k], f.words[k]) {
				if !r.torn && compare(phrase, r.words, f.clear(r)).grade >= folded {
					found[k] = true
				}
			}
		}
		return nil
	}
	var likely, longer []int
	for k := range f.sheet.strips {
		switch {
		case not[k]:
		case f.suits(k, phrase):
			likely = append(likely, k)
		case f.sheet.strips[k].box.Dx() > f.sheet.strips[k].body*len([]rune(phrase))/3:
			longer = append(longer, k)
		}
	}
	if err := collect(likely); err != nil || len(found) > 0 {
		return found, err
	}
	if err := f.read(ctx, longer); err != nil {
		return nil, err
	}
	for _, k := range slices.Concat(likely, longer) {
		if holds(phrase, f.words[k]) {
			found[k] = true
		}
	}
	return found, nil
}

// nearest keeps the matches that a text stands beside, and of those the closest one if it is
// clearly the closest.
func (f *search) nearest(matches []match, texts, targets map[int]bool) []match {
	if len(texts) == 0 {
		return nil
	}
	type placed struct {
		match
		away int
	}
	var kept []placed
	for i, away := range f.scene().near(boxes(matches), texts, targets) {
		if away >= 0 {
			kept = append(kept, placed{matches[i], away})
		}
	}
	slices.SortStableFunc(kept, func(a, b placed) int { return a.away - b.away })
	var out []match
	for _, p := range kept {
		if p.away <= kept[0].away+kept[0].away/2+p.run.box.Dy() {
			out = append(out, p.match)
		}
	}
	return out
}

// bestGrade keeps the matches of the best grade and gives them one confidence, the least of theirs.
func bestGrade(matches []match) []match {
	best, least := differs, 1.0
	for _, m := range matches {
		best = max(best, m.grade)
	}
	matches = slices.DeleteFunc(matches, func(m match) bool { return m.grade != best })
	for _, m := range matches {
		least = min(least, m.confidence)
	}
	for i := range matches {
		matches[i].confidence = least
	}
	slices.SortStableFunc(matches, func(a, b match) int {
		return cmp.Or(a.run.box.Min.Y-b.run.box.Min.Y, a.run.box.Min.X-b.run.box.Min.X)
	})
	return matches
}

// tellApart reads the heading and the nearest neighbour of each match.
func (f *search) tellApart(ctx context.Context, matches []match, targets map[int]bool) error {
	scene, table := f.scene(), column(boxes(matches))
	type context struct{ heading, neighbour int }
	around := make([]context, len(matches))
	var which []int
	for i, m := range matches {
		h := scene.headingOf(m.run.box, table, targets)
		not := map[int]bool{h: true}
		for k := range targets {
			not[k] = true
		}
		around[i] = context{h, scene.neighbourOf(m.run.box, not)}
		for _, k := range []int{h, around[i].neighbour} {
			if k >= 0 {
				which = append(which, k)
			}
		}
	}
	slices.Sort(which)
	if err := f.read(ctx, slices.Compact(which)); err != nil {
		return err
	}
	text := func(k int) string {
		if k < 0 {
			return ""
		}
		r := run{words: f.words[k]}
		return r.text()
	}
	for i := range matches {
		matches[i].within, matches[i].near = text(around[i].heading), text(around[i].neighbour)
	}
	return nil
}
