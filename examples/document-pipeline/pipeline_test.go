package pipeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"toolsvc/examples/document-pipeline"
	"toolsvc/gemini/geminitest"
	"toolsvc/planner"
	"toolsvc/tool"
)

// Every stage of the example has 10 to 14 conditions with names and words, and an agent that is told all that it is judged by.
func TestConditionsAreReadable(t *testing.T) {
	plan := parsed(t)
	if len(plan.Stages) != 3 {
		t.Fatalf("%d stages", len(plan.Stages))
	}
	for _, s := range plan.Stages {
		if n := len(s.Before) + len(s.After); n < 10 || n > 14 {
			t.Errorf("%s has %d conditions", s.Name, n)
		}
		for _, c := range slices.Concat(s.Before, s.After) {
			if c.Name == "" || c.Message == "" {
				t.Errorf("%s: the condition %s has no name, or no words", s.Name, c.If)
			}
		}
	}
}

// With a model that does what it is asked, and with one that needs to be told, the whole document is written, each stage in its own run.
func TestDocumentIsWritten(t *testing.T) {
	for name, attempts := range map[string][]int{
		"well-behaved":        {1, 1, 1},
		"corrects-itself":     {1, 2, 1},
		"believes-it-is-done": {1, 3, 1},
	} {
		t.Run(name, func(t *testing.T) {
			fresh(t)
			b, err := pipeline.Named(name)
			if err != nil {
				t.Fatal(err)
			}
			s := scripted(t, turnsOf(t, b.Models...)...)
			st := finished(t, parsed(t), nil, "")
			if !st.Succeeded() || st.Outcome != planner.OutcomeSucceeded {
				t.Fatalf("it ended as %s: %s %s", st.Outcome, statuses(st), why(st))
			}
			for i, step := range st.Steps {
				r := step.Result
				if len(r.Attempts) != attempts[i] {
					t.Errorf("%s took %d attempts, want %d", step.Tool, len(r.Attempts), attempts[i])
				}
				if r.Verification.Verdict != tool.VerdictSuccess || len(r.Verification.Checks) != len(parsed(t).Stages[i].After) {
					t.Errorf("%s is verified as %+v", step.Tool, r.Verification)
				}
				for _, a := range r.Attempts[:len(r.Attempts)-1] {
					if a.Failure != tool.PostconditionFailed || !a.RolledBack {
						t.Errorf("%s: attempt %d came to %+v", step.Tool, a.Number, a)
					}
				}
			}
			text := tree(t)["/"+pipeline.Document]
			for _, want := range []string{"# Overview\n", "# Core Concepts\n", "CURRENT_AGENT: none\n", "\n- visualization-writer: done."} {
				if strings.Count(text, want) != 1 {
					t.Errorf("%q stands %d times in\n%s", want, strings.Count(text, want), text)
				}
			}
			if n := strings.Count(text, "```mermaid\n"); n != 3 {
				t.Errorf("%d diagrams", n)
			}
			if total := attempts[0] + attempts[1] + attempts[2]; total > 3 {
				noticed(t, s, total-3)
			}
		})
	}
}

func why(st *planner.State) string {
	for _, s := range st.Steps {
		if s.Result != nil && s.Result.Error != nil {
			return s.Result.Error.Message
		}
	}
	return ""
}

// noticed checks that the model was told of n rollbacks in its own conversation: that it was done, that the state is as before, and which
// checks failed; and that only the latest attempt was repeated to it.
func noticed(t *testing.T, s *geminitest.Server, n int) {
	t.Helper()
	for attempt := 2; attempt <= n+1; attempt++ {
		mark := "[attempt " + string(rune('0'+attempt)) + " of 3]"
		i := slices.IndexFunc(s.Requests(), func(r geminitest.Request) bool { return strings.Contains(r.Text(), mark) })
		if i < 0 {
			t.Fatalf("the model was never told of attempt %d", attempt)
		}
		r := s.Requests()[i]
		last := r.Contents[len(r.Contents)-1]
		if last.Role != "user" || !strings.Contains(last.Parts[len(last.Parts)-1].Text, mark) {
			t.Errorf("attempt %d: the notice is not the last thing that is said: %+v", attempt, last)
		}
		notice := r.Text()[strings.LastIndex(r.Text(), mark):]
		for _, want := range []string{"A rollback was done", "The state is as it was before", "These checks failed: ", "expected ", "observed "} {
			if !strings.Contains(notice, want) {
				t.Errorf("attempt %d: the notice does not say %q: %s", attempt, want, notice)
			}
		}
		if before := strings.Count(r.Text(), " of 3]"); before > 2 {
			t.Errorf("attempt %d: %d notices are repeated", attempt, before)
		}
	}
}

// However a model misbehaves, the pipeline ends clean: what it did is taken back, nothing else was touched, the later stages are not begun,
// the result names every attempt with the checks that failed, and the model was told of each.
func TestMisbehaviourEndsClean(t *testing.T) {
	for name, failed := range map[string][3]string{
		"ignores-feedback": {"three_to_five", "three_to_five", "three_to_five"},
		"over-edits":       {"rest_untouched", "rest_untouched", "rest_untouched"},
		"misses-log":       {"logged", "log_kept", "logged"},
		"repeats-itself":   {"fences_closed", "fences_closed", "fences_closed"},
		"insists":          {"concepts_there", "concepts_there", "concepts_there"},
	} {
		t.Run(name, func(t *testing.T) {
			fresh(t)
			scripted(t, turnsOf(t, "overview")...)
			plan := parsed(t)
			only := *plan
			only.Stages = plan.Stages[:1]
			if st := finished(t, &only, nil, ""); !st.Succeeded() {
				t.Fatalf("the first stage: %s", why(st))
			}
			before := tree(t)
			s := scripted(t, turnsOf(t, "concepts-"+name)...)
			st := finished(t, plan, nil, "concepts-writer")
			if st.Outcome != planner.OutcomeFailed || statuses(st) != "failed skipped" {
				t.Fatalf("it ended as %s: %s", st.Outcome, statuses(st))
			}
			same(t, before, tree(t))
			r := st.Steps[0].Result
			if r.Error.Code != tool.PostconditionFailed || len(r.Attempts) != 3 {
				t.Fatalf("it came to %+v with %d attempts", r.Error, len(r.Attempts))
			}
			for i, a := range r.Attempts {
				if !a.RolledBack || a.Failure != tool.PostconditionFailed || !strings.Contains(a.Message, failed[i]+":") {
					t.Errorf("attempt %d should name %s: %+v", i+1, failed[i], a)
				}
			}
			hint := r.RetryHint.Fields()
			if hint.Reason != tool.ReasonPostconditionFailed || hint.Rollback == nil || !hint.Rollback.Performed || !slices.Contains(hint.Rollback.FailedChecks, failed[2]) {
				t.Errorf("the hint is %+v, rollback %+v", hint, hint.Rollback)
			}
			if !slices.Contains(r.Verification.Failed(), failed[2]) || len(r.Verification.Checks) != 10 {
				t.Errorf("the verification names %v", r.Verification.Failed())
			}
			noticed(t, s, 2)
		})
	}
}

func same(t *testing.T, before, after map[string]string) {
	t.Helper()
	for path, text := range after {
		if before[path] != text {
			t.Errorf("%s is not what it was:\n%s", path, text)
		}
	}
	if len(after) != len(before) {
		t.Errorf("there are %d files, and there were %d", len(after), len(before))
	}
}

// After a failed stage a person corrects what kept it from succeeding, and the pipeline goes on from there: the verified stage is not
// repeated, and its work stays.
func TestResumeFromTheFailedStage(t *testing.T) {
	fresh(t)
	scripted(t, turnsOf(t, "overview", "concepts-repeats-itself")...)
	st := finished(t, parsed(t), nil, "")
	if statuses(st) != "verified failed skipped" {
		t.Fatalf("the stages ended as %s: %s", statuses(st), why(st))
	}
	file := filepath.Join(folder, pipeline.Document)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	corrected := strings.Replace(string(text), "# Notes\n", "# Notes\n\nCode is marked as sql.\n", 1)
	if err := os.WriteFile(file, []byte(corrected), 0o600); err != nil {
		t.Fatal(err)
	}
	s := scripted(t, turnsOf(t, "concepts", "visualization")...)
	st = finished(t, parsed(t), nil, "concepts-writer")
	if statuses(st) != "verified verified" || st.Outcome != planner.OutcomeSucceeded {
		t.Fatalf("the rest ended as %s: %s", statuses(st), why(st))
	}
	for _, r := range s.Requests() {
		if strings.Contains(r.System, "You are overview-writer") {
			t.Error("the verified stage was repeated")
		}
	}
	now := tree(t)["/"+pipeline.Document]
	if !strings.Contains(now, "Code is marked as sql.") || !strings.Contains(now, "# Overview\n") || strings.Count(now, "```mermaid") != 3 {
		t.Errorf("the document is\n%s", now)
	}
}

// A stage whose preconditions do not hold does nothing: no model is asked, and the result names what does not hold.
func TestNothingRunsWithoutItsPreconditions(t *testing.T) {
	fresh(t)
	before := tree(t)
	s := scripted(t)
	st := finished(t, parsed(t), nil, "visualization-writer")
	r := st.Steps[0].Result
	if statuses(st) != "failed" || r.Error.Code != tool.PreconditionFailed || len(s.Requests()) != 0 {
		t.Fatalf("it came to %s, %+v, %d requests", statuses(st), r.Error, len(s.Requests()))
	}
	for _, want := range []string{"its_turn", "concepts_there", "concepts_logged"} {
		if !strings.Contains(r.Error.Message, want) {
			t.Errorf("the result does not name %s: %s", want, r.Error.Message)
		}
	}
	same(t, before, tree(t))
}

// A run that is cancelled while a stage works leaves nothing of that stage.
func TestCancelledStageIsTakenBack(t *testing.T) {
	fresh(t)
	before := tree(t)
	turns := turnsOf(t, "overview")
	hold := make(chan struct{})
	defer close(hold)
	turns[len(turns)-1].Reply = turns[len(turns)-1].Reply.Until(hold)
	s := scripted(t, turns...)
	runID := started(t, parsed(t), nil, "")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := s.Await(ctx, len(turns)); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(before["/"+pipeline.Document], "# Overview") || !strings.Contains(tree(t)["/"+pipeline.Document], "# Overview") {
		t.Fatal("the overview should be there by now")
	}
	if err := shared.Service.Cancel(ctx, runID); err != nil {
		t.Fatal(err)
	}
	if _, err := shared.Service.Wait(ctx, runID); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("the run should be cancelled: %v", err)
	}
	same(t, before, tree(t))
}

// Where another run changes what a stage has written, while that stage is at work, nobody can tell whose it is: the rollback is refused, nothing
// is overwritten, no further attempt is made on top of it, and the result names the file.
func TestRollbackIsRefusedWhereAnotherRunWrote(t *testing.T) {
	fresh(t)
	turns := turnsOf(t, "overview")
	turns = turns[:len(turns)-1]
	for i := range turns[1].Reply.Parts { // it forgets to hand over, so that its work has to be taken back
		if c := turns[1].Reply.Parts[i].Call; c.Name == "document_replace" {
			turns[1].Reply.Parts = turns[1].Reply.Parts[:i]
			break
		}
	}
	other := func() error {
		args, err := json.Marshal(map[string]any{"command": `printf '\n# Of another run\n' >> ` + pipeline.Document})
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		res, err := shared.Service.Call(ctx, tool.Request{CallID: tool.NewCallID(), Tool: "terminal.run", Arguments: args}, "en")
		if err == nil && !res.OK() {
			err = errors.New(res.Error.Message)
		}
		return err
	}
	turns = append(turns, geminitest.Turn{If: geminitest.Answers("document_insert"), Handle: func(*geminitest.Request) geminitest.Reply {
		if err := other(); err != nil {
			t.Error(err)
		}
		return geminitest.Text("The overview is written.")
	}})
	scripted(t, turns...)
	st := finished(t, parsed(t), nil, "")
	if text := tree(t)["/"+pipeline.Document]; !strings.Contains(text, "# Of another run") || !strings.Contains(text, "# Overview") {
		t.Errorf("something was overwritten:\n%s", text)
	}
	r := st.Steps[0].Result
	if statuses(st) != "failed skipped skipped" || r.Error.Code != tool.RollbackRefused || len(r.Attempts) != 1 || r.Attempts[0].RolledBack || !strings.Contains(r.Error.Message, pipeline.Document) {
		t.Errorf("it came to %s, %+v, %+v", statuses(st), r.Error, r.Attempts)
	}
	if n := r.RetryHint.Fields().Rollback; n == nil || n.Performed {
		t.Errorf("the hint is %+v", r.RetryHint.Fields())
	}
}
