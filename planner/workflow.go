package planner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"toolsvc/temporalclient"
	"toolsvc/tool"
)

// Names of the activities.
const (
	activityAttempt   = "Attempt"
	activityReconcile = "Reconcile"
	activityPublish   = "Publish"
)

// heartbeatTimeout is how soon a lost worker is noticed; an attempt reports itself alive four times as often.
const heartbeatTimeout = 4 * time.Second

// run is the state of one run while its workflow executes.
type run struct {
	in      Input
	state   State
	pending []Step               // not yet begun, in the order of arrival
	arrived map[string]time.Time // when each pending call was accepted
	index   map[string]int       // of each call in state.Steps
	ends    map[string]end       // what a caller waits for
	current *narrow              // what the step in hand is doing, for the UI
	closed  bool
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
	r := &run{in: in, arrived: map[string]time.Time{}, index: map[string]int{}, ends: map[string]end{}, state: State{RunID: in.RunID, Title: in.Title, Language: in.Language, Kind: in.Kind, Outcome: OutcomeRunning}}
	if in.Carried != nil {
		r.state = *in.Carried
		for i, st := range r.state.Steps {
			r.index[st.CallID] = i
		}
	}
	for _, s := range in.Steps {
		r.enqueue(ctx, s)
	}
	if err := workflow.SetQueryHandler(ctx, QueryState, func() (State, error) { return r.state, nil }); err != nil {
		return nil, err
	}
	err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateCall, r.call, workflow.UpdateHandlerOptions{
		Description: "Append a call to the queue; answers with its result when it has ended.",
		Validator:   r.admit,
	})
	if err != nil {
		return nil, err
	}
	err = r.work(ctx)
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

// admit refuses a call before anything of it enters the history.
func (r *run) admit(ctx workflow.Context, s Step) error {
	switch {
	case r.find(s.CallID) != nil: // asked again: the answer is the first one's
		return nil
	case r.closed:
		return temporal.NewApplicationError("the run has ended; start another one", errRunEnded)
	case len(r.pending) >= MaxQueued:
		return temporal.NewApplicationError(fmt.Sprintf("%d calls are waiting in this run already; wait for some to end", len(r.pending)), errRunFull)
	}
	return nil
}

// call appends a call and waits for its Result. The same call sent again waits for the same Result.
func (r *run) call(ctx workflow.Context, s Step) (*tool.Result, error) {
	if r.find(s.CallID) == nil {
		r.enqueue(ctx, s)
	}
	if e, waiting := r.ends[s.CallID]; waiting {
		if err := e.future.Get(ctx, nil); err != nil {
			return nil, err
		}
	}
	st := r.find(s.CallID)
	if st.Result == nil {
		return nil, temporal.NewApplicationError("the run ended before the call was made", errRunEnded)
	}
	return st.Result, nil
}

func (r *run) enqueue(ctx workflow.Context, s Step) {
	r.pending = append(r.pending, s)
	r.arrived[s.CallID] = workflow.Now(ctx)
	f, settle := workflow.NewFuture(ctx)
	r.ends[s.CallID] = end{f, settle}
	r.index[s.CallID] = len(r.state.Steps)
	r.state.Steps = append(r.state.Steps, StepState{CallID: s.CallID, Tool: s.Tool, Title: s.Title, Status: StatusQueued, Expects: s.ExpectFailure})
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
		r.publish(ctx, Publication{Began: true})
	}
	idle := time.Duration(r.in.IdleMS) * time.Millisecond
	if idle <= 0 {
		idle = DefaultIdle
	}
	for {
		if len(r.pending) == 0 {
			if r.in.Kind == KindScript || r.in.Single && len(r.state.Steps) > 0 {
				return nil
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
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() && workflow.AllHandlersFinished(ctx) {
			return r.goOnInNewHistory(ctx)
		}
		s := r.pending[0]
		r.pending = r.pending[1:]
		ok, err := r.step(ctx, s)
		if err != nil {
			return err
		}
		if !ok && r.in.Kind == KindScript {
			for _, rest := range r.pending {
				r.find(rest.CallID).Status = StatusSkipped
				r.settle(rest.CallID)
			}
			r.pending = nil
			return nil
		}
	}
}

// goOnInNewHistory carries the state over, without the results: those are in the event store.
func (r *run) goOnInNewHistory(ctx workflow.Context) error {
	in := r.in
	in.Steps = r.pending
	carried := r.state
	carried.Steps = nil
	for _, st := range r.state.Steps {
		if st.Status.Ended() {
			st.Result = nil
			carried.Steps = append(carried.Steps, st)
		}
	}
	in.Carried = &carried
	return workflow.NewContinueAsNewError(ctx, WorkflowRun, in)
}

// step makes attempts at one call until the healing decision ends it.
func (r *run) step(ctx workflow.Context, s Step) (ok bool, err error) {
	st := r.find(s.CallID)
	st.Status = StatusRunning
	number := 1 + r.index[s.CallID]
	began := workflow.Now(ctx)
	c := Conclusion{RunID: r.in.RunID, Step: s, Queued: began.Sub(r.arrived[s.CallID])}
	delete(r.arrived, s.CallID)

	plan := tool.Plan{Number: 1, Source: s.Sources[0], Input: firstInput(s.Sources[0])}
	for lost := 0; ; {
		r.show(ctx, &narrow{s, number, plan})
		rep, err := r.attempt(ctx, s, number, plan)
		if err != nil {
			return false, err
		}
		if rep.Record.Failure == tool.WorkerLost {
			lost++
		}
		reports := append(slices.Clone(c.Reports), rep)
		c.Decision = Decide(r.situation(s, reports, lost))
		if c.Decision.Action == ActionRetry && c.Decision.Next.Number == plan.Number {
			continue // the lost attempt is made again; nobody needs to notice
		}
		c.Reports = reports
		if c.Decision.Action != ActionRetry {
			break
		}
		r.publish(ctx, Publication{Number: number, Retry: &c})
		plan = c.Decision.Next
	}
	c.Took = workflow.Now(ctx).Sub(began)
	c.Link = &tool.RunLink{WorkflowID: workflow.GetInfo(ctx).WorkflowExecution.ID}
	res, err := r.publish(ctx, Publication{Number: number, Ended: &c})
	if err != nil {
		return false, err
	}
	st = r.find(s.CallID) // the slice may have grown meanwhile
	st.Result, st.Status = res, StatusFailed
	if asExpected(s, res) {
		st.Status = StatusVerified
	}
	r.current = nil
	r.settle(s.CallID)
	return st.Status == StatusVerified, nil
}

func (r *run) situation(s Step, reports []Report, lost int) Situation {
	sit := Situation{Class: s.Class, Sources: s.Sources, Lost: lost, Healing: !r.in.NoHealing}
	for _, rep := range reports {
		sit.Attempts = append(sit.Attempts, rep.Record)
	}
	if v := reports[len(reports)-1].Verification; v != nil && reports[len(reports)-1].Record.Failure == "" {
		sit.Verdict = v.Verdict
	}
	return sit
}

// asExpected reports whether the step is right: verified, or refused in exactly the way that was expected with nothing done.
func asExpected(s Step, res *tool.Result) bool {
	if s.ExpectFailure == "" {
		return res.OK()
	}
	if res.Error == nil || res.Error.Code != s.ExpectFailure {
		return false
	}
	for _, a := range res.Attempts {
		if a.Effect != tool.EffectNone && !a.RolledBack {
			return false
		}
	}
	return true
}

// attempt makes one attempt; when the worker that made it is lost, what became of it is found out by observing.
func (r *run) attempt(ctx workflow.Context, s Step, number int, plan tool.Plan) (Report, error) {
	in := AttemptInput{RunID: r.in.RunID, Language: r.in.Language, Step: s, Number: number, Steps: len(r.state.Steps), Plan: plan}
	limit := time.Duration(s.TimeLimitMS)*time.Millisecond + rollbackLimit + patience
	summary := fmt.Sprintf("step %d/%d, attempt %d/%d: %s by %s", number, len(r.state.Steps), plan.Number, MaxAttempts, s.Title, plan.Source.Badge())
	actx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: limit,
		HeartbeatTimeout:    heartbeatTimeout,
		WaitForCancellation: true,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1}, // Temporal never repeats an attempt; Decide does
		Summary:             clip(summary),
	})
	var rep Report
	err := workflow.ExecuteActivity(actx, activityAttempt, in).Get(ctx, &rep)
	if err == nil {
		return rep, nil
	}
	if temporal.IsCanceledError(err) || ctx.Err() != nil {
		return rep, err
	}
	rctx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: limit,
		HeartbeatTimeout:    heartbeatTimeout,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 500 * time.Millisecond, MaximumInterval: 10 * time.Second, MaximumAttempts: 20},
		Summary:             clip("observe what became of " + summary),
	})
	err = workflow.ExecuteActivity(rctx, activityReconcile, in).Get(ctx, &rep)
	return rep, err
}

// Publication is what the publish activity tells the world; exactly one of its fields is set beside Number.
type Publication struct {
	Input Input `json:"input"`
	// Number of the step, from 1, and Steps known so far.
	Number int `json:"number"`
	Steps  int `json:"steps"`
	// Began: the run was accepted and planned.
	Began bool `json:"began,omitempty"`
	// Retry: another attempt follows.
	Retry *Conclusion `json:"retry,omitempty"`
	// Ended: the step has ended.
	Ended *Conclusion `json:"ended,omitempty"`
	// Finished: the run has ended.
	Finished Outcome `json:"finished,omitempty"`
	Verified int     `json:"verified,omitempty"`
}

// summary says in Temporal's UI what is published.
func (p Publication) summary() string {
	switch {
	case p.Began:
		return "tell that the run has begun"
	case p.Retry != nil:
		return fmt.Sprintf("step %d/%d: another attempt by %s", p.Number, p.Steps, p.Retry.Decision.Next.Source.Badge())
	case p.Ended != nil && p.Ended.Decision.Action == ActionDone:
		return fmt.Sprintf("step %d/%d: verified", p.Number, p.Steps)
	case p.Ended != nil:
		return fmt.Sprintf("step %d/%d: %s", p.Number, p.Steps, p.Ended.Decision.Failure)
	}
	return "tell that the run has ended: " + string(p.Finished)
}

// publish writes events, and makes the Result of a step that has ended. It is a local activity: it costs no round trip.
func (r *run) publish(ctx workflow.Context, p Publication) (*tool.Result, error) {
	p.Input = Input{RunID: r.in.RunID, Kind: r.in.Kind, Title: r.in.Title, Language: r.in.Language, KeepSession: r.in.KeepSession}
	p.Steps = len(r.state.Steps)
	dctx, cancel := workflow.NewDisconnectedContext(ctx) // what has happened is told although the run is cancelled
	defer cancel()
	lctx := workflow.WithLocalActivityOptions(dctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: 10 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, MaximumInterval: time.Second, MaximumAttempts: 20},
		Summary:             clip(p.summary()),
	})
	var res *tool.Result
	err := workflow.ExecuteLocalActivity(lctx, activityPublish, p).Get(ctx, &res)
	return res, err
}

// show makes what happens now readable in Temporal's UI.
func (r *run) show(ctx workflow.Context, n *narrow) {
	r.current = n
	workflow.SetCurrentDetails(ctx, r.details())
}

// details renders the run as Markdown.
func (r *run) details() string {
	var b strings.Builder
	if r.in.Title != "" {
		fmt.Fprintf(&b, "### %s\n", r.in.Title)
	}
	for i, st := range r.state.Steps {
		if len(r.state.Steps) > 60 && st.Status.Ended() && i < len(r.state.Steps)-60 {
			continue
		}
		mark := map[Status]string{StatusQueued: "▫️", StatusRunning: "▶️", StatusVerified: "✅", StatusFailed: "❌", StatusSkipped: "⏭️"}[st.Status]
		fmt.Fprintf(&b, "%d. %s %s `%s`", i+1, mark, st.Title, st.Tool)
		if st.Status == StatusRunning && r.current != nil {
			fmt.Fprintf(&b, ": attempt %d/%d by **%s**", r.current.plan.Number, MaxAttempts, r.current.plan.Source.Badge())
		}
		if res := st.Result; res != nil && len(res.Attempts) > 0 {
			fmt.Fprintf(&b, ": %d attempt(s), %s", len(res.Attempts), res.Attempts[len(res.Attempts)-1].Source.Badge())
			if res.Error != nil {
				fmt.Fprintf(&b, ", **%s**: %s", res.Error.Code, res.Error.Message)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// finish settles the outcome and leaves what an operator needs to see after the worker is gone.
func (r *run) finish(ctx workflow.Context, cause error) {
	if temporal.IsCanceledError(cause) || errors.Is(cause, workflow.ErrCanceled) {
		r.state.Outcome = OutcomeCancelled
	}
	verified := 0
	healed, source, failure := false, "", ""
	var tools []string
	for _, st := range r.state.Steps {
		if st.Status == StatusVerified {
			verified++
		}
		if !slices.Contains(tools, string(st.Tool)) && len(tools) < 50 {
			tools = append(tools, string(st.Tool))
		}
		if res := st.Result; res != nil && len(res.Attempts) > 0 {
			source = string(res.Attempts[len(res.Attempts)-1].Source)
			healed = healed || res.OK() && len(res.Attempts) > 1
			if res.Error != nil && st.Status == StatusFailed {
				failure = string(res.Error.Code)
			}
		}
	}
	if r.state.Outcome == OutcomeRunning {
		r.state.Outcome = OutcomeFailed
		if r.state.Succeeded() {
			r.state.Outcome = OutcomeSucceeded
		}
	}
	dctx, cancel := workflow.NewDisconnectedContext(ctx) // what follows must happen although the run was cancelled
	defer cancel()
	r.current = nil
	workflow.SetCurrentDetails(dctx, r.details())
	attrs := []temporal.SearchAttributeUpdate{
		temporalclient.SearchAttributeOutcome.ValueSet(string(r.state.Outcome)), temporalclient.SearchAttributeHealed.ValueSet(healed), temporalclient.SearchAttributeWaiting.ValueSet(false),
		temporalclient.SearchAttributeTool.ValueSet(tools), temporalclient.SearchAttributeSource.ValueSet(source), temporalclient.SearchAttributeFailure.ValueSet(failure),
	}
	if err := workflow.UpsertTypedSearchAttributes(dctx, attrs...); err != nil {
		workflow.GetLogger(ctx).Error("search attributes", "error", err)
	}
	if err := workflow.UpsertMemo(dctx, map[string]any{memoOutcome: string(r.state.Outcome), memoStory: r.details()}); err != nil {
		workflow.GetLogger(ctx).Error("memo", "error", err)
	}
	if _, err := r.publish(dctx, Publication{Finished: r.state.Outcome, Verified: verified}); err != nil {
		workflow.GetLogger(ctx).Error("publish the end of the run", "error", err)
	}
}

// clip keeps a summary within what Temporal accepts (200 bytes), at a rune boundary.
func clip(s string) string {
	const limit = 200
	if len(s) <= limit {
		return s
	}
	n := limit - len("…")
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

// Keys of the run's memo.
const (
	memoTitle   = "title"
	memoOutcome = "outcome"
	memoStory   = "story"
)

// Types of the application errors that an update or a run can end with.
const (
	errRunEnded = "RunEnded"
	errRunFull  = "RunFull"
)

// conflictPolicy lets a call join a run that is open already.
const conflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING
