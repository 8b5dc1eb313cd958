package narration

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// MaxText bounds the text of an event, in runes.
const MaxText = 300

// Clean makes s one line of printable text: line breaks, tabs and runs of spaces become one space; control characters (escape sequences of
// terminals among them), marks that turn the direction of writing, and invalid UTF-8 are left out; the rest is normalised (NFC).
func Clean(s string) string {
	var b strings.Builder
	space := false
	for _, r := range strings.ToValidUTF8(s, "") {
		switch {
		case unicode.IsSpace(r), r == '\u2028', r == '\u2029':
			space = b.Len() > 0
			continue
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\uFEFF', r >= 0xE0000 && r <= 0xE007F:
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return norm.NFC.String(b.String()) // last: a letter may have found its mark only now
}

// Clip cuts s to at most n runes, the last of which marks the cut. It does not part a letter from its marks.
func Clip(s string, n int) string {
	rs := []rune(s)
	if len(rs) <= n {
		return s
	}
	if n < 1 {
		return ""
	}
	end := n - 1
	for end > 0 && joins(rs[end]) {
		end--
	}
	return strings.TrimRight(string(rs[:end]), " ") + "…"
}

// joins reports a rune that belongs to the one before it.
func joins(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me) || r == '\u200D' || r >= 0x1F3FB && r <= 0x1F3FF // marks, joiner, skin tones
}
