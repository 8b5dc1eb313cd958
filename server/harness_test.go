package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	goahttp "goa.design/goa/v3/http"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	runsgrpcclient "toolsvc/gen/grpc/runs/client"
	toolsgrpcclient "toolsvc/gen/grpc/tools/client"
	runshttpclient "toolsvc/gen/http/runs/client"
	toolshttpclient "toolsvc/gen/http/tools/client"
	"toolsvc/gen/runs"
	"toolsvc/gen/tools"
	"toolsvc/gen/types"
	"toolsvc/tool"
)

// callerFunc stands for the planner where only calls matter.
func callerFunc(f func(ctx context.Context, req tool.Request, lang string) (*tool.Result, error)) *scripted {
	return &scripted{call: f}
}

// succeed answers every call with a verified success whose result is the payload.
func succeed(_ context.Context, req tool.Request, _ string) (*tool.Result, error) {
	result := req.Arguments
	if len(result) == 0 {
		result = json.RawMessage("{}")
	}
	return &tool.Result{CallID: req.CallID, RunID: "r_test", Tool: req.Tool, Result: result, RunLink: &tool.RunLink{WorkflowID: "r_test"},
		Verification: &tool.Verification{Verdict: tool.VerdictSuccess, Confidence: 1, Threshold: 0.7, Evidence: tool.EvidenceRefs{After: "sha256:00"}}}, nil
}

// world is a server on real loopback connections, with the generated clients.
type world struct {
	*Server
	url   string // http://127.0.0.1:port
	conn  *grpc.ClientConn
	http  *tools.Client
	grpc  *tools.Client
	runs  map[string]*runs.Client // by transport
	log   *logBuffer
	ended chan error // what Serve returned
	stop  context.CancelFunc
}

// start serves until the test ends. change may alter the server before it serves.
func start(t *testing.T, o Options, change ...func(*Server)) *world {
	t.Helper()
	w := &world{log: &logBuffer{}, ended: make(chan error, 1)}
	if o.Caller == nil {
		o.Caller = callerFunc(succeed)
	}
	if o.Registry == nil {
		o.Registry = smallRegistry(t)
	}
	o.Logger = slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(s)
	}
	w.Server = s
	httpL, grpcL := listen(t), listen(t)
	var ctx context.Context
	ctx, w.stop = context.WithCancel(context.Background())
	go func() { w.ended <- s.Serve(ctx, httpL, grpcL) }()

	w.url = "http://" + httpL.Addr().String()
	w.conn, err = grpc.NewClient(grpcL.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	h := toolshttpclient.NewClient("http", httpL.Addr().String(), &http.Client{Transport: transport}, goahttp.RequestEncoder, goahttp.ResponseDecoder, false)
	g := toolsgrpcclient.NewClient(w.conn)
	rh := runshttpclient.NewClient("http", httpL.Addr().String(), &http.Client{Transport: transport}, goahttp.RequestEncoder, goahttp.ResponseDecoder, false)
	rg := runsgrpcclient.NewClient(w.conn)
	w.runs = map[string]*runs.Client{
		"http": runs.NewClient(rh.Start(), rh.List(), rh.Show(), rh.Append(), rh.Result(), nil, nil, rh.Answer(), rh.Approve(), rh.Pause(), rh.Resume(), rh.Cancel()),
		"grpc": runs.NewClient(rg.Start(), rg.List(), rg.Show(), rg.Append(), rg.Result(), rg.Watch(), rg.Artifact(), rg.Answer(), rg.Approve(), rg.Pause(), rg.Resume(), rg.Cancel()),
	}
	w.http = tools.NewClient(h.List(), h.Show(), h.Call())
	w.grpc = tools.NewClient(g.List(), g.Show(), g.Call())
	t.Cleanup(func() {
		w.stop()
		transport.CloseIdleConnections()
		if err := w.conn.Close(); err != nil {
			t.Error(err)
		}
		select {
		case err := <-w.ended:
			if err != nil {
				t.Errorf("Serve ended with %v", err)
			}
		case <-time.After(30 * time.Second):
			t.Error("Serve did not end")
		}
	})
	return w
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// clients are both generated clients, by the name of their transport.
func (w *world) clients() map[string]*tools.Client {
	return map[string]*tools.Client{"http": w.http, "grpc": w.grpc}
}

// answer is an HTTP response, read.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// json decodes the body.
func (a answer) json(t *testing.T) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(a.body))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("status %d: %v in %q", a.status, err, a.body)
	}
	return v
}

// do sends a request; change may alter it.
func (w *world) do(t *testing.T, method, path string, body io.Reader, change ...func(*http.Request)) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, w.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(req)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	}()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, b}
}

// wantProblem checks that a is a problem of the kind, and returns its fields.
func wantProblem(t *testing.T, a answer, k kind) map[string]any {
	t.Helper()
	if a.status != k.status || a.header.Get("Content-Type") != "application/problem+json" {
		t.Fatalf("status %d, content type %q, body %s; want a problem with status %d", a.status, a.header.Get("Content-Type"), a.body, k.status)
	}
	p := a.json(t)
	if p["code"] != k.code || p["title"] != k.title || p["type"] != "urn:toolsvc:problem:"+k.code || p["detail"] == "" {
		t.Errorf("problem %s, want the code %s", a.body, k.code)
	}
	if p["request_id"] != a.header.Get("X-Request-Id") || p["request_id"] == "" {
		t.Errorf("request id %v in the body, %q in the header", p["request_id"], a.header.Get("X-Request-Id"))
	}
	if got := a.header.Get("Retry-After") != ""; got != (k.retryAfter > 0) {
		t.Errorf("Retry-After %q, want one: %v", a.header.Get("Retry-After"), k.retryAfter > 0)
	}
	return p
}

// logBuffer collects lines of a log.
type logBuffer struct {
	mu    sync.Mutex
	lines [][]byte
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, bytes.Clone(p))
	return len(p), nil
}

// all is the log so far.
func (b *logBuffer) all() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(bytes.Join(b.lines, nil))
}

// find returns the first line for which ok holds, waiting for it, because a line is written after the answer.
func (b *logBuffer) find(t *testing.T, ok func(map[string]any) bool) map[string]any {
	t.Helper()
	var found map[string]any
	await(t, "a line in the log", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, l := range b.lines {
			var v map[string]any
			if err := json.Unmarshal(l, &v); err != nil {
				t.Fatalf("log line %q: %v", l, err)
			}
			if ok(v) {
				found = v
				return true
			}
		}
		return false
	})
	return found
}

// await waits until a condition holds.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// payload is the payload of the tools of smallRegistry: anything.
type payload struct{}

func (payload) Expectations() []string { return nil }
func (payload) Purpose() string        { return "" }

// smallRegistry holds two tools that between them have every part of a spec.
func smallRegistry(t *testing.T) *tool.Registry {
	t.Helper()
	decode := func([]byte) (tool.Payload, tool.Issues) { return payload{}, nil }
	schema := json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"what":{"$ref":"#/$defs/What"}},"$defs":{"What":{"type":"string","maxLength":9}},"additionalProperties":false}`)
	other := json.RawMessage(`{"type":"object","properties":{"what":{"$ref":"#/$defs/What"}},"$defs":{"What":{"type":"integer"}},"additionalProperties":false}`)
	r, err := tool.NewRegistry([]*tool.Spec{
		{ID: "lamp.switch", Title: "Switch", Description: "Switch the lamp.", Effect: tool.Reversible,
			EffectRules:    []tool.EffectRule{{When: "args.forever", Class: tool.Irreversible}},
			Sources:        []tool.Source{tool.SourceAX, tool.SourceCDP},
			Preconditions:  []tool.Condition{{Name: "bulb", Expression: "lamp.bulb", Message: "there is a bulb"}},
			Postconditions: []tool.Condition{{Name: "lit", Expression: "lamp.lit"}},
			Confirm:        "Switch it?", Question: "Which lamp?", Rollback: "Switches it back.", TimeLimit: 1500 * time.Millisecond,
			PayloadSchema: schema, ResultSchema: schema, Example: json.RawMessage(`{"what":"red"}`), Decode: decode},
		{ID: "lamp.read", Title: "Read", Description: "Read the lamp.", Effect: tool.ReadOnly, Sources: []tool.Source{tool.SourceSystem},
			TimeLimit: time.Second, PayloadSchema: other, ResultSchema: json.RawMessage(`{"type":"object"}`), Example: json.RawMessage(`{}`), Decode: decode},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// callPayload is a call for the generated clients.
func callPayload(id, arguments string) *tools.CallPayload {
	return &tools.CallPayload{Tool: id, Arguments: json.RawMessage(arguments)}
}

// problemFrom finds the problem in an error of a generated client.
func problemFrom(t *testing.T, err error) *types.Problem {
	t.Helper()
	var p *types.Problem
	if !errors.As(err, &p) {
		t.Fatalf("the error is no problem: %T %v", err, err)
	}
	return p
}
