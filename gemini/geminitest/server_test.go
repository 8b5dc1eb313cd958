package geminitest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genai"

	"toolsvc/gemini/geminitest"
)

const model = "gemini-3.8-flash"

// recorder is a TB that keeps what it is told.
type recorder struct {
	testing.TB
	errors   []string
	cleanups []func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(f string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(f, args...))
}
func (r *recorder) Fatalf(f string, args ...any) { r.TB.Fatalf(f, args...) }
func (r *recorder) end()                         { slices.Reverse(r.cleanups); each(r.cleanups) }
func each(fs []func()) {
	for _, f := range fs {
		f()
	}
}

func client(t testing.TB, s *geminitest.Server) *genai.Client {
	t.Helper()
	c, err := genai.NewClient(t.Context(), &genai.ClientConfig{APIKey: "secret", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: s.URL()}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func post(t testing.TB, s *geminitest.Server, path, body string) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("x-goog-api-key", "secret")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return res.StatusCode, v
}

func picture(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 4, 3))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What a client sends arrives decoded, and the key is not kept.
func TestRequestIsRecorded(t *testing.T) {
	t.Parallel()
	s := geminitest.Start(t, geminitest.Turn{Reply: geminitest.Text("ok").Tokens(7, 5, 3)})
	res, err := client(t, s).Models.GenerateContent(t.Context(), model, []*genai.Content{{Role: "user", Parts: []*genai.Part{
		{Text: "look"}, {InlineData: &genai.Blob{MIMEType: "image/png", Data: picture(t)}},
	}}}, &genai.GenerateContentConfig{
		SystemInstruction: &genai.Content{Parts: []*genai.Part{{Text: "be kind"}}},
		MaxOutputTokens:   99,
		ResponseMIMEType:  "application/json", ResponseJsonSchema: map[string]any{"type": "object", "minProperties": 1, "properties": map[string]any{"a": map[string]any{"type": "string", "pattern": "x"}}},
		Tools:      []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "f", Description: "does f", ParametersJsonSchema: map[string]any{"type": "object"}}}}},
		ToolConfig: &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: "ANY", AllowedFunctionNames: []string{"f"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if u := res.UsageMetadata; res.Text() != "ok" || u.PromptTokenCount != 7 || u.CandidatesTokenCount != 5 || u.ThoughtsTokenCount != 3 || u.TotalTokenCount != 15 {
		t.Errorf("answer %q, usage %+v", res.Text(), u)
	}
	r := s.Requests()[0]
	if r.N != 1 || r.Operation != "generateContent" || r.Version != "v1beta" || r.Model != model || r.System != "be kind" || r.Text() != "look" ||
		r.MaxOutputTokens != 99 || r.Mode != "ANY" || !slices.Equal(r.AllowedFunctions, []string{"f"}) || r.Function("f").Description != "does f" ||
		r.ResponseMIMEType != "application/json" || !bytes.Equal(r.Images()[0].Data, picture(t)) {
		t.Errorf("recorded %+v", r)
	}
	if want := []string{"response: minProperties", "response.a: pattern"}; !slices.Equal(r.Ignored, want) {
		t.Errorf("ignored %q, want %q", r.Ignored, want)
	}
	if strings.Contains(fmt.Sprint(r), "secret") {
		t.Error("the key is kept")
	}
}

// Several calls at once come in order, each with an id, the first one signed; a stream brings the same.
func TestParallelCalls(t *testing.T) {
	t.Parallel()
	reply := geminitest.Text("Both at once — 🙂").And(geminitest.Calls(geminitest.Call("a", map[string]int{"n": 1}), geminitest.Call("b", json.RawMessage(`{"n":9007199254740993}`)).WithID("mine")))
	s := geminitest.Start(t, geminitest.Turn{Times: 2, Reply: reply})
	c := client(t, s)
	whole, err := c.Models.GenerateContent(t.Context(), model, genai.Text("go"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var parts []*genai.Part
	var text string
	var usage int32
	for e, err := range c.Models.GenerateContentStream(t.Context(), model, genai.Text("go"), nil) {
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range e.Candidates[0].Content.Parts {
			if text += p.Text; p.FunctionCall != nil {
				parts = append(parts, p)
			}
		}
		usage = e.UsageMetadata.TotalTokenCount
	}
	if text != "Both at once — 🙂" || usage != whole.UsageMetadata.TotalTokenCount {
		t.Errorf("streamed %q, %d tokens", text, usage)
	}
	for name, ps := range map[string][]*genai.Part{"unary": whole.Candidates[0].Content.Parts[1:], "stream": parts} {
		if len(ps) != 2 || ps[0].FunctionCall.Name != "a" || ps[0].FunctionCall.ID == "" || len(ps[0].ThoughtSignature) == 0 ||
			ps[1].FunctionCall.Name != "b" || ps[1].FunctionCall.ID != "mine" || ps[1].ThoughtSignature != nil {
			t.Errorf("%s: %+v", name, ps)
		}
	}
	if !strings.Contains(s.Requests()[1].Operation, "stream") {
		t.Error("the second was no stream")
	}
}

// A stream without alt=sse is a JSON array.
func TestStreamAsArray(t *testing.T) {
	t.Parallel()
	s := geminitest.Start(t, geminitest.Turn{Reply: geminitest.Text("one two")})
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/v1/models/m:streamGenerateContent?key=k", strings.NewReader(`{"contents":[{"parts":[{"text":"x"}]}]}`))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var events []json.RawMessage
	if err := json.NewDecoder(res.Body).Decode(&events); err != nil || len(events) != 2 {
		t.Fatalf("%d events, %v", len(events), err)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	for _, c := range []struct {
		name  string
		reply geminitest.Reply
		check func(*genai.GenerateContentResponse, error) bool
	}{
		{"rate limited", geminitest.Fail(429, "Slow down.").After(1500 * time.Millisecond), func(_ *genai.GenerateContentResponse, err error) bool {
			var e genai.APIError
			return errors.As(err, &e) && e.Code == 429 && e.Status == "RESOURCE_EXHAUSTED" && e.Message == "Slow down." &&
				slices.ContainsFunc(e.Details, func(d map[string]any) bool {
					return d["@type"] == "type.googleapis.com/google.rpc.RetryInfo" && d["retryDelay"] == "1.500s"
				})
		}},
		{"overloaded", geminitest.Fail(503, "Overloaded."), func(_ *genai.GenerateContentResponse, err error) bool {
			var e genai.APIError
			return errors.As(err, &e) && e.Code == 503 && e.Status == "UNAVAILABLE" && len(e.Details) == 0
		}},
		{"no JSON", geminitest.Body("<html>"), func(_ *genai.GenerateContentResponse, err error) bool { return err != nil }},
		{"dropped", geminitest.Drop(), func(_ *genai.GenerateContentResponse, err error) bool { return err != nil }},
		{"cut", geminitest.Text("a long enough answer").Cut(20), func(_ *genai.GenerateContentResponse, err error) bool {
			return err != nil && strings.Contains(err.Error(), "unexpected EOF")
		}},
		{"blocked", geminitest.Blocked("SAFETY"), func(r *genai.GenerateContentResponse, err error) bool {
			return err == nil && len(r.Candidates) == 0 && r.PromptFeedback.BlockReason == "SAFETY"
		}},
		{"refused", geminitest.Finish("SAFETY", ""), func(r *genai.GenerateContentResponse, err error) bool {
			return err == nil && r.Candidates[0].Content == nil && r.Candidates[0].FinishReason == "SAFETY" && r.Candidates[0].SafetyRatings[0].Blocked
		}},
		{"truncated", geminitest.Finish("MAX_TOKENS", "half"), func(r *genai.GenerateContentResponse, err error) bool {
			return err == nil && r.Text() == "half" && r.Candidates[0].FinishReason == "MAX_TOKENS"
		}},
		{"malformed call", geminitest.Finish("MALFORMED_FUNCTION_CALL", ""), func(r *genai.GenerateContentResponse, err error) bool {
			return err == nil && r.Candidates[0].FinishReason == "MALFORMED_FUNCTION_CALL"
		}},
		{"empty", geminitest.Empty(), func(r *genai.GenerateContentResponse, err error) bool { return err == nil && len(r.Candidates) == 0 }},
		{"held back", geminitest.Text("late").Until(never), func(_ *genai.GenerateContentResponse, err error) bool {
			return errors.Is(err, context.Canceled)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := geminitest.Start(t, geminitest.Turn{Reply: c.reply})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.reply.Wait != nil {
				go func() {
					_, _ = s.Await(t.Context(), 1)
					cancel()
				}()
			}
			res, err := client(t, s).Models.GenerateContent(ctx, model, genai.Text("x"), nil)
			if !c.check(res, err) {
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
}

// A reply that is held back comes when the test lets it.
func TestReleased(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	s := geminitest.Start(t, geminitest.Turn{Reply: geminitest.Text("now").Until(done)})
	go func() {
		_, _ = s.Await(t.Context(), 1)
		close(done)
	}()
	if res, err := client(t, s).Models.GenerateContent(t.Context(), model, genai.Text("x"), nil); err != nil || res.Text() != "now" {
		t.Errorf("%v, %v", res, err)
	}
}

// Turns come in order; one that always answers fills the gaps; what nobody answers and what is never asked for fail the test.
func TestScriptOrder(t *testing.T) {
	t.Parallel()
	r := &recorder{TB: t}
	s := geminitest.Start(r,
		geminitest.Turn{If: geminitest.Says("one"), Reply: geminitest.Text("1")},
		geminitest.Turn{If: geminitest.Says("two"), Handle: func(q *geminitest.Request) geminitest.Reply { return geminitest.Text(fmt.Sprint("2 of request ", q.N)) }},
		geminitest.Turn{Name: "the last", If: geminitest.Says("three"), Reply: geminitest.Text("3")},
		geminitest.Turn{If: geminitest.Says("any"), Times: geminitest.Always, Reply: geminitest.Text("always")},
	)
	ask := func(text string) string {
		res, err := client(t, s).Models.GenerateContent(t.Context(), model, genai.Text(text), nil)
		if err != nil {
			return err.Error()
		}
		return res.Text()
	}
	for _, c := range []struct{ ask, want string }{{"any", "always"}, {"one", "1"}, {"any", "always"}, {"two", "2 of request 4"}} {
		if got := ask(c.ask); got != c.want {
			t.Errorf("%s: %q, want %q", c.ask, got, c.want)
		}
	}
	if len(r.errors) != 0 {
		t.Errorf("complained of %q", r.errors)
	}
	if got := ask("one"); !strings.Contains(got, "turn 3 (the last) does not accept it") {
		t.Errorf("an answer that nobody gave: %q", got)
	}
	r.end()
	if len(r.errors) != 2 || !strings.Contains(r.errors[1], "turn 3 (the last) was never asked for") {
		t.Errorf("told the test: %q", r.errors)
	}
}

func TestOtherOperations(t *testing.T) {
	t.Parallel()
	s := geminitest.Start(t)
	c := client(t, s)
	n, err := c.Models.CountTokens(t.Context(), model, genai.Text("twelve bytes"), nil)
	if err != nil || n.TotalTokens != 3 {
		t.Errorf("%+v, %v", n, err)
	}
	if m, err := c.Models.Get(t.Context(), model, nil); err != nil || m.Name != "models/"+model {
		t.Errorf("%+v, %v", m, err)
	}
	var gone genai.APIError
	if _, err := c.Models.Get(t.Context(), "gemini-0", nil); !errors.As(err, &gone) || gone.Code != 404 {
		t.Errorf("%v", err)
	}
	page, err := c.Models.List(t.Context(), nil)
	if err != nil || len(page.Items) != 1 {
		t.Errorf("%+v, %v", page, err)
	}
	s.Tolerate()
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/v1beta/models/m:generateContent", strings.NewReader(`{}`))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 403 {
		t.Errorf("without a key: %d", res.StatusCode)
	}
	if status, _ := post(t, s, "/v1beta/models/m:embedContent", `{}`); status != 404 {
		t.Errorf("an operation that is not served: %d", status)
	}
}
