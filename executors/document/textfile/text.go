package textfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// The names of line endings.
const (
	LF    = "lf"
	CRLF  = "crlf"
	CR    = "cr"
	Mixed = "mixed"
	None  = "none"
)

// Text is a decoded file. It is immutable.
type Text struct {
	Encoding Encoding
	// BOM reports a byte-order mark.
	BOM bool
	// LF is the text with a line feed for every line ending. Offsets of places count bytes of it.
	LF string

	raw    string // as it stands, without the byte-order mark
	starts []int  // of the lines in LF
	raws   []int  // of the lines in raw; nil when raw is LF
	ending string // the name of the line endings
	most   string // the line ending that most lines have; "\n" when there is none
}

// New is the text of a new file: UTF-8 without a byte-order mark, line endings as they are in s.
func New(s string) *Text { return newText(s, UTF8, false) }

func newText(raw string, e Encoding, bom bool) *Text {
	t := &Text{Encoding: e, BOM: bom, raw: raw}
	crlf, lf := 0, strings.Count(raw, "\n")
	if lf > 0 {
		crlf = strings.Count(raw, "\r\n")
	}
	cr := 0
	if lf == 0 { // a carriage return alone ends lines only where nothing else does
		cr = strings.Count(raw, "\r")
	}
	t.most = "\n"
	switch {
	case cr > 0:
		t.ending, t.most = CR, "\r"
		t.LF = strings.ReplaceAll(raw, "\r", "\n")
	case lf == 0:
		t.ending = None
		t.LF = raw
	case crlf == 0:
		t.ending = LF
		t.LF = raw
	default:
		t.ending = CRLF
		if crlf < lf {
			t.ending = Mixed
		}
		if 2*crlf >= lf {
			t.most = "\r\n"
		}
		t.LF = strings.ReplaceAll(raw, "\r\n", "\n")
	}
	t.index()
	return t
}

// index notes where the lines start.
func (t *Text) index() {
	n := strings.Count(t.LF, "\n") + 1
	t.starts = make([]int, 1, n)
	for i := 0; ; {
		j := strings.IndexByte(t.LF[i:], '\n')
		if j < 0 {
			break
		}
		i += j + 1
		t.starts = append(t.starts, i)
	}
	if len(t.raw) == len(t.LF) { // every ending has one byte
		return
	}
	t.raws = make([]int, 1, n)
	for i := 0; ; {
		j := strings.IndexByte(t.raw[i:], '\n')
		if j < 0 {
			break
		}
		i += j + 1
		t.raws = append(t.raws, i)
	}
}

// Bytes are the file's bytes.
func (t *Text) Bytes() []byte { return encode(t.raw, t.Encoding, t.BOM) }

// LineEndings is lf, crlf, cr, mixed or none.
func (t *Text) LineEndings() string { return t.ending }

// FinalNewline reports whether the last line is ended.
func (t *Text) FinalNewline() bool { return strings.HasSuffix(t.LF, "\n") }

// Lines is how many lines there are; an ended last line has none behind it.
func (t *Text) Lines() int {
	if t.LF == "" {
		return 0
	}
	if t.FinalNewline() {
		return len(t.starts) - 1
	}
	return len(t.starts)
}

// Line is the number, from 1, of the line that holds the offset.
func (t *Text) Line(offset int) int {
	i, found := slices.BinarySearch(t.starts, offset)
	if found {
		return i + 1
	}
	return i
}

// LastLine is the number of the last line of which something lies before the offset, and at or behind start.
func (t *Text) LastLine(start, end int) int {
	if end <= start {
		return t.Line(start)
	}
	return t.Line(end - 1)
}

// Start is the offset of a line, from 1; that of the end of the text for lines behind the last.
func (t *Text) Start(line int) int {
	if line > len(t.starts) {
		return len(t.LF)
	}
	return t.starts[max(line, 1)-1]
}

// End is the offset behind a line, its line ending included.
func (t *Text) End(line int) int { return t.Start(line + 1) }

// LineText is a line without its ending.
func (t *Text) LineText(line int) string {
	return strings.TrimSuffix(t.LF[t.Start(line):t.End(line)], "\n")
}

// rawOffset is the place in the text as it stands.
func (t *Text) rawOffset(offset int) int {
	if t.raws == nil {
		return offset
	}
	line := t.Line(offset)
	return t.raws[line-1] + offset - t.starts[line-1]
}

// Edit replaces what lies between two offsets by a text.
type Edit struct {
	Start, End int
	// Text has a line feed for every line ending.
	Text string
}

// Apply makes the edits, which must not overlap; they may come in any order. Line feeds of the inserted texts become the line ending that
// most lines of the file have.
func (t *Text) Apply(edits []Edit) (*Text, error) {
	sorted := slices.Clone(edits)
	slices.SortStableFunc(sorted, func(a, b Edit) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) })
	var b strings.Builder
	at := 0
	for _, e := range sorted {
		if e.Start < at || e.End < e.Start || e.End > len(t.LF) {
			return nil, fmt.Errorf("the edits overlap or lie outside of the text: %d to %d of %d, after %d", e.Start, e.End, len(t.LF), at)
		}
		b.WriteString(t.raw[t.rawOffset(at):t.rawOffset(e.Start)])
		b.WriteString(WithEndings(e.Text, t.most))
		at = e.End
	}
	b.WriteString(t.raw[t.rawOffset(at):])
	return newText(b.String(), t.Encoding, t.BOM), nil
}

// Rewrite is a text of the same encoding with other content, which has a line feed for every line ending. ending is "\n" or "\r\n"; "" keeps
// the line ending that most lines of the file have.
func (t *Text) Rewrite(content, ending string) *Text {
	if ending == "" {
		ending = t.most
	}
	return newText(WithEndings(content, ending), t.Encoding, t.BOM)
}

// Raw is what lies between two offsets, with the line endings as they stand.
func (t *Text) Raw(start, end int) string { return t.raw[t.rawOffset(start):t.rawOffset(end)] }

// Normalize is a text with a line feed for every line ending, however it was written.
func Normalize(s string) string {
	if !strings.Contains(s, "\r") {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

// WithEndings is a text with another ending for every line feed.
func WithEndings(s, ending string) string {
	if ending == "\n" {
		return s
	}
	return strings.ReplaceAll(s, "\n", ending)
}
