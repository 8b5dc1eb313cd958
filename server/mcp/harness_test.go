package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/gen/toolsets"
	"toolsvc/planner"
	"toolsvc/store"
	"toolsvc/tool"
)

// runs stands for the planner: it validates with the real decoders, opens the questions of the contract, and keeps results as a run does.
// What it keeps outlives a Surface, as Temporal outlives a server.
type runs struct {
	mu      sync.Mutex
	calls   []tool.Request
	langs   []string
	results map[string]*tool.Result // by call
	ended   map[string]bool
	answers []string // who answered
	// do makes the result of a valid call; a verified success when nil.
	do func(ctx context.Context, req tool.Request) *tool.Result
	// fail is the error of every call.
	fail error
	// cancelled runs.
	cancelled []string
	// dropped calls, as run/call.
	dropped []string
	// going are the calls that a durable service works on.
	going map[string]chan struct{}
	// last is the call that began last.
	last atomic.Pointer[string]
}

func newRuns() *runs { return &runs{results: map[string]*tool.Result{}, ended: map[string]bool{}} }

const digest = "sha256:1111111111111111111111111111111111111111111111111111111111111111"

func verified(req tool.Request, result string) *tool.Result {
	return &tool.Result{CallID: req.CallID, RunID: req.RunID, Tool: req.Tool, Result: json.RawMessage(result),
		Verification: &tool.Verification{Verdict: tool.VerdictSuccess, Confidence: 1, Threshold: 0.7, Explanation: "The page reacted.", Evidence: tool.EvidenceRefs{After: digest}},
		Attempts:     []tool.AttemptRecord{{Number: 1, Source: tool.SourceAX}}}
}

// titled is a click's verified result whose page has what was said for its title.
func titled(req tool.Request, said []string) *tool.Result {
	text, err := json.Marshal(map[string]any{"url": "http://127.0.0.1/", "title": strings.Join(said, ", "), "changed": true})
	if err != nil {
		panic(err)
	}
	return verified(req, string(text))
}

func (r *runs) Call(ctx context.Context, req tool.Request, lang string) (*tool.Result, error) {
	r.last.Store(&req.CallID)
	if err := r.accept(req, lang); err != nil {
		return nil, err
	}
	res := r.step(ctx, req)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.results[req.CallID] = res
	return res, nil
}

func (r *runs) accept(req tool.Request, lang string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil {
		return r.fail
	}
	if r.ended[req.RunID] {
		return planner.ErrRunEnded
	}
	r.calls, r.langs = append(r.calls, req), append(r.langs, lang)
	return nil
}

func (r *runs) step(ctx context.Context, req tool.Request) *tool.Result {
	spec := toolsets.Registry().Lookup(req.Tool)
	if spec == nil {
		return verified(req, `{}`)
	}
	_, issues := spec.Decode(req.Arguments)
	switch {
	case len(issues) > 0 && req.Policy != nil && req.Policy.Repair == tool.RepairPerson && len(issues.Missing()) > 0:
		return &tool.Result{CallID: req.CallID, RunID: req.RunID, Tool: req.Tool, Status: tool.StatusNeedsInput,
			Question: &tool.Question{ID: "q_" + req.CallID, Kind: tool.AskArguments, RunID: req.RunID, CallID: req.CallID, Tool: req.Tool, Text: spec.Question,
				MissingFields: issues.Missing(), Issues: issues, Schema: answerSchema(spec), ExampleInput: spec.Example, PriorInput: req.Arguments, ExpiresAt: time.Now().Add(time.Hour)}}
	case len(issues) > 0:
		res := invalid(spec, issues, req.Arguments)
		res.CallID, res.RunID = req.CallID, req.RunID
		return res
	case r.do != nil:
		return r.do(ctx, req)
	}
	return verified(req, `{"url":"http://127.0.0.1/","title":"T","acted_on":"button \"Play\"","changed":true}`)
}

// answerSchema is the part of the payload schema that is asked for.
func answerSchema(spec *tool.Spec) json.RawMessage {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(spec.PayloadSchema, &s); err != nil {
		panic(err)
	}
	return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"target":%s},"required":["target"],"additionalProperties":false}`, s.Properties["target"]))
}

func (r *runs) find(runID, questionID string) *tool.Result {
	for _, res := range r.results {
		if res.Question != nil && res.Question.ID == questionID && res.RunID == runID {
			return res
		}
	}
	return nil
}

func (r *runs) Answer(ctx context.Context, runID, questionID string, answer json.RawMessage, by string) (*tool.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	open := r.find(runID, questionID)
	if open == nil {
		return nil, planner.ErrQuestionClosed
	}
	spec := toolsets.Registry().Lookup(open.Tool)
	if _, issues := spec.Decode(answer); len(issues) > 0 {
		again := *open
		again.RetryHint = tool.HintArguments(spec, issues, answer)
		again.Error = tool.NewError(tool.InvalidArguments, "The answer is not valid, so the question stays open.")
		return &again, nil
	}
	r.answers = append(r.answers, by)
	res := r.step(ctx, tool.Request{CallID: open.CallID, RunID: runID, Tool: open.Tool, Arguments: answer})
	r.results[open.CallID] = res
	return res, nil
}

func (r *runs) Approve(_ context.Context, runID, approvalID string, approved bool, given, by string) (*tool.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	open := r.find(runID, approvalID)
	if open == nil || open.Question.Digest != given {
		return nil, planner.ErrQuestionClosed
	}
	r.answers = append(r.answers, by)
	req := tool.Request{CallID: open.CallID, RunID: runID, Tool: open.Tool}
	res := verified(req, `{"paid":true}`)
	if !approved {
		res = &tool.Result{CallID: open.CallID, RunID: runID, Tool: open.Tool, Error: tool.NewError(tool.PolicyDenied, "A person refused the call."),
			RetryHint: tool.HintStop(open.Tool, tool.ReasonPolicyDenied, "A person refused the call.")}
	}
	r.results[open.CallID] = res
	return res, nil
}

func (r *runs) Result(_ context.Context, _, callID string) (*tool.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if res := r.results[callID]; res != nil {
		return res, nil
	}
	return nil, planner.ErrUnknownRun
}

func (r *runs) State(_ context.Context, runID string) (*planner.State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	st := &planner.State{RunID: runID, Outcome: planner.OutcomeRunning}
	for _, c := range r.calls {
		if c.RunID == runID {
			res := r.results[c.CallID]
			st.Steps = append(st.Steps, planner.StepState{CallID: c.CallID, Tool: c.Tool, Title: string(c.Tool), Result: res})
			if res != nil && res.Question != nil {
				st.Questions = append(st.Questions, *res.Question)
			}
		}
	}
	if st.Steps == nil {
		return nil, planner.ErrUnknownRun
	}
	return st, nil
}

func (r *runs) Cancel(_ context.Context, runID string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancelled = append(r.cancelled, runID)
	return nil
}

func (r *runs) CancelCall(_ context.Context, runID, callID string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropped = append(r.dropped, runID+"/"+callID)
	return nil
}

// events are a store's events, given beforehand.
type events []store.Event

func (es events) Watch(ctx context.Context, _ string, after int64) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		for _, e := range es {
			if e.ID > after && !yield(e, nil) {
				return
			}
		}
		<-ctx.Done()
	}
}

// pictures are artifacts by digest.
type pictures map[string][]byte

func (p pictures) Artifact(_ context.Context, digest string) (string, []byte, error) {
	if data, ok := p[digest]; ok {
		return "image/png", data, nil
	}
	return "", nil, store.ErrNotFound
}

var testKey = []byte("0123456789abcdef0123456789abcdef")

func newSurface(t *testing.T, service Service, change ...func(*Options)) *Surface {
	t.Helper()
	o := Options{Service: service, Registry: toolsets.Registry(), Key: testKey, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	for _, f := range change {
		f(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The eras, and how clients of each reach a server.
const (
	modern = "2026-07-28"
	legacy = "2025-11-25"
)

// connect connects a client over real HTTP.
func connect(t *testing.T, s *Surface, version string, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	srv := httptest.NewServer(s.Handler())
	t.Cleanup(srv.Close)
	return connectTo(t, &sdk.StreamableClientTransport{Endpoint: srv.URL}, version, o)
}

// connectStdio connects a client over a pair of pipes, as over standard input and output.
func connectStdio(t *testing.T, s *Surface, version string, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.ServeStdio(ctx, inR, outW) }()
	cs := connectTo(t, &sdk.IOTransport{Reader: outR, Writer: inW}, version, o)
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return cs
}

func connectTo(t *testing.T, tr sdk.Transport, version string, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	if o == nil {
		o = &sdk.ClientOptions{}
	}
	c := sdk.NewClient(&sdk.Implementation{Name: "test-client", Version: "1"}, o)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cs, err := c.Connect(ctx, tr, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close() })
	if got := cs.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("negotiated %s, want %s", got, version)
	}
	return cs
}

// bothEras runs a test for every combination of era and transport.
func bothEras(t *testing.T, test func(t *testing.T, version string, connect func(*testing.T, *Surface, string, *sdk.ClientOptions) *sdk.ClientSession)) {
	for _, version := range []string{modern, legacy, "2025-06-18"} {
		t.Run(version+"/http", func(t *testing.T) { t.Parallel(); test(t, version, connect) })
		t.Run(version+"/stdio", func(t *testing.T) { t.Parallel(); test(t, version, connectStdio) })
	}
}

func callTool(t *testing.T, cs *sdk.ClientSession, name string, args any) (*sdk.CallToolResult, *tool.Result, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	res, err := cs.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return res, toolResult(t, res), textOf(res)
}

func toolResult(t *testing.T, res *sdk.CallToolResult) *tool.Result {
	t.Helper()
	raw, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	var r tool.Result
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return &r
}

func textOf(res *sdk.CallToolResult) string {
	var text string
	for _, c := range res.Content {
		if x, ok := c.(*sdk.TextContent); ok {
			text += x.Text
		}
	}
	return text
}

// Watch yields the events of the call that has begun last.
func (e eventsFor) Watch(ctx context.Context, run string, after int64) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		call := e.service.begun(ctx)
		e.make(call).Watch(ctx, run, after)(yield)
	}
}

// begun waits until a call has begun.
func (r *runs) begun(ctx context.Context) string {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if p := r.last.Load(); p != nil {
			return *p
		}
		select {
		case <-ctx.Done():
			return ""
		case <-tick.C:
		}
	}
}
