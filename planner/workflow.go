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
	controls int                  // how often it was paused and resumed
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
	r.controls++
	_, err := r.publish(ctx, Publication{Control: r.controls, Paused: paused})
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
		r.publish(ctx, Publication{Began: true})
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

// suggested reports that the history has grown long, and that nothing stands in the way of going on in a new one.
func (r *run) suggested(ctx workflow.Context) bool {
	return workflow.GetInfo(ctx).GetContinueAsNewSuggested() && workflow.AllHandlersFinished(ctx) && len(r.state.Questions) == 0 && r.question == nil
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

// attempts makes attempts until the healing decision ends them, and leaves their reports and the decision in c.
func (r *run) attempts(ctx workflow.Context, c *Conclusion, number int) error {
	s := c.Step
	plan := tool.Plan{Number: 1, Source: s.Sources[0], Input: firstInput(s.Sources[0])}
	asked := 0
	for lost := 0; ; {
		r.show(ctx, &narrow{s, number, plan})
		rep, err := r.attemptOrStage(ctx, s, number, plan, c)
		if err != nil {
			return err
		}
		if rep.Record.Failure == tool.WorkerLost {
			lost++
		}
		if len(rep.Secrets) > 0 {
			c.Step.Concealed = rep.Secrets
		}
		reports := append(slices.Clone(c.Reports), rep)
		sit := r.situation(s, reports, lost)
		sit.Waits, sit.Asked = c.Waits, asked
		c.Decision = Decide(sit)
		if r.cancelled[s.CallID] && c.Decision.Action != ActionDone {
			c.Reports, c.Decision = reports, Decision{Action: ActionStop, Failure: tool.Cancelled, Why: "the call was cancelled"}
			return nil
		}
		if c.Decision.Action == ActionRetry && c.Decision.Next.Number == plan.Number {
			continue // the lost attempt is made again; nobody needs to notice
		}
		switch c.Decision.Action {
		case ActionWait:
			if err := r.backOff(ctx, c, number, rep); err != nil {
				c.Reports = reports
				return err
			}
			continue
		case ActionAsk:
			asked++
			again, err := r.askAbout(ctx, c, number, plan, &reports)
			if err != nil {
				c.Reports = reports
				return err
			}
			switch {
			case !again:
				c.Reports = reports
				return nil
			case sit.Attempts[len(sit.Attempts)-1].Failure == tool.AmbiguousTarget: // other arguments: the attempts begin anew
				s, c.Reports = c.Step, nil
				plan = tool.Plan{Number: 1, Source: s.Sources[0], Input: firstInput(s.Sources[0])}
				c.Waits++ // so that its dispatches have records of their own
				continue
			}
			sit = r.situation(s, reports, lost)
			sit.Vouched = true // for this one decision
			c.Decision = Decide(sit)
		}
		c.Reports = reports
		if c.Decision.Action != ActionRetry {
			return nil
		}
		r.publish(ctx, Publication{Number: number, Retry: c}) //nolint:errcheck // narration; the result is what matters
		plan = c.Decision.Next
	}
}

// backOff waits before the same attempt is made again.
func (r *run) backOff(ctx workflow.Context, c *Conclusion, number int, rep Report) error {
	waiting := *c
	waiting.Reports = append(slices.Clone(c.Reports), rep)
	if _, err := r.publish(ctx, Publication{Number: number, Waits: &waiting}); err != nil {
		return err
	}
	t := workflow.NewTimerWithOptions(ctx, c.Decision.Wait, workflow.TimerOptions{Summary: clip(fmt.Sprintf("step %d: %s, try again in %s", number, rep.Record.Failure, c.Decision.Wait.Round(time.Millisecond)))})
	if err := t.Get(ctx, nil); err != nil {
		return err
	}
	c.Waits++
	c.Waited += c.Decision.Wait
	r.state.WaitedMS += c.Decision.Wait.Milliseconds()
	return nil
}

// askAbout asks about the latest attempt. again is true when the answer allows another one: c.Step holds the corrected call then, or the
// latest report says that the dispatch had no effect. Otherwise c.Decision says how the step ends.
func (r *run) askAbout(ctx workflow.Context, c *Conclusion, number int, plan tool.Plan, reports *[]Report) (again bool, err error) {
	last := &(*reports)[len(*reports)-1]
	d := c.Decision
	reply, err := r.ask(ctx, Asking{Kind: d.Ask, Step: &c.Step, Number: number, Failure: d.Failure, Message: last.Record.Message, Candidates: last.Candidates})
	if err != nil {
		return false, err
	}
	switch {
	case reply == nil:
		c.Decision = Decision{Action: ActionStop, Failure: d.Failure, Why: "nobody answered in time"}
		last.Record.Message += " Nobody answered the question about it in time."
		return false, nil
	case d.Ask == tool.AskArguments:
		reply.Step.Repairs = append(slices.Clone(c.Step.Repairs), reply.Step.Repairs...)
		c.Step = *reply.Step
		return true, nil
	case !reply.Happened:
		last.Record.Effect = tool.EffectNone
		last.Record.Message += " A person says that it had no effect."
		return true, nil
	}
	rep, err := r.reconcile(ctx, AttemptInput{RunID: r.in.RunID, Language: r.in.Language, Step: c.Step, Number: number, Steps: len(r.state.Steps), Plan: plan, Round: c.Waits})
	if err != nil {
		return false, err
	}
	if rep.Verification != nil && rep.Verification.Verdict == tool.VerdictSuccess && rep.Record.Failure == "" {
		*last = rep
		c.Decision = Decision{Action: ActionDone, Why: "a person says that it happened, and fresh evidence agrees"}
		return false, nil
	}
	last.Record.Message += " A person says that it happened; what can be observed does not prove it."
	c.Decision = Decision{Action: ActionStop, Failure: d.Failure, Why: "a person's word is no evidence"}
	return false, nil
}

func (r *run) situation(s Step, reports []Report, lost int) Situation {
	sit := Situation{Class: s.Class, Sources: s.Sources, Lost: lost, Healing: !r.in.NoHealing, Ask: r.in.Policy.Ask, Seed: s.CallID,
		RetryAfter: time.Duration(reports[len(reports)-1].RetryAfterMS) * time.Millisecond,
		WaitLeft:   r.in.Policy.Waits() - time.Duration(r.state.WaitedMS)*time.Millisecond}
	if last := reports[len(reports)-1]; s.Stage != nil {
		sit.Most, sit.Learns, sit.Reask, sit.Ask = s.Stage.Attempts, s.Stage.learns(), last.Reask, false // nobody could reconcile an answer with what can be observed
		if last.Final {
			sit.Most = len(reports)
		}
	}
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

func (r *run) attemptOrStage(ctx workflow.Context, s Step, number int, plan tool.Plan, c *Conclusion) (Report, error) {
	if s.Stage != nil {
		return r.stage(ctx, AttemptInput{RunID: r.in.RunID, Language: r.in.Language, Step: s, Number: number, Steps: len(r.state.Steps), Plan: plan, Round: c.Waits}, c)
	}
	return r.attempt(ctx, s, number, plan, c.Waits)
}

// attempt makes one attempt; when the worker that made it is lost, what became of it is found out by observing.
func (r *run) attempt(ctx workflow.Context, s Step, number int, plan tool.Plan, round int) (Report, error) {
	in := AttemptInput{RunID: r.in.RunID, Language: r.in.Language, Step: s, Number: number, Steps: len(r.state.Steps), Plan: plan, Round: round, Verify: r.in.Policy.Verify, Threshold: r.in.Policy.Threshold}
	if r.cancelled[s.CallID] {
		return stopped(in), nil
	}
	in.Lost = r.lost
	opts := workflow.ActivityOptions{
		StartToCloseTimeout: in.limit(),
		HeartbeatTimeout:    heartbeatTimeout,
		WaitForCancellation: true,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1}, // Temporal never repeats an attempt; Decide does
		Summary:             clip(in.summary()),
	}
	var rep Report
	err := r.there(ctx, opts, activityAttempt, in, &rep)
	r.settles(rep)
	if r.cancelled[s.CallID] && (err != nil || rep.Record.Failure == tool.Cancelled) {
		return r.afterCancel(ctx, in, rep, err), nil
	}
	if err == nil && rep.Record.Failure == tool.Cancelled && ctx.Err() == nil {
		// Nobody cancelled this run: its worker was out of touch with Temporal for longer than a heartbeat may be, or stops.
		if rep.Record.RolledBack {
			rep.Record.Failure, rep.Record.Message = tool.WorkerLost, "The worker lost touch with Temporal; what it had done is taken back."
			return rep, nil
		}
		in.Worker = rep.Worker
		return r.reconcile(ctx, in)
	}
	if err == nil && !unresolved(rep.Record) {
		return rep, nil
	}
	if err == nil { // it is known how far it came, but not what became of it: look
		in.After, in.Worker = rep.Record.Failure, rep.Worker
		seen, err := r.reconcile(ctx, in)
		switch {
		case err != nil && (temporal.IsCanceledError(err) || ctx.Err() != nil):
			return rep, err
		case err != nil || seen.Record.Effect == tool.EffectUnknown:
			return rep, nil
		}
		seen.Record.DurationMS += rep.Record.DurationMS
		return seen, nil
	}
	if temporal.IsCanceledError(err) || ctx.Err() != nil {
		return rep, err
	}
	if in.Worker = lastSeen(err); in.Worker == "" {
		in.Worker = r.state.Worker
	}
	r.state.Worker = in.Worker // it may come back, and finds its tab again
	return r.reconcile(ctx, in)
}

// unresolved reports an attempt that ended after its dispatch, by a failure that says nothing of the effect.
func unresolved(a tool.AttemptRecord) bool {
	if !a.Phase.Dispatched() || a.Effect != tool.EffectUnknown || a.RolledBack {
		return false
	}
	switch a.Failure {
	case tool.Timeout, tool.FrameGone, tool.BrowserCrashed, tool.ToolUnavailable:
		return true
	}
	return false
}

// reconcile finds out, by observing, what became of an attempt.
func (r *run) reconcile(ctx workflow.Context, in AttemptInput) (rep Report, err error) {
	opts := workflow.ActivityOptions{
		StartToCloseTimeout: in.limit(),
		HeartbeatTimeout:    heartbeatTimeout,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 500 * time.Millisecond, MaximumInterval: 10 * time.Second, MaximumAttempts: 20},
		Summary:             clip("observe what became of " + in.summary()),
	}
	err = r.there(ctx, opts, activityReconcile, in, &rep)
	return rep, err
}

func (in AttemptInput) limit() time.Duration {
	return time.Duration(in.Step.TimeLimitMS)*time.Millisecond + rollbackLimit + patience
}

func (in AttemptInput) summary() string {
	return fmt.Sprintf("step %d/%d, attempt %d/%d: %s by %s", in.Number, in.Steps, in.Plan.Number, MaxAttempts, in.Step.Title, in.Plan.Source.Badge())
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
	// Waits: the same attempt is made again after a wait.
	Waits *Conclusion `json:"waits,omitempty"`
	// Ended: the step has ended.
	Ended *Conclusion `json:"ended,omitempty"`
	// Answer is the planner's final response.
	Answer string `json:"answer,omitempty"`
	// Control: the run was paused or resumed, for this many times.
	Control int  `json:"control,omitempty"`
	Paused  bool `json:"paused,omitempty"`
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
	case p.Waits != nil:
		return fmt.Sprintf("step %d/%d: wait, because of %s", p.Number, p.Steps, p.Waits.Decision.Failure)
	case p.Answer != "":
		return "tell the planner's final answer"
	case p.Control > 0 && p.Paused:
		return "tell that the run is paused"
	case p.Control > 0:
		return "tell that the run goes on"
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
		mark := map[Status]string{StatusQueued: "▫️", StatusRunning: "▶️", StatusVerified: "✅", StatusFailed: "❌", StatusSkipped: "⏭️", StatusWaiting: "❓"}[st.Status]
		fmt.Fprintf(&b, "%d. %s %s `%s`", i+1, mark, st.Title, st.Tool)
		if st.Status == StatusRunning && r.current != nil {
			fmt.Fprintf(&b, ": attempt %d/%d by **%s**", r.current.plan.Number, MaxAttempts, r.current.plan.Source.Badge())
			if st.ChildRun != "" {
				fmt.Fprintf(&b, " in the run `%s`", st.ChildRun)
			}
		}
		for _, q := range r.state.Questions {
			if q.CallID == st.CallID {
				fmt.Fprintf(&b, ": **%s**", q.Text)
			}
		}
		if res := st.Result; res != nil && len(res.Attempts) == 0 && res.Error != nil {
			fmt.Fprintf(&b, ": **%s**: %s", res.Error.Code, res.Error.Message)
		} else if res != nil && len(res.Attempts) > 0 {
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
		if r.in.Kind == KindGemini && goalReached(r.state.Planning, r.state.Steps, r.in.Backs != nil) || r.in.Kind != KindGemini && r.state.Succeeded() {
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
	r.release(dctx)
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
	errRunEnded       = "RunEnded"
	errRunFull        = "RunFull"
	errQuestionClosed = "QuestionClosed"
	errUnknownCall    = "UnknownCall"
)

// conflictPolicy lets a call join a run that is open already.
const conflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING
