package document

import (
	"strings"

	"toolsvc/executors/document/textfile"
	gen "toolsvc/gen/toolsets/document"
	"toolsvc/tool"
)

// planWhole is a reading call of the whole file.
func planWhole(m *model) (*change, error) {
	return &change{before: m, shown: []edit{{end: len(m.src())}}, digest: m.file.Digest}, nil
}

// planRead finds the part that is to be read.
func planRead(m *model, p *gen.ReadPayload) (*change, error) {
	at := place{heading: p.Heading, match: p.Match, nth: p.Nth, start: p.StartLine, end: p.EndLine}
	if p.Match != nil {
		text := textfile.Normalize(*p.Match)
		i, err := m.one(at, text)
		if err != nil {
			return nil, err
		}
		return &change{before: m, shown: []edit{{start: m.text.Start(m.text.Line(i)), end: m.text.End(m.text.LastLine(i, i+len(text)))}}, digest: m.file.Digest}, nil
	}
	from, to, err := m.scope(at)
	if err != nil {
		return nil, err
	}
	return &change{before: m, shown: []edit{{start: from, end: to}}, digest: m.file.Digest}, nil
}

// planWrite makes a file, or replaces all that is in it.
func planWrite(m *model, p *gen.WritePayload) (*change, error) {
	if m.file.Exists && p.IfExists == "refuse" {
		return nil, tool.Failf(tool.PreconditionFailed, "%s is there already, and if_exists says to refuse then.", m.file.Path)
	}
	text := textfile.Normalize(p.Content)
	if err := storable(text, 0); err != nil {
		return nil, err
	}
	ending := map[string]string{"lf": "\n", "crlf": "\r\n"}[p.LineEndings]
	e := edit{end: len(m.src()), text: text}
	c := &change{before: m, replacedWhole: true, creating: !m.file.Exists}
	if !m.file.Exists {
		if ending == "" {
			ending = "\n"
		}
		c.after = textfile.New(textfile.WithEndings(text, ending))
	} else {
		if m.text.FinalNewline() && text != "" && !strings.HasSuffix(text, "\n") {
			e.trail = "\n" // a file that ends its last line goes on doing so
		}
		c.after = m.text.Rewrite(e.all(), ending)
	}
	c.edits = []edit{e}
	return finishChange(c)
}

// planReplace replaces matches, or lines.
func planReplace(m *model, p *gen.ReplacePayload) (*change, error) {
	at := place{heading: p.Heading, nth: p.Nth, start: p.StartLine, end: p.EndLine}
	with := textfile.Normalize(p.New)
	if p.Old == nil {
		if at.end == nil {
			at.end = at.start
		}
		at.nth = nil
		from, to, err := m.scope(place{heading: p.Heading, nth: p.Nth, start: at.start, end: at.end})
		if err != nil {
			return nil, err
		}
		return makeChange(m, lines(m, from, to, with))
	}
	old := textfile.Normalize(*p.Old)
	at.match = p.Old
	if p.Nth != nil || p.Count == 1 {
		i, err := m.one(at, old)
		if err != nil {
			return nil, err
		}
		return makeChange(m, edit{start: i, end: i + len(old), text: with})
	}
	from, to, err := m.scope(at)
	if err != nil {
		return nil, err
	}
	found := m.matches(old, from, to)
	switch {
	case len(found) == 0:
		return nil, m.noMatch(old, from, to)
	case p.Count != 0 && len(found) != p.Count:
		return nil, tool.Failf(tool.PreconditionFailed, "The text %s occurs %d times in %s (%s), not %d times as count says.", quote(old), len(found), m.where(at), m.lineList(found), p.Count)
	case len(found) > maxMatches:
		return nil, tool.Failf(tool.PreconditionFailed, "The text %s occurs %d times in %s; at most %d are replaced with one call. Narrow it down by heading or lines.", quote(old), len(found), m.where(at), maxMatches)
	}
	edits := make([]edit, len(found))
	for i, f := range found {
		edits[i] = edit{start: f, end: f + len(old), text: with}
	}
	return makeChange(m, edits...)
}

// lines replaces whole lines. The last one stays ended, or not ended, as it was.
func lines(m *model, from, to int, with string) edit {
	e := edit{start: from, end: to}
	if with == "" {
		return e
	}
	e.text = strings.TrimSuffix(with, "\n")
	if strings.HasSuffix(m.src()[from:to], "\n") {
		e.trail = "\n"
	}
	return e
}

// planInsert inserts lines.
func planInsert(m *model, p *gen.InsertPayload) (*change, error) {
	position := "after"
	if p.Position != nil {
		position = *p.Position
	}
	at, apart, err := insertionPoint(m, p, position)
	if err != nil {
		return nil, err
	}
	text := textfile.Normalize(p.Text)
	e := ownLines(m, at, text)
	if apart { // at the end of a section of Markdown: a paragraph of its own
		e.lead += gap(m.src()[:at]+e.lead, at > 0)
		if at < len(m.src()) && !strings.HasPrefix(m.src()[at:], "\n") {
			e.trail += "\n"
		}
	}
	return makeChange(m, e)
}

// ownLines inserts a text at a place between lines, on lines of its own.
func ownLines(m *model, at int, text string) edit {
	e := edit{start: at, end: at, text: strings.TrimSuffix(text, "\n"), trail: "\n"}
	if src := m.src(); at == len(src) && src != "" && !strings.HasSuffix(src, "\n") {
		e.lead, e.trail = "\n", "" // the last line was not ended, and is not now
	}
	return e
}

// gap is what has to stand before a new paragraph so that a blank line is before it.
func gap(before string, wanted bool) string {
	switch {
	case !wanted || before == "" || strings.HasSuffix(before, "\n\n") || strings.Trim(before, "\n") == "":
		return ""
	case strings.HasSuffix(before, "\n"):
		return "\n"
	}
	return "\n\n"
}

// insertionPoint finds the place between lines. apart asks for blank lines around what is inserted.
func insertionPoint(m *model, p *gen.InsertPayload, position string) (at int, apart bool, err error) {
	src := m.src()
	pl := place{heading: p.Heading, match: p.Match, nth: p.Nth, start: p.Line, end: p.Line}
	var first, last int // the lines around which it is
	switch {
	case p.Match != nil:
		text := textfile.Normalize(*p.Match)
		i, err := m.one(pl, text)
		if err != nil {
			return 0, false, err
		}
		first, last = m.text.Line(i), m.text.LastLine(i, i+len(text))
	case p.Line != nil:
		from, to, err := m.scope(pl)
		if err != nil {
			return 0, false, err
		}
		first, last = m.text.Line(from), m.text.LastLine(from, to)
	case p.Heading != nil:
		it, err := m.heading(*p.Heading, p.Nth)
		if err != nil {
			return 0, false, err
		}
		switch {
		case position == "before":
			return it.start, false, nil
		case position == "end" && m.isMD:
			end := it.start + len(strings.TrimRight(src[it.start:it.end], "\n"))
			return m.text.End(m.text.LastLine(it.start, end)), true, nil
		case position == "end":
			// Inside of a symbol there is nothing to tell where a text would belong before its last line.
			return 0, false, tool.Failf(tool.PreconditionFailed, "position end is for headings of Markdown; give a line or a match in %q instead.", *p.Heading)
		case m.isMD:
			return it.body, false, nil
		}
		return it.end, false, nil
	case position == "before":
		return 0, false, nil
	default:
		return len(src), false, nil
	}
	if position == "before" {
		return m.text.Start(first), false, nil
	}
	return m.text.End(last), false, nil
}
