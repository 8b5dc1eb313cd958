package planner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"toolsvc/store"
	"toolsvc/tool"
)

// routed is a world of several workers: it plays attempts and reconciliations by the task queue that they are sent to.
type routed struct {
	*world
	sent     []string // task queue and call of each, in order
	released []string
}

func newRouted(t *testing.T, play func(queue, name string, in AttemptInput) (Report, error)) *routed {
	t.Helper()
	r := &routed{}
	as := func(name string) func(AttemptInput) (Report, error) {
		return func(in AttemptInput) (Report, error) {
			queue, own := strings.CutPrefix(r.queue, TaskQueue+"/")
			if !own {
				queue = "any"
			}
			r.sent = append(r.sent, fmt.Sprintf("%s %s by %s", strings.ToLower(name), in.Step.CallID, queue))
			return play(queue, name, in)
		}
	}
	r.world = newWorld(t, as(activityAttempt), as(activityReconcile))
	r.OnActivity(activityRelease, mock.Anything, mock.Anything).Return(func(ctx context.Context, runID string) error {
		r.released = append(r.released, strings.TrimPrefix(activity.GetInfo(ctx).TaskQueue, TaskQueue+"/"))
		return nil
	}).Maybe()
	return r
}

func (r *routed) check(t *testing.T, want ...string) {
	t.Helper()
	if got := strings.Join(r.sent, ", "); got != strings.Join(want, ", ") {
		t.Errorf("sent:\n%s\nwant:\n%s", got, strings.Join(want, ", "))
	}
}

func by(worker string, rep Report) Report {
	rep.Worker = worker
	return rep
}

var nobodyThere = temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)

// A run stays with the worker that made its first attempt, and that worker is told when the run has ended.
func TestRunStaysWithItsWorker(t *testing.T) {
	t.Parallel()
	r := newRouted(t, func(_, _ string, in AttemptInput) (Report, error) { return by("w1", verified(in)), nil })
	r.ExecuteWorkflow(Run, script(step("a", tool.Reversible), step("b", tool.Reversible), step("c", tool.ReadOnly)))
	if st := r.state(t); !st.Succeeded() || st.Worker != "w1" {
		t.Errorf("outcome %s, worker %q", st.Outcome, st.Worker)
	}
	r.check(t, "attempt a by any", "attempt b by w1", "attempt c by w1")
	if strings.Join(r.released, " ") != "w1" {
		t.Errorf("released by %v", r.released)
	}
}

// One worker that serves all runs costs nothing: no other task queue, no activity at the end.
func TestOneWorkerIsNotRouted(t *testing.T) {
	t.Parallel()
	r := newRouted(t, func(_, _ string, in AttemptInput) (Report, error) { return verified(in), nil })
	r.ExecuteWorkflow(Run, script(step("a", tool.Reversible), step("b", tool.Reversible)))
	if st := r.state(t); !st.Succeeded() {
		t.Errorf("outcome %s", st.Outcome)
	}
	r.check(t, "attempt a by any", "attempt b by any")
	if len(r.released) != 0 {
		t.Errorf("released by %v", r.released)
	}
}

// When nobody is at the run's worker any more, nothing was started there: the step is made by another one, which is told, and the run stays there.
func TestRunMovesWhenItsWorkerIsGone(t *testing.T) {
	t.Parallel()
	var told string
	r := newRouted(t, func(queue, _ string, in AttemptInput) (Report, error) {
		switch {
		case in.Step.CallID == "a":
			return by("w1", verified(in)), nil
		case queue == "w1":
			return Report{}, nobodyThere
		case in.Step.CallID == "b":
			told = in.Lost
		}
		return by("w2", verified(in)), nil
	})
	r.ExecuteWorkflow(Run, script(step("a", tool.Reversible), step("b", tool.Irreversible), step("c", tool.ReadOnly)))
	if st := r.state(t); !st.Succeeded() || st.Worker != "w2" {
		t.Errorf("outcome %s, worker %q", st.Outcome, st.Worker)
	}
	r.check(t, "attempt a by any", "attempt b by w1", "attempt b by any", "attempt c by w2")
	if told != "w1" {
		t.Errorf("the other worker was told that %q is lost", told)
	}
}

// A worker that dies in an attempt is the one to look what became of it; when it does not come back, another one looks, knows whose
// attempt it was, and the step is not made again.
func TestLostAttemptIsLookedForAtItsWorker(t *testing.T) {
	t.Parallel()
	for _, back := range []bool{true, false} {
		t.Run(fmt.Sprint("it comes back: ", back), func(t *testing.T) {
			t.Parallel()
			r := newRouted(t, func(queue, name string, in AttemptInput) (Report, error) {
				switch {
				case name == activityAttempt:
					return Report{}, temporal.NewHeartbeatTimeoutError("w1")
				case in.Worker != "w1":
					return Report{}, fmt.Errorf("the attempt is said to be that of %q", in.Worker)
				case queue == "w1" && !back:
					return Report{}, nobodyThere
				case back:
					return by("w1", verified(in)), nil
				}
				rec := in.record()
				rec.Phase, rec.Effect, rec.Failure = tool.PhaseDispatched, tool.EffectUnknown, tool.OutcomeUnknown
				return by("w2", Report{Record: rec}), nil
			})
			r.ExecuteWorkflow(Run, script(step("a", tool.Irreversible)))
			res := r.state(t).Steps[0].Result
			if back {
				r.check(t, "attempt a by any", "reconcile a by w1")
				if !res.OK() {
					t.Errorf("result %+v", res)
				}
				return
			}
			r.check(t, "attempt a by any", "reconcile a by w1", "reconcile a by any")
			if res.Error == nil || res.Error.Code != tool.OutcomeUnknown {
				t.Errorf("result %+v", res)
			}
		})
	}
}

// A worker that had no room is not the run's worker: the next attempt may go to another one.
func TestBusyWorkerDoesNotKeepTheRun(t *testing.T) {
	t.Parallel()
	n := 0
	r := newRouted(t, func(_, _ string, in AttemptInput) (Report, error) {
		if n++; n == 1 {
			rec := in.record()
			rec.Phase, rec.Effect, rec.Failure = tool.PhaseStarted, tool.EffectNone, tool.RateLimited
			return by("w1", Report{Record: rec, RetryAfterMS: 1000}), nil
		}
		return by("w2", verified(in)), nil
	})
	r.ExecuteWorkflow(Run, script(step("a", tool.Reversible), step("b", tool.Reversible)))
	if st := r.state(t); !st.Succeeded() {
		t.Errorf("outcome %s: %+v", st.Outcome, st.Steps[0].Result)
	}
	r.check(t, "attempt a by any", "attempt a by any", "attempt b by w2")
}

// marked is a journal in which every attempt is marked.
type marked struct{}

func (marked) MarkDispatch(context.Context, store.Mark) error { return nil }
func (marked) Dispatch(context.Context, string, int) (store.Mark, bool, error) {
	return store.Mark{Evidence: []byte(`{}`)}, true, nil
}

// neverAsked is an executor that must not be asked.
type neverAsked struct{ t *testing.T }

func (n neverAsked) Applies(*tool.Call, tool.Source) bool { return true }
func (n neverAsked) Begin(context.Context, *tool.Call, tool.Plan) (tool.Attempt, error) {
	n.t.Error("an attempt was begun")
	return nil, errors.New("no")
}
func (n neverAsked) Reconcile(context.Context, *tool.Call, *tool.Evidence) (tool.Attempt, tool.Outcome, error) {
	n.t.Error("a worker looked at its own world for what became of another one's attempt")
	return nil, tool.Outcome{Effect: tool.EffectConfirmed}, errors.New("no")
}

// What a worker sees in its own tabs tells nothing of another worker's attempt; it does not even look.
func TestReconcileElsewhereKnowsNothing(t *testing.T) {
	t.Parallel()
	at := &attempter{journal: marked{}}
	for worker, want := range map[string]string{"w1": "the worker w1", "": "not known which worker"} {
		in := AttemptInput{Step: step("a", tool.Irreversible), Worker: worker, Plan: tool.Plan{Number: 1}}
		why := (&Activities{Worker: "w2"}).elsewhere(in)
		rep := at.reconcile(t.Context(), neverAsked{t}, &tool.Call{ID: "a", Spec: &tool.Spec{TimeLimit: time.Second}}, nil, in, why)
		if rep.Record.Failure != tool.OutcomeUnknown || rep.Record.Effect != tool.EffectUnknown || !strings.Contains(rep.Record.Message, want) {
			t.Errorf("by %q: %+v", worker, rep.Record)
		}
	}
	for name, a := range map[string]*Activities{
		"the same worker":   {Worker: "w1"},
		"the only worker":   {},
		"a toolset for all": {Worker: "w2", Shared: map[string]bool{"browser": true}},
	} {
		if why := a.elsewhere(AttemptInput{Step: step("a", tool.Irreversible), Worker: "w1"}); why != "" {
			t.Errorf("%s: %s", name, why)
		}
	}
}
