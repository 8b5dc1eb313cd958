package tool

import (
	"os"
	"strings"
	"testing"
)

// Every failure and every reason has exactly one line in the reference.
func TestReferenceIsComplete(t *testing.T) {
	t.Parallel()
	lines := func(file string) map[string]int {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		n := map[string]int{}
		for line := range strings.Lines(string(text)) {
			if name, ok := strings.CutPrefix(line, "| `"); ok {
				name, _, _ = strings.Cut(name, "`")
				n[name]++
			}
		}
		return n
	}
	failures, reasons := lines("../docs/reference/failures.md"), lines("../docs/reference/reasons.md")
	for _, f := range Failures {
		if failures[string(f)] != 1 {
			t.Errorf("failure %s has %d lines in docs/reference/failures.md", f, failures[string(f)])
		}
		if r := f.Reason(); adviceOf[r] == 0 {
			t.Errorf("failure %s leads to %q, which is no reason", f, r)
		}
	}
	for _, r := range Reasons() {
		if reasons[string(r)] != 1 {
			t.Errorf("reason %s has %d lines in docs/reference/reasons.md", r, reasons[string(r)])
		}
	}
	if len(failures) != len(Failures) || len(reasons) != len(Reasons()) {
		t.Errorf("the reference describes %d failures and %d reasons; there are %d and %d", len(failures), len(reasons), len(Failures), len(Reasons()))
	}
}
