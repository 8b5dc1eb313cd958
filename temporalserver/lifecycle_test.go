package temporalserver_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"toolsvc/temporalclient"
	"toolsvc/temporalserver"
)

// startWaiting starts a workflow that waits for a signal.
func startWaiting(t *testing.T, c *temporalclient.Conn, queue string) client.WorkflowRun {
	t.Helper()
	run, err := c.Client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "waiting-" + queue, TaskQueue: queue}, untilSignalled)
	must(t, err)
	return run
}

// finish signals it and expects its answer.
func finish(t *testing.T, c *temporalclient.Conn, run client.WorkflowRun) {
	t.Helper()
	must(t, c.Client.SignalWorkflow(t.Context(), run.GetID(), run.GetRunID(), "go", "now"))
	var answer string
	must(t, c.Client.GetWorkflow(t.Context(), run.GetID(), run.GetRunID()).Get(t.Context(), &answer))
	if answer != "echo now" {
		t.Errorf("the workflow answered %q, want %q", answer, "echo now")
	}
}

// What is running when the server is killed goes on after a restart: the waiting workflow is there, the same ports are used again, and
// a client that was connected all the time goes on without dialling again.
func TestKilledServerLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := startChild(t, dir)
	c := dial(t, first.Address)
	queue := startWorker(t, c.Client)
	run := startWaiting(t, c, queue)
	first.kill()

	if _, running, err := temporalclient.ReadEndpoint(dir); err != nil || running {
		t.Errorf("after the kill, ReadEndpoint reports running=%v, err=%v; want false and no error", running, err)
	}
	second := startChild(t, dir)
	if second.Address != first.Address || second.UIURL != first.UIURL {
		t.Errorf("the restarted server listens at %s and %s, want %s and %s as before", second.Address, second.UIURL, first.Address, first.UIURL)
	}
	finish(t, c, run)
}

// A clean stop leaves everything in one file, which may be moved to another directory.
func TestStoppedServerCanMove(t *testing.T) {
	t.Parallel()
	before := filepath.Join(t.TempDir(), "50% of #1 ? yes & é")
	first := startChild(t, before)
	c := dial(t, first.Address)
	run := startWaiting(t, c, "moved")
	first.stop()
	for _, name := range []string{"temporal.db-wal", "temporal.db-journal"} {
		if info, err := os.Stat(filepath.Join(before, name)); err == nil && info.Size() > 0 {
			t.Errorf("a clean stop leaves %d bytes in %s", info.Size(), name)
		}
	}
	after := t.TempDir()
	must(t, os.Rename(filepath.Join(before, "temporal.db"), filepath.Join(after, "temporal.db")))

	s := start(t, temporalserver.Options{StateDir: after, UIPort: temporalserver.NoUI})
	moved := dial(t, s.Address())
	startWorkerOn(t, moved.Client, "moved", workerOptions())
	finish(t, moved, run)
}

// Stop and Start in one process: the database is not left in an unusable state by the connection that the server keeps.
func TestRestartInProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := temporalserver.Options{StateDir: dir, Logger: testLogger()}
	first, err := temporalserver.Start(t.Context(), o)
	must(t, err)
	c := dial(t, first.Address())
	run := startWaiting(t, c, "restarted")
	must(t, first.Stop())
	must(t, first.Stop()) // a second time does nothing
	if _, running, err := temporalclient.ReadEndpoint(dir); err != nil || running {
		t.Errorf("after Stop, ReadEndpoint reports running=%v, err=%v; want false and no error", running, err)
	}
	second := start(t, o)
	if second.Address() != first.Address() {
		t.Errorf("the restarted server listens at %s, want %s as before", second.Address(), first.Address())
	}
	startWorkerOn(t, c.Client, "restarted", workerOptions())
	finish(t, c, run)
	must(t, second.Stop())

	// The same path with another database: the kept connection of the first must not be used for it.
	must(t, os.Remove(filepath.Join(dir, "temporal.db")))
	third := start(t, o)
	_, err = dial(t, third.Address()).Client.DescribeWorkflowExecution(t.Context(), run.GetID(), "")
	if err == nil {
		t.Error("a new database knows a workflow of the old one")
	}
}

func TestSecondServerIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	holder := startChild(t, dir)
	endpoint, running, err := temporalclient.ReadEndpoint(dir)
	must(t, err)
	if !running || endpoint.PID != holder.PID || endpoint.Address != holder.Address || endpoint.UIURL != holder.UIURL || endpoint.Namespace != "default" {
		t.Errorf("ReadEndpoint: %+v, running=%v; want the child %+v", endpoint, running, holder.Endpoint)
	}
	_, err = temporalserver.Start(t.Context(), temporalserver.Options{StateDir: dir})
	var held *temporalclient.HeldError
	if !errors.As(err, &held) || held.Holder.PID != holder.PID {
		t.Fatalf("starting on a taken directory: %v; want a HeldError of process %d", err, holder.PID)
	}
	for _, want := range []string{holder.Address, holder.UIURL, dir} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error %q does not name %s", err, want)
		}
	}
	dial(t, holder.Address) // the refused one did not disturb it

	holder.kill()
	start(t, temporalserver.Options{StateDir: dir, UIPort: temporalserver.NoUI}) // the lock died with its holder
}

// A namespace that exists gets the search attributes that came later, and they can be used at once.
func TestExistingNamespaceGetsSearchAttributes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := temporalserver.Options{StateDir: dir, UIPort: temporalserver.NoUI, Logger: testLogger(), Retention: 48 * time.Hour,
		SearchAttributes: map[string]enums.IndexedValueType{"Older": enums.INDEXED_VALUE_TYPE_KEYWORD}}
	first, err := temporalserver.Start(t.Context(), o)
	must(t, err)
	must(t, first.Stop())

	o.SearchAttributes = temporalclient.SearchAttributes()
	o.Retention = 0 // keeps what is set
	second, err := temporalserver.Start(t.Context(), o)
	must(t, err)
	c := dial(t, second.Address())
	useSearchAttributes(t, c, startWorker(t, c.Client))
	list, err := c.Client.WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: c.Namespace})
	must(t, err)
	if got := list.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(); got != 48*time.Hour {
		t.Errorf("the retention is %s, want 48h as set by the first start", got)
	}
	must(t, c.EnsureSearchAttributes(t.Context())) // finds them all there
	must(t, second.Stop())

	o.SearchAttributes = map[string]enums.IndexedValueType{"Older": enums.INDEXED_VALUE_TYPE_BOOL}
	if _, err = temporalserver.Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "Older exists as a Keyword and is wanted as a Bool") {
		t.Errorf("starting with another type for an attribute: %v; want an error that names both types", err)
	}
}

// A port that was asked for and is taken is an error; the process goes on, and the directory is free again.
func TestTakenPortIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	taken := listenSomewhere(t)
	for name, o := range map[string]temporalserver.Options{
		"frontend": {FrontendPort: taken},
		"UI":       {UIPort: taken},
	} {
		o.StateDir, o.Logger = dir, testLogger()
		_, err := temporalserver.Start(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), "address already in use") || !strings.Contains(err.Error(), "choose another") {
			t.Errorf("%s port taken: %v; want an error that says so and what to do", name, err)
		}
	}
	start(t, temporalserver.Options{StateDir: dir})
}

// The ports of the last time are a preference: when someone has taken them, others are used.
func TestLastPortsAreOnlyPreferred(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := temporalclient.LockState(dir)
	must(t, err)
	address, uiURL := listenAddress(t), "http://"+listenAddress(t)
	must(t, lock.Publish(address, uiURL, "default"))
	must(t, lock.Release())
	if exists, err := temporalserver.Inspect(t.Context(), dir); exists || err != nil {
		t.Errorf("Inspect of none: %t, %v", exists, err)
	}
	s := start(t, temporalserver.Options{StateDir: dir})
	if exists, err := temporalserver.Inspect(t.Context(), dir); !exists || err != nil {
		t.Errorf("Inspect of one in use: %t, %v", exists, err)
	}
	if s.Address() == address || s.UIURL() == uiURL {
		t.Errorf("the server listens at %s and %s, which are taken", s.Address(), s.UIURL())
	}
}

func TestDatabaseOfAnotherSchemaIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ statements, want string }{
		"older": {`CREATE TABLE namespaces (id); CREATE TABLE toolsvc_schema (stamp TEXT, server TEXT, created TEXT);
			INSERT INTO toolsvc_schema VALUES ('Temporal SQLite schema 0.1 (visibility 0.1)', '1.0.0', '')`,
			"was made with Temporal SQLite schema 0.1 (visibility 0.1), and this toolsvc has Temporal SQLite schema 0.11"},
		"foreign": {`CREATE TABLE songs (title)`, "is not a database that toolsvc made"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			execute(t, filepath.Join(dir, "temporal.db"), c.statements)
			before, err := os.ReadFile(filepath.Join(dir, "temporal.db"))
			must(t, err)
			_, err = temporalserver.Start(t.Context(), temporalserver.Options{StateDir: dir})
			var schema *temporalserver.SchemaError
			if !errors.As(err, &schema) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "move") {
				t.Errorf("got %v; want a SchemaError that says %q and what to do", err, c.want)
			}
			after, err := os.ReadFile(filepath.Join(dir, "temporal.db"))
			must(t, err)
			if !bytes.Equal(after, before) {
				t.Errorf("the refused database was changed (%d bytes before, %d after)", len(before), len(after))
			}
			if exists, err := temporalserver.Inspect(t.Context(), dir); !exists || !errors.As(err, &schema) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Inspect: %t, %v", exists, err)
			}
		})
	}
	t.Run("no database at all", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "temporal.db"), []byte(strings.Repeat("not a database. ", 1000)), 0o600))
		if _, err := temporalserver.Start(t.Context(), temporalserver.Options{StateDir: dir}); err == nil || !strings.Contains(err.Error(), "not a database") || !strings.Contains(err.Error(), "move the file away") {
			t.Errorf("got %v; want an error of SQLite about the file, and what to do", err)
		}
		if exists, err := temporalserver.Inspect(t.Context(), dir); !exists || err == nil || !strings.Contains(err.Error(), "move the file away") {
			t.Errorf("Inspect: %t, %v", exists, err)
		}
	})
}

// The tracing environment belongs to toolsvc; the server neither fails on it nor obeys it.
func TestTracingEnvironmentIsIgnored(t *testing.T) {
	t.Setenv("OTEL_TRACES_EXPORTER", "console")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json")
	start(t, temporalserver.Options{StateDir: t.TempDir(), UIPort: temporalserver.NoUI})
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]temporalserver.Options{
		"no state directory":       {},
		"frontend port 70000":      {StateDir: "x", FrontendPort: 70000},
		"UI port -2":               {StateDir: "x", UIPort: -2},
		"retention 1s is less":     {StateDir: "x", Retention: time.Second},
		"create the state directo": {StateDir: os.DevNull + "/x"},
	} {
		if _, err := temporalserver.Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want an error that says %q", err, want)
		}
	}
}

// A start that is called off leaves nothing running and the directory free.
func TestStartCanBeCalledOff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := temporalserver.Start(ctx, temporalserver.Options{StateDir: dir}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	start(t, temporalserver.Options{StateDir: dir, UIPort: temporalserver.NoUI})
}
