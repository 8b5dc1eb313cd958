package dsl_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	. "goa.design/goa/v3/dsl"

	. "toolsvc/toolset/dsl"
	"toolsvc/toolset/expr"
	"toolsvc/toolset/internal/designtest"
)

// agent declares a tool that an agent backs, which is right but for what its functions add.
func agent(tool, agent func()) func() {
	return toolset(func() {
		Return(func() { Attribute("done", Boolean) })
		tool()
		Agent("Do it.", func() { agent() })
	})
}

func TestAgentMistakes(t *testing.T) {
	none := func() {}
	uses := func() { Tools("orders.*") }
	post := func() { Postcondition("done", `result.done`, "it is done") }
	reads := func(cel string) func() { return func() { Postcondition("done", cel, "it is done") } }
	const at = inTool + `Agent: `
	for name, c := range map[string]struct {
		design func()
		want   string
	}{
		"outside a tool":     {func() { Agent("x", none) }, `Agent cannot be used here`},
		"goal outside":       {toolset(func() { Goal("{{args}}") }), `Goal cannot be used here`},
		"tools outside":      {toolset(func() { Tools("a.*") }), `Tools cannot be used here`},
		"max calls outside":  {toolset(func() { MaxCalls(1) }), `MaxCalls cannot be used here`},
		"budget outside":     {toolset(func() { TokenBudget(1) }), `TokenBudget cannot be used here`},
		"attempts outside":   {toolset(func() { Attempts(1) }), `Attempts cannot be used here`},
		"twice":              {toolset(func() { Agent("x", uses); Agent("y", uses) }), `Agent is declared twice`},
		"no instructions":    {toolset(func() { post(); Agent(" ", uses) }), at + `the instructions are empty`},
		"long instructions":  {toolset(func() { Agent(strings.Repeat("x", 40_000), uses) }), at + `the instructions have 40000 bytes; at most 32768 are taken`},
		"bound, too":         {tools(func() { Bind("orders", "refund"); Agent("x", uses) }), at + `the tool is bound to a method, too`},
		"sources":            {agent(func() { Sources(AX) }, uses), at + `the tool has no target to find`},
		"no postcondition":   {agent(none, uses), at + `the tool needs a Postcondition`},
		"no tools":           {agent(post, none), at + `needs Tools`},
		"pattern":            {agent(post, func() { Tools("orders.[") }), at + `Tools: "orders.[" is not a pattern`},
		"pattern twice":      {agent(post, func() { Tools("a.b", "a.b") }), at + `Tools names a.b twice`},
		"goal without args":  {agent(post, func() { uses(); Goal("Do it.") }), at + `Goal does not say where the arguments stand: write {{args}} there`},
		"goal empty":         {agent(post, func() { Goal("") }), `Goal is empty`},
		"goal twice":         {agent(post, func() { Goal("{{args}}"); Goal("{{args}}") }), `Goal is declared twice`},
		"no calls":           {agent(post, func() { MaxCalls(0) }), `MaxCalls is 0; it must be at least 1`},
		"too many calls":     {agent(post, func() { MaxCalls(2000) }), at + `MaxCalls is 2000; it must be 1 to 1000`},
		"too few tokens":     {agent(post, func() { TokenBudget(10) }), at + `TokenBudget is 10; it must be 1000 to`},
		"too many attempts":  {agent(post, func() { Attempts(4) }), at + `Attempts is 4; it must be 1 to 3`},
		"reads a page":       {agent(reads(`page.url == ""`), uses), at + `the condition "done" reads page, which nobody looks at after an agent`},
		"reads before.state": {agent(reads(`before.state == 1`), uses), at + `the condition "done" reads before.state`},
		"a secret": {agent(func() {
			post()
			Args(func() { Attribute("pin", String, func() { Secret() }) })
		}, uses), at + `the argument /pin is Secret, and an agent's arguments are shown to a model`},
	} {
		switch err := designtest.Eval(c.design); {
		case err == nil:
			t.Errorf("%s: no mistake was found", name)
		case !strings.Contains(regexp.MustCompile(`dsl/\w+\.go:\d+: `).ReplaceAllString(err.Error(), ""), c.want):
			t.Errorf("%s:\n got %v\nwant %s", name, err, c.want)
		}
	}
}

func TestAgentMistakesHaveAPlace(t *testing.T) {
	err := designtest.Eval(agent(func() {}, func() {}))
	if want := regexp.MustCompile(`dsl/agent_test\.go:\d+: tool "refund" of toolset "shop": Agent: needs Tools`); err == nil || !want.MatchString(err.Error()) {
		t.Errorf("got %v", err)
	}
}

// What an agent comes to, beside a tool that is bound: all of its words, and the time that a model needs.
func TestAgent(t *testing.T) {
	err := designtest.Eval(agent(func() {
		Postcondition("done", `result.done && state.calls.all(c, c.verified)`, "it is done")
	}, func() {
		Goal("Do {{args}}.")
		Tools("orders.*", "document.read")
		MaxCalls(5)
		TokenBudget(5000)
		Attempts(1)
	}))
	if err != nil {
		t.Fatal(err)
	}
	tl := expr.Root.Toolsets[0].Tools[0]
	if a := tl.Agent; a.Instructions != "Do it." || a.Goal != "Do {{args}}." || strings.Join(a.Tools, " ") != "orders.* document.read" || a.MaxCalls != 5 || a.TokenBudget != 5000 || a.Attempts != 1 {
		t.Errorf("the agent is %+v", a.Agent)
	}
	if tl.TimeLimit != 10*time.Minute {
		t.Errorf("the time limit is %s", tl.TimeLimit)
	}
}
