package shape

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

func TestPortable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, out string }{
		// Read alike by both dialects: as they are.
		{`^[a-z]+$`, `^[a-z]+$`},
		{`^sha256:[0-9a-f]{64}$`, `^sha256:[0-9a-f]{64}$`},
		{`^(?:a|b)*?c{2,}d{1,3}$`, `^(?:a|b)*?c{2,}d{1,3}$`},
		{`^((Alt|Control)\+)*([A-Za-z0-9]+|[!-/:-@\[-` + "`" + `{-~])$`, `^((Alt|Control)\+)*([A-Za-z0-9]+|[!-/:-@\[-` + "`" + `{-~])$`},
		{`\d\D\w\W\b\B\n\t\.\/`, `\d\D\w\W\b\B\n\t\.\/`},
		{`[^a\]\-b-]`, `[^a\]\-b-]`},
		{`é[à-ü]`, `é[à-ü]`},
		// Rewritten.
		{`a.b`, `a[^\n]b`},
		{`(?s)a.b`, `a[\d\D]b`},
		{`\s`, `[\x09\x0a\x0c\x0d ]`},
		{`[^\s]x`, `[^\x09\x0a\x0c\x0d ]x`},
		{`(?i)ab-1`, `[bB]`}, // contains
		{`\Aab\z`, `^ab$`},
		{`\Qa.b\E`, `a\.b`},
		{`[[:digit:]x]`, `[0-9x]`},
		{`(?P<name>a)`, `(a)`},
		{`(?U)a+`, `a+?`},
		{`a]b}`, `a\]b\}`},
		{`[]a]`, `[\]a]`},
		{`a{,3}`, `a\{,3\}`},
		{`\@\-\#`, `@-#`},
		{`x\x{1F600}y`, "x😀y"},
		{`a\ab`, `a\x07b`},
		{`(a|.)+`, `([^\n])+`},
		{`(?:ab|c.)?d`, `(?:ab|c[^\n])?d`},
		{`[&&]`, `&`},
		{`()|.`, `((?:))|[^\n]`},
	} {
		got, err := Portable(c.in)
		if err != nil || !strings.Contains(got, c.out) {
			t.Errorf("%s: %s, want %s (%v)", c.in, got, c.out, err)
		}
		if again, err := Portable(got); err != nil || again != got {
			t.Errorf("%s: rewritten once %s, twice %s (%v)", c.in, got, again, err)
		}
		sameLanguage(t, c.in, got)
	}
	for _, c := range []struct{ in, want string }{
		{`(`, "is not valid"},
		{`(?m)^a$`, "line anchors"},
		{`[^\x00-\x{10FFFF}].`, "matches nothing"},
		{`(?<=a)b`, "is not valid"},
	} {
		if got, err := Portable(c.in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v", c.in, got, err)
		}
	}
}

// sameLanguage tries many strings on both patterns.
func sameLanguage(t *testing.T, a, b string) {
	t.Helper()
	x, y := regexp.MustCompile(a), regexp.MustCompile(b)
	g := rand.New(rand.NewPCG(1, 2))
	alphabet := []rune("aAbBcCdDxyY019.-+]}{,@#&| \n\t\r\v\f\a\u00a0\u2028éÉ😀K\u212akf/")
	for range 4000 {
		s := make([]rune, g.IntN(6))
		for i := range s {
			s[i] = alphabet[g.IntN(len(alphabet))]
		}
		if x.MatchString(string(s)) != y.MatchString(string(s)) {
			t.Fatalf("%s and %s differ on %q", a, b, string(s))
		}
	}
}
