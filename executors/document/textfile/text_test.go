package textfile

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func utf16le(s string) []byte { return encode(s, UTF16LE, true) }
func utf16be(s string) []byte { return encode(s, UTF16BE, true) }

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		data                 []byte
		encoding             Encoding
		bom, final           bool
		lf, ending, describe string
		lines                int
	}{
		{[]byte(""), UTF8, false, false, "", None, "empty", 0},
		{[]byte("a"), UTF8, false, false, "a", None, "no line ending", 1},
		{[]byte("a\nb\n"), UTF8, false, true, "a\nb\n", LF, "Unix", 2},
		{[]byte("a\r\nb"), UTF8, false, false, "a\nb", CRLF, "Windows", 2},
		{[]byte("a\rb\r"), UTF8, false, true, "a\nb\n", CR, "old Mac", 2},
		{[]byte("a\r\nb\n\nc\r\n"), UTF8, false, true, "a\nb\n\nc\n", Mixed, "mixed", 4},
		{[]byte("a\rb\n"), UTF8, false, true, "a\rb\n", LF, "a carriage return inside of a line", 1},
		{[]byte("\xEF\xBB\xBFa\n"), UTF8, true, true, "a\n", LF, "UTF-8 with a mark", 1},
		{[]byte("日本\n"), UTF8, false, true, "日本\n", LF, "multi-byte", 1},
		{utf16le("a😀\r\n"), UTF16LE, true, true, "a😀\n", CRLF, "UTF-16 LE", 1},
		{utf16be("ä\n"), UTF16BE, true, true, "ä\n", LF, "UTF-16 BE", 1},
		{[]byte("\xFF\xFE"), UTF16LE, true, false, "", None, "only a mark", 0},
	} {
		t.Run(c.describe, func(t *testing.T) {
			t.Parallel()
			x, err := Decode(c.data)
			if err != nil {
				t.Fatal(err)
			}
			if x.Encoding != c.encoding || x.BOM != c.bom || x.FinalNewline() != c.final || x.LF != c.lf || x.LineEndings() != c.ending || x.Lines() != c.lines {
				t.Errorf("got %s %v %v %q %s %d", x.Encoding, x.BOM, x.FinalNewline(), x.LF, x.LineEndings(), x.Lines())
			}
			if !bytes.Equal(x.Bytes(), c.data) {
				t.Errorf("came back as %q", x.Bytes())
			}
		})
	}
}

func TestNotText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		data   []byte
		offset int
		why    string
	}{
		{[]byte("caf\xE9\n"), 3, "Latin-1"},
		{[]byte("\xEF\xBB\xBFcaf\xE9"), 6, "Latin-1"},
		{[]byte("a\x00b"), 1, "binary"},
		{[]byte("\xFF\xFEa"), 2, "half a character"},
		{[]byte("\xFF\xFE\x00\xD8a\x00"), 2, "surrogate"},
		{[]byte("\xFE\xFF\x00a\xDC\x00"), 4, "surrogate"},
		{[]byte("\xFF\xFE\x00\x00"), 2, "binary"},
	} {
		_, err := Decode(c.data)
		var not *NotTextError
		if !errors.As(err, &not) || not.Offset != c.offset || !strings.Contains(not.Why, c.why) {
			t.Errorf("%q: %v", c.data, err)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	x, err := Decode([]byte("one\r\ntwo\r\n\r\nfour"))
	if err != nil {
		t.Fatal(err)
	}
	for offset, want := range map[int]int{0: 1, 3: 1, 4: 2, 7: 2, 8: 3, 9: 4, 13: 4} {
		if got := x.Line(offset); got != want {
			t.Errorf("offset %d: line %d, want %d", offset, got, want)
		}
	}
	if x.LineText(1) != "one" || x.LineText(3) != "" || x.LineText(4) != "four" || x.LineText(9) != "" {
		t.Errorf("%q %q %q", x.LineText(1), x.LineText(3), x.LineText(4))
	}
	if x.Start(4) != 9 || x.End(4) != 13 || x.Start(99) != 13 || x.LastLine(0, 4) != 1 || x.LastLine(0, 5) != 2 || x.LastLine(4, 4) != 2 {
		t.Error("starts and ends")
	}
	if x.Raw(0, 8) != "one\r\ntwo\r\n" {
		t.Errorf("raw %q", x.Raw(0, 8))
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file  string
		edits []Edit
		want  string
	}{
		{"a\r\nb\r\n", []Edit{{2, 3, "x\ny"}}, "a\r\nx\r\ny\r\n"},
		{"a\r\nb\r\n", []Edit{{1, 2, ""}}, "ab\r\n"},
		{"a\r\nb\nc\r\n", []Edit{{4, 4, "\n"}, {0, 1, "A"}}, "A\r\nb\n\r\nc\r\n"},
		{"a\nb\nc\r\n", []Edit{{6, 6, "d\n"}}, "a\nb\nc\r\nd\n"},
		{"a\rb", []Edit{{3, 3, "\nc"}}, "a\rb\rc"},
		{"", []Edit{{0, 0, "a\n"}}, "a\n"},
	} {
		x, err := Decode([]byte(c.file))
		if err != nil {
			t.Fatal(err)
		}
		got, err := x.Apply(c.edits)
		if err != nil || string(got.Bytes()) != c.want {
			t.Errorf("%q %v: %q (%v), want %q", c.file, c.edits, got.Bytes(), err, c.want)
		}
	}
	for _, edits := range [][]Edit{{{0, 5, ""}}, {{-1, 0, ""}}, {{2, 1, ""}}, {{0, 2, ""}, {1, 3, ""}}} {
		if _, err := New("abc").Apply(edits); err == nil {
			t.Errorf("%v was made", edits)
		}
	}
}

// Whatever is edited, in whatever encoding, with whatever mixture of line endings: the bytes outside of the edits are the same, and what was
// inserted is there.
func TestEditsChangeNothingElse(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "bc", " ", "é", "日本", "😀", "\n", "\r\n", "\n\n", "\r\n\r\n", "\t", "# x"}
	random := func(n int) string {
		var b strings.Builder
		for range r.IntN(n + 1) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		return b.String()
	}
	for i := range 20_000 {
		enc, bom := []Encoding{UTF8, UTF16LE, UTF16BE}[r.IntN(3)], r.IntN(2) == 0
		file := random(30)
		if r.IntN(5) == 0 {
			file = strings.ReplaceAll(strings.ReplaceAll(file, "\r\n", "\n"), "\n", "\r")
		}
		data := encode(file, enc, bom || enc != UTF8)
		x, err := Decode(data)
		if err != nil {
			t.Fatalf("%q: %v", file, err)
		}
		cut := func() int { // a place between characters
			at := 0
			for p := range x.LF {
				if r.IntN(8) == 0 {
					at = p
				}
			}
			if r.IntN(6) == 0 {
				at = len(x.LF)
			}
			return at
		}
		s, e := cut(), cut()
		if s > e {
			s, e = e, s
		}
		insert := Normalize(random(6))
		y, err := x.Apply([]Edit{{s, e, insert}})
		if err != nil {
			t.Fatal(err)
		}
		before, after := x.Raw(0, s), x.Raw(e, len(x.LF))
		rawInsert := WithEndings(insert, x.most)
		if want := encode(before+rawInsert+after, enc, bom || enc != UTF8); !bytes.Equal(y.Bytes(), want) {
			t.Fatalf("%d: %q, edit %d-%d by %q:\n got %q\nwant %q", i, file, s, e, insert, y.Bytes(), want)
		}
		head := encode(before, enc, bom || enc != UTF8)
		tail := encode(after, enc, false)
		if !bytes.HasPrefix(y.Bytes(), head) || !bytes.HasSuffix(y.Bytes(), tail) || !bytes.HasPrefix(data, head) || !bytes.HasSuffix(data, tail) {
			t.Fatalf("%d: the bytes outside of the edit changed", i)
		}
	}
}

// FuzzDecode: what is decoded comes back byte by byte, and its lines put together are the text.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "a\r\nb\n", "\xEF\xBB\xBFx", "\xFF\xFEa\x00", "\xFE\xFF\xD8\x00\xDC\x00", "\r", "\r\r\n", "caf\xE9"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := Decode(data)
		if err != nil {
			return
		}
		if !bytes.Equal(x.Bytes(), data) {
			t.Fatalf("%q came back as %q", data, x.Bytes())
		}
		var b strings.Builder
		for l := 1; l <= x.Lines(); l++ {
			b.WriteString(x.LF[x.Start(l):x.End(l)])
			if got := x.Line(x.Start(l)); got != l {
				t.Fatalf("line %d of %q starts in line %d", l, data, got)
			}
		}
		if b.String() != x.LF {
			t.Fatalf("the lines of %q are %q", x.LF, b.String())
		}
		y, err := x.Apply([]Edit{{0, len(x.LF), x.LF}})
		if err != nil || y.LF != x.LF && !strings.Contains(x.LF, "\r") {
			t.Fatalf("%q rewritten is %q (%v)", x.LF, y.LF, err)
		}
		_ = fmt.Sprint(y.LineEndings())
	})
}

func BenchmarkApply(b *testing.B) {
	x, err := Decode(bytes.Repeat([]byte("some line of a file with CRLF\r\n"), 1<<20/31))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(1 << 20)
	for b.Loop() {
		if _, err := x.Apply([]Edit{{500_000, 500_010, "new text"}}); err != nil {
			b.Fatal(err)
		}
	}
}
