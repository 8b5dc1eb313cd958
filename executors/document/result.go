package document

import (
	"context"
	"fmt"
	"strings"

	"toolsvc/executors/document/files"
	"toolsvc/executors/document/textfile"
	gen "toolsvc/gen/toolsets/document"
	"toolsvc/tool"
)

// written is the result of a writing call.
func (a *attempt) written() any {
	c := a.change
	f := c.before.file
	spans := c.spansAfter()
	line, end := 0, 0
	if len(spans) > 0 {
		first, last := spans[0], spans[len(spans)-1]
		line, end = c.after.Line(first.focusStart), c.after.LastLine(last.focusStart, last.focusEnd)
	}
	if c.after.LF == "" {
		line, end = 0, 0
	}
	var previous *string
	if f.Exists {
		previous = &f.Digest
	}
	created, changed, lines := !f.Exists, !c.unchanged(), c.after.Lines()
	switch a.act.kind {
	case kindWrite:
		return &gen.WriteResult{Path: f.Path, Created: created, Changed: changed, Line: line, EndLine: end, Lines: lines, Digest: c.digest, PreviousDigest: previous}
	case kindReplace:
		return &gen.ReplaceResult{Path: f.Path, Created: created, Changed: changed, Line: line, EndLine: end, Lines: lines, Digest: c.digest, PreviousDigest: previous, Replaced: len(c.edits)}
	case kindInsert:
		return &gen.InsertResult{Path: f.Path, Created: created, Changed: changed, Line: line, EndLine: end, Lines: lines, Digest: c.digest, PreviousDigest: previous}
	case kindWriteSection:
		return &gen.WriteSectionResult{Path: f.Path, Created: created, Changed: changed, Line: line, EndLine: end, Lines: lines, Digest: c.digest, PreviousDigest: previous,
			Heading: c.heading, Level: c.level, SectionCreated: c.sectionCreated}
	case kindComment:
		return &gen.CommentResult{Path: f.Path, Created: created, Changed: changed, Line: line, EndLine: end, Lines: lines, Digest: c.digest, PreviousDigest: previous,
			Language: c.language, Commented: c.commented}
	}
	return nil
}

// answer is the result of a reading call.
func (a *attempt) answer(ctx context.Context) (any, error) {
	m := a.change.before
	switch p := a.act.args.(type) {
	case *gen.ReadPayload:
		return a.read(m, p), nil
	case *gen.OutlinePayload:
		return outline(m, p), nil
	case *gen.DiffPayload:
		return a.diff(ctx, m, p)
	}
	return nil, tool.Failf(tool.Internal, "the document executor has no answer for %T", a.act.args)
}

func (a *attempt) read(m *model, p *gen.ReadPayload) *gen.ReadResult {
	s := a.change.shown[0]
	text := m.src()[s.start:s.end]
	r := &gen.ReadResult{Path: m.file.Path, Lines: m.text.Lines(), Digest: m.file.Digest, Format: m.format, Encoding: string(m.text.Encoding), LineEndings: m.text.LineEndings()}
	if text != "" {
		r.Line, r.EndLine = m.text.Line(s.start), m.text.LastLine(s.start, s.end)
	}
	if p.LineNumbers {
		var b strings.Builder
		n := r.Line
		for line := range strings.Lines(text) {
			fmt.Fprintf(&b, "%6d\t%s", n, line)
			n++
		}
		text = b.String()
	}
	r.Text, r.Truncated = cut(text, p.MaxChars)
	return r
}

// cut cuts a text after so many characters.
func cut(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, false
	}
	for i := range s {
		if n == 0 {
			return s[:i], true
		}
		n--
	}
	return s, false
}

func outline(m *model, p *gen.OutlinePayload) *gen.OutlineResult {
	words, _ := measure(m.src())
	r := &gen.OutlineResult{Path: m.file.Path, Items: []*gen.OutlineItem{}, Fences: []*gen.OutlineFence{}, FrontMatter: []string{}, Lines: m.text.Lines(), Words: words,
		Digest: m.file.Digest, Format: m.format, Encoding: string(m.text.Encoding), LineEndings: m.text.LineEndings()}
	items := m.items()
	for _, it := range items[:min(len(items), p.MaxItems)] {
		r.Items = append(r.Items, &gen.OutlineItem{Title: it.title, Kind: it.kind, Level: it.level, Path: it.path, Line: m.text.Line(it.start), EndLine: m.text.LastLine(it.start, it.end)})
	}
	r.Truncated = len(items) > p.MaxItems
	note := func(s string) { r.Note = &s }
	switch {
	case m.isMD:
		md := m.markdown()
		for _, f := range md.Fences[:min(len(md.Fences), p.MaxItems)] {
			r.Fences = append(r.Fences, &gen.OutlineFence{Language: f.Language, Line: m.text.Line(f.Start), EndLine: m.text.LastLine(f.Start, f.End), Closed: f.Closed})
		}
		r.Truncated = r.Truncated || len(md.Fences) > p.MaxItems
		if md.Front != nil {
			r.FrontMatterEnd = m.text.LastLine(0, md.Front.End)
			r.FrontMatter = append(r.FrontMatter, md.Front.Keys...)
			if md.Front.Err != nil {
				note("Of the front matter nothing is known: " + md.Front.Err.Error() + ".")
			}
		}
	case m.lang == nil:
		note("This is plain text, which has no headings and no symbols.")
	case m.format != "go":
		note(fmt.Sprintf("Of %s only regions are known (comments with region and endregion), not functions and types.", m.format))
	default:
		if ok, _ := m.lang.Parses(m.src()); !ok {
			note("The file has syntax errors, so symbols may be missing.")
		}
	}
	return r
}

// diff compares the file with another side.
func (a *attempt) diff(ctx context.Context, m *model, p *gen.DiffPayload) (*gen.DiffResult, error) {
	given := 0
	for _, s := range []*string{p.Other, p.Text, p.Digest} {
		if s != nil {
			given++
		}
	}
	if given > 1 {
		return nil, tool.Failf(tool.PreconditionFailed, "A file is compared with one thing: give other, text or digest.")
	}
	side := struct {
		name string
		data []byte
		lf   string
	}{}
	switch {
	case p.Text != nil:
		side.name, side.data, side.lf = "text", []byte(*p.Text), textfile.Normalize(*p.Text)
	case p.Other != nil:
		f, err := a.x.root.Read(*p.Other)
		if err != nil {
			return nil, err
		}
		if !f.Exists {
			return nil, missingFile(newModel(f), a.x.root.Siblings(*p.Other))
		}
		if side.lf, err = decoded(f); err != nil {
			return nil, err
		}
		side.name, side.data = f.Path, f.Data
	default:
		data, err := a.x.recall(ctx, *p.Digest)
		if err != nil {
			return nil, tool.Failf(tool.TargetNotFound, "%s cannot be compared: %w. Kept is what document tools wrote or replaced, and what was read lately.", m.file.Path, err)
		}
		f := &files.File{Path: short(*p.Digest), Exists: true, Data: data}
		if side.lf, err = decoded(f); err != nil {
			return nil, err
		}
		side.name, side.data = short(*p.Digest), data
	}
	r := &gen.DiffResult{Path: m.file.Path, Equal: string(side.data) == string(m.file.Data), Digest: m.file.Digest}
	from, to, x, y := m.file.Path, side.name, m.src(), side.lf
	if p.Digest != nil {
		from, to, x, y = to, from, y, x
	}
	d, added, removed := unified(from, to, x, y, p.Context)
	r.Added, r.Removed = added, removed
	r.Diff, r.Truncated = cut(d, p.MaxChars)
	return r, nil
}

func decoded(f *files.File) (string, error) {
	t, err := textfile.Decode(f.Data)
	if err != nil {
		return "", tool.Failf(tool.PreconditionFailed, "%s is not text: %w.", f.Path, err)
	}
	return t.LF, nil
}
