package expr

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"goa.design/goa/v3/eval"

	"toolsvc/tool"
	"toolsvc/toolset/shape"
)

// maxAgentAttempts is planner.MaxAttempts, which this package must not import.
const maxAgentAttempts = 3

// AgentExpr is an Agent: a model that does a tool's work, in a run of its own, with other tools.
type AgentExpr struct {
	tool.Agent
	Tool *ToolExpr
	// At is the place in the design: file:line.
	At string
}

// EvalName names the agent in messages.
func (a *AgentExpr) EvalName() string { return fmt.Sprintf("%s: %s: Agent", a.At, a.Tool.EvalName()) }

// worlds are the variables that hold evidence of worlds which only executors look at.
var worlds = []string{"page", "target", "effect", "exit_code", "stdout", "stderr", "screen", "terminal"}

func (a *AgentExpr) validate(errs *eval.ValidationErrors) {
	t := a.Tool
	if t.Bind != nil {
		errs.Add(a, "the tool is bound to a method, too: Bind, Agent and an executor of your own exclude each other")
	}
	if len(t.Sources) != 1 || t.Sources[0] != tool.SourceSystem {
		errs.Add(a, "the tool has no target to find, so it needs no Sources")
	}
	if len(t.Postconditions) == 0 {
		errs.Add(a, "the tool needs a Postcondition: without one nothing could tell whether the agent did what it says")
	}
	for _, w := range worlds {
		if c := t.reads[w]; c != "" {
			errs.Add(a, "the condition %q reads %s, which nobody looks at after an agent; it can read args, result, state.calls and document(…)", c, w)
		}
	}
	if c := t.reads["before.state"]; c != "" {
		errs.Add(a, "the condition %q reads before.state; before an agent has begun, it has called nothing", c)
	}
	if secrets, _ := shape.Secrets(t.Payload); len(secrets) > 0 {
		errs.Add(a, "the argument %s is Secret, and an agent's arguments are shown to a model; Bind the tool to a method instead", secrets[0])
	}
	for _, text := range []struct{ what, words string }{{"the instructions", a.Instructions}, {"Goal", a.Goal}} {
		if len(text.words) > tool.MaxAgentWords {
			errs.Add(a, "%s have %d bytes; at most %d are taken", text.what, len(text.words), tool.MaxAgentWords)
		}
	}
	if strings.TrimSpace(a.Instructions) == "" {
		errs.Add(a, "the instructions are empty: say how the work is to be done")
	}
	if a.Goal != "" && !strings.Contains(a.Goal, tool.ArgsPlace) {
		errs.Add(a, "Goal does not say where the arguments stand: write %s there", tool.ArgsPlace)
	}
	if len(a.Tools) == 0 {
		errs.Add(a, `needs Tools, such as Tools("orders.*"): without any, the agent could only make its answer up`)
	}
	for i, pattern := range a.Tools {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			errs.Add(a, "Tools: %q is not a pattern; write a tool's name, or browser.* for all of a toolset", pattern)
		}
		if slices.Contains(a.Tools[:i], pattern) {
			errs.Add(a, "Tools names %s twice", pattern)
		}
	}
	for _, n := range []struct {
		what            string
		value, min, max int64
	}{{"MaxCalls", int64(a.MaxCalls), 1, tool.MaxAgentCalls}, {"TokenBudget", a.TokenBudget, 1000, 1 << 40}, {"Attempts", int64(a.Attempts), 1, maxAgentAttempts}} {
		if n.value != 0 && (n.value < n.min || n.value > n.max) {
			errs.Add(a, "%s is %d; it must be %d to %d", n.what, n.value, n.min, n.max)
		}
	}
}
