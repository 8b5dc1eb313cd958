package planner

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"toolsvc/tool"
)

// The workflow's side of attempts: one activity each, until Decide ends them. What an attempt does is in attempt.go.

// changeCutOff is the version from which an attempt that was cut off, though nobody cancelled its run, is looked for.
const changeCutOff = "attempts-cut-off"

// changeGone is the version from which an attempt whose tab or browser died is made again by the same source.
const changeGone = "attempts-gone"

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
		sit := r.situation(ctx, s, reports, lost)
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
			sit = r.situation(ctx, s, reports, lost)
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

func (r *run) situation(ctx workflow.Context, s Step, reports []Report, lost int) Situation {
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
	if gone(reports[len(reports)-1].Record.Failure) {
		sit.Rebuilt = workflow.GetVersion(ctx, changeGone, workflow.DefaultVersion, 1) > workflow.DefaultVersion
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
	if err == nil && rep.Record.Failure == tool.Cancelled && ctx.Err() == nil && workflow.GetVersion(ctx, changeCutOff, workflow.DefaultVersion, 1) > workflow.DefaultVersion {
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
