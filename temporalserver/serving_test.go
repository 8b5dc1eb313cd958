package temporalserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"toolsvc/temporalclient"
	"toolsvc/temporalserver"
)

// When Start returns, the first workflow runs, with search attributes and all.
func TestServesAtOnce(t *testing.T) {
	t.Parallel()
	began := time.Now()
	s := start(t, temporalserver.Options{StateDir: t.TempDir(), SearchAttributes: temporalclient.SearchAttributes()})
	serving := time.Since(began)
	c := dial(t, s.Address())
	queue := startWorker(t, c.Client)
	run, err := c.Client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: queue,
		TypedSearchAttributes: temporal.NewSearchAttributes(temporalclient.SearchAttributeWaiting.ValueSet(false))}, withActivity, "x")
	must(t, err) // no retry: refused once is refused
	must(t, run.Get(t.Context(), nil))
	t.Logf("serving after %s, first workflow finished after %s", serving, time.Since(began))
}

// useSearchAttributes starts a workflow with all of toolsvc's attributes and finds it by each of them.
func useSearchAttributes(t *testing.T, c *temporalclient.Conn, queue string) {
	t.Helper()
	run, err := c.Client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: queue, TypedSearchAttributes: temporal.NewSearchAttributes(
		temporalclient.SearchAttributeTool.ValueSet([]string{"browser.click", "browser.type"}),
		temporalclient.SearchAttributeOutcome.ValueSet("verification_failed"),
		temporalclient.SearchAttributeSource.ValueSet("cdp"),
		temporalclient.SearchAttributeFailure.ValueSet("no_effect"),
		temporalclient.SearchAttributeHealed.ValueSet(true),
		temporalclient.SearchAttributeWaiting.ValueSet(false),
	)}, withActivity, "x")
	must(t, err)
	must(t, run.Get(t.Context(), nil))
	for _, query := range []string{"ToolsvcTool = 'browser.type'", "ToolsvcOutcome = 'verification_failed'", "ToolsvcSource = 'cdp'",
		"ToolsvcFailure = 'no_effect'", "ToolsvcHealed = true", "ToolsvcWaiting = false"} {
		found := func() (bool, error) {
			answer, err := c.Client.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
				Query: fmt.Sprintf("%s AND WorkflowId = '%s'", query, run.GetID())})
			return len(answer.GetExecutions()) == 1, err
		}
		eventually(t, "a workflow with "+query, found)
	}
}

// eventually waits for a condition, at most 10 seconds.
func eventually(t *testing.T, what string, condition func() (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		ok, err := condition()
		if ok {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s (last error: %v)", what, err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func TestSearchAttributesFindRuns(t *testing.T) {
	t.Parallel()
	c := dial(t, shared.Address())
	useSearchAttributes(t, c, startWorker(t, c.Client))
}

// EnsureSearchAttributes registers what a running cluster lacks, and is idempotent.
func TestEnsureSearchAttributesOnARunningServer(t *testing.T) {
	t.Parallel()
	s := start(t, temporalserver.Options{StateDir: t.TempDir(), UIPort: temporalserver.NoUI})
	c := dial(t, s.Address())
	must(t, c.EnsureSearchAttributes(t.Context()))
	must(t, c.EnsureSearchAttributes(t.Context()))
	queue := startWorker(t, c.Client)
	eventually(t, "the history service to know the attributes", func() (bool, error) {
		_, err := c.Client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: queue, TypedSearchAttributes: temporal.NewSearchAttributes(
			temporalclient.SearchAttributeHealed.ValueSet(true))}, withActivity, "x")
		return err == nil, err
	})
	useSearchAttributes(t, c, queue)
}

// A short timer is short: with the server's defaults each of these would take a second.
func TestTimersUnderASecond(t *testing.T) {
	t.Parallel()
	c := dial(t, shared.Address())
	queue := startWorker(t, c.Client)
	for _, wait := range []time.Duration{time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond} {
		best := time.Hour // of three, because a busy machine delays anything; a slow timer is slow each time
		for range 3 {
			run, err := c.Client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: queue}, withTimer, wait)
			must(t, err)
			must(t, run.Get(t.Context(), nil))
			d, err := c.Client.DescribeWorkflowExecution(t.Context(), run.GetID(), run.GetRunID())
			must(t, err)
			info := d.GetWorkflowExecutionInfo()
			best = min(best, info.GetCloseTime().AsTime().Sub(info.GetStartTime().AsTime()))
		}
		if best < wait || best > wait+500*time.Millisecond {
			t.Errorf("a workflow with a timer of %s took %s", wait, best)
		}
	}
}

// A person opens the UI: the page is there, and what it asks for is answered.
func TestUI(t *testing.T) {
	t.Parallel()
	c := dial(t, shared.Address())
	queue := startWorker(t, c.Client)
	run, err := c.Client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: queue}, withActivity, "x")
	must(t, err)
	must(t, run.Get(t.Context(), nil))

	page := get(t, temporalclient.RunURL(shared.UIURL(), c.Namespace, run.GetID(), run.GetRunID()), "")
	if page.status != http.StatusOK || !strings.Contains(page.body, "<!doctype html>") {
		t.Errorf("the page of a run: status %d, body %.80q", page.status, page.body)
	}
	script := page.body[strings.Index(page.body, `/_app/`):]
	if file := get(t, shared.UIURL()+script[:strings.IndexByte(script, '"')], ""); file.status != http.StatusOK || file.body == "" {
		t.Errorf("a file of the page: status %d, %d bytes", file.status, len(file.body))
	}
	var namespaces struct {
		Namespaces []struct{ NamespaceInfo struct{ Name string } }
	}
	must(t, json.Unmarshal([]byte(get(t, shared.UIURL()+"/api/v1/namespaces", "").body), &namespaces))
	if !strings.Contains(fmt.Sprint(namespaces), "default") {
		t.Errorf("the namespaces that the UI shows: %+v", namespaces)
	}
	history := get(t, fmt.Sprintf("%s/api/v1/namespaces/default/workflows/%s/history?execution.runId=%s", shared.UIURL(), run.GetID(), run.GetRunID()), "")
	if history.status != http.StatusOK || !strings.Contains(history.body, "EVENT_TYPE_ACTIVITY_TASK_COMPLETED") {
		t.Errorf("the history that the UI shows: status %d, body %.200q", history.status, history.body)
	}
	var settings struct {
		DefaultNamespace string
		DisableNewsFetch bool
	}
	must(t, json.Unmarshal([]byte(get(t, shared.UIURL()+"/api/v1/settings", "").body), &settings))
	if settings.DefaultNamespace != "default" || !settings.DisableNewsFetch {
		t.Errorf("settings of the UI: %+v", settings)
	}
}

// A web page whose name was made to resolve to this machine gets nothing, and one on another site cannot act with a visitor's browser.
func TestUIRefusesOtherSites(t *testing.T) {
	t.Parallel()
	if got := get(t, shared.UIURL()+"/api/v1/namespaces", "evil.example:80").status; got != http.StatusForbidden {
		t.Errorf("a request for another host: status %d, want 403", got)
	}
	if got := get(t, shared.UIURL()+"/api/v1/namespaces", "localhost:1234").status; got != http.StatusOK {
		t.Errorf("a request through a forwarded port: status %d, want 200", got)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, shared.UIURL()+"/api/v1/namespaces/default/workflows/x/terminate", strings.NewReader("{}"))
	must(t, err)
	request.Header.Set("Sec-Fetch-Site", "cross-site")
	answer, err := http.DefaultClient.Do(request)
	must(t, err)
	must(t, answer.Body.Close())
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("a write from another site: status %d, want 403", answer.StatusCode)
	}
}

type page struct {
	status int
	body   string
}

// get fetches a URL, as host if that is not empty.
func get(t *testing.T, url, host string) page {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	must(t, err)
	request.Host = host
	answer, err := http.DefaultClient.Do(request)
	must(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	must(t, err)
	return page{answer.StatusCode, string(body)}
}

// More calls than a cluster's default of 10 may wait in the queue of one run.
func TestManyCallsMayWait(t *testing.T) {
	t.Parallel()
	c := dial(t, shared.Address())
	queue := startWorker(t, c.Client)
	run, err := c.Client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: queue}, untilUpdated)
	must(t, err)
	const calls = 40
	errs := make(chan error, calls)
	for i := range calls {
		go func() {
			h, err := c.Client.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{WorkflowID: run.GetID(), UpdateName: "call",
				Args: []any{call{Text: fmt.Sprint(i)}}, WaitForStage: client.WorkflowUpdateStageCompleted})
			if err == nil {
				err = h.Get(t.Context(), nil)
			}
			errs <- err
		}()
	}
	for range calls {
		must(t, <-errs)
	}
	d, err := c.Client.DescribeWorkflowExecution(t.Context(), run.GetID(), "")
	must(t, err)
	if d.GetWorkflowExecutionInfo().GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		t.Errorf("the run is %s", d.GetWorkflowExecutionInfo().GetStatus())
	}
}

// A server in good health reports no failure.
func TestHealthyServerReportsNoFailure(t *testing.T) {
	t.Parallel()
	s := start(t, temporalserver.Options{StateDir: t.TempDir()})
	must(t, s.Stop())
	select {
	case err := <-s.Failed():
		t.Errorf("reported %v", err)
	default:
	}
}
