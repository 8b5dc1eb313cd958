package verification

import (
	"maps"
	"slices"
	"strings"

	"toolsvc/tool"
)

// sortedKeys lists the keys of m in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// nearest is the name nearest to word, ignoring case, within an edit distance of a third of its length (at least 2), "" when none is near. Of
// equally near ones it is the first in order.
func nearest(word string, names []string) string {
	best, least := "", 0
	folded := strings.ToLower(word)
	for _, n := range names {
		d := tool.Distance(folded, strings.ToLower(n))
		if d > max(2, max(len(word), len(n))/3) || d >= max(len(word), len(n)) {
			continue
		}
		if best == "" || d < least || d == least && n < best {
			best, least = n, d
		}
	}
	return best
}
