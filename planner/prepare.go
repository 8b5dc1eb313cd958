package planner

import (
	"fmt"

	"toolsvc/tool"
)

// PlanError says which steps of a plan cannot be run, and why.
type PlanError struct{ Steps []StepError }

// StepError is one step that cannot be run.
type StepError struct {
	// Number of the step, from 1, and Line in the plan's file, 0 when unknown.
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
		place := fmt.Sprintf("%s:%d: step %d (%s): ", file, s.Line, s.Number, s.Tool)
		if s.Err != nil {
			lines = append(lines, place+s.Err.Error())
		}
		for _, i := range s.Issues {
			lines = append(lines, place+i.Message)
		}
	}
	return lines
}

// PreparePlan validates every step of a plan and makes the Input of its run, without starting anything. When a step cannot be run, the
// error is a *PlanError with all mistakes of all steps.
func (s *Service) PreparePlan(p *Plan, reqs []tool.Request, lang string) (Input, error) {
	in := Input{RunID: tool.NewRunID(), Kind: KindScript, Title: p.Title(lang), Language: lang}
	bad := &PlanError{}
	for i, req := range reqs {
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
