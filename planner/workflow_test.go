package planner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"toolsvc/gen/toolsets"
	"toolsvc/store"
	"toolsvc/tool"
)

// world is Temporal's test environment with the run's workflow in it, and attempts that a test scripts.
type world struct {
	*testsuite.TestWorkflowEnvironment
	attempts  []AttemptInput
	reconcile []AttemptInput
	published []Publication
	told      *memory
	queue     string      // of the activity that is being played
	real      *Activities // those that only decide and write are the real ones
}

// newWorld plays each attempt by answer, and each reconciliation by observe.
func newWorld(t *testing.T, answer, observe func(AttemptInput) (Report, error)) *world {
	t.Helper()
	var s testsuite.WorkflowTestSuite
	w := &world{TestWorkflowEnvironment: s.NewTestWorkflowEnvironment(), told: &memory{}}
	real := &Activities{Registry: toolsets.Registry(), Events: w.told, Log: w.told, Artifacts: w.told}
	w.real = real
	w.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // a busy machine is no deadlock
	w.RegisterWorkflowWithOptions(Run, workflow.RegisterOptions{Name: WorkflowRun})
	for name, f := range map[string]any{
		activityAttempt:   (&Activities{}).Attempt,
		activityReconcile: (&Activities{}).Reconcile,
		activityPublish:   (&Activities{}).Publish,
		activityAsk:       real.Ask,
		activityClose:     real.CloseQuestion,
		activityCorrect:   real.Correct,
		activityPlan:      real.Plan,
		activityRelease:   real.Release,

		activityStageBegin: real.StageBegin,
		activityStageEnd:   real.StageEnd,
	} {
		w.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
	w.OnActivity(activityAttempt, mock.Anything, mock.Anything).Return(func(ctx context.Context, in AttemptInput) (Report, error) {
		w.queue = activity.GetInfo(ctx).TaskQueue
		w.attempts = append(w.attempts, in)
		return answer(in)
	})
	w.OnActivity(activityReconcile, mock.Anything, mock.Anything).Return(func(ctx context.Context, in AttemptInput) (Report, error) {
		w.queue = activity.GetInfo(ctx).TaskQueue
		w.reconcile = append(w.reconcile, in)
		return observe(in)
	}).Maybe()
	w.OnActivity(activityPublish, mock.Anything, mock.Anything).Return(func(_ context.Context, p Publication) (*tool.Result, error) {
		w.published = append(w.published, p)
		if p.Ended == nil {
			return nil, nil
		}
		res := Conclude(&tool.Spec{ID: p.Ended.Step.Tool}, *p.Ended)
		text, err := json.Marshal(res)
		if err != nil {
			return nil, err
		}
		_, err = w.told.AppendEvents(context.Background(), res.RunID, []store.Event{{Kind: store.KindToolResult, Key: key(res.CallID, 0, "result"), Data: text, At: time.Now()}})
		return res, err
	})
	return w
}

func script(steps ...Step) Input {
	return Input{RunID: "r_test", Kind: KindScript, Language: "en", Steps: steps}
}

func step(id string, class tool.EffectClass) Step {
	return Step{CallID: id, Tool: "browser.click", Title: "Click " + id, Class: class, Arguments: json.RawMessage(`{}`),
		Sources: []tool.Source{tool.SourceAX, tool.SourceCDP, tool.SourceVision}, TimeLimitMS: 1000}
}

func (in AttemptInput) record() tool.AttemptRecord {
	return tool.AttemptRecord{Number: in.Plan.Number, Source: in.Plan.Source, Input: in.Plan.Input, Phase: tool.PhaseSettled, Effect: tool.EffectConfirmed}
}

func verified(in AttemptInput) Report {
	return Report{Record: in.record(), Result: json.RawMessage(`{}`), Verification: &tool.Verification{Verdict: tool.VerdictSuccess, Confidence: 1, Threshold: 0.7,
		Evidence: tool.EvidenceRefs{Before: "sha256:b", After: "sha256:a"}}}
}

func notFound(in AttemptInput) Report {
	rec := in.record()
	rec.Phase, rec.Effect, rec.Failure, rec.Message = tool.PhaseStarted, tool.EffectNone, tool.TargetNotFound, "it is not there"
	return Report{Record: rec}
}

func (w *world) state(t *testing.T) State {
	t.Helper()
	var st State
	if err := w.GetWorkflowResult(&st); err != nil {
		t.Fatal(err)
	}
	return st
}

func TestRunTakesOneStepAfterTheOther(t *testing.T) {
	t.Parallel()
	open := 0
	w := newWorld(t, func(in AttemptInput) (Report, error) {
		if open++; open != 1 {
			t.Errorf("%d attempts at once", open)
		}
		defer func() { open-- }()
		return verified(in), nil
	}, nil)
	w.ExecuteWorkflow(Run, script(step("a", tool.Reversible), step("b", tool.Reversible), step("c", tool.Reversible)))
	st := w.state(t)
	if st.Outcome != OutcomeSucceeded || !st.Succeeded() {
		t.Errorf("outcome %s, steps %+v", st.Outcome, st.Steps)
	}
	var order []string
	for _, a := range w.attempts {
		order = append(order, a.Step.CallID)
	}
	if got := strings.Join(order, ""); got != "abc" { // one activity a healthy step, in the order of arrival
		t.Errorf("attempts were made in the order %s", got)
	}
}

func TestRunHealsByAnotherSource(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(in AttemptInput) (Report, error) {
		if in.Plan.Source != tool.SourceVision {
			return notFound(in), nil
		}
		return verified(in), nil
	}, nil)
	w.ExecuteWorkflow(Run, script(step("a", tool.Reversible)))
	res := w.state(t).Steps[0].Result
	if !res.OK() || len(res.Attempts) != 3 || res.Attempts[2].Source != tool.SourceVision {
		t.Errorf("result %+v", res)
	}
	retries := 0
	for _, p := range w.published {
		if p.Retry != nil {
			retries++
		}
	}
	if retries != 2 {
		t.Errorf("%d retries were narrated, want 2", retries)
	}
}

func TestRunStopsAtTheFirstFailedStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(in AttemptInput) (Report, error) { return notFound(in), nil }, nil)
	w.ExecuteWorkflow(Run, script(step("a", tool.Reversible), step("b", tool.Reversible)))
	st := w.state(t)
	if st.Outcome != OutcomeFailed || st.Steps[0].Status != StatusFailed || st.Steps[1].Status != StatusSkipped || len(w.attempts) != MaxAttempts {
		t.Errorf("outcome %s, steps %+v, %d attempts", st.Outcome, st.Steps, len(w.attempts))
	}
	if h := st.Steps[0].Result.RetryHint; h == nil || h.Reason() != tool.ReasonTargetNotFound {
		t.Errorf("hint %+v", h)
	}
}

func TestRunWithoutHealingMakesOneAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(in AttemptInput) (Report, error) { return notFound(in), nil }, nil)
	in := script(step("a", tool.Reversible))
	in.NoHealing = true
	w.ExecuteWorkflow(Run, in)
	if len(w.attempts) != 1 {
		t.Errorf("%d attempts", len(w.attempts))
	}
}

// A worker that dies is followed by a look at the world, and by another attempt only when that look proves that nothing happened.
func TestRunReconcilesALostWorker(t *testing.T) {
	t.Parallel()
	died := temporal.NewTimeoutError(3, errors.New("heartbeat")) // 3: heartbeat time-out
	unknown := func(in AttemptInput) Report {
		rec := in.record()
		rec.Phase, rec.Effect, rec.Failure, rec.Message = tool.PhaseDispatched, tool.EffectUnknown, tool.OutcomeUnknown, "nobody knows"
		return Report{Record: rec}
	}
	none := func(in AttemptInput) Report {
		rec := in.record()
		rec.Effect, rec.Failure, rec.Message = tool.EffectNone, tool.NoEffect, "nothing happened"
		return Report{Record: rec}
	}
	undispatched := func(in AttemptInput) Report {
		rec := in.record()
		rec.Phase, rec.Effect, rec.Failure, rec.Message = tool.PhaseStarted, tool.EffectNone, tool.WorkerLost, "lost"
		return Report{Record: rec}
	}
	for _, c := range []struct {
		name     string
		observe  func(AttemptInput) Report
		attempts int
		recorded int
		ok       bool
		reason   tool.Reason
	}{
		{"before the dispatch: nobody notices", undispatched, 2, 1, true, ""},
		{"after it, and it had its effect", verified, 1, 1, true, ""},
		{"after it, and nothing happened", none, 2, 2, true, ""},
		{"after it, and nobody knows", unknown, 1, 1, false, tool.ReasonOutcomeUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			made := 0
			w := newWorld(t, func(in AttemptInput) (Report, error) {
				if made++; made == 1 {
					return Report{}, died
				}
				return verified(in), nil
			}, func(in AttemptInput) (Report, error) { return c.observe(in), nil })
			w.ExecuteWorkflow(Run, script(step("a", tool.Reversible)))
			res := w.state(t).Steps[0].Result
			if made != c.attempts || len(w.reconcile) != 1 || res.OK() != c.ok || len(res.Attempts) != c.recorded {
				t.Errorf("%d attempts, %d reconciliations, result %+v", made, len(w.reconcile), res)
			}
			if !c.ok && res.RetryHint.Reason() != c.reason {
				t.Errorf("reason %s", res.RetryHint.Reason())
			}
		})
	}
}

// An attempt that ran out of time after its dispatch is followed by a look: what became of it decides, not that it took too long.
func TestRunLooksAfterATimeout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		failure  tool.Failure
		observe  func(AttemptInput) Report
		attempts int
		looks    int
		ok       bool
	}{
		{"it had its effect", tool.Timeout, verified, 1, 1, true},
		{"nobody knows", tool.Timeout, func(in AttemptInput) Report {
			rec := in.record()
			rec.Phase, rec.Effect, rec.Failure = tool.PhaseDispatched, tool.EffectUnknown, in.After
			return Report{Record: rec}
		}, 1, 1, false},
		{"it had none", tool.FrameGone, func(in AttemptInput) Report {
			rec := in.record()
			rec.Effect, rec.Failure, rec.Message = tool.EffectNone, tool.NoEffect, "nothing happened"
			return Report{Record: rec}
		}, 2, 1, true},
		{"a failure that says enough", tool.VerificationUncertain, verified, 1, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			made := 0
			w := newWorld(t, func(in AttemptInput) (Report, error) {
				if made++; made > 1 {
					return verified(in), nil
				}
				rec := in.record()
				rec.Phase, rec.Effect, rec.Failure, rec.Message = tool.PhaseDispatched, tool.EffectUnknown, c.failure, "it took too long"
				return Report{Record: rec}, nil
			}, func(in AttemptInput) (Report, error) { return c.observe(in), nil })
			w.ExecuteWorkflow(Run, script(step("a", tool.Reversible)))
			res := w.state(t).Steps[0].Result
			if made != c.attempts || len(w.reconcile) != c.looks || res.OK() != c.ok {
				t.Errorf("%d attempts, %d looks, %+v", made, len(w.reconcile), res)
			}
			if !c.ok && c.looks > 0 && res.Error.Code != c.failure {
				t.Errorf("it is told as %s", res.Error.Code)
			}
		})
	}
}

// A tool with one source is tried once more when its tab or browser died before anything was done in it.
func TestRunTriesADeadTabAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(in AttemptInput) (Report, error) {
		if in.Plan.Number == 2 {
			return verified(in), nil
		}
		rec := in.record()
		rec.Phase, rec.Effect, rec.Failure, rec.Message = tool.PhaseStarted, tool.EffectNone, tool.BrowserCrashed, "the browser ended"
		return Report{Record: rec}, nil
	}, nil)
	s := step("a", tool.Reversible)
	s.Sources = []tool.Source{tool.SourceSystem}
	w.ExecuteWorkflow(Run, script(s))
	if res := w.state(t).Steps[0].Result; !res.OK() || len(w.attempts) != 2 || w.attempts[1].Plan.Source != tool.SourceSystem {
		t.Errorf("%d attempts, %+v", len(w.attempts), res)
	}
}

func TestRunExpectsAFailure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		effect tool.Effect
		phase  tool.Phase
		f      tool.Failure
		want   Status
	}{
		{"as expected", tool.EffectNone, tool.PhaseStarted, tool.Disabled, StatusVerified},
		{"another failure", tool.EffectNone, tool.PhaseStarted, tool.Covered, StatusFailed},
		{"as expected, but something was done", tool.EffectConfirmed, tool.PhaseSettled, tool.Disabled, StatusFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(in AttemptInput) (Report, error) {
				rec := in.record()
				rec.Effect, rec.Phase, rec.Failure, rec.Message = c.effect, c.phase, c.f, "no"
				return Report{Record: rec}, nil
			}, nil)
			s := step("a", tool.Reversible)
			s.ExpectFailure = tool.Disabled
			w.ExecuteWorkflow(Run, script(s))
			if got := w.state(t).Steps[0].Status; got != c.want {
				t.Errorf("status %s, want %s", got, c.want)
			}
		})
	}
}

// updated collects what an update came to.
type updated struct {
	res      *tool.Result
	err      error
	rejected error
}

func (u *updated) Accept()          {}
func (u *updated) Reject(err error) { u.rejected = err }
func (u *updated) Complete(v any, err error) {
	u.err = err
	if r, ok := v.(*tool.Result); ok {
		u.res = r
	}
}

func TestRunQueuesCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(in AttemptInput) (Report, error) { return verified(in), nil }, nil)
	a, b, again := &updated{}, &updated{}, &updated{}
	w.RegisterDelayedCallback(func() {
		w.UpdateWorkflow(UpdateCall, "u1", a, step("a", tool.Reversible))
		w.UpdateWorkflow(UpdateCall, "u2", b, step("b", tool.Reversible))
		w.UpdateWorkflow(UpdateCall, "u3", again, step("a", tool.Reversible)) // the same call again
	}, time.Second)
	w.ExecuteWorkflow(Run, Input{RunID: "r_test", Kind: KindCaller, Language: "en", IdleMS: 60_000})
	st := w.state(t)
	if st.Outcome != OutcomeIdle || len(w.attempts) != 2 {
		t.Errorf("outcome %s, %d attempts", st.Outcome, len(w.attempts))
	}
	for name, u := range map[string]*updated{"a": a, "b": b, "a again": again} {
		if u.rejected != nil || u.err != nil || u.res == nil || !u.res.OK() {
			t.Errorf("update %s: %+v", name, u)
		}
	}
	if again.res != nil && again.res.CallID != "a" {
		t.Errorf("the repeated call got the result of %s", again.res.CallID)
	}
}

func TestRunRefusesTooManyCalls(t *testing.T) {
	t.Parallel()
	var last *updated
	w := newWorld(t, func(in AttemptInput) (Report, error) { return verified(in), nil }, nil)
	w.RegisterDelayedCallback(func() {
		for i := range MaxQueued + 2 {
			last = &updated{}
			w.UpdateWorkflow(UpdateCall, fmt.Sprint("u", i), last, step(fmt.Sprint("c", i), tool.Reversible))
		}
	}, 0)
	w.RegisterDelayedCallback(w.CancelWorkflow, time.Millisecond)
	w.ExecuteWorkflow(Run, Input{RunID: "r_test", Kind: KindCaller, Language: "en"})
	var app *temporal.ApplicationError
	if !errors.As(last.rejected, &app) || app.Type() != errRunFull {
		t.Errorf("the last call was answered with %v", last.rejected)
	}
}

func TestRunIsCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(in AttemptInput) (Report, error) { return verified(in), nil }, nil)
	w.RegisterDelayedCallback(w.CancelWorkflow, time.Second)
	w.ExecuteWorkflow(Run, Input{RunID: "r_test", Kind: KindCaller, Language: "en"})
	if err := w.GetWorkflowError(); !temporal.IsCanceledError(err) {
		t.Errorf("the workflow ended with %v", err)
	}
	if last := w.published[len(w.published)-1]; last.Finished != OutcomeCancelled {
		t.Errorf("the last publication is %+v", last)
	}
}

// A worker that was out of touch with Temporal, or stops, ends its attempt although nobody cancelled the run. As long as nothing was dispatched,
// that is an attempt that was lost, and not a call that was cancelled.
func TestNobodyCancelledTheRun(t *testing.T) {
	t.Parallel()
	made := 0
	w := newWorld(t, func(in AttemptInput) (Report, error) {
		if made++; made > 1 {
			return verified(in), nil
		}
		rec := in.record()
		rec.Phase, rec.Effect, rec.Failure, rec.Message = tool.PhaseResolved, tool.EffectNone, tool.Cancelled, "context canceled"
		return Report{Record: rec}, nil
	}, func(in AttemptInput) (Report, error) {
		rec := in.record()
		rec.Phase, rec.Effect, rec.Failure, rec.Message = tool.PhaseStarted, tool.EffectNone, tool.WorkerLost, "lost"
		return Report{Record: rec}, nil
	})
	w.ExecuteWorkflow(Run, script(step("a", tool.Reversible)))
	st := w.state(t)
	if !st.Succeeded() || len(w.attempts) != 2 || len(w.reconcile) != 1 || len(st.Steps[0].Result.Attempts) != 1 {
		t.Errorf("%+v; %d attempts, %d looks", st.Steps[0].Result, len(w.attempts), len(w.reconcile))
	}
}

// After a dispatch, what became of it is looked for, and a rollback makes the attempt void; neither is a call that was cancelled.
func TestNobodyCancelledTheRunAfterTheDispatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rolledBack               bool
		attempts, looks, records int
	}{"seen to have happened": {false, 1, 1, 1}, "taken back": {true, 2, 0, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := 0
			w := newWorld(t, func(in AttemptInput) (Report, error) {
				if made++; made > 1 {
					return verified(in), nil
				}
				rec := in.record()
				rec.Phase, rec.Effect, rec.Failure, rec.RolledBack = tool.PhaseDispatched, tool.EffectUnknown, tool.Cancelled, c.rolledBack
				return Report{Record: rec}, nil
			}, func(in AttemptInput) (Report, error) { return verified(in), nil })
			w.ExecuteWorkflow(Run, script(step("a", tool.Reversible)))
			st := w.state(t)
			if !st.Succeeded() || len(w.attempts) != c.attempts || len(w.reconcile) != c.looks || len(st.Steps[0].Result.Attempts) != c.records {
				t.Errorf("%+v; %d attempts, %d looks", st.Steps[0].Result, len(w.attempts), len(w.reconcile))
			}
		})
	}
}
