package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	runshttp "toolsvc/gen/http/runs/server"
	"toolsvc/gen/runs"
	"toolsvc/gen/types"
	"toolsvc/planner"
	"toolsvc/store"
	"toolsvc/tool"
)

func TestStartMakesTheInputOfARun(t *testing.T) {
	t.Parallel()
	started := make(chan planner.Input, 1)
	reg := smallRegistry(t)
	w := start(t, Options{Registry: reg, Caller: &scripted{prepare: &planner.Service{Registry: reg},
		start: func(_ context.Context, in planner.Input) error { started <- in; return nil }}})
	str := func(s string) *string { return &s }
	cases := map[string]struct {
		body    string
		payload *runs.StartPayload
		want    planner.Input
		steps   []string
	}{
		"neither": {`{"title":"T","language":"ko","policy":{"ask":true,"max_calls":7}}`,
			&runs.StartPayload{Title: str("T"), Language: str("ko"), Policy: &runs.Policy{Ask: nonZero(true), MaxCalls: nonZero(7)}},
			planner.Input{Kind: planner.KindCaller, Title: "T", Language: "ko", Policy: tool.Policy{Ask: true, MaxCalls: 7}}, nil},
		"goal": {`{"goal":"Light","instructions":"Gently.","policy":{"allow":["lamp.*"]}}`,
			&runs.StartPayload{Goal: str("Light"), Instructions: str("Gently."), Policy: &runs.Policy{Allow: []string{"lamp.*"}}},
			planner.Input{Kind: planner.KindGemini, Title: "Light", Language: "en", Goal: "Light", Instructions: "Gently.", Policy: tool.Policy{Allow: []string{"lamp.*"}}}, nil},
		"steps": {`{"title":"Two","steps":[{"tool":"lamp.read","title":"Look"},{"tool":"lamp.read","arguments":{"what":1},"expect_failure":"timeout"}]}`,
			&runs.StartPayload{Title: str("Two"), Steps: []*runs.StepRequest{{Tool: "lamp.read", Title: str("Look")},
				{Tool: "lamp.read", Arguments: json.RawMessage(`{"what":1}`), ExpectFailure: str("timeout")}}},
			planner.Input{Kind: planner.KindScript, Title: "Two", Language: "en"}, []string{"lamp.read Look ", "lamp.read  timeout"}},
	}
	for name, c := range cases {
		check := func(how string) {
			in := <-started
			id := in.RunID
			if !runID.MatchString(id) {
				t.Errorf("%s over %s: run id %q", name, how, id)
			}
			var steps []string
			for _, s := range in.Steps {
				title := s.Title
				if title != "Look" {
					title = ""
				}
				steps = append(steps, fmt.Sprint(s.Tool, " ", title, " ", s.ExpectFailure))
			}
			in.RunID, in.Steps = "", nil
			if !reflect.DeepEqual(in, c.want) || !slices.Equal(steps, c.steps) {
				t.Errorf("%s over %s started\n%+v %q, want\n%+v %q", name, how, in, steps, c.want, c.steps)
			}
		}
		a := w.do(t, "POST", "/v1/runs", strings.NewReader(c.body))
		if run, _ := a.json(t)["run_id"].(string); a.status != 201 || a.header.Get("Location") != "/v1/runs/"+run {
			t.Fatalf("%s: answer %d %v %s", name, a.status, a.header, a.body)
		}
		check("http")
		for transport, client := range w.runs {
			if res, err := client.Start(t.Context(), c.payload); err != nil || res.RunID == "" {
				t.Fatalf("%s over %s: %v", name, transport, err)
			}
			check(transport)
		}
	}
	if a := w.do(t, "POST", "/v1/runs", nil, func(r *http.Request) { r.Header.Set("Accept-Language", "ja") }); a.status != 201 {
		t.Fatalf("no body: %d %s", a.status, a.body)
	}
	if in := <-started; in.Language != "ja" || in.Kind != planner.KindCaller {
		t.Errorf("no body: %+v", in)
	}
}

// The start of a run under an idempotency key hands on the key and what identifies the request, the same on both transports and another
// one for another request; it answers with the run of the first request, and refuses the key for another one.
func TestStartOnce(t *testing.T) {
	t.Parallel()
	reg := smallRegistry(t)
	var key, digest string
	var refusal error
	w := start(t, Options{Registry: reg, Caller: &scripted{prepare: &planner.Service{Registry: reg},
		startOnce: func(_ context.Context, _ planner.Input, k, d string) (string, error) {
			key, digest = k, d
			return "r_first", refusal
		}}})
	withKey := func(r *http.Request) { r.Header.Set("Idempotency-Key", "k") }
	const body = `{"title":"T","language":"ko","policy":{"max_calls":7},"steps":[{"tool":"lamp.read","title":"Look","arguments":{"what":1}}]}`
	a := w.do(t, "POST", "/v1/runs", strings.NewReader(body), withKey)
	if run := a.json(t)["run_id"]; a.status != 201 || run != "r_first" || a.header.Get("Location") != "/v1/runs/r_first" || key == "" || digest == "" {
		t.Fatalf("%d %v %s, key %q, digest %q", a.status, a.header, a.body, key, digest)
	}
	theKey := key
	first, str := digest, func(s string) *string { return &s }
	res, err := w.runs["grpc"].Start(t.Context(), &runs.StartPayload{IdempotencyKey: str("k"), Title: str("T"), Language: str("ko"), Policy: &runs.Policy{MaxCalls: nonZero(7)},
		Steps: []*runs.StepRequest{{Tool: "lamp.read", Title: str("Look"), Arguments: json.RawMessage(`{"what":1}`)}}})
	if err != nil || res.RunID != "r_first" || digest != first || key != theKey {
		t.Errorf("%v %+v, key %q, digest %q, not %q", err, res, key, digest, first)
	}
	seen := map[string]string{first: body}
	for _, other := range []string{``, `{"title":"T"}`, `{"goal":"T"}`, `{"goal":"T","instructions":"I"}`, strings.Replace(body, "7", "8", 1), strings.Replace(body, "ko", "ja", 1),
		strings.Replace(body, `"what":1`, `"what":2`, 1), strings.Replace(body, "Look", "See", 1), strings.Replace(body, `"title":"Look"`, `"expect_failure":"timeout"`, 1)} {
		if a := w.do(t, "POST", "/v1/runs", strings.NewReader(other), withKey); a.status != 201 {
			t.Errorf("%s: %d %s", other, a.status, a.body)
		}
		if seen[digest] != "" {
			t.Errorf("%s and %s are the same request", other, seen[digest])
		}
		seen[digest] = other
	}
	refusal = fmt.Errorf("claim: %w", store.ErrKeyReused)
	if p := wantProblem(t, w.do(t, "POST", "/v1/runs", strings.NewReader(body), withKey), kindKeyReused); !strings.Contains(fmt.Sprint(p["detail"]), "another request") {
		t.Errorf("%v", p)
	}
	var p *types.Problem
	if _, err := w.runs["grpc"].Start(t.Context(), &runs.StartPayload{IdempotencyKey: str("k")}); !errors.As(err, &p) || p.Code != "key_reused" {
		t.Errorf("%v %+v", err, p)
	}
	refusal = planner.ErrNoKeys
	wantProblem(t, w.do(t, "POST", "/v1/runs", strings.NewReader(body), withKey), kindInvalidParameter)
	if a := w.do(t, "POST", "/v1/runs", strings.NewReader(body), func(r *http.Request) { r.Header.Set("Idempotency-Key", strings.Repeat("k", 256)) }); a.status != 400 {
		t.Errorf("a long key: %d %s", a.status, a.body)
	}
}

// Everything that is wrong with a body is told at once, with pointers into it.
func TestInvalidBodies(t *testing.T) {
	t.Parallel()
	reg := smallRegistry(t)
	w := start(t, Options{Registry: reg, Caller: &scripted{
		prepare: &planner.Service{Registry: reg},
		appendCalls: func(_ context.Context, _ string, reqs []tool.Request, _ string) ([]string, error) {
			return nil, &planner.PlanError{Steps: []planner.StepError{
				{Number: 1, Tool: reqs[0].Tool, Issues: tool.Issues{{Path: "/what", Constraint: "maxLength", Message: "Too long."}}},
				{Number: 2, Tool: "lamp.swich", Err: &planner.UnknownToolError{Tool: "lamp.swich", Nearest: []tool.ID{"lamp.switch"}}}}}
		}}})
	cases := map[string]struct {
		path, body string
		want       []string
	}{
		"policy":          {"/v1/runs", `{"policy":{"repair":"all","max_calls":-1,"allow":["["]}}`, []string{"/policy/allow/0 pattern", "/policy/max_calls minimum", "/policy/repair enum"}},
		"unknown fields":  {"/v1/runs", `{"gaol":"x","policy":{"aks":true}}`, []string{"/gaol additionalProperties", "/policy/aks additionalProperties"}},
		"types":           {"/v1/runs", `{"goal":5,"steps":[{"tool":7},{}],"policy":{"ask":"yes"}}`, []string{"/goal type", "/policy/ask type", "/steps/0/tool type", "/steps/1/tool required"}},
		"goal and steps":  {"/v1/runs", `{"goal":"x","steps":[{"tool":"lamp.read"}]}`, []string{"/steps not"}},
		"empty goal":      {"/v1/runs", `{"goal":" "}`, []string{"/goal minLength"}},
		"no goal":         {"/v1/runs", `{"instructions":"x"}`, []string{"/goal required"}},
		"long goal":       {"/v1/runs", `{"goal":"` + strings.Repeat("x", planner.MaxGoal+1) + `"}`, []string{"/goal maxBytes"}},
		"unknown tools":   {"/v1/runs", `{"steps":[{"tool":"lamp.read"},{"tool":"lamp.raed"},{"tool":"lamp.read","expect_failure":"tiemout"}]}`, []string{"/steps/1/tool enum", "/steps/2/expect_failure enum"}},
		"not JSON":        {"/v1/runs", `{"goal":`, []string{"/goal syntax"}},
		"calls":           {"/v1/runs/r_1/calls", `{"calls":[{"tool":"lamp.read","arguments":{}},{"tool":"lamp.swich"}]}`, []string{"/calls/0/arguments/what maxLength", "/calls/1/tool enum"}},
		"no calls":        {"/v1/runs/r_1/calls", `{"calls":[]}`, []string{"/calls minItems"}},
		"calls missing":   {"/v1/runs/r_1/calls", ``, []string{"/calls required"}},
		"approval":        {"/v1/runs/r_1/approvals/a_1", `{"approve":true}`, []string{"/approve additionalProperties", "/approved required"}},
		"too many calls":  {"/v1/runs/r_1/calls", `{"calls":[` + strings.Repeat(`{"tool":"lamp.read"},`, planner.MaxAppend) + `{"tool":"lamp.read"}]}`, []string{"/calls maxItems"}},
		"duplicate field": {"/v1/runs", `{"goal":"x","goal":"y"}`, []string{"/goal duplicate"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := wantProblem(t, w.do(t, "POST", c.path, strings.NewReader(c.body)), kindInvalidBody)
			var got []string
			issues, _ := p["issues"].([]any)
			for _, i := range issues {
				i := i.(map[string]any)
				got = append(got, fmt.Sprint(i["path"], " ", i["constraint"]))
				if i["message"] == "" {
					t.Errorf("an issue without words: %v", i)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("issues %q, want %q", got, c.want)
			}
		})
	}
	_, err := w.runs["grpc"].Append(t.Context(), &runs.AppendPayload{Run: "r_1", Calls: []*runs.CallRequest{{Tool: "lamp.read"}, {Tool: "lamp.swich"}}})
	if p := problemFrom(t, err); p.Code != kindInvalidBody.code || len(p.Issues) != 2 || p.Issues[1].Path != "/calls/1/tool" || value(p.Issues[1].Suggestion) != "lamp.switch" {
		t.Errorf("gRPC says %+v", p)
	}
}

func TestListRuns(t *testing.T) {
	t.Parallel()
	type asked struct {
		limit   int
		waiting bool
	}
	got := make(chan asked, 1)
	w := start(t, Options{Caller: &scripted{list: func(_ context.Context, limit int, waiting bool) ([]planner.Summary, error) {
		got <- asked{limit, waiting}
		return []planner.Summary{{RunID: "r_1", Title: "One", Outcome: planner.OutcomeRunning, Started: someTime}}, nil
	}}})
	for path, want := range map[string]asked{"/v1/runs": {100, false}, "/v1/runs?limit=3&waiting=true": {3, true}, "/v1/runs?waiting=false": {100, false}} {
		a := w.do(t, "GET", path, nil)
		if g := <-got; g != want {
			t.Errorf("%s asked for %+v", path, g)
		}
		if text := string(a.body); strings.TrimSpace(text) != `{"runs":[{"run_id":"r_1","title":"One","outcome":"running","started":"2026-11-21T12:00:00.123456789Z"}]}` {
			t.Errorf("%s: %s", path, text)
		}
	}
	for _, path := range []string{"/v1/runs?limit=0", "/v1/runs?limit=1001", "/v1/runs?limit=x", "/v1/runs?waiting=maybe"} {
		wantProblem(t, w.do(t, "GET", path, nil), kindInvalidParameter)
	}
	res, err := w.runs["grpc"].List(t.Context(), &runs.ListPayload{Limit: nonZero(5), Waiting: nonZero(true)})
	if g := <-got; err != nil || g != (asked{5, true}) || len(res.Runs) != 1 || res.Runs[0].Started != instant(someTime) {
		t.Errorf("gRPC: %+v %v, asked for %+v", res, err, g)
	}
}

// A state comes out of both transports with what it holds.
func TestShowRun(t *testing.T) {
	t.Parallel()
	rs := samples(t)
	full := &planner.State{RunID: "r_1", Title: "T", Language: "ja", Kind: planner.KindGemini, Outcome: planner.OutcomeFailed, Paused: true, Goal: "G",
		Steps: []planner.StepState{{CallID: "c_1", Tool: "lamp.read", Title: "Look", Status: planner.StatusVerified, Result: rs[0]},
			{CallID: "c_2", Tool: "lamp.switch", Title: "Switch", Status: planner.StatusWaiting, Expects: tool.Timeout}},
		Questions: []tool.Question{*rs[4].Question}, Began: someTime, WaitedMS: 3, WithPeopleMS: 4, Tokens: 5, Planning: &planner.Planning{Answer: "A", Finalized: "F", Model: "M", Turns: 6},
		Policy: tool.Policy{Repair: tool.RepairPerson, Ask: true, Approve: tool.ApproveDeny, Allow: []string{"a"}, Deny: []string{"b"}, MaxCalls: 1, MaxFailures: 2, TimeBudgetMS: 3,
			TokenBudget: 4, WaitBudgetMS: 5, QuestionTTLMS: 6}}
	states := map[string]*planner.State{"r_full": full, "r_empty": {RunID: "r_2", Language: "en", Kind: planner.KindCaller, Outcome: planner.OutcomeRunning, Began: someTime}}
	w := start(t, Options{Caller: &scripted{state: func(_ context.Context, run string) (*planner.State, error) {
		if st := states[run]; st != nil {
			return st, nil
		}
		return nil, planner.ErrUnknownRun
	}}})
	got := w.do(t, "GET", "/v1/runs/r_full", nil).json(t)
	own := func(v any) any {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return values(t, b)
	}
	want := map[string]any{"run_id": "r_1", "title": "T", "language": "ja", "kind": "gemini", "outcome": "failed", "paused": true, "goal": "G", "answer": "A", "finalized": "F", "model": "M",
		"turns": number(6), "tokens": number(5), "waited_ms": number(3), "with_people_ms": number(4), "began": instant(someTime), "policy": own(full.Policy),
		"questions": []any{own(full.Questions[0])}, "steps": []any{
			map[string]any{"call_id": "c_1", "tool": "lamp.read", "title": "Look", "status": "verified", "result": own(rs[0])},
			map[string]any{"call_id": "c_2", "tool": "lamp.switch", "title": "Switch", "status": "waiting", "expect_failure": "timeout"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the run is\n%v\nwant\n%v", got, want)
	}
	for transport, client := range w.runs {
		st, err := client.Show(t.Context(), &runs.ShowPayload{Run: "r_full"})
		if err != nil {
			t.Fatalf("%s: %v", transport, err)
		}
		back, err := json.Marshal(runshttp.NewShowResponseBody(st))
		if err != nil {
			t.Fatal(err)
		}
		if got := values(t, back); !reflect.DeepEqual(got, any(want)) {
			t.Errorf("through the client for %s:\n%v\nwant\n%v", transport, got, want)
		}
		if _, err := client.Show(t.Context(), &runs.ShowPayload{Run: "r_none"}); problemFrom(t, err).Code != kindUnknownRun.code {
			t.Errorf("%s: %v", transport, err)
		}
	}
	if empty := w.do(t, "GET", "/v1/runs/r_empty", nil).json(t); !reflect.DeepEqual(empty["steps"], []any{}) || !reflect.DeepEqual(empty["questions"], []any{}) {
		t.Errorf("an empty run is %v", empty)
	}
}

func TestAppendReturnsAtOnce(t *testing.T) {
	t.Parallel()
	type seen struct {
		run, key string
		reqs     []tool.Request
	}
	got := make(chan seen, 1)
	w := start(t, Options{Caller: &scripted{appendCalls: func(_ context.Context, run string, reqs []tool.Request, key string) ([]string, error) {
		got <- seen{run, key, reqs}
		return []string{"c_1", "c_2"}, nil
	}}})
	a := w.do(t, "POST", "/v1/runs/r_1/calls", strings.NewReader(`{"calls":[{"tool":"lamp.read"},{"tool":"lamp.switch","arguments":{"what":1.50}}]}`),
		func(r *http.Request) { r.Header.Set("Idempotency-Key", "k") })
	s := <-got
	if a.status != 202 || strings.TrimSpace(string(a.body)) != `{"calls":[{"call_id":"c_1","tool":"lamp.read"},{"call_id":"c_2","tool":"lamp.switch"}]}` {
		t.Errorf("answer %d %s", a.status, a.body)
	}
	if s.run != "r_1" || !strings.HasPrefix(s.key, "k_") || len(s.reqs) != 2 || string(s.reqs[1].Arguments) != `{"what":1.50}` || s.reqs[0].Tool != "lamp.read" {
		t.Errorf("the caller got %+v", s)
	}
	key := "k"
	res, err := w.runs["grpc"].Append(t.Context(), &runs.AppendPayload{Run: "r_1", IdempotencyKey: &key, Calls: []*runs.CallRequest{{Tool: "lamp.read"}, {Tool: "lamp.switch"}}})
	if g := <-got; err != nil || g.key != s.key || len(res.Calls) != 2 || res.Calls[1].CallID != "c_2" {
		t.Errorf("gRPC: %+v %v, the caller got %+v", res, err, g)
	}
}

// What was accepted of several calls is told with the refusal of the rest.
func TestAppendInPart(t *testing.T) {
	t.Parallel()
	w := start(t, Options{Caller: &scripted{appendCalls: func(context.Context, string, []tool.Request, string) ([]string, error) {
		return []string{"c_1"}, fmt.Errorf("%w; more", planner.ErrRunFull)
	}}})
	p := wantProblem(t, w.do(t, "POST", "/v1/runs/r_1/calls", strings.NewReader(`{"calls":[{"tool":"lamp.read"},{"tool":"lamp.read"}]}`)), kindRunFull)
	if !strings.Contains(p["detail"].(string), "The first 1 calls of 2 were accepted: c_1.") {
		t.Errorf("detail %q", p["detail"])
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	q := &tool.Question{ID: "q_1", Kind: tool.AskArguments, RunID: "r_1", Text: "Which?", AskedAt: someTime, ExpiresAt: someTime}
	results := map[string]*tool.Result{
		"called":   {CallID: "c_1", RunID: "r_1", Tool: "lamp.read", Result: json.RawMessage(`{"a":1}`)},
		"again":    {CallID: "c_1", RunID: "r_1", Tool: "lamp.read", Status: tool.StatusNeedsInput, Question: q},
		"rejected": {CallID: "c_1", RunID: "r_1", Tool: "lamp.read", Status: tool.StatusNeedsInput, Question: q, Error: tool.NewError(tool.InvalidArguments, "no")},
		"taken":    nil,
	}
	type seen struct{ run, id, answer, by string }
	got := make(chan seen, 1)
	w := start(t, Options{Caller: &scripted{
		answer: func(_ context.Context, run, id string, answer json.RawMessage, by string) (*tool.Result, error) {
			got <- seen{run, id, string(answer), by}
			return results[strings.TrimPrefix(id, "q_")], nil
		},
		approve: func(_ context.Context, run, id string, approved bool, digest, by string) (*tool.Result, error) {
			got <- seen{run, id, fmt.Sprint(approved, " ", digest), by}
			return results[strings.TrimPrefix(id, "a_")], nil
		}}})
	for name, want := range map[string]struct {
		status  int
		outcome string
	}{"called": {200, "called"}, "again": {200, "called"}, "rejected": {422, "rejected"}, "taken": {204, "taken"}} {
		for _, c := range []struct{ path, body, sent string }{
			{"/v1/runs/r_1/answers/q_" + name, `{"n":  1.50}`, `{"n":  1.50}`},
			{"/v1/runs/r_1/approvals/a_" + name, `{"approved":true,"digest":"sha256:1"}`, "true sha256:1"},
			{"/v1/runs/r_1/approvals/a_" + name, `{"approved":false}`, "false "},
		} {
			a := w.do(t, "POST", c.path, strings.NewReader(c.body))
			g := <-got
			if g.run != "r_1" || !strings.HasSuffix(c.path, g.id) || g.answer != c.sent || g.by != "local" {
				t.Errorf("%s: the caller got %+v", c.path, g)
			}
			if a.status != want.status || a.header.Get("Toolsvc-Outcome") != want.outcome || (len(a.body) == 0) != (name == "taken") {
				t.Errorf("%s: answer %d %v %s", c.path, a.status, a.header, a.body)
			}
			if name != "taken" {
				own, err := json.Marshal(results[name])
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(values(t, a.body), values(t, own)) {
					t.Errorf("%s: %s, want %s", c.path, a.body, own)
				}
			}
		}
		digest := "sha256:1"
		for transport, client := range w.runs {
			res, err := client.Answer(t.Context(), &runs.AnswerPayload{Run: "r_1", Question: "q_" + name, Answer: json.RawMessage(`{}`)})
			<-got
			if err != nil || res.Outcome != want.outcome || (res.Result == nil) != (name == "taken") {
				t.Errorf("%s, %s: %+v %v", name, transport, res, err)
			}
			res, err = client.Approve(t.Context(), &runs.ApprovePayload{Run: "r_1", Approval: "a_" + name, Approved: true, Digest: &digest})
			if g := <-got; err != nil || res.Outcome != want.outcome || g.answer != "true sha256:1" {
				t.Errorf("%s, %s: %+v %v, the caller got %+v", name, transport, res, err, g)
			}
		}
	}
}

func TestControl(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	w := start(t, Options{Caller: &scripted{control: func(_ context.Context, what, run string) error { got <- what + " " + run; return nil }}})
	for _, what := range []string{"pause", "resume", "cancel"} {
		if a := w.do(t, "POST", "/v1/runs/r_1/"+what, nil); a.status != 204 || len(a.body) != 0 {
			t.Errorf("%s: %d %s", what, a.status, a.body)
		}
		if g := <-got; g != what+" r_1" {
			t.Errorf("the caller got %q", g)
		}
		for transport, client := range w.runs {
			err := map[string]func() error{
				"pause":  func() error { return client.Pause(t.Context(), &runs.PausePayload{Run: "r_1"}) },
				"resume": func() error { return client.Resume(t.Context(), &runs.ResumePayload{Run: "r_1"}) },
				"cancel": func() error { return client.Cancel(t.Context(), &runs.CancelPayload{Run: "r_1"}) },
			}[what]()
			if g := <-got; err != nil || g != what+" r_1" {
				t.Errorf("%s: %v, the caller got %q", transport, err, g)
			}
		}
	}
}

// Every error about a run is refused with the same code and text on both transports, and its own text stays inside.
func TestRefusalsAboutRuns(t *testing.T) {
	t.Parallel()
	const secret = "dial tcp 10.1.2.3:7233"
	cases := map[string]struct {
		err   error
		ended bool
		kind  kind
	}{
		"unknown run":     {fmt.Errorf("%w: %s", planner.ErrUnknownRun, secret), false, kindUnknownRun},
		"a run that ends": {planner.ErrUnknownRun, true, kindRunEnded}, // as Temporal says of one that is over
		"run ended":       {planner.ErrRunEnded, false, kindRunEnded},
		"question closed": {planner.ErrQuestionClosed, false, kindQuestionClosed},
		"unavailable":     {fmt.Errorf("%w: %s", planner.ErrUnavailable, secret), false, kindUnavailable},
		"any other":       {errors.New(secret), false, kindInternal},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, Options{Caller: &scripted{
				answer: func(context.Context, string, string, json.RawMessage, string) (*tool.Result, error) {
					return nil, c.err
				},
				ended: func(context.Context, string) (bool, error) {
					if c.ended {
						return true, nil
					}
					return false, planner.ErrUnknownRun
				}}})
			a := w.do(t, "POST", "/v1/runs/r_1/answers/q_1", strings.NewReader("{}"))
			p := wantProblem(t, a, c.kind)
			if strings.Contains(string(a.body), "10.1.2.3") {
				t.Errorf("the text of a Go error leaked: %s", a.body)
			}
			for transport, client := range w.runs {
				_, err := client.Answer(t.Context(), &runs.AnswerPayload{Run: "r_1", Question: "q_1", Answer: json.RawMessage("{}")})
				if got := problemFrom(t, err); got.Code != c.kind.code || got.Detail != p["detail"] {
					t.Errorf("%s: %+v, want that of HTTP: %s", transport, got, a.body)
				}
			}
		})
	}
	t.Run("unknown call", func(t *testing.T) {
		w := start(t, Options{Caller: &scripted{result: func(context.Context, string, string) (*tool.Result, error) { return nil, planner.ErrUnknownCall }}})
		wantProblem(t, w.do(t, "GET", "/v1/runs/r_1/calls/c_1", nil), kindUnknownCall)
	})
	t.Run("key reused", func(t *testing.T) {
		w := start(t, Options{Caller: &scripted{
			call: func(context.Context, tool.Request, string) (*tool.Result, error) { return nil, store.ErrKeyReused },
			appendCalls: func(context.Context, string, []tool.Request, string) ([]string, error) {
				return nil, store.ErrKeyReused
			}}})
		wantProblem(t, w.do(t, "POST", "/v1/tools/lamp.read", strings.NewReader("{}")), kindKeyReused)
		wantProblem(t, w.do(t, "POST", "/v1/runs/r_1/calls", strings.NewReader(`{"calls":[{"tool":"lamp.read"}]}`)), kindKeyReused)
		_, err := w.grpc.Call(t.Context(), callPayload("lamp.read", "{}"))
		var p *types.Problem
		if !errors.As(err, &p) || p.Code != kindKeyReused.code {
			t.Errorf("gRPC: %v", err)
		}
	})
}

func TestRunParametersAreChecked(t *testing.T) {
	t.Parallel()
	w := start(t, Options{Caller: &scripted{}, Events: openStore(t)})
	for _, path := range []string{"GET /v1/runs/mine", "POST /v1/runs/mine/cancel", "GET /v1/runs/r_1/calls/" + strings.Repeat("x", 65), "GET /v1/runs/mine/events",
		"GET /v1/runs/r_1/events?after=-1", "GET /v1/runs/r_1/events?after=x", "GET /v1/artifacts/sha256:zz", "GET /v1/artifacts/..%2Fx"} {
		method, path, _ := strings.Cut(path, " ")
		wantProblem(t, w.do(t, method, path, nil), kindInvalidParameter)
	}
	_, err := w.runs["grpc"].Show(t.Context(), &runs.ShowPayload{Run: "mine"})
	if p := problemFrom(t, err); p.Code != kindInvalidParameter.code || !strings.Contains(p.Detail, `run must be "r_"`) {
		t.Errorf("gRPC: %+v", p)
	}
}

// The parameters of a call are the policy of the run that it starts.
func TestPolicyOfACall(t *testing.T) {
	t.Parallel()
	got := make(chan *tool.Policy, 1)
	w := start(t, Options{Caller: callerFunc(func(ctx context.Context, req tool.Request, lang string) (*tool.Result, error) {
		got <- req.Policy
		return succeed(ctx, req, lang)
	})})
	w.do(t, "POST", "/v1/tools/lamp.read?repair=person&ask=true&approve=deny", strings.NewReader("{}"))
	if p := <-got; p == nil || !reflect.DeepEqual(*p, tool.Policy{Repair: tool.RepairPerson, Ask: true, Approve: tool.ApproveDeny}) {
		t.Errorf("policy %+v", p)
	}
	w.do(t, "POST", "/v1/tools/lamp.read", strings.NewReader("{}"))
	if p := <-got; p != nil {
		t.Errorf("policy %+v, want none", p)
	}
}
