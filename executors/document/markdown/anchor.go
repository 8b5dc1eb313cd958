package markdown

import (
	"fmt"
	"strings"
	"unicode"
)

// anchor is the one that GitHub gives to a heading: lower case, letters, digits, marks, - and _ kept, spaces as -, a number behind it from the
// second of the same name on. seen counts those that were given.
func anchor(title string, seen map[string]int) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(title)) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r), unicode.Is(unicode.Pc, r), r == '-':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	slug := b.String()
	a := slug
	for {
		n, taken := seen[a]
		if !taken {
			seen[a] = 0
			return a
		}
		_ = n
		seen[slug]++
		a = fmt.Sprintf("%s-%d", slug, seen[slug])
	}
}
