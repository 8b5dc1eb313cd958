package mcptest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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

// backends writes a configuration with Playwright MCP and server-everything.
func backends(t *testing.T) (config string) {
	t.Helper()
	dir := modules(t)
	config = filepath.Join(t.TempDir(), "toolsvc.yaml")
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
    effects: {"*": read_only}
`, node, filepath.Join(dir, "@playwright", "mcp", "cli.js"), chromium(t), t.TempDir(), node, filepath.Join(dir, "@modelcontextprotocol", "server-everything", "dist", "index.js"))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config
}

// Two servers from npm are toolsets: listed, called, and healed in their errors, through toolsvc's own MCP.
func TestBackends(t *testing.T) {
	config := backends(t)
	url := pages(t)
	p := plan{SDK: 1, Command: toolsvc(t), Args: []string{"mcp", "--state-dir", t.TempDir(), "--config", config},
		Env: map[string]string{"PATH": os.Getenv("PATH"), "HOME": os.Getenv("HOME")},
		Calls: []planCall{
			{"run_get", nil}, // the catalogue has grown when this has answered
			{"everything_echo", map[string]any{"message": "hello"}},
			{"everything_echo", map[string]any{"mesage": "hello"}},
			{"everything_get_sum", map[string]any{"a": "1"}},
			{"everything_get_structured_content", map[string]any{"location": "New York"}},
			{"everything_get_tiny_image", nil},
			{"playwright_navigate", map[string]any{"url": url + "/c/late"}},
			{"playwright_snapshot", nil},
			{"playwright_click", map[string]any{"elment": "x"}},
			{"playwright_close", nil},
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

func clipped(s string) string {
	if len(s) > 300 {
		return s[:300] + "…"
	}
	return s
}
