package planner

import (
	"encoding/json"
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
	// ResultSchema is what the agent's answer has to be, for a tool that an agent backs; empty when any words will do.
	ResultSchema json.RawMessage `json:"result_schema,omitempty"`
}

// StageInput is what the activities of a stage work from.
type StageInput struct {
	Attempt AttemptInput `json:"attempt"`
	// Before is the digest of the evidence from before the attempt.
	Before string `json:"before,omitempty"`
	// Child is what the stage's run came to.
	Child StageOutcome `json:"child,omitzero"`
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
	sctx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: stageCheckLimit,
		HeartbeatTimeout:    heartbeatTimeout,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 500 * time.Millisecond, MaximumInterval: 10 * time.Second, MaximumAttempts: 20},
		Summary:             clip(fmt.Sprintf("stage %d/%d, attempt %d: check what must hold before %s, and back up", in.Number, in.Steps, in.Plan.Number, in.Step.Title)),
	})
	var begun StageBegun
	if err := workflow.ExecuteActivity(sctx, activityStageBegin, StageInput{Attempt: in}).Get(ctx, &begun); err != nil || !begun.Ready {
		return begun.Report, err
	}
	out, cancelled := r.child(ctx, in, c)
	if cancelled != nil {
		out.Ended, out.Why = false, "it was cancelled"
	}
	c.Children += out.Calls
	r.state.Tokens += out.Tokens
	c.Spent += out.Tokens
	c.Conversation, c.Base = out.Conversation, out.Base
	dctx, done := workflow.NewDisconnectedContext(ctx) // what has begun is judged, and taken back where it has to be, although the run is cancelled
	defer done()
	ectx := workflow.WithActivityOptions(dctx, workflow.ActivityOptions{
		StartToCloseTimeout: stageCheckLimit,
		HeartbeatTimeout:    heartbeatTimeout,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 500 * time.Millisecond, MaximumInterval: 10 * time.Second, MaximumAttempts: 20},
		Summary:             clip(fmt.Sprintf("stage %d/%d, attempt %d: check what must hold after %s", in.Number, in.Steps, in.Plan.Number, in.Step.Title)),
	})
	var rep Report
	err := workflow.ExecuteActivity(ectx, activityStageEnd, StageInput{Attempt: in, Before: begun.Before, Child: out}).Get(ectx, &rep)
	if cancelled != nil {
		return rep, cancelled
	}
	return rep, err
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
		Policy: within(st.Policy, pipeline), Steps: st.Steps, Parent: r.in.RunID, NoHealing: r.in.NoHealing}
	if st.Goal != "" {
		ci.Kind, ci.Goal, ci.Instructions = KindGemini, st.Goal, st.Instructions
		ci.Conversation, ci.Skip, ci.Notice = c.Conversation, c.Base, c.notice()
	}
	limit := DefaultStageLimit
	if ms := ci.Policy.TimeBudgetMS; ms > 0 {
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
	err := workflow.ExecuteChildWorkflow(cctx, WorkflowRun, ci).Get(ctx, &st2)
	switch {
	case err != nil && (temporal.IsCanceledError(err) || ctx.Err() != nil):
		return out, err
	case err != nil:
		out.Why = "its run broke off: " + err.Error()
		return out, nil
	}
	out.Calls, out.Tokens, out.Ended = len(st2.Steps), st2.Tokens, st2.Outcome == OutcomeSucceeded
	if p := st2.Planning; p != nil { // an agent is done when it says so; the conditions decide whether that is true
		out.Answer, out.Conversation, out.Base, out.Ended = p.Answer, p.Conversation, p.Base, p.Finalized == "" && p.Answer != ""
		out.Why = p.Finalized
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
		if s.Status == StatusFailed && s.Result != nil && s.Result.Error != nil {
			return fmt.Sprintf(": step %d (%s) failed with %s: %s", i+1, s.Tool, s.Result.Error.Code, s.Result.Error.Message)
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
	text := fmt.Sprintf("[attempt %d of %d] ", len(c.Reports)+1, c.Step.Stage.Attempts)
	if n := last.Rollback; n != nil {
		text += rollbackWords(*n, last.Verification)
	} else {
		text += "Your previous attempt did not count: " + last.Record.Message
	}
	if len(c.Reports) > 1 {
		text += fmt.Sprintf(" %d earlier attempt(s) failed and were taken back too.", len(c.Reports)-1)
	}
	return text + " Whatever you remember of your earlier work is not there any more. Look at the present state, and do the work again, so that every check holds."
}
