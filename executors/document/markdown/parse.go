package markdown

import (
	"bytes"
	"html"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// language is the Markdown that is understood.
var language = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList, extension.Footnote))

// Parse makes the model of a text, which has a line feed for every line ending.
func Parse(src string) *Model {
	m := &Model{Anchors: map[string]bool{}, lines: lineStarts(src)}
	body := 0
	if m.Front = frontMatter(src); m.Front != nil {
		body = m.Front.End
	}
	p := &parser{m: m, src: []byte(src), base: body, blanked: []byte(src)}
	// Front matter is blanked, not cut off, so that places need no shifting.
	for i := range body {
		if p.blanked[i] != '\n' {
			p.blanked[i] = ' '
		}
	}
	root := language.Parser().Parse(text.NewReader(p.blanked))
	p.headings(root)
	p.nest()
	p.blocks(root)
	p.closeFences()
	p.sum()
	return m
}

type parser struct {
	m       *Model
	src     []byte
	blanked []byte
	base    int
	labels  []label
	opened  []int // the lines of opening fences, by fence
	last    []int // the last line of the content of each fence
}

// label is bold text that begins a paragraph or an item.
type label struct {
	at   int
	text string
}

func lineStarts(src string) []int {
	starts := []int{0}
	for i := range len(src) {
		if src[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// line is the index of the line that holds the offset.
func (m *Model) line(offset int) int {
	return sort.Search(len(m.lines), func(i int) bool { return m.lines[i] > offset }) - 1
}

func (m *Model) lineStart(line, length int) int {
	if line >= len(m.lines) {
		return length
	}
	return m.lines[max(line, 0)]
}

// at is where a node stands; -1 when that is not known.
func at(n ast.Node) int {
	for ; n != nil; n = n.Parent() {
		if p := n.Pos(); p >= 0 {
			return p
		}
		if n.Type() == ast.TypeBlock && n.Kind() != ast.KindDocument && n.Lines() != nil && n.Lines().Len() > 0 {
			return n.Lines().At(0).Start
		}
	}
	return -1
}

// headings collects the headings at the top level.
func (p *parser) headings(root ast.Node) {
	anchors := map[string]int{}
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok {
			continue
		}
		pos := at(h)
		if pos < p.base || pos > len(p.src) {
			continue
		}
		first := p.m.line(pos)
		last := first
		if l := h.Lines(); l.Len() > 0 {
			last = p.m.line(l.At(l.Len() - 1).Start)
		}
		if start := p.src[p.m.lines[first]:]; !bytes.HasPrefix(bytes.TrimLeft(start, " "), []byte("#")) {
			last++ // the underline
		}
		s := Section{Title: clip(plain(h, p.src)), Source: clip(source(h, p.src)), Level: h.Level, Start: p.m.lines[first], Body: p.m.lineStart(last+1, len(p.src))}
		p.m.Sections = append(p.m.Sections, s)
		if s.Level == 1 && p.m.Title == "" {
			p.m.Title = s.Title
		}
	}
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if h, ok := n.(*ast.Heading); ok && entering {
			p.m.Anchors[anchor(plain(h, p.src), anchors)] = true
		}
		return ast.WalkContinue, nil
	})
}

// nest finds out what is below what.
func (p *parser) nest() {
	m := p.m
	var open []int
	for i := range m.Sections {
		s := &m.Sections[i]
		for len(open) > 0 && m.Sections[open[len(open)-1]].Level >= s.Level {
			m.Sections[open[len(open)-1]].End = s.Start
			open = open[:len(open)-1]
		}
		s.Parent, s.Path, s.Own, s.End = -1, s.Title, -1, len(p.src)
		if len(open) > 0 {
			s.Parent = open[len(open)-1]
			above := &m.Sections[s.Parent]
			s.Path = above.Path + Separator + s.Title
			above.Subsections = append(above.Subsections, s.Title)
			if above.Own < 0 {
				above.Own = s.Start
			}
		}
		open = append(open, i)
	}
	for i := range m.Sections {
		if s := &m.Sections[i]; s.Own < 0 {
			s.Own = s.End
		}
	}
}

// blocks walks over everything else.
func (p *parser) blocks(root ast.Node) {
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch x := n.(type) {
		case *ast.Heading:
			p.count(n, func(c *Counts) { c.Headings++ })
		case *ast.Paragraph:
			p.count(n, func(c *Counts) { c.Paragraphs++ })
			p.label(n)
		case *ast.TextBlock:
			p.label(n)
		case *ast.List:
			p.count(n, func(c *Counts) { c.Lists++ })
		case *ast.ListItem:
			p.count(n, func(c *Counts) { c.Items++ })
		case *ast.Blockquote:
			p.count(n, func(c *Counts) { c.Quotes++ })
		case *east.Table:
			p.count(n, func(c *Counts) { c.Tables++ })
		case *ast.FencedCodeBlock:
			p.fence(x)
		case *ast.Link:
			p.link(n, plain(n, p.src), string(x.Destination), false)
		case *ast.Image:
			p.link(n, plain(n, p.src), string(x.Destination), true)
		case *ast.AutoLink:
			target := string(x.URL(p.src))
			if x.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(target), "mailto:") {
				target = "mailto:" + target
			}
			p.link(n, string(x.Label(p.src)), target, false)
		case *ast.RawHTML:
			for i := range x.Segments.Len() {
				s := x.Segments.At(i)
				p.html(s.Value(p.src))
			}
			if x.Segments.Len() > 0 {
				p.comment(x.Segments.At(0).Start, x.Segments.At(x.Segments.Len()-1).Stop)
			}
		case *ast.HTMLBlock:
			start, stop := -1, 0
			for i := range x.Lines().Len() {
				s := x.Lines().At(i)
				p.html(s.Value(p.src))
				if start < 0 {
					start = s.Start
				}
				stop = s.Stop
			}
			if x.HasClosure() {
				p.html(x.ClosureLine.Value(p.src))
				if start < 0 {
					start = x.ClosureLine.Start
				}
				stop = max(stop, x.ClosureLine.Stop)
			}
			if start >= 0 {
				p.comment(start, stop)
			}
		}
		return ast.WalkContinue, nil
	})
	sort.SliceStable(p.m.Links, func(i, j int) bool { return p.m.Links[i].At < p.m.Links[j].At })
}

// count counts a node in the text and in the innermost section around it; sum adds it to those above.
func (p *parser) count(n ast.Node, add func(*Counts)) {
	add(&p.m.Counts)
	if i := p.m.SectionAt(at(n)); i >= 0 {
		add(&p.m.Sections[i].Counts)
	}
}

// label notes the bold text that a paragraph or an item begins with.
func (p *parser) label(n ast.Node) {
	e, ok := n.FirstChild().(*ast.Emphasis)
	if !ok || e.Level != 2 {
		return
	}
	text := strings.TrimRight(strings.TrimSpace(plain(e, p.src)), ":：.")
	if text = strings.TrimSpace(text); text != "" {
		p.labels = append(p.labels, label{at: at(n), text: clip(text)})
	}
}

func (p *parser) link(n ast.Node, text, target string, image bool) {
	pos := max(at(n), 0)
	i := p.m.SectionAt(pos)
	p.m.Links = append(p.m.Links, Link{Text: text, Target: target, Image: image, At: pos, Section: i})
	p.count(n, func(c *Counts) {
		if image {
			c.Images++
		} else {
			c.Links++
		}
	})
}

var idAttribute = regexp.MustCompile(`(?i)\s(?:id|name)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))`)

// html notes the anchors of HTML.
func (p *parser) html(s []byte) {
	for _, a := range idAttribute.FindAllSubmatch(s, -1) {
		p.m.Anchors[html.UnescapeString(string(bytes.Join(a[1:], nil)))] = true
	}
}

// comment notes the HTML comments between two offsets.
func (p *parser) comment(start, stop int) {
	for start < stop {
		i := bytes.Index(p.src[start:stop], []byte("<!--"))
		if i < 0 {
			return
		}
		i += start
		end := stop
		if j := bytes.Index(p.src[i+4:stop], []byte("-->")); j >= 0 {
			end = i + 4 + j + 3
		}
		p.m.Comments = append(p.m.Comments, Span{i, end})
		start = end
	}
}

// fence notes a block of fenced code; closeFences finds its end.
func (p *parser) fence(f *ast.FencedCodeBlock) {
	pos := at(f)
	if pos < 0 || pos > len(p.src) {
		return
	}
	opening := p.m.line(pos)
	last := opening
	if l := f.Lines(); l.Len() > 0 {
		last = max(opening, p.m.line(l.At(l.Len()-1).Start))
	}
	p.opened, p.last = append(p.opened, opening), append(p.last, last)
	start := p.m.lines[opening]
	p.m.Fences = append(p.m.Fences, Fence{Language: string(f.Language(p.src)), Start: start, Section: p.m.SectionAt(start)})
	p.count(f, func(c *Counts) { c.Fences++ })
}

// closeFences finds out where fences end. A fence is closed when the line behind its content is a closing fence, and not the opening one of
// another block, as it is where a quote or an item ended first.
func (p *parser) closeFences() {
	opening := map[int]bool{}
	for _, l := range p.opened {
		opening[l] = true
	}
	for i := range p.m.Fences {
		f := &p.m.Fences[i]
		next := p.last[i] + 1
		f.End = p.m.lineStart(next, len(p.src))
		if next >= len(p.m.lines) || opening[next] {
			continue
		}
		open := fenceOf(p.lineBytes(p.opened[i]))
		closing := p.lineBytes(next)
		if c := fenceOf(closing); c.char == open.char && c.length >= open.length && c.bare && c.quotes == open.quotes {
			f.Closed, f.End = true, p.m.lineStart(next+1, len(p.src))
		}
	}
}

func (p *parser) lineBytes(line int) []byte {
	return bytes.TrimSuffix(p.src[p.m.lines[line]:p.m.lineStart(line+1, len(p.src))], []byte("\n"))
}

// mark is the fence in a line: of which character, how long, behind how many quote marks, and whether nothing follows.
type mark struct {
	char   byte
	length int
	quotes int
	bare   bool
}

// fenceOf finds the fence of a line that is known to hold one, behind the marks of quotes and items.
func fenceOf(line []byte) mark {
	var m mark
	i := bytes.Index(line, []byte("```"))
	if j := bytes.Index(line, []byte("~~~")); i < 0 || j >= 0 && j < i {
		i = j
	}
	if i < 0 {
		return m
	}
	m.char = line[i]
	m.quotes = bytes.Count(line[:i], []byte(">"))
	rest := bytes.TrimLeft(line[i:], string(m.char))
	m.length = len(line) - i - len(rest)
	m.bare = len(bytes.TrimSpace(rest)) == 0
	return m
}

// sum gives the sections what is in their subsections.
func (p *parser) sum() {
	m := p.m
	for i := range m.Sections {
		m.Sections[i].Parts = append([]string(nil), m.Sections[i].Subsections...)
	}
	for _, l := range p.labels {
		if i := m.SectionAt(l.at); i >= 0 {
			m.Sections[i].Parts = append(m.Sections[i].Parts, l.text)
		}
	}
	for _, f := range m.Fences {
		for i := f.Section; i >= 0; i = m.Sections[i].Parent {
			m.Sections[i].Languages = append(m.Sections[i].Languages, f.Language)
		}
	}
	for i := len(m.Sections) - 1; i >= 0; i-- {
		s := &m.Sections[i]
		if s.Parent < 0 {
			continue
		}
		a, c := &m.Sections[s.Parent].Counts, s.Counts
		a.Headings, a.Paragraphs, a.Lists, a.Items = a.Headings+c.Headings, a.Paragraphs+c.Paragraphs, a.Lists+c.Lists, a.Items+c.Items
		a.Tables, a.Images, a.Links, a.Fences, a.Quotes = a.Tables+c.Tables, a.Images+c.Images, a.Links+c.Links, a.Fences+c.Fences, a.Quotes+c.Quotes
	}
}

// maxTitle bounds titles and labels, in bytes: they are repeated in the paths of all that is below them.
const maxTitle = 1000

// clip cuts a title at a character's boundary, and marks the cut.
func clip(s string) string {
	if len(s) <= maxTitle {
		return s
	}
	n := maxTitle
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// plain is the text of a node without markup.
func plain(n ast.Node, src []byte) string {
	var b strings.Builder
	var walk func(n ast.Node)
	walk = func(n ast.Node) {
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			switch x := c.(type) {
			case *ast.Text:
				b.Write(unescape(x.Segment.Value(src), c.Parent().Kind() == ast.KindCodeSpan))
				if x.SoftLineBreak() || x.HardLineBreak() {
					b.WriteByte(' ')
				}
			case *ast.String:
				b.Write(x.Value)
			case *ast.AutoLink:
				b.Write(x.Label(src))
			case *ast.RawHTML:
			default:
				walk(c)
			}
		}
	}
	walk(n)
	return strings.TrimSpace(b.String())
}

var escaped = regexp.MustCompile("\\\\([!-/:-@\\[-`{-~])")

// unescape takes the backslashes before punctuation and the entities away, as a reader of the rendered text sees it.
func unescape(b []byte, code bool) []byte {
	if code {
		return b
	}
	if bytes.IndexByte(b, '\\') >= 0 {
		b = escaped.ReplaceAll(b, []byte("$1"))
	}
	if bytes.IndexByte(b, '&') >= 0 {
		b = []byte(html.UnescapeString(string(b)))
	}
	return b
}

// source is the text of a heading as it is written.
func source(h *ast.Heading, src []byte) string {
	var parts []string
	for i := range h.Lines().Len() {
		s := h.Lines().At(i)
		parts = append(parts, strings.TrimSpace(string(s.Value(src))))
	}
	return strings.Join(parts, " ")
}
