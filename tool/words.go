package tool

import (
	"fmt"
	"slices"
	"strings"
)

// inWords renders pointers for people: "/target/name" and "/url" become "target.name and url".
func inWords(pointers []string) string {
	w := make([]string, len(pointers))
	for i, p := range pointers {
		w[i] = strings.ReplaceAll(strings.TrimPrefix(p, "/"), "/", ".")
	}
	return list(w, "and")
}

func list(w []string, last string) string {
	switch len(w) {
	case 0:
		return ""
	case 1:
		return w[0]
	}
	return strings.Join(w[:len(w)-1], ", ") + " " + last + " " + w[len(w)-1]
}

func it(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// question is what to ask a person when fields are missing.
func question(s *Spec, missing []string) string {
	if len(missing) == 0 {
		return ""
	}
	if s.Question != "" {
		return s.Question
	}
	return fmt.Sprintf("What should %s be?", inWords(missing))
}

// which asks a person to choose between candidates.
func which(s *Spec, cs []Candidate) string {
	q := s.Question
	if q == "" {
		q = "Which one is meant?"
	}
	if len(cs) == 0 {
		return q
	}
	var w []string
	for _, c := range cs {
		w = append(w, c.String())
	}
	return q + " " + strings.ToUpper(w[0][:1]) + list(w, "or")[1:] + "?"
}

// String tells the candidate from others: `the button "Play" in "Album"`.
func (c Candidate) String() string {
	role := c.Role
	if role == "" {
		role = "element"
	}
	t := fmt.Sprintf("the %s %q", role, c.Name)
	if c.Within != "" {
		t += fmt.Sprintf(" in %q", c.Within)
	}
	if c.Near != "" {
		t += fmt.Sprintf(" beside %q", c.Near)
	}
	return t
}

// nearest returns up to n of names within an edit distance of a third of the word's length (at least 2), nearest first; equally
// near ones in order of name.
func nearest(word string, names []string, n int) []string {
	type near struct {
		name string
		d    int
	}
	var ns []near
	for _, name := range names {
		if d := distance(word, name); d <= max(2, max(len(word), len(name))/3) {
			ns = append(ns, near{name, d})
		}
	}
	slices.SortFunc(ns, func(a, b near) int {
		if a.d != b.d {
			return a.d - b.d
		}
		return strings.Compare(a.name, b.name)
	})
	var out []string
	for _, x := range ns[:min(n, len(ns))] {
		out = append(out, x.name)
	}
	return out
}

// maxWord is how much of a word Distance looks at, in bytes. It bounds the work.
const maxWord = 128

// distance is [Distance] ignoring case.
func distance(a, b string) int {
	return Distance(strings.ToLower(a[:min(len(a), maxWord)]), strings.ToLower(b[:min(len(b), maxWord)]))
}

// Distance is the optimal string alignment distance of two words, byte by byte: insertions, deletions, substitutions and swaps of neighbours
// each count 1. Of each word only the first 128 bytes count.
func Distance(a, b string) int {
	a, b = a[:min(len(a), maxWord)], b[:min(len(b), maxWord)]
	before, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}

// Nearest returns the one of names that is nearest to word, "" when none is near.
func Nearest(word string, names []string) string {
	if near := nearest(word, names, 1); len(near) > 0 {
		return near[0]
	}
	return ""
}
