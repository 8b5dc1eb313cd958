package match

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Rank is how well a name fits.
type Rank int

// The ranks, from bad to good.
const (
	None Rank = iota
	// Part: the name contains the wanted one, and what is left says little.
	Part
	// Folded: the same but for case, spaces and forms of characters.
	Folded
	// Exact: the same, letter for letter (runs of spaces count as one).
	Exact
)

// minShare is the least part of a longer name that several wanted words must make up.
const minShare = 0.5

// Name ranks a name that an element has against the one that is wanted.
func Name(wanted, has string) Rank {
	w, h := squeeze(wanted), squeeze(has)
	switch {
	case w == "" || h == "":
		return None
	case w == h:
		return Exact
	}
	w, h = fold(w), fold(h)
	if w == h {
		return Folded
	}
	i := strings.Index(h, w)
	if i < 0 {
		return None
	}
	before, after := h[:i], h[i+len(w):]
	if wordAt(before, w, after) && (slight(before+after) || strings.Contains(w, " ") && float64(utf8.RuneCountInString(w)) >= minShare*float64(utf8.RuneCountInString(h))) {
		return Part
	}
	return None
}

// squeeze trims, and makes every run of spaces one.
func squeeze(s string) string {
	s = strings.Map(visible, s)
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '\u200b' || r == '\ufeff' }), " ")
}

// visible drops characters that nobody sees: soft hyphens, marks of direction, word joiners.
func visible(r rune) rune {
	switch {
	case r == '\u00ad', r == '\u200e', r == '\u200f', r >= '\u202a' && r <= '\u202e', r == '\u2060', r >= '\u2066' && r <= '\u2069':
		return -1
	}
	return r
}

// joiners are invisible, too, but some languages and emoji mean something by them.
var joiners = strings.NewReplacer("\u200c", "", "\u200d", "")

func fold(s string) string { return strings.ToLower(norm.NFKC.String(joiners.Replace(s))) }

// wordAt reports whether w stands between word boundaries.
func wordAt(before, w, after string) bool {
	first, _ := utf8.DecodeRuneInString(w)
	last, _ := utf8.DecodeLastRuneInString(w)
	l, _ := utf8.DecodeLastRuneInString(before)
	r, _ := utf8.DecodeRuneInString(after)
	inWord := func(a, b rune) bool { return isWord(a) && isWord(b) }
	return (before == "" || !inWord(l, first)) && (after == "" || !inWord(last, r)) && !continues(w, after) && !continues(before, w)
}

// continues reports whether a number, or a name such as C++, goes on from one part of a text into the next: v1 is not in v1.2, nor room 1
// in room 1-2.
func continues(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	digit := func(c byte) bool { return '0' <= c && c <= '9' }
	end, rest := a[len(a)-1], strings.TrimPrefix(b, "–")
	if len(rest) > 0 && strings.ContainsRune(".,:/-", rune(rest[0])) {
		rest = rest[1:]
	}
	if digit(end) && rest != "" && digit(rest[0]) {
		return true
	}
	if a = strings.TrimRight(a, ".,:/-–"); a != "" && digit(a[len(a)-1]) && digit(b[0]) {
		return true
	}
	return (b[0] == '+' || b[0] == '#') && isWord(rune(end)) && len(b) <= 2
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// slight reports whether the rest of a name holds no letters: a colon, an asterisk, a count, an arrow.
func slight(rest string) bool {
	return !strings.ContainsFunc(rest, unicode.IsLetter)
}

// Best is the best rank of several names that one element has.
func Best(wanted string, names []string) Rank {
	best := None
	for _, n := range names {
		best = max(best, Name(wanted, n))
	}
	return best
}

// places are words that people add to the name of a part of a page.
var places = map[string]bool{"panel": true, "section": true, "dialog": true, "form": true, "region": true, "area": true, "card": true, "list": true, "table": true, "group": true,
	"menu": true, "toolbar": true, "frame": true, "iframe": true, "tab": true, "row": true, "column": true, "sidebar": true, "header": true, "footer": true, "navigation": true,
	"box": true, "popup": true, "modal": true, "window": true, "bar": true, "the": true}

// Place ranks the name of a container against the one that is wanted: as [Name] does, but for words such as "panel" at its end.
func Place(wanted, has string) Rank {
	if r := Name(wanted, has); r >= Folded {
		return r
	} else if bare := strip(wanted); bare != "" && bare != fold(squeeze(wanted)) {
		if b := Name(bare, has); b >= Folded {
			return Part
		}
		return max(r, min(Name(bare, has), Part))
	} else if Name(strip(has), wanted) >= Folded {
		return Part
	} else {
		return r
	}
}

func strip(s string) string {
	words := strings.Fields(fold(squeeze(s)))
	for len(words) > 1 && places[words[len(words)-1]] {
		words = words[:len(words)-1]
	}
	for len(words) > 1 && words[0] == "the" {
		words = words[1:]
	}
	return strings.Join(words, " ")
}
