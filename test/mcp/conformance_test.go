package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/server/mcp"
	"toolsvc/tool"
)

// modules returns the folder of the npm packages that scripts/mcp-deps.sh installs, and skips the test in clear words where they are not.
func modules(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, ".installed")); err != nil {
		t.Skip("the npm packages of test/mcp are not installed: run make test-mcp, which says why when npm cannot be reached")
	}
	return dir
}

// node runs a program of an npm package, with the pinned node.
func node(ctx context.Context, t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	dir := modules(t)
	cmd := exec.CommandContext(ctx, filepath.Join(dir, ".bin", name), args...)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "node", "bin")+string(os.PathListSeparator)+os.Getenv("PATH"), "NO_COLOR=1", "CI=1")
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// fixtureServer serves the fixtures by the surface's own handler, behind the checks of host and origin that the server has in front of it.
func fixtureServer(t *testing.T) string {
	t.Helper()
	reg, err := tool.NewRegistry(jobSpecs())
	if err != nil {
		t.Fatal(err)
	}
	s, err := mcp.New(mcp.Options{Service: newJobs(), Registry: reg, Key: []byte(strings.Repeat("k", 32)), TaskAfter: 300 * time.Millisecond,
		Logger:       slog.New(slog.NewTextHandler(io.Discard, nil)),
		TaskRequired: func(id tool.ID) bool { return id == "failing_job" || id == "test_tool_with_task" },
		TaskFailed: func(r *tool.Result) *jsonrpc.Error {
			if r.Error != nil && r.Error.Code == tool.Internal {
				return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: r.Error.Message}
			}
			return nil
		},
		Extend: func(server *sdk.Server, s *mcp.Surface) {
			addFixtures(server, s)
			add(server, "greet", schema(`{"type":"object","properties":{"name":{"type":"string"}}}`), func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				var in struct{ Name string }
				if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
					return nil, err
				}
				return text("Hello, %s!", in.Name), nil
			})
		}})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", s.Handler())
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "foreign host", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
	srv := httptest.NewServer(http.NewCrossOriginProtection().Handler(guarded))
	t.Cleanup(srv.Close)
	return strings.Replace(srv.URL, "127.0.0.1", "localhost", 1) + "/mcp"
}

func TestConformance(t *testing.T) {
	modules(t)
	url := fixtureServer(t)
	for _, requirements := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(requirements, func(t *testing.T) {
			t.Parallel()
			conform(t, "server", "--url", url, "--requirements", requirements, "-o", t.TempDir())
		})
	}
	// The suite skips tasks-status-notifications itself, until it has been rewritten; TestListenToTasks of server/mcp holds us to it.
	tasks := []string{"tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal", "tasks-mrtr-input", "tasks-request-headers",
		"tasks-dispatch-and-envelope", "tasks-status-notifications", "tasks-required-task-error", "tasks-mrtr-composition"}
	for _, scenario := range tasks {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			conform(t, "server", "--url", url, "--scenario", scenario, "--spec-version", "2026-07-28", "--force", "-o", t.TempDir())
		})
	}
}

// check is one line of the suite's record.
type check struct{ ID, Status, ErrorMessage string }

// conform runs the suite, and fails for every check that failed.
func conform(t *testing.T, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := node(ctx, t, "conformance", args...)
	out, err := cmd.CombinedOutput()
	dir := args[slices.Index(args, "-o")+1]
	counts := map[string]int{}
	walkErr := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "checks.json" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var checks []check
		if err := json.Unmarshal(raw, &checks); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, c := range checks {
			counts[c.Status]++
			if c.Status == "FAILURE" || c.Status == "WARNING" {
				t.Errorf("%s: %s: %s", c.Status, c.ID, c.ErrorMessage)
			}
			if c.Status == "SKIPPED" { // by the suite itself
				t.Logf("skipped: %s: %s", c.ID, c.ErrorMessage)
			}
		}
		return nil
	})
	if walkErr != nil {
		t.Fatal(walkErr)
	}
	t.Logf("%s: %v", strings.Join(args[3:5], " "), counts)
	if err != nil || len(counts) == 0 {
		t.Errorf("%v\n%s", err, tail(out))
	}
}

func tail(out []byte) string {
	if len(out) > 6000 {
		out = out[len(out)-6000:]
	}
	return string(out)
}
