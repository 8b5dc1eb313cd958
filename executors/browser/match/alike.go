package match

import (
	"cmp"
	"slices"
	"strings"

	"toolsvc/tool"
)

// likeness is from which likeness on a name may be the one that was meant.
const likeness = 0.5

// Alike returns the indexes of the names that somebody may have meant who asked for wanted, which is none of them: those that share words or
// most letters with it, the most alike first, each name once, at most n. It is for telling what there is, never for choosing.
func Alike(wanted string, names []string, n int) []int {
	type like struct {
		index int
		score float64
	}
	var likes []like
	told := map[string]bool{}
	for i, name := range names {
		if f := fold(name); !told[f] {
			told[f] = true
			if s := score(fold(wanted), f); s >= likeness {
				likes = append(likes, like{i, s})
			}
		}
	}
	slices.SortStableFunc(likes, func(a, b like) int { return cmp.Compare(b.score, a.score) })
	var out []int
	for _, l := range likes[:min(n, len(likes))] {
		out = append(out, l.index)
	}
	return out
}

// score is how alike two folded names are, from 0 to 1: by their letters or by their words, whichever says more.
func score(a, b string) float64 {
	longer := max(len(a), len(b))
	if a == "" || b == "" || longer > 200 {
		return 0
	}
	letters := 1 - float64(tool.Distance(a, b))/float64(longer)
	as, bs := strings.Fields(a), strings.Fields(b)
	shared := 0
	for _, w := range as {
		if slices.Contains(bs, w) {
			shared++
		}
	}
	return max(letters, float64(shared)/float64(max(len(as), len(bs))))
}
