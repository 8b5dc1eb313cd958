//go:build linux

package supervise

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSpool(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		head, tail := 1+random.IntN(20), 1+random.IntN(20)
		whole := head + tail + random.IntN(30)
		s := newSpool(whole, head, tail)
		var all []byte
		for range random.IntN(12) {
			p := bytes.Repeat([]byte{byte('a' + random.IntN(26))}, random.IntN(25))
			all = append(all, p...)
			_, _ = s.Write(p)
		}
		o := s.output()
		if len(all) <= whole {
			if o.Head != string(all) || o.Tail != "" || o.Omitted != 0 {
				t.Fatalf("%q became %+v", all, o)
			}
			continue
		}
		want := Output{Head: string(all[:head]), Tail: string(all[len(all)-tail:]), Omitted: int64(len(all) - head - tail)}
		if o != want {
			t.Fatalf("%q with %d, %d became %+v, want %+v", all, head, tail, o, want)
		}
	}
}

// What is cut is cut between characters, and what is no text becomes text.
func TestSpoolText(t *testing.T) {
	t.Parallel()
	for head := 1; head < 12; head++ {
		for tail := 1; tail < 12; tail++ {
			s := newSpool(head+tail, head, tail)
			_, _ = s.Write([]byte(strings.Repeat("日本語é", 10)))
			o := s.output()
			if strings.ContainsRune(o.Head+o.Tail, utf8.RuneError) {
				t.Errorf("%d, %d: %+v", head, tail, o)
			}
			if int64(len(o.Head)+len(o.Tail))+o.Omitted != int64(len(strings.Repeat("日本語é", 10))) {
				t.Errorf("%d, %d: the bytes do not add up: %+v", head, tail, o)
			}
		}
	}
	s := newSpool(100, 10, 10)
	_, _ = s.Write([]byte("a\xff\xfeb"))
	if o := s.output(); !utf8.ValidString(o.Head) || !strings.HasPrefix(o.Head, "a") {
		t.Errorf("%+v", o)
	}
}

func TestMasker(t *testing.T) {
	t.Parallel()
	const alphabet = "abc"
	random := rand.New(rand.NewPCG(3, 4))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabet[random.IntN(len(alphabet))]
		}
		return string(b)
	}
	for range 5000 {
		var secrets []string
		for range 1 + random.IntN(3) {
			secrets = append(secrets, word(2+random.IntN(4)))
		}
		text := word(random.IntN(60))
		whole, pieces := mask(secrets, text), new(bytes.Buffer)
		m := newMasker(pieces, secrets)
		for rest := text; rest != ""; {
			n := 1 + random.IntN(min(5, len(rest)))
			if _, err := m.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := m.flush(); err != nil {
			t.Fatal(err)
		}
		if pieces.String() != whole {
			t.Fatalf("secrets %q in %q: %q in pieces, %q at once", secrets, text, pieces, whole)
		}
		for _, s := range secrets {
			if strings.Contains(strings.ReplaceAll(whole, Mask, "\x00"), s) {
				t.Fatalf("%q is shown: %q of %q with %q", s, whole, text, secrets)
			}
		}
	}
	if got := mask([]string{"secret", "secret-longer"}, "a secret-longer b secret c secret-lo"); got != "a [redacted] b [redacted] c [redacted]-lo" {
		t.Error(got)
	}
}

func mask(secrets []string, text string) string {
	var b bytes.Buffer
	m := newMasker(&b, secrets)
	_, _ = m.Write([]byte(text))
	_ = m.flush()
	return b.String()
}
