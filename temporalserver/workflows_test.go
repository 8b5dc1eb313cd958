package temporalserver_test

import (
	"context"
	"time"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// The sample workflows of the tests and benchmarks.

func register(w worker.Registry) {
	w.RegisterWorkflow(withActivity)
	w.RegisterWorkflow(withLocalActivity)
	w.RegisterWorkflow(withTimer)
	w.RegisterWorkflow(untilUpdated)
	w.RegisterWorkflow(untilSignalled)
	w.RegisterActivity(echo)
}

func echo(_ context.Context, text string) (string, error) { return "echo " + text, nil }

// withActivity is the shape of a healthy step: one activity.
func withActivity(ctx workflow.Context, text string) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 10 * time.Second})
	var answer string
	err := workflow.ExecuteActivity(ctx, echo, text).Get(ctx, &answer)
	return answer, err
}

func withLocalActivity(ctx workflow.Context, text string) (string, error) {
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: 10 * time.Second})
	var answer string
	err := workflow.ExecuteLocalActivity(ctx, echo, text).Get(ctx, &answer)
	return answer, err
}

// withTimer sleeps, then runs an activity.
func withTimer(ctx workflow.Context, wait time.Duration) (string, error) {
	if err := workflow.Sleep(ctx, wait); err != nil {
		return "", err
	}
	return withActivity(ctx, "timer")
}

// call is the argument of untilUpdated's update.
type call struct {
	Text  string
	Local bool // by a local activity
	None  bool // without an activity
	Last  bool // end the workflow
}

// untilUpdated is the shape of a run: calls arrive as updates and are answered by an activity each.
func untilUpdated(ctx workflow.Context) error {
	done := false
	err := workflow.SetUpdateHandler(ctx, "call", func(ctx workflow.Context, c call) (string, error) {
		defer func() { done = done || c.Last }()
		switch {
		case c.None:
			return c.Text, nil
		case c.Local:
			return withLocalActivity(ctx, c.Text)
		}
		return withActivity(ctx, c.Text)
	})
	if err != nil {
		return err
	}
	return workflow.Await(ctx, func() bool { return done && workflow.AllHandlersFinished(ctx) })
}

// untilSignalled waits for a person, then acts.
func untilSignalled(ctx workflow.Context) (string, error) {
	var text string
	workflow.GetSignalChannel(ctx, "go").Receive(ctx, &text)
	return withActivity(ctx, text)
}
