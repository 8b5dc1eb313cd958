package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"toolsvc/planner"
	"toolsvc/tool"
)

// serving starts `toolsvc serve` and returns its HTTP address when it is ready.
func serving(ctx context.Context, t *testing.T, stateDir string, args ...string) (*exec.Cmd, string) {
	t.Helper()
	cmd := program(ctx, t, stateDir, append([]string{"serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"}, args...)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	url := ""
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) == 2 && fields[0] == "HTTP" {
			url = fields[1]
		}
		if strings.HasPrefix(lines.Text(), "Ready.") {
			go io.Copy(io.Discard, stderr) //nolint:errcheck // so that the server never waits for a reader
			return cmd, url
		}
	}
	t.Fatal("the server ended before it was ready")
	return nil, ""
}

// A server that is told to stop says that it is not ready, takes no new calls, finishes those that it has, ends streams at their end, and exits
// with status 0.
func TestStoppedServerFinishesItsCalls(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and stops servers; not with -short")
	}
	t.Parallel()
	site := gymSite(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir, session := t.TempDir(), tool.NewRunID()
	server, url := serving(ctx, t, dir, "--end-browser")
	send := func(method, path, body string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, method, url+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return nil, err
		}
		return http.DefaultClient.Do(r)
	}
	call := func(name, args string) (*tool.Result, error) {
		res, err := send(http.MethodPost, "/v1/tools/"+name+"?run=r_drain", args)
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		r := new(tool.Result)
		return r, json.NewDecoder(res.Body).Decode(r)
	}
	if r, err := call("browser.navigate", fmt.Sprintf(`{"url":"%s/c/order?mode=slow&delay=2500&session=%s"}`, site.URL, session)); err != nil || !r.OK() {
		t.Fatalf("%+v, %v", r, err)
	}
	events, err := send(http.MethodGet, "/v1/runs/r_drain/events", "")
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()
	stream := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, events.Body)
		stream <- err
	}()
	type ending struct {
		res *tool.Result
		err error
	}
	click := make(chan ending, 1)
	go func() {
		r, err := call("browser.click", `{"target":{"name":"Place order","role":"button"},"expect":["page.text.contains(\"placed\")"]}`)
		click <- ending{r, err}
	}()
	awaitMoment(ctx, t, dir, "r_drain", 2, "execute")
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for { // until it says so
		res, err := send(http.MethodGet, "/readyz", "")
		if err != nil {
			t.Fatalf("it stopped answering before it was said to be unready: %v", err)
		}
		_ = res.Body.Close()
		if res.StatusCode == http.StatusServiceUnavailable {
			break
		}
	}
	res, err := send(http.MethodPost, "/v1/tools/browser.snapshot", "{}")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("a new call is answered with %d, %v", res.StatusCode, res.Header)
	}
	if e := <-click; e.err != nil || !e.res.OK() {
		t.Errorf("the call under way ended with %+v, %v", e.res, e.err)
	}
	if err := <-stream; err != nil {
		t.Errorf("the stream broke off: %v", err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	if orders := site.Truth(session).Goal + site.Truth(session).Wrong; orders != 1 {
		t.Errorf("%d orders", orders)
	}
}

// A step that does not end in time is handed over: the server stops in time, the next one observes what became of the step, and nothing is
// done twice. Invariants as for a killed server.
func TestStoppedServerHandsOver(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and stops servers; not with -short")
	}
	t.Parallel()
	site := gymSite(t)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute) // longer than the test: its servers end in Cleanup
	t.Cleanup(cancel)
	dir, session := t.TempDir(), tool.NewRunID()
	plan := write(t, "order.yaml", fmt.Sprintf(`name: Order
steps:
  - tool: browser.navigate
    args: {url: "%s/c/order?mode=slow&delay=6000&session=%s"}
  - tool: browser.click
    args: {target: {name: Place order, role: button}}
    expect: ['page.text.contains("placed")']
`, site.URL, session))
	server, _ := serving(ctx, t, dir, "--drain", "1s")
	caller := program(ctx, t, dir, "run", "--json", plan)
	var out bytes.Buffer
	caller.Stdout = &out
	runID := startCaller(t, caller)
	awaitMoment(ctx, t, dir, runID, 2, "execute")
	began := time.Now()
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	t.Logf("it stopped within %s", time.Since(began))
	server, _ = serving(ctx, t, dir, "--end-browser")
	endsWell(t, server)
	err := caller.Wait()
	st := finalState(t, out.Bytes())
	orders := site.Truth(session).Goal + site.Truth(session).Wrong
	t.Logf("%v, outcome %s, %d order(s), attempts of the last step: %+v", err, st.Outcome, orders, attemptsOf(st))
	switch {
	case orders > 1:
		t.Errorf("%d orders were placed", orders)
	case st.Succeeded() && orders != 1:
		t.Errorf("it says verified, and %d orders were placed", orders)
	case st.Outcome == planner.OutcomeRunning:
		t.Error("the run did not end")
	case !st.Succeeded():
		last := st.Steps[len(st.Steps)-1].Result
		if last == nil || last.RetryHint == nil || last.RetryHint.Reason() != tool.ReasonOutcomeUnknown {
			t.Errorf("it neither succeeded nor said that it does not know: %+v", st.Steps)
		}
	}
}

// The file of tokens is read anew at SIGHUP: who is not in it any more is refused at the next request, and a file that is not right changes
// nothing.
func TestRevokedTokenIsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and stops a server; not with -short")
	}
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	const ada, bob = "a-token-of-adas-that-is-long", "a-token-of-bobs-that-is-long"
	file := write(t, "tokens", "ada call "+ada+"\n")
	server, url := serving(ctx, t, t.TempDir(), "--tokens", file)
	status := func(token string) int {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/v1/tools", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := res.Body.Close(); err != nil {
			t.Error(err)
		}
		return res.StatusCode
	}
	await := func(token string, want int) {
		t.Helper()
		for status(token) != want {
			select {
			case <-ctx.Done():
				t.Fatalf("the answer never was %d", want)
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	again := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := server.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	await(ada, 200)
	again("ada call " + ada + "\nbob call " + bob + "\n")
	await(bob, 200)
	again("bob call " + bob + "\n")
	await(ada, 401)
	again("nonsense\n")
	if got := status(bob); got != 200 {
		t.Errorf("a file that is not right: %d", got)
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Error(err)
	}
}
