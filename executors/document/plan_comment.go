package document

import (
	"strings"

	"toolsvc/executors/document/source"
	"toolsvc/executors/document/textfile"
	gen "toolsvc/gen/toolsets/document"
	"toolsvc/tool"
)

// planComment writes a comment, or turns lines into comments and back.
func planComment(m *model, p *gen.CommentPayload) (*change, error) {
	if m.lang == nil {
		hint := ""
		if m.isMD {
			hint = " In Markdown, insert <!-- … --> with the tool insert."
		}
		return nil, tool.Failf(tool.PreconditionFailed, "It is not known how comments are written in %s. Known are %s.%s", m.file.Path, strings.Join(source.Names(), ", "), hint)
	}
	if p.Text != nil && p.Action != nil {
		return nil, tool.Failf(tool.PreconditionFailed, "text inserts a comment, action turns lines into comments: give one of them.")
	}
	if p.Text != nil && p.EndLine != nil {
		return nil, tool.Failf(tool.PreconditionFailed, "end_line belongs to action; a comment is inserted at one line.")
	}
	first, last, symbol, err := commentLines(m, p)
	if err != nil {
		return nil, err
	}
	if p.Action != nil {
		return turn(m, first, last, source.Action(*p.Action))
	}
	return insertComment(m, p, first, last, symbol)
}

// commentLines finds the lines that are meant. symbol reports that they are a symbol as a whole.
func commentLines(m *model, p *gen.CommentPayload) (first, last int, symbol bool, err error) {
	at := place{heading: p.Heading, match: p.Match, nth: p.Nth, start: p.Line, end: p.EndLine}
	if p.Line != nil && p.EndLine == nil {
		at.end = p.Line
	}
	if p.Match != nil {
		text := textfile.Normalize(*p.Match)
		i, err := m.one(at, text)
		if err != nil {
			return 0, 0, false, err
		}
		return m.text.Line(i), m.text.LastLine(i, i+len(text)), false, nil
	}
	from, to, err := m.scope(at)
	if err != nil {
		return 0, 0, false, err
	}
	return m.text.Line(from), m.text.LastLine(from, to), p.Line == nil, nil
}

func refuseComment(m *model, line int, err error) error {
	return tool.Failf(tool.PreconditionFailed, "No comment can be written at line %d of %s: %w.", line, m.file.Path, err)
}

func insertComment(m *model, p *gen.CommentPayload, first, last int, symbol bool) (*change, error) {
	src, text := m.src(), textfile.Normalize(*p.Text)
	var e edit
	switch p.Position {
	case "end_of_line":
		if symbol {
			last = first
		}
		at := m.text.Start(last) + len(m.text.LineText(last))
		s, err := m.lang.Trailing(src, at, strings.Trim(text, "\n"))
		if err != nil {
			return nil, refuseComment(m, last, err)
		}
		e = edit{start: at, end: at, text: s}
	default:
		at, line := m.text.Start(first), first
		if p.Position == "after" {
			at, line = m.text.End(last), last
		}
		unended := at == len(src) && src != "" && !strings.HasSuffix(src, "\n")
		padded := src
		if unended {
			padded += "\n"
			at++
		}
		s, err := m.lang.Lines(padded, at, text, indentAt(m, line))
		if err != nil {
			return nil, refuseComment(m, line, err)
		}
		e = edit{start: at, end: at, text: strings.TrimSuffix(s, "\n"), trail: "\n"}
		if unended {
			e = edit{start: len(src), end: len(src), lead: "\n", text: e.text}
		}
	}
	c, err := makeChange(m, e)
	if err != nil {
		return nil, err
	}
	c.commented, c.language = true, m.lang.Name
	return c, nil
}

// indentAt is the white space before a line; of a blank one that of the next line that is not.
func indentAt(m *model, line int) string {
	for ; line <= m.text.Lines(); line++ {
		s := m.text.LineText(line)
		if t := strings.TrimLeft(s, " \t"); t != "" {
			return s[:len(s)-len(t)]
		}
	}
	return ""
}

func turn(m *model, first, last int, action source.Action) (*change, error) {
	from, to := m.text.Start(first), m.text.End(last)
	lines, commented, err := m.lang.Turn(m.src(), from, to, action)
	if err != nil {
		return nil, tool.Failf(tool.PreconditionFailed, "The lines %d to %d of %s cannot be turned: %w.", first, last, m.file.Path, err)
	}
	c, err := makeChange(m, edit{start: from, end: to, text: lines})
	if err != nil {
		return nil, err
	}
	c.commented, c.language = commented, m.lang.Name
	return c, nil
}
