package dsl

import (
	"goa.design/goa/v3/eval"

	"toolsvc/tool"
	"toolsvc/toolset/expr"
)

// Agent has a model do the tool's work, in a run of its own, with other tools; it stands inside Tool. The instructions say how the work is
// done, the same for every call. What the agent answers has to be what Return declares, and the postconditions have to hold; otherwise it
// is told, and tries again.
//
//	Agent("Find the order first. Pay back only what the customer lost.", func() {
//		Goal("Settle this complaint: {{args}}")
//		Tools("orders.find", "orders.refund")
//		MaxCalls(10)
//		TokenBudget(50_000)
//		Attempts(2)
//	})
//
// Only Tools is required. Postconditions can read args, result, document(…), and in state.calls what the agent's calls came to: a list of
// {tool, verified, failure, result}, from the record of its run and not from its own words.
func Agent(instructions string, fn func()) {
	inTool(func(t *expr.ToolExpr) {
		if t.Agent != nil {
			report("Agent is declared twice")
			return
		}
		t.Agent = &expr.AgentExpr{Agent: tool.Agent{Instructions: instructions}, Tool: t, At: place()}
		eval.Execute(fn, t.Agent)
	})
}

// Goal is what one call is to reach, in words, with {{args}} where the arguments stand as JSON; it stands inside Agent. Without it, the
// tool's description and the arguments are the goal.
func Goal(words string) {
	inAgent(func(a *expr.AgentExpr) { a.Goal = once("Goal", a.Goal, words) })
}

// Tools lists what the agent may call, as names or patterns: "orders.find", "browser.*"; it stands inside Agent. The policy of the run in
// which the tool is called narrows them further.
func Tools(patterns ...string) {
	inAgent(func(a *expr.AgentExpr) { a.Tools = append(a.Tools, patterns...) })
}

// MaxCalls bounds the calls of one attempt, 1 to 1000; it stands inside Agent. Without it, the bound is 30.
func MaxCalls(n int) {
	inAgent(func(a *expr.AgentExpr) { a.MaxCalls = positive("MaxCalls", n) })
}

// TokenBudget bounds the tokens that the model may use in one attempt, input and output together, at least 1000; it stands inside Agent.
// Without it, the bound is 200,000.
func TokenBudget(n int) {
	inAgent(func(a *expr.AgentExpr) { a.TokenBudget = int64(positive("TokenBudget", n)) })
}

// Attempts bounds the attempts, 1 to 3; it stands inside Agent. Without it there are 3.
func Attempts(n int) {
	inAgent(func(a *expr.AgentExpr) { a.Attempts = positive("Attempts", n) })
}

func positive(what string, n int) int {
	if n <= 0 {
		report("%s is %d; it must be at least 1", what, n)
	}
	return n
}

func inAgent(f func(*expr.AgentExpr)) {
	if a, ok := eval.Current().(*expr.AgentExpr); ok {
		f(a)
		return
	}
	misplaced()
}
