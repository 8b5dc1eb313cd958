package gemini

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"toolsvc/gemini/geminitest"
	"toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

// tools are some of the browser's, as they are generated.
var tools = []*tool.Spec{browser.NavigateSpec, browser.ClickSpec, browser.TypeSpec, browser.ReadSpec, browser.WaitForSpec}

// stored is what is left of a value that was kept in a history as JSON.
func stored[T any](t testing.TB, v T) T {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out T
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func args(v string) json.RawMessage { return json.RawMessage(v) }

// succeeded and rejected are two results as the planner makes them.
func succeeded(id tool.ID, result string) *tool.Result {
	return &tool.Result{CallID: "c_1", Tool: id, Result: args(result), Verification: &tool.Verification{Verdict: tool.VerdictSuccess, Confidence: 1,
		Checks: []tool.Check{{Name: "page_ready", Passed: true}}, Evidence: tool.EvidenceRefs{After: "sha256:0"}}}
}

func rejected(s *tool.Spec, payload string) *tool.Result {
	_, issues := s.Decode([]byte(payload))
	return &tool.Result{CallID: "c_2", Tool: s.ID, Error: tool.NewError(tool.InvalidArguments, issues.Error()), RetryHint: tool.HintArguments(s, issues, []byte(payload))}
}

// A goal, three calls at once of which one is wrong, its correction, a question, and the final answer; the conversation goes through
// JSON after each turn, as it does in a history. The fake checks ids, names and signatures.
func TestPlan(t *testing.T) {
	t.Parallel()
	const big = `{"target":{"name":"Order 9007199254740993","nth":9007199254740993}}`
	c, s := client(t,
		reply(geminitest.Text("I will open the shop.").And(geminitest.Calls(
			geminitest.Call("browser_navigate", args(`{"url":"http://127.0.0.1/shop"}`)),
			geminitest.Call("browser_click", args(big)),
			geminitest.Call("browser_wait_for", args(`{"txt":"Order placed"}`)),
		)).Tokens(100, 10, 5)),
		geminitest.Turn{If: geminitest.Answers("browser_wait_for"), Reply: geminitest.Calls(geminitest.Call("browser_wait_for", args(`{"text":"Order placed"}`)))},
		reply(geminitest.Calls(geminitest.Call(AskUser, args(`{"question":"Which size?","missing_fields":["/target/name"],"tool":"browser_click"}`)))),
		geminitest.Turn{If: geminitest.All(geminitest.Answers(AskUser), geminitest.Says("Medium")), Reply: geminitest.Text("The order is placed.")},
	)
	r := PlanRequest{Goal: "Order a shirt.", Tools: tools, Language: "en"}
	turn := func() PlanReply {
		t.Helper()
		p, err := c.PlanTurn(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		p = stored(t, p)
		r.Messages = append(r.Messages, p.Message)
		return p
	}
	answer := func(p PlanReply, responses map[string]json.RawMessage) {
		r.Messages = stored(t, append(r.Messages, Answer(p.Message, responses)))
	}

	first := turn()
	if got := []tool.ID{first.Calls[0].Tool, first.Calls[1].Tool, first.Calls[2].Tool}; !slices.Equal(got, []tool.ID{"browser.navigate", "browser.click", "browser.wait_for"}) {
		t.Errorf("calls %v", got)
	}
	if first.Final() || first.Text != "I will open the shop." || first.Usage != (Usage{1, 100, 15}) || first.Model != DefaultModel {
		t.Errorf("first turn %+v", first)
	}
	if got := string(first.Calls[1].Args); got != big {
		t.Errorf("the arguments came as %s", got)
	}
	answer(first, map[string]json.RawMessage{
		first.Calls[0].ID: Response(succeeded("browser.navigate", `{"url":"http://127.0.0.1/shop","title":"Shop","status":200}`)),
		first.Calls[1].ID: Response(succeeded("browser.click", `{"acted_on":"button \"Order\""}`)),
		first.Calls[2].ID: Response(rejected(browser.WaitForSpec, `{"txt":"Order placed"}`)),
	})
	r.RestrictTo = "browser.wait_for"
	second := turn()
	if len(second.Calls) != 1 || second.Calls[0].Tool != "browser.wait_for" || second.Calls[0].Refused != "" {
		t.Errorf("correction %+v", second.Calls)
	}
	answer(second, map[string]json.RawMessage{second.Calls[0].ID: Response(succeeded("browser.wait_for", `{"satisfied":true,"waited_ms":3}`))})
	r.RestrictTo = ""
	third := turn()
	want := &Question{ID: third.Message.Calls()[0].ID, Text: "Which size?", MissingFields: []string{"/target/name"}, Tool: "browser.click"}
	if third.Final() || len(third.Calls) != 0 || !reflect.DeepEqual(third.Question, want) {
		t.Errorf("question %+v", third)
	}
	answer(third, map[string]json.RawMessage{third.Question.ID: UserAnswer(args(`"Medium"`))})
	if last := turn(); !last.Final() || last.Text != "The order is placed." {
		t.Errorf("last turn %+v", last)
	}

	requests := s.Requests()
	all := []string{"browser_navigate", "browser_click", "browser_type", "browser_read", "browser_wait_for", AskUser}
	for i, names := range [][]string{all, {"browser_wait_for", AskUser}, all, all} {
		if got := requests[i].FunctionNames(); !slices.Equal(got, names) {
			t.Errorf("turn %d declares %v", i+1, got)
		}
		if len(requests[i].Ignored) > 0 {
			t.Errorf("turn %d sends what is ignored: %v", i+1, requests[i].Ignored)
		}
	}
	if got := requests[0].Contents; len(got) != 1 || got[0].Parts[0].Text != "Order a shirt." {
		t.Errorf("the goal was sent as %+v", got)
	}
	hint := string(requests[1].Responses()[2].Response)
	for _, want := range []string{`"status":"not_done"`, `"only_this_function":true`, `"path":"/txt"`, `"suggestion":"text"`, `"you_sent":{"txt":"Order placed"}`, `"example":`} {
		if !strings.Contains(hint, want) {
			t.Errorf("the hint lacks %s: %s", want, hint)
		}
	}
	if !strings.Contains(requests[1].System, "only browser_wait_for can be called") || strings.Contains(requests[2].System, "can be called") {
		t.Error("the restriction is not told, or stays")
	}
}

// A model that takes its work for done, because it remembers doing it, reads the notice and does it again.
func TestRollbackIsTold(t *testing.T) {
	t.Parallel()
	rolledBack := &tool.Result{CallID: "c_1", Tool: "browser.type", Error: tool.NewError(tool.PostconditionFailed, "The field does not show the text."),
		Attempts: []tool.AttemptRecord{{Number: 1, Phase: tool.PhaseSettled, RolledBack: true}},
		Verification: &tool.Verification{Verdict: tool.VerdictFailure, Confidence: 1, Checks: []tool.Check{
			{Name: "delivered", Passed: true}, {Name: "text_in_field", Expected: `"Ada"`, Observed: `"ada"`}}},
		RetryHint: tool.HintVerification(browser.TypeSpec, tool.ReasonPostconditionFailed, "The text arrived in small letters.",
			tool.RollbackNotice{Performed: true, RestoredTo: "before attempt 1", FailedChecks: []string{"text_in_field"}}, args(`{"text":"Ada"}`))}
	done := `{"text":"Ada","target":{"name":"Name"}}`
	c, _ := client(t,
		reply(geminitest.Calls(geminitest.Call("browser_type", args(done)))),
		geminitest.Turn{Times: 2, Handle: func(r *geminitest.Request) geminitest.Reply {
			said := ""
			for _, f := range r.Responses() {
				said += string(f.Response)
			}
			if strings.Contains(said, "A rollback was done") && strings.Contains(said, "do not take it for done") && strings.Contains(said, `text_in_field, expected \"Ada\", observed \"ada\"`) {
				return geminitest.Calls(geminitest.Call("browser_type", args(done)))
			}
			return geminitest.Text("The name is in the field.")
		}})
	r := PlanRequest{Goal: "Fill in the name.", Tools: tools}
	for turn, result := range []*tool.Result{rolledBack, succeeded("browser.type", `{"value":"Ada"}`)} {
		p, err := c.PlanTurn(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if p.Final() {
			t.Fatalf("turn %d takes the work for done: %q", turn+1, p.Text)
		}
		r.Messages = append(r.Messages, p.Message, Answer(p.Message, map[string]json.RawMessage{p.Calls[0].ID: Response(result)}))
	}
	if p, err := c.PlanTurn(t.Context(), r); err != nil || !p.Final() {
		t.Errorf("%+v, %v", p, err)
	}
}

// What the model must not do is refused with a reason, and the reason can be given back to it.
func TestRefusedCalls(t *testing.T) {
	t.Parallel()
	click := geminitest.Call("browser_click", args(`{}`))
	for _, c := range []struct {
		name    string
		request PlanRequest
		calls   []geminitest.FunctionCall
		want    []string // the refusal of each call
		asks    string
	}{
		{"a function that is not there", PlanRequest{}, []geminitest.FunctionCall{geminitest.Call("browser_klick", nil)}, []string{"no function browser_klick. Perhaps browser_click is meant."}, ""},
		{"another one than the restriction's", PlanRequest{RestrictTo: "browser.type"}, []geminitest.FunctionCall{click, geminitest.Call("browser_type", args(`{}`))}, []string{"Only browser_type may be called now.", ""}, ""},
		{"calls after a question", PlanRequest{}, []geminitest.FunctionCall{click, geminitest.Call(AskUser, args(`{"question":" Which? "}`)), click}, []string{"", "asked the user a question"}, "Which?"},
		{"two questions", PlanRequest{}, []geminitest.FunctionCall{geminitest.Call(AskUser, args(`{"question":"A?"}`)), geminitest.Call(AskUser, args(`{"question":"B?"}`))}, []string{"asked the user a question"}, "A?"},
		{"a question without words", PlanRequest{}, []geminitest.FunctionCall{geminitest.Call(AskUser, args(`{"question":""}`))}, []string{"needs a question"}, ""},
		{"a question of another type", PlanRequest{}, []geminitest.FunctionCall{geminitest.Call(AskUser, args(`{"question":["?"]}`))}, []string{"needs a question"}, ""},
		{"a question where nobody is", PlanRequest{NoQuestions: true}, []geminitest.FunctionCall{geminitest.Call(AskUser, args(`{"question":"A?"}`))}, []string{"Nobody can be asked"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g, s := client(t, reply(geminitest.Calls(c.calls...)), reply(geminitest.Text("I see.")))
			c.request.Goal, c.request.Tools = "Do it.", tools
			p, err := g.PlanTurn(t.Context(), c.request)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Calls) != len(c.want) || (p.Question != nil) != (c.asks != "") || p.Question != nil && p.Question.Text != c.asks {
				t.Fatalf("%+v", p)
			}
			responses := map[string]json.RawMessage{}
			for i, want := range c.want {
				if got := p.Calls[i].Refused; (got == "") != (want == "") || !strings.Contains(got, want) {
					t.Errorf("call %d: refused %q, want %q", i, got, want)
				}
				responses[p.Calls[i].ID] = NotDone(p.Calls[i].Refused)
			}
			c.request.Messages = []Message{p.Message, Answer(p.Message, responses)}
			if _, err := g.PlanTurn(t.Context(), c.request); err != nil {
				t.Errorf("the refusals cannot be given back: %v", err)
			}
			if declared := s.Requests()[0].Function(AskUser) != nil; declared == c.request.NoQuestions {
				t.Errorf("%s declared: %v", AskUser, declared)
			}
		})
	}
}

// When it has to finish, nothing is declared, and a call is no answer.
func TestFinalize(t *testing.T) {
	t.Parallel()
	c, s := client(t, reply(geminitest.Text(" Nothing was ordered. ")), reply(geminitest.Calls(geminitest.Call("browser_click", nil))), reply(geminitest.Text(" ")))
	r := PlanRequest{Goal: "Order.", Tools: tools, RestrictTo: "browser.click", Budget: Budget{Calls: 3}, Finalize: "the time is up."}
	if p, err := c.PlanTurn(t.Context(), r); err != nil || !p.Final() || p.Text != "Nothing was ordered." {
		t.Errorf("%+v, %v", p, err)
	}
	if q := s.Requests()[0]; len(q.Functions) != 0 || !strings.Contains(q.System, "The task ends now: the time is up.") || strings.Contains(q.System, "can be called:") || strings.Contains(q.System, "3 calls") {
		t.Errorf("was sent %v, %s", q.FunctionNames(), q.System)
	}
	if p, err := c.PlanTurn(t.Context(), r); !errors.Is(err, ErrMalformed) || len(p.Calls) != 0 || p.Usage.Requests != 1 {
		t.Errorf("a call at the end: %+v, %v", p, err)
	}
	if p, err := c.PlanTurn(t.Context(), r); !errors.Is(err, ErrEmpty) || p.Text != "" {
		t.Errorf("nothing at the end: %+v, %v", p, err)
	}
}

// The budget bounds the answer and the time, and is told.
func TestPlanBudget(t *testing.T) {
	t.Parallel()
	c, s := client(t, reply(geminitest.Text("ok")), geminitest.Turn{Reply: geminitest.Text("late").Until(make(chan struct{})), Times: geminitest.Always})
	r := PlanRequest{Goal: "Order.", Instructions: "Only in the shop.", Tools: tools, Budget: Budget{Calls: 4, Tokens: 900, Time: time.Minute}}
	if _, err := c.PlanTurn(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if q := s.Requests()[0]; q.MaxOutputTokens != 900 || !strings.Contains(q.System, "4 calls, 900 tokens, 1m0s") || !strings.Contains(q.System, "Only in the shop.") {
		t.Errorf("%d tokens, %s", q.MaxOutputTokens, q.System)
	}
	r.Budget.Time = 50 * time.Millisecond
	if _, err := c.PlanTurn(t.Context(), r); tool.AsFailed(err).Failure != tool.Timeout {
		t.Errorf("%v", err)
	}
}

// Calls without an id, or with one that is taken, get one of ours, so that each can be answered.
func TestCallsWithoutID(t *testing.T) {
	t.Parallel()
	call := func() geminitest.FunctionCall { return geminitest.Call("browser_click", nil) }
	c, _ := client(t,
		reply(geminitest.Calls(call().WithID(""), call().WithID("a"), call().WithID("a"))),
		reply(geminitest.Calls(call().WithID(""), call().WithID("a"))),
		reply(geminitest.Text("done")))
	r := PlanRequest{Goal: "Click.", Tools: tools}
	seen := map[string]bool{}
	for range 2 {
		p, err := c.PlanTurn(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		responses := map[string]json.RawMessage{}
		for _, f := range p.Calls {
			if f.ID == "" || seen[f.ID] {
				t.Errorf("the id %q", f.ID)
			}
			seen[f.ID], responses[f.ID] = true, NotDone("no")
			if string(f.Args) != "{}" {
				t.Errorf("no arguments came as %s", f.Args)
			}
		}
		r.Messages = append(r.Messages, p.Message, Answer(p.Message, responses))
	}
	if p, err := c.PlanTurn(t.Context(), r); err != nil || !p.Final() || len(seen) != 5 {
		t.Errorf("%+v, %v, %d ids", p, err, len(seen))
	}
}

// A message that only carries a signature is kept, and not sent as an empty part, which the service refuses.
func TestSignatureWithoutText(t *testing.T) {
	t.Parallel()
	signed := geminitest.Text("ok")
	signed.Parts = append(signed.Parts, geminitest.ReplyPart{Signature: []byte("s")}, geminitest.ReplyPart{Text: "hm", Thought: true})
	c, s := client(t, reply(signed), reply(geminitest.Text("again")))
	r := PlanRequest{Goal: "Talk.", Tools: tools}
	p, err := c.PlanTurn(t.Context(), r)
	if err != nil || p.Text != "ok" || string(p.Message.Parts[1].Signature) != "s" || !p.Message.Parts[2].Thought {
		t.Fatalf("%+v, %v", p, err)
	}
	r.Messages = []Message{p.Message, UserText("And?"), UserText("Well?")}
	if _, err := c.PlanTurn(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if got := s.Requests()[1].Contents; len(got) != 3 || len(got[1].Parts) != 2 || len(got[2].Parts) != 2 {
		t.Errorf("was sent %+v", got)
	}
}

func TestPlanRefusesItself(t *testing.T) {
	t.Parallel()
	c, s := client(t)
	call := Message{Role: RoleModel, Parts: []Part{{Call: &FunctionCall{ID: "1", Name: "f", Args: args(`[]`)}}}}
	for name, r := range map[string]PlanRequest{
		"no goal":              {Tools: tools},
		"restricted to nobody": {Goal: "x", Tools: tools, RestrictTo: "browser.fly"},
		"a tool twice":         {Goal: "x", Tools: []*tool.Spec{browser.ClickSpec, browser.ClickSpec}},
		"a tool named ask":     {Goal: "x", Tools: []*tool.Spec{{ID: "ask.user", PayloadSchema: args(`{"type":"object"}`)}}},
		"a name of its own":    {Goal: "x", Tools: []*tool.Spec{{ID: "é.x", PayloadSchema: args(`{"type":"object"}`)}}},
		"no schema":            {Goal: "x", Tools: []*tool.Spec{{ID: "a.b"}}},
		"ends with the model":  {Goal: "x", Messages: []Message{{Role: RoleModel, Parts: []Part{{Text: "hm"}}}}},
		"arguments no object":  {Goal: "x", Messages: []Message{call, UserText("go")}},
	} {
		if _, err := c.PlanTurn(t.Context(), r); tool.AsFailed(err).Failure != tool.Internal || !errors.Is(err, ErrRejected) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestAnswerAnswersAll(t *testing.T) {
	t.Parallel()
	m := Message{Role: RoleModel, Parts: []Part{{Text: "x"}, {Call: &FunctionCall{ID: "1", Name: "f"}}, {Call: &FunctionCall{ID: "2", Name: "g"}}}}
	a := Answer(m, map[string]json.RawMessage{"2": args(`{"status":"success"}`), "3": args(`{}`)})
	if a.Role != RoleUser || len(a.Parts) != 2 || a.Parts[0].Response.ID != "1" || !strings.Contains(string(a.Parts[0].Response.Response), "not_done") ||
		string(a.Parts[1].Response.Response) != `{"status":"success"}` || a.Parts[1].Response.Name != "g" {
		t.Errorf("%+v", a)
	}
}

// Old responses are shortened first, then old arguments; the latest messages, ids, names and signatures stay.
func TestCompact(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000)
	var ms []Message
	for range 4 {
		ms = append(ms,
			Message{Role: RoleModel, Parts: []Part{{Text: "t"}, {Call: &FunctionCall{ID: "1", Name: "f", Args: args(`{"a":"` + long + `"}`)}, Signature: []byte("s")}}},
			Message{Role: RoleUser, Parts: []Part{{Response: &FunctionResponse{ID: "1", Name: "f", Response: args(`{"status":"failed","result":"` + long + `","rollback":"done"}`)}}}})
	}
	before := stored(t, ms)
	for _, c := range []struct{ limit, responses, calls int }{{1 << 20, 0, 0}, {size(ms) - 1, 1, 0}, {size(ms) - 12000, 3, 0}, {size(ms) - 16000, 3, 1}, {0, 3, 3}} {
		out := Compact(ms, c.limit)
		responses, calls := 0, 0
		for i, m := range out {
			for _, p := range m.Parts {
				if p.Response != nil && len(p.Response.Response) < 200 {
					responses++
					if got := string(p.Response.Response); got != `{"note":"shortened: an earlier response","rollback":"done","status":"failed"}` {
						t.Errorf("shortened to %s", got)
					}
				}
				if p.Call != nil && len(p.Call.Args) < 200 {
					calls++
				}
				if i >= len(out)-keepWhole && p.size() < 5000 && p.Text == "" {
					t.Errorf("the latest is shortened: %+v", p)
				}
				if p.Call != nil && (p.Call.ID != "1" || string(p.Signature) != "s") {
					t.Errorf("lost something: %+v", p)
				}
			}
		}
		if responses != c.responses || calls != c.calls {
			t.Errorf("to %d: %d responses, %d calls shortened, want %d and %d", c.limit, responses, calls, c.responses, c.calls)
		}
	}
	if !reflect.DeepEqual(ms, before) {
		t.Error("the messages that were passed in are changed")
	}
}
