package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"toolsvc/planner"
	"toolsvc/store/retention"
	"toolsvc/telemetry"
	"toolsvc/tool"
)

// readings are what scrapes read of the parts.
func (s *Stack) readings(o Options) telemetry.Readings {
	r := telemetry.Readings{ArtifactBytes: s.Store.ArtifactBytes, Backlog: s.backlog}
	if !s.Attached && !o.NoWorker {
		r.Browser = func() telemetry.Browser { return telemetry.Browser(s.Browser.Stats()) }
	}
	return r
}

// backlog asks Temporal how many tasks wait for a worker.
func (s *Stack) backlog(ctx context.Context) (map[string]int64, error) {
	out := map[string]int64{}
	for name, kind := range map[string]enumspb.TaskQueueType{"workflow": enumspb.TASK_QUEUE_TYPE_WORKFLOW, "activity": enumspb.TASK_QUEUE_TYPE_ACTIVITY} {
		d, err := s.Client.Client.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{Namespace: s.namespace,
			TaskQueue: &taskqueuepb.TaskQueue{Name: planner.TaskQueue}, TaskQueueType: kind, ReportStats: true})
		if err != nil {
			return nil, fmt.Errorf("ask for the backlog of the %s tasks: %w", name, err)
		}
		if st := d.GetStats(); st != nil {
			out[name] = st.GetApproximateBacklogCount()
		}
	}
	return out, nil
}

// keep begins to delete what is older than the options want to keep.
func (s *Stack) keep(o Options) {
	if o.KeepRuns <= 0 && o.KeepArtifacts <= 0 {
		return
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	k := &retention.Keeper{Store: s.Store, Owner: fmt.Sprintf("%s/%d/%s", host, os.Getpid(), tool.NewCallID()), Runs: o.KeepRuns, ArtifactBytes: o.KeepArtifacts,
		Open: s.Service.OpenRuns, Purged: o.Telemetry.Purged, Log: o.Logger}
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		s.compareRetention(ctx, o)
		k.Run(ctx)
	})
	s.onClose(func(context.Context) error {
		cancel()
		work.Wait()
		return nil
	})
}

// compareRetention warns when a given Temporal keeps closed runs for another time than the store: links to it would lead nowhere, or runs be
// there of which nobody knows the events. An embedded one keeps them for the same time.
func (s *Stack) compareRetention(ctx context.Context, o Options) {
	if o.KeepRuns <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	d, err := s.Client.Client.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: s.namespace})
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			o.Logger.WarnContext(ctx, "how long Temporal keeps closed runs is not known", "error", err)
		}
		return
	}
	if kept := d.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(); kept != o.KeepRuns {
		o.Logger.WarnContext(ctx, "Temporal keeps closed runs for another time than toolsvc: set the retention of the namespace, or keep runs as long",
			"namespace", s.namespace, "temporal", kept.String(), "toolsvc", o.KeepRuns.String())
	}
}
