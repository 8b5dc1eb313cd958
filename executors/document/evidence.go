package document

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"toolsvc/executors/document/markdown"
	"toolsvc/tool"
)

// document is the value "document" of evidence: the file that the call works on, with the places that it changes or shows.
func (a *attempt) document(m *model, needs tool.Needs) map[string]any {
	v, _ := fit(a.x.values(m, needs), maxEvidence)
	if a.change == nil || m.text == nil {
		return v
	}
	spans := a.change.spansBefore()
	if a.dispatched {
		spans = a.change.spansAfter()
	}
	spans = within(spans, len(m.text.LF))
	room := maxTouchedText
	var touched []any
	for _, s := range spans[:min(len(spans), maxListed)] {
		text := m.text.LF[s.focusStart:s.focusEnd]
		t := map[string]any{"line": m.text.Line(s.focusStart), "end_line": m.text.LastLine(s.focusStart, s.focusEnd), "digest": textDigest(text)}
		if room -= len(text); room >= 0 {
			t["text"] = text
		}
		touched = append(touched, t)
	}
	v["touched"] = orEmpty(touched)
	v["rest"] = restDigest(m.text, spans)
	return v
}

// costly are the fields of a document that may be large, those first that are left out first.
var costly = []string{"comments", "links", "broken_links", "fences", "symbols", "front_matter", "sections", "text"}

// fit leaves fields out until what is left fits into so many bytes of JSON, and returns how many are left then. Conditions that read what was left
// out are undecided.
func fit(v map[string]any, room int) (map[string]any, int) {
	size := func() int {
		text, err := json.Marshal(v)
		if err != nil {
			return room + 1 // it cannot be evidence
		}
		return len(text)
	}
	n := size()
	for _, field := range costly {
		if n <= room {
			break
		}
		if _, there := v[field]; there {
			delete(v, field)
			n = size()
		}
	}
	return v, room - n
}

// values are what conditions can read of a file. docs/reference/conditions.md describes them.
func (x *Executor) values(m *model, needs tool.Needs) map[string]any {
	f := m.file
	v := map[string]any{"path": f.Path, "exists": f.Exists}
	if !f.Exists {
		return v
	}
	v["digest"], v["size"], v["mode"], v["format"] = f.Digest, len(f.Data), fmt.Sprintf("%04o", f.Mode.Perm()), m.format
	if m.text == nil {
		v["encoding"] = "unknown"
		return v
	}
	src := m.text.LF
	words, chars := measure(src)
	v["encoding"], v["bom"], v["line_endings"], v["final_newline"] = string(m.text.Encoding), m.text.BOM, m.text.LineEndings(), m.text.FinalNewline()
	v["lines"], v["words"], v["chars"] = m.text.Lines(), words, chars
	if needs.DocumentText && len(src) <= maxEvidenceText {
		v["text"] = src
	}
	if m.isMD {
		x.markdownValues(m, needs, v)
		return v
	}
	if m.lang == nil {
		return v
	}
	var comments, symbols []any
	for _, c := range m.lang.Comments(src) {
		if len(comments) == maxListed {
			break
		}
		comments = append(comments, map[string]any{"text": clip(c.Text, 300), "line": m.text.Line(c.Start), "end_line": m.text.LastLine(c.Start, c.End)})
	}
	for _, s := range m.symbols()[:min(len(m.symbols()), maxListed)] {
		symbols = append(symbols, map[string]any{"name": clip(s.Name, 300), "kind": s.Kind, "line": m.text.Line(s.Start), "end_line": m.text.LastLine(s.Start, s.End)})
	}
	v["comments"], v["symbols"], v["code"] = orEmpty(comments), orEmpty(symbols), tool.Digest([]byte(m.lang.Code(src)))
	if ok, known := m.lang.Parses(src); known {
		v["parses"] = ok
	}
	return v
}

func (x *Executor) markdownValues(m *model, needs tool.Needs, v map[string]any) {
	md, src := m.markdown(), m.src()
	title := func(i int) string {
		if i < 0 {
			return ""
		}
		return md.Sections[i].Path
	}
	v["title"], v["counts"], v["preamble"] = md.Title, counts(md.Counts), textDigest(src[:md.Preamble(src)])
	switch {
	case md.Front == nil:
		v["front_matter"] = map[string]any{}
	case md.Front.Err == nil:
		v["front_matter"] = md.Front.Values
	}
	var sections, fences, unclosed, comments []any
	for _, s := range md.Sections[:min(len(md.Sections), maxListed)] {
		words, chars := measure(src[s.Body:s.End])
		parent := ""
		if s.Parent >= 0 {
			parent = md.Sections[s.Parent].Title
		}
		sections = append(sections, map[string]any{"title": s.Title, "level": s.Level, "path": s.Path, "parent": parent, "line": m.text.Line(s.Start),
			"end_line": m.text.LastLine(s.Start, s.End), "from": s.Start, "to": s.End, "words": words, "chars": chars, "subsections": texts(s.Subsections),
			"parts": texts(s.Parts), "languages": texts(s.Languages[:min(len(s.Languages), maxListed)]), "counts": counts(s.Counts), "digest": textDigest(src[s.Start:s.End]), "own": textDigest(src[s.Start:s.Own])})
	}
	for _, f := range md.Fences[:min(len(md.Fences), maxListed)] {
		line := m.text.Line(f.Start)
		fences = append(fences, map[string]any{"language": clip(f.Language, 100), "line": line, "end_line": m.text.LastLine(f.Start, f.End), "closed": f.Closed, "section": title(f.Section)})
		if !f.Closed {
			unclosed = append(unclosed, fmt.Sprintf("line %d", line))
		}
	}
	for _, c := range md.Comments[:min(len(md.Comments), maxListed)] {
		text := strings.TrimSuffix(strings.TrimPrefix(src[c.Start:c.End], "<!--"), "-->")
		comments = append(comments, map[string]any{"text": clip(strings.TrimSpace(text), 300), "line": m.text.Line(c.Start), "end_line": m.text.LastLine(c.Start, c.End)})
	}
	v["sections"], v["fences"], v["unclosed_fences"], v["comments"] = orEmpty(sections), orEmpty(fences), orEmpty(unclosed), orEmpty(comments)
	v["links"] = x.linkValues(m, needs, v, title)
}

func counts(c markdown.Counts) map[string]any {
	return map[string]any{"headings": c.Headings, "paragraphs": c.Paragraphs, "lists": c.Lists, "items": c.Items, "tables": c.Tables, "images": c.Images,
		"links": c.Links, "fences": c.Fences, "quotes": c.Quotes}
}

// orEmpty is a list that is empty rather than absent.
func orEmpty(l []any) []any {
	if l == nil {
		return []any{}
	}
	return l
}

func texts(s []string) []any {
	out := make([]any, len(s))
	for i, t := range s {
		out[i] = t
	}
	return out
}

// measure counts what stands between spaces, and characters.
func measure(s string) (words, chars int) {
	in := false
	for _, r := range s {
		chars++
		space := r <= ' ' || r >= utf8.RuneSelf && unicode.IsSpace(r)
		if !space && !in {
			words++
		}
		in = !space
	}
	return words, chars
}
