package planner

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"toolsvc/gemini"
	"toolsvc/gemini/geminitest"
	"toolsvc/store"
	"toolsvc/tool"
)

// goal is a world whose planner is Gemini: the real client, and a fake service that plays the turns.
func goal(t *testing.T, answer func(AttemptInput) (Report, error), turns ...geminitest.Turn) (*world, *geminitest.Server) {
	t.Helper()
	s := geminitest.Start(t, turns...)
	c, err := gemini.New(gemini.Options{APIKey: "test", BaseURL: s.URL()})
	if err != nil {
		t.Fatal(err)
	}
	w, _ := asking(t, answer, nil)
	w.real.Planner = Gemini{c}
	w.SetTestTimeout(30 * time.Second)
	return w, s
}

func reach(p tool.Policy) Input {
	return Input{RunID: "r_test", Kind: KindGemini, Language: "en", Goal: "Play the record.", Policy: p}
}

func clicks(name string) geminitest.FunctionCall {
	return geminitest.Call("browser_click", map[string]any{"target": map[string]any{"name": name}})
}

func always(in AttemptInput) (Report, error) { return verified(in), nil }

// A goal, three calls, one of them invalid: the hint goes back, the call is corrected, and the answer ends the run.
func TestGoalIsReached(t *testing.T) {
	t.Parallel()
	w, s := goal(t, always,
		geminitest.Turn{Reply: geminitest.Calls(geminitest.Call("browser_navigate", map[string]any{"url": "http://127.0.0.1:1/"}), geminitest.Call("browser_click", map[string]any{"target": map[string]any{"role": "button"}}))},
		geminitest.Turn{If: geminitest.Answers("browser_click"), Reply: geminitest.Calls(clicks("Play"))},
		geminitest.Turn{If: geminitest.Answers("browser_click"), Reply: geminitest.Text("It plays.")},
	)
	w.ExecuteWorkflow(Run, reach(tool.Policy{}))
	st := w.state(t)
	if st.Outcome != OutcomeSucceeded || st.Planning.Answer != "It plays." || len(st.Steps) != 3 || st.Planning.Turns != 3 || st.Tokens == 0 {
		t.Fatalf("state %+v, planning %+v", st, st.Planning)
	}
	if code := st.Steps[1].Result.Error.Code; code != tool.InvalidArguments && code != tool.MissingFields || len(w.attempts) != 2 {
		t.Errorf("the invalid call ended as %s; %d attempts", code, len(w.attempts))
	}
	reqs := s.Requests()
	hint := reqs[1].Responses()[1]
	for _, want := range []string{"/target", "only_this_function"} {
		if !strings.Contains(string(hint.Response), want) {
			t.Errorf("the model was not told %q: %s", want, hint.Response)
		}
	}
	if got := reqs[1].FunctionNames(); len(got) != 1 || got[0] != "browser_click" { // restrict_to_tool is enforced
		t.Errorf("on the turn after the hint, the model could call %v", got)
	}
	if got := reqs[2].FunctionNames(); len(got) < 10 {
		t.Errorf("afterwards the model could call only %v", got)
	}
	said := false
	for _, p := range w.published {
		said = said || p.Answer == "It plays."
	}
	if !said {
		t.Error("the answer was not told")
	}
}

func TestGoalAsksAPerson(t *testing.T) {
	t.Parallel()
	w, s := goal(t, always,
		geminitest.Turn{Reply: geminitest.Calls(geminitest.Call(gemini.AskUser, map[string]any{"question": "Which record?"}))},
		geminitest.Turn{If: geminitest.Answers(gemini.AskUser), Reply: geminitest.Calls(clicks("Play"))},
		geminitest.Turn{Reply: geminitest.Text("Done.")},
	)
	w.reply(t, time.Hour, &updated{}, func(q tool.Question) Reply {
		if q.Kind != tool.AskFreely || q.Text != "Which record?" {
			t.Errorf("question %+v", q)
		}
		return Reply{Text: "the blue one"}
	})
	w.ExecuteWorkflow(Run, reach(tool.Policy{Ask: true}))
	if st := w.state(t); st.Outcome != OutcomeSucceeded {
		t.Fatalf("%+v %+v", st, st.Planning)
	}
	if got := string(s.Requests()[1].Responses()[0].Response); !strings.Contains(got, "the blue one") {
		t.Errorf("the model was told %s", got)
	}
}

// A planner that repeats itself is told so, and then made to end.
func TestGoalThatLoopsComesToAnEnd(t *testing.T) {
	t.Parallel()
	var turns []geminitest.Turn
	for range 5 {
		turns = append(turns, geminitest.Turn{If: geminitest.Declares("browser_click"), Reply: geminitest.Calls(clicks("Play"))})
	}
	turns = append(turns, geminitest.Turn{Reply: geminitest.Text("I cannot.")})
	w, s := goal(t, func(in AttemptInput) (Report, error) { return notFound(in), nil }, turns...)
	w.ExecuteWorkflow(Run, reach(tool.Policy{}))
	st := w.state(t)
	if st.Outcome != OutcomeFailed || st.Planning.Finalized == "" || len(w.attempts) != 2*MaxAttempts {
		t.Errorf("outcome %s, finalized %q, %d attempts", st.Outcome, st.Planning.Finalized, len(w.attempts))
	}
	last := s.Requests()[5]
	if len(last.FunctionNames()) != 0 {
		t.Errorf("the model could still call %v", last.FunctionNames())
	}
}

func TestGoalWithinItsCalls(t *testing.T) {
	t.Parallel()
	w, _ := goal(t, always,
		geminitest.Turn{Reply: geminitest.Calls(clicks("A"), clicks("B"))},
		geminitest.Turn{If: geminitest.Not(geminitest.Declares("browser_click")), Reply: geminitest.Text("Half of it is done.")},
	)
	w.ExecuteWorkflow(Run, reach(tool.Policy{MaxCalls: 2}))
	if st := w.state(t); st.Outcome != OutcomeFailed || st.Planning.Finalized == "" || len(st.Steps) != 2 {
		t.Errorf("%+v %+v", st, st.Planning)
	}
}

// A busy model is asked again, by a timer; a run without a model says so.
func TestGoalWithABusyModel(t *testing.T) {
	t.Parallel()
	busy := geminitest.Fail(http.StatusTooManyRequests, "slow down").After(2 * time.Minute)
	w, _ := goal(t, always,
		geminitest.Turn{Reply: busy},
		geminitest.Turn{Reply: geminitest.Calls(clicks("Play"))},
		geminitest.Turn{Reply: geminitest.Text("Done.")},
	)
	start := w.Now()
	w.ExecuteWorkflow(Run, reach(tool.Policy{}))
	if st := w.state(t); st.Outcome != OutcomeSucceeded || w.Now().Sub(start) < 2*time.Minute || st.WaitedMS != 120_000 {
		t.Errorf("after %s: %+v %+v", w.Now().Sub(start), st, st.Planning)
	}

	none, _ := asking(t, always, nil)
	none.ExecuteWorkflow(Run, reach(tool.Policy{}))
	if st := none.state(t); st.Outcome != OutcomeFailed || !strings.Contains(st.Planning.Finalized, "GEMINI_API_KEY") {
		t.Errorf("%+v", st.Planning)
	}
}

// What the model is told of a rollback is in its own conversation.
func TestGoalIsToldOfARollback(t *testing.T) {
	t.Parallel()
	n := 0
	w, s := goal(t, func(in AttemptInput) (Report, error) {
		if n++; n <= 3 {
			rec := in.record()
			rec.Failure, rec.Message, rec.RolledBack = tool.VerificationFailed, "the dialog is there", true
			return Report{Record: rec, Rollback: &tool.RollbackNotice{Performed: true, RestoredTo: fmt.Sprintf("before attempt %d", in.Plan.Number), FailedChecks: []string{"no_new_error"}},
				Verification: &tool.Verification{Verdict: tool.VerdictFailure, Checks: []tool.Check{{Name: "no_new_error", Expected: "no error", Observed: "an error dialog"}}}}, nil
		}
		return verified(in), nil
	},
		geminitest.Turn{Reply: geminitest.Calls(clicks("Play"))},
		geminitest.Turn{If: geminitest.Answers("browser_click"), Reply: geminitest.Calls(clicks("Start"))},
		geminitest.Turn{Reply: geminitest.Text("Done.")},
	)
	w.ExecuteWorkflow(Run, reach(tool.Policy{}))
	if st := w.state(t); st.Outcome != OutcomeSucceeded {
		t.Fatalf("%+v %+v", st, st.Planning)
	}
	told := string(s.Requests()[1].Responses()[0].Response)
	for _, want := range []string{"no_new_error", "an error dialog", "as before"} {
		if !strings.Contains(told, want) {
			t.Errorf("the model was not told %q: %s", want, told)
		}
	}
	if n := len(w.told.kinds(store.KindToolResult)); n != 2 {
		t.Errorf("%d results", n)
	}
}
