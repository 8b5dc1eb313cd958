package page

import (
	"regexp"
	"testing"
)

// The files of the script share one scope, in which the later of two functions of one name silently takes the earlier one's place.
func TestNamesOfTheScriptAreUnique(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(?:async )?(?:function|class|const|let) (\w+)`).FindAllStringSubmatch(script, -1) {
		if seen[m[1]] {
			t.Errorf("%s is declared twice", m[1])
		}
		seen[m[1]] = true
	}
	if len(seen) < 50 {
		t.Errorf("only %d names were found", len(seen))
	}
}
