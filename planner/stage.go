package planner

import (
	"cmp"
	"fmt"
	"path"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"toolsvc/tool"
)

// Names of the activities of a stage.
const (
	activityStageBegin = "StageBegin"
	activityStageEnd   = "StageEnd"
)

// Bounds of stages.
const (
	// MaxStages bounds the stages of a pipeline, MaxStageConditions the conditions of one stage.
	MaxStages          = 100
	MaxStageConditions = 100
	// DefaultStageLimit bounds one attempt at a stage where its plan says nothing.
	DefaultStageLimit = 2 * time.Hour
	stageCheckLimit   = 5 * time.Minute
)

// Stage is work that a run of its own does: an agent with instructions, or a list of steps, between conditions that are checked before and
// after it. What an attempt at it changed in the workspace is taken back when they do not hold.
type Stage struct {
	// Name is the stage's, as it stands in its tool: "stage.overview".
	Name string `json:"name"`
	// Goal and Instructions are those of the agent; "" for a stage of steps.
	Goal         string `json:"goal,omitempty"`
	Instructions string `json:"instructions,omitempty"`
	// Steps are those of a stage without an agent.
	Steps []Step `json:"steps,omitempty"`
	// Before and After must hold.
	Before []tool.Condition `json:"before,omitempty"`
	After  []tool.Condition `json:"after,omitempty"`
	// Attempts bounds the attempts, 1 to [MaxAttempts].
	Attempts int `json:"attempts"`
	// Policy of the stage's run.
	Policy tool.Policy `json:"policy,omitzero"`
	// Agent: the stage is a call of a tool that an agent backs. Its goal, instructions and conditions are those of the tool's Spec.
	Agent bool `json:"agent,omitempty"`
}

// StageInput is what the activities of a stage work from.
type StageInput struct {
	Attempt AttemptInput `json:"attempt"`
	// Before is the digest of the evidence from before the attempt.
	Before string `json:"before,omitempty"`
	// Child is what the stage's run came to.
	Child StageOutcome `json:"child,omitzero"`
	// Open is the work that Child answers for, when that was all it had to do; and Last says that no attempt follows this one.
	Open *Opened `json:"open,omitempty"`
	Last bool    `json:"last,omitempty"`
}

// StageOutcome is what a stage's run came to.
type StageOutcome struct {
	RunID string `json:"run_id,omitempty"`
	// Ended: the run came to an end by itself, with everything done as far as it can tell.
	Ended bool `json:"ended"`
	// Why says what ended it otherwise.
	Why    string `json:"why,omitempty"`
	Answer string `json:"answer,omitempty"`
	Calls  int    `json:"calls"`
	Tokens int64  `json:"tokens,omitempty"`
	Output int64  `json:"output,omitempty"` // of Tokens, the model's own
	Model  string `json:"model,omitempty"`
	// Effect is what its calls have left in the world, and Outside whose effects no backup of the workspace takes back.
	Effect  tool.Effect `json:"effect,omitempty"`
	Outside []string    `json:"outside,omitempty"`
	// Made are its calls, the latest 100.
	Made []Made `json:"made,omitempty"`
	// Cause is the failed call that it ended with, and RetryAfterMS the wait that this call was asked for.
	Cause        *tool.Error `json:"cause,omitempty"`
	RetryAfterMS int64       `json:"retry_after_ms,omitempty"`
	// Failure is why its run could not go on; "" when it could. GaveUp is why the agent says that the work cannot be done.
	Failure tool.Failure `json:"failure,omitempty"`
	GaveUp  string       `json:"gave_up,omitempty"`
	// Conversation is the digest of the agent's messages, and Base how many of them are from earlier attempts.
	Conversation string `json:"conversation,omitempty"`
	Base         int    `json:"base,omitempty"`
}

// StageBegun is what the beginning of an attempt at a stage came to.
type StageBegun struct {
	Report Report `json:"report"`
	// Ready: the preconditions hold and the workspace is backed up.
	Ready bool `json:"ready"`
	// Before is the digest of the evidence.
	Before string `json:"before,omitempty"`
}

// stage makes one attempt at a stage: conditions, backup, the stage's own run, conditions, and rollback where they fail.
func (r *run) stage(ctx workflow.Context, in AttemptInput, c *Conclusion) (Report, error) {
	opts := workflow.ActivityOptions{
		StartToCloseTimeout: stageCheckLimit,
		HeartbeatTimeout:    heartbeatTimeout,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 500 * time.Millisecond, MaximumInterval: 10 * time.Second, MaximumAttempts: 20},
		Summary:             clip(fmt.Sprintf("stage %d/%d, attempt %d: check what must hold before %s, and back up", in.Number, in.Steps, in.Plan.Number, in.Step.Title)),
	}
	var begun StageBegun
	err := r.there(ctx, opts, activityStageBegin, StageInput{Attempt: in, Open: c.Open}, &begun)
	r.settles(begun.Report)
	switch {
	case err != nil && c.Open != nil:
		return r.abandon(ctx, StageInput{Attempt: in, Before: c.Open.Before, Open: c.Open}, err)
	case err != nil || !begun.Ready:
		return begun.Report, err
	}
	out, err := r.child(ctx, in, c)
	if err != nil {
		return r.abandon(ctx, StageInput{Attempt: in, Before: begun.Before, Child: out, Open: c.Open}, err)
	}
	c.Children += out.Calls
	r.state.Tokens += out.Tokens
	r.state.OutputTokens += out.Output
	c.Spent += out.Tokens
	c.SpentOutput += out.Output
	c.Model = cmp.Or(out.Model, c.Model)
	c.Conversation, c.Base = out.Conversation, out.Base
	open := c.Open
	last := r.in.NoHealing || in.Plan.Number >= min(MaxAttempts, in.Step.Stage.Attempts)
	rep, err := r.endStage(ctx, StageInput{Attempt: in, Before: begun.Before, Child: out, Open: open, Last: last})
	switch {
	case !rep.Reask:
		c.Open = nil
	case open == nil:
		c.Open = &Opened{Attempt: in.dispatch(), Before: begun.Before, Work: out}
	}
	return rep, err
}

// endStage judges an attempt and takes it back where it does not count. That is done to its end although the run is cancelled meanwhile:
// a backup that stays open would stand in the way of every other one.
func (r *run) endStage(ctx workflow.Context, in StageInput) (rep Report, err error) {
	dctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	at := in.Attempt
	opts := workflow.ActivityOptions{
		StartToCloseTimeout: stageCheckLimit,
		HeartbeatTimeout:    heartbeatTimeout,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 500 * time.Millisecond, MaximumInterval: 10 * time.Second, MaximumAttempts: 20},
		Summary:             clip(fmt.Sprintf("stage %d/%d, attempt %d: check what must hold after %s", at.Number, at.Steps, at.Plan.Number, at.Step.Title)),
	}
	err = r.there(dctx, opts, activityStageEnd, in, &rep)
	return rep, err
}

// abandon takes back an attempt that was cancelled by cause. Where only its call was cancelled, it comes back with what that came to;
// where its run was, that stands in the workspace's own records.
func (r *run) abandon(ctx workflow.Context, in StageInput, cause error) (Report, error) {
	in.Last, in.Child.Ended, in.Child.Failure, in.Child.Why = true, false, tool.Cancelled, "its run was cancelled"
	rep, err := r.endStage(ctx, in)
	switch {
	case err != nil:
		workflow.GetLogger(ctx).Error("a cancelled attempt could not be taken back", "run", r.in.RunID, "error", err)
	case rep.Rollback != nil && !rep.Rollback.Performed:
		workflow.GetLogger(ctx).Warn("a cancelled attempt was not taken back", "run", r.in.RunID, "why", rep.Rollback.RestoredTo)
	}
	if !r.cancelled[in.Attempt.Step.CallID] {
		return Report{}, cause
	}
	if err != nil {
		rep = begun(in.Attempt)
		rep.Record.Phase, rep.Record.Effect = tool.PhaseDispatched, tool.EffectUnknown
		rep.Record.Message = "The call was cancelled, and what it had done could not be taken back: " + err.Error()
	}
	rep.Record.Failure = tool.Cancelled
	return rep, nil
}

// StageRunID is the run that an attempt at a stage makes. Step is the stage's number, from 1.
func StageRunID(runID string, step, attempt int) string {
	return fmt.Sprintf("%s-%d-%d", runID, step, attempt)
}

// child makes the stage's own run, and waits for its end.
func (r *run) child(ctx workflow.Context, in AttemptInput, c *Conclusion) (StageOutcome, error) {
	st := in.Step.Stage
	pipeline := r.in.Policy
	if pipeline.TokenBudget > 0 { // what the stages before left of it
		pipeline.TokenBudget = max(1, r.tokensLeft())
	}
	ci := Input{RunID: StageRunID(r.in.RunID, in.Number, in.Plan.Number+MaxAttempts*in.Round), Kind: KindScript, Title: in.Step.Title, Language: r.in.Language,
		Policy: within(st.Policy, pipeline), Steps: st.Steps, Parent: r.in.RunID, NoHealing: r.in.NoHealing, Worker: r.state.Worker}
	if st.Goal != "" {
		ci.Kind, ci.Goal, ci.Instructions = KindGemini, st.Goal, st.Instructions
	}
	if st.Agent {
		ci = r.agentInput(ctx, in, c, ci)
	}
	if n := c.notice(); n != "" && st.learns() {
		ci.Conversation, ci.Skip, ci.Notice = c.Conversation, c.Base, n
	}
	limit := DefaultStageLimit
	if st.Agent {
		limit = agentLimit(ci.Policy)
	} else if ms := ci.Policy.TimeBudgetMS; ms > 0 {
		limit = time.Duration(ms)*time.Millisecond + ci.Policy.QuestionTTL()
	} else if ci.Policy.Ask || ci.Policy.Repair.Reaches(tool.RepairPerson) {
		limit += ci.Policy.QuestionTTL()
	}
	cctx := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:               ci.RunID,
		WorkflowExecutionTimeout: limit,
		WorkflowTaskTimeout:      5 * time.Second,
		ParentClosePolicy:        enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		WaitForCancellation:      true,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		StaticSummary:            clip(fmt.Sprintf("%s, attempt %d", in.Step.Title, in.Plan.Number)),
		Memo:                     map[string]any{memoTitle: fmt.Sprintf("%s, attempt %d", in.Step.Title, in.Plan.Number)},
	})
	var st2 State
	out := StageOutcome{RunID: ci.RunID}
	r.find(in.Step.CallID).ChildRun = ci.RunID
	workflow.SetCurrentDetails(ctx, r.details())
	if st.Agent {
		c.Runs = append(c.Runs, tool.RunLink{WorkflowID: ci.RunID})
	}
	err := workflow.ExecuteChildWorkflow(cctx, WorkflowRun, ci).Get(ctx, &st2)
	switch {
	case err != nil && (ctx.Err() != nil || temporal.IsCanceledError(err) && !st.Agent):
		return out.brokeOff(st, err), err
	case err != nil:
		return out.brokeOff(st, err), nil
	}
	out = out.came(st2.Steps)
	out.Tokens, out.Output, out.Ended = st2.Tokens, st2.OutputTokens, st2.Outcome == OutcomeSucceeded
	if p := st2.Planning; p != nil { // an agent is done when it says so; the conditions decide whether that is true
		out.Answer, out.Conversation, out.Base, out.Ended = p.Answer, p.Conversation, p.Base, p.Finalized == "" && p.Answer != ""
		out.Why, out.Model, out.Failure = p.Finalized, p.Model, p.Failure
	}
	if !out.Ended && out.Why == "" {
		out.Why = "its run ended as " + string(st2.Outcome) + firstFailure(st2.Steps)
	}
	return out, nil
}

// within is a stage's policy inside its pipeline's: what the pipeline does not allow no stage allows, and of two bounds the lower one holds.
func within(stage, pipeline tool.Policy) tool.Policy {
	p := stage.Or(pipeline)
	if len(stage.Allow) > 0 && len(pipeline.Allow) > 0 {
		p.Allow = nil
		for _, mine := range stage.Allow {
			for _, theirs := range pipeline.Allow {
				if ok, err := path.Match(theirs, mine); err == nil && ok {
					p.Allow = append(p.Allow, mine)
				} else if ok, err := path.Match(mine, theirs); err == nil && ok {
					p.Allow = append(p.Allow, theirs)
				}
			}
		}
		if len(p.Allow) == 0 { // nothing is allowed by both; an empty list would allow everything
			p.Deny = append(p.Deny, "*")
		}
	}
	if a, b := stage.MaxCalls, pipeline.MaxCalls; a > 0 && b > 0 {
		p.MaxCalls = min(a, b)
	}
	if a, b := stage.TokenBudget, pipeline.TokenBudget; a > 0 && b > 0 {
		p.TokenBudget = min(a, b)
	}
	return p
}

// firstFailure says which step of a run failed, and how.
func firstFailure(steps []StepState) string {
	for i, s := range steps {
		if k := s.kept(); s.Status == StatusFailed && k.Failure != "" {
			return fmt.Sprintf(": step %d (%s) failed with %s: %s", i+1, s.Tool, k.Failure, k.Message)
		}
	}
	return ""
}

// notice is what the next attempt's agent has to know of the ones before; "" for the first one.
func (c *Conclusion) notice() string {
	if len(c.Reports) == 0 {
		return ""
	}
	last := c.Reports[len(c.Reports)-1]
	if c.Open != nil {
		return c.reask()
	}
	text := fmt.Sprintf("[attempt %d of %d] ", len(c.Reports)+1, c.Step.Stage.Attempts)
	if n := last.Rollback; n != nil {
		text += rollbackWords(*n, last.Verification)
	} else {
		text += "Your previous attempt did not count: " + last.Record.Message
	}
	if len(c.Reports) > 1 {
		text += fmt.Sprintf(" %d earlier attempt(s) failed and were taken back too.", len(c.Reports)-1)
	}
	if c.Step.Stage.Agent && !last.Record.RolledBack && last.Record.Effect != tool.EffectNone {
		return text + " What your calls did before may stand. Look at the present state first, and do what is missing, so that every check holds."
	}
	return text + " Whatever you remember of your earlier work is not there any more. Look at the present state, and do the work again, so that every check holds."
}
