package repair

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"

	"toolsvc/tool"
)

// fold brings a name to the form in which timeoutMs, timeout_ms, Timeout-MS and TIMEOUT MS are the same.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '_', r == '-', unicode.IsSpace(r):
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// spelling finds the field that an unknown name stands for when only case and separators differ: the one known field of that folded name,
// which the object does not have, and which no other unknown name of it stands for.
func spelling(unknown string, has []string, s *schema) (string, bool) {
	folded := fold(unknown)
	var known string
	for name := range s.Properties {
		if fold(name) == folded {
			if known != "" {
				return "", false
			}
			known = name
		}
	}
	if known == "" || slices.Contains(has, known) {
		return "", false
	}
	for _, other := range has {
		if other != unknown && s.Properties[other] == nil && fold(other) == folded {
			return "", false
		}
	}
	return known, true
}

// misspelt finds the field that an unknown name is a slip of the keys for: the only known field that is near, which the object does not
// have. A slip is two neighbouring letters swapped, or a letter doubled or no longer doubled; where the object lacks the field, because
// it is required, also any one letter too much, too few or wrong. What may be another word instead is none: a different first letter or
// number, a word of fewer than five letters, a word that is used in names itself, or the name of a field elsewhere in the schema.
func misspelt(unknown string, has []string, s *schema) (string, bool) {
	folded := fold(unknown)
	if s.mentions(folded) {
		return "", false
	}
	near := ""
	for name := range s.Properties {
		if tool.Distance(folded, fold(name)) <= 2 {
			if near != "" {
				return "", false
			}
			near = name
		}
	}
	if near == "" || slices.Contains(has, near) || !slip(unknown, near, s.demands(near, has)) {
		return "", false
	}
	return near, true
}

// minWord is the length from which a word that differs by a letter is taken for a slip.
const minWord = 5

// wordList are the words of which two differ by one letter, such as county and country, and neither is a slip for the other. They are
// from the names of JSON fields in the Go modules that this service is built from (the APIs of clouds, Kubernetes and Temporal), where each
// occurs at least twice. Pairs of singular and plural are left out.
//
//go:embed words.txt
var wordList string

var isWord = sync.OnceValue(func() map[string]bool {
	is := map[string]bool{}
	for _, w := range strings.Fields(wordList) {
		is[w] = true
	}
	return is
})

// slip reports whether one name is another with one slip of the keys in one of its words. For a field that is lacking, any slip will do.
func slip(unknown, known string, lacking bool) bool {
	us, ks := words(unknown), words(known)
	if len(us) != len(ks) {
		return false
	}
	slips := 0
	for i, u := range us {
		k := ks[i]
		if u == k {
			continue
		}
		slips++
		if max(len(u), len(k)) < minWord || isWord()[u] || u[0] != k[0] || digits(u) != digits(k) || tool.Distance(u, k) != 1 {
			return false
		}
		if !lacking && !swapped(u, k) && !doubled(u, k) && !doubled(k, u) {
			return false
		}
	}
	return slips == 1
}

// words takes a name apart at separators and at capitals inside, in lower case.
func words(name string) []string {
	var ws []string
	var w []rune
	flush := func() {
		if len(w) > 0 {
			ws = append(ws, strings.ToLower(string(w)))
			w = nil
		}
	}
	lower := false
	for _, r := range name {
		switch {
		case r == '_', r == '-', unicode.IsSpace(r):
			flush()
			lower = false
			continue
		case unicode.IsUpper(r) && lower:
			flush()
		}
		lower = !unicode.IsUpper(r)
		w = append(w, r)
	}
	flush()
	return ws
}

func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return r
		}
		return -1
	}, s)
}

// swapped reports whether two neighbouring letters of a and b changed places.
func swapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

// doubled reports whether long is short with one letter doubled.
func doubled(long, short string) bool {
	if len(long) != len(short)+1 {
		return false
	}
	i := 0
	for i < len(short) && long[i] == short[i] {
		i++
	}
	return i > 0 && long[i] == long[i-1] && long[i+1:] == short[i:]
}
