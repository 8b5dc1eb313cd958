package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	historypb "go.temporal.io/api/history/v1"

	"toolsvc/bench/gym"
	"toolsvc/planner"
	"toolsvc/planner/historytest"
	"toolsvc/store"
	"toolsvc/temporalclient"
	"toolsvc/tool"
)

// startServer starts `toolsvc serve` and returns when it is ready.
func startServer(ctx context.Context, t *testing.T, stateDir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := program(ctx, t, stateDir, append([]string{"serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"}, args...)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	var said strings.Builder
	for lines.Scan() {
		fmt.Fprintln(&said, lines.Text())
		if strings.HasPrefix(lines.Text(), "Ready.") {
			go io.Copy(io.Discard, stderr) //nolint:errcheck // so that the server never waits for a reader
			return cmd
		}
	}
	t.Fatalf("the server ended before it was ready:\n%s", said.String())
	return nil
}

// endsWell stops the server at the end of the test, and fails the test when it does not end with status 0.
func endsWell(t *testing.T, server *exec.Cmd) {
	t.Cleanup(func() {
		if err := server.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := server.Wait(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
}

// gymSite serves the pages of the gym until the test ends.
func gymSite(t *testing.T) *gym.Server {
	t.Helper()
	site, err := gym.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = site.Close() })
	return site
}

// A killed process loses no accepted call, and nothing that has an effect is done twice: a server is killed with SIGKILL at each stage of
// placing an order, and started again; the run goes on and ends. The shop's own books count the orders.
//
// Invariants: at most one order, whatever happens; the run ends; when it says verified there is exactly one order; when it cannot know, it
// says so, and does not order again.
func TestKilledServerGoesOn(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills servers; not with -short")
	}
	t.Parallel()
	site := gymSite(t)
	for _, c := range []struct {
		name string
		step int    // the step that is under way when the server dies
		key  string // and the moment that its narration has come to
		mode string // of the shop
	}{
		{"while opening the page", 1, "execute", "normal"},
		{"while looking for the button", 2, "execute", "normal"},
		{"while a slow order is confirmed", 2, "execute", "slow&delay=1500"},
		{"while verifying", 2, "verify", "slow&delay=700"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute) // longer than the test: its servers end in Cleanup
			t.Cleanup(cancel)
			dir, session := t.TempDir(), tool.NewRunID()
			plan := write(t, "order.yaml", fmt.Sprintf(`name: Order
steps:
  - tool: browser.navigate
    args: {url: "%s/c/order?mode=%s&session=%s"}
  - tool: browser.click
    args: {target: {name: Place order, role: button}}
    expect: ['page.text.contains("placed")']
`, site.URL, c.mode, session))

			server := startServer(ctx, t, dir)
			caller := program(ctx, t, dir, "run", "--json", plan)
			var out bytes.Buffer
			caller.Stdout = &out
			runID := startCaller(t, caller)
			awaitMoment(ctx, t, dir, runID, c.step, c.key)
			if err := server.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			_ = server.Wait() // it was killed
			server = startServer(ctx, t, dir, "--end-browser")
			endsWell(t, server)
			err := caller.Wait()
			st := finalState(t, out.Bytes())
			orders := site.Truth(session).Goal + site.Truth(session).Wrong
			t.Logf("%v, outcome %s, %d order(s), attempts of the last step: %+v", err, st.Outcome, orders, attemptsOf(st))
			switch {
			case orders > 1:
				t.Errorf("%d orders were placed", orders)
			case st.Succeeded() != (err == nil):
				t.Errorf("outcome %s, but the program ended with %v", st.Outcome, err)
			case st.Succeeded() && orders != 1:
				t.Errorf("it says verified, and %d orders were placed", orders)
			case st.Outcome == planner.OutcomeRunning:
				t.Error("the run did not end")
			case *update && c.mode == "slow&delay=1500":
				record(ctx, t, dir, runID, "lost-worker", "Reconcile")
			case !st.Succeeded():
				last := st.Steps[len(st.Steps)-1].Result
				if last == nil || last.RetryHint == nil || last.RetryHint.Reason() != tool.ReasonOutcomeUnknown {
					t.Errorf("it neither succeeded nor said that it does not know: %+v", st.Steps)
				}
			}
		})
	}
}

func attemptsOf(st *planner.State) []tool.AttemptRecord {
	if last := st.Steps[len(st.Steps)-1].Result; last != nil {
		return last.Attempts
	}
	return nil
}

// awaitMoment returns when the run that is under way has told that moment of that step.
func awaitMoment(ctx context.Context, t *testing.T, dir, runID string, step int, moment string) {
	t.Helper()
	s, err := store.Open(ctx, dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // it was only read
	for e, err := range s.Watch(ctx, runID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == store.KindNarration && strings.HasSuffix(e.Key, "/"+moment) && strings.Contains(string(e.Data), fmt.Sprintf(`"step":%d,`, step)) {
			return
		}
	}
	t.Fatal("the run never came to that moment")
}

// startCaller starts `toolsvc run` with a plan, and returns it with its run.
func startCaller(t *testing.T, cmd *exec.Cmd) (runID string) {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "Run "); ok {
			go io.Copy(io.Discard, stderr) //nolint:errcheck // so that the caller never waits for a reader
			return strings.Fields(id)[0]
		}
	}
	t.Fatal("the caller did not say which run it started")
	return ""
}

// record records the history of a run that has been to that activity, for planner's replay test.
func record(ctx context.Context, t *testing.T, dir, runID, name, activity string) {
	t.Helper()
	ep, running, err := temporalclient.ReadEndpoint(filepath.Join(dir, "temporal"))
	if err != nil || !running {
		t.Fatal(running, err)
	}
	c, err := temporalclient.Dial(ctx, temporalclient.Options{Address: ep.Address, Namespace: ep.Namespace, Direct: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	events, err := historytest.Read(ctx, c.Client, runID)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(events, func(e *historypb.HistoryEvent) bool {
		return e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == activity
	}) {
		t.Fatalf("the run has never been to %s", activity)
	}
	if err := historytest.Record(name, events); err != nil {
		t.Fatal(err)
	}
}
