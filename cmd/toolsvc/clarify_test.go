package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"toolsvc/planner"
	"toolsvc/tool"
)

// A question outlives the process that asked it: a call without a target is asked about, the server is killed with SIGKILL while it waits,
// and started again; a wrong answer is refused and the question stays open, a right one finishes the call, whose effect is there once.
func TestQuestionOutlivesTheServer(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills servers; not with -short")
	}
	t.Parallel()
	site := gymSite(t)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	dir, session, runID := t.TempDir(), tool.NewRunID(), tool.NewRunID()
	said := "" // to standard error, by the latest command
	toolsvc := func(want int, args ...string) (stdout []byte) {
		t.Helper()
		cmd := program(ctx, t, dir, args...)
		var out, diag bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &diag
		err := cmd.Run()
		said = diag.String()
		status := 0
		if ee := new(exec.ExitError); errors.As(err, &ee) {
			status = ee.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if status != want {
			t.Fatalf("toolsvc %s ended with %d, want %d\n%s%s", strings.Join(args, " "), status, want, out.Bytes(), diag.Bytes())
		}
		return out.Bytes()
	}
	result := func(stdout []byte) (res tool.Result) {
		t.Helper()
		if err := json.Unmarshal(stdout, &res); err != nil {
			t.Fatalf("%v: %s", err, stdout)
		}
		return res
	}

	server := startServer(ctx, t, dir)
	toolsvc(0, "call", "browser.navigate", `{"url":"`+site.URL+`/c/order?mode=normal&session=`+session+`"}`, "--run", runID, "--repair", "person")
	toolsvc(0, "call", "browser.read", `{}`, "--run", runID, "--repair", "person")
	if !strings.Contains(said, "Verified: Read the page") || strings.Contains(said, "Open 127.0.0.1") { // its own narration to the end, and no other call's
		t.Errorf("a call in a run narrates\n%s", said)
	}
	asked := result(toolsvc(exitWaiting, "call", "browser.click", `{"target":{"role":"button"},"expect":["page.text.contains(\"placed\")"]}`, "--run", runID, "--repair", "person"))
	if asked.Status != tool.StatusNeedsInput || asked.Question == nil || asked.Question.Kind != tool.AskArguments {
		t.Fatalf("the call came to %+v", asked)
	}
	if err := server.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait() // it was killed
	server = startServer(ctx, t, dir, "--end-browser")
	endsWell(t, server)

	if shown := toolsvc(0, "answer", runID); !strings.Contains(string(shown), asked.Question.ID) {
		t.Errorf("the open question is not shown: %s", shown)
	}
	refused := result(toolsvc(exitUsage, "answer", runID, asked.Question.ID, `{"target":{"nth":0}}`))
	if refused.Status != tool.StatusNeedsInput || refused.RetryHint == nil || len(refused.RetryHint.Fields().Issues) == 0 {
		t.Errorf("the wrong answer came to %+v", refused)
	}
	if n := site.Truth(session).Goal; n != 0 {
		t.Fatalf("%d orders before the answer", n)
	}
	done := result(toolsvc(0, "answer", runID, asked.Question.ID, `{"target":{"name":"Place order"}}`))
	if !done.OK() || len(done.Repairs) == 0 || done.Repairs[len(done.Repairs)-1].Tier != "person" {
		t.Errorf("the answer came to %+v", done)
	}
	if n := site.Truth(session).Goal; n != 1 {
		t.Errorf("%d orders", n)
	}
	toolsvc(exitUsage, "answer", runID, asked.Question.ID, `{"target":{"name":"Place order"}}`) // it is closed
	toolsvc(0, "cancel", runID)
	for _, command := range []string{"pause", "resume"} {
		if toolsvc(exitUsage, command, runID); !strings.Contains(said, "run "+runID+" has ended already: cancelled") {
			t.Errorf("%s of a run that has ended: %s", command, said)
		}
	}
	var st planner.State
	if err := json.Unmarshal(toolsvc(0, "show", runID, "--json"), &st); err != nil || st.Outcome != planner.OutcomeCancelled {
		t.Errorf("outcome %s, %v", st.Outcome, err)
	}
}
