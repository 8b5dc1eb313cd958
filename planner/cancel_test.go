package planner

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"toolsvc/tool"
)

// cancelled is an attempt that was told to end at the given point.
func cancelledAt(in AttemptInput, phase tool.Phase, effect tool.Effect) Report {
	rec := in.record()
	rec.Phase, rec.Effect, rec.Failure, rec.Message = phase, effect, tool.Cancelled, "the call was cancelled"
	return Report{Record: rec}
}

// completed is told when an update has been carried out.
type completed func()

func (completed) Accept()               {}
func (completed) Reject(err error)      { panic(err) }
func (c completed) Complete(any, error) { c() }

// One call of a run is cancelled (Temporal's test environment drops what an activity answers then, so that the world is always looked at): while it waits, and while it is made, before and after its dispatch. The run and its other calls go on.
func TestCancelCall(t *testing.T) {
	t.Parallel()
	dispatched := func(in AttemptInput) (Report, error) {
		return cancelledAt(in, tool.PhaseDispatched, tool.EffectUnknown), nil
	}
	for _, c := range []struct {
		name   string
		cancel string // which of the calls a, b and c
		ends   func(AttemptInput) (Report, error)
		seen   func(AttemptInput) (Report, error)
		looks  int
		code   tool.Failure // of the cancelled call, "" when it is verified
		reason tool.Reason
		effect tool.Effect
	}{
		{name: "in the queue", cancel: "c", ends: func(in AttemptInput) (Report, error) { return verified(in), nil }, code: tool.Cancelled, reason: tool.ReasonCancelled},
		{name: "before the dispatch", cancel: "b", ends: dispatched, seen: func(in AttemptInput) (Report, error) {
			return cancelledAt(in, tool.PhaseResolved, tool.EffectNone), nil
		}, looks: 1, code: tool.Cancelled, reason: tool.ReasonCancelled, effect: tool.EffectNone},
		{name: "after the dispatch, taken back", cancel: "b", ends: dispatched, seen: func(in AttemptInput) (Report, error) {
			rep := cancelledAt(in, tool.PhaseDispatched, tool.EffectUnknown)
			rep.Record.RolledBack = true
			return rep, nil
		}, looks: 1, code: tool.Cancelled, reason: tool.ReasonCancelled, effect: tool.EffectUnknown},
		{name: "after the dispatch, seen to be done", cancel: "b", ends: dispatched, seen: func(in AttemptInput) (Report, error) { return verified(in), nil },
			looks: 1, effect: tool.EffectConfirmed},
		{name: "after the dispatch, nobody knows", cancel: "b", ends: dispatched, seen: dispatched, looks: 1, code: tool.Cancelled, reason: tool.ReasonOutcomeUnknown, effect: tool.EffectUnknown},
		{name: "after the dispatch, nothing to see", cancel: "b", ends: dispatched,
			seen: func(AttemptInput) (Report, error) {
				return Report{}, temporal.NewNonRetryableApplicationError("blind", "Blind", nil)
			},
			looks: 1, code: tool.Cancelled, reason: tool.ReasonOutcomeUnknown, effect: tool.EffectUnknown},
		{name: "the worker was lost with it", cancel: "b", ends: func(AttemptInput) (Report, error) { return Report{}, temporal.NewTimeoutError(3, nil) },
			seen: func(in AttemptInput) (Report, error) {
				rec := in.record()
				rec.Phase, rec.Effect, rec.Failure = tool.PhaseStarted, tool.EffectNone, tool.WorkerLost
				return Report{Record: rec}, nil
			}, looks: 1, code: tool.Cancelled, reason: tool.ReasonCancelled, effect: tool.EffectNone},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var begun atomic.Bool // the second call is being made
			told := make(chan struct{})
			w := newWorld(t, func(in AttemptInput) (Report, error) {
				if in.Step.CallID == "b" {
					begun.Store(true)
					<-told
				}
				if in.Step.CallID == c.cancel {
					return c.ends(in)
				}
				return verified(in), nil
			}, func(in AttemptInput) (Report, error) { return c.seen(in) })
			results := map[string]*updated{}
			for i, id := range []string{"a", "b", "c"} {
				u := &updated{}
				results[id] = u
				w.RegisterDelayedCallback(func() { w.UpdateWorkflow(UpdateCall, id, u, step(id, tool.Reversible)) }, time.Duration(i+1)*time.Millisecond)
			}
			var cancel func()
			cancel = func() {
				if !begun.Load() {
					w.RegisterDelayedCallback(cancel, time.Millisecond)
					return
				}
				w.UpdateWorkflow(UpdateCancel, "cancel", completed(func() { close(told) }), c.cancel)
			}
			w.RegisterDelayedCallback(cancel, 5*time.Millisecond)
			w.RegisterDelayedCallback(func() { w.UpdateWorkflow(UpdateCancel, "again", &updated{}, c.cancel) }, time.Minute)
			w.ExecuteWorkflow(Run, Input{RunID: "r_test", Kind: KindCaller, Language: "en"})
			st := w.state(t)
			if st.Outcome != OutcomeIdle || len(st.Steps) != 3 {
				t.Fatalf("outcome %s, %d steps", st.Outcome, len(st.Steps))
			}
			for _, s := range st.Steps {
				if s.CallID != c.cancel && (s.Status != StatusVerified || !s.Result.OK()) {
					t.Errorf("call %s: %s, %+v", s.CallID, s.Status, s.Result)
				}
				if s.CallID != c.cancel {
					continue
				}
				if c.code == "" {
					if !s.Result.OK() {
						t.Errorf("result %+v", s.Result)
					}
					continue
				}
				if s.Result == nil || s.Result.Error == nil || s.Result.Error.Code != c.code || s.Result.RetryHint.Reason() != c.reason {
					t.Fatalf("result %+v, hint %+v", s.Result, s.Result.RetryHint)
				}
				if got := len(s.Result.Attempts); c.effect == "" && got != 0 || c.effect != "" && (got != 1 || s.Result.Attempts[0].Effect != c.effect) {
					t.Errorf("attempts %+v", s.Result.Attempts)
				}
			}
			if len(w.reconcile) != c.looks {
				t.Errorf("the world was looked at %d times, want %d", len(w.reconcile), c.looks)
			}
			for id, u := range results {
				if u.res == nil || u.res.CallID != id {
					t.Errorf("whoever made call %s got %v", id, fmt.Sprint(u.res, u.err))
				}
			}
			if len(st.Past) != 2 && c.code != "" {
				t.Errorf("the loop guard remembers %d calls; a cancelled one does not count", len(st.Past))
			}
		})
	}
}

// A question about a call that is cancelled is closed, and whoever waits for the call gets its result.
func TestCancelCallThatWaits(t *testing.T) {
	t.Parallel()
	w, _ := asking(t, func(in AttemptInput) (Report, error) { return verified(in), nil }, nil)
	first, second := &updated{}, &updated{}
	s := step("a", tool.Irreversible)
	s.Confirm = "May it be done?"
	w.RegisterDelayedCallback(func() { w.UpdateWorkflow(UpdateCall, "a", first, s) }, time.Millisecond)
	w.RegisterDelayedCallback(func() { w.UpdateWorkflow(UpdateCall, "b", second, step("b", tool.Reversible)) }, 2*time.Millisecond)
	w.RegisterDelayedCallback(func() { w.UpdateWorkflow(UpdateCancel, "cancel", &updated{}, "a") }, time.Second)
	w.ExecuteWorkflow(Run, Input{RunID: "r_test", Kind: KindCaller, Language: "en"})
	st := w.state(t)
	if len(st.Questions) != 0 || st.Steps[0].Result == nil || st.Steps[0].Result.Error.Code != tool.Cancelled || st.Steps[1].Status != StatusVerified {
		t.Errorf("questions %v, steps %+v", st.Questions, st.Steps)
	}
	if len(w.attempts) != 1 || w.attempts[0].Step.CallID != "b" {
		t.Errorf("attempts %+v", w.attempts)
	}
}
