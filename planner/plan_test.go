package planner

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestParsePlan(t *testing.T) {
	t.Parallel()
	p, err := ParsePlan(strings.NewReader(`
name: Demo
names: {ko: 데모}
vars: {base: "http://127.0.0.1:1", who: Ada}
steps:
  - name: Open
    tool: browser.navigate
    args: {url: "${base}/x?who=${who}"}
    intent: to see it
    expect: ['page.title == "${who}"']
  - tool: browser.click
    args: {target: {name: "${who}", nth: 2}, modifiers: [Shift, "${who}"]}
    expect_failure: disabled
`))
	if err != nil {
		t.Fatal(err)
	}
	if p.Title("ko") != "데모" || p.Title("ja") != "Demo" || p.Steps[1].Line() != 11 || p.Steps[1].ExpectFailure != "disabled" {
		t.Errorf("plan %+v", p)
	}
	reqs, err := p.Requests(map[string]string{"who": "Bob"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		`{"expect":["page.title == \"Bob\""],"intent":"to see it","url":"http://127.0.0.1:1/x?who=Bob"}`,
		`{"modifiers":["Shift","Bob"],"target":{"name":"Bob","nth":2}}`,
	} {
		if got := string(reqs[i].Arguments); got != want {
			t.Errorf("step %d: %s, want %s", i+1, got, want)
		}
	}
	if !json.Valid(reqs[0].Arguments) || reqs[0].CallID == reqs[1].CallID {
		t.Error("calls need identifiers of their own")
	}
}

// Every mistake is named with its line and what to write instead.
func TestParsePlanMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, plan, want string }{
		{"not YAML", "steps:\n  - tool: a\n   args: {}\n", "not valid YAML: line 3, column 4: "},
		{"not YAML, with the line", "steps: [", "    1 | steps: [\n      |         ^"},
		{"empty", "", `a plan is a mapping with a list of "steps"`},
		{"no steps", "name: x", "the plan has no steps"},
		{"unknown field of the plan", "step: []", `line 1: a plan has no field "step"; "steps" is meant?`},
		{"unknown field of a step", "steps:\n  - tool: browser.click\n    arg: {}", `line 3: a step has no field "arg"; "args" is meant?`},
		{"a step that is text", "steps:\n  - browser.click", "line 2: a step is a mapping"},
		{"args that are a list", "steps:\n  - tool: browser.click\n    args: [1]", "line 3"},
		{"a text for a list", "steps:\n  - tool: browser.click\n    expect: page.ready", `line 3: "page.ready" stands where a list of texts belongs`},
		{"a word for a number", "policy: {max_calls: many}\nsteps:\n  - tool: browser.click", `line 1: "many" stands where a whole number belongs`},
		{"a mapping for the steps", "steps: {a: b}", "a mapping stands where a list belongs"},
		{"a policy beside other mistakes", "policy: {repair: lots}\nstep: []", `repair is "lots"; it must be none`},
		{"other mistakes beside a policy", "policy: {repair: lots}\nstep: []", `a plan has no field "step"`},
		{"too large", "name: " + strings.Repeat("x", maxPlan), "larger than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := ParsePlan(strings.NewReader(c.plan)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
}

// Mistakes of form are named all at once, wherever they stand.
func TestParsePlanNamesAllMistakes(t *testing.T) {
	t.Parallel()
	_, err := ParsePlan(strings.NewReader(`nam: x
policy: {max_cals: 3}
stages:
  - name: a
    afte: []
    agent: {gaol: x}
    after: [{iff: x}]
    steps:
      - tool: terminal.run
        argz: {}
      - text
      - {tool: terminal.run, args: [1], expct: []}
`))
	if err == nil {
		t.Fatal("it passed")
	}
	lines := strings.Split(err.Error(), "\n")
	for _, want := range []string{`line 1: a plan has no field "nam"; "name" is meant?`, `line 2: a policy has no field "max_cals"`, `line 5: a stage has no field "afte"`,
		`line 6: an agent has no field "gaol"`, `line 7: a condition has no field "iff"`, `line 10: a step has no field "argz"`, `line 11: a step is a mapping`,
		`line 12: a step has no field "expct"`, `line 12: a list stands where a mapping belongs`} {
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, want) }) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
	if len(lines) != 9 {
		t.Errorf("%d lines:\n%v", len(lines), err)
	}
	_, err = ParsePlan(strings.NewReader("steps:\n" + strings.Repeat("  - x\n", 200)))
	if err == nil || strings.Count(err.Error(), "\n") != maxPlanMistakes || !strings.HasSuffix(err.Error(), "and 150 more") {
		t.Error(err)
	}
}

func TestRequestsNameUnknownVariables(t *testing.T) {
	t.Parallel()
	p, err := ParsePlan(strings.NewReader("vars: {base: b}\nsteps:\n  - tool: browser.click\n    args: {target: {name: '${bse} ${nope}'}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Requests(nil)
	if err == nil || !strings.Contains(err.Error(), "line 3, step 1 (browser.click): unknown variable ${bse}, ${nope}; the plan knows base; write $${bse} for ${bse} as it stands") {
		t.Errorf("error %v", err)
	}
}

// "$${" is how "${" is written, wherever variables are filled in: a shell has variables of its own.
func TestReferencesAreEscaped(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"echo $${HOME}":         "echo ${HOME}",
		"$${HOME}/${doc}":       "${HOME}/a.md",
		"$${doc}":               "${doc}",
		"$${HOME:-/tmp} $${#x}": "${HOME:-/tmp} ${#x}", // also where nothing had to be escaped
		"${HOME:-/tmp} $HOME":   "${HOME:-/tmp} $HOME", // never a reference
		"$$ $1 $":               "$$ $1 $",
		"${dollar}${doc}":       "$a.md",
		"${quoted}":             "$${doc}", // a value is taken as it stands
	} {
		f := &filler{vars: map[string]string{"doc": "a.md", "dollar": "$", "quoted": "$${doc}"}}
		if got := f.fill(text); got != want || f.err() != nil {
			t.Errorf("%s: %v (%v), want %s", text, got, f.err(), want)
		}
	}
	p, err := ParsePlan(strings.NewReader("steps:\n  - tool: terminal.run\n    args: {command: 'echo $${HOME} ${HOME}'}\n    expect: ['stdout.contains(\"$${A}\")']\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Requests(nil); err == nil || !strings.HasSuffix(err.Error(), "unknown variable ${HOME}; it has no vars; write $${HOME} for ${HOME} as it stands") {
		t.Errorf("error %v", err)
	}
	reqs, err := p.Requests(map[string]string{"HOME": "x"})
	if err != nil || string(reqs[0].Arguments) != `{"command":"echo ${HOME} x","expect":["stdout.contains(\"${A}\")"]}` {
		t.Errorf("%s, %v", reqs[0].Arguments, err)
	}
}
