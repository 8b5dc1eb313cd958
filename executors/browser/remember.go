package browser

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"toolsvc/executors/browser/match"
	mem "toolsvc/executors/browser/memory"
	"toolsvc/executors/browser/page"
	"toolsvc/tool"
)

const (
	// maxCompared bounds the elements that are compared with what is remembered; a page with more is left to its description.
	maxCompared = 1500
	// maxRecalled bounds the frames whose pages are looked up.
	maxRecalled = 20
	// doubt is the similarity below which what the description leads to is checked against the rest of the page; certainty the one that
	// another element must have to contradict it, or to tell it from its equals.
	doubt, certainty = 0.55, 0.75
)

var _ tool.Learner = (*attempt)(nil)

// recollection is what heal memory has to do with the target of one attempt.
type recollection struct {
	target mem.Target
	// pages and entries are, by frame, where it is, and what is remembered there.
	pages   map[*page.Frame]mem.Page
	entries map[*page.Frame]*mem.Entry
	// print is under way, or was taken, of the element that was found in frame.
	frame *page.Frame
	print *page.Call
	// relocated: the description did not lead to it. note says how memory helped; "" when it did not.
	relocated bool
	note      string
	err       error // memory could not be read
}

// recallable is the target as memory knows it; ok is false when there is no memory, or nothing is remembered of such a target: a reference
// and a position do not say what an element is.
func (a *attempt) recallable(source tool.Source) (t mem.Target, ok bool) {
	g := a.act.target
	if a.x.opts.Memory == nil || g == nil || g.Ref != nil || g.Nth != nil || source == tool.SourceVision || !a.act.gated() && a.act.kind != kindFillForm && a.act.kind != kindUpload {
		return t, false
	}
	t = mem.Target{Name: str(g.Name), Role: str(g.Role), Within: str(g.Within), Near: str(g.Near), Selector: str(g.Selector)}
	return t, t.Name != "" || t.Selector != ""
}

// find grounds the target, with the help of what is remembered of it: an element that had to be relocated before is looked for first; one
// that the description does not lead to any more is relocated; and where the description leads to another element than the one that
// was verified, while that one is still there, neither is acted on.
func (a *attempt) find(ctx context.Context, source tool.Source) (*located, error) {
	t, ok := a.recallable(source)
	if !ok {
		return a.ground(ctx, source)
	}
	a.recall(ctx, t)
	loc, err := a.findFirst(ctx)
	if loc == nil && err == nil {
		loc, err = a.ground(ctx, source)
		f := new(tool.Failed)
		switch {
		case err == nil:
			err = a.contradicted(ctx, loc)
		case len(a.recalled.entries) == 0:
		case errors.As(err, &f) && f.Failure == tool.AmbiguousTarget:
			loc, err = a.tellApart(ctx, f)
		case errors.As(err, &f) && f.Failure == tool.TargetNotFound:
			loc, err = a.relocate(ctx, f)
		}
	}
	if err != nil {
		return nil, err
	}
	if r := a.recalled; r.print == nil || r.frame != loc.frame {
		r.frame, r.print = loc.frame, loc.frame.Start(ctx, "fingerprint", loc.id)
	}
	return loc, nil
}

// recall looks up what is remembered of the target on the pages that are there.
func (a *attempt) recall(ctx context.Context, t mem.Target) {
	r := &recollection{target: t, pages: map[*page.Frame]mem.Page{}, entries: map[*page.Frame]*mem.Entry{}}
	a.recalled = r
	seen := map[mem.Page]*mem.Entry{}
	frames := a.tab.Frames()
	for _, f := range frames[:min(len(frames), maxRecalled)] {
		p, ok := mem.PageOf(f.URL())
		if !ok {
			continue
		}
		e, known := seen[p]
		if !known {
			var err error
			if e, err = a.x.opts.Memory.Recall(ctx, p, t); err != nil {
				r.err = errors.Join(r.err, err) // memory only helps; Learn tells
			}
			seen[p] = e
		}
		r.pages[f] = p
		if e != nil {
			r.entries[f] = e
		}
	}
}

// findFirst finds, without waiting, an element that was relocated before: its description does not lead to it, so waiting for that would
// be in vain. nil when it is not there as it was, or the description leads somewhere again.
func (a *attempt) findFirst(ctx context.Context) (*located, error) {
	before := false
	for _, e := range a.recalled.entries {
		before = before || e.Relocated
	}
	if !before || a.described(ctx) {
		return nil, nil
	}
	c, err := a.compareAll(ctx)
	if err != nil || c.Verdict != match.Found || c.Score < mem.Sure {
		return nil, ignoreMoved(err)
	}
	return a.take(c, true), nil
}

// described reports whether the description leads to something, certain or not, right now.
func (a *attempt) described(ctx context.Context) bool {
	loc, err := a.viaDOM(ctx, a.startFind(ctx, false))
	return err == nil && loc != nil || ambiguous(err)
}

// relocate finds the element by what is remembered of it, when the description leads to nothing.
func (a *attempt) relocate(ctx context.Context, failed *tool.Failed) (*located, error) {
	if a.described(ctx) { // by another source than this one, which comes next
		return nil, failed
	}
	c, err := a.compareAll(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case c.Verdict == match.Found:
		return a.take(c, true), nil
	case c.Verdict == match.Ambiguous:
		f := a.ambiguity(ctx, c.list, c.Equals)
		f.Message = fmt.Sprintf("%s It was %s when it was last verified, and only a person can tell whether it is %s now.", failed.Message, c.was(), oneOf(c))
		return nil, f
	case c.tooMany > 0:
		failed.Message += fmt.Sprintf(" It was %s when it was last verified, but the page has %d elements to compare that with, more than %d.", c.was(), c.tooMany, maxCompared)
	default:
		failed.Message += fmt.Sprintf(" Nothing on the page is enough like %s, which it was when it was last verified.", c.was())
	}
	return nil, failed
}

func oneOf(c *comparison) string {
	if len(c.Equals) == 1 {
		return c.list[c.Equals[0]].Words
	}
	return "one of those that are like it"
}

// tellApart chooses among equals the one that was verified, when it is as it was and the others are clearly not.
func (a *attempt) tellApart(ctx context.Context, failed *tool.Failed) (*located, error) {
	equals, err := a.startFind(ctx, false).wait(ctx)
	if err != nil {
		return nil, failed
	}
	c, err := a.compareAll(ctx)
	if err != nil {
		return nil, err
	}
	if c.Verdict != match.Found || c.Score < certainty || c.Score-c.Next < 2*mem.Margin ||
		!slices.ContainsFunc(equals, func(x found) bool { x2 := c.list[c.Index]; return x.frame == x2.frame && x.ID == x2.ID }) {
		return nil, failed
	}
	return a.take(c, false), nil
}

// contradicted compares what the description leads to with what was verified. Where it is quite another element, and the one that was
// verified is still there under another name, the description has come to mean something else: that is for the caller to say.
func (a *attempt) contradicted(ctx context.Context, loc *located) error {
	r := a.recalled
	e := r.entries[loc.frame]
	if e == nil {
		return nil
	}
	var now *mem.Fingerprint
	r.frame, r.print = loc.frame, loc.frame.Start(ctx, "fingerprint", loc.id)
	if err := r.print.Into(ctx, &now); err != nil || now == nil {
		r.print = nil
		return ignoreMoved(err)
	}
	is := now.Clean()
	if was := e.Element; r.target.Name == "" && was.Name != "" && is.Name != "" && is.Name != was.Turned && mem.Opposed(was.Name, is.Name) {
		f := a.ambiguity(ctx, []found{{ID: loc.id, Role: is.Role, Names: []string{is.Name}, frame: loc.frame}}, []int{0})
		f.Message = fmt.Sprintf("%s was %s %q when it was last verified, and is %s now. If that one is meant, say its name.", capital(words(a.act.target)), was.Role, was.Name, loc.words)
		return f
	}
	similarity := mem.Similarity(e.Element, is)
	if similarity >= doubt {
		return nil
	}
	c, err := a.compareAll(ctx)
	if err != nil {
		return ignoreMoved(err)
	}
	if c.Verdict != match.Found || c.Score < certainty || c.Score-similarity < 2*mem.Margin {
		return nil
	}
	other := c.list[c.Index]
	if other.frame == loc.frame && other.ID == loc.id {
		return nil
	}
	f := a.ambiguity(ctx, []found{{ID: loc.id, Role: now.Role, Names: []string{now.Name}, frame: loc.frame}, other}, []int{0, 1})
	f.Message = fmt.Sprintf("%s is %s now; the element that it was when it was last verified is %s now.", capital(words(a.act.target)), loc.words, other.Words)
	return f
}

func ignoreMoved(err error) error {
	if page.Moved(err) {
		return errStale
	}
	return err
}

// comparison is what is remembered beside what is there.
type comparison struct {
	mem.Choice
	entry   *mem.Entry
	list    []found
	tooMany int
}

// was names the remembered element.
func (c *comparison) was() string {
	return fmt.Sprintf("%s %q", c.entry.Element.Role, c.entry.Element.Name)
}

// compareAll compares everything that the action could be meant for with what is remembered.
func (a *attempt) compareAll(ctx context.Context) (*comparison, error) {
	var best *comparison
	done := map[*mem.Entry]bool{}
	for _, f := range a.tab.Frames() {
		e := a.recalled.entries[f]
		if e == nil || done[e] {
			continue
		}
		done[e] = true
		c, err := a.compareWith(ctx, e)
		switch {
		case err != nil:
			return nil, err
		case best == nil || best.Verdict == match.NotFound:
			best = c
		case c.Verdict != match.NotFound: // remembered in two documents, and there in both
			best.Equals = append(equalsOf(best), indexes(equalsOf(c), len(best.list))...)
			best.list, best.Verdict = append(best.list, c.list...), match.Ambiguous
		}
	}
	if best == nil {
		return &comparison{entry: &mem.Entry{}}, nil
	}
	return best, nil
}

func equalsOf(c *comparison) []int {
	if c.Verdict == match.Found {
		return []int{c.Index}
	}
	return c.Equals
}

func indexes(in []int, more int) (out []int) {
	for _, i := range in {
		out = append(out, i+more)
	}
	return out
}

// compareWith compares one entry with the frames of its page.
func (a *attempt) compareWith(ctx context.Context, e *mem.Entry) (*comparison, error) {
	c := &comparison{entry: e}
	var prints []mem.Fingerprint
	roles := a.act.roles()
	for _, f := range a.tab.Frames() {
		if a.recalled.entries[f] != e {
			continue
		}
		var r struct {
			TooMany int `json:"too_many"`
			Found   []struct {
				ID      int             `json:"id"`
				Words   string          `json:"words"`
				Box     box             `json:"box"`
				Element mem.Fingerprint `json:"element"`
			} `json:"found"`
		}
		if err := f.Eval(ctx, &r, "fingerprints", e.Element.Role, maxCompared); err != nil {
			if page.Moved(err) && !f.IsMain() {
				continue
			}
			return nil, err
		}
		c.tooMany += r.TooMany
		for _, x := range r.Found {
			if len(roles) > 0 && !slices.ContainsFunc(roles, func(role string) bool { return match.RoleFits(role, x.Element.Role) == 3 }) {
				continue
			}
			c.list = append(c.list, found{ID: x.ID, Role: x.Element.Role, Names: []string{x.Element.Name}, Tag: x.Element.Tag, Words: x.Words, Box: x.Box, frame: f})
			prints = append(prints, x.Element.Clean())
		}
	}
	if c.tooMany > 0 { // the ones that were left out may be its twins
		return c, nil
	}
	c.Choice = a.x.opts.Choose(e.Element, prints)
	return c, nil
}

// take makes the chosen element the target.
func (a *attempt) take(c *comparison, relocated bool) *located {
	x, r := c.list[c.Index], a.recalled
	r.relocated = relocated
	r.note = fmt.Sprintf("relocated %s, which was %s when it was last verified (similarity %.2f, of the next %.2f)", x.Words, c.was(), c.Score, c.Next)
	if !relocated {
		r.note = fmt.Sprintf("told %s from its equals by what it was when it was last verified (similarity %.2f, of the next %.2f)", x.Words, c.Score, c.Next)
	}
	return &located{frame: x.frame, id: x.ID, words: x.Words, box: x.Box, canvas: x.Tag == "canvas"}
}

// told are the notes of the attempt, with that of memory.
func (a *attempt) told() []string {
	if a.recalled == nil || a.recalled.note == "" {
		return a.notes
	}
	return append(slices.Clone(a.notes), a.recalled.note)
}

// Learn implements tool.Learner: what was verified is remembered, what was refuted forgotten.
func (a *attempt) Learn(ctx context.Context, verdict tool.Verdict) error {
	errs := []error{a.learn(ctx, verdict)}
	if a.work.drop != nil {
		errs = append(errs, a.work.drop.learn(ctx, verdict))
	}
	for _, f := range a.work.fields {
		errs = append(errs, f.at.learn(ctx, verdict))
	}
	return errors.Join(errs...)
}

func (a *attempt) learn(ctx context.Context, verdict tool.Verdict) error {
	r := a.recalled
	if r == nil || a.loc == nil || a.skipped != "" || r.frame == nil || r.print == nil {
		return nil
	}
	p, ok := r.pages[r.frame]
	if !ok {
		return r.err
	}
	switch verdict {
	case tool.VerdictSuccess:
		var now *mem.Fingerprint
		if err := r.print.Into(ctx, &now); err != nil || now == nil {
			return r.err // it went away before it was described: there is nothing to learn
		}
		if r.target.Name == "" { // only a selector can lead to an element whatever it is called
			var after *mem.Fingerprint
			if err := r.frame.Eval(ctx, &after, "fingerprint", a.loc.id); err == nil && after != nil && after.Name != now.Name {
				now.Turned = after.Name
			}
			if e := r.entries[r.frame]; e != nil && now.Turned == "" && e.Element.Name == now.Name {
				now.Turned = e.Element.Turned
			}
		}
		return errors.Join(r.err, a.x.opts.Memory.Confirm(ctx, p, r.target, *now, r.relocated, r.entries[r.frame]))
	case tool.VerdictFailure:
		if r.entries[r.frame] == nil && r.err == nil {
			return nil
		}
		return errors.Join(r.err, a.x.opts.Memory.Refute(ctx, p, r.target))
	}
	return r.err
}
