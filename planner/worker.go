package planner

import (
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// maxDrain is how long a worker that is asked to stop waits for its attempts, whoever hands them over before.
const maxDrain = 5 * time.Minute

// maxOwn bounds the activities of runs that are with one worker; more would wait until their runs take it for lost.
const maxOwn = 256

// NewOwnWorker makes the second worker of a process that is one among several: it takes only what is meant for this one ([Activities.Worker]).
func NewOwnWorker(c client.Client, a *Activities, with ...interceptor.WorkerInterceptor) worker.Worker {
	w := worker.New(c, WorkerQueue(a.Worker), worker.Options{
		DisableWorkflowWorker:              true,
		MaxConcurrentActivityExecutionSize: maxOwn,
		MaxConcurrentActivityTaskPollers:   4,
		WorkerStopTimeout:                  maxDrain,
		Interceptors:                       append([]interceptor.WorkerInterceptor{&handing{handover: &a.handover}}, with...),
		MaxHeartbeatThrottleInterval:       heartbeatTimeout / 2,
	})
	registerActivities(w, a)
	return w
}

// NewWorker makes a worker for runs and their activities. It does nothing before it is started. When it is stopped, it takes no more work and
// waits for the attempts under way; [Activities.HandOver] bounds that.
func NewWorker(c client.Client, a *Activities, with ...interceptor.WorkerInterceptor) worker.Worker {
	w := worker.New(c, TaskQueue, worker.Options{
		MaxConcurrentActivityExecutionSize:      32,
		MaxConcurrentLocalActivityExecutionSize: 64,
		MaxConcurrentActivityTaskPollers:        4,
		MaxConcurrentWorkflowTaskPollers:        8,
		DeadlockDetectionTimeout:                5 * time.Second, // a busy machine is no deadlock
		WorkerStopTimeout:                       maxDrain,
		Interceptors:                            append([]interceptor.WorkerInterceptor{&handing{handover: &a.handover}}, with...),
		MaxHeartbeatThrottleInterval:            heartbeatTimeout / 2,
	})
	Register(w, a)
	return w
}

// Register registers the run's workflow and activities under their fixed names.
func Register(w worker.Registry, a *Activities) {
	w.RegisterWorkflowWithOptions(Run, workflow.RegisterOptions{Name: WorkflowRun})
	registerActivities(w, a)
}

func registerActivities(w worker.ActivityRegistry, a *Activities) {
	w.RegisterActivityWithOptions(a.Attempt, activity.RegisterOptions{Name: activityAttempt})
	w.RegisterActivityWithOptions(a.Reconcile, activity.RegisterOptions{Name: activityReconcile})
	w.RegisterActivityWithOptions(a.Publish, activity.RegisterOptions{Name: activityPublish})
	w.RegisterActivityWithOptions(a.Ask, activity.RegisterOptions{Name: activityAsk})
	w.RegisterActivityWithOptions(a.CloseQuestion, activity.RegisterOptions{Name: activityClose})
	w.RegisterActivityWithOptions(a.ForwardQuestion, activity.RegisterOptions{Name: activityForward})
	w.RegisterActivityWithOptions(a.StageBegin, activity.RegisterOptions{Name: activityStageBegin})
	w.RegisterActivityWithOptions(a.StageEnd, activity.RegisterOptions{Name: activityStageEnd})
	w.RegisterActivityWithOptions(a.Plan, activity.RegisterOptions{Name: activityPlan})
	w.RegisterActivityWithOptions(a.Correct, activity.RegisterOptions{Name: activityCorrect})
	w.RegisterActivityWithOptions(a.Release, activity.RegisterOptions{Name: activityRelease})
}
