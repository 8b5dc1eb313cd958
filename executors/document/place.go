package document

import (
	"fmt"
	"strings"

	"toolsvc/executors/document/markdown"
	"toolsvc/executors/document/source"
	"toolsvc/tool"
)

// place says where in a file, as calls do; what is nil is not said.
type place struct {
	heading, match  *string
	nth, start, end *int
}

// item is a heading or a symbol.
type item struct {
	title, kind, path, within string
	level                     int
	// start is its line, body what follows its first line (a heading's, with its underline), own the first subsection or end.
	start, body, own, end int
	index                 int
}

// named is what a thing of one kind is called in messages: the heading, the symbol.
func (m *model) named() string {
	if m.isMD {
		return "heading"
	}
	return "symbol"
}

// items lists the headings or symbols.
func (m *model) items() []item {
	var out []item
	if m.isMD {
		md := m.markdown()
		for i, s := range md.Sections {
			it := item{title: s.Title, kind: "heading", path: s.Path, level: s.Level, start: s.Start, body: s.Body, own: s.Own, end: s.End, index: i}
			if s.Parent >= 0 {
				it.within = md.Sections[s.Parent].Path
			}
			out = append(out, it)
		}
		return out
	}
	for i, s := range m.symbols() {
		out = append(out, item{title: s.Name, kind: s.Kind, path: s.Name, level: s.Level, start: s.Start, body: m.text.End(m.text.Line(s.Start)), own: s.End, end: s.End, index: i})
	}
	return out
}

// candidate words an item so that a person can tell it from others.
func (m *model) candidate(it item) tool.Candidate {
	return tool.Candidate{Name: it.title, Role: fmt.Sprintf("%s on line %d", it.kind, m.text.Line(it.start)), Within: it.within}
}

// heading finds the heading or symbol that a name means.
func (m *model) heading(name string, nth *int) (item, error) {
	items := m.items()
	if len(items) == 0 {
		what := "has no headings"
		if !m.isMD {
			what = fmt.Sprintf("is %s, in which no functions, types or regions are known", m.format)
		}
		return item{}, tool.Failf(tool.TargetNotFound, "%s %s, so there is no %q.", m.file.Path, what, name)
	}
	var found []int
	if m.isMD {
		found = m.markdown().Find(name)
	} else {
		found = source.FindSymbol(m.symbols(), name)
	}
	switch {
	case nth != nil && *nth <= len(found):
		return items[found[*nth-1]], nil
	case nth != nil && len(found) > 0:
		return item{}, tool.Failf(tool.TargetNotFound, "There are only %d %ss %q in %s, so there is no number %d.", len(found), m.named(), name, m.file.Path, *nth)
	case len(found) == 1:
		return items[found[0]], nil
	case len(found) > 1:
		f := tool.Failf(tool.AmbiguousTarget, "%d %ss in %s are called %q: %s. Name the one that is meant with its parents, or by nth.",
			len(found), m.named(), m.file.Path, name, m.onLines(items, found))
		for _, i := range found[:min(len(found), maxCandidates)] {
			f.Candidates = append(f.Candidates, m.candidate(items[i]))
		}
		return item{}, f
	}
	f := tool.Failf(tool.TargetNotFound, "There is no %s %q in %s.", m.named(), name, m.file.Path)
	titles := make([]string, 0, len(items))
	last := name[strings.LastIndex(name, markdown.Separator)+1:]
	last = strings.TrimLeft(last, "># ")
	for _, it := range items {
		titles = append(titles, it.title)
	}
	if near := tool.Nearest(last, titles); near != "" {
		for _, it := range items {
			if it.title == near && len(f.Candidates) < maxCandidates {
				f.Candidates = append(f.Candidates, m.candidate(it))
			}
		}
		f.Message += fmt.Sprintf(" Is %q meant (line %d)?", f.Candidates[0].Name, m.text.Line(m.firstCalled(items, near).start))
	}
	return item{}, f
}

func (m *model) firstCalled(items []item, title string) item {
	for _, it := range items {
		if it.title == title {
			return it
		}
	}
	return item{}
}

func (m *model) onLines(items []item, found []int) string {
	var w []string
	for i, f := range found {
		if i == maxCandidates {
			w = append(w, "…")
			break
		}
		w = append(w, fmt.Sprintf("line %d", m.text.Line(items[f].start)))
	}
	return strings.Join(w, ", ")
}

// scope is where a place is looked for: the whole text, a section, a range of lines.
func (m *model) scope(p place) (from, to int, err error) {
	to = len(m.src())
	if p.heading != nil {
		it, err := m.heading(*p.heading, m.nthOfHeading(p))
		if err != nil {
			return 0, 0, err
		}
		from, to = it.start, it.end
	}
	if p.start == nil && p.end == nil {
		return from, to, nil
	}
	first, last := m.text.Line(from), m.text.LastLine(from, to)
	if p.start != nil {
		first = *p.start
	}
	if p.end != nil {
		last = *p.end
	}
	lines := m.text.Lines()
	switch {
	case first > lines:
		return 0, 0, tool.Failf(tool.TargetNotFound, "%s has %d lines, so there is no line %d.", m.file.Path, lines, first)
	case first > last:
		return 0, 0, tool.Failf(tool.PreconditionFailed, "The lines %d to %d are none: the first is behind the last.", first, last)
	case last > lines:
		return 0, 0, tool.Failf(tool.TargetNotFound, "%s has %d lines, so there is no line %d.", m.file.Path, lines, last)
	}
	a, b := m.text.Start(first), m.text.End(last)
	if a < from || b > to {
		return 0, 0, tool.Failf(tool.PreconditionFailed, "The lines %d to %d are not all in %q, which has the lines %d to %d.", first, last, *p.heading, m.text.Line(from), m.text.LastLine(from, to))
	}
	return a, b, nil
}

// nthOfHeading is nth when it counts headings: when nothing else is looked for.
func (m *model) nthOfHeading(p place) *int {
	if p.match != nil {
		return nil
	}
	return p.nth
}

// matches are the places of a text between two offsets, without overlaps.
func (m *model) matches(text string, from, to int) []int {
	var found []int
	src := m.src()[:to]
	for at := from; ; {
		i := strings.Index(src[at:], text)
		if i < 0 || len(found) > 100_000 {
			return found
		}
		found = append(found, at+i)
		at += i + len(text)
	}
}

// one finds the one match that is meant.
func (m *model) one(p place, text string) (int, error) {
	from, to, err := m.scope(p)
	if err != nil {
		return 0, err
	}
	found := m.matches(text, from, to)
	switch {
	case len(found) == 0:
		return 0, m.noMatch(text, from, to)
	case p.nth != nil && *p.nth > len(found):
		return 0, tool.Failf(tool.TargetNotFound, "The text occurs %d times in %s, so there is no number %d.", len(found), m.where(p), *p.nth)
	case p.nth != nil:
		return found[*p.nth-1], nil
	case len(found) > 1:
		return 0, m.severalMatches(p, text, found)
	}
	return found[0], nil
}

func (m *model) where(p place) string {
	w := m.file.Path
	if p.heading != nil {
		w = fmt.Sprintf("%q of %s", *p.heading, w)
	}
	return w
}

func (m *model) severalMatches(p place, text string, found []int) error {
	f := tool.Failf(tool.AmbiguousTarget, "The text %s occurs %d times in %s: %s. Give more of the text around the one that is meant, its heading or lines, or nth.",
		quote(text), len(found), m.where(p), m.lineList(found))
	for _, at := range found[:min(len(found), maxCandidates)] {
		f.Candidates = append(f.Candidates, tool.Candidate{Name: clip(strings.TrimSpace(m.text.LineText(m.text.Line(at))), 120),
			Role: fmt.Sprintf("match on line %d", m.text.Line(at)), Within: m.within(at)})
	}
	return f
}

// within is the innermost section or symbol around a place.
func (m *model) within(at int) string {
	name := ""
	for _, it := range m.items() {
		if it.start <= at && at < it.end {
			name = it.path
		}
	}
	return name
}

func (m *model) lineList(found []int) string {
	var w []string
	for i, at := range found {
		if i == maxCandidates {
			w = append(w, "…")
			break
		}
		w = append(w, fmt.Sprintf("line %d", m.text.Line(at)))
	}
	return strings.Join(w, ", ")
}

// noMatch says that a text is not there, and what comes near to it: a line that differs in white space only.
func (m *model) noMatch(text string, from, to int) error {
	f := tool.Failf(tool.TargetNotFound, "The text %s is not in %s.", quote(text), m.file.Path)
	if from > 0 || to < len(m.src()) {
		f.Message = fmt.Sprintf("The text %s is not in the lines %d to %d of %s.", quote(text), m.text.Line(from), m.text.LastLine(from, to), m.file.Path)
		if n := len(m.matches(text, 0, len(m.src()))); n > 0 {
			f.Message += fmt.Sprintf(" It is elsewhere in the file: %s.", m.lineList(m.matches(text, 0, len(m.src()))))
			return f
		}
	}
	wanted := ""
	for line := range strings.Lines(text) {
		if wanted = squeeze(line); wanted != "" {
			break
		}
	}
	for line := m.text.Line(from); wanted != "" && line <= m.text.LastLine(from, to); line++ {
		if strings.Contains(squeeze(m.text.LineText(line)), wanted) {
			f.Message += fmt.Sprintf(" Line %d comes near: %s. Copy the text exactly as it stands, white space included.", line, quote(m.text.LineText(line)))
			f.Candidates = []tool.Candidate{{Name: clip(strings.TrimSpace(m.text.LineText(line)), 120), Role: fmt.Sprintf("line %d", line), Within: m.within(m.text.Start(line))}}
			break
		}
	}
	return f
}

// squeeze is a text with one space for each run of white space.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// quote shows the beginning of a text.
func quote(s string) string {
	first, _, more := strings.Cut(strings.Trim(s, "\n"), "\n")
	first = clip(first, 80)
	if more {
		first += " …"
	}
	return fmt.Sprintf("%q", first)
}

// clip cuts a text to at most n characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}
