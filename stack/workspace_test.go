package stack

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toolsvc/gemini/geminitest"
	"toolsvc/planner"
	"toolsvc/tool"
)

func put(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func got(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What a shell command changed in the workspace is taken back when its conditions fail, and stays when they hold.
func TestShellCommandIsTakenBack(t *testing.T) {
	put(t, "shell/a.txt", "before\n")
	run := func(command string, expect ...string) *tool.Result {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		res, err := shared.Service.Call(ctx, request(t, "terminal.run", map[string]any{"command": command, "expect": expect}), "en")
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	res := run(`echo after > shell/a.txt; echo new > shell/b.txt`, `stdout.contains("done")`)
	if res.OK() || res.Error.Code != tool.VerificationFailed || !res.Attempts[0].RolledBack {
		t.Errorf("the failed command came to %+v, %+v", res.Error, res.Attempts)
	}
	if text := got(t, "shell/a.txt"); text != "before\n" {
		t.Errorf("after the rollback the file holds %q", text)
	}
	if _, err := os.Stat(filepath.Join(folder, "shell/b.txt")); !os.IsNotExist(err) {
		t.Errorf("the new file is still there (%v)", err)
	}
	if n := res.RetryHint.Fields().Rollback; n == nil || !n.Performed || len(n.FailedChecks) == 0 {
		t.Errorf("the caller is told %+v", n)
	}
	history(t, res.RunID, "rolled-back")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	res, err := shared.Service.Call(ctx, request(t, "terminal.run", map[string]any{"command": "echo half > shell/a.txt; sleep 60", "timeout_ms": 500}), "en")
	if err != nil || res.OK() || res.Error.Code != tool.Timeout || !res.Attempts[0].RolledBack {
		t.Errorf("the command that took too long came to %+v, %+v, %v", res.Error, res.Attempts, err)
	}
	if text := got(t, "shell/a.txt"); text != "before\n" {
		t.Errorf("after the command that took too long the file holds %q", text)
	}
	if res = run(`echo after > shell/a.txt; echo done`, `stdout.contains("done")`); !res.OK() {
		t.Errorf("the right command came to %+v", res.Error)
	}
	if text := got(t, "shell/a.txt"); text != "after\n" {
		t.Errorf("after the success the file holds %q", text)
	}
}

// A pipeline of two stages with agents: the first agent claims to be done, is taken back and told, and does it then; the second stage starts
// only after that. A third stage that never holds ends the pipeline with the state as it was before that stage.
func TestPipelineOfAgents(t *testing.T) {
	put(t, "pipeline/doc.md", "# Title\n\ncurrent: overview\n")
	plan, err := planner.ParsePlan(strings.NewReader(`
name: Document
stages:
  - name: overview
    agent:
      goal: Write the section Overview into pipeline/doc.md.
      tools: [document.*]
    before: ['document("pipeline/doc.md").exists']
    after:
      - {name: overview_there, if: 'document("pipeline/doc.md").section("Overview").exists', message: there is a section Overview}
      - {name: long_enough, if: 'document("pipeline/doc.md").section("Overview").words >= 3', message: it has three words}
  - name: concepts
    agent: {goal: Write the section Concepts., tools: [document.*]}
    before: ['document("pipeline/doc.md").section("Overview").exists']
    after: ['document("pipeline/doc.md").section("Concepts").exists']
  - name: check
    steps: [{tool: terminal.run, args: {command: "echo broken >> pipeline/doc.md"}}]
    after: [{name: untouched, if: '!document("pipeline/doc.md").text.contains("broken")'}]
  - name: never
    steps: [{tool: terminal.run, args: {command: "true"}}]
    after: ['document("pipeline/doc.md").exists']
`))
	if err != nil {
		t.Fatal(err)
	}
	section := func(title, text string) geminitest.FunctionCall {
		return geminitest.Call("document_write_section", map[string]any{"path": "pipeline/doc.md", "heading": title, "content": text})
	}
	first := len(model.Requests())
	model.Add(
		geminitest.Turn{If: geminitest.Says("section Overview"), Reply: geminitest.Calls(section("Overview", "Short."))},
		geminitest.Turn{Reply: geminitest.Text("I have written it.")},
		geminitest.Turn{If: geminitest.Says("long_enough"), Reply: geminitest.Calls(section("Overview", "It is long enough."))},
		geminitest.Turn{Reply: geminitest.Text("Now it is there.")},
		geminitest.Turn{If: geminitest.Says("section Concepts"), Reply: geminitest.Calls(section("Concepts", "Ideas."))},
		geminitest.Turn{Reply: geminitest.Text("Concepts are there.")},
	)
	in, err := shared.Service.PreparePipeline(plan, nil, "en", "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	if err := shared.Service.Start(ctx, in); err != nil {
		t.Fatal(err)
	}
	st, err := shared.Service.Wait(ctx, in.RunID)
	if err != nil {
		now, serr := shared.Service.State(context.WithoutCancel(ctx), in.RunID)
		child, cerr := shared.Service.State(context.WithoutCancel(ctx), in.RunID+"-1-1")
		t.Fatalf("%v\n%+v %v\n%+v %v\nthe fake refused %v", err, now, serr, child, cerr, model.Refused())
	}
	var got1 []planner.Status
	for _, s := range st.Steps {
		got1 = append(got1, s.Status)
		if s.Result != nil {
			t.Logf("%s: %d attempts, %v", s.Tool, len(s.Result.Attempts), s.Result.Error)
		}
	}
	if len(got1) != 4 || got1[0] != planner.StatusVerified || got1[1] != planner.StatusVerified || got1[2] != planner.StatusFailed || got1[3] != planner.StatusSkipped {
		t.Fatalf("the stages ended as %v; the fake refused %v", got1, model.Refused())
	}
	history(t, in.RunID, "stages")
	history(t, in.RunID+"-1-1", "stages-child")
	overview := st.Steps[0].Result
	if len(overview.Attempts) != 2 || !overview.Attempts[0].RolledBack || overview.ChildrenCount != 2 {
		t.Errorf("the first stage came to %+v", overview)
	}
	doc := got(t, "pipeline/doc.md")
	if !strings.Contains(doc, "It is long enough.") || !strings.Contains(doc, "Ideas.") || strings.Contains(doc, "broken") || strings.Contains(doc, "Short.") {
		t.Errorf("the document is\n%s", doc)
	}
	if res := st.Steps[2].Result; res.Error.Code != tool.PostconditionFailed || !res.Attempts[0].RolledBack {
		t.Errorf("the third stage came to %+v %+v", res.Error, res.Attempts)
	}
	notice := model.Requests()[first+2].Text()
	for _, want := range []string{"long_enough", "rollback"} {
		if !strings.Contains(strings.ToLower(notice), want) {
			t.Errorf("the agent was not told %q: %s", want, notice)
		}
	}
}
