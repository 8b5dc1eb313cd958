package tool

import (
	"regexp"
	"regexp/syntax"
	"unicode/utf8"
)

// Pattern is a regular expression in the dialect that RE2 and ECMA 262 read alike. It is compiled when the program starts.
type Pattern struct {
	text string
	rx   *regexp.Regexp
	runs []run // the same, where it is simple enough; nil otherwise
}

// MustPattern compiles a pattern of generated code, which was checked when it was generated; another one panics.
func MustPattern(text string) *Pattern {
	return &Pattern{text: text, rx: regexp.MustCompile(text), runs: runsOf(text)}
}

func (p *Pattern) match(s string) bool {
	if p.runs == nil {
		return p.rx.MatchString(s)
	}
	return matchRuns(p.runs, s)
}

// run is a number of characters of one set. Most patterns in designs are a few runs between ^ and $, as in ^[a-z][a-z0-9_]*$; matched as
// such they take a tenth of the time.
type run struct {
	set      [utf8.RuneSelf]bool
	min, max int // max < 0: no limit
}

// matchRuns takes as many characters as each run allows. That needs no second try, because runsOf makes sure that a run of variable
// length cannot take what a later one needs.
func matchRuns(runs []run, s string) bool {
	at := 0
	for i := range runs {
		r, n := &runs[i], 0
		for at < len(s) && (r.max < 0 || n < r.max) && s[at] < utf8.RuneSelf && r.set[s[at]] {
			at++
			n++
		}
		if n < r.min {
			return false
		}
	}
	return at == len(s)
}

// runsOf translates a pattern into runs; nil when it is not that simple.
func runsOf(text string) []run {
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil || re.Op != syntax.OpConcat || len(re.Sub) < 3 ||
		re.Sub[0].Op != syntax.OpBeginText || re.Sub[len(re.Sub)-1].Op != syntax.OpEndText {
		return nil
	}
	var runs []run
	for _, sub := range re.Sub[1 : len(re.Sub)-1] {
		low, high := 1, 1
		switch sub.Op {
		case syntax.OpStar:
			low, high, sub = 0, -1, sub.Sub[0]
		case syntax.OpPlus:
			low, high, sub = 1, -1, sub.Sub[0]
		case syntax.OpQuest:
			low, high, sub = 0, 1, sub.Sub[0]
		case syntax.OpRepeat:
			low, high, sub = sub.Min, sub.Max, sub.Sub[0]
		}
		switch {
		case sub.Op == syntax.OpLiteral && sub.Flags&syntax.FoldCase == 0 && (low == 1 && high == 1 || len(sub.Rune) == 1):
			for _, c := range sub.Rune {
				r := run{min: low, max: high}
				if c >= utf8.RuneSelf {
					return nil
				}
				r.set[c] = true
				runs = append(runs, r)
			}
		case sub.Op == syntax.OpCharClass:
			r := run{min: low, max: high}
			for i := 0; i+1 < len(sub.Rune); i += 2 {
				if sub.Rune[i+1] >= utf8.RuneSelf {
					return nil
				}
				for c := sub.Rune[i]; c <= sub.Rune[i+1]; c++ {
					r.set[c] = true
				}
			}
			runs = append(runs, r)
		default:
			return nil
		}
	}
	for i := range runs {
		if runs[i].min == runs[i].max {
			continue
		}
		for j := i + 1; j < len(runs); j++ { // what may follow must begin with something else
			for c, in := range runs[i].set {
				if in && runs[j].set[c] {
					return nil
				}
			}
			if runs[j].min > 0 {
				break
			}
		}
	}
	return runs
}
