package terminal

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// columnsOf is how many columns s takes on a terminal. Characters whose width Unicode calls ambiguous take one, as terminals have it.
func columnsOf(s string) (n int) {
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Cc), r >= 0x1160 && r <= 0x11FF: // marks, and the Hangul vowels and finals that join a syllable
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// fit clips s to at most that many columns; a clipped one ends in an ellipsis.
func fit(s string, columns int) string {
	if columnsOf(s) <= columns {
		return s
	}
	used, end := 0, 0
	for i, r := range s {
		used += runeColumns(r)
		if used > columns-1 { // one for the ellipsis
			break
		}
		end = i + utf8.RuneLen(r)
	}
	return strings.TrimRight(s[:end], " ") + "…"
}

// wrap breaks s into lines of at most that many columns: at a space, or between two characters where the spaces are far apart (Japanese has
// none); a line does not begin with a closing mark.
func wrap(s string, first, rest int) (lines []string) {
	for limit := first; columnsOf(s) > limit; limit = rest {
		used, end, space := 0, 0, 0
		for i, r := range s {
			if r == ' ' && used >= limit/2 {
				space = i
			}
			if used += runeColumns(r); used > limit && end > 0 {
				break
			}
			end = i + utf8.RuneLen(r)
		}
		if space > 0 {
			end = space
		}
		for next, _ := utf8.DecodeRuneInString(s[end:]); closing(next); next, _ = utf8.DecodeRuneInString(s[end:]) {
			_, size := utf8.DecodeLastRuneInString(s[:end])
			if end == size {
				break
			}
			end -= size
		}
		lines = append(lines, strings.TrimRight(s[:end], " "))
		s = strings.TrimLeft(s[end:], " ")
	}
	return append(lines, s)
}

// closing reports a mark that does not begin a line.
func closing(r rune) bool {
	return unicode.In(r, unicode.Pe, unicode.Pf, unicode.Mn) || strings.ContainsRune(".,;:!?…。、，：；？！ー", r)
}

// pad fills s up with spaces to that many columns, on the right, or on the left for numbers.
func pad(s string, columns int, left bool) string {
	spaces := strings.Repeat(" ", max(columns-columnsOf(s), 0))
	if left {
		return spaces + s
	}
	return s + spaces
}
