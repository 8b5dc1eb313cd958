package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/narration"
	"toolsvc/planner"
	"toolsvc/store"
	"toolsvc/tool"
)

type connector = func(*testing.T, *Surface, string, *sdk.ClientOptions) *sdk.ClientSession

var play = map[string]any{"target": map[string]any{"name": "Play"}}

func TestCallSucceedsInBothEras(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string, connect connector) {
		service := newRuns()
		cs := connect(t, newSurface(t, service), version, nil)
		raw, res, text := callTool(t, cs, "browser_click", play)
		if raw.IsError || !res.OK() || res.Tool != "browser.click" {
			t.Errorf("%+v", res)
		}
		for _, want := range []string{"Done and verified", `acted_on: button "Play"`, "changed: true", "Run " + res.RunID} {
			if !strings.Contains(text, want) {
				t.Errorf("the text lacks %q:\n%s", want, text)
			}
		}
		// The next call of the same client is in the same run.
		if _, again, _ := callTool(t, cs, "browser_click", play); again.RunID != res.RunID {
			t.Errorf("runs %s and %s", res.RunID, again.RunID)
		}
	})
}

func TestHintsStandInBothContents(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string, connect connector) {
		cs := connect(t, newSurface(t, newRuns()), version, nil)
		raw, res, text := callTool(t, cs, "browser_click", map[string]any{"targt": map[string]any{"name": "Play"}, "button": "lefft"})
		if !raw.IsError || res.Error.Code != tool.InvalidArguments || len(res.RetryHint.Fields().Issues) != 3 {
			t.Fatalf("%+v", res)
		}
		for _, want := range []string{"did you mean target?", "did you mean left?", "/target: target is missing.", "Valid example: ", "You sent: ", "Repair this call of browser_click"} {
			if !strings.Contains(text, want) {
				t.Errorf("the text lacks %q:\n%s", want, text)
			}
		}
	})
}

func replying(action string, content map[string]any) *sdk.ClientOptions {
	return &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		if r.Params.Message == "" || r.Params.RequestedSchema == nil {
			return nil, errors.New("a form without a question or fields")
		}
		return &sdk.ElicitResult{Action: action, Content: content}, nil
	}}
}

func TestMissingFieldIsElicitedInBothEras(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string, connect connector) {
		service := newRuns()
		cs := connect(t, newSurface(t, service), version, replying("accept", map[string]any{"target.name": "Play"}))
		_, res, text := callTool(t, cs, "browser_click", map[string]any{})
		if !res.OK() {
			t.Fatalf("%+v\n%s", res, text)
		}
		if len(service.answers) != 1 || !strings.HasPrefix(service.answers[0], "mcp:test-client") {
			t.Errorf("answered by %q", service.answers)
		}
	})
}

// A form that is dismissed, or declined, is neither an answer nor a failure: the question stays open, and can be answered otherwise.
func TestDismissedQuestionStaysOpen(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"cancel", "decline"} {
		bothEras(t, func(t *testing.T, version string, connect connector) {
			service := newRuns()
			cs := connect(t, newSurface(t, service), version, replying(action, nil))
			raw, res, text := callTool(t, cs, "browser_click", map[string]any{})
			if raw.IsError || res.Status != tool.StatusNeedsInput || res.Question == nil || !strings.Contains(text, "call run_answer with") {
				t.Fatalf("%+v\n%s", res, text)
			}
			_, res, _ = callTool(t, cs, "run_answer", map[string]any{"run": res.RunID, "question": res.Question.ID, "answer": play})
			if !res.OK() {
				t.Errorf("%+v", res)
			}
		})
	}
}

func TestClientWithoutElicitationAnswersByTool(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string, connect connector) {
		service := newRuns()
		cs := connect(t, newSurface(t, service, func(o *Options) { o.Ask = true }), version, nil)
		raw, res, _ := callTool(t, cs, "browser_click", map[string]any{})
		if raw.IsError || res.Status != tool.StatusNeedsInput {
			t.Fatalf("%+v", res)
		}
		_, _, text := callTool(t, cs, "run_get", map[string]any{})
		if !strings.Contains(text, res.Question.ID) {
			t.Errorf("run_get does not show the question:\n%s", text)
		}
		question := res.Question.ID
		_, res, text = callTool(t, cs, "run_answer", map[string]any{"run": res.RunID, "question": question, "answer": map[string]any{"targt": "Play"}})
		if res.Status != tool.StatusNeedsInput || !strings.Contains(text, "did you mean target?") {
			t.Errorf("an answer that does not fit: %s", text)
		}
		_, res, _ = callTool(t, cs, "run_answer", map[string]any{"run": res.RunID, "question": question, "answer": play})
		if !res.OK() {
			t.Errorf("%+v", res)
		}
	})
}

// The state that a client carries names the run, so another server that has the key goes on where the killed one stopped.
func TestAnswerSurvivesARestart(t *testing.T) {
	t.Parallel()
	service := newRuns()
	noRetry := &sdk.ClientOptions{Capabilities: replying("accept", nil).Capabilities, MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		ElicitationHandler: replying("accept", nil).ElicitationHandler}
	before := connect(t, newSurface(t, service), modern, noRetry)
	asked, err := before.CallTool(t.Context(), &sdk.CallToolParams{Name: "browser_click"})
	if err != nil || !asked.NeedsInput() || asked.RequestState == "" {
		t.Fatalf("%+v, %v", asked, err)
	}
	after := connect(t, newSurface(t, service), modern, noRetry) // another process, the same key and runs
	reply := sdk.InputResponseMap{}
	for id := range asked.InputRequests {
		reply[id] = &sdk.ElicitResult{Action: "accept", Content: map[string]any{"target.name": "Play"}}
	}
	call := func(p *sdk.CallToolParams) (*sdk.CallToolResult, error) { return after.CallTool(t.Context(), p) }
	// Without a reply the question is asked again.
	again, err := call(&sdk.CallToolParams{Name: "browser_click", RequestState: asked.RequestState})
	if err != nil || !again.NeedsInput() {
		t.Errorf("%+v, %v", again, err)
	}
	// A state that was changed, or moved to another tool, is refused.
	for _, p := range []*sdk.CallToolParams{
		{Name: "browser_click", RequestState: asked.RequestState + "A", InputResponses: reply},
		{Name: "browser_type", RequestState: asked.RequestState, InputResponses: reply},
	} {
		if res, err := call(p); err == nil || !strings.Contains(err.Error(), "requestState") {
			t.Errorf("%s: %+v, %v", p.Name, res, err)
		}
	}
	done, err := call(&sdk.CallToolParams{Name: "browser_click", RequestState: asked.RequestState, InputResponses: reply})
	if err != nil || !toolResult(t, done).OK() {
		t.Fatalf("%+v, %v", done, err)
	}
	// Sent again, because the response was lost, it gets the same result and does nothing.
	made := len(service.answers)
	if done, err = call(&sdk.CallToolParams{Name: "browser_click", RequestState: asked.RequestState, InputResponses: reply}); err != nil || !toolResult(t, done).OK() || len(service.answers) != made {
		t.Errorf("%+v, %v, %d answers", done, err, len(service.answers))
	}
}

func approval(req tool.Request) *tool.Result {
	return &tool.Result{CallID: req.CallID, RunID: req.RunID, Tool: req.Tool, Status: tool.StatusNeedsInput,
		Question: &tool.Question{ID: "a_" + req.CallID, Kind: tool.AskApproval, RunID: req.RunID, CallID: req.CallID, Tool: req.Tool, Text: "Click “Pay”?",
			PriorInput: req.Arguments, Digest: digest, ExpiresAt: time.Now().Add(time.Hour)}}
}

func TestApprovalIsBoundAndDecidedByThePerson(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		action  string
		content map[string]any
		want    string
	}{
		{"accept", map[string]any{"approve": true}, "approved"},
		{"accept", map[string]any{"approve": false}, "refused"},
		{"decline", nil, "refused"},
		{"cancel", nil, "open"},
		{"accept", map[string]any{}, "open"}, // an untouched form decides nothing
	} {
		bothEras(t, func(t *testing.T, version string, connect connector) {
			service := newRuns()
			service.do = func(_ context.Context, req tool.Request) *tool.Result { return approval(req) }
			var shown string
			o := &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
				shown = r.Params.Message
				return &sdk.ElicitResult{Action: c.action, Content: c.content}, nil
			}}
			// The client of this SDK refuses an untouched form with a required field by itself, so it goes around it.
			if c.action == "accept" && len(c.content) == 0 {
				if got := answerOf(approval(tool.Request{}).Question, &sdk.ElicitResult{Action: c.action, Content: c.content}); !got.none {
					t.Errorf("%+v", got)
				}
				return
			}
			cs := connect(t, newSurface(t, service), version, o)
			_, res, _ := callTool(t, cs, "browser_click", play)
			got := "open"
			if res.OK() {
				got = "approved"
			} else if res.Error != nil && res.Error.Code == tool.PolicyDenied {
				got = "refused"
			}
			if got != c.want {
				t.Errorf("%s %v: %s, want %s", c.action, c.content, got, c.want)
			}
			if !strings.Contains(shown, "Click “Pay”?") || !strings.Contains(shown, `"name":"Play"`) {
				t.Errorf("the person was shown %q", shown)
			}
		})
	}
}

func TestCandidatesAreAChoice(t *testing.T) {
	t.Parallel()
	q := &tool.Question{Kind: tool.AskArguments, Text: "Which one?", Candidates: []tool.Candidate{{Name: "Play", Role: "button", Within: "Album"}, {Name: "Play", Role: "button", Within: "Queue"}}}
	p := elicitation(q, nil)
	if s := string(p.RequestedSchema.(json.RawMessage)); !strings.Contains(s, `{"const":"2","title":"the button \"Play\" in \"Queue\""}`) {
		t.Error(s)
	}
	a := answerOf(q, &sdk.ElicitResult{Action: "accept", Content: map[string]any{"choice": "2"}})
	if a.none || string(a.value) != `{"target":{"name":"Play","role":"button","within":"Queue"}}` {
		t.Errorf("%+v %s", a, a.value)
	}
	if a := answerOf(q, &sdk.ElicitResult{Action: "accept", Content: map[string]any{"choice": "7"}}); !a.none {
		t.Errorf("%+v", a)
	}
}

func TestFormsAreFlatAndAnswersNested(t *testing.T) {
	t.Parallel()
	f := formOf(json.RawMessage(`{"type":"object","required":["target"],"properties":{
		"target":{"type":"object","properties":{"name":{"type":"string","minLength":1},"nth":{"type":"integer","minimum":1}},"anyOf":[{"required":["name"]},{"required":["nth"]}]},
		"modifiers":{"type":"array","items":{"type":"string","enum":["Alt"]}},"expect":{"type":"array","items":{"type":"string"},"description":"Conditions."},
		"data":{"type":["object","null"]}}}`))
	want := `{"type":"object","properties":{"target.name":{"type":"string","minLength":1,"title":"Target name"},"target.nth":{"type":"integer","minimum":1,"title":"Target nth"},` +
		`"modifiers":{"type":"array","items":{"type":"string","enum":["Alt"]},"title":"Modifiers"},"expect":{"type":"string","description":"Conditions. One entry a line.","title":"Expect"},` +
		`"data":{"type":"string","description":"As JSON.","title":"Data"}},"required":["target.name"]}`
	if got := string(f.schema()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	v, err := f.answer(map[string]any{"target.name": "Play", "target.nth": 2, "expect": "a\n\n b ", "data": `{"x":1}`, "modifiers": []any{"Alt"}, "other": 1})
	if err != nil || string(v) != `{"data":{"x":1},"expect":["a","b"],"modifiers":["Alt"],"target":{"name":"Play","nth":2}}` {
		t.Errorf("%s, %v", v, err)
	}
	if v, err := f.answer(map[string]any{"target.name": ""}); v != nil || err != nil {
		t.Errorf("an empty form: %s, %v", v, err)
	}
}

func TestRunArgument(t *testing.T) {
	t.Parallel()
	for args, want := range map[string][2]string{
		`{"target":{"name":"run"}}`: {"", `{"target":{"name":"run"}}`},
		`{"run":"r_1","target":{}}`: {"r_1", `{"target":{}}`},
		`{"a":{"run":1},"run":"r"}`: {"r", `{"a":{"run":1}}`},
		`{"run":5}`:                 {"", `{"run":5}`},
		`{"run":`:                   {"", `{"run":`},
		`["run"]`:                   {"", `["run"]`},
	} {
		if run, rest := cutRun(json.RawMessage(args)); run != want[0] || string(rest) != want[1] {
			t.Errorf("%s: %q %s", args, run, rest)
		}
	}
	service := newRuns()
	cs := connect(t, newSurface(t, service), modern, nil)
	if _, res, _ := callTool(t, cs, "browser_click", map[string]any{"run": "r_mine", "target": map[string]any{"name": "Play"}}); !res.OK() || res.RunID != "r_mine" {
		t.Errorf("%+v", res)
	}
}

// A run that has ended is replaced by another one, which a restarted server finds again; one that was named is not.
func TestEndedRunIsReplaced(t *testing.T) {
	t.Parallel()
	service := newRuns()
	cs := connect(t, newSurface(t, service), modern, nil)
	_, first, _ := callTool(t, cs, "browser_click", play)
	service.mu.Lock()
	service.ended[first.RunID] = true
	service.mu.Unlock()
	_, second, _ := callTool(t, cs, "browser_click", play)
	if !second.OK() || second.RunID == first.RunID {
		t.Fatalf("%+v", second)
	}
	if _, third, _ := callTool(t, connect(t, newSurface(t, service), modern, nil), "browser_click", play); third.RunID != second.RunID {
		t.Errorf("after a restart the run is %s, was %s", third.RunID, second.RunID)
	}
	if _, res, _ := callTool(t, cs, "browser_click", map[string]any{"run": first.RunID, "target": map[string]any{"name": "Play"}}); res.Error == nil || res.Error.Code != tool.PreconditionFailed {
		t.Errorf("%+v", res)
	}
}

func TestErrorsOfTheServiceAreResults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		code   tool.Failure
		reason tool.Reason
	}{
		{planner.ErrUnavailable, tool.ToolUnavailable, tool.ReasonToolUnavailable},
		{planner.ErrRunFull, tool.RateLimited, tool.ReasonRateLimited},
		{planner.ErrInterrupted, tool.OutcomeUnknown, tool.ReasonOutcomeUnknown},
		{&planner.FilledError{Cause: errors.New("x")}, tool.OutcomeUnknown, tool.ReasonOutcomeUnknown},
		{errors.New("secret inner workings"), tool.Internal, tool.ReasonOutcomeUnknown},
	} {
		service := newRuns()
		service.fail = c.err
		raw, res, text := callTool(t, connect(t, newSurface(t, service), modern, nil), "browser_click", play)
		if !raw.IsError || res.Error.Code != c.code || res.RetryHint.Reason() != c.reason || strings.Contains(text, "secret") {
			t.Errorf("%v: %+v\n%s", c.err, res, text)
		}
	}
}

func TestNarrationIsProgressAndLog(t *testing.T) {
	t.Parallel()
	var es events
	service := newRuns()
	released := make(chan struct{})
	service.do = func(_ context.Context, req tool.Request) *tool.Result {
		<-released
		return verified(req, `{}`)
	}
	s := newSurface(t, service, func(o *Options) { o.Events = &es })
	got := make(chan string, 10)
	cs := connect(t, s, legacy, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			got <- fmt.Sprintf("progress %v %s", r.Params.Progress, r.Params.Message)
		},
		//lint:ignore SA1019 what older clients have
		LoggingMessageHandler: func(_ context.Context, r *sdk.LoggingMessageRequest) {
			got <- fmt.Sprintf("log %s %v", r.Params.Level, r.Params.Data.(map[string]any)["text"])
		},
	})
	//lint:ignore SA1019 what older clients do
	if err := cs.SetLoggingLevel(t.Context(), &sdk.SetLoggingLevelParams{Level: "info"}); err != nil {
		t.Fatal(err)
	}
	s.o.Events = eventsOf(func(call string) events {
		n, err := json.Marshal(narration.Event{Step: 1, Steps: 2, Text: "Click “Play”", Source: tool.SourceAX, Level: narration.Warning})
		if err != nil {
			t.Error(err)
		}
		return events{{ID: 1, Kind: store.KindNarration, Key: "c_other/1/execute", Data: n}, {ID: 2, Kind: store.KindToolResult, Key: call + "/0/result", Data: n},
			{ID: 3, Kind: store.KindNarration, Key: call + "/1/execute", Data: n}}
	}, service)
	p := &sdk.CallToolParams{Name: "browser_click", Arguments: play}
	p.SetProgressToken("t")
	go func() {
		_, err := cs.CallTool(t.Context(), p)
		if err != nil {
			t.Error(err)
		}
		got <- "result"
	}()
	heard := []string{<-got, <-got}
	close(released)
	heard = append(heard, <-got)
	slices.Sort(heard)
	if want := []string{"log warning Click “Play”", "progress 1 1/2 Click “Play” [AX]", "result"}; !slices.Equal(heard, want) {
		t.Errorf("%q, want %q", heard, want)
	}
}

func TestLanguageOfTheClient(t *testing.T) {
	t.Parallel()
	service := newRuns()
	cs := connect(t, newSurface(t, service, func(o *Options) { o.Language = "ja" }), modern, nil)
	callTool(t, cs, "browser_click", play)
	p := &sdk.CallToolParams{Name: "browser_click", Arguments: play, Meta: sdk.Meta{"toolsvc/language": "ko-KR"}}
	if _, err := cs.CallTool(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(service.langs, []string{"ja", "ko"}) {
		t.Error(service.langs)
	}
}

func TestCancelledCallIsNotAnswered(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string, connect connector) {
		service := newRuns()
		began, ended := make(chan struct{}), make(chan struct{})
		service.do = func(ctx context.Context, req tool.Request) *tool.Result {
			close(began)
			<-ctx.Done()
			close(ended)
			return nil
		}
		cs := connect(t, newSurface(t, service), version, nil)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-began; cancel() }()
		if _, err := cs.CallTool(ctx, &sdk.CallToolParams{Name: "browser_click", Arguments: play}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		<-ended // the server has stopped waiting
	})
}

func TestScreenshotIsAnImageAndAResource(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string, connect connector) {
		service := newRuns()
		service.do = func(_ context.Context, req tool.Request) *tool.Result {
			return verified(req, `{"artifact":"`+digest+`","width":1,"height":1}`)
		}
		cs := connect(t, newSurface(t, service, func(o *Options) { o.Artifacts = pictures{digest: []byte("PNG")} }), version, nil)
		raw, _, _ := callTool(t, cs, "browser_screenshot", map[string]any{})
		if len(raw.Content) != 3 {
			t.Fatalf("%d contents", len(raw.Content))
		}
		img, ok := raw.Content[1].(*sdk.ImageContent)
		link, ok2 := raw.Content[2].(*sdk.ResourceLink)
		if !ok || !ok2 || string(img.Data) != "PNG" || img.MIMEType != "image/png" {
			t.Fatalf("%#v", raw.Content)
		}
		read, err := cs.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: link.URI})
		if err != nil || string(read.Contents[0].Blob) != "PNG" {
			t.Errorf("%+v, %v", read, err)
		}
		if _, err := cs.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: artifactURI("sha256:" + strings.Repeat("2", 64))}); err == nil {
			t.Error("a resource that is not there was read")
		}
	})
}

// eventsOf watches with events that depend on the call that is being made.
type eventsFor struct {
	make    func(call string) events
	service *runs
}

func eventsOf(f func(string) events, r *runs) Events { return eventsFor{f, r} }
