package verification

import (
	"maps"
	"slices"
	"strings"
)

// sortedKeys lists the keys of m in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// nearest is the name nearest to word within an edit distance of a third of its length (at least 2), "" when none is near. Of
// equally near ones it is the first in order.
func nearest(word string, names []string) string {
	best, least := "", 0
	for _, n := range names {
		d := distance(word, n)
		if d > max(2, max(len(word), len(n))/3) || d >= max(len(word), len(n)) {
			continue
		}
		if best == "" || d < least || d == least && n < best {
			best, least = n, d
		}
	}
	return best
}

// distance is the optimal string alignment distance, ignoring case. Words are clipped to 64 bytes, which bounds the work.
func distance(a, b string) int {
	a, b = strings.ToLower(a[:min(len(a), 64)]), strings.ToLower(b[:min(len(b), 64)])
	older, old, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range old {
		old[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(old[j]+1, row[j-1]+1, old[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
		older, old, row = old, row, older
	}
	return old[len(b)]
}
