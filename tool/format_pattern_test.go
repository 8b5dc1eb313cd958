package tool

import (
	"math/rand/v2"
	"regexp"
	"testing"
)

func TestRunsMatchLikeTheRegularExpression(t *testing.T) {
	t.Parallel()
	simple := []string{`^[a-z]+$`, `^[a-z][a-z0-9_-]*$`, `^sha256:[0-9a-f]{4}$`, `^o_[0-9]+$`, `^a?b*c{2,3}$`, `^[^a]?x$`, `^ab$`, `^\d{2,}-\d$`, `^e[0-9]+$`, `^\^a\$$`}
	complex := []string{`^[a-z]?[0-9]*e[0-9]+$`, `^(a|b)+$`, `a`, `^a`, `^é$`, `(?i)^a$`, `^a*a$`, `^a?b*a$`, `^(?:ab)*$`, `^$`, `^\w+\b$`, `^(ab)?c$`}
	used := 0
	g := rand.New(rand.NewPCG(1, 2))
	for _, text := range append(simple, complex...) {
		p, rx := MustPattern(text), regexp.MustCompile(text)
		if p.runs != nil {
			used++
		}
		for range 5000 {
			b := make([]byte, g.IntN(9))
			for i := range b {
				b[i] = "abcxe_-019^$: sh\xc3\xa9"[g.IntN(18)]
			}
			for _, s := range []string{string(b), "sha256:0" + string(b), "o_" + string(b)} {
				if p.match(s) != rx.MatchString(s) {
					t.Fatalf("%s: %q: runs say %v", text, s, p.match(s))
				}
			}
		}
	}
	if used < len(simple)-1 { // ^[^a]?x$ reaches beyond ASCII
		t.Errorf("only %d of %d simple patterns are matched as runs", used, len(simple))
	}
}

func BenchmarkPattern(b *testing.B) {
	p := MustPattern(`^[a-z][a-z0-9_-]*$`)
	for b.Loop() {
		p.match("in-view")
	}
}
