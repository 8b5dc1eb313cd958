//go:build linux

package terminal

import (
	"context"
	"errors"
	"fmt"

	"toolsvc/executors/terminal/supervise"
	gen "toolsvc/gen/toolsets/terminal"
	"toolsvc/tool"
)

// begin makes the attempt that belongs to the call's payload.
func (x *Executor) begin(call *tool.Call, plan tool.Plan) (tool.Attempt, error) {
	key := fmt.Sprintf("%s/%d", call.ID, plan.Number)
	base := attempt{x: x, call: call, key: key}
	switch p := call.Args.(type) {
	case *gen.RunPayload:
		return &runAttempt{attempt: base, args: p, dir: x.runDir(call, plan.Number)}, nil
	case *gen.OpenPayload, *gen.TypePayload, *gen.PressPayload, *gen.ReadPayload, *gen.ClosePayload:
		return &sessionAttempt{attempt: base, act: sessionAction(p)}, nil
	}
	return nil, tool.Failf(tool.Internal, "the terminal executor has no tool %s", call.Spec.ID)
}

// attempt is what attempts have in common.
type attempt struct {
	x    *Executor
	call *tool.Call
	key  string // CALL/NUMBER
	// dispatched: the command may have been started, or the input sent.
	dispatched bool
	settled    bool
}

// runDir is where the supervisor of an attempt at terminal.run lives.
func (x *Executor) runDir(call *tool.Call, number int) string {
	return x.dir("runs", fmt.Sprintf("%s-%d", short(call.RunID+"\x00"+call.ID), number))
}

// sessionsOf is where the supervisors of a run's sessions live.
func (x *Executor) sessionsOf(runID string) string { return x.dir("sessions", short(runID)) }

// short is a name for a file that stands for any text.
func short(s string) string { return tool.Digest([]byte(s))[len("sha256:"):][:32] }

// effectEvidence is the value "effect" of evidence.
func effectEvidence(delivered, changed bool, proof string) map[string]any {
	return map[string]any{"delivered": delivered, "changed": changed, "mutations": 0, "requests": 0, "navigated": false, "pixels": 0.0, "proof": proof}
}

// evidence begins evidence with what all attempts observe.
func (a *attempt) evidence(ctx context.Context, needs tool.Needs) (*tool.Evidence, error) {
	docs, err := a.x.documents(ctx, needs)
	if err != nil {
		return nil, err
	}
	e := &tool.Evidence{Values: map[string]any{}}
	if docs != nil {
		e.Values["documents"] = docs
	}
	return e, nil
}

// notStarted names why nothing was started.
func notStarted(err *supervise.NotStarted, what string) *tool.Failed {
	switch {
	case err.Again:
		// The journal does not let this happen; if it does, the earlier dispatch is what counts.
		return &tool.Failed{Failure: tool.OutcomeUnknown, Dispatched: true, Cause: err, Message: "A command was started for this attempt before, so it is not started again."}
	case err.Missing:
		return &tool.Failed{Failure: tool.ToolUnavailable, What: what, Cause: err, Message: fmt.Sprintf("%s could not be started, because it is not there: %v.", what, err)}
	}
	return &tool.Failed{Failure: tool.ToolUnavailable, What: what, Cause: err, Message: fmt.Sprintf("%s could not be started: %v.", what, err)}
}

// ctxFailed names an error that came because the attempt's time ran out, or it was cancelled.
func ctxFailed(ctx context.Context, dispatched bool, what string) *tool.Failed {
	f := tool.Failf(tool.Cancelled, "%s was cancelled: %w", what, context.Cause(ctx))
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		f = tool.Failf(tool.Timeout, "%s took too long: %w", what, context.Cause(ctx))
	}
	f.Dispatched = dispatched
	return f
}
