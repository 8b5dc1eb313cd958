package ocr

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// grade says how well a text that was read is the phrase that is looked for; higher is better.
// Only the best grade found counts: exact beats folded beats similar.
type grade uint8

const (
	differs grade = iota
	similar       // a letter or two were misread, in a way that tesseract misreads
	folded        // equal but for case, punctuation, spacing, accents or a stray icon
	exact         // letter for letter
)

// verdict is the result of a comparison.
type verdict struct {
	grade grade
	// quality is between 0 and 1, comparable across grades.
	quality float64
	// sure is how sure the engine is, 0 to 100, of the word of the phrase that it is least sure of.
	sure float64
}

// Qualities. The steps between grades are larger than vision.SameConfidence, so that a worse grade
// is never taken for an equal.
const (
	qualityExact   = 1.0
	qualityCase    = 0.88 // case, accents or punctuation differ
	qualitySpaces  = 0.86 // words are divided differently
	qualityStray   = 0.84 // an icon was read as a character before or after
	qualityGlyphs  = 0.80 // glyphs that look alike (I l 1, O 0) differ
	qualityOneEdit = 0.68
	qualityTwoEdit = 0.62
)

// compare judges whether the words of a line are the phrase, as a whole: a part of a longer text
// never is. Clear says that the line stands on a plain ground, where the engine doubts
// nothing but icons. It is a pure function.
func compare(phrase string, line []word, clear bool) verdict {
	want := tidy(phrase)
	got := make([]word, 0, len(line))
	for _, w := range line {
		if t := tidy(w.text); t != "" {
			got = append(got, word{text: t, sure: w.sure})
		}
	}
	if want == "" || len(got) == 0 {
		return verdict{}
	}
	if text := joined(got); text == want || ideographic(want) && squeeze(text) == squeeze(want) {
		return verdict{exact, qualityExact, leastSure(got)}
	}
	if fold(want) == "" { // signs only: nothing but exact will do
		return verdict{}
	}
	best := compareFolded(want, got)
	if stripped := withoutStrays(want, got, clear); len(stripped) < len(got) {
		v := compareFolded(want, stripped)
		if joined(stripped) == want {
			v = verdict{folded, qualityStray, leastSure(stripped)}
		}
		v.quality = min(v.quality, qualityStray)
		if v.grade > best.grade || v.grade == best.grade && v.quality > best.quality {
			best = v
		}
	}
	if best.grade == differs {
		best = compareSimilar(want, got)
	}
	return best
}

func joined(words []word) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.text
	}
	return strings.Join(texts, " ")
}

func leastSure(words []word) float64 {
	least := 100.0
	for _, w := range words {
		least = min(least, w.sure)
	}
	return least
}

// compareFolded compares after dropping what OCR and style sheets change.
func compareFolded(want string, got []word) verdict {
	text := joined(got)
	w, g := fold(want), fold(text)
	quality := 0.0
	switch {
	case g == "":
		return verdict{}
	case w == g:
		quality = qualityCase
	case squeeze(w) == squeeze(g):
		quality = qualitySpaces
	case alike(strings.Fields(want), strings.Fields(text)):
		quality = qualityGlyphs
	default:
		return verdict{}
	}
	return verdict{folded, quality, leastSure(got)}
}

// tidy brings a text to one form: composed characters, plain quotes and dashes, single spaces.
func tidy(s string) string {
	s = plainMarks.Replace(norm.NFC.String(s))
	return strings.Join(strings.Fields(s), " ")
}

var plainMarks = strings.NewReplacer(
	"‘", "'", "’", "'", "‚", "'", "‛", "'", "“", `"`, "”", `"`, "„", `"`, "…", "...",
	"‐", "-", "‑", "-", "‒", "-", "–", "-", "—", "-", "−", "-", "﹣", "-", "－", "-", "\u00a0", " ", "\u200b", "",
)

// fold drops case, accents and the marks that carry no meaning in a label. Signs that
// tell labels apart stay: "Volume +", "Volume -", "C#", "50%".
func fold(s string) string {
	var out strings.Builder
	runes := []rune(norm.NFKD.String(strings.ToLower(s)))
	for i, r := range runes {
		switch {
		case unicode.Is(unicode.Mn, r) && r < 0x3000: // an accent; later ones change the syllable
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
			out.WriteRune(r)
		case unicode.IsSpace(r):
			out.WriteByte(' ')
		case r == '-' && i > 0 && i+1 < len(runes) && unicode.IsLetter(runes[i-1]) && unicode.IsLetter(runes[i+1]):
			out.WriteByte(' ') // sign-in
		case strings.ContainsRune(insignificant, r):
		default:
			out.WriteRune(r)
		}
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

const insignificant = `.,:;'"!?()[]{}|_~` + "`^·•«»‹›¡¿°®©™\\"

// squeeze drops all spaces.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// ideographic reports whether the text is of a script that tesseract divides into words as it pleases.
func ideographic(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return unicode.In(r, unicode.Hangul, unicode.Hiragana, unicode.Katakana, unicode.Han)
	})
}

// withoutStrays drops what icons before and behind a label are read as, unless the phrase has it: single
// characters of a certain kind; on a plain ground also any other character or two in front that
// the engine doubts and that are no word; and a number in parentheses behind ("Inbox (3)").
func withoutStrays(want string, got []word, clear bool) []word {
	words := strings.Fields(want)
	doubted := func(w word) bool {
		r := []rune(w.text)
		return clear && w.sure < 60 && (len(r) == 1 || len(r) == 2 && !(unicode.IsLetter(r[0]) && unicode.IsLetter(r[1]))) &&
			!strings.ContainsAny(w.text, "0123456789-")
	}
	for len(got) > 1 && got[0].text != words[0] && (stray(got[0].text, strayBefore) || doubted(got[0])) {
		got = got[1:]
	}
	for last := len(got) - 1; last > 0 && got[last].text != words[len(words)-1]; last-- {
		if w := got[last]; !stray(w.text, strayAfter) && !counter(w.text) {
			break
		}
		got = got[:last]
	}
	return got
}

// What icons are read as: a magnifying glass as Q, a cross as x, a chevron as v. Signs that can be
// the whole difference between two labels (+ and - behind a word, currencies) are not among them.
const (
	strayBefore = "QOovVxX@>»<«+*=×©®°¥§¢&✓✔√►▶•·|/\\#~:.,'\"()[]{}"
	strayAfter  = "QOovVxX>»<«×©®°▾▼*=|/\\~:.,'\"()[]{}"
)

func stray(s, set string) bool {
	r := []rune(s)
	return len(r) == 1 && strings.ContainsRune(set, r[0]) || len(r) == 2 && fold(s) == ""
}

func counter(s string) bool {
	inside, ok := strings.CutPrefix(s, "(")
	inside, closed := strings.CutSuffix(inside, ")")
	return ok && closed && inside != "" && strings.Trim(inside, "0123456789") == ""
}

// alike reports whether words differ only in glyphs that cannot be told apart in many fonts. A
// glyph that stands alone ("Item l") may be another sign only if it is none by itself.
func alike(want, got []string) bool {
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		w, g := []rune(fold(want[i])), []rune(fold(got[i]))
		if len(w) != len(g) {
			return false
		}
		for k := range w {
			if w[k] == g[k] {
				continue
			}
			if len(w) == 1 {
				if !(got[i] == "l" || got[i] == "|") || w[k] != '1' && w[k] != 'i' {
					return false
				}
				continue
			}
			if twin(w[k]) != twin(g[k]) || !mostlyLetters(w) {
				return false
			}
		}
	}
	return true
}

// twin maps glyphs that look alike to one of them.
func twin(r rune) rune {
	switch r {
	case 'i', '1', '|', 'l':
		return 'l'
	case '0', 'o':
		return 'o'
	}
	return r
}

// mostlyLetters reports whether a word is a word rather than a number or a code.
func mostlyLetters(w []rune) bool {
	letters := 0
	for _, r := range w {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	return letters*3 >= len(w)*2 && letters >= 2
}

// compareSimilar allows for misread letters, carefully: only in words of five letters and more
// which the engine itself doubts, only letters that look like the right ones, never digits, never
// a letter more or less. "Unlike" is not like "Like", nor "Log on" like "Log in".
func compareSimilar(want string, line []word) verdict {
	words := strings.Fields(fold(want))
	var got []word
	for _, w := range line {
		if f := fold(w.text); f != "" {
			got = append(got, word{text: f, sure: w.sure})
		}
	}
	if len(words) != len(got) {
		return verdict{}
	}
	edits, sure := 0, leastSure(got)
	for i, w := range words {
		if w == got[i].text {
			continue
		}
		allowed := 0
		switch letters := len([]rune(w)); {
		case letters >= 9:
			allowed = 2
		case letters >= 5:
			allowed = 1
		}
		if got[i].sure >= wellRead || max(len(w)-len(got[i].text), len(got[i].text)-len(w)) > allowed {
			return verdict{}
		}
		n, ok := misread(w, got[i].text)
		if !ok || n > allowed {
			return verdict{}
		}
		edits += n
	}
	switch edits {
	case 1:
		return verdict{similar, qualityOneEdit, sure}
	case 2:
		return verdict{similar, qualityTwoEdit, sure}
	}
	return verdict{}
}

// Letters and pairs that tesseract takes for one another. Pairs that tell words of user
// interfaces apart (a and o in Block and Black, n and r in Clear and Clean) are not among them.
var misreadings = map[string][]string{
	"rn": {"m"}, "m": {"rn"}, "cl": {"d"}, "d": {"cl"}, "vv": {"w"}, "w": {"vv"}, "ii": {"u"}, "u": {"ii"},
	"e": {"c"}, "c": {"e"}, "i": {"l", "!", "|"}, "l": {"i", "!", "|", "1"}, "t": {"l", "f", "{"}, "f": {"t"},
	"g": {"q", "9"}, "q": {"g", "9"}, "s": {"5", "$"}, "b": {"6"}, "o": {"0"}, "y": {"v"}, "z": {"2"},
}

// misread counts the misreadings that lead from a word to what was read; ok is false if none do.
func misread(want, got string) (n int, ok bool) {
	type state struct{ w, g int }
	const never = 99
	seen := map[state]int{}
	var least func(s state) int
	least = func(s state) int {
		if s.w == len(want) && s.g == len(got) {
			return 0
		}
		if n, ok := seen[s]; ok {
			return n
		}
		best := never
		if s.w < len(want) && s.g < len(got) && want[s.w] == got[s.g] {
			best = least(state{s.w + 1, s.g + 1})
		}
		for size := 1; size <= 2 && s.w+size <= len(want); size++ {
			for _, m := range misreadings[want[s.w:s.w+size]] {
				if strings.HasPrefix(got[s.g:], m) {
					best = min(best, 1+least(state{s.w + size, s.g + len(m)}))
				}
			}
		}
		seen[s] = best
		return best
	}
	n = least(state{})
	return n, n < never
}

// resembles reports whether a line is so near to the phrase that a second reading, at another size,
// is worth its time. It decides nothing else.
func resembles(phrase string, line []word) bool {
	var texts []string
	for _, w := range line {
		texts = append(texts, w.text)
	}
	w, g := []rune(squeeze(fold(phrase))), []rune(squeeze(fold(strings.Join(texts, ""))))
	if len(w) == 0 {
		return false
	}
	return distanceOf(w, g)*2 <= max(len(w), 3)
}

// distanceOf is the Levenshtein distance.
func distanceOf(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// holds reports whether the words of a phrase stand side by side somewhere in a line: "Track 3" in
// "Track 3 · 4:05". It is for headings and neighbours, not for targets.
func holds(phrase string, line []word) bool {
	want := strings.Fields(fold(phrase))
	var got []string
	for _, w := range line {
		got = append(got, strings.Fields(fold(w.text))...)
	}
	if len(want) == 0 {
		return false
	}
	for i := 0; i+len(want) <= len(got); i++ {
		if slices.Equal(got[i:i+len(want)], want) {
			return true
		}
	}
	return false
}
