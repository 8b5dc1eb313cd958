package pipeline_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"toolsvc/examples/document-pipeline"
	"toolsvc/executors/terminal"
	"toolsvc/gemini"
	"toolsvc/gemini/geminitest"
	"toolsvc/planner"
	"toolsvc/stack"
)

// What the tests share: one toolsvc with a real Temporal, its workspace, and the model of the test that is running.
var (
	shared *stack.Stack
	folder string
	model  atomic.Pointer[geminitest.Server]
)

func TestMain(m *testing.M) {
	terminal.Supervise()
	code, err := withStack(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func withStack(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "toolsvc-pipeline-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	folder = filepath.Join(dir, "workspace")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return 1, err
	}
	gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if now := model.Load(); now != nil {
			now.ServeHTTP(w, r)
			return
		}
		http.Error(w, "no model is there", http.StatusServiceUnavailable)
	}))
	defer gate.Close()
	ctx := context.Background()
	commands, err := goCache()
	if err != nil {
		return 1, err
	}
	shared, err = stack.Open(ctx, stack.Options{StateDir: filepath.Join(dir, "state"), Ephemeral: true, UIPort: -1, Workspace: folder, Commands: commands,
		Gemini: gemini.Options{BaseURL: gate.URL, APIKey: "scripted"}})
	if err != nil {
		return 1, err
	}
	code = m.Run()
	return code, shared.Close(ctx)
}

// goCache lets commands use this machine's cache of compiled packages, so that go vet takes seconds.
func goCache() (stack.Commands, error) {
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return stack.Commands{}, fmt.Errorf("find Go's cache: %w", err)
	}
	dir := strings.TrimSpace(string(out))
	return stack.Commands{Env: map[string]string{"GOCACHE": dir, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod", "GOPROXY": "off"}, ReadWrite: []string{dir}}, os.MkdirAll(dir, 0o700)
}

// scripted is the model of this test. Tests run one after the other, because they share a workspace.
func scripted(t *testing.T, turns ...geminitest.Turn) *geminitest.Server {
	t.Helper()
	s := geminitest.Start(t, turns...)
	model.Store(s)
	t.Cleanup(func() { model.Store(nil) })
	return s
}

// turnsOf are the turns of some models.
func turnsOf(t *testing.T, models ...string) []geminitest.Turn {
	t.Helper()
	turns, err := pipeline.Turns(models...)
	if err != nil {
		t.Fatal(err)
	}
	return turns
}

// emptied empties the workspace.
func emptied(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(folder, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
}

// fresh empties the workspace, and puts there what the writers start from.
func fresh(t *testing.T) {
	t.Helper()
	emptied(t)
	if err := pipeline.CopyStart(folder); err != nil {
		t.Fatal(err)
	}
}

// tree is everything in the workspace, by path.
func tree(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, folder)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func parsed(t *testing.T) *planner.Plan {
	t.Helper()
	f, err := pipeline.Plan()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	plan, err := planner.ParsePlan(f)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// started starts a plan, from one of its stages on.
func started(t *testing.T, plan *planner.Plan, vars map[string]string, from string) string {
	t.Helper()
	in, err := shared.Service.PreparePipeline(plan, vars, "en", from)
	if err != nil {
		t.Fatal(err)
	}
	if err := shared.Service.Start(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	return in.RunID
}

// finished runs a plan to its end.
func finished(t *testing.T, plan *planner.Plan, vars map[string]string, from string) *planner.State {
	t.Helper()
	runID := started(t, plan, vars, from)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	st, err := shared.Service.Wait(ctx, runID)
	if err != nil {
		t.Fatalf("the run did not end: %v", err)
	}
	return st
}

// statuses are those of the stages, in order.
func statuses(st *planner.State) string {
	var all []string
	for _, s := range st.Steps {
		all = append(all, string(s.Status))
	}
	return strings.Join(all, " ")
}
