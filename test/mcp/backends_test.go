package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/tool"
)

// chromium is the machine's browser.
func chromium(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("Chromium is missing: make deps installs it")
	return ""
}

// backends writes a configuration with Playwright MCP and server-everything, whose process has the mark in its environment.
func backends(t *testing.T) (config, mark string) {
	t.Helper()
	dir := modules(t)
	mark = t.TempDir()
	config = filepath.Join(mark, "toolsvc.yaml")
	node := filepath.Join(dir, "node", "bin", "node")
	text := fmt.Sprintf(`backends:
  playwright:
    command: [%q, %q, --headless, --isolated, --no-sandbox, --executable-path, %q]
    dir: %q
    prefix: browser_
    deny: [browser_run_code*]
    effects: {"browser_*": reversible, browser_snapshot: read_only}
  everything:
    command: [%q, %q, stdio]
    shared: true
    env: {TOOLSVC_TEST: %q}
    effects: {"*": read_only}
`, node, filepath.Join(dir, "@playwright", "mcp", "cli.js"), chromium(t), t.TempDir(), node, filepath.Join(dir, "@modelcontextprotocol", "server-everything", "dist", "index.js"), mark)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config, mark
}

// Two servers from npm are toolsets: listed, called, and healed in their errors, through toolsvc's own MCP.
func TestBackends(t *testing.T) {
	config, _ := backends(t)
	url := pages(t)
	p := plan{SDK: 1, Command: toolsvc(t), Args: []string{"mcp", "--state-dir", t.TempDir(), "--config", config},
		Env: map[string]string{"PATH": os.Getenv("PATH"), "HOME": os.Getenv("HOME")},
		Calls: []planCall{
			{Name: "run_get"}, // the catalogue has grown when this has answered
			{Name: "everything_echo", Arguments: map[string]any{"message": "hello"}},
			{Name: "everything_echo", Arguments: map[string]any{"mesage": "hello"}},
			{Name: "everything_get_sum", Arguments: map[string]any{"a": "1"}},
			{Name: "everything_get_structured_content", Arguments: map[string]any{"location": "New York"}},
			{Name: "everything_get_tiny_image"},
			{Name: "playwright_navigate", Arguments: map[string]any{"url": url + "/c/late"}},
			{Name: "playwright_snapshot"},
			{Name: "playwright_click", Arguments: map[string]any{"elment": "x"}},
			{Name: "playwright_close"},
		}}
	results, _ := drive(t, p, nil)
	if len(results) != len(p.Calls) {
		t.Fatalf("%d results", len(results))
	}
	for i, e := range results {
		t.Logf("%s: %s", p.Calls[i].Name, clipped(e.Text+e.Message))
	}
	verified := func(i int, want string) {
		t.Helper()
		if r := results[i].result(t); !r.OK() || !strings.Contains(string(r.Result), want) {
			t.Errorf("%s: %s", p.Calls[i].Name, results[i].Text)
		}
	}
	rejected := func(i int, want string) {
		t.Helper()
		r := results[i].result(t)
		if r.Error == nil || len(r.Attempts) > 0 || r.Error.Code != tool.InvalidArguments && r.Error.Code != tool.MissingFields || !strings.Contains(results[i].Text, want) {
			t.Errorf("%s: %s", p.Calls[i].Name, results[i].Text)
		}
	}
	verified(1, "hello")
	if r := results[2].result(t); r.OK() { // a misspelt name whose meaning is certain is corrected, and says so
		if len(r.Repairs) == 0 {
			t.Errorf("corrected in silence: %s", results[2].Text)
		}
	} else {
		rejected(2, "message")
	}
	rejected(3, "b is missing")
	verified(4, "structured")
	verified(5, "sha256:")
	if len(results[5].Images) != 1 {
		t.Errorf("%d images", len(results[5].Images))
	}
	verified(6, "")
	verified(7, "")
	rejected(8, "target")
	verified(9, "")
}

// What a server asks and tells during a call reaches the client, in either era; its process may die between calls.
func TestBackendsAskAndDie(t *testing.T) {
	modules(t)
	for _, w := range []way{{name: "v1 stdio", sdk: 1}, {name: "v2 stdio", sdk: 2, mode: "auto"}} {
		t.Run(w.name, func(t *testing.T) {
			config, mark := backends(t)
			p := plan{SDK: w.sdk, Mode: w.mode, Command: toolsvc(t), Args: []string{"mcp", "--state-dir", t.TempDir(), "--config", config},
				Env:    map[string]string{"PATH": os.Getenv("PATH"), "HOME": os.Getenv("HOME")},
				Elicit: map[string]any{"action": "accept", "content": map[string]any{"name": "Ada Lovelace", "check": true}},
				Calls: []planCall{
					{Name: "run_get"}, // the catalogue has grown when this has answered
					{Name: "everything_trigger_elicitation_request"},
					{Name: "everything_trigger_long_running_operation", Arguments: map[string]any{"duration": 1, "steps": 2}},
					{Name: "everything_echo", Arguments: map[string]any{"message": "still there"}, Pause: true},
				}}
			results, others := drive(t, p, func() { kill(t, "TOOLSVC_TEST="+mark) })
			if len(results) != len(p.Calls) {
				t.Fatalf("%d results: %+v", len(results), results)
			}
			if !has(others, "elicit", func(e event) bool { return strings.Contains(e.Message, "Please provide inputs") }) {
				t.Error("the server's question did not reach the client")
			}
			if r := results[1].result(t); !r.OK() || !strings.Contains(string(r.Result), "Ada Lovelace") {
				t.Errorf("the answer did not reach the server: %s", results[1].Text)
			}
			if r := results[2].result(t); !r.OK() || !strings.Contains(string(r.Result), "completed") {
				t.Errorf("%s", results[2].Text)
			}
			if r := results[3].result(t); !r.OK() || !strings.Contains(string(r.Result), "still there") {
				t.Errorf("after its process was killed: %s", results[3].Text)
			}
		})
	}
}

// kill ends the process that has the mark in its environment, and none else.
func kill(t *testing.T, mark string) {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	killed := 0
	for _, path := range found {
		environment, err := os.ReadFile(path)
		if err != nil || !slices.Contains(strings.Split(string(environment), "\x00"), mark) {
			continue // it has ended, or is somebody else's
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		killed++
	}
	if killed == 0 {
		t.Fatal("there is no process to kill")
	}
}

// A server that is down when toolsvc starts is tried again; when it is there, a connected client is told that there are more tools, and can
// call them.
func TestBackendThatComesLater(t *testing.T) {
	modules(t) // so that the program is built only where the other tests need it as well
	s := sdk.NewServer(&sdk.Implementation{Name: "late", Version: "1"}, nil)
	s.AddTool(&sdk.Tool{Name: "hello", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return text("hello"), nil })
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	up := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-up:
			handler.ServeHTTP(w, r)
		default:
			http.Error(w, "starting", http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(srv.Close)
	config := filepath.Join(t.TempDir(), "toolsvc.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "backends:\n  late: {url: %q, shared: true}\n", srv.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	changed := make(chan struct{}, 10)
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
		changed <- struct{}{}
	}})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.Command(toolsvc(t), "mcp", "--state-dir", t.TempDir(), "--config", config)
	session, err := c.Connect(ctx, &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	if _, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "run_get"}); err != nil { // the catalogue is complete when this has answered
		t.Fatal(err)
	}
	if listed(ctx, t, session, "late_hello") {
		t.Fatal("a server that is down has tools")
	}
	close(up)
	for !listed(ctx, t, session, "late_hello") {
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatal("nobody said that there are more tools")
		}
	}
	res, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "late_hello"})
	if err != nil || res.IsError {
		t.Errorf("%+v %v", res, err)
	}
}

func listed(ctx context.Context, t *testing.T, session *sdk.ClientSession, name string) bool {
	t.Helper()
	for found, err := range session.Tools(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if found.Name == name {
			return true
		}
	}
	return false
}

func clipped(s string) string {
	if len(s) > 300 {
		return s[:300] + "…"
	}
	return s
}
