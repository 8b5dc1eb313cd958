package tool

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"name", "role", "within", "near", "selector", "ref", "nth", "description"}
	for _, c := range []struct {
		word string
		want []string // in order
	}{
		{"nmae", []string{"name", "near"}},
		{"Name", []string{"name"}},
		{"selektor", []string{"selector"}},
		{"desciption", []string{"description"}},
		{"zzzzzzzz", nil},
		{"", nil},
	} {
		if got := nearest(c.word, names, 3); !slices.Equal(got[:min(len(got), len(c.want))], c.want) || len(c.want) == 0 && len(got) > 0 {
			t.Errorf("%q: %q, want %q first", c.word, got, c.want)
		}
	}
	if got := nearest("aa", []string{"ac", "ab"}, 2); !slices.Equal(got, []string{"ab", "ac"}) {
		t.Errorf("equally near ones: %q", got)
	}
	if got := nearest("aa", []string{"ac", "ab"}, 1); len(got) != 1 {
		t.Errorf("more than asked for: %q", got)
	}
	if Nearest("snapshto", []string{"screenshot", "snapshot"}) != "snapshot" || Nearest("x", []string{"completely"}) != "" {
		t.Error("the nearest is another one")
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "abc", 3}, {"abc", "abc", 0}, {"ABC", "abc", 0}, {"abc", "acb", 1}, {"abc", "adc", 1}, {"abc", "abcd", 1}, {"ca", "abc", 3}, {"kitten", "sitting", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if distance(c.a, c.b) != distance(c.b, c.a) {
			t.Errorf("%q and %q: not symmetric", c.a, c.b)
		}
	}
	start := time.Now()
	distance(strings.Repeat("a", 1<<20), strings.Repeat("b", 1<<20))
	if took := time.Since(start); took > time.Second {
		t.Errorf("long words took %s", took)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{inWords([]string{"/target/name"}), "target.name"},
		{inWords([]string{"/a", "/b/0"}), "a and b.0"},
		{inWords([]string{"/a", "/b", "/c"}), "a, b and c"},
		{list(nil, "or"), ""},
		{it(1), "it"}, {it(2), "them"},
		{question(&Spec{}, nil), ""},
		{question(&Spec{}, []string{"/target"}), "What should target be?"},
		{question(&Spec{Question: "Which button?"}, []string{"/target"}), "Which button?"},
		{which(&Spec{}, nil), "Which one is meant?"},
		{which(&Spec{Question: "Which button?"}, []Candidate{{Name: "Play", Role: "button", Within: "Album"}, {Name: "Play", Near: "Track 3"}}),
			`Which button? The button "Play" in "Album" or the element "Play" beside "Track 3"?`},
		{clip("abc", 3), "abc"}, {clip("abcd", 3), "abc…"}, {clip("aé", 2), "a…"}, {clip("日本", 4), "日…"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
