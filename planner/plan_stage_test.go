package planner

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"toolsvc/gen/toolsets"
	"toolsvc/tool"
)

func pipelineOf(t *testing.T, text, from string) (Input, error) {
	t.Helper()
	p, err := ParsePlan(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return (&Service{Registry: toolsets.Registry()}).PreparePipeline(p, map[string]string{"doc": "b.md"}, "ko", from)
}

const twoStages = `
name: Two
vars: {doc: a.md, word: Overview}
stages:
  - name: first
    title: The first
    titles: {ko: 첫째}
    agent: {goal: "Write ${word} into ${doc}.", instructions: "You write ${doc}.", tools: [document.*], max_calls: 7}
    before: ['document("${doc}").exists']
    after: [{name: there, if: 'document("${doc}").section("${word}").exists', message: it is there}]
  - name: second
    steps: [{tool: terminal.run, args: {command: "wc ${doc}"}}]
    after: ['document("${doc}").words > 1']
`

func TestPreparePipeline(t *testing.T) {
	t.Parallel()
	in, err := pipelineOf(t, twoStages, "")
	if err != nil {
		t.Fatal(err)
	}
	if in.Kind != KindPipeline || len(in.Steps) != 2 {
		t.Fatalf("%+v", in)
	}
	first, second := in.Steps[0], in.Steps[1]
	if first.Title != "첫째" || first.Tool != "stage.first" || first.Stage.Goal != "Write Overview into b.md." || first.Stage.Instructions != "You write b.md." ||
		first.Stage.Attempts != MaxAttempts || first.Stage.Policy.MaxCalls != 7 || first.Stage.Before[0].Name != "before[0]" || first.Stage.After[0].Expression != `document("b.md").section("Overview").exists` {
		t.Errorf("the first stage is %+v, %+v", first, first.Stage)
	}
	if second.Title != "second" || second.Stage.Attempts != 1 || len(second.Stage.Steps) != 1 || !strings.Contains(string(second.Stage.Steps[0].Arguments), "wc b.md") {
		t.Errorf("the second stage is %+v, %+v", second, second.Stage)
	}
	if in, err = pipelineOf(t, twoStages, "second"); err != nil || len(in.Steps) != 1 || in.Steps[0].Stage.Name != "second" {
		t.Errorf("from the second stage: %+v, %v", in.Steps, err)
	}
	if _, err = pipelineOf(t, twoStages, "third"); err == nil || !strings.Contains(err.Error(), "it has first, second") {
		t.Errorf("from a stage that is not there: %v", err)
	}
}

// What stands for "${" in a step stands for it in a stage's goal, instructions, conditions and steps, too.
func TestPipelineReferencesAreEscaped(t *testing.T) {
	t.Parallel()
	in, err := pipelineOf(t, strings.NewReplacer("${word}", "$${word}", "wc ${doc}", "wc $${FILE} ${doc}", "You write", "Keep $${word} in").Replace(twoStages), "")
	if err != nil {
		t.Fatal(err)
	}
	first, second := in.Steps[0].Stage, in.Steps[1].Stage
	if first.Goal != "Write ${word} into b.md." || first.Instructions != "Keep ${word} in b.md." || first.After[0].Expression != `document("b.md").section("${word}").exists` ||
		!strings.Contains(string(second.Steps[0].Arguments), "wc ${FILE} b.md") {
		t.Errorf("%+v, %+v", first, second)
	}
}

// Every mistake of every stage is named at once, each with its own line.
func TestPreparePipelineMistakes(t *testing.T) {
	t.Parallel()
	_, err := pipelineOf(t, `stages:
  - name: First
    agent: {goal: " ", tools: [documents.read]}
    attempts: 4
  - name: second
    agent:
      goal: Write ${nowhere}.
      max_calls: -1
    steps: [{tool: terminal.run, args: {command: x}}]
    before:
      - document("a.md").exits
      - {name: same, if: 'document("a.md").words'}
      - {name: same, if: 'true'}
    after:
      - document("${gone}").exists
  - name: second
    steps:
      - tool: terminal.rn
      - tool: document.read
        args: {pat: a.md}
    after: ['true']
`, "")
	var bad *PlanError
	if !errors.As(err, &bad) {
		t.Fatalf("got %v", err)
	}
	lines := bad.Lines("plan.yaml")
	for _, want := range []string{
		`plan.yaml:2: stage "First": its name must be a word of lower-case letters`,
		`plan.yaml:2: stage "First": its agent needs a goal`,
		`plan.yaml:2: stage "First": attempts is 4; it must be 1 to 3`,
		`plan.yaml:2: stage "First": it needs conditions that must hold afterwards`,
		`plan.yaml:3: stage "First": its tools: no tool is called "documents.read"; is document.read meant?`,
		`plan.yaml:5: stage "second": it needs an agent or steps, and not both`,
		`plan.yaml:7: stage "second": unknown variable ${nowhere}; the plan knows doc`,
		`plan.yaml:7: stage "second": max_calls`,
		`plan.yaml:11: stage "second": condition "before[0]" of stage.second`,
		`plan.yaml:12: stage "second": condition "same" of stage.second`,
		`plan.yaml:13: stage "second": two conditions are called "same"`,
		`plan.yaml:15: stage "second": unknown variable ${gone}`,
		`plan.yaml:16: stage "second": the name stands twice`,
		`plan.yaml:18: stage "second", step 1 (terminal.rn): `,
		`plan.yaml:19: stage "second", step 2 (document.read): `,
	} {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, want) }) {
			t.Errorf("no mistake begins with %s", want)
		}
	}
	if t.Failed() {
		t.Log(strings.Join(lines, "\n"))
	}
}

// A stage may not do what its pipeline may not, whatever its own lists say.
func TestStagePolicyIsWithinThePipelines(t *testing.T) {
	t.Parallel()
	registry := toolsets.Registry()
	for _, c := range []struct {
		name            string
		stage, pipeline []string
		want            []tool.ID // of these two
	}{
		{"no bounds", nil, nil, []tool.ID{"document.read", "terminal.run"}},
		{"the stage's", []string{"document.*"}, nil, []tool.ID{"document.read"}},
		{"the pipeline's", nil, []string{"terminal.run"}, []tool.ID{"terminal.run"}},
		{"the pipeline allows less", []string{"document.*", "terminal.*"}, []string{"document.read"}, []tool.ID{"document.read"}},
		{"the stage allows less", []string{"document.read"}, []string{"document.*", "terminal.*"}, []tool.ID{"document.read"}},
		{"nothing in common", []string{"document.*"}, []string{"terminal.run"}, nil},
	} {
		p := within(tool.Policy{Allow: c.stage}, tool.Policy{Allow: c.pipeline})
		var got []tool.ID
		for _, id := range []tool.ID{"document.read", "terminal.run"} {
			if registry.Lookup(id) == nil {
				t.Fatalf("no tool %s", id)
			}
			if ok, _ := p.Permits(id); ok {
				got = append(got, id)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v may be called, want %v", c.name, got, c.want)
		}
	}
	p := within(tool.Policy{MaxCalls: 20, TokenBudget: 100}, tool.Policy{MaxCalls: 5, TokenBudget: 900, Deny: []string{"browser.*"}})
	if p.MaxCalls != 5 || p.TokenBudget != 100 || !slices.Equal(p.Deny, []string{"browser.*"}) {
		t.Errorf("bounds %+v", p)
	}
}
