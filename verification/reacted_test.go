package verification_test

import (
	"encoding/json"
	"testing"

	"toolsvc/tool"
	"toolsvc/verification"
)

// Whether something changed can stay undecided on a page that changes by itself. What the caller expects decides it, if it came true since; what
// was true before, or is not true now, does not.
func TestWhatCameTrueDecidesWhetherSomethingChanged(t *testing.T) {
	t.Parallel()
	spec := fullSpec()
	spec.Postconditions = []tool.Condition{{Name: "something_changed", Expression: "effect.changed"}}
	seen := func(title string, changed any) *tool.Evidence {
		return &tool.Evidence{Values: map[string]any{"page": map[string]any{"title": title}, "effect": map[string]any{"changed": changed}}}
	}
	for _, c := range []struct {
		name, before, after string
		changed             any
		expect              []string
		want                tool.Verdict
	}{
		{"came true", "Stopped", "Playing", nil, []string{`page.title == "Playing"`}, tool.VerdictSuccess},
		{"was true before", "Playing", "Playing", nil, []string{`page.title == "Playing"`}, tool.VerdictUncertain},
		{"is not true", "Stopped", "Stopped", nil, []string{`page.title == "Playing"`}, tool.VerdictFailure},
		{"nothing is expected", "Stopped", "Playing", nil, nil, tool.VerdictUncertain},
		{"the caller asks the same", "Stopped", "Playing", nil, []string{"effect.changed"}, tool.VerdictUncertain},
		{"nothing changed", "Stopped", "Playing", false, []string{`page.title == "Playing"`}, tool.VerdictFailure},
		{"another condition is undecided", "Stopped", "Playing", nil, []string{`page.title == "Playing"`, `effect.delivered`}, tool.VerdictUncertain},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conds, issues := verification.Compile(spec, json.RawMessage(fullArgs), c.expect)
			if issues != nil {
				t.Fatal(issues)
			}
			if v := conds.Judge(seen(c.before, false), seen(c.after, c.changed), nil); v.Verdict != c.want {
				t.Errorf("the verdict is %s, wanted %s: %+v", v.Verdict, c.want, v.Checks)
			}
		})
	}
}
