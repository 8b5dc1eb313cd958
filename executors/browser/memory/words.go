package memory

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// relation is how two texts of the same purpose stand to each other.
type relation int

const (
	// contrary: they say that these are two different things.
	contrary relation = iota
	// unrelated: they share no word.
	unrelated
	// shares: they share a word.
	shares
	// near: a slight rewording.
	near
	// same: the same words, in any order, or words of the same meaning.
	same
)

// Opposed reports whether two names of a control say opposite things, or one more than the other: "Approve" and "Reject", "Delete" and
// "Delete all".
func Opposed(a, b string) bool {
	a, b = fold(a), fold(b)
	x, y := concepts(a), concepts(b)
	return opposed(x, y) || opposed(y, x) || scoped(a, x) != scoped(b, y)
}

// similarity of a relation, for scores.
func (r relation) similarity() float64 { return [...]float64{0, 0, 0.4, 0.85, 1}[r] }

// counter is a number in brackets at the end: "Inbox (3)".
var counter = regexp.MustCompile(`\s*[(\[]\s*\d+\+?\s*[)\]]\s*$`)

// relate compares two texts. Both must be non-empty.
func relate(a, b string) relation {
	a, b = fold(counter.ReplaceAllString(a, "")), fold(counter.ReplaceAllString(b, ""))
	if a == b {
		return same
	}
	x, y := concepts(a), concepts(b)
	if Opposed(a, b) || numbered(x, y) {
		return contrary
	}
	if len(x) == 0 || len(y) == 0 {
		return unrelated
	}
	common := 0
	for _, w := range x {
		if slices.Contains(y, w) {
			common++
		}
	}
	switch d := 2 * float64(common) / float64(len(x)+len(y)); {
	case common == len(x) && common == len(y):
		return same
	case d >= 0.66, bigrams(a, b) >= 0.8, wide(a) && wide(b) && holds(a, b):
		return near
	case common > 0:
		return shares
	}
	return unrelated
}

func fold(s string) string {
	return strings.Join(strings.Fields(strings.ToLower(norm.NFKC.String(s))), " ")
}

// concepts are the words of a text that tell something, each in a form that words of the same meaning share.
func concepts(folded string) []string {
	var words []string
	for _, w := range strings.FieldsFunc(folded, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) }) {
		words = append(words, segment(w)...)
	}
	var out []string
	for i := 0; i < len(words); {
		c, n := concept(words[i:])
		i += n
		if c != "" && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// segment takes the longest known word out of a run of a script without spaces; what is left is a word of its own.
func segment(run string) []string {
	if meanings[run] != "" || !wide(run) {
		return []string{run}
	}
	longest := ""
	for w := range meanings {
		if len(w) > len(longest) || len(w) == len(longest) && w < longest {
			if wide(w) && len([]rune(w)) > 1 && strings.Contains(run, w) {
				longest = w
			}
		}
	}
	if longest == "" {
		return []string{run}
	}
	if rest := strings.Replace(run, longest, "", 1); rest != "" {
		return []string{longest, rest}
	}
	return []string{longest}
}

// concept is the meaning of the first words, and how many words express it; "" for words that tell nothing.
func concept(words []string) (string, int) {
	for n := min(3, len(words)); n > 0; n-- {
		if c := meanings[strings.Join(words[:n], " ")]; c != "" {
			return c, n
		}
	}
	w := words[0]
	if fillers[w] {
		return "", 1
	}
	if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") { // plural
		w = w[:len(w)-1]
		if c := meanings[w]; c != "" {
			return c, 1
		}
	}
	return w, 1
}

// opposed reports whether a says something whose opposite b says instead.
func opposed(a, b []string) bool {
	for _, x := range a {
		if slices.Contains(b, x) {
			continue
		}
		for _, y := range b {
			if slices.Contains(a, y) {
				continue
			}
			if opposites[[2]string{x, y}] || y == "un"+x || y == "dis"+x || y == "de"+x || y == "non"+x {
				return true
			}
		}
	}
	return false
}

// scoped reports whether a text says more than the bare deed: all of them, not, a draft. The bare deed is another one.
func scoped(folded string, words []string) string {
	var out []string
	for _, w := range words {
		if scopes[w] {
			out = append(out, w)
		}
	}
	for _, w := range wideScopes {
		if strings.Contains(folded, w) {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// numbered reports whether both texts have numbers, and other ones: step 2 is not step 3.
func numbered(a, b []string) bool {
	only := func(in []string) (out []string) {
		for _, w := range in {
			if strings.ContainsFunc(w, unicode.IsDigit) {
				out = append(out, w)
			}
		}
		slices.Sort(out)
		return out
	}
	x, y := only(a), only(b)
	return len(x) > 0 && len(y) > 0 && !slices.Equal(x, y)
}

// bigrams is Dice's coefficient of the pairs of neighbouring characters: high for a misspelling or another ending.
func bigrams(a, b string) float64 {
	pairs := func(s string) map[string]int {
		r, m := []rune(strings.ReplaceAll(s, " ", "")), map[string]int{}
		for i := 0; i+1 < len(r); i++ {
			m[string(r[i:i+2])]++
		}
		return m
	}
	x, y := pairs(a), pairs(b)
	common, total := 0, 0
	for k, n := range x {
		common += min(n, y[k])
		total += n
	}
	for _, n := range y {
		total += n
	}
	if total == 0 {
		return 0
	}
	return 2 * float64(common) / float64(total)
}

// wide reports whether a text is in a script without spaces between words.
func wide(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
	})
}

// holds reports whether the longer text is the shorter one and at most as much again.
func holds(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return strings.Contains(b, a) && len(b) <= 2*len(a)
}

// sameLanguage reports whether two texts may be compared word by word: their pages do not name two languages, and their scripts do not
// differ.
func sameLanguage(langA, langB, a, b string) bool {
	base := func(s string) string { s, _, _ = strings.Cut(strings.ToLower(s), "-"); return s }
	if langA != "" && langB != "" && base(langA) != base(langB) {
		return false
	}
	return a == "" || b == "" || wide(a) == wide(b)
}
