package planner

import (
	"testing"
	"time"

	"toolsvc/tool"
)

func TestGuard(t *testing.T) {
	t.Parallel()
	fail := func(digest string, f tool.Failure, observed string) Ended {
		return Ended{Digest: digest, Failure: f, Observed: observed}
	}
	ok := func(digest string, changed bool) Ended { return Ended{Digest: digest, Changed: changed} }
	nf := tool.TargetNotFound
	for _, c := range []struct {
		name    string
		policy  tool.Policy
		past    []Ended
		calls   int
		elapsed time.Duration
		want    tool.Failure
	}{
		{name: "nothing yet"},
		{name: "denied", policy: tool.Policy{Deny: []string{"browser.*"}}, want: tool.PolicyDenied},
		{name: "not allowed", policy: tool.Policy{Allow: []string{"terminal.run"}}, want: tool.PolicyDenied},
		{name: "allowed", policy: tool.Policy{Allow: []string{"browser.click"}}},
		{name: "deny wins", policy: tool.Policy{Allow: []string{"browser.*"}, Deny: []string{"browser.click"}}, want: tool.PolicyDenied},
		{name: "the last call", policy: tool.Policy{MaxCalls: 3}, calls: 3},
		{name: "one call too many", policy: tool.Policy{MaxCalls: 3}, calls: 4, want: tool.PolicyDenied},
		{name: "in time", policy: tool.Policy{TimeBudgetMS: 1000}, elapsed: time.Second},
		{name: "out of time", policy: tool.Policy{TimeBudgetMS: 1000}, elapsed: 1001 * time.Millisecond, want: tool.PolicyDenied},
		{name: "too many failures in a row", policy: tool.Policy{MaxFailures: 2}, past: []Ended{fail("x", nf, "1"), fail("y", nf, "1")}, want: tool.PolicyDenied},
		{name: "a success between", policy: tool.Policy{MaxFailures: 2}, past: []Ended{fail("x", nf, "1"), ok("z", false), fail("y", nf, "1")}},

		{name: "failed once", past: []Ended{fail("d", nf, "1")}},
		{name: "failed twice alike", past: []Ended{fail("d", nf, "1"), fail("d", nf, "1")}, want: tool.LoopDetected},
		{name: "failed twice, a look between", past: []Ended{fail("d", nf, "1"), ok("look", false), fail("d", nf, "1")}, want: tool.LoopDetected},
		{name: "failed twice, then something changed", past: []Ended{fail("d", nf, "1"), fail("d", nf, "1"), ok("x", true)}},
		{name: "failed twice, otherwise", past: []Ended{fail("d", nf, "1"), fail("d", tool.Covered, "1")}},
		{name: "failed twice, another observation", past: []Ended{fail("d", nf, "1"), fail("d", nf, "2")}},
		{name: "five times, another observation each", past: []Ended{fail("d", nf, "1"), fail("d", nf, "2"), fail("d", nf, "3"), fail("d", nf, "4"), fail("d", nf, "5")}, want: tool.LoopDetected},
		{name: "a refusal does not end the loop", past: []Ended{fail("d", nf, "1"), fail("d", nf, "1"), fail("d", tool.LoopDetected, "")}, want: tool.LoopDetected},
		{name: "it has succeeded since", past: []Ended{fail("d", nf, "1"), fail("d", nf, "1"), ok("d", false)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := guard(c.policy, c.past, c.calls, c.elapsed, "browser.click", "d")
			switch {
			case c.want == "" && got != nil, c.want != "" && (got == nil || got.Failure != c.want):
				t.Errorf("got %+v, want %q", got, c.want)
			case got != nil && got.Message == "":
				t.Error("a refusal says why")
			}
		})
	}
}

func TestRememberIsBounded(t *testing.T) {
	t.Parallel()
	var past []Ended
	for range 3 * keepPast {
		past = remember(past, "d", &tool.Result{Error: tool.NewError(tool.TargetNotFound, "no")}, tool.Reversible)
	}
	if len(past) != keepPast {
		t.Errorf("%d are remembered", len(past))
	}
}
