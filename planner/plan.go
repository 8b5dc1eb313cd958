package planner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"toolsvc/tool"
	"toolsvc/tool/yamlerror"
)

// maxPlan bounds a plan file, in bytes.
const maxPlan = 4 << 20

// Plan is a script of steps, as a file holds it.
type Plan struct {
	Name string `yaml:"name"`
	// Names are translations of Name by language.
	Names map[string]string `yaml:"names"`
	// Language of the narration, unless the command says otherwise.
	Language string `yaml:"language"`
	// Vars are replaced where "${name}" stands in arguments, expectations, goals, instructions and conditions; "$${" stands for "${" there.
	Vars map[string]string `yaml:"vars"`
	// Policy bounds the run.
	Policy tool.Policy `yaml:"policy"`
	Steps  []PlanStep  `yaml:"steps"`
	// Stages make the plan a pipeline; it has no steps then.
	Stages []PlanStage `yaml:"stages"`
}

// PlanStep is one step of a Plan.
type PlanStep struct {
	Name  string            `yaml:"name"`
	Names map[string]string `yaml:"names"`
	Tool  tool.ID           `yaml:"tool"`
	Args  map[string]any    `yaml:"args"`
	// Intent says why, in one sentence.
	Intent string `yaml:"intent"`
	// Expect lists conditions (CEL) that must hold afterwards.
	Expect []string `yaml:"expect"`
	// ExpectFailure makes the step right when the call fails in exactly this way, with nothing done.
	ExpectFailure tool.Failure `yaml:"expect_failure"`
	line          int
}

// Line is where the step stands in its file, from 1; 0 when the plan was not read from a file.
func (s PlanStep) Line() int { return s.line }

// UnmarshalYAML notes the line beside the fields, and refuses a field that a step does not have.
func (s *PlanStep) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return mistaken(fmt.Sprintf("line %d: a step is a mapping with a tool and its args", n.Line))
	}
	type plain PlanStep
	s.line = n.Line
	return decodeKnown(n, (*plain)(s), "a step", "name", "names", "tool", "args", "intent", "expect", "expect_failure")
}

// mistaken makes an error that the YAML decoder collects: it goes on, and finds the other mistakes too.
func mistaken(lines ...string) error { return &yaml.TypeError{Errors: lines} }

// decodeKnown decodes a mapping into v. Its error names every field that is not among names, and every value of a wrong type.
func decodeKnown(n *yaml.Node, v any, what string, names ...string) error {
	lines := unknownFields(n, what, names...)
	if err := n.Decode(v); err != nil {
		more, ok := errors.AsType[*yaml.TypeError](err)
		if !ok {
			return err
		}
		lines = append(lines, more.Errors...)
	}
	if len(lines) > 0 {
		return mistaken(lines...)
	}
	return nil
}

// unknownFields says of every field of a mapping that is not among names where it stands, and what may be meant.
func unknownFields(n *yaml.Node, what string, names ...string) []string {
	var lines []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if slices.Contains(names, k.Value) {
			continue
		}
		msg := fmt.Sprintf("line %d: %s has no field %q", k.Line, what, k.Value)
		if near := tool.Nearest(k.Value, names); near != "" {
			msg += fmt.Sprintf("; %q is meant?", near)
		} else {
			msg += "; it has " + strings.Join(names, ", ")
		}
		lines = append(lines, msg)
	}
	return lines
}

// wrongType is what the YAML decoder says of a value of another type than the field's, which it calls by its Go name.
var wrongType = regexp.MustCompile("(?s)cannot unmarshal (!!\\w+)(?: (`.*`))? into ([^`]+)$")

// inYAMLsWords says in words of YAML what the decoder says of types.
func inYAMLsWords(line string) string {
	return wrongType.ReplaceAllStringFunc(line, func(m string) string {
		parts := wrongType.FindStringSubmatch(m)
		got, known := map[string]string{"!!seq": "a list", "!!map": "a mapping", "!!null": "nothing"}[parts[1]]
		if !known {
			got = strings.Trim(parts[2], "`")
			if len(got) > 40 || parts[1] == "!!str" {
				got = strconv.Quote(got)
			}
		}
		want := "something else"
		switch t := strings.TrimPrefix(parts[3], "*"); {
		case t == "[]string":
			want = "a list of texts"
		case strings.HasPrefix(t, "[]"):
			want = "a list"
		case strings.HasPrefix(t, "map["):
			want = "a mapping"
		case strings.HasPrefix(t, "int"), strings.HasPrefix(t, "uint"):
			want = "a whole number"
		case strings.HasPrefix(t, "float"):
			want = "a number"
		case t == "bool":
			want = "true or false"
		case t == "string":
			want = "a text"
		}
		return fmt.Sprintf("%s stands where %s belongs", got, want)
	})
}

// maxPlanMistakes bounds how many mistakes of a plan's form are listed.
const maxPlanMistakes = 50

// ParsePlan reads a plan. Its error names all mistakes of its form, each in a line of its own with its place.
func ParsePlan(r io.Reader) (*Plan, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxPlan+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxPlan {
		return nil, fmt.Errorf("the plan is larger than %d bytes", maxPlan)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("not valid YAML: %w", yamlerror.At(text, err))
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New(`a plan is a mapping with a list of "steps"`)
	}
	top := doc.Content[0]
	lines := unknownFields(top, "a plan", "name", "names", "language", "vars", "policy", "steps", "stages")
	for i := 0; i+1 < len(top.Content); i += 2 {
		if top.Content[i].Value == "policy" {
			lines = append(lines, unknownFields(top.Content[i+1], "a policy", "repair", "ask", "approve", "allow", "deny", "max_calls", "max_failures", "time_budget_ms", "token_budget", "wait_budget_ms", "question_ttl_ms")...)
		}
	}
	var p Plan
	if err := top.Decode(&p); err != nil {
		more, ok := errors.AsType[*yaml.TypeError](err)
		if !ok {
			return nil, err
		}
		lines = append(lines, more.Errors...)
	}
	for i, l := range lines {
		lines[i] = inYAMLsWords(l)
	}
	for _, issue := range p.Policy.Validate("/policy") {
		lines = append(lines, issue.Message)
	}
	if extra := len(lines) - maxPlanMistakes; extra > 0 {
		lines = append(lines[:maxPlanMistakes], fmt.Sprintf("and %d more", extra))
	}
	if len(lines) > 0 {
		return nil, errors.New(strings.Join(lines, "\n"))
	}
	switch {
	case len(p.Stages) > 0 && len(p.Steps) > 0:
		return nil, errors.New("the plan has steps and stages; put the steps into a stage, or leave the stages out")
	case len(p.Stages) > MaxStages:
		return nil, fmt.Errorf("the plan has %d stages; %d are the most", len(p.Stages), MaxStages)
	case len(p.Stages) > 0:
	case len(p.Steps) == 0:
		return nil, errors.New(`the plan has no steps: list them under "steps:"`)
	case len(p.Steps) > MaxSteps:
		return nil, fmt.Errorf("the plan has %d steps; %d are the most", len(p.Steps), MaxSteps)
	}
	return &p, nil
}

// Title is the plan's name in the language.
func (p *Plan) Title(lang string) string { return inLanguage(p.Name, p.Names, lang) }

func inLanguage(name string, names map[string]string, lang string) string {
	if n := names[lang]; n != "" {
		return n
	}
	return name
}

// Requests turns the steps into calls, with the variables filled in; vars replaces the plan's own. Its error names every unknown variable
// and its step.
func (p *Plan) Requests(vars map[string]string) ([]tool.Request, error) {
	reqs, bad := p.requests(vars)
	var errs []error
	for _, b := range bad {
		errs = append(errs, fmt.Errorf("line %d, step %d (%s): %w", b.Line, b.Number, b.Tool, b.Err))
	}
	return reqs, errors.Join(errs...)
}

// requests is [Plan.Requests] with the mistakes one by one; the request of a step that has one is empty.
func (p *Plan) requests(vars map[string]string) ([]tool.Request, []StepError) {
	all := maps.Clone(p.Vars)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, vars)
	var bad []StepError
	reqs := make([]tool.Request, len(p.Steps))
	for i, s := range p.Steps {
		f := &filler{vars: all}
		args, _ := f.fill(s.Args).(map[string]any)
		if args == nil {
			args = map[string]any{}
		}
		if s.Intent != "" {
			args["intent"] = s.Intent
		}
		if len(s.Expect) > 0 {
			expect := make([]any, len(s.Expect))
			for j, e := range s.Expect {
				expect[j] = f.fill(e)
			}
			args["expect"] = expect
		}
		if len(f.unknown) > 0 {
			bad = append(bad, StepError{Number: i + 1, Line: s.line, Tool: s.Tool, Err: f.err()})
			continue
		}
		text, err := json.Marshal(args)
		if err != nil {
			bad = append(bad, StepError{Number: i + 1, Line: s.line, Tool: s.Tool, Err: fmt.Errorf("the arguments cannot be written as JSON: %w", err)})
			continue
		}
		reqs[i] = tool.Request{CallID: tool.NewCallID(), Tool: s.Tool, Arguments: text}
	}
	return reqs, bad
}

// variable matches a reference, and what is written for the two characters that begin one: a shell's own "${HOME}" is "$${HOME}" in a plan.
var variable = regexp.MustCompile(`\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// filler replaces variables in the strings of a value.
type filler struct {
	vars    map[string]string
	unknown []string // their names
}

// err says which references nothing is known of, what is known, and how to write what was not meant as a reference; nil when all are known.
func (f *filler) err() error {
	if len(f.unknown) == 0 {
		return nil
	}
	known := "it has no vars"
	if len(f.vars) > 0 {
		known = "the plan knows " + strings.Join(slices.Sorted(maps.Keys(f.vars)), ", ")
	}
	return fmt.Errorf("unknown variable ${%s}; %s; write $${%s} for ${%s} as it stands", strings.Join(f.unknown, "}, ${"), known, f.unknown[0], f.unknown[0])
}

func (f *filler) fill(v any) any {
	switch x := v.(type) {
	case string:
		return variable.ReplaceAllStringFunc(x, func(m string) string {
			if m == "$${" {
				return "${"
			}
			name := m[2 : len(m)-1]
			val, ok := f.vars[name]
			if !ok {
				f.unknown = append(f.unknown, name)
			}
			return val
		})
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			out[k] = f.fill(e)
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = f.fill(e)
		}
		return out
	}
	return v
}
