package planner

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"toolsvc/tool"
)

// PlanStage is one stage of a pipeline, as a file holds it: an agent or steps, between conditions.
type PlanStage struct {
	// Name is a word of lower-case letters, digits, "-" and "_"; Title, and Titles by language, are for people.
	Name   string            `yaml:"name"`
	Title  string            `yaml:"title"`
	Titles map[string]string `yaml:"titles"`
	Agent  *PlanAgent        `yaml:"agent"`
	Steps  []PlanStep        `yaml:"steps"`
	// Before and After list conditions (CEL) that must hold before and after the stage.
	Before []PlanCondition `yaml:"before"`
	After  []PlanCondition `yaml:"after"`
	// Attempts bounds the attempts: 1 to 3; an agent has 3, steps have 1 when it is 0.
	Attempts int `yaml:"attempts"`
	line     int
}

// PlanAgent is the agent of a stage.
type PlanAgent struct {
	Goal         string `yaml:"goal"`
	Instructions string `yaml:"instructions"`
	// Tools that it may call, as patterns: "document.*".
	Tools []string `yaml:"tools"`
	// MaxCalls and TokenBudget bound it; 0 leaves it to the plan's policy.
	MaxCalls    int   `yaml:"max_calls"`
	TokenBudget int64 `yaml:"token_budget"`
	line        int
}

// PlanCondition is one condition of a stage.
type PlanCondition struct {
	Name    string `yaml:"name"`
	If      string `yaml:"if"`
	Message string `yaml:"message"`
	line    int
}

var stageName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)

// UnmarshalYAML notes the line, and refuses a field that a stage does not have.
func (s *PlanStage) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return mistaken(fmt.Sprintf("line %d: a stage is a mapping with a name, an agent or steps, and conditions", n.Line))
	}
	type plain PlanStage
	s.line = n.Line
	return decodeKnown(n, (*plain)(s), "a stage", "name", "title", "titles", "agent", "steps", "before", "after", "attempts")
}

// UnmarshalYAML refuses a field that an agent does not have.
func (a *PlanAgent) UnmarshalYAML(n *yaml.Node) error {
	type plain PlanAgent
	a.line = n.Line
	return decodeKnown(n, (*plain)(a), "an agent", "goal", "instructions", "tools", "max_calls", "token_budget")
}

// UnmarshalYAML takes an expression alone, too, and refuses a field that a condition does not have.
func (c *PlanCondition) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		c.If, c.line = n.Value, n.Line
		return nil
	}
	type plain PlanCondition
	c.line = n.Line
	return decodeKnown(n, (*plain)(c), "a condition", "name", "if", "message")
}

// mistakes collects what is wrong with a stage, each with its line.
type mistakes struct {
	stage string
	list  []StepError
}

func (m *mistakes) add(line int, format string, args ...any) {
	m.list = append(m.list, StepError{Stage: m.stage, Line: line, Err: fmt.Errorf(format, args...)})
}

// check notes everything that is wrong with the stage's own fields. taken are the names of the stages before it.
func (s *PlanStage) check(m *mistakes, taken map[string]bool) {
	reject := func(bad bool, format string, args ...any) {
		if bad {
			m.add(s.line, format, args...)
		}
	}
	reject(!stageName.MatchString(s.Name), "its name must be a word of lower-case letters, digits, - and _")
	reject(taken[s.Name], "the name stands twice")
	taken[s.Name] = true
	reject((s.Agent == nil) == (len(s.Steps) == 0), "it needs an agent or steps, and not both")
	reject(s.Agent != nil && strings.TrimSpace(s.Agent.Goal) == "", "its agent needs a goal")
	reject(s.Attempts < 0 || s.Attempts > MaxAttempts, "attempts is %d; it must be 1 to %d", s.Attempts, MaxAttempts)
	reject(len(s.After) == 0, "it needs conditions that must hold afterwards: without any, nothing could tell that it succeeded")
	reject(len(s.Before)+len(s.After) > MaxStageConditions, "it has %d conditions; %d are the most", len(s.Before)+len(s.After), MaxStageConditions)
	reject(len(s.Steps) > MaxSteps, "it has %d steps; %d are the most", len(s.Steps), MaxSteps)
}

// stages prepares all stages: every mistake of every one is named, and nothing is started. The error is a *PlanError.
func (s *Service) stages(p *Plan, vars map[string]string, lang string) ([]Step, error) {
	all := maps.Clone(p.Vars)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, vars)
	var steps []Step
	bad := &PlanError{}
	taken := map[string]bool{}
	for i := range p.Stages {
		m := &mistakes{stage: p.Stages[i].Name}
		p.Stages[i].check(m, taken)
		steps = append(steps, s.stage(m, &p.Stages[i], all, lang))
		bad.Steps = append(bad.Steps, m.list...)
	}
	if len(bad.Steps) > 0 {
		return nil, bad
	}
	return steps, nil
}

// stage prepares a stage, and notes its mistakes.
func (s *Service) stage(m *mistakes, ps *PlanStage, vars map[string]string, lang string) Step {
	st := &Stage{Name: ps.Name, Attempts: ps.Attempts}
	fill := func(line int, t string) string {
		f := &filler{vars: vars}
		v, _ := f.fill(t).(string)
		if err := f.err(); err != nil {
			m.add(line, "%w", err)
		}
		return v
	}
	named := map[string]bool{}
	conditions := func(prefix string, list []PlanCondition) (cs []tool.Condition) {
		for i, c := range list {
			one := tool.Condition{Name: c.Name, Expression: fill(c.line, c.If), Message: c.Message}
			if one.Name == "" {
				one.Name = fmt.Sprintf("%s[%d]", prefix, i)
			}
			if named[one.Name] {
				m.add(c.line, "two conditions are called %q; a result could not tell them apart", one.Name)
			}
			named[one.Name] = true
			alone := Stage{Name: ps.Name, Before: []tool.Condition{one}} // so that its mistakes have its line
			if prefix == "after" {
				alone.Before, alone.After = nil, alone.Before
			}
			if _, issues := alone.compile(); len(issues) > 0 {
				m.list = append(m.list, StepError{Stage: ps.Name, Line: c.line, Issues: issues})
			}
			cs = append(cs, one)
		}
		return cs
	}
	st.Before, st.After = conditions("before", ps.Before), conditions("after", ps.After)
	if len(m.list) == 0 { // together they have bounds, too
		if _, issues := st.compile(); len(issues) > 0 {
			m.list = append(m.list, StepError{Stage: ps.Name, Line: ps.line, Issues: issues})
		}
	}
	if a := ps.Agent; a != nil {
		s.agent(m, st, ps, fill)
	}
	st.Attempts = max(1, st.Attempts)
	if len(ps.Steps) > 0 {
		st.Steps = s.steps(m, ps, vars, lang)
	}
	title := inLanguage(ps.Title, ps.Titles, lang)
	if title == "" {
		title = ps.Name
	}
	return Step{CallID: tool.NewCallID(), Tool: tool.ID("stage." + ps.Name), Arguments: []byte("{}"), Title: title, Class: tool.Reversible,
		Sources: []tool.Source{tool.SourceSystem}, TimeLimitMS: DefaultStageLimit.Milliseconds(), Stage: st}
}

// agent prepares the agent of a stage.
func (s *Service) agent(m *mistakes, st *Stage, ps *PlanStage, fill func(int, string) string) {
	a := ps.Agent
	st.Goal, st.Instructions = fill(a.line, a.Goal), fill(a.line, a.Instructions)
	st.Policy = tool.Policy{Allow: a.Tools, MaxCalls: a.MaxCalls, TokenBudget: a.TokenBudget}
	if st.Attempts == 0 {
		st.Attempts = MaxAttempts
	}
	for what, text := range map[string]string{"goal": st.Goal, "instructions": st.Instructions} {
		if len(text) > MaxGoal {
			m.add(a.line, "the agent's %s has %d bytes; at most %d are taken", what, len(text), MaxGoal)
		}
	}
	if issues := st.Policy.Validate(""); len(issues) > 0 {
		m.list = append(m.list, StepError{Stage: ps.Name, Line: a.line, Issues: issues})
		return
	}
	for _, pattern := range a.Tools {
		only := tool.Policy{Allow: []string{pattern}}
		if slices.ContainsFunc(s.Registry.IDs(), func(id tool.ID) bool { ok, _ := only.Permits(id); return ok }) {
			continue
		}
		if near := s.Registry.Nearest(tool.ID(pattern)); len(near) > 0 {
			m.add(a.line, "its tools: no tool is called %q; is %s meant?", pattern, near[0])
			continue
		}
		m.add(a.line, "its tools: no tool is called %q; toolsvc tools lists them", pattern)
	}
}

// steps prepares the steps of a stage without an agent.
func (s *Service) steps(m *mistakes, ps *PlanStage, vars map[string]string, lang string) []Step {
	inner := &Plan{Name: ps.Name, Steps: ps.Steps, Vars: vars}
	in, err := s.PrepareSteps(inner, nil, lang)
	var bad *PlanError
	switch {
	case errors.As(err, &bad):
		for _, se := range bad.Steps {
			se.Stage = ps.Name
			m.list = append(m.list, se)
		}
	case err != nil:
		m.add(ps.line, "%w", err)
	}
	return in.Steps
}

// PreparePipeline validates a plan with stages and makes the Input of its run, without starting anything. From is the name of the stage to
// begin with, after a correction, without repeating those before it; "" begins with the first. The error is a *PlanError with all mistakes of
// all stages, or says that there is no stage called from.
func (s *Service) PreparePipeline(p *Plan, vars map[string]string, lang, from string) (Input, error) {
	steps, err := s.stages(p, vars, lang)
	if err != nil {
		return Input{}, err
	}
	if from != "" {
		i := slices.IndexFunc(steps, func(st Step) bool { return st.Stage.Name == from })
		if i < 0 {
			var names []string
			for _, st := range steps {
				names = append(names, st.Stage.Name)
			}
			return Input{}, fmt.Errorf("the plan has no stage %q; it has %s", from, strings.Join(names, ", "))
		}
		steps = steps[i:]
	}
	return Input{RunID: tool.NewRunID(), Kind: KindPipeline, Title: p.Title(lang), Language: lang, Policy: p.Policy, Steps: steps}, nil
}
