package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"toolsvc/tool"
)

// Conclusion is all that a step's Result is made from.
type Conclusion struct {
	RunID    string        `json:"run_id"`
	Step     Step          `json:"step"`
	Reports  []Report      `json:"reports"`
	Decision Decision      `json:"decision"`
	Queued   time.Duration `json:"queued"`
	Took     time.Duration `json:"took"`
	// Refused says why no attempt was made; "" when there are reports, or when the payload does not validate.
	Refused string `json:"refused,omitempty"`
	// Waits counts the rounds before the latest attempt, and Waited is how long they took.
	Waits  int           `json:"waits,omitempty"`
	Waited time.Duration `json:"waited,omitempty"`
	// Children counts the calls that a stage's runs made, Spent their tokens, of which SpentOutput were the model's own, and Runs are they.
	Children    int            `json:"children,omitempty"`
	Spent       int64          `json:"spent,omitempty"`
	SpentOutput int64          `json:"spent_output,omitempty"`
	Model       string         `json:"model,omitempty"`
	Runs        []tool.RunLink `json:"runs,omitempty"`
	// Open is the work that is done, but not answered for yet; nil when there is none.
	Open *Opened `json:"open,omitempty"`
	// Conversation is that of the latest attempt's agent, and Base how many of its messages are from earlier attempts.
	Conversation string        `json:"conversation,omitempty"`
	Base         int           `json:"base,omitempty"`
	Link         *tool.RunLink `json:"link,omitempty"`
}

// Conclude makes the Result of a step. It is the only place where a run's results are made; a result that would break the contract
// becomes an internal error instead.
func Conclude(spec *tool.Spec, c Conclusion) *tool.Result {
	r := &tool.Result{CallID: c.Step.CallID, RunID: c.RunID, Tool: c.Step.Tool, Repairs: shownRepairs(c.Step), RunLink: c.Link, ChildrenCount: c.Children, ChildRuns: c.Runs,
		Telemetry: tool.Telemetry{Model: cmp.Or(c.Model, c.Step.Model), InputTokens: c.Spent - c.SpentOutput, OutputTokens: c.SpentOutput, DurationMS: c.Took.Milliseconds(), QueuedMS: c.Queued.Milliseconds(), WaitedMS: c.Waited.Milliseconds()}}
	spec = spec.Concealing(c.Step.Concealed...)
	if len(c.Reports) == 0 {
		return refused(spec, c, r)
	}
	last := c.Reports[len(c.Reports)-1]
	for _, rep := range c.Reports {
		r.Attempts = append(r.Attempts, rep.Record)
		r.Telemetry.InputTokens += rep.Usage.InputTokens
		r.Telemetry.OutputTokens += rep.Usage.OutputTokens
		if v := rep.Verification; v != nil && v.Opinion != nil {
			r.Telemetry.Model = v.Opinion.Model
		}
	}
	if c.Decision.Action == ActionDone {
		r.Result, r.Verification = last.Result, last.Verification
		if err := r.Validate(); err == nil {
			return r
		} else {
			c.Decision = Decision{Action: ActionStop, Failure: tool.Internal, Why: err.Error()}
			r.Result, r.Verification = nil, nil
			last.Error = tool.NewErrorWithCause(tool.Internal, "toolsvc made a result that breaks its own contract, so it is not passed on.", err)
		}
	}
	told := telling(c.Reports, c.Decision.Failure)
	r.Verification = told.Verification
	if v := r.Verification; v != nil && v.Verdict == tool.VerdictSuccess {
		r.Verification = nil // an error beside a success would contradict it; only the internal error above leads here
	}
	r.Error = &tool.Error{Code: c.Decision.Failure, Message: failedMessage(c, told), Cause: told.Error}
	if last.Error != nil && c.Decision.Failure == tool.Internal {
		r.Error.Cause = last.Error
	}
	if cause := r.Error.Cause; cause != nil && cause.Code == r.Error.Code && cause.Message == r.Error.Message { // it says nothing more
		r.Error.Cause = cause.Cause
	}
	r.RetryHint = hint(spec, c, told).WithRollback(told.Rollback)
	return r
}

// refused completes the Result of a call of which no attempt was made.
func refused(spec *tool.Spec, c Conclusion, r *tool.Result) *tool.Result {
	f := c.Decision.Failure
	if d := c.Step.Draft; d != nil && f != tool.Cancelled {
		r.RetryHint = tool.HintArguments(spec, d.Issues, d.Payload)
		msg := r.RetryHint.Fields().Message
		if c.Refused != "" {
			msg = c.Refused + " " + msg
		}
		r.Error = &tool.Error{Code: f, Message: msg, Cause: tool.ErrorFrom(d.Issues)}
		return r
	}
	r.Error = tool.NewError(f, c.Refused)
	r.RetryHint = tool.HintStop(spec.ID, f.Reason(), c.Refused)
	return r
}

// telling is the report that shows the failure which decided: the latest, or of a target that is not there, one that says what there is instead.
func telling(reports []Report, f tool.Failure) Report {
	told := reports[len(reports)-1]
	for _, r := range slices.Backward(reports) {
		if r.Record.Failure != f {
			continue
		}
		if told.Record.Failure != f || f == tool.TargetNotFound && len(told.Candidates) == 0 && len(r.Candidates) > 0 { // what there is instead says more
			told = r
		}
	}
	return told
}

// failedMessage says in one or two sentences what failed and what was tried.
func failedMessage(c Conclusion, told Report) string {
	msg := told.Record.Message
	if msg == "" {
		msg = fmt.Sprintf("%s failed: %s.", c.Step.Tool, c.Decision.Failure)
	}
	if len(c.Reports) < 2 {
		return msg
	}
	if c.Step.Stage != nil {
		return fmt.Sprintf("%s That was attempt %d; the ones before failed too.", msg, len(c.Reports))
	}
	var tried []string
	for _, r := range c.Reports {
		tried = append(tried, fmt.Sprintf("%s: %s", r.Record.Source.Badge(), r.Record.Failure))
	}
	return fmt.Sprintf("%s Tried %d times (%s).", msg, len(c.Reports), strings.Join(tried, "; "))
}

// hint makes the RetryHint that belongs to how the step ended.
func hint(spec *tool.Spec, c Conclusion, told Report) *tool.RetryHint {
	f, args, msg := c.Decision.Failure, []byte(c.Step.Arguments), told.Record.Message
	if msg == "" {
		msg = string(f)
	}
	standing := told.Record.Phase.Dispatched() && told.Record.Effect != tool.EffectNone && !told.Record.RolledBack && !c.Step.Class.Repeatable()
	if standing && f != tool.PolicyDenied && f != tool.ConfirmationRequired {
		return tool.HintUnknown(spec.ID, "Something was done and was not undone. Look at the state before doing anything else. "+msg, told.Rollback)
	}
	switch r := f.Reason(); r {
	case tool.ReasonTargetNotFound, tool.ReasonAmbiguousTarget, tool.ReasonWrongTarget, tool.ReasonNoEffect, tool.ReasonPreconditionFailed:
		return tool.HintTarget(spec, r, msg, told.Candidates, args)
	case tool.ReasonVerificationFailed, tool.ReasonPostconditionFailed:
		notice := tool.RollbackNotice{RestoredTo: "nothing was rolled back"}
		if told.Rollback != nil {
			notice = *told.Rollback
		}
		if told.Verification != nil {
			notice.FailedChecks = told.Verification.Failed()
		}
		return tool.HintVerification(spec, r, msg, notice, args)
	case tool.ReasonOutcomeUnknown:
		return tool.HintUnknown(spec.ID, msg, told.Rollback)
	case tool.ReasonTimeout, tool.ReasonRateLimited, tool.ReasonToolUnavailable:
		return tool.HintWait(spec.ID, r, msg, time.Duration(told.RetryAfterMS)*time.Millisecond)
	case tool.ReasonMalformedResponse:
		return tool.HintMalformedResponse(spec.ID, told.Issues)
	case tool.ReasonInvalidArguments, tool.ReasonMissingFields: // found by the tool itself, in a payload that keeps its schema
		issues := told.Issues
		if len(issues) == 0 {
			issues = tool.Issues{{Constraint: tool.ConstraintTool, Message: msg}}
		}
		return tool.HintArguments(spec, issues, args)
	default:
		return tool.HintStop(spec.ID, r, msg)
	}
}
