package planner

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"toolsvc/tool"
)

// Where several workers serve one Temporal, a run's tab, shells and files are with the worker that made its first attempt. What follows is sent
// to that worker's own task queue. When nobody takes it there for workerPatience, the worker is gone: the run goes on with any other one, which
// has nothing of it, and which therefore never judges by its own looks what became of an action of the lost one.

// workerPatience is how long a run waits for the worker that has its tab: long enough for a restart, in which it finds the tab again.
const workerPatience = 10 * time.Second

// activityRelease gives up what a worker holds for a run that has ended.
const activityRelease = "Release"

// WorkerQueue is the task queue of one worker.
func WorkerQueue(worker string) string { return TaskQueue + "/" + worker }

// there runs an activity where the run's tab is; on any worker when there is none yet, or when its worker is gone.
func (r *run) there(ctx workflow.Context, opts workflow.ActivityOptions, name string, in, out any) error {
	if w := r.state.Worker; w != "" {
		own := opts
		own.TaskQueue, own.ScheduleToStartTimeout = WorkerQueue(w), workerPatience
		err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, own), name, in).Get(ctx, out)
		if !neverStarted(err) {
			return err
		}
		r.state.Worker, r.lost = "", w
		if at, ok := in.(AttemptInput); ok {
			at.Lost = w
			in = at
		}
	}
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, opts), name, in).Get(ctx, out)
}

// neverStarted reports an activity that no worker took: nothing of it was done.
func neverStarted(err error) bool {
	var timeout *temporal.TimeoutError
	return errors.As(err, &timeout) && timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START
}

// lastSeen is the worker that an activity was with when it was lost; "" when that is not known.
func lastSeen(err error) (worker string) {
	var timeout *temporal.TimeoutError
	if !errors.As(err, &timeout) || !timeout.HasLastHeartbeatDetails() || timeout.LastHeartbeatDetails(&worker) != nil {
		return ""
	}
	return worker
}

// settles notes which worker the run is with from now on. One that had no room for it is not.
func (r *run) settles(rep Report) {
	switch rep.Record.Failure {
	case tool.RateLimited, tool.ToolUnavailable:
		if r.state.Worker == "" {
			return
		}
	}
	if rep.Worker != "" {
		r.state.Worker = rep.Worker
	}
}

// release lets the run's worker give up what it holds for the run. Where that fails, it gives it up when it has been idle for long enough.
func (r *run) release(ctx workflow.Context) {
	if r.state.Worker == "" || r.in.KeepSession {
		return
	}
	actx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              WorkerQueue(r.state.Worker),
		ScheduleToStartTimeout: workerPatience,
		StartToCloseTimeout:    20 * time.Second,
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 2},
		Summary:                "give up the run's tab and shells",
	})
	if err := workflow.ExecuteActivity(actx, activityRelease, r.in.RunID).Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Warn("the run's session stays open for a while", "run", r.in.RunID, "worker", r.state.Worker, "error", err)
	}
}

// Release gives up what this worker holds for a run that has ended.
func (a *Activities) Release(ctx context.Context, runID string) error {
	a.release(ctx, runID)
	return nil
}

// alive reports the activity alive, and who works at it: a run must know whom it has lost.
func (a *Activities) alive(ctx context.Context) {
	if a.Worker == "" {
		activity.RecordHeartbeat(ctx)
		return
	}
	activity.RecordHeartbeat(ctx, a.Worker)
}

// elsewhere says why this worker cannot see what became of an attempt; "" when it can.
func (a *Activities) elsewhere(in AttemptInput) string {
	if a.Worker == "" || a.Worker == in.Worker || a.Shared[in.Step.Tool.Toolset()] {
		return ""
	}
	if in.Worker == "" {
		return "it is not known which worker made the attempt, so nothing that this one sees tells what became of it"
	}
	return fmt.Sprintf("the worker %s, which made the attempt, is gone with what it had open, so nothing that this one sees tells what became of it", in.Worker)
}
