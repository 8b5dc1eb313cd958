package ocr

import (
	"strings"
	"testing"
)

// read makes the words of a line that the engine is sure of; "word~40" is one that it is 40 % sure of.
func line(text string) []word {
	var words []word
	for _, w := range strings.Fields(text) {
		sure := 96.0
		if i := strings.LastIndex(w, "~"); i > 0 {
			sure = 0
			for _, d := range w[i+1:] {
				sure = sure*10 + float64(d-'0')
			}
			w = w[:i]
		}
		words = append(words, word{text: w, sure: sure})
	}
	return words
}

func TestCompare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		phrase, line string
		want         grade
	}{
		{"Save", "Save", exact},
		{"Save as", "Save as", exact},
		{"  Save   as ", "Save as", exact},
		{"It’s “fine”…", `It's "fine"...`, exact},
		{"Café", "Cafe\u0301", exact},
		{"저장", "저 장", exact},
		{"再生する", "再 生 する", exact},
		{"+", "+", exact},
		{"Item 1", "Item 1", exact},

		{"save", "Save", folded},
		{"Save", "SAVE", folded},
		{"Save", "Save…", folded},
		{"Save as", "Save as:", folded},
		{"Sign-in", "Sign in", folded},
		{"Log in", "Login", folded},
		{"Cafe", "Café", folded},
		{"Search", "Q Search", folded},
		{"Add", "+ Add", folded},
		{"Close", "Close x", folded},
		{"Inbox", "Inbox (3)", folded},
		{"Resume", "p>~40 Resume", folded},
		{"All", "AIl", folded},
		{"Item 1", "Item l", folded},
		{"Bill", "BiII", folded},
		{"Log", "L0g", folded},

		{"Checkout", "Checkcut~60", differs}, // o is not read as c
		{"Subscribe", "Subscribc~70", similar},
		{"Terminal", "Terrninal~70", similar},
		{"Delete everything", "Delete evcrythinq~60", similar},
		{"Subscribe", "Subscribc", differs},                       // the engine is sure
		{"Delete everything", "Dclcte~60 evcrythinq~60", differs}, // too much

		{"Save", "Save as", differs},
		{"Save as", "Save", differs},
		{"Save", "Save as~30", differs}, // a doubted word of more than a sign is a word
		{"Play", "Pause", differs},
		{"Like", "Unlike", differs},
		{"Unlike", "Like", differs},
		{"Like", "Liked~40", differs},
		{"Log in", "Log on~40", differs},
		{"Log in", "Log out~40", differs},
		{"Track 1", "Track 2~30", differs},
		{"Track 1", "Track 12", differs},
		{"Track 12", "Track l2", differs}, // numbers are never guessed
		{"Plan", "Plan A~30", differs},
		{"Block", "Black~50", differs},
		{"Clear", "Clean~50", differs},
		{"Import", "Export~40", differs},
		{"Enable", "Disable~40", differs},
		{"Subscribe", "Unsubscribe~40", differs},
		{"Follow", "Following~40", differs},
		{"Send", "Sent~40", differs},
		{"Volume +", "Volume -", differs},
		{"Volume", "Volume +", differs},
		{"C", "C#", differs},
		{"50", "50%", differs},
		{"agree", "I agree", differs},
		{"Like", "1 Like", differs},
		{"2 items", "3 items", differs},
		{"Item O", "Item 0", differs},
		{"Item I", "Item 1", differs},
		{"+", "-", differs},
		{"+", "", differs},
		{"", "Save", differs},
		{"Save", "", differs},
		{"...", "Save", differs},
	} {
		if got := compare(c.phrase, line(c.line), true); got.grade != c.want {
			t.Errorf("compare(%q, %q) = %+v, want grade %d", c.phrase, c.line, got, c.want)
		}
	}
}

func TestOnBusyPlacesDoubtIsNoIcon(t *testing.T) {
	t.Parallel()
	if v := compare("Save", line("No~40 Save"), false); v.grade != differs {
		t.Errorf("a doubted word before the phrase was dropped: %+v", v)
	}
}

func TestConfidence(t *testing.T) {
	t.Parallel()
	of := func(phrase, text string, lines int) float64 {
		return confidence(compare(phrase, line(text), true), lines, phrase)
	}
	order := []struct {
		what string
		c    float64
	}{
		{"exact", of("Checkout", "Checkout", 1)},
		{"exact on two lines", of("Check out", "Check out", 2)},
		{"other case", of("Checkout", "CHECKOUT", 1)},
		{"with an icon", of("Checkout", "x Checkout", 1)},
		{"look-alike glyphs", of("Bill all", "BiII aIl", 1)},
		{"misread", of("Subscribe", "Subscribc~80", 1)},
	}
	for i := 1; i < len(order); i++ {
		if order[i].c >= order[i-1].c {
			t.Errorf("%s (%.2f) is not below %s (%.2f)", order[i].what, order[i].c, order[i-1].what, order[i-1].c)
		}
	}
	if c := of("OK", "OK~40", 1); c >= DefaultFloor {
		t.Errorf("two doubtful letters reach %.2f", c)
	}
	if c := of("Checkout now", "Checkout~50 now", 1); c < DefaultFloor {
		t.Errorf("twelve right letters reach only %.2f", c)
	}
	for _, o := range order {
		if o.c < 0 || o.c > 1 {
			t.Errorf("%s: %.2f is no confidence", o.what, o.c)
		}
	}
}

func TestHolds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		phrase, line string
		want         bool
	}{
		{"Track 3", "Track 3 · 4:05", true},
		{"track 3", "03 Track 3", true},
		{"Track 3", "Track 30", false},
		{"Billing", "Billing address", true},
		{"Bill", "Billing address", false},
		{"", "Billing", false},
	} {
		if got := holds(c.phrase, line(c.line)); got != c.want {
			t.Errorf("holds(%q, %q) = %v", c.phrase, c.line, got)
		}
	}
}

func FuzzCompare(f *testing.F) {
	for _, s := range []string{"Save", "Save as", "Ünïcode", "저장", "+", "\xff", "( 3 )", "l", "|"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, phrase, text string) {
		v := compare(phrase, line(text), true)
		if v.grade == differs != (v.quality == 0) || v.quality < 0 || v.quality > 1 {
			t.Errorf("compare(%q, %q) = %+v", phrase, text, v)
		}
		if v.grade != differs && strings.Count(text, "~") == 0 && len(squeeze(fold(text))) > len(squeeze(fold(phrase)))+12 && len(fold(phrase)) > 0 {
			t.Errorf("%q is taken for %q", text, phrase)
		}
	})
}
