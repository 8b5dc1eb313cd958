package planner

import (
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"toolsvc/gemini/geminitest"
	"toolsvc/tool"
)

// rest is the input with which the run goes on in a new history.
func (w *world) rest(t *testing.T) (in Input) {
	t.Helper()
	var on *workflow.ContinueAsNewError
	if err := w.GetWorkflowError(); !errors.As(err, &on) {
		t.Fatalf("the run does not go on in a new history: %v", err)
	}
	if err := converter.GetDefaultDataConverter().FromPayloads(on.Input, &in); err != nil {
		t.Fatal(err)
	}
	return in
}

// A run with a goal is no success while the outcome of one of its calls is unknown, also when that call ended in an earlier history; and its pauses
// are counted through, because each has an event of its own.
func TestNewHistoryKnowsWhatIsUnknown(t *testing.T) {
	t.Parallel()
	two := geminitest.Turn{Reply: geminitest.Calls(clicks("Pay"), clicks("Menu"))}
	done := geminitest.Turn{If: geminitest.Answers("browser_click"), Reply: geminitest.Text("It is paid.")}
	var w *world
	w, _ = goal(t, func(in AttemptInput) (Report, error) {
		w.SetContinueAsNewSuggested(true)
		rec := in.record()
		rec.Phase, rec.Effect, rec.Failure, rec.Message = tool.PhaseDispatched, tool.EffectUnknown, tool.OutcomeUnknown, "nobody knows"
		return Report{Record: rec}, nil
	}, two)
	w.RegisterDelayedCallback(func() {
		w.UpdateWorkflow(UpdateControl, "", completed(func() {}), true)
		w.UpdateWorkflow(UpdateControl, "", completed(func() {}), false)
	}, 0)
	w.ExecuteWorkflow(Run, reach(tool.Policy{}))
	in := w.rest(t)
	if len(in.Carried.Steps) != 1 || in.Carried.Steps[0].Result != nil || in.Carried.Steps[0].Kept == nil || len(in.Steps) != 1 || in.Carried.Controls != 2 {
		t.Fatalf("%+v is carried, with %d calls, after %d controls", in.Carried.Steps, len(in.Steps), in.Carried.Controls)
	}
	next, _ := goal(t, always, done)
	next.told, next.real.Events, next.real.Log, next.real.Artifacts = w.told, w.told, w.told, w.told
	next.RegisterDelayedCallback(func() {
		next.UpdateWorkflow(UpdateControl, "", completed(func() {}), true)
		next.UpdateWorkflow(UpdateControl, "", completed(func() {}), false)
	}, 0)
	next.ExecuteWorkflow(Run, in)
	st := next.state(t)
	if st.Planning.Answer != "It is paid." || st.Steps[1].Status != StatusVerified || st.Outcome != OutcomeFailed {
		t.Errorf("%s, with the answer %q, %+v", st.Outcome, st.Planning.Answer, st.Steps)
	}
	for _, p := range next.published {
		if p.Control > 0 && p.Control <= 2 {
			t.Errorf("the event of control %d is written a second time", p.Control)
		}
	}
}

// A run that waits for calls goes on in a new history while it rests: every call that has come holds its handler until it has ended, so that there is
// no other moment, and a history has a bound beyond which Temporal ends the run.
func TestCallersRunGoesOnInANewHistoryAtRest(t *testing.T) {
	t.Parallel()
	var w *world
	w = newWorld(t, func(in AttemptInput) (Report, error) {
		w.SetContinueAsNewSuggested(in.Step.CallID == "b")
		return verified(in), nil
	}, nil)
	a, b, c := &updated{}, &updated{}, &updated{}
	w.RegisterDelayedCallback(func() { w.UpdateWorkflow(UpdateCall, "u1", a, step("a", tool.Reversible)) }, time.Second)
	w.RegisterDelayedCallback(func() { w.UpdateWorkflow(UpdateCall, "u2", b, step("b", tool.Reversible)) }, 2*time.Second)
	in := Input{RunID: "r_test", Kind: KindCaller, Language: "en", IdleMS: 60_000}
	w.ExecuteWorkflow(Run, in)
	rest := w.rest(t)
	if len(rest.Carried.Steps) != 2 || rest.Carried.Steps[1].Kept == nil || len(rest.Steps) != 0 {
		t.Fatalf("%+v is carried, with %d calls", rest.Carried.Steps, len(rest.Steps))
	}
	for name, u := range map[string]*updated{"a": a, "b": b} {
		if u.err != nil || u.res == nil || !u.res.OK() {
			t.Errorf("the caller of %s is left without its result: %+v", name, u)
		}
	}
	next := newWorld(t, always, nil)
	next.RegisterDelayedCallback(func() { next.UpdateWorkflow(UpdateCall, "u3", c, step("c", tool.Reversible)) }, time.Second)
	next.ExecuteWorkflow(Run, rest)
	if st := next.state(t); st.Outcome != OutcomeIdle || len(st.Steps) != 3 || len(next.attempts) != 1 || next.attempts[0].Number != 3 || c.res == nil || !c.res.OK() {
		t.Errorf("%s, %+v, %+v", st.Outcome, st.Steps, c)
	}
}

// What a person or a model has corrected is not asked for again.
func TestNewHistoryKeepsCorrections(t *testing.T) {
	t.Parallel()
	draft := Step{CallID: "b", Tool: "browser.click", Draft: &Draft{}}
	fixed := step("b", tool.Reversible)
	r := &run{in: script(step("a", tool.Reversible), draft), pending: []Step{draft, {CallID: "c", Draft: &Draft{}}, {CallID: "d", Draft: &Draft{}}},
		drafts: map[string]*prepared{"b": {step: fixed}, "c": {no: &refusal{tool.QuestionExpired, "nobody answered"}}}}
	in := r.rest()
	if len(in.Steps) != 3 || in.Steps[0].Draft != nil || in.Steps[0].Title != fixed.Title || in.Steps[1].Draft == nil || in.Steps[2].Draft == nil {
		t.Errorf("%+v", in.Steps)
	}
	if r.pending[0].Draft == nil {
		t.Error("the run's own queue was changed")
	}
}

// What is kept of a result is enough for the decisions that look back.
func TestKept(t *testing.T) {
	t.Parallel()
	failed := StepState{Tool: "a.b", Status: StatusFailed, Result: &tool.Result{Tool: "a.b", Error: tool.NewError(tool.RateLimited, "later"),
		RetryHint: tool.HintWait("a.b", tool.ReasonRateLimited, "later", 7*time.Second), Attempts: []tool.AttemptRecord{{Source: tool.SourceAX}, {Source: tool.SourceCDP}}}}
	small := failed.withoutResult()
	if a, b := failed.kept(), small.kept(); *a != *b || a.Failure != tool.RateLimited || a.RetryAfterMS != 7000 || a.Attempts != 2 || a.Source != tool.SourceCDP {
		t.Errorf("%+v, and then %+v", a, b)
	}
	again := small.withoutResult()
	if *again.Kept != *small.Kept {
		t.Errorf("in a third history: %+v", again.Kept)
	}
	if a, b := (StageOutcome{}).came([]StepState{failed}), (StageOutcome{}).came([]StepState{small}); a.Cause.Error() != b.Cause.Error() || a.RetryAfterMS != b.RetryAfterMS {
		t.Errorf("%+v, and then %+v", a, b)
	}
	if a, b := (&State{Steps: []StepState{failed}}).Rows()[0], (&State{Steps: []StepState{small}}).Rows()[0]; a.Verdict != b.Verdict || a.Failure != b.Failure || a.Attempts != b.Attempts {
		t.Errorf("%+v, and then %+v", a, b)
	}
	for status, want := range map[Status]tool.Effect{StatusVerified: tool.EffectConfirmed, StatusFailed: tool.EffectUnknown} { // of an older version
		if st := (StepState{Status: status}); st.kept().Left != want {
			t.Errorf("%s: %+v", status, st.kept())
		}
	}
	for _, status := range []Status{StatusQueued, StatusSkipped, StatusRunning} {
		if st := (StepState{Status: status}); st.kept() != nil {
			t.Errorf("%s: %+v", status, st.kept())
		}
	}
}
