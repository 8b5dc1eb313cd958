//go:build linux

package main

import (
	"context"
	"fmt"
	"log/slog"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"toolsvc/planner"
	"toolsvc/temporalclient"
)

// replay leads the workflow of this build along the history of a run that has ended.
func (w *world) replay(ctx context.Context, run string) error {
	addr, err := w.temporalAddress()
	if err != nil {
		return err
	}
	c, err := temporalclient.Dial(ctx, temporalclient.Options{Address: addr, Namespace: temporalclient.DefaultNamespace, Direct: true})
	if err != nil {
		return err
	}
	defer c.Close()
	history := &historypb.History{}
	events := c.Client.GetWorkflowHistory(ctx, run, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			return fmt.Errorf("read the history: %w", err)
		}
		history.Events = append(history.Events, e)
	}
	r := worker.NewWorkflowReplayer()
	r.RegisterWorkflowWithOptions(planner.Run, workflow.RegisterOptions{Name: planner.WorkflowRun})
	return r.ReplayWorkflowHistory(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), history)
}
