package shape

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode"
)

// Portable rewrites a pattern of Go's dialect (RE2) into one that RE2 and ECMA 262 with its u flag, the dialect of JSON Schema,
// read alike. A pattern that both read alike already comes back as it is. The others are rewritten from their syntax tree: "." stops
// at line feeds only in RE2, \s knows fewer spaces there, and (?i), \A, \z, \Q…\E and POSIX classes are unknown to ECMA. What has
// no counterpart, such as (?m), is an error.
func Portable(pattern string) (string, error) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", fmt.Errorf("the pattern %q is not valid: %w", pattern, err)
	}
	if plain(pattern) {
		return pattern, nil
	}
	var w strings.Builder
	if err := write(&w, tree); err != nil {
		return "", fmt.Errorf("the pattern %q %w", pattern, err)
	}
	if _, err := syntax.Parse(w.String(), syntax.Perl); err != nil || !plain(w.String()) {
		return "", fmt.Errorf("the pattern %q cannot be written so that RE2 and ECMA 262 read it alike", pattern)
	}
	return w.String(), nil
}

// special are the characters that ECMA allows to be escaped by a backslash in u mode, and RE2 as well.
const special = `^$\.*+?()[]{}|/`

// plain reports whether a valid RE2 pattern consists only of what both dialects read alike.
func plain(p string) bool {
	inClass, classStart := false, false
	for i := 0; i < len(p); i++ {
		c := p[i]
		start := classStart
		classStart = false
		switch {
		case c == '\\':
			i++
			if i == len(p) {
				return false
			}
			n := p[i]
			switch {
			case strings.IndexByte(special, n) >= 0, strings.IndexByte("dDwWnrtfv", n) >= 0, inClass && n == '-', !inClass && (n == 'b' || n == 'B'):
			case n == 'x' && i+2 < len(p) && strings.Trim(p[i+1:i+3], "0123456789abcdefABCDEF") == "":
				i += 2
			default:
				return false
			}
		case inClass:
			switch c {
			case ']':
				if start { // RE2: a literal; ECMA: the end
					return false
				}
				inClass = false
			case '[':
				return false // RE2: perhaps [:alpha:]; ECMA in v mode: a nested class
			case '^':
				classStart = start && p[i-1] == '['
			case '-', '&': // ranges; && is an operator in v mode
				if c == '&' && i+1 < len(p) && p[i+1] == '&' {
					return false
				}
			}
		case c == '[':
			inClass, classStart = true, true
		case c == '.', c == ']', c == '}':
			return false // a dot differs; unpaired ones are literals in RE2 only
		case c == '(' && i+1 < len(p) && p[i+1] == '?':
			if !strings.HasPrefix(p[i:], "(?:") {
				return false
			}
		case c == '{':
			end := strings.IndexByte(p[i:], '}')
			if end < 0 || !repetition(p[i+1:i+end]) {
				return false
			}
			i += end
		}
	}
	return true
}

// repetition reports whether s is n, n, or n,m.
func repetition(s string) bool {
	low, high, _ := strings.Cut(s, ",")
	digits := func(s string) bool { return strings.Trim(s, "0123456789") == "" }
	return low != "" && digits(low) && digits(high)
}

// write renders the syntax tree in the common dialect.
func write(w *strings.Builder, re *syntax.Regexp) error {
	group := func(sub *syntax.Regexp) error {
		w.WriteString("(?:")
		err := write(w, sub)
		w.WriteString(")")
		return err
	}
	repeat := func(suffix string) error {
		sub := re.Sub[0]
		single := sub.Op == syntax.OpCharClass || sub.Op == syntax.OpAnyCharNotNL || sub.Op == syntax.OpAnyChar || sub.Op == syntax.OpCapture ||
			sub.Op == syntax.OpLiteral && len(sub.Rune) == 1
		var err error
		if single {
			err = write(w, sub)
		} else {
			err = group(sub)
		}
		w.WriteString(suffix)
		if re.Flags&syntax.NonGreedy != 0 {
			w.WriteString("?")
		}
		return err
	}
	switch re.Op {
	case syntax.OpEmptyMatch:
		w.WriteString("(?:)")
	case syntax.OpNoMatch:
		return fmt.Errorf("matches nothing")
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if re.Flags&syntax.FoldCase != 0 && unicode.SimpleFold(r) != r {
				w.WriteString("[")
				for f := unicode.SimpleFold(r); ; f = unicode.SimpleFold(f) {
					char(w, f, true)
					if f == r {
						break
					}
				}
				w.WriteString("]")
				continue
			}
			char(w, r, false)
		}
	case syntax.OpCharClass:
		if len(re.Rune) == 0 {
			return fmt.Errorf("matches nothing")
		}
		class(w, re.Rune)
	case syntax.OpAnyCharNotNL:
		w.WriteString(`[^\n]`)
	case syntax.OpAnyChar:
		w.WriteString(`[\d\D]`)
	case syntax.OpBeginText:
		w.WriteString("^")
	case syntax.OpEndText:
		w.WriteString("$")
	case syntax.OpWordBoundary:
		w.WriteString(`\b`)
	case syntax.OpNoWordBoundary:
		w.WriteString(`\B`)
	case syntax.OpCapture:
		w.WriteString("(")
		if err := write(w, re.Sub[0]); err != nil {
			return err
		}
		w.WriteString(")")
	case syntax.OpStar:
		return repeat("*")
	case syntax.OpPlus:
		return repeat("+")
	case syntax.OpQuest:
		return repeat("?")
	case syntax.OpRepeat:
		switch {
		case re.Max == re.Min:
			return repeat(fmt.Sprintf("{%d}", re.Min))
		case re.Max < 0:
			return repeat(fmt.Sprintf("{%d,}", re.Min))
		}
		return repeat(fmt.Sprintf("{%d,%d}", re.Min, re.Max))
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			var err error
			if sub.Op == syntax.OpAlternate {
				err = group(sub)
			} else {
				err = write(w, sub)
			}
			if err != nil {
				return err
			}
		}
	case syntax.OpAlternate:
		for i, sub := range re.Sub {
			if i > 0 {
				w.WriteString("|")
			}
			if err := write(w, sub); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("uses line anchors (?m), which JSON Schema does not have")
	}
	return nil
}

// class renders pairs of bounds, negated when that is shorter.
func class(w *strings.Builder, pairs []rune) {
	w.WriteString("[")
	if len(pairs) > 2 && pairs[0] == 0 && pairs[len(pairs)-1] == unicode.MaxRune {
		w.WriteString("^")
		var gaps []rune
		for i := 1; i+1 < len(pairs); i += 2 {
			gaps = append(gaps, pairs[i]+1, pairs[i+1]-1)
		}
		pairs = gaps
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		char(w, pairs[i], true)
		if pairs[i+1] > pairs[i] {
			if pairs[i+1] > pairs[i]+1 {
				w.WriteString("-")
			}
			char(w, pairs[i+1], true)
		}
	}
	w.WriteString("]")
}

// char renders one character. Control characters become \xHH, which both dialects know; all others stand for themselves.
func char(w *strings.Builder, r rune, inClass bool) {
	switch {
	case r < 0x20 || r >= 0x7F && r < 0xA0:
		fmt.Fprintf(w, `\x%02x`, r)
	case r < 0x80 && strings.ContainsRune(special, r), inClass && r == '-':
		w.WriteByte('\\')
		w.WriteRune(r)
	default:
		w.WriteRune(r)
	}
}
