package planner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"toolsvc/repair"
	"toolsvc/store"
	"toolsvc/tool"
	"toolsvc/verification"
)

// Activities are the effects of runs. One value serves all runs of a worker.
type Activities struct {
	Registry  *tool.Registry
	Executors map[string]tool.Executor // by toolset
	Journal   Journal
	Artifacts Artifacts
	Events    Events
	// Backups take the workspace back when a stage fails, and Documents look at the files that its conditions name; nil without a
	// workspace.
	Backups   Backups
	Documents Documents
	// Sealer opens the arguments of calls; nil when they are not sealed.
	Sealer *Sealer
	// Log reads the results of calls for the planner.
	Log EventLog
	// Planner plans runs with a goal; nil when there is no model.
	Planner Planner
	// Verifier says what the conditions leave open; nil when there is no model.
	Verifier Verifier
	// Repairer lets a model correct payloads; nil when there is no model.
	Repairer repair.Repairer
	// Worker names this worker among several that serve one Temporal, the same after a restart; "" when there is only one. Shared are the
	// toolsets whose tools see the same world from every worker; what others see is with one of them.
	Worker string
	Shared map[string]bool
	// RunURL leads to a run in Temporal's UI; nil when there is none.
	RunURL func(workflowID string) string
	// Tracer makes the spans of attempts; nil makes none.
	Tracer trace.Tracer

	breakers breakers
	handover handover
}

// Attempt makes one attempt at a step. Temporal makes it once: if the worker dies meanwhile, Reconcile follows.
func (a *Activities) Attempt(ctx context.Context, in AttemptInput) (Report, error) {
	ctx, span := a.spanOf(ctx, "attempt", in)
	defer span.End()
	rep, err := a.with(ctx, in, func(ctx context.Context, at *attempter, exec tool.Executor, call *tool.Call, conds *verification.Conditions) Report {
		a.narrate(ctx, in.RunID, attemptBegan(in)...)
		rep, err := a.breakers.guard(call.Spec.ID.Toolset(), func() Report { return at.attempt(ctx, exec, call, conds, in) })
		if err != nil {
			return begun(in).failed(ctx, err)
		}
		return rep
	})
	reported(span, rep)
	if err != nil {
		return rep, err
	}
	return givenBack(ctx, rep)
}

// Reconcile finds out what became of an attempt whose worker died. It only observes, so Temporal may repeat it.
func (a *Activities) Reconcile(ctx context.Context, in AttemptInput) (Report, error) {
	ctx, span := a.spanOf(ctx, "reconcile", in)
	defer span.End()
	rep, err := a.with(ctx, in, func(ctx context.Context, at *attempter, exec tool.Executor, call *tool.Call, conds *verification.Conditions) Report {
		return at.reconcile(ctx, exec, call, conds, in, a.elsewhere(in))
	})
	reported(span, rep)
	if err == nil && errors.Is(context.Cause(ctx), errHandedOver) && rep.Record.Failure != "" { // it only looked; another worker looks again
		return rep, errHandedOver
	}
	if err == nil && ctx.Err() != nil && rep.Record.Failure != "" { // it was cut off; unless its run is cancelled, Temporal repeats it
		return rep, ctx.Err()
	}
	return rep, err
}

// with readies what both activities need, and keeps the heartbeat going while f works.
func (a *Activities) with(ctx context.Context, in AttemptInput, f func(context.Context, *attempter, tool.Executor, *tool.Call, *verification.Conditions) Report) (Report, error) {
	rep := begun(in)
	spec := a.Registry.Lookup(in.Step.Tool)
	if spec == nil { // another version of toolsvc accepted it
		return rep.failed(ctx, tool.Failf(tool.ToolUnavailable, "this worker has no tool %s", in.Step.Tool)), nil
	}
	exec := a.Executors[spec.ID.Toolset()]
	if exec == nil {
		return rep.failed(ctx, tool.Failf(tool.ToolUnavailable, "this worker cannot run the tools of %s", spec.ID.Toolset())), nil
	}
	var err error
	if in.Step, err = a.Sealer.open(in.Step); err != nil {
		return rep.failed(ctx, err), nil
	}
	payload, issues := spec.Decode(in.Step.Arguments)
	if len(issues) > 0 {
		return rep.failed(ctx, &tool.Failed{Failure: tool.InvalidArguments, Message: issues.Error(), Cause: issues}), nil
	}
	conds, issues := verification.Compile(spec, in.Step.Arguments, payload.Expectations())
	if len(issues) > 0 {
		return rep.failed(ctx, &tool.Failed{Failure: tool.InvalidArguments, Message: issues.Error(), Cause: issues}), nil
	}
	ctx, cancel := context.WithCancel(withCall(ctx, in.RunID, in.Step.CallID))
	defer cancel()
	if a.Worker != "" { // before anything is done, so that a run always knows whom it has lost
		a.alive(ctx)
	}
	go a.beat(ctx)
	at := &attempter{journal: a.Journal, artifacts: a.Artifacts, documents: a.Documents, verifier: available(ctx, a.Verifier), progress: func(ctx context.Context) { a.narrate(ctx, in.RunID, attemptVerifies(in)) }}
	rep = f(ctx, at, exec, &tool.Call{ID: in.Step.CallID, RunID: in.RunID, Step: in.Number, Spec: spec, Args: payload, Raw: in.Step.Arguments}, conds)
	rep.Worker = a.Worker
	if in.Lost != "" && rep.Record.Failure != "" && !rep.Record.Phase.Dispatched() {
		rep.Record.Message += fmt.Sprintf(" The worker %s, which had the run's tab, is gone; the run goes on in an empty one.", in.Lost)
	}
	return rep, nil
}

// begun is the report of an attempt that has done nothing yet.
func begun(in AttemptInput) Report {
	return Report{Record: tool.AttemptRecord{Number: in.Plan.Number, Source: in.Plan.Source, Input: in.Plan.Input, Phase: tool.PhaseStarted, Effect: tool.EffectNone}}
}

// beat reports the activity alive until ctx ends.
func (a *Activities) beat(ctx context.Context) {
	t := time.NewTicker(heartbeatTimeout / 4)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			a.alive(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// Publish writes the events of a moment of the run. Of a step that has ended it also makes the Result, and returns it. It may be
// repeated: each event has a key, and the same key is written once.
func (a *Activities) Publish(ctx context.Context, p Publication) (*tool.Result, error) {
	var res *tool.Result
	var first []store.Event
	if p.Ended != nil {
		spec := a.specOf(p.Ended.Step)
		if spec == nil {
			return nil, temporal.NewNonRetryableApplicationError(fmt.Sprintf("this worker has no tool %s", p.Ended.Step.Tool), "NoTool", nil)
		}
		opened, err := a.Sealer.open(p.Ended.Step)
		if err != nil {
			return nil, err
		}
		p.Ended.Step = opened
		ctx = ofCall(ctx, opened)
		if a.RunURL != nil && p.Ended.Link != nil {
			p.Ended.Link.URL = a.RunURL(p.Ended.Link.WorkflowID)
			for i, run := range p.Ended.Runs {
				p.Ended.Runs[i].URL = a.RunURL(run.WorkflowID)
			}
		}
		res = Conclude(spec, *p.Ended)
		text, err := json.Marshal(res)
		if err != nil {
			return nil, fmt.Errorf("encode the result of call %s: %w", res.CallID, err)
		}
		first = []store.Event{{Kind: store.KindToolResult, Key: key(res.CallID, 0, "result"), Data: text, At: time.Now()}}
	}
	events, err := published(p, res)
	if err != nil {
		return nil, err
	}
	all := append(first, events...)
	if len(all) > 0 {
		kept, err := a.Events.AppendEvents(ctx, p.Input.RunID, all)
		if err != nil {
			return nil, fmt.Errorf("write events of run %s: %w", p.Input.RunID, err)
		}
		if res != nil && !bytes.Equal(kept[0].Data, all[0].Data) {
			// It was published before, by a workflow task that was lost afterwards, with other times: what was told first is the result.
			res = new(tool.Result)
			if err := json.Unmarshal(kept[0].Data, res); err != nil {
				return nil, fmt.Errorf("read the result that was published of a call of run %s: %w", p.Input.RunID, err)
			}
		}
	}
	if p.Finished != "" && !p.Input.KeepSession {
		a.release(ctx, p.Input.RunID)
	}
	return res, nil
}

// release gives up what the executors hold for a run that has ended. What cannot be given up now is given up when it has been idle for
// long enough.
func (a *Activities) release(ctx context.Context, runID string) {
	for name, exec := range a.Executors {
		r, ok := exec.(tool.Releaser)
		if !ok {
			continue
		}
		if err := r.Close(ctx, runID); err != nil {
			activity.GetLogger(ctx).Warn("the run's session stays open for a while", "run", runID, "toolset", name, "error", err)
		}
	}
}
