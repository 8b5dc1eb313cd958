package memory

import (
	"slices"

	"toolsvc/executors/browser/match"
)

// The thresholds of a choice, which bench/redesign measures.
const (
	// Floor is the least similarity of an element that is taken for the remembered one. It is low, because what is below the evidence of
	// identity was ruled out before; it only keeps out what has a word in common and nothing else.
	Floor = 0.30
	// Margin is how much more similar it must be than every other one that may be meant.
	Margin = 0.10
	// Sure is the similarity above which nothing is waited for: the element is as it was verified.
	Sure = 0.90
)

// Choice is what a choice came to.
type Choice struct {
	Verdict match.Verdict
	// Index of the chosen one. Equals are those among which only a person can tell, most similar first.
	Index  int
	Equals []int
	// Score is the similarity of the best, from 0 to 1, Next that of the one after it; 0 when there is none.
	Score, Next float64
}

// Chooser picks the remembered element among candidates. [Choose] is the one that is used; a benchmark compares others.
type Chooser func(want Fingerprint, have []Fingerprint) Choice

// Choose finds the remembered element among the candidates. In order:
//
//  1. What has another kind of role, a contrary name, or belongs to another item is not looked at.
//  2. Of the others only those count that carry evidence of identity: a name that is the same or slightly reworded, or attributes that
//     are the same and agree with the name. Looking alike, or lying in the same place, is none.
//  3. The most similar one is chosen when its similarity is at least [Floor], and every other one that counts, or that an attribute
//     speaks for, is by at least [Margin] less similar.
//  4. Several within the margin, or only ones that an attribute speaks for but no name, are ambiguous; anything else is not found.
func Choose(want Fingerprint, have []Fingerprint) Choice {
	type ranked struct {
		index int
		likeness
	}
	var left []ranked
	for i, h := range have {
		if l := compare(want, h); l.evidence >= plausible {
			left = append(left, ranked{i, l})
		}
	}
	slices.SortStableFunc(left, func(a, b ranked) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	if len(left) == 0 || left[0].score < Floor {
		return Choice{Verdict: match.NotFound}
	}
	best := left[0]
	c := Choice{Index: best.index, Score: best.score}
	if len(left) > 1 {
		c.Next = left[1].score
	}
	for _, r := range left {
		if r.score > best.score-Margin && r.score >= Floor/2 {
			c.Equals = append(c.Equals, r.index)
		}
	}
	switch {
	case len(c.Equals) > 1, best.evidence == plausible:
		c.Verdict = match.Ambiguous
	default:
		c.Verdict, c.Equals = match.Found, nil
	}
	return c
}

// Similarity is how alike two fingerprints are, from 0 to 1; 0 when the second is another thing.
func Similarity(want, have Fingerprint) float64 { return compare(want, have).score }

// MostSimilar is what [Choose] is measured against: the best score from [Floor] on, whatever it is called and however near the next one is.
func MostSimilar(want Fingerprint, have []Fingerprint) Choice {
	c := Choice{Verdict: match.NotFound}
	for i, h := range have {
		name := unrelated
		if want.Name != "" && h.Name != "" {
			name = relate(want.Name, h.Name)
		}
		switch s := score(want, h, name, sameLanguage(want.Lang, h.Lang, want.Name, h.Name)); {
		case s > c.Score:
			c.Index, c.Score, c.Next = i, s, c.Score
		case s > c.Next:
			c.Next = s
		}
	}
	if c.Score >= Floor {
		c.Verdict = match.Found
	}
	return c
}
