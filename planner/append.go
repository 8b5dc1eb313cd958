package planner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"toolsvc/tool"
)

// MaxAppend bounds the calls of one Append.
const MaxAppend = 100

// Append puts calls into the queue of a run that is there, in order, and returns their identifiers without waiting for them: each is in
// Temporal when Append returns. All payloads are validated first; when one is invalid and may not be corrected in the run, none is appended,
// and the error is a *[PlanError] with all mistakes of all calls. With an idempotency key, a repeated Append returns the calls of the first
// one and appends what that one did not come to; the same key with other calls is store.ErrKeyReused.
//
// When a call is refused behind others that were accepted, the error says how many were: [ErrRunFull], [ErrRunEnded], [ErrUnavailable]. With [ErrNoRoom]
// none was.
func (s *Service) Append(ctx context.Context, runID string, reqs []tool.Request, idempotencyKey string) (callIDs []string, err error) {
	if err := s.room(); err != nil {
		return nil, err
	}
	st, err := s.State(ctx, runID)
	if err != nil {
		return nil, err
	}
	steps := make([]Step, len(reqs))
	bad := &PlanError{}
	var digests strings.Builder
	for i, req := range reqs {
		req.RunID, req.Policy = runID, &st.Policy
		step, rejected, err := s.Prepare(req, st.Language)
		if rejected != nil {
			correctable, cerr := s.correctable(ctx, req)
			switch {
			case cerr != nil:
				return nil, cerr
			case correctable:
				step, rejected = draftOf(s.Registry.Lookup(req.Tool), req, rejected), nil
			}
		}
		if err != nil || rejected != nil {
			se := StepError{Number: i + 1, Tool: req.Tool, Err: err}
			if rejected != nil {
				se.Issues = rejected.RetryHint.Fields().Issues
			}
			bad.Steps = append(bad.Steps, se)
			continue
		}
		steps[i] = step
		digests.WriteString(CallDigest(req.Tool, req.Arguments))
	}
	if len(bad.Steps) > 0 {
		return nil, bad
	}
	first, repeated := tool.NewCallID(), false
	if idempotencyKey != "" {
		if s.Keys == nil {
			return nil, ErrNoKeys
		}
		claim, won, err := s.Keys.ClaimKey(ctx, idempotencyKey, first, runID, tool.Digest([]byte(runID+digests.String())))
		if err != nil {
			return nil, err
		}
		first, repeated = claim.CallID, !won
	}
	for i := range steps {
		id := first
		if i > 0 {
			id = callIDOf(runID, i, first)
		}
		steps[i].CallID = id
		callIDs = append(callIDs, id)
	}
	if repeated && allOf(st, callIDs) {
		return callIDs, nil
	}
	for i, step := range steps {
		if err := s.accept(ctx, runID, step); err != nil {
			if i > 0 {
				err = fmt.Errorf("%w; the first %d calls of %d were accepted: %s", err, i, len(steps), strings.Join(callIDs[:i], ", "))
			}
			return callIDs[:i], err
		}
	}
	return callIDs, nil
}

// accept puts one call into the queue of the run.
func (s *Service) accept(ctx context.Context, runID string, step Step) error {
	step, err := s.Sealer.seal(belonging(ctx, step))
	if err != nil {
		return err
	}
	var handle client.WorkflowUpdateHandle
	err = s.whileRoom(ctx, runID, func(ctx context.Context) (err error) {
		handle, err = s.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{WorkflowID: runID, UpdateID: step.CallID, UpdateName: UpdateCall, Args: []any{step},
			WaitForStage: client.WorkflowUpdateStageAccepted})
		return err
	})
	var full *serviceerror.ResourceExhausted // a cluster that bounds the calls under way more tightly than MaxQueued
	switch {
	case errors.As(err, &full):
		return fmt.Errorf("%w: %s", ErrRunFull, full.Message)
	case err != nil:
		return s.ended(ctx, runID, explain(err))
	}
	// A refusal is known by now, but only Get tells it; a call that was accepted is not waited for.
	now, cancel := context.WithCancel(ctx)
	cancel()
	var app *temporal.ApplicationError
	if err := handle.Get(now, nil); errors.As(err, &app) {
		return explain(err)
	}
	return nil
}

func allOf(st *State, callIDs []string) bool {
	for _, id := range callIDs {
		if !slices.ContainsFunc(st.Steps, func(x StepState) bool { return x.CallID == id }) {
			return false
		}
	}
	return true
}

// Ended reports whether the run is over, by whatever cause; also one that somebody terminated in Temporal, whose state does not say so.
// When it is, all of its events are written. Errors: [ErrUnknownRun], [ErrUnavailable].
func (s *Service) Ended(ctx context.Context, runID string) (bool, error) {
	d, err := s.Client.DescribeWorkflowExecution(ctx, runID, "")
	if err != nil {
		return false, explain(err)
	}
	return d.GetWorkflowExecutionInfo().GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}

// ended turns Temporal's "not found" for a run that is over, but there, into [ErrRunEnded].
func (s *Service) ended(ctx context.Context, runID string, err error) error {
	if !errors.Is(err, ErrUnknownRun) {
		return err
	}
	if over, derr := s.Ended(ctx, runID); derr == nil && over {
		return ErrRunEnded
	}
	return err
}
