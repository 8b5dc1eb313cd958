package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"toolsvc/examples/document-pipeline"
	"toolsvc/gemini/geminitest"
	"toolsvc/planner"
	"toolsvc/tool"
)

const pipelinePlan = "../../examples/document-pipeline/plan.yaml"

// A pipeline goes on after a kill: the server is killed with SIGKILL while a stage's agent works, and started again. The stage is carried on,
// not begun anew; when its attempt then fails, everything that it did before and after the kill is taken back; and the run ends.
func TestKilledPipelineGoesOn(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills servers; not with -short")
	}
	t.Parallel()
	for _, c := range []struct {
		name     string
		models   []string
		kill     string // before this turn is answered
		attempts int    // of the second stage
	}{
		{"before anything is written", []string{"overview", "concepts", "visualization"}, "concepts-writer reads", 1},
		{"when the stage's work is done, but not verified", []string{"overview", "concepts", "visualization"}, "concepts-writer ends", 1},
		{"in an attempt that is taken back", []string{"overview", "concepts-corrects-itself", "visualization"}, "attempt 1 writes", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute) // longer than the test: its server ends in Cleanup
			t.Cleanup(cancel)
			turns, err := pipeline.Turns(c.models...)
			if err != nil {
				t.Fatal(err)
			}
			killed, n := make(chan struct{}), 0
			for i := range turns {
				if turns[i].Name == c.kill {
					turns[i].Reply = turns[i].Reply.Until(killed)
					turns[i].Times = 2 // once for each server
					n = i + 1
				}
			}
			if n == 0 {
				t.Fatalf("there is no turn %q", c.kill)
			}
			model := geminitest.Start(t, turns...)
			dir, work := t.TempDir(), filepath.Join(t.TempDir(), "work")
			if err := pipeline.CopyStart(work); err != nil {
				t.Fatal(err)
			}
			flags := []string{"--workspace", work, "--gemini-url", model.URL()}
			server := startServer(ctx, t, dir, flags...)
			caller := program(ctx, t, dir, "run", "--json", pipelinePlan)
			var out bytes.Buffer
			caller.Stdout = &out
			startCaller(t, caller)
			if _, err := model.Await(ctx, n); err != nil {
				t.Fatal(err)
			}
			if err := server.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			_ = server.Wait() // it was killed
			close(killed)
			server = startServer(ctx, t, dir, flags...)
			endsWell(t, server)
			err = caller.Wait()
			st := finalState(t, out.Bytes())
			if err != nil || st.Outcome != planner.OutcomeSucceeded {
				t.Fatalf("%v, outcome %s, %+v", err, st.Outcome, st.Steps)
			}
			if got := len(st.Steps[1].Result.Attempts); got != c.attempts {
				t.Errorf("the stage took %d attempts, want %d: %+v", got, c.attempts, st.Steps[1].Result.Attempts)
			}
			text, err := os.ReadFile(filepath.Join(work, pipeline.Document))
			if err != nil {
				t.Fatal(err)
			}
			if doc := string(text); strings.Count(doc, "# Core Concepts\n") != 1 || strings.Count(doc, "```mermaid\n") != 3 || strings.Count(doc, "\n- concepts-writer: done.") != 1 {
				t.Errorf("the document is\n%s", doc)
			}
		})
	}
}

// What is wrong with a plan of stages is named with its lines, and starts nothing; a plan with agents says that it needs a model.
func TestPipelineUsage(t *testing.T) {
	t.Parallel()
	bad := write(t, "plan.yaml", "stages:\n  - name: one\n    steps: [{tool: document.raed, args: {path: a.md}}]\n    after:\n      - document(\"a.md\").exits\n  - name: two\n    agent: {goal: x, tools: [docs.*]}\n    after: ['true']\n")
	steps := write(t, "steps.yaml", "steps:\n  - tool: document.read\n    args: {path: a.md}\n")
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   []string
	}{
		{"mistakes", []string{"run", bad}, exitUsage, []string{`plan.yaml:3: stage "one", step 1 (document.raed)`, `plan.yaml:5: stage "one"`, `"exists"`, `plan.yaml:7: stage "two"`, "nothing was started"}},
		{"no such stage", []string{"run", pipelinePlan, "--from", "concept-writer"}, exitUsage, []string{"it has overview-writer, concepts-writer, visualization-writer"}},
		{"no stages", []string{"run", steps, "--from", "x"}, exitUsage, []string{"has no stages"}},
		{"no plan", []string{"run", "--goal", "x", "--from", "x"}, exitUsage, []string{"give the plan's file"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "state")
			status, out, errs := invoke(t, append([]string{"--state-dir", dir}, c.args...)...)
			if status != c.status {
				t.Errorf("exit status %d, want %d", status, c.status)
			}
			for _, s := range c.says {
				if !strings.Contains(out+errs, s) {
					t.Errorf("it does not say %q:\n%s%s", s, out, errs)
				}
			}
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("something was started: %v", err)
			}
		})
	}
}

// The report of a stage names every attempt, what came of it, and why.
func TestAttemptsArePrinted(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	printAttempts(&out, "Write", &tool.Result{Attempts: []tool.AttemptRecord{
		{Number: 1, Failure: tool.PostconditionFailed, RolledBack: true, Message: "1 of 9 conditions failed: logged."},
		{Number: 2, Failure: tool.RollbackRefused, Message: "a.md was changed."},
		{Number: 3},
	}})
	want := "Write:\n  attempt 1: postcondition_failed, taken back. 1 of 9 conditions failed: logged.\n  attempt 2: rollback_refused. a.md was changed.\n  attempt 3: verified\n"
	if out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
}
