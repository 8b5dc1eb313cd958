package stack

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"

	"toolsvc/bench/gym"
	"toolsvc/executors/terminal"
	"toolsvc/gemini"
	"toolsvc/gemini/geminitest"
	"toolsvc/narration"
	"toolsvc/planner"
	"toolsvc/planner/historytest"
	"toolsvc/store"
	"toolsvc/tool"
)

var update = flag.Bool("update", false, "record the histories of these tests for planner's replay test")

var (
	shared *Stack // of all tests here: a real Temporal and a real Chromium
	site   *gym.Server
	model  *geminitest.Server // the shared stack's model
	folder string             // the shared stack's workspace
)

func TestMain(m *testing.M) {
	terminal.Supervise()
	flag.Parse()
	code, err := withStack(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func withStack(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "toolsvc-stack-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	if site, err = gym.Start(); err != nil {
		return 1, err
	}
	defer site.Close() //nolint:errcheck // it served what it had to
	ctx := context.Background()
	folder = filepath.Join(dir, "workspace")
	if err = os.Mkdir(folder, 0o700); err != nil {
		return 1, err
	}
	if model, err = geminitest.Serve("127.0.0.1:0", &geminitest.Script{}); err != nil {
		return 1, err
	}
	defer model.Close()
	if err = openShop(ctx, filepath.Join(dir, "orders.db")); err != nil {
		return 1, err
	}
	defer shop.Close() //nolint:errcheck // a temporary file
	if shared, err = Open(ctx, Options{Toolsets: shopTools(), StateDir: filepath.Join(dir, "state"), Ephemeral: true, MaxSessions: 16, Workspace: folder, Gemini: gemini.Options{BaseURL: model.URL()}}); err != nil {
		return 1, err
	}
	code = m.Run()
	return code, shared.Close(ctx)
}

// request makes a call of a plan.
func request(t *testing.T, id tool.ID, args map[string]any) tool.Request {
	t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return tool.Request{CallID: tool.NewCallID(), Tool: id, Arguments: text}
}

func open(t *testing.T, path string) tool.Request {
	joint := "?"
	if strings.Contains(path, "?") {
		joint = "&"
	}
	return request(t, "browser.navigate", map[string]any{"url": site.URL + path + joint + "session=" + tool.NewRunID()})
}

func click(t *testing.T, target map[string]any, expect ...string) tool.Request {
	args := map[string]any{"target": target}
	if len(expect) > 0 {
		args["expect"] = expect
	}
	return request(t, "browser.click", args)
}

var play = map[string]any{"name": "Play", "role": "button"}

const playing = `page.text.contains("Playing Harbor Lights")`

// finish runs a script to its end.
func finish(t *testing.T, in planner.Input, reqs ...tool.Request) *planner.State {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	in.RunID, in.Kind = tool.NewRunID(), planner.KindScript
	if in.Language == "" {
		in.Language = "en"
	}
	for _, r := range reqs {
		step, rejected, err := shared.Service.Prepare(r, in.Language)
		if err != nil || rejected != nil {
			t.Fatalf("%v %+v", err, rejected)
		}
		in.Steps = append(in.Steps, step)
	}
	if err := shared.Service.Start(ctx, in); err != nil {
		t.Fatal(err)
	}
	st, err := shared.Service.Wait(ctx, in.RunID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shared.Browser.Close(context.Background(), in.RunID) })
	return st
}

// history reads the run's events from Temporal, and records them with -update.
func history(t *testing.T, runID, name string) []*historypb.HistoryEvent {
	t.Helper()
	events, err := historytest.Read(t.Context(), shared.Client.Client, runID)
	if err == nil && *update && name != "" {
		err = historytest.Record(name, events)
	}
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func activities(events []*historypb.HistoryEvent) (names []string) {
	for _, e := range events {
		if a := e.GetActivityTaskScheduledEventAttributes(); a != nil {
			names = append(names, a.GetActivityType().GetName())
		}
	}
	return names
}

// A healthy step costs one activity.
func TestHealthyStepsCostOneActivityEach(t *testing.T) {
	t.Parallel()
	st := finish(t, planner.Input{Title: "Healthy"}, open(t, "/c/twin"), click(t, map[string]any{"name": "Play", "within": "Now playing"}, playing))
	if !st.Succeeded() {
		t.Fatalf("%+v", st.Steps[len(st.Steps)-1].Result)
	}
	if got := activities(history(t, st.RunID, "healthy")); !slices.Equal(got, []string{"Attempt", "Attempt"}) {
		t.Errorf("activities %v", got)
	}
	for _, s := range st.Steps {
		v := s.Result.Verification
		for _, digest := range []string{v.Evidence.Before, v.Evidence.After} { // the receipts can be read
			media, text, err := shared.Store.Artifact(t.Context(), digest)
			if err != nil || media != "application/json" || !json.Valid(text) {
				t.Errorf("evidence %s: %v", digest, err)
			}
		}
	}
}

// What the accessibility tree and the DOM do not show is found in the picture; the run says so everywhere in the same words.
func TestHealingIsToldAlikeEverywhere(t *testing.T) {
	t.Parallel()
	st := finish(t, planner.Input{Title: "캔버스", Language: "ko"}, open(t, "/c/canvas"), click(t, play, playing))
	res := st.Steps[1].Result
	if !st.Succeeded() || len(res.Attempts) != 3 {
		t.Fatalf("%+v", res)
	}
	var narrated []narration.Event
	var published *tool.Result
	last := int64(0)
	events, err := shared.Store.Events(t.Context(), st.RunID, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.ID != last+1 {
			t.Errorf("event %d follows %d", e.ID, last)
		}
		last = e.ID
		switch e.Kind {
		case store.KindNarration:
			n, err := narration.Decode(e.ID, e.Data)
			if err != nil {
				t.Fatal(err)
			}
			narrated = append(narrated, n)
		case store.KindToolResult:
			published = new(tool.Result)
			if err := json.Unmarshal(e.Data, published); err != nil {
				t.Fatal(err)
			}
		}
	}
	if published == nil || published.CallID != res.CallID || len(published.Attempts) != 3 {
		t.Errorf("the published result is %+v", published)
	}
	seen := map[narration.Stage]bool{}
	var badges []tool.Source
	for _, n := range narrated {
		seen[n.Stage] = true
		if n.Stage == narration.ExecutingStep && n.Step == 2 {
			badges = append(badges, n.Source)
		}
	}
	for _, stage := range narration.Stages {
		if !seen[stage] {
			t.Errorf("stage %s was not narrated", stage)
		}
	}
	if !slices.Equal(badges, []tool.Source{tool.SourceAX, tool.SourceCDP, tool.SourceVision}) {
		t.Errorf("badges %v", badges)
	}
	history(t, st.RunID, "healed")
	shown, err := shared.Client.Client.DescribeWorkflowExecution(t.Context(), st.RunID, "")
	if err != nil {
		t.Fatal(err)
	}
	story := string(shown.GetWorkflowExecutionInfo().GetMemo().GetFields()["story"].GetData())
	for _, s := range []string{"캔버스", "Vision", "✅"} {
		if !strings.Contains(story, s) {
			t.Errorf("the story in Temporal does not say %q: %s", s, story)
		}
	}
}

// Search attributes find a run in Temporal's UI.
func TestRunsAreFoundByWhatHappened(t *testing.T) {
	t.Parallel()
	st := finish(t, planner.Input{}, open(t, "/c/bare-div"), click(t, play, playing))
	if !st.Succeeded() {
		t.Fatalf("%+v", st.Steps[1].Result)
	}
	query := fmt.Sprintf(`WorkflowId = '%s' AND ToolsvcHealed = true AND ToolsvcTool = 'browser.click' AND ToolsvcOutcome = 'succeeded' AND ToolsvcSource = 'cdp'`, st.RunID)
	deadline := time.Now().Add(20 * time.Second)
	for {
		found, err := shared.Client.Client.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: query})
		if err != nil {
			t.Fatal(err)
		}
		if len(found.GetExecutions()) == 1 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("nothing is found by %s", query)
		}
		select { // visibility is eventually consistent
		case <-time.After(50 * time.Millisecond):
		case <-t.Context().Done():
		}
	}
}

// A step that fails ends the script in a clean state, with what to do next.
func TestFailureNamesWhatToDo(t *testing.T) {
	t.Parallel()
	st := finish(t, planner.Input{}, open(t, "/c/twin"), click(t, play, playing), click(t, play))
	res := st.Steps[1].Result
	if st.Succeeded() || st.Steps[2].Status != planner.StatusSkipped {
		t.Errorf("%+v", st)
	}
	if f := res.RetryHint.Fields(); f.Reason != tool.ReasonAmbiguousTarget || len(f.Candidates) != 2 || !strings.Contains(f.ClarifyingQuestion, " or ") {
		t.Errorf("hint %+v", f)
	}
	history(t, st.RunID, "failed")
}

// Calls of a caller arrive one by one, and in rapid succession: they are queued, and each gets its own result.
func TestCallsAreQueued(t *testing.T) {
	t.Parallel()
	ctx, runID := t.Context(), tool.NewRunID()
	t.Cleanup(func() { _ = shared.Browser.Close(context.Background(), runID) })
	reqs := []tool.Request{open(t, "/c/twin"), click(t, map[string]any{"name": "Play", "within": "Now playing"}, playing),
		request(t, "browser.read", map[string]any{"expect": []string{`result.text.contains("Playing Harbor Lights")`}})}
	first := reqs[0]
	first.RunID = runID
	if r, err := shared.Service.Call(ctx, first, "en"); err != nil || !r.OK() {
		t.Fatalf("%v %+v", err, r)
	}
	type answer struct {
		res *tool.Result
		err error
	}
	answers := make([]chan answer, len(reqs))
	for i := 1; i < len(reqs); i++ {
		reqs[i].RunID = runID
		answers[i] = make(chan answer, 1)
		go func() {
			r, err := shared.Service.Call(ctx, reqs[i], "en")
			answers[i] <- answer{r, err}
		}()
		awaitSteps(t, runID, i+1)
	}
	for i := 1; i < len(reqs); i++ {
		a := <-answers[i]
		if a.err != nil || !a.res.OK() || a.res.CallID != reqs[i].CallID {
			t.Errorf("call %d: %v %+v", i, a.err, a.res)
		}
	}
	again, err := shared.Service.Call(ctx, reqs[1], "en") // the same call again is answered, not made
	if err != nil || again.CallID != reqs[1].CallID {
		t.Errorf("%v %+v", err, again)
	}
	if err := shared.Service.Cancel(ctx, runID); err != nil {
		t.Error(err)
	}
	if _, err := shared.Service.Wait(ctx, runID); err == nil {
		t.Error("a cancelled run ended as if nothing had happened")
	}
	if got := activities(history(t, runID, "calls")); len(got) != 3 {
		t.Errorf("activities %v", got)
	}
}

// awaitSteps waits until the run knows that many steps.
func awaitSteps(t *testing.T, runID string, n int) {
	t.Helper()
	for {
		st, err := shared.Service.State(t.Context(), runID)
		if err != nil {
			t.Fatal(err)
		}
		if len(st.Steps) >= n {
			return
		}
	}
}

// A run that has ended gives its tab back, so that any number of runs can follow one another.
func TestEndedRunsGiveTheirTabBack(t *testing.T) {
	t.Parallel()
	first := finish(t, planner.Input{}, open(t, "/c/twin"))
	if url, err := shared.Browser.DebugURL(first.RunID); err == nil {
		t.Errorf("the run has ended, and its tab is still at %s", url)
	}
	kept := finish(t, planner.Input{KeepSession: true}, open(t, "/c/twin"))
	if _, err := shared.Browser.DebugURL(kept.RunID); err != nil {
		t.Errorf("the tab should have been kept: %v", err)
	}
}

func TestUnknownRun(t *testing.T) {
	t.Parallel()
	if _, err := shared.Service.State(t.Context(), "r_nowhere"); err == nil || !strings.Contains(err.Error(), "no such run") {
		t.Errorf("%v", err)
	}
}
