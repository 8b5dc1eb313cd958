package terminal

import (
	"slices"
	"strings"
	"testing"
)

func TestColumns(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int{"": 0, "abc": 3, "재생": 4, "再生": 4, "「」": 4, "ｶﾅ": 2, "ＡＢ": 4, "e\u0301": 1, "👍": 2, "“…✓": 3, "\u200d": 0, "\u1112\u1161\u11ab": 2} {
		if got := columnsOf(s); got != want {
			t.Errorf("%q takes %d columns, want %d", s, got, want)
		}
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"재생 목록", 9, "재생 목록"}, {"재생 목록", 8, "재생 목…"}, {"재생 목록", 6, "재생…"}, {"재생", 3, "재…"}, {"재생", 2, "…"}, {"ab\u0301c", 2, "a…"}} {
		if got := fit(c.s, c.n); got != c.want || columnsOf(got) > c.n {
			t.Errorf("%q to %d: %q, want %q", c.s, c.n, got, c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s           string
		first, rest int
		want        string
	}{
		{"", 5, 5, ""},
		{"one two", 7, 7, "one two"},
		{"one two three", 7, 9, "one two|three"},
		{"one two three", 8, 4, "one two|thre|e"},
		{"abcdefgh", 3, 3, "abc|def|gh"},
		{"a bcdefghij", 6, 6, "a bcde|fghij"}, // the space is too far back
		{"재생 목록을 열 수 없습니다", 12, 12, "재생 목록을|열 수 없습니|다"},
		{"対象が見つかりません", 8, 10, "対象が見|つかりませ|ん"},
		{"対象です。次", 8, 8, "対象で|す。次"}, // 。does not begin a line
		{"ab)))))", 2, 2, "a|b)|))|))"},
	} {
		got := wrap(c.s, c.first, c.rest)
		if c.s == "ab)))))" { // nothing but closing marks: it ends, and loses nothing
			if strings.Join(got, "") != c.s {
				t.Errorf("%q: %q", c.s, got)
			}
			continue
		}
		if !slices.Equal(got, strings.Split(c.want, "|")) {
			t.Errorf("%q: %q, want %q", c.s, got, c.want)
		}
	}
}
