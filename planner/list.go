package planner

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	enumspb "go.temporal.io/api/enums/v1"

	"toolsvc/temporalclient"
)

// Summary is one run in a list.
type Summary struct {
	RunID   string    `json:"run_id"`
	Title   string    `json:"title"`
	Outcome Outcome   `json:"outcome"`
	Started time.Time `json:"started"`
}

// List returns the latest runs, newest first, at most limit (1 to 1000).
func (s *Service) List(ctx context.Context, limit int) ([]Summary, error) {
	return s.list(ctx, limit, fmt.Sprintf("WorkflowType = '%s'", WorkflowRun))
}

// ListWaiting is List of the runs that wait for an answer or an approval.
func (s *Service) ListWaiting(ctx context.Context, limit int) ([]Summary, error) {
	return s.list(ctx, limit, fmt.Sprintf("WorkflowType = '%s' AND %s = true AND ExecutionStatus = 'Running'", WorkflowRun, temporalclient.SearchAttributeWaiting.GetName()))
}

func (s *Service) list(ctx context.Context, limit int, query string) ([]Summary, error) {
	limit = min(max(limit, 1), 1000)
	var runs []Summary
	var page []byte
	for {
		resp, err := s.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query: query, PageSize: int32(min(limit, 100)), NextPageToken: page})
		if err != nil {
			return nil, explain(err)
		}
		for _, e := range resp.GetExecutions() {
			r := Summary{RunID: e.GetExecution().GetWorkflowId(), Outcome: OutcomeRunning, Started: e.GetStartTime().AsTime()}
			if e.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
				r.Outcome = OutcomeFailed
			}
			for key, into := range map[string]any{memoOutcome: &r.Outcome, memoTitle: &r.Title} {
				if p := e.GetMemo().GetFields()[key]; p != nil {
					if err := converter.GetDefaultDataConverter().FromPayload(p, into); err != nil {
						return nil, fmt.Errorf("decode the %s of run %s: %w", key, r.RunID, err)
					}
				}
			}
			if runs = append(runs, r); len(runs) == limit {
				return runs, nil
			}
		}
		if page = resp.GetNextPageToken(); len(page) == 0 {
			return runs, nil
		}
	}
}

// OpenRuns lists all runs that go on.
func (s *Service) OpenRuns(ctx context.Context) ([]string, error) {
	var runs []string
	var page []byte
	for {
		resp, err := s.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query: fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Running'", WorkflowRun), PageSize: 1000, NextPageToken: page})
		if err != nil {
			return nil, explain(err)
		}
		for _, e := range resp.GetExecutions() {
			runs = append(runs, e.GetExecution().GetWorkflowId())
		}
		if page = resp.GetNextPageToken(); len(page) == 0 {
			return runs, nil
		}
	}
}
