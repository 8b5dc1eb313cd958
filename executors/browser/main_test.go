package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"

	"toolsvc/executors/browser/devtools"
	"toolsvc/executors/browser/page"
	gen "toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

// shared is the one browser of this test binary, workspace the folder that it may upload from, and store where it keeps files.
var (
	shared    *Executor
	workspace string
	store     = &memory{}
)

func TestMain(m *testing.M) {
	var err error
	if workspace, err = os.MkdirTemp("", "toolsvc-workspace-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	shared, err = New(Options{Ephemeral: true, MaxSessions: 64, SitePerProcess: true, Artifacts: store, Workspace: workspace, MaxDownload: 1 << 20})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := os.RemoveAll(workspace); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := shared.Shutdown(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// memory is an artifact store.
type memory struct {
	mu sync.Mutex
	m  map[string][]byte
}

func (s *memory) Put(_ context.Context, _ string, data []byte) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = map[string][]byte{}
	}
	d := tool.Digest(data)
	s.m[d] = data
	return d, nil
}

func (s *memory) get(digest string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.m[digest]
}

var runs atomic.Int64

// visit is a run with a page of its own.
type visit struct {
	t    testing.TB
	x    *Executor
	run  string
	url  string
	step int
}

// open serves HTML at /, and opens it in a new run.
func open(t testing.TB, body string, more ...func(*http.ServeMux)) *visit {
	t.Helper()
	return openIn(t, shared, body, more...)
}

func openIn(t testing.TB, x *Executor, body string, more ...func(*http.ServeMux)) *visit {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", serve(body))
	for _, f := range more {
		f(mux)
	}
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	p := &visit{t: t, x: x, run: fmt.Sprintf("r_%s_%d", strings.ReplaceAll(t.Name(), "/", "_"), runs.Add(1)), url: srv.URL}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := x.Close(ctx, p.run); err != nil {
			t.Error(err)
		}
	})
	r := p.do("navigate", map[string]any{"url": srv.URL + "/"})
	if r.err != nil {
		t.Fatal(r.err)
	}
	return p
}

func serve(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!doctype html><meta charset=utf-8><title>Test</title>"+body)
	}
}

// done is what became of one attempt.
type done struct {
	before, after *tool.Evidence
	out           tool.Outcome
	err           error
	phase         tool.Phase
	took          time.Duration
	att           tool.Attempt
}

// call makes a tool.Call as a surface would: decoded from JSON by the generated codec.
func (p *visit) call(name string, args any) *tool.Call {
	p.t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, s := range gen.Specs() {
		if s.ID.Name() == name {
			payload, issues := s.Decode(text)
			if len(issues) > 0 {
				p.t.Fatalf("%s: %v", text, issues)
			}
			p.step++
			return &tool.Call{ID: fmt.Sprintf("c_%s_%d", p.run, p.step), RunID: p.run, Step: p.step, Spec: s, Args: payload, Raw: text}
		}
	}
	p.t.Fatalf("no tool %s", name)
	return nil
}

func (p *visit) do(name string, args any) done { p.t.Helper(); return p.by(tool.SourceAX, name, args) }

// by makes one attempt by a source.
func (p *visit) by(src tool.Source, name string, args any) done {
	p.t.Helper()
	return p.plan(tool.Plan{Number: 1, Source: src, Input: tool.InputMouse}, name, args)
}

func (p *visit) plan(plan tool.Plan, name string, args any) done {
	p.t.Helper()
	return p.attempt(p.call(name, args), plan, tool.Needs{Text: true})
}

// attempt goes through the stages of an attempt, as the planner does. A result must be one that its tool may give.
func (p *visit) attempt(call *tool.Call, plan tool.Plan, needs tool.Needs) (d done) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	start := time.Now()
	defer func() { d.took = time.Since(start) }()
	d.phase = tool.PhaseStarted
	att, err := p.x.Begin(ctx, call, plan)
	if err != nil {
		d.err = err
		return d
	}
	d.att = att
	p.t.Cleanup(func() { _ = att.Close() })
	if d.err = att.Resolve(ctx); d.err != nil {
		return d
	}
	d.phase = tool.PhaseResolved
	if d.before, d.err = att.Observe(ctx, needs); d.err != nil {
		return d
	}
	d.phase = tool.PhaseDispatched
	if d.err = att.Dispatch(ctx); d.err != nil {
		return d
	}
	if d.out, d.err = att.Settle(ctx); d.err != nil {
		return d
	}
	d.phase = tool.PhaseSettled
	if d.out.Result != nil {
		if _, err := call.Spec.EncodeResult(d.out.Result); err != nil {
			p.t.Errorf("result of %s: %v", call.Spec.ID, err)
		}
	}
	d.after, d.err = att.Observe(ctx, needs)
	if d.err == nil {
		if _, _, err := d.after.Encode(); err != nil {
			p.t.Error(err)
		}
	}
	return d
}

// truth reads an expression in the page's own world, by a second connection.
func (p *visit) truth(expr string) string {
	p.t.Helper()
	p.x.pool.mu.Lock()
	s := p.x.pool.sessions[p.run]
	p.x.pool.mu.Unlock()
	if s == nil {
		p.t.Fatal("the run has no session")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	yes := true
	r, err := devtools.Call(ctx, s.tab.Session(), runtime.Evaluate, runtime.EvaluateParams{Expression: "Promise.resolve(" + expr + ").then(String)", ReturnByValue: &yes, AwaitPromise: &yes})
	for page.Moved(err) && !strings.Contains(expr, "location.href=") { // asked while one document replaced the other
		r, err = devtools.Call(ctx, s.tab.Session(), runtime.Evaluate, runtime.EvaluateParams{Expression: "Promise.resolve(" + expr + ").then(String)", ReturnByValue: &yes, AwaitPromise: &yes})
	}
	if err != nil {
		p.t.Fatal(err)
	}
	if r.ExceptionDetails != nil {
		p.t.Fatalf("%s: %+v", expr, r.ExceptionDetails.Exception)
	}
	var v string
	if err := json.Unmarshal(r.Result.Value, &v); err != nil {
		p.t.Fatal(err)
	}
	return v
}

// must fails the test unless the attempt went all the way with this effect.
func (d done) must(t *testing.T, effect tool.Effect) done {
	t.Helper()
	if d.err != nil {
		t.Fatalf("failed when %s: %v", d.phase, d.err)
	}
	if d.out.Effect != effect {
		t.Fatalf("effect %s (%s), want %s", d.out.Effect, d.out.Proof, effect)
	}
	return d
}

// fails fails the test unless the attempt failed so, with nothing dispatched.
func (d done) fails(t *testing.T, f tool.Failure) *tool.Failed {
	t.Helper()
	if d.err == nil {
		t.Fatalf("succeeded (%s: %s), want %s", d.out.Effect, d.out.Proof, f)
	}
	got := tool.AsFailed(d.err)
	if got.Failure != f {
		t.Fatalf("failed with %s: %s, want %s", got.Failure, got.Message, f)
	}
	if got.Dispatched {
		t.Fatalf("%s says that something was dispatched", got)
	}
	return got
}

// at reads a value of evidence by its path.
func at(t *testing.T, e *tool.Evidence, path ...string) any {
	t.Helper()
	var v any = e.Values
	for _, k := range path {
		m, ok := v.(map[string]any)
		if !ok {
			t.Fatalf("no %v in evidence", path)
		}
		v = m[k]
	}
	return v
}

func named(name string, more ...string) map[string]any {
	m := map[string]any{"name": name}
	for i := 0; i+1 < len(more); i += 2 {
		m[more[i]] = more[i+1]
	}
	return m
}

func clickOn(name string, more ...string) map[string]any {
	return map[string]any{"target": named(name, more...)}
}

func srcdoc(body string) string { return html.EscapeString(body) }

func jsonInto(text []byte, v any) error { return json.Unmarshal(text, v) }

// truthOf waits until f holds.
func (p *visit) truthOf(what string, f func() bool) {
	p.t.Helper()
	for end := time.Now().Add(15 * time.Second); !f(); {
		if time.Now().After(end) {
			p.t.Fatalf("%s is not as wanted", what)
		}
	}
}
