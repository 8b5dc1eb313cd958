package planner

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"toolsvc/narration"
	"toolsvc/repair"
	"toolsvc/tool"
	"toolsvc/verification"
)

// prepareStep validates a request and turns it into a Step. A payload that does not validate is answered with a Result that holds all
// issues; err is an *UnknownToolError, or nil.
func prepareStep(reg *tool.Registry, executors map[string]tool.Executor, req tool.Request, lang string) (step Step, rejected *tool.Result, err error) {
	spec := reg.Lookup(req.Tool)
	if spec == nil {
		return Step{}, nil, &UnknownToolError{Tool: req.Tool, Nearest: reg.Nearest(req.Tool)}
	}
	if len(req.Arguments) == 0 {
		req.Arguments = json.RawMessage("{}")
	}
	level := tool.RepairLossless
	if req.Policy != nil && req.Policy.Repair != "" {
		level = req.Policy.Repair
	}
	out := repair.Payload(spec, req.Arguments, repairLevel(level))
	reject := func(issues tool.Issues) *tool.Result {
		hint := tool.HintArguments(spec, issues, out.Payload)
		return &tool.Result{CallID: req.CallID, RunID: req.RunID, Tool: req.Tool, RetryHint: hint, Repairs: out.Repairs,
			Error: &tool.Error{Code: draftFailure(issues), Message: hint.Fields().Message, Cause: tool.ErrorFrom(issues)}}
	}
	if !out.OK() {
		return Step{}, reject(out.Issues), nil
	}
	args, err := json.Marshal(out.Value) // with the defaults filled in
	if err != nil {
		return Step{}, nil, fmt.Errorf("encode the payload of %s: %w", spec.ID, err)
	}
	if _, issues := verification.Compile(spec, args, out.Value.Expectations()); len(issues) > 0 {
		return Step{}, reject(issues), nil
	}
	class, err := verification.EffectClass(spec, args)
	if err != nil {
		return Step{}, nil, fmt.Errorf("effect class of %s: %w", spec.ID, err)
	}
	step = Step{CallID: req.CallID, Tool: spec.ID, Arguments: args, Class: class, TimeLimitMS: spec.TimeLimit.Milliseconds(),
		Title: narration.Describe(spec, args, lang), Digest: CallDigest(spec.ID, args), Confirm: approvalFor(spec, class), Repairs: out.Repairs}
	if spec.Agent != nil {
		step.Sources, step.Stage = spec.Sources, agentStage(reg, spec)
		return step, nil, nil
	}
	step.Sources = applicable(executors, spec, &tool.Call{ID: req.CallID, RunID: req.RunID, Spec: spec, Args: out.Value, Raw: args})
	return step, nil, nil
}

// repairLevel is how far package repair goes by itself; a model and a person are asked in the run.
func repairLevel(l tool.RepairLevel) repair.Level {
	switch {
	case l.Reaches(tool.RepairLossless):
		return repair.Lossless
	case l.Reaches(tool.RepairSyntax):
		return repair.Syntax
	}
	return repair.None
}

// applicable lists the spec's sources that can be used for the call. When none can, all are kept: the attempt will say what is missing.
func applicable(executors map[string]tool.Executor, spec *tool.Spec, call *tool.Call) []tool.Source {
	exec := executors[spec.ID.Toolset()]
	var some []tool.Source
	for _, src := range spec.Sources {
		if exec == nil || exec.Applies(call, src) {
			some = append(some, src)
		}
	}
	if len(some) == 0 {
		return spec.Sources
	}
	return some
}

// approvalFor is the question of the approval that a call needs; "" when it needs none. Irreversible calls always need one.
func approvalFor(spec *tool.Spec, class tool.EffectClass) string {
	if spec.Confirm == "" && class == tool.Irreversible {
		return "This cannot be undone. May it be done?"
	}
	return spec.Confirm
}

// PlanError says which steps of a plan cannot be run, and why.
type PlanError struct{ Steps []StepError }

// StepError is one step that cannot be run.
type StepError struct {
	// Stage is the stage that the step belongs to; "" in a plan without stages.
	Stage string
	// Number of the step, from 1, and Line in the plan's file, 0 when unknown. The Number is 0 for a mistake of the stage itself.
	Number, Line int
	Tool         tool.ID
	Issues       tool.Issues
	// Err is set when it is not the payload that is wrong.
	Err error
}

func (e *PlanError) Error() string {
	n := 0
	for _, s := range e.Steps {
		n += max(1, len(s.Issues))
	}
	if n == 1 {
		return "the plan has one mistake"
	}
	return fmt.Sprintf("the plan has %d mistakes", n)
}

// Lines says every mistake in a line of its own, with its place: file:line, step, pointer.
func (e *PlanError) Lines(file string) []string {
	var lines []string
	for _, s := range e.Steps {
		place := fmt.Sprintf("%s:%d: ", file, s.Line)
		switch {
		case s.Stage != "" && s.Number > 0:
			place += fmt.Sprintf("stage %q, step %d (%s): ", s.Stage, s.Number, s.Tool)
		case s.Stage != "":
			place += fmt.Sprintf("stage %q: ", s.Stage)
		default:
			place += fmt.Sprintf("step %d (%s): ", s.Number, s.Tool)
		}
		if s.Err != nil {
			lines = append(lines, place+s.Err.Error())
		}
		for _, i := range s.Issues {
			lines = append(lines, place+i.Message)
		}
	}
	return lines
}

// PrepareSteps is [Plan.Requests] and [Service.PreparePlan] in one, so that unknown variables are told together with all other mistakes.
func (s *Service) PrepareSteps(p *Plan, vars map[string]string, lang string) (Input, error) {
	reqs, unfilled := p.requests(vars)
	in, err := s.PreparePlan(p, reqs, lang)
	var bad *PlanError
	if err != nil && !errors.As(err, &bad) || err == nil && len(unfilled) == 0 {
		return in, err
	}
	if bad != nil {
		unfilled = append(unfilled, bad.Steps...)
	}
	slices.SortStableFunc(unfilled, func(a, b StepError) int { return a.Number - b.Number })
	return Input{}, &PlanError{Steps: unfilled}
}

// PreparePlan validates every step of a plan and makes the Input of its run, without starting anything. When a step cannot be run, the
// error is a *PlanError with all mistakes of all steps.
func (s *Service) PreparePlan(p *Plan, reqs []tool.Request, lang string) (Input, error) {
	in := Input{RunID: tool.NewRunID(), Kind: KindScript, Title: p.Title(lang), Language: lang, Policy: p.Policy}
	bad := &PlanError{}
	for i, req := range reqs {
		if req.Tool == "" && p.Steps[i].Tool != "" { // its variables are unknown, which is said already
			continue
		}
		req.RunID = in.RunID
		ps := p.Steps[i]
		step, rejected, err := s.Prepare(req, lang)
		if err != nil || rejected != nil {
			se := StepError{Number: i + 1, Line: ps.Line(), Tool: req.Tool, Err: err}
			if rejected != nil {
				se.Issues = rejected.RetryHint.Fields().Issues
			}
			bad.Steps = append(bad.Steps, se)
			continue
		}
		if t := inLanguage(ps.Name, ps.Names, lang); t != "" {
			step.Title = t
		}
		step.ExpectFailure = ps.ExpectFailure
		if f := ps.ExpectFailure; f != "" && !f.Known() {
			bad.Steps = append(bad.Steps, StepError{Number: i + 1, Line: ps.Line(), Tool: req.Tool,
				Err: fmt.Errorf("expect_failure: there is no failure %q; is %q meant?", f, tool.NearestFailure(f))})
			continue
		}
		in.Steps = append(in.Steps, step)
	}
	if len(bad.Steps) > 0 {
		return Input{}, bad
	}
	return in, nil
}

// PrepareGoal makes the Input of a run that a model plans, without starting anything. Its error says what is wrong with the goal or the
// policy.
func (s *Service) PrepareGoal(goal, instructions string, p tool.Policy, lang string) (Input, error) {
	for what, text := range map[string]string{"goal": goal, "instructions": instructions} {
		if len(text) > MaxGoal {
			return Input{}, fmt.Errorf("the %s has %d bytes; at most %d are taken", what, len(text), MaxGoal)
		}
	}
	if strings.TrimSpace(goal) == "" {
		return Input{}, errors.New("the goal is empty: say in words what is to be reached")
	}
	if issues := p.Validate("/policy"); len(issues) > 0 {
		return Input{}, issues
	}
	return Input{RunID: tool.NewRunID(), Kind: KindGemini, Title: clip(goal), Language: lang, Goal: goal, Instructions: instructions, Policy: p}, nil
}
