package workspace

import (
	"context"
	"errors"
	"fmt"

	"toolsvc/tool"
)

// Executor lets another executor's attempts be taken back: the folder is backed up before each dispatch that may write, looked at when the
// action has settled, and restored when the attempt is rolled back. It covers whatever a shell command changed in the folder, and nothing
// outside of it.
type Executor struct {
	inner     tool.Executor
	workspace *Workspace
}

// What the planner asks an executor for by interface.
var (
	_ tool.Executor   = (*Executor)(nil)
	_ tool.Reconciler = (*Executor)(nil)
	_ tool.Releaser   = (*Executor)(nil)
)

// Guard guards an executor's attempts. What it is besides (tool.Reconciler, tool.Releaser) it stays.
func (w *Workspace) Guard(inner tool.Executor) tool.Executor {
	return &Executor{inner: inner, workspace: w}
}

// Applies implements tool.Executor.
func (g *Executor) Applies(call *tool.Call, source tool.Source) bool {
	return g.inner.Applies(call, source)
}

// Close implements tool.Releaser.
func (g *Executor) Close(ctx context.Context, runID string) error {
	if r, ok := g.inner.(tool.Releaser); ok {
		return r.Close(ctx, runID)
	}
	return nil
}

// Begin implements tool.Executor.
func (g *Executor) Begin(ctx context.Context, call *tool.Call, plan tool.Plan) (tool.Attempt, error) {
	att, err := g.inner.Begin(ctx, call, plan)
	if err != nil {
		return nil, err
	}
	return &guarded{Attempt: att, workspace: g.workspace, call: call, number: plan.Number}, nil
}

// Reconcile implements tool.Reconciler. An inner executor that cannot find out what became of a lost dispatch leaves it unknown.
func (g *Executor) Reconcile(ctx context.Context, call *tool.Call, before *tool.Evidence) (tool.Attempt, tool.Outcome, error) {
	rec, ok := g.inner.(tool.Reconciler)
	if !ok {
		return nil, tool.Outcome{Effect: tool.EffectUnknown}, &tool.Failed{Failure: tool.OutcomeUnknown, Dispatched: true,
			Message: "the worker was lost after the dispatch, and nothing tells what became of it"}
	}
	att, out, err := rec.Reconcile(ctx, call, before)
	if err != nil {
		return nil, out, err
	}
	lost := &guarded{Attempt: att, workspace: g.workspace, call: call}
	for n := maxAttempts; n > 0; n-- { // the latest one that was begun
		if token := TokenOf(call.ID, n); g.workspace.Observe(ctx, token) == nil {
			lost.token, lost.number = token, n
			break
		}
	}
	return lost, out, nil
}

// maxAttempts is how many attempts a call can have had.
const maxAttempts = 3

// guarded is an attempt that can be taken back.
type guarded struct {
	tool.Attempt
	workspace *Workspace
	call      *tool.Call
	number    int
	token     Token // "" while there is no backup
	kept      bool  // the backup stays: somebody has to look at it
}

// onlyReads reports whether no call of the tool may write.
func onlyReads(s *tool.Spec) bool {
	return s != nil && s.Effect == tool.ReadOnly && len(s.EffectRules) == 0
}

// Dispatch backs the folder up, unless the tool only reads, then dispatches.
func (a *guarded) Dispatch(ctx context.Context) error {
	if onlyReads(a.call.Spec) {
		return a.Attempt.Dispatch(ctx)
	}
	token, err := a.workspace.Begin(ctx, a.call.RunID, a.call.ID, a.number)
	if err != nil {
		return &tool.Failed{Failure: tool.ToolUnavailable, Cause: err,
			Message: fmt.Sprintf("the workspace could not be backed up, so nothing was done: %v", err)}
	}
	a.token = token
	err = a.Attempt.Dispatch(ctx)
	if f := new(tool.Failed); errors.As(err, &f) && f.Dispatched || err != nil && !errors.As(err, &f) {
		err = errors.Join(err, a.workspace.Observe(context.WithoutCancel(ctx), token))
	}
	return err
}

// Settle looks at what the attempt left as soon as it has come to rest: what changes later is somebody else's.
func (a *guarded) Settle(ctx context.Context) (tool.Outcome, error) {
	out, err := a.Attempt.Settle(ctx)
	if a.token == "" {
		return out, err
	}
	if oerr := a.workspace.Observe(context.WithoutCancel(ctx), a.token); oerr != nil && err == nil {
		err = &tool.Failed{Failure: tool.OutcomeUnknown, Dispatched: true, Cause: oerr, Message: "what the action changed in the workspace cannot be told: " + oerr.Error()}
	}
	return out, err
}

// Rollback restores the folder.
func (a *guarded) Rollback(ctx context.Context) (tool.Rollback, error) {
	if a.token == "" {
		return a.Attempt.Rollback(ctx)
	}
	rb, err := a.workspace.Rollback(ctx, a.token)
	a.kept = err != nil || !rb.Performed
	return rb, err
}

// Learn implements tool.Learner where the guarded attempt does.
func (a *guarded) Learn(ctx context.Context, verdict tool.Verdict) error {
	if l, ok := a.Attempt.(tool.Learner); ok {
		return l.Learn(ctx, verdict)
	}
	return nil
}

// Close drops the backup, unless a rollback was refused: then it stays for [Options.MaxAge], so that a person can look.
func (a *guarded) Close() error {
	err := a.Attempt.Close()
	if a.token == "" || a.kept {
		return err
	}
	if cerr := a.workspace.Commit(context.Background(), a.token); cerr != nil && !errors.Is(cerr, ErrUnknown) {
		err = errors.Join(err, fmt.Errorf("drop the backup of the workspace: %w", cerr))
	}
	return err
}

// RollbackAfterError implements tool.Transactional: there is a backup, whatever the action ended in.
func (a *guarded) RollbackAfterError() bool { return a.token != "" }
