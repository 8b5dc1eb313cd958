package tool

import "regexp"

// Pattern is a regular expression in the dialect that RE2 and ECMA 262 read alike. It is compiled when the program starts.
type Pattern struct {
	text string
	rx   *regexp.Regexp
}

// MustPattern compiles a pattern of generated code, which was checked when it was generated; another one panics.
func MustPattern(text string) *Pattern { return &Pattern{text: text, rx: regexp.MustCompile(text)} }

func (p *Pattern) match(s string) bool { return p.rx.MatchString(s) }
