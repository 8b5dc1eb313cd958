package tool

import (
	"slices"
	"testing"
)

func TestAgentTask(t *testing.T) {
	t.Parallel()
	spec := &Spec{Description: "Settle it."}
	for _, c := range []struct{ goal, want string }{
		{"Settle {{args}}, that is {{args}}.", `Settle {"a":1}, that is {"a":1}.`},
		{"", "Settle it.\n\nThe arguments of this call: {\"a\":1}"},
	} {
		if got := (&Agent{Goal: c.goal}).Task(spec, []byte(`{"a":1}`)); got != c.want {
			t.Errorf("%q: %q", c.goal, got)
		}
	}
	if got := (&Agent{Tools: []string{"orders.*", "browser.read"}}).Uses([]ID{"browser.click", "browser.read", "orders.find", "orders.refund"}); !slices.Equal(got, []string{"browser.read", "orders.find", "orders.refund"}) {
		t.Errorf("it uses %v", got)
	}
}

// A run inside another one may do what both policies let it do, and no more.
func TestPolicyNarrow(t *testing.T) {
	t.Parallel()
	inner := Policy{Allow: []string{"orders.find", "orders.refund"}, MaxCalls: 5, TokenBudget: 100}
	for name, c := range map[string]struct {
		outer  Policy
		allows string
		calls  int
		tokens int64
	}{
		"open":       {Policy{}, "orders.find orders.refund", 5, 100},
		"allow list": {Policy{Allow: []string{"*.find"}, MaxCalls: 3, TokenBudget: 500}, "orders.find", 3, 100},
		"deny list":  {Policy{Deny: []string{"orders.find"}, MaxCalls: 9, TokenBudget: 50}, "orders.refund", 5, 50},
		"nothing":    {Policy{Allow: []string{"browser.*"}}, "", 5, 100},
	} {
		p := c.outer.Narrow(inner)
		allows := ""
		for _, id := range []ID{"browser.click", "orders.cancel", "orders.find", "orders.refund"} {
			if ok, _ := p.Permits(id); ok {
				if allows != "" {
					allows += " "
				}
				allows += string(id)
			}
		}
		if allows != c.allows || p.MaxCalls != c.calls || p.TokenBudget != c.tokens {
			t.Errorf("%s: allows %q, %+v", name, allows, p)
		}
	}
}
