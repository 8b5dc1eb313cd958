package planner

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"toolsvc/tool"
)

// Names of the activities.
const (
	activityAttempt   = "Attempt"
	activityReconcile = "Reconcile"
	activityPublish   = "Publish"
)

// heartbeatTimeout is how soon a lost worker is noticed; an attempt reports itself alive four times as often.
const heartbeatTimeout = 8 * time.Second

// run is the state of one run while its workflow executes.
type run struct {
	in       Input
	state    State
	pending  []Step               // not yet begun, in the order of arrival
	arrived  map[string]time.Time // when each pending call was accepted
	index    map[string]int       // of each call in state.Steps
	ends     map[string]end       // what a caller waits for
	current  *narrow              // what the step in hand is doing, for the UI
	inHand   string               // the call of the step in hand
	replies  map[string]*Reply    // accepted, by question
	drafts   map[string]*prepared // of calls that did not validate when they came
	question *PlannedQuestion     // of the planner, to be asked after the calls of its turn
	noModel  bool                 // there is none to correct payloads
	closed   bool
	lost     string // the worker that had the run's tab, and is gone

	cancelled  map[string]bool                // calls that were cancelled while they were made
	cancelHand workflow.CancelFunc            // ends the step in hand
	drafting   map[string]workflow.CancelFunc // ends the correction of a draft
}

// prepared is what the correction of a draft came to.
type prepared struct {
	step Step
	no   *refusal
	err  error
}

// end is settled when a call has ended, or will never be made.
type end struct {
	future workflow.Future
	settle workflow.Settable
}

// narrow is the step in hand.
type narrow struct {
	step   Step
	number int
	plan   tool.Plan
}

// Run is the workflow of a run. It takes one step at a time from its queue; a script's steps are in its input, a caller's arrive by
// the update [UpdateCall], which returns the step's Result.
func Run(ctx workflow.Context, in Input) (*State, error) {
	r := &run{in: in, arrived: map[string]time.Time{}, index: map[string]int{}, ends: map[string]end{}, replies: map[string]*Reply{}, drafts: map[string]*prepared{},
		cancelled: map[string]bool{}, drafting: map[string]workflow.CancelFunc{},
		state: State{RunID: in.RunID, Title: in.Title, Language: in.Language, Kind: in.Kind, Outcome: OutcomeRunning, Policy: in.Policy, Goal: in.Goal, Began: workflow.Now(ctx), Worker: in.Worker}}
	if in.Kind == KindGemini {
		r.state.Planning = &Planning{Conversation: in.Conversation}
	}
	if in.Carried != nil {
		r.state = *in.Carried
		for i, st := range r.state.Steps {
			r.index[st.CallID] = i
		}
	}
	for _, s := range in.Steps {
		r.enqueue(ctx, s)
	}
	if err := r.handle(ctx); err != nil {
		return nil, err
	}
	r.listen(ctx)
	err := r.work(ctx)
	if workflow.IsContinueAsNewError(err) {
		return nil, err
	}
	r.closed = true
	for _, st := range r.state.Steps {
		r.settle(st.CallID)
	}
	r.finish(ctx, err)
	if werr := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); werr != nil && err == nil {
		err = werr
	}
	if err != nil {
		return nil, err
	}
	return &r.state, nil
}

// handle sets up how the run is reached from outside.
func (r *run) handle(ctx workflow.Context) error {
	query := func(name string, h any) error { return workflow.SetQueryHandler(ctx, name, h) }
	update := func(name, description string, h, validator any) error {
		return workflow.SetUpdateHandlerWithOptions(ctx, name, h, workflow.UpdateHandlerOptions{Description: description, Validator: validator})
	}
	return errors.Join(
		query(QueryState, func() (State, error) { return r.state, nil }),
		query(QueryStep, r.stepOf),
		update(UpdateCall, "Append a call to the queue; answers with its result when it has ended, or with the question that it waits for.", r.call, r.admit),
		update(UpdateAnswer, "Answer a question; answers with what the call comes to.", r.answer, r.admitAnswer),
		update(UpdateCancel, "End one call, and leave the run and its other calls as they are.", r.cancelCall, r.admitCancel),
		update(UpdateControl, "Pause the run between two steps, or let it go on.", r.control, r.admitControl),
	)
}

// stepOf returns a call that has not ended, as it is.
func (r *run) stepOf(callID string) (Step, error) {
	for _, s := range r.pending {
		if s.CallID == callID {
			return s, nil
		}
	}
	if r.current != nil && r.current.step.CallID == callID {
		return r.current.step, nil
	}
	return Step{}, fmt.Errorf("call %s is not waiting in this run", callID)
}

// admit refuses a call before anything of it enters the history.
func (r *run) admit(ctx workflow.Context, s Step) error {
	switch {
	case r.find(s.CallID) != nil: // asked again: the answer is the first one's
		return nil
	case s.Tool == "":
		return temporal.NewApplicationError("the run has no such call", errUnknownCall)
	case r.closed:
		return temporal.NewApplicationError("the run has ended; start another one", errRunEnded)
	case len(r.pending) >= MaxQueued:
		return temporal.NewApplicationError(fmt.Sprintf("%d calls are waiting in this run already; wait for some to end", len(r.pending)), errRunFull)
	}
	return nil
}

// call appends a call and waits for what it comes to. The same call sent again waits for the same.
func (r *run) call(ctx workflow.Context, s Step) (*tool.Result, error) {
	if r.find(s.CallID) == nil {
		r.enqueue(ctx, s)
	}
	return r.outcome(ctx, s.CallID)
}

// outcome waits until the call has ended, or waits for an answer.
func (r *run) outcome(ctx workflow.Context, callID string) (*tool.Result, error) {
	for {
		if e, waiting := r.ends[callID]; waiting {
			if err := e.future.Get(ctx, nil); err != nil {
				return nil, err
			}
		}
		st := r.find(callID)
		if st.Result != nil {
			return st.Result, nil
		}
		for _, q := range r.state.Questions {
			if q.CallID == callID {
				return &tool.Result{CallID: callID, RunID: r.in.RunID, Tool: st.Tool, Status: tool.StatusNeedsInput, Question: &q,
					RunLink: &tool.RunLink{WorkflowID: r.in.RunID}}, nil
			}
		}
		if r.closed || st.Status.Ended() {
			return nil, temporal.NewApplicationError("the run ended before the call was made", errRunEnded)
		}
		r.expectEnd(ctx, callID)
	}
}

// control is what UpdateControl does: pause or resume.
func (r *run) control(ctx workflow.Context, paused bool) error {
	if r.state.Paused == paused {
		return nil
	}
	r.state.Paused = paused
	r.state.Controls++
	_, err := r.publish(ctx, Publication{Control: r.state.Controls, Paused: paused})
	return err
}

func (r *run) admitControl(_ workflow.Context, _ bool) error {
	if r.closed {
		return temporal.NewApplicationError("the run has ended", errRunEnded)
	}
	return nil
}

// worked is how long the run has worked, waiting for people excepted.
func (r *run) worked(ctx workflow.Context) time.Duration {
	return workflow.Now(ctx).Sub(r.state.Began) - time.Duration(r.state.WithPeopleMS)*time.Millisecond
}

func (r *run) enqueue(ctx workflow.Context, s Step) {
	r.pending = append(r.pending, s)
	r.arrived[s.CallID] = workflow.Now(ctx)
	r.expectEnd(ctx, s.CallID)
	r.index[s.CallID] = len(r.state.Steps)
	r.state.Steps = append(r.state.Steps, StepState{CallID: s.CallID, Tool: s.Tool, Title: s.Title, Status: StatusQueued, Expects: s.ExpectFailure, Class: s.Class})
	if s.Draft == nil {
		return
	}
	number := len(r.state.Steps)
	workflow.Go(ctx, func(ctx workflow.Context) { // what is missing is asked for at once, while the calls before it go on
		p := &prepared{}
		ctx, r.drafting[s.CallID] = workflow.WithCancel(ctx)
		p.step, p.no, p.err = r.corrected(ctx, s, number)
		delete(r.drafting, s.CallID)
		r.drafts[s.CallID] = p
	})
}

// expectEnd readies what the callers of the step wait for.
func (r *run) expectEnd(ctx workflow.Context, callID string) {
	if _, ok := r.ends[callID]; !ok {
		f, settle := workflow.NewFuture(ctx)
		r.ends[callID] = end{f, settle}
	}
}

func (r *run) find(callID string) *StepState {
	i, ok := r.index[callID]
	if !ok {
		return nil
	}
	return &r.state.Steps[i]
}

// settle lets those who wait for the call go on.
func (r *run) settle(callID string) {
	if e, ok := r.ends[callID]; ok {
		e.settle.SetValue(nil)
		delete(r.ends, callID)
	}
}

// work takes the steps one by one until the run is over.
func (r *run) work(ctx workflow.Context) error {
	if r.in.Carried == nil {
		r.publish(ctx, Publication{Began: true}) //nolint:errcheck // narration; what matters is published with the steps
	}
	idle := time.Duration(r.in.IdleMS) * time.Millisecond
	if idle <= 0 {
		idle = DefaultIdle
	}
	for {
		if len(r.pending) == 0 && r.question != nil {
			if err := r.askForPlanner(ctx); err != nil {
				return err
			}
			continue
		}
		if len(r.pending) == 0 && r.in.Kind == KindGemini && !r.suggested(ctx) {
			if done, err := r.plan(ctx); done || err != nil {
				return err
			}
			continue
		}
		if len(r.pending) == 0 && r.in.Kind != KindGemini {
			if r.in.Kind == KindScript || r.in.Kind == KindPipeline || r.in.Single && len(r.state.Steps) > 0 {
				return nil
			}
			if on, err := r.restsInLongHistory(ctx); err != nil {
				return err
			} else if on {
				return r.goOnInNewHistory(ctx)
			}
			came, err := workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{Timeout: idle, TimerOptions: workflow.TimerOptions{Summary: "wait for the next call"}},
				func() bool { return len(r.pending) > 0 })
			if err != nil {
				return err
			}
			if !came {
				r.state.Outcome = OutcomeIdle
				return nil
			}
		}
		if r.suggested(ctx) {
			return r.goOnInNewHistory(ctx)
		}
		if r.state.Paused {
			if err := workflow.Await(ctx, func() bool { return !r.state.Paused }); err != nil {
				return err
			}
		}
		s := r.pending[0]
		r.pending = r.pending[1:]
		ok, err := r.step(ctx, s)
		if err != nil {
			return err
		}
		if r.state.Planning != nil {
			r.escalate(r.find(s.CallID).Result)
		}
		if !ok && (r.in.Kind == KindScript || r.in.Kind == KindPipeline) {
			for _, rest := range r.pending {
				r.find(rest.CallID).Status = StatusSkipped
				r.settle(rest.CallID)
			}
			r.pending = nil
			return nil
		}
	}
}

// step makes one call: it is readied, attempted until the healing decision ends it, and concluded.
func (r *run) step(ctx workflow.Context, s Step) (ok bool, err error) {
	outer := ctx
	ctx, r.cancelHand = workflow.WithCancel(ctx)
	r.inHand = s.CallID
	r.find(s.CallID).Status = StatusRunning
	number := 1 + r.index[s.CallID]
	began := workflow.Now(ctx)
	c := Conclusion{RunID: r.in.RunID, Step: s, Queued: began.Sub(r.arrived[s.CallID])}
	delete(r.arrived, s.CallID)

	r.current = &narrow{s, number, tool.Plan{}}
	s, no, err := r.readied(ctx, s, number)
	if err != nil {
		if !r.onlyThis(outer, c.Step.CallID, err) {
			return false, err
		}
		s, no = c.Step, &refusal{tool.Cancelled, neverMade}
	}
	c.Step = s
	r.find(s.CallID).Class = s.Class // of the corrected arguments
	if no != nil {
		c.Refused, c.Decision = no.Message, Decision{Action: ActionStop, Failure: no.Failure, Why: "the call is not made"}
	} else if err := r.attempts(ctx, &c, number); err != nil {
		if !r.onlyThis(outer, s.CallID, err) {
			return false, err
		}
		c.Decision = Decision{Action: ActionStop, Failure: tool.Cancelled, Why: "the call was cancelled"}
		if len(c.Reports) == 0 {
			c.Refused = neverMade
		}
	}
	c.Took = workflow.Now(ctx).Sub(began)
	c.Link = &tool.RunLink{WorkflowID: workflow.GetInfo(ctx).WorkflowExecution.ID}
	res, err := r.publish(ctx, Publication{Number: number, Ended: &c})
	if err != nil {
		return false, err
	}
	st := r.find(s.CallID) // the slice may have grown meanwhile
	st.Result, st.Status = res, StatusFailed
	if asExpected(c.Step, res) {
		st.Status = StatusVerified
	}
	if !r.cancelled[s.CallID] { // whoever cancels a call may make it again
		r.state.Past = remember(r.state.Past, c.Step.Digest, res, c.Step.Class)
	}
	delete(r.cancelled, s.CallID)
	r.current, r.inHand = nil, ""
	r.settle(s.CallID)
	return st.Status == StatusVerified, nil
}

// readied is ready for a step that may have been asked about since it came.
func (r *run) readied(ctx workflow.Context, s Step, number int) (Step, *refusal, error) {
	if s.Draft != nil {
		if err := workflow.Await(ctx, func() bool { return r.drafts[s.CallID] != nil }); err != nil {
			return s, nil, err
		}
		p := r.drafts[s.CallID]
		delete(r.drafts, s.CallID)
		if p.err != nil || p.no != nil {
			return p.step, p.no, p.err
		}
		s = p.step
	}
	return r.ready(ctx, s, number)
}
