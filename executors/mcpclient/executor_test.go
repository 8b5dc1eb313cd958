package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/tool"
	"toolsvc/verification"
)

// The test program is also the MCP server that the tests talk to: a real process, over its standard input and output.
func TestMain(m *testing.M) {
	if os.Getenv("MCPCLIENT_TEST_SERVER") != "" {
		if err := serveTest(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func serveTest() error {
	if os.Getenv("MCPCLIENT_TEST_SERVER") == "broken" {
		return errors.New("this server does not start")
	}
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	yes := true
	add := func(name, in, out string, a *sdk.ToolAnnotations, h sdk.ToolHandler) {
		t := &sdk.Tool{Name: name, Description: "Does " + name + ".", InputSchema: json.RawMessage(in), Annotations: a}
		if out != "" {
			t.OutputSchema = json.RawMessage(out)
		}
		s.AddTool(t, h)
	}
	say := func(format string, args ...any) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf(format, args...)}}}
	}
	const number = `{"type":"object","properties":{"count":{"type":"integer","minimum":1}},"required":["count"]}`
	add("addNumbers", number, `{"$defs":{"n":{"type":"integer"}},"type":"object","properties":{"sum":{"$ref":"#/$defs/n"}},"required":["sum"]}`, &sdk.ToolAnnotations{ReadOnlyHint: true},
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			var in struct{ Count int }
			if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
				return nil, err
			}
			res := say("sum %s", r.Params.Arguments)
			res.StructuredContent = map[string]any{"sum": in.Count + 1}
			if in.Count == 13 {
				res.StructuredContent = map[string]any{"sum": "many"}
			}
			if in.Count == 14 {
				res.StructuredContent = nil
			}
			return res, nil
		})
	add("env", `{"type":"object"}`, "", &sdk.ToolAnnotations{ReadOnlyHint: true}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return say("%d\n%s", os.Getpid(), strings.Join(os.Environ(), "\n")), nil
	})
	add("die", `{"type":"object"}`, "", nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		os.Exit(3)
		return nil, nil
	})
	add("fail", `{"type":"object","properties":{"how":{"type":"string"}}}`, "", &sdk.ToolAnnotations{DestructiveHint: &yes}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var in struct{ How string }
		if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
			return nil, err
		}
		res := say("%s", in.How)
		res.IsError = true
		return res, nil
	})
	add("ask", `{"type":"object"}`, "", &sdk.ToolAnnotations{IdempotentHint: true}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		p := &sdk.ElicitParams{Mode: "form", Message: "Your name?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)}
		if r.ProtocolVersion() >= "2026-07-28" {
			if got, ok := r.Params.InputResponses["name"].(*sdk.ElicitResult); ok {
				return say("%s %v", got.Action, got.Content["name"]), nil
			}
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"name": p}}, nil
		}
		got, err := r.Session.Elicit(ctx, p)
		if err != nil {
			return nil, err
		}
		return say("%s %v", got.Action, got.Content["name"]), nil
	})
	add("work", `{"type":"object"}`, "", nil, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Total: 2, Message: "half"})
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "done"}, &sdk.ImageContent{Data: []byte("PNG"), MIMEType: "image/png"}}}, err
	})
	add("hang", `{"type":"object"}`, "", nil, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	return s.Run(context.Background(), &sdk.StdioTransport{})
}

func testBackend(t *testing.T) Backend {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Backend{Command: []string{self}, Env: map[string]string{"MCPCLIENT_TEST_SERVER": "1", "GIVEN": "value"}}
}

func open(t *testing.T, b Backend, o Options) *Executor {
	t.Helper()
	e, err := Open(t.Context(), "test", b, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return e
}

func (e *Executor) lookup(id tool.ID) *tool.Spec {
	i := slices.IndexFunc(e.Specs(), func(s *tool.Spec) bool { return s.ID == id })
	if i < 0 {
		return nil
	}
	return e.Specs()[i]
}

// do makes one attempt as the planner does, and renders the result.
func do(ctx context.Context, e *Executor, run string, id tool.ID, args string) (string, tool.Outcome, error) {
	spec := e.lookup(id)
	payload, issues := spec.Decode([]byte(args))
	if issues != nil {
		return "", tool.Outcome{}, issues
	}
	a, err := e.Begin(ctx, &tool.Call{ID: "c_" + run, RunID: run, Spec: spec, Args: payload}, tool.Plan{Number: 1, Source: tool.SourceSystem})
	if err != nil {
		return "", tool.Outcome{}, err
	}
	defer a.Close() //nolint:errcheck // it frees nothing
	if err := a.Resolve(ctx); err != nil {
		return "", tool.Outcome{}, err
	}
	if err := a.Dispatch(ctx); err != nil {
		return "", tool.Outcome{}, err
	}
	out, err := a.Settle(ctx)
	if err != nil {
		return "", out, err
	}
	text, err := spec.EncodeResult(out.Result)
	return string(text), out, err
}

func TestSpecsComeFromTheServer(t *testing.T) {
	t.Parallel()
	b := testBackend(t)
	b.Deny = []string{"hang"}
	b.Effects = map[string]tool.EffectClass{"e*": tool.Reversible, "env": tool.Idempotent}
	e := open(t, b, Options{})
	for id, want := range map[tool.ID]tool.EffectClass{
		"test.add_numbers": tool.ReadOnly, "test.env": tool.Idempotent, "test.die": tool.Reversible, "test.fail": tool.Irreversible, "test.ask": tool.Idempotent, "test.work": tool.Reversible,
	} {
		s := e.lookup(id)
		if s == nil || s.Effect != want || (s.Confirm != "") != (want == tool.Irreversible) || s.Description == "" || s.TimeLimit != DefaultTimeLimit {
			t.Errorf("%s: %+v", id, s)
		}
	}
	if e.lookup("test.hang") != nil {
		t.Error("a tool that is denied is there")
	}
	s := e.lookup("test.add_numbers")
	if string(s.Example) != `{"count":1}` {
		t.Errorf("example %s", s.Example)
	}
	if _, issues := verification.Compile(s, []byte(`{"count":1}`), []string{`result.structured.sum == 2`, `result.text != ""`}); len(issues) > 0 {
		t.Error(issues)
	}
}

func TestCallsAreValidatedBothWays(t *testing.T) {
	t.Parallel()
	e := open(t, testBackend(t), Options{})
	ctx := t.Context()
	got, out, err := do(ctx, e, "r_1", "test.add_numbers", `{"count":2,"intent":"to see","expect":["true"]}`)
	if err != nil || got != `{"text":"sum {\"count\":2}","structured":{"sum":3}}` || out.Effect != tool.EffectNone {
		t.Errorf("%s %+v %v", got, out, err)
	}
	p, issues := e.lookup("test.add_numbers").Decode([]byte(`{"count":2,"intent":"to see","expect":["true"]}`))
	if issues != nil || p.Purpose() != "to see" || !slices.Equal(p.Expectations(), []string{"true"}) {
		t.Errorf("%+v %v", p, issues)
	}
	again, _ := json.Marshal(p)
	if _, issues := e.lookup("test.add_numbers").Decode(again); issues != nil {
		t.Errorf("%s: %v", again, issues)
	}
	for args, want := range map[string]string{
		`{"cuont":2}`: "did you mean count?",
		`{}`:          "count is missing.",
		`{"count":0}`: "must be at least 1",
	} {
		if _, _, err := do(ctx, e, "r_1", "test.add_numbers", args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
	var broken tool.Issues
	if _, _, err := do(ctx, e, "r_1", "test.add_numbers", `{"count":13}`); !errors.As(err, &broken) || broken[0].Path != "/structured/sum" {
		t.Errorf("a result that breaks its schema: %v", err)
	}
	if f := failed(do(ctx, e, "r_1", "test.add_numbers", `{"count":14}`)); f == nil || f.Failure != tool.MalformedResponse {
		t.Errorf("no structured output: %+v", f)
	}
}

func failed(_ string, _ tool.Outcome, err error) *tool.Failed {
	var f *tool.Failed
	if errors.As(err, &f) {
		return f
	}
	return nil
}

func TestErrorsAreClassified(t *testing.T) {
	t.Parallel()
	e := open(t, testBackend(t), Options{})
	for how, want := range map[string]tool.Failure{
		"MCP error -32602: Input validation error: Invalid arguments for tool fail: count": tool.PreconditionFailed,
		"Error: rate limit reached": tool.RateLimited,
		"no such file":              tool.VerificationFailed,
	} {
		f := failed(do(t.Context(), e, "r_1", "test.fail", `{"how":"`+how+`"}`))
		if f == nil || f.Failure != want || f.Dispatched == (want == tool.PreconditionFailed) || !strings.Contains(f.Message, how) {
			t.Errorf("%s: %+v", how, f)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if f := failed(do(ctx, e, "r_1", "test.hang", `{}`)); f == nil || f.Failure != tool.Timeout || !f.Dispatched {
		t.Errorf("%+v", f)
	}
}

// A server that dies during a call leaves the effect unknown, and is started again for the next one.
func TestDeadServerIsStartedAgain(t *testing.T) {
	t.Parallel()
	e := open(t, testBackend(t), Options{})
	first, _, err := do(t.Context(), e, "r_1", "test.env", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	f := failed(do(t.Context(), e, "r_1", "test.die", `{}`))
	if f == nil || f.Failure != tool.ToolUnavailable || !f.Dispatched || f.RetryAfter == 0 {
		t.Fatalf("%+v", f)
	}
	var second string
	for range 50 {
		var wait *tool.Failed
		if second, _, err = do(t.Context(), e, "r_1", "test.env", `{}`); err == nil {
			break
		}
		if !errors.As(err, &wait) || wait.Dispatched || wait.RetryAfter == 0 {
			t.Fatal(err)
		}
		time.Sleep(wait.RetryAfter) // as the planner's timer does
	}
	if pid(t, first) == pid(t, second) {
		t.Errorf("%s and %s", first, second)
	}
}

func pid(t *testing.T, result string) string {
	t.Helper()
	var r Result
	if err := json.Unmarshal([]byte(result), &r); err != nil {
		t.Fatalf("%s: %v", result, err)
	}
	id, _, _ := strings.Cut(r.Text, "\n")
	return id
}

func TestRunsHaveServersOfTheirOwnUnlessShared(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		b := testBackend(t)
		b.Shared = shared
		e := open(t, b, Options{})
		one, _, err1 := do(t.Context(), e, "r_1", "test.env", `{}`)
		two, _, err2 := do(t.Context(), e, "r_2", "test.env", `{}`)
		again, _, err3 := do(t.Context(), e, "r_1", "test.env", `{}`)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		if (pid(t, one) == pid(t, two)) != shared || pid(t, one) != pid(t, again) {
			t.Errorf("shared %v: %s %s %s", shared, pid(t, one), pid(t, two), pid(t, again))
		}
		if err := e.Close(t.Context(), "r_1"); err != nil {
			t.Error(err)
		}
		after, _, err := do(t.Context(), e, "r_1", "test.env", `{}`)
		if err != nil || (pid(t, after) == pid(t, one)) != shared {
			t.Errorf("shared %v, after the run's end: %v", shared, err)
		}
	}
}

func TestEnvironmentIsExplicit(t *testing.T) {
	t.Setenv("MCPCLIENT_SECRET", "not for servers")
	t.Setenv("MCPCLIENT_GIVEN", "for this one")
	b := testBackend(t)
	b.Env["TOKEN"] = "x-${MCPCLIENT_GIVEN}"
	b.Env["LITERAL"] = "$${MCPCLIENT_GIVEN} $$5"
	e := open(t, b, Options{})
	got, _, err := do(t.Context(), e, "r_1", "test.env", `{}`)
	if err != nil || strings.Contains(got, "MCPCLIENT_SECRET") || !strings.Contains(got, "TOKEN=x-for this one") || !strings.Contains(got, "LITERAL=${MCPCLIENT_GIVEN} $5") || !strings.Contains(got, "GIVEN=value") || !strings.Contains(got, "PATH=") {
		t.Errorf("%s %v", got, err)
	}
	b.Env["TOKEN"] = "${MCPCLIENT_MISSING}"
	if _, err := Open(t.Context(), "test", b, Options{}); err == nil || !strings.Contains(err.Error(), "the environment lacks MCPCLIENT_MISSING; $$ stands for") {
		t.Error(err)
	}
}

func TestQuestionsProgressAndPicturesArePassedOn(t *testing.T) {
	t.Parallel()
	told := make(chan string, 1)
	o := Options{
		Ask: func(_ context.Context, call, message string, _ any) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"name": call + message}}, nil
		},
		Progress:    func(call, message string, p, total float64) { told <- fmt.Sprint(call, message, p, total) },
		PutArtifact: func(_ context.Context, mediaType string, data []byte) (string, error) { return tool.Digest(data), nil },
	}
	e := open(t, testBackend(t), o)
	if got, _, err := do(t.Context(), e, "r_1", "test.ask", `{}`); err != nil || got != `{"text":"accept c_r_1Your name?"}` {
		t.Errorf("%s %v", got, err)
	}
	got, _, err := do(t.Context(), e, "r_1", "test.work", `{}`)
	if err != nil || got != `{"text":"done","images":["`+tool.Digest([]byte("PNG"))+`"]}` {
		t.Errorf("%s %v", got, err)
	}
	if p := <-told; p != "c_r_1half1 2" {
		t.Error(p)
	}
	silent := open(t, testBackend(t), Options{})
	if got, _, err := do(t.Context(), silent, "r_1", "test.ask", `{}`); err != nil || got != `{"text":"cancel \u003cnil\u003e"}` {
		t.Errorf("nobody to ask: %s %v", got, err)
	}
}

func TestToolsOfAServerThatIsDownAreKnown(t *testing.T) {
	t.Parallel()
	o := Options{StateDir: t.TempDir()}
	b := testBackend(t)
	down := b
	down.Env = map[string]string{"MCPCLIENT_TEST_SERVER": "broken"}
	if e := open(t, down, o); len(e.Specs()) > 0 {
		t.Fatal("a server of which nothing is known has tools")
	}
	open(t, b, o)
	e := open(t, down, o)
	if e.lookup("test.add_numbers") == nil {
		t.Fatal("nothing was remembered")
	}
	f := failed(do(t.Context(), e, "r_1", "test.add_numbers", `{"count":1}`))
	if f == nil || f.Failure != tool.ToolUnavailable || f.Dispatched || f.RetryAfter == 0 {
		t.Errorf("%+v", f)
	}
	if f = failed(do(t.Context(), e, "r_1", "test.add_numbers", `{"count":1}`)); f == nil || !strings.Contains(f.Message, "tried again in") {
		t.Errorf("without a wait: %+v", f)
	}
	if kept, err := filepath.Glob(filepath.Join(o.StateDir, "backends", "*.json")); err != nil || len(kept) != 1 {
		t.Error(kept, err)
	}
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	c, err := ReadConfig([]byte("other: {x: 1}\nbackends:\n  web:\n    command: [npx, server]\n    prefix: browser_\n    time_limit: 5s\n    effects: {\"browser_*\": reversible}\n  api: {url: \"https://example.com/mcp\", headers: {Authorization: \"Bearer ${TOKEN}\"}}\n"))
	if err != nil || len(c) != 2 || c["web"].TimeLimit != 5*time.Second || c["api"].URL == "" {
		t.Errorf("%+v %v", c, err)
	}
	for _, none := range []string{"other: 1", "other: {alow: [y]}", "", "# nothing\n"} {
		if c, err := ReadConfig([]byte(none)); c != nil || err != nil {
			t.Errorf("%q: %+v %v", none, c, err)
		}
	}
	for text, want := range map[string]string{
		"backends: {Web: {command: [x]}}":                         "lower case",
		"backends: {web: {}}":                                     "either command or url",
		"backends: {web: {command: [x], url: \"http://h\"}}":      "either command or url",
		"backends: {web: {url: \"ftp://h\"}}":                     "not an http",
		"backends: {web: {command: [x], alow: [y]}}":              "alow",
		"backends: {web: {command: [x], allow: [\"[\"]}}":         "not a pattern",
		"backends: {web: {command: [x], effects: {a: harmless}}}": "read_only",
		"backends: {web: {command: [x], time_limit: 10h}}":        "time_limit",
		"other: 1\n\nbackends:\n  web:\n    alow: [y]\n":          "line 5: field alow",
		"other: 1\nbackends:\n  web: {url: x}}\n":                 "read the configuration: line 3, column 16: ",
	} {
		if _, err := ReadConfig([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"browser_click": "browser_click", "addNumbers": "add_numbers", "get-sum": "get_sum", "a.b/c": "a_b_c", "é": "tool", "HTTPGet": "h_t_t_p_get"} {
		if got := nameOf(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// A server that is down is tried again until it is there; then its tools are, and whoever wants to know is told.
func TestToolsComeWhenTheServerDoes(t *testing.T) {
	t.Parallel()
	up := make(chan struct{})
	s := sdk.NewServer(&sdk.Implementation{Name: "late", Version: "1"}, nil)
	s.AddTool(&sdk.Tool{Name: "hello", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "hello"}}}, nil
		})
	serving := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	var tries atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-up:
			serving.ServeHTTP(w, r)
		default:
			tries.Add(1)
			http.Error(w, "starting", http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(srv.Close)
	changed := make(chan *Executor, 1)
	e := open(t, Backend{URL: srv.URL, Shared: true}, Options{Changed: func(e *Executor) { changed <- e }})
	if len(e.Specs()) > 0 || tries.Load() == 0 {
		t.Fatalf("%d tools, %d tries", len(e.Specs()), tries.Load())
	}
	close(up)
	select {
	case <-changed:
	case <-time.After(30 * time.Second):
		t.Fatal("its tools did not come")
	}
	if got, _, err := do(t.Context(), e, "r_1", "test.hello", `{}`); err != nil || got != `{"text":"hello"}` {
		t.Errorf("%s %v", got, err)
	}
	never := open(t, Backend{URL: "http://127.0.0.1:1/mcp"}, Options{})
	if err := never.Shutdown(t.Context()); err != nil { // ends the trying: the test would leave it behind
		t.Error(err)
	}
}

// A server that hangs at its start is not waited for: it is known by what it listed last, or by nothing, until it answers.
func TestLateServerDelaysNobody(t *testing.T) {
	t.Parallel()
	s := sdk.NewServer(&sdk.Implementation{Name: "late", Version: "1"}, nil)
	s.AddTool(&sdk.Tool{Name: "hello", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "hello"}}}, nil
		})
	serving := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	for round, dir := 1, t.TempDir(); round <= 2; round++ { // what was listed in the first is known in the second
		up := make(chan struct{})
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			<-up
			serving.ServeHTTP(w, r)
		}))
		t.Cleanup(srv.Close)
		changed := make(chan *Executor, 1)
		e := open(t, Backend{URL: srv.URL, Shared: true}, Options{Late: true, StateDir: dir, Changed: func(e *Executor) { changed <- e }})
		if got := len(e.Specs()); got != round-1 {
			t.Errorf("round %d: %d tools before it has answered", round, got)
		}
		select {
		case <-e.Tried():
			t.Errorf("round %d: it is told as tried, and hangs", round)
		default:
		}
		close(up)
		<-e.Tried()
		if round == 1 {
			<-changed
		}
		if got, _, err := do(t.Context(), e, "r_1", "test.hello", `{}`); err != nil || got != `{"text":"hello"}` {
			t.Errorf("round %d: %s %v", round, got, err)
		}
	}
	over := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	t.Cleanup(func() { close(over); hangs.Close() })
	never := open(t, Backend{URL: hangs.URL}, Options{Late: true})
	if err := never.Shutdown(t.Context()); err != nil { // although it is being tried
		t.Error(err)
	}
	<-never.Tried()
}

// A server that is not needed is not even asked, and is there when one of the tools that it listed before is called.
func TestAsleepUntilCalled(t *testing.T) {
	t.Parallel()
	s := sdk.NewServer(&sdk.Implementation{Name: "asleep", Version: "1"}, nil)
	s.AddTool(&sdk.Tool{Name: "hello", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "hello"}}}, nil
		})
	serving := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	var asked atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked.Add(1); serving.ServeHTTP(w, r) }))
	t.Cleanup(srv.Close)
	b, o := Backend{URL: srv.URL, Shared: true}, Options{StateDir: t.TempDir()}
	open(t, b, o) // which lists
	before := asked.Load()
	o.Asleep = true
	e := open(t, b, o)
	<-e.Tried()
	if len(e.Specs()) != 1 || asked.Load() != before {
		t.Errorf("%d tools, asked %d times", len(e.Specs()), asked.Load()-before)
	}
	if got, _, err := do(t.Context(), e, "r_1", "test.hello", `{}`); err != nil || got != `{"text":"hello"}` {
		t.Errorf("%s %v", got, err)
	}
}

// A check says what a server has, or why it has nothing, and leaves nothing behind.
func TestCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if n, err := Check(t.Context(), "test", testBackend(t), Options{StateDir: dir}); err != nil || n == 0 {
		t.Errorf("%d tools, %v", n, err)
	}
	if kept, err := os.ReadDir(dir); err != nil || len(kept) > 0 {
		t.Errorf("%v, %v", kept, err)
	}
	over := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	t.Cleanup(func() { close(over); hangs.Close() })
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if n, err := Check(short, "test", Backend{URL: hangs.URL}, Options{}); err == nil || n > 0 || !strings.Contains(err.Error(), "did not start in time") {
		t.Errorf("%d tools, %v", n, err)
	}
}
