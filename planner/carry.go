package planner

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"toolsvc/tool"
)

// Kept is what decisions still need of a call's result when its run goes on in a new history. The result itself stays in the event log.
type Kept struct {
	// Left is what the call has left in the world.
	Left tool.Effect `json:"left,omitempty"`
	// Failure, Message (clipped) and Reason say how it failed, RetryAfterMS when it may be tried again, and Restrict that only its tool was to be
	// called next; empty when it did not fail.
	Failure      tool.Failure `json:"failure,omitempty"`
	Message      string       `json:"message,omitempty"`
	Reason       tool.Reason  `json:"reason,omitempty"`
	RetryAfterMS int64        `json:"retry_after_ms,omitempty"`
	Restrict     bool         `json:"restrict,omitempty"`
	// Attempts counts its attempts, and Source is that of the last one.
	Attempts int         `json:"attempts,omitempty"`
	Source   tool.Source `json:"source,omitempty"`
}

// kept is what is known of the result of a step, in whichever history it ended; nil of a step that has not ended, or was never made.
func (st *StepState) kept() *Kept {
	switch {
	case st.Result != nil:
		return keep(st)
	case st.Kept != nil:
		return st.Kept
	case st.Status == StatusVerified: // carried by a version that kept nothing: whatever it may have done counts as done
		return &Kept{Left: tool.EffectConfirmed}
	case st.Status == StatusFailed:
		return &Kept{Left: tool.EffectUnknown, Reason: tool.ReasonOutcomeUnknown}
	}
	return nil
}

// keep reads a step's result.
func keep(st *StepState) *Kept {
	res := st.Result
	k := &Kept{Left: tool.EffectNone, Attempts: len(res.Attempts)}
	for _, a := range res.Attempts {
		k.Source = a.Source
		switch {
		case a.RolledBack || a.Effect == tool.EffectNone:
		case a.Effect == tool.EffectUnknown && st.Status != StatusVerified:
			k.Left = tool.EffectUnknown
		case k.Left == tool.EffectNone:
			k.Left = tool.EffectConfirmed
		}
	}
	if res.Error != nil {
		k.Failure, k.Message = res.Error.Code, res.Error.Message
	}
	if h := res.RetryHint; h != nil {
		k.Reason, k.RetryAfterMS, k.Restrict = h.Reason(), h.Fields().RetryAfterMS, h.Fields().RestrictToTool
	}
	return k
}

// suggested reports that the history has grown long, and that nothing stands in the way of going on in a new one.
func (r *run) suggested(ctx workflow.Context) bool {
	return workflow.GetInfo(ctx).GetContinueAsNewSuggested() && workflow.AllHandlersFinished(ctx) && len(r.state.Questions) == 0 && r.question == nil
}

// changeRest is the version from which a run goes on in a new history while it waits for calls. A call that has come holds its handler until it
// has ended, so a caller's run has no other moment for that.
const changeRest = "new-history-at-rest"

// restsInLongHistory reports whether the run, which has nothing to do, is to go on in a new history before the next call comes.
func (r *run) restsInLongHistory(ctx workflow.Context) (bool, error) {
	if !workflow.GetInfo(ctx).GetContinueAsNewSuggested() || workflow.GetVersion(ctx, changeRest, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return false, nil
	}
	// The caller of the latest call is about to get its result.
	if err := workflow.Await(ctx, func() bool { return len(r.pending) > 0 || workflow.AllHandlersFinished(ctx) }); err != nil {
		return false, err
	}
	return len(r.pending) == 0 && r.suggested(ctx), nil
}

// goOnInNewHistory lets the run go on in a new history.
func (r *run) goOnInNewHistory(ctx workflow.Context) error {
	return workflow.NewContinueAsNewError(ctx, WorkflowRun, r.rest())
}

// rest is the input of what is left of the run: the state, without the results, which are in the event store, and the calls that wait. Of a call
// whose arguments a person or a model has corrected meanwhile it is the corrected form, so that nobody is asked again.
func (r *run) rest() Input {
	in := r.in
	in.Steps = slices.Clone(r.pending)
	for i, s := range in.Steps {
		if p := r.drafts[s.CallID]; p != nil && p.err == nil && p.no == nil {
			in.Steps[i] = p.step
		}
	}
	carried := r.state
	carried.Steps = nil
	for _, st := range r.state.Steps {
		if st.Status.Ended() {
			carried.Steps = append(carried.Steps, st.withoutResult())
		}
	}
	in.Carried = &carried
	return in
}

// withoutResult is the step with what is kept of its result.
func (st StepState) withoutResult() StepState {
	if k := st.kept(); k != nil {
		small := *k
		small.Message = clip(small.Message)
		st.Kept = &small
	}
	st.Result = nil
	return st
}
