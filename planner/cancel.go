package planner

import (
	"context"
	"errors"
	"slices"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"toolsvc/tool"
)

// UpdateCancel ends one call of a run; see [Service.CancelCall].
const UpdateCancel = "cancel_call"

// CancelCall asks one call of a run to end; its run and the run's other calls go on. A call that waits in the queue is not made, and a
// question about it is closed. One that is being made is interrupted: what it had not dispatched is not dispatched, what it had is taken
// back or observed as after a lost worker, and its Result says what is known of its effect. A call that has ended stays as it is.
//
// It returns when the call has been told, which may be before its end. Errors: [ErrUnknownCall], [ErrUnknownRun], [ErrUnavailable].
func (s *Service) CancelCall(ctx context.Context, runID, callID string) error {
	err := explain(s.update(ctx, runID, UpdateCancel, callID, nil))
	if errors.Is(err, ErrUnknownRun) || errors.Is(err, ErrRunEnded) {
		st, serr := s.State(ctx, runID)
		switch {
		case serr != nil:
			return serr
		case slices.ContainsFunc(st.Steps, func(x StepState) bool { return x.CallID == callID }):
			return nil // the run has ended, and the call with it
		default:
			return ErrUnknownCall
		}
	}
	return err
}

// Words of calls that were cancelled before anything was done.
const (
	neverMade     = "The call was cancelled, so it was not made."
	notDispatched = "The call was cancelled before anything was dispatched."
)

func (r *run) admitCancel(_ workflow.Context, callID string) error {
	if r.find(callID) == nil {
		return temporal.NewApplicationError("the run has no such call", errUnknownCall)
	}
	return nil
}

// cancelCall is what UpdateCancel does.
func (r *run) cancelCall(ctx workflow.Context, callID string) error {
	if st := r.find(callID); st.Result != nil || st.Status.Ended() {
		return nil
	}
	if cancel := r.drafting[callID]; cancel != nil {
		cancel()
	}
	if callID == r.inHand {
		r.cancelled[callID] = true
		r.cancelHand()
		return nil
	}
	i := slices.IndexFunc(r.pending, func(s Step) bool { return s.CallID == callID })
	if i < 0 {
		return nil
	}
	s := r.pending[i]
	r.pending = slices.Concat(r.pending[:i], r.pending[i+1:])
	c := Conclusion{RunID: r.in.RunID, Step: s, Queued: workflow.Now(ctx).Sub(r.arrived[callID]), Refused: neverMade,
		Decision: Decision{Action: ActionStop, Failure: tool.Cancelled, Why: "the call was cancelled"},
		Link:     &tool.RunLink{WorkflowID: workflow.GetInfo(ctx).WorkflowExecution.ID}}
	delete(r.arrived, callID)
	res, err := r.publish(ctx, Publication{Number: 1 + r.index[callID], Ended: &c})
	if err != nil {
		return err
	}
	delete(r.drafts, callID)
	st := r.find(callID)
	st.Result, st.Status = res, StatusFailed
	if asExpected(s, res) {
		st.Status = StatusVerified
	}
	r.settle(callID)
	return nil
}

// onlyThis reports that an error comes of the call's being cancelled, and not of the end of its run.
func (r *run) onlyThis(outer workflow.Context, callID string, err error) bool {
	return r.cancelled[callID] && outer.Err() == nil && temporal.IsCanceledError(err)
}

// afterCancel finds out what became of an attempt whose call was cancelled: an effect that is not known is observed, as after a lost
// worker, so that the next call finds a world of which something is known.
func (r *run) afterCancel(ctx workflow.Context, in AttemptInput, rep Report, err error) Report {
	if err == nil && (!rep.Record.Phase.Dispatched() || rep.Record.Effect != tool.EffectUnknown || rep.Record.RolledBack) {
		return rep
	}
	dctx, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	in.After = tool.Cancelled
	seen, rerr := r.reconcile(dctx, in)
	switch {
	case rerr != nil:
		seen = begun(in)
		seen.Record.Phase, seen.Record.Effect = tool.PhaseDispatched, tool.EffectUnknown
		seen.Record.Message = "The call was cancelled, and what became of it could not be observed: " + rerr.Error()
	case seen.Record.Failure == "": // it had come to its end, as evidence shows
		seen.Record.DurationMS += rep.Record.DurationMS
		return seen
	case !seen.Record.Phase.Dispatched():
		seen.Record.Message = notDispatched
	}
	seen.Record.DurationMS += rep.Record.DurationMS
	seen.Record.Failure = tool.Cancelled
	seen.Error = tool.NewError(tool.Cancelled, seen.Record.Message)
	return seen
}

// stopped is the report of an attempt that is not made, because its call was cancelled.
func stopped(in AttemptInput) Report {
	rep := begun(in)
	rep.Record.Failure, rep.Record.Message = tool.Cancelled, notDispatched
	rep.Error = tool.NewError(tool.Cancelled, notDispatched)
	return rep
}
