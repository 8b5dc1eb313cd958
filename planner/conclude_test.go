package planner

import (
	"encoding/json"
	"errors"
	"testing"

	"toolsvc/tool"
)

// What the tool itself finds wrong in a payload reaches the caller as issues, as what the decoder finds does.
func TestHintOfAPayloadThatTheToolRefuses(t *testing.T) {
	t.Parallel()
	issue := tool.Issue{Path: "/cents", Constraint: tool.ConstraintTool, Message: "only 3000 cents are left."}
	spec := &tool.Spec{ID: "orders.refund", Example: json.RawMessage(`{"cents":1}`)}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"with its place":    {&tool.Failed{Failure: tool.InvalidArguments, Message: "too much", Cause: tool.Issues{issue}}, "/cents"},
		"without its place": {tool.Failf(tool.InvalidArguments, "too much"), ""},
	} {
		rep := Report{Record: tool.AttemptRecord{Number: 1, Source: tool.SourceSystem, Phase: tool.PhaseResolved, Effect: tool.EffectNone}}.failed(t.Context(), c.err)
		res := Conclude(spec, Conclusion{RunID: "r_1", Step: Step{CallID: "c_1", Tool: spec.ID, Arguments: json.RawMessage(`{"cents":9000}`)},
			Reports: []Report{rep}, Decision: Decision{Action: ActionStop, Failure: tool.InvalidArguments}})
		h := res.RetryHint.Fields()
		if h.Reason != tool.ReasonInvalidArguments || len(h.Issues) != 1 || h.Issues[0].Path != c.want || !h.RestrictToTool || string(h.PriorInput) != `{"cents":9000}` {
			t.Errorf("%s: %+v", name, h)
		}
	}
}

// A command that ran into its time limit was taken back: the caller is told so, and is told the failure once.
func TestConcludeTellsOfTheRollbackOfATimeout(t *testing.T) {
	t.Parallel()
	spec := &tool.Spec{ID: "terminal.run"}
	rep := Report{Record: tool.AttemptRecord{Number: 1, Source: tool.SourceSystem, Phase: tool.PhaseDispatched, Effect: tool.EffectUnknown}}.
		failed(t.Context(), &tool.Failed{Failure: tool.Timeout, Dispatched: true, Message: "It had not ended.", Cause: errors.New("killed")})
	rep.Record.RolledBack, rep.Rollback = true, &tool.RollbackNotice{Performed: true, RestoredTo: "before attempt 1"}
	res := Conclude(spec, Conclusion{RunID: "r_1", Step: Step{CallID: "c_1", Tool: spec.ID, Class: tool.Reversible}, Reports: []Report{rep},
		Decision: Decision{Action: ActionStop, Failure: tool.Timeout}})
	if h := res.RetryHint.Fields(); h.Reason != tool.ReasonTimeout || h.Rollback == nil || !h.Rollback.Performed {
		t.Errorf("hint %+v", h)
	}
	if e := res.Error; e.Message != "It had not ended." || e.Cause == nil || e.Cause.Message != "killed" {
		t.Errorf("error %+v, caused by %+v", e, e.Cause)
	}
}

// Of several sources that did not find the target, the one that says what there is instead is told.
func TestWhatIsThereInsteadIsTold(t *testing.T) {
	t.Parallel()
	report := func(f tool.Failure, message string, cs ...tool.Candidate) Report {
		return Report{Record: tool.AttemptRecord{Failure: f, Message: message}, Candidates: cs}
	}
	basket := tool.Candidate{Name: "Add to basket", Role: "button"}
	for _, c := range []struct {
		name    string
		reports []Report
		failure tool.Failure
		want    string
	}{
		{"only one knows", []Report{report(tool.TargetNotFound, "ax", basket), report(tool.TargetNotFound, "dom", basket), report(tool.TargetNotFound, "picture")}, tool.TargetNotFound, "dom"},
		{"nobody knows", []Report{report(tool.TargetNotFound, "ax"), report(tool.TargetNotFound, "picture")}, tool.TargetNotFound, "picture"},
		{"another failure decided", []Report{report(tool.TargetNotFound, "ax", basket), report(tool.NoEffect, "dom"), report(tool.TargetNotFound, "picture")}, tool.NoEffect, "dom"},
		{"the latest of several", []Report{report(tool.NoEffect, "ax"), report(tool.NoEffect, "dom")}, tool.NoEffect, "dom"},
		{"none of them", []Report{report(tool.Stale, "ax"), report(tool.NoEffect, "dom")}, tool.Timeout, "dom"},
	} {
		if got := telling(c.reports, c.failure).Record.Message; got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
