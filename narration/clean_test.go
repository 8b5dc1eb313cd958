package narration

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain":                               "plain",
		"  two \r\n\t lines\u2028here\u00a0 ": "two lines here",
		"\x1b[31mred\x1b[0m \x07bell\x9b2J":   "[31mred[0m bell2J",
		"right\u202Eto\u2066left\u200F":       "righttoleft",
		"bad \xff\xfe bytes":                  "bad bytes",
		"\uFEFFmark":                          "mark",
		"e\u0301":                             "é",
		"\u1112\u1161\u11ab":                  "한",
		"👩\u200D💻":                            "👩\u200D💻",
		"":                                    "",
	} {
		if got := Clean(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"short", 5, "short"}, {"longer", 5, "long…"}, {"재생 목록", 4, "재생…"}, {"abc", 0, ""}, {"abc", 1, "…"},
		{"ab\u0301\u0302cd", 4, "a…"}, {"x👩\u200D💻y", 3, "x…"}, {"ab👍🏽c", 4, "ab…"},
	} {
		if got := Clip(c.in, c.n); got != c.want {
			t.Errorf("%q to %d: %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"a\x1b[2Jb", "\u202e\u0301\u200d", "한\x00글", "\xf0\x9f"} {
		f.Add(s, 5)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		got := Clean(s)
		if !utf8.ValidString(got) || got != strings.TrimSpace(got) || strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) {
			t.Errorf("%q becomes %q", s, got)
		}
		if again := Clean(got); again != got {
			t.Errorf("cleaning again makes %q of %q", again, got)
		}
		if cut := Clip(got, n); utf8.RuneCountInString(cut) > max(n, 0) {
			t.Errorf("clipped to %d: %q", n, cut)
		}
	})
}
