package markdown

import (
	"sort"
	"strings"
)

// Separator stands between the titles of a path.
const Separator = " > "

// Model is what a text consists of. It is immutable.
type Model struct {
	// Front is the front matter; nil when there is none.
	Front *FrontMatter
	// Title is that of the first heading of level 1; "" when there is none.
	Title string
	// Sections are the headings that stand at the top level of the text (not in quotes or lists), in order.
	Sections []Section
	// Fences are all blocks of fenced code, in order.
	Fences []Fence
	// Links are all links and images, in order.
	Links []Link
	// Counts are those of the whole text.
	Counts Counts
	// Comments are the HTML comments that stand outside of code.
	Comments []Span
	// Anchors are what a link can lead to: those of headings, and of id and name attributes.
	Anchors map[string]bool

	lines []int // where lines start
}

// Span is a part of the text, in bytes.
type Span struct{ Start, End int }

// Counts says how many there are of what.
type Counts struct{ Headings, Paragraphs, Lists, Items, Tables, Images, Links, Fences, Quotes int }

// Section is a heading with all that is below it.
type Section struct {
	// Title is the heading's text without markup, Source with it.
	Title, Source string
	// Level is 1 to 6.
	Level int
	// Parent is the index of the section around it, -1 when there is none.
	Parent int
	// Path are the titles from the top, joined by Separator.
	Path string
	// Start is where the heading's line starts, Body where the line after the heading starts, Own where the first subsection starts (or End),
	// End where the next heading of this or a higher level starts.
	Start, Body, Own, End int
	// Subsections are the titles of the headings directly below; Parts are these and the labels: bold text that begins a paragraph or an item
	// before the first subsection.
	Subsections, Parts []string
	// Languages are those of the fenced code in it, subsections included.
	Languages []string
	// Counts include the subsections.
	Counts Counts
}

// Fence is a block of fenced code.
type Fence struct {
	Language string
	// Start is where the line of the opening fence starts, End is behind the closing fence's line, or behind the block when it is not closed.
	Start, End int
	Closed     bool
	// Section is the index of the innermost section around it, -1 when there is none.
	Section int
}

// Link is a link or an image.
type Link struct {
	Text, Target string
	Image        bool
	// At is where it stands: its first byte, or the start of the block around it.
	At      int
	Section int
}

// SectionAt is the index of the innermost section that holds the offset, -1 when there is none.
func (m *Model) SectionAt(offset int) int {
	i := sort.Search(len(m.Sections), func(i int) bool { return m.Sections[i].Start > offset }) - 1
	for i >= 0 && m.Sections[i].End <= offset {
		i = m.Sections[i].Parent
	}
	return i
}

// Preamble is where the first heading starts; the end of the text when there is none.
func (m *Model) Preamble(text string) int {
	if len(m.Sections) == 0 {
		return len(text)
	}
	return m.Sections[0].Start
}

// Find lists the indexes of the sections that a name means: a title, with or without markup and with or without the # of its level, or the end
// of a path.
func (m *Model) Find(name string) []int {
	name = strings.TrimSpace(name)
	level := 0
	if bare := strings.TrimLeft(name, "#"); len(bare) < len(name) && strings.HasPrefix(bare, " ") && len(name)-len(bare) <= 6 {
		if found := m.find(name, 0); len(found) > 0 { // a title that begins with a #
			return found
		}
		level, name = len(name)-len(bare), strings.TrimSpace(bare)
	}
	return m.find(name, level)
}

func (m *Model) find(name string, level int) []int {
	var found []int
	for i, s := range m.Sections {
		if level > 0 && s.Level != level {
			continue
		}
		if s.Title == name || s.Source == name || s.Path == name || strings.HasSuffix(s.Path, Separator+name) {
			found = append(found, i)
		}
	}
	return found
}

// OwnText is where a section's heading and the text before its first subsection stand.
func (s *Section) OwnText() Span { return Span{s.Start, s.Own} }
