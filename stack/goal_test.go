package stack

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"toolsvc/gemini/geminitest"
	"toolsvc/planner"
	"toolsvc/tool"
)

// A goal in words, on real parts: a model (the fake service, by the real client) opens the page, calls browser.click wrongly, is told what
// to send, calls it rightly, and the button in a canvas is clicked by vision and verified. What the model is sent is checked by the fake.
func TestGoalOnARealPage(t *testing.T) {
	t.Parallel()
	first := len(model.Requests()) // of this test: those that use the model do so one after the other
	model.Add(
		geminitest.Turn{Reply: geminitest.Calls(
			geminitest.Call("browser_navigate", map[string]any{"url": site.URL + "/c/canvas"}),
			geminitest.Call("browser_click", map[string]any{"target": map[string]any{"role": "button"}, "expect": []string{playing}}))},
		geminitest.Turn{If: geminitest.Answers("browser_click"), Reply: geminitest.Calls(
			geminitest.Call("browser_click", map[string]any{"target": map[string]any{"name": "Play", "role": "button"}, "expect": []string{playing}}))},
		geminitest.Turn{If: geminitest.Answers("browser_click"), Reply: geminitest.Text("The record plays.")},
	)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	in, err := shared.Service.PrepareGoal("Play the record on the page.", "", tool.Policy{}, "en")
	if err != nil {
		t.Fatal(err)
	}
	if err := shared.Service.Start(ctx, in); err != nil {
		t.Fatal(err)
	}
	st, err := shared.Service.Wait(ctx, in.RunID)
	if err != nil {
		t.Fatal(err)
	}
	if st.Outcome != planner.OutcomeSucceeded || len(st.Steps) != 3 || st.Planning.Answer != "The record plays." {
		text, _ := json.MarshalIndent(st, "", " ")
		t.Fatalf("%s\nrefused by the fake: %v", text, model.Refused())
	}
	if wrong, right := st.Steps[1].Result, st.Steps[2].Result; wrong.OK() || len(wrong.Attempts) != 0 || !right.OK() || right.Attempts[len(right.Attempts)-1].Source != tool.SourceVision {
		t.Errorf("wrong call %+v, right call %+v", wrong, right)
	}
	reqs := model.Requests()[first:]
	if names := reqs[1].FunctionNames(); len(names) != 1 {
		t.Errorf("after the hint the model could call %v", names)
	}
	if told := string(reqs[2].Responses()[0].Response); !strings.Contains(told, `"status":"success"`) {
		t.Errorf("the model was told %s", told)
	}
	for _, why := range model.Refused() { // a test beside this one may ask for a picture to be looked at, when everything is slow
		if !strings.Contains(why, "all turns are used up") {
			t.Errorf("the fake refused: %s", why)
		}
	}
	want := []string{"Plan", "Attempt", "Plan", "Attempt", "Attempt", "Attempt", "Plan"} // what does not validate costs none
	if got := activities(history(t, in.RunID, "goal")); !slices.Equal(got, want) {
		t.Errorf("activities %v", got)
	}
}
