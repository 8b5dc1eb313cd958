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
}

// PlanCondition is one condition of a stage.
type PlanCondition struct {
	Name    string `yaml:"name"`
	If      string `yaml:"if"`
	Message string `yaml:"message"`
}

var stageName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)

// UnmarshalYAML notes the line, and refuses a field that a stage does not have.
func (s *PlanStage) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: a stage is a mapping with a name, an agent or steps, and conditions", n.Line)
	}
	type plain PlanStage
	if err := knownFields(n, "stage", "name", "title", "titles", "agent", "steps", "before", "after", "attempts"); err != nil {
		return err
	}
	if err := n.Decode((*plain)(s)); err != nil {
		return err
	}
	s.line = n.Line
	return nil
}

// UnmarshalYAML refuses a field that an agent does not have.
func (a *PlanAgent) UnmarshalYAML(n *yaml.Node) error {
	type plain PlanAgent
	if err := knownFields(n, "agent", "goal", "instructions", "tools", "max_calls", "token_budget"); err != nil {
		return err
	}
	return n.Decode((*plain)(a))
}

// UnmarshalYAML takes an expression alone, too, and refuses a field that a condition does not have.
func (c *PlanCondition) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		c.If = n.Value
		return nil
	}
	type plain PlanCondition
	if err := knownFields(n, "condition", "name", "if", "message"); err != nil {
		return err
	}
	return n.Decode((*plain)(c))
}

// check says everything that is wrong with the stage's own fields.
func (s *PlanStage) check(taken map[string]bool) error {
	var errs []error
	reject := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("line %d, stage %q: %s", s.line, s.Name, fmt.Sprintf(format, args...)))
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
	return errors.Join(errs...)
}

// stages prepares all stages: every mistake of every one is named, and nothing is started.
func (s *Service) stages(p *Plan, vars map[string]string, lang string) ([]Step, error) {
	all := maps.Clone(p.Vars)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, vars)
	var steps []Step
	var errs []error
	taken := map[string]bool{}
	for i := range p.Stages {
		ps := &p.Stages[i]
		if err := ps.check(taken); err != nil {
			errs = append(errs, err)
			continue
		}
		step, err := s.stage(p, ps, all, lang)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		steps = append(steps, step)
	}
	return steps, errors.Join(errs...)
}

func (s *Service) stage(p *Plan, ps *PlanStage, vars map[string]string, lang string) (Step, error) {
	f := &filler{vars: vars}
	text := func(t string) string { v, _ := f.fill(t).(string); return v }
	st := &Stage{Name: ps.Name, Attempts: ps.Attempts}
	conditions := func(prefix string, list []PlanCondition) (cs []tool.Condition) {
		for i, c := range list {
			name := c.Name
			if name == "" {
				name = fmt.Sprintf("%s[%d]", prefix, i)
			}
			cs = append(cs, tool.Condition{Name: name, Expression: text(c.If), Message: c.Message})
		}
		return cs
	}
	st.Before, st.After = conditions("before", ps.Before), conditions("after", ps.After)
	if a := ps.Agent; a != nil {
		st.Goal, st.Instructions = text(a.Goal), text(a.Instructions)
		st.Policy = tool.Policy{Allow: a.Tools, MaxCalls: a.MaxCalls, TokenBudget: a.TokenBudget}
		if st.Attempts == 0 {
			st.Attempts = MaxAttempts
		}
	}
	st.Attempts = max(1, st.Attempts)
	var errs []error
	if len(f.unknown) > 0 {
		errs = append(errs, fmt.Errorf("line %d, stage %q: unknown variable %s; the plan knows %s", ps.line, ps.Name, strings.Join(f.unknown, ", "), strings.Join(slices.Sorted(maps.Keys(vars)), ", ")))
	}
	if issues := st.Policy.Validate(""); len(issues) > 0 {
		errs = append(errs, fmt.Errorf("line %d, stage %q: %w", ps.line, ps.Name, issues))
	}
	if _, err := st.conditions(); err != nil {
		errs = append(errs, fmt.Errorf("line %d, stage %q: %s", ps.line, ps.Name, tool.AsFailed(err).Message))
	}
	if len(ps.Steps) > 0 {
		inner := &Plan{Name: ps.Name, Steps: ps.Steps, Vars: vars}
		reqs, err := inner.Requests(nil)
		if err == nil {
			var in Input
			if in, err = s.PreparePlan(inner, reqs, lang); err == nil {
				st.Steps = in.Steps
			}
		}
		var bad *PlanError
		if errors.As(err, &bad) {
			err = errors.New(strings.Join(bad.Lines(fmt.Sprintf("stage %q", ps.Name)), "\n"))
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	title := inLanguage(ps.Title, ps.Titles, lang)
	if title == "" {
		title = ps.Name
	}
	return Step{CallID: tool.NewCallID(), Tool: tool.ID("stage." + ps.Name), Arguments: []byte("{}"), Title: title, Class: tool.Reversible,
		Sources: []tool.Source{tool.SourceSystem}, TimeLimitMS: DefaultStageLimit.Milliseconds(), Stage: st}, errors.Join(errs...)
}

// PreparePipeline validates a plan with stages and makes the Input of its run, without starting anything. From is the name of the stage to
// begin with, after a correction, without repeating those before it; "" begins with the first. The error names every mistake.
func (s *Service) PreparePipeline(p *Plan, vars map[string]string, lang, from string) (Input, error) {
	steps, err := s.stages(p, vars, lang)
	if err != nil {
		return Input{}, err
	}
	if from != "" {
		i := slices.IndexFunc(steps, func(st Step) bool { return st.Stage.Name == from })
		if i < 0 {
			return Input{}, fmt.Errorf("the plan has no stage %q", from)
		}
		steps = steps[i:]
	}
	return Input{RunID: tool.NewRunID(), Kind: KindPipeline, Title: p.Title(lang), Language: lang, Policy: p.Policy, Steps: steps}, nil
}
