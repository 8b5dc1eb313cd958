package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	toolspb "toolsvc/gen/grpc/tools/pb"
	"toolsvc/gen/tools"
	"toolsvc/planner"
	"toolsvc/tool"
)

func TestCallReachesTheCallerAsItCame(t *testing.T) {
	t.Parallel()
	type seen struct {
		req  tool.Request
		lang string
	}
	got := make(chan seen, 1)
	w := start(t, Options{Caller: callerFunc(func(ctx context.Context, req tool.Request, lang string) (*tool.Result, error) {
		got <- seen{req, lang}
		return succeed(ctx, req, lang)
	})})
	const broken = "{\"what\": <&> \xff oops"
	str := func(s string) *string { return &s }

	t.Run("http", func(t *testing.T) {
		a := w.do(t, "POST", "/v1/tools/lamp.switch?run=r_Mine-1&lang=ko", strings.NewReader(broken), func(r *http.Request) {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded") // what curl -d sends
			r.Header.Set("Accept", "application/xml, */*;q=0.1")
			r.Header.Set("Accept-Language", "ja")
		})
		s := <-got
		if string(s.req.Arguments) != broken || s.req.Tool != "lamp.switch" || s.req.RunID != "r_Mine-1" || s.lang != "ko" || s.req.IdempotencyKey != "" {
			t.Errorf("the caller got %+v", s)
		}
		if !strings.HasPrefix(s.req.CallID, "c_") {
			t.Errorf("call id %q", s.req.CallID)
		}
		wantProblem(t, a, kindInternal) // the fake's result is no JSON, which must not reach the client as half an answer
	})
	t.Run("http, no body, Accept-Language", func(t *testing.T) {
		a := w.do(t, "POST", "/v1/tools/lamp.switch", nil, func(r *http.Request) { r.Header.Set("Accept-Language", "fr;q=0.4, ja-JP") })
		s := <-got
		if len(s.req.Arguments) != 0 || s.req.RunID != "" || s.lang != "ja" {
			t.Errorf("the caller got %+v", s)
		}
		if a.status != 200 || a.header.Get("Content-Type") != "application/json" || a.header.Get("Toolsvc-Outcome") != "called" {
			t.Errorf("answer %d %v", a.status, a.header)
		}
	})
	t.Run("grpc", func(t *testing.T) {
		_, err := toolspb.NewToolsClient(w.conn).Call(metadata.AppendToOutgoingContext(t.Context(), "accept-language", "ko"),
			&toolspb.CallRequest{Tool: "lamp.switch", Arguments: []byte(`{"what":"on"}`), Run: str("r_x")})
		if err != nil {
			t.Fatal(err)
		}
		if s := <-got; string(s.req.Arguments) != `{"what":"on"}` || s.req.Tool != "lamp.switch" || s.req.RunID != "r_x" || s.lang != "ko" {
			t.Errorf("the caller got %+v", s)
		}
	})
	t.Run("grpc, no arguments", func(t *testing.T) {
		if _, err := toolspb.NewToolsClient(w.conn).Call(t.Context(), &toolspb.CallRequest{Tool: "lamp.switch", Lang: str("de")}); err != nil {
			t.Fatal(err)
		}
		if s := <-got; len(s.req.Arguments) != 0 || s.lang != "en" {
			t.Errorf("the caller got %+v", s)
		}
	})
}

func TestCallEndsInAResult(t *testing.T) {
	t.Parallel()
	link := &tool.RunLink{WorkflowID: "r_1"}
	cases := map[string]struct {
		result  tool.Result
		outcome string
		status  int
	}{
		"success": {tool.Result{Result: json.RawMessage(`{}`), RunLink: link}, "called", 200},
		"failure": {tool.Result{Error: tool.NewError(tool.VerificationFailed, "no"), RunLink: link}, "called", 200},
		"invalid": {tool.Result{Error: tool.NewError(tool.InvalidArguments, "no")}, "rejected", 422},
		"missing": {tool.Result{Error: tool.NewError(tool.MissingFields, "no")}, "rejected", 422},
		"invalid for a worker, after it was accepted": {tool.Result{Error: tool.NewError(tool.InvalidArguments, "no"), RunLink: link}, "called", 200},
		"invalid in an attempt": {tool.Result{Error: tool.NewError(tool.InvalidArguments, "no"),
			Attempts: []tool.AttemptRecord{{Number: 1, Source: tool.SourceAX, Phase: tool.PhaseStarted, Effect: tool.EffectNone}}}, "called", 200},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, Options{Caller: callerFunc(func(_ context.Context, req tool.Request, _ string) (*tool.Result, error) {
				r := c.result
				r.CallID, r.Tool = req.CallID, req.Tool
				return &r, nil
			})})
			if a := w.do(t, "POST", "/v1/tools/lamp.read", strings.NewReader("{}")); a.status != c.status || a.json(t)["tool"] != "lamp.read" {
				t.Errorf("status %d, want %d: %s", a.status, c.status, a.body)
			}
			for transport, client := range w.clients() {
				res, err := client.Call(t.Context(), callPayload("lamp.read", "{}"))
				if err != nil {
					t.Fatalf("%s: %v", transport, err)
				}
				if res.Outcome != c.outcome || res.Result.Tool != "lamp.read" {
					t.Errorf("%s: outcome %s of %+v, want %s", transport, res.Outcome, res.Result, c.outcome)
				}
			}
		})
	}
}

// Every error of the planner is refused with the same code and text on both transports, and its own text stays inside.
func TestRefusals(t *testing.T) {
	t.Parallel()
	const secret = "dial tcp 10.1.2.3:7233: connect: connection refused"
	cases := map[string]struct {
		err  error
		kind kind
		code codes.Code
		says string
	}{
		"unknown tool":            {&planner.UnknownToolError{Tool: "lamp.swich", Nearest: []tool.ID{"lamp.switch", "lamp.read"}}, kindUnknownTool, codes.NotFound, "Is lamp.switch or lamp.read meant?"},
		"unknown tool, none near": {&planner.UnknownToolError{Tool: "x"}, kindUnknownTool, codes.NotFound, `There is no tool "x".`},
		"unknown run":             {fmt.Errorf("%w: %s", planner.ErrUnknownRun, secret), kindUnknownRun, codes.NotFound, `There is no run "r_a"`},
		"run ended":               {planner.ErrRunEnded, kindRunEnded, codes.FailedPrecondition, "Name another run, or none."},
		"run full":                {planner.ErrRunFull, kindRunFull, codes.ResourceExhausted, "wait until some have ended"},
		"unavailable":             {fmt.Errorf("%w: %s", planner.ErrUnavailable, secret), kindUnavailable, codes.Unavailable, "Nothing was accepted"},
		"no room":                 {fmt.Errorf("%w: %s", planner.ErrNoRoom, secret), kindNoRoom, codes.Unavailable, "disk that keeps the runs is full"},
		"the disk became full":    {&planner.FilledError{RunID: "r_own", Cause: errors.New(secret)}, kindInterrupted, codes.Aborted, `not known: look at the run "r_own" before asking again`},
		"Temporal was lost":       {fmt.Errorf("%w: %s", planner.ErrInterrupted, secret), kindInterrupted, codes.Aborted, `not known: look at the run "r_a" before asking again`},
		"any other":               {errors.New(secret), kindInternal, codes.Internal, "look at the state before calling again"},
		"nothing at all":          {nil, kindInternal, codes.Internal, "look at the state before calling again"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, Options{Caller: callerFunc(func(context.Context, tool.Request, string) (*tool.Result, error) { return nil, c.err })})
			a := w.do(t, "POST", "/v1/tools/lamp.switch?run=r_a", strings.NewReader("{}"))
			p := wantProblem(t, a, c.kind)
			detail := p["detail"].(string)
			if !strings.Contains(detail, c.says) {
				t.Errorf("detail %q does not say %q", detail, c.says)
			}
			if bytes.Contains(a.body, []byte("10.1.2.3")) {
				t.Errorf("the text of a Go error leaked: %s", a.body)
			}
			run := "r_a"
			for transport, client := range w.clients() {
				_, err := client.Call(t.Context(), &tools.CallPayload{Tool: "lamp.switch", Arguments: json.RawMessage("{}"), Run: &run})
				got := problemFrom(t, err)
				if got.Code != c.kind.code || got.Detail != detail || got.Status != c.kind.status || (got.RetryAfter != nil) != (c.kind.retryAfter > 0) {
					t.Errorf("%s: problem %+v, want that of HTTP: %s", transport, got, a.body)
				}
				if len(got.Nearest) != len(nearestOf(c.err)) {
					t.Errorf("%s: nearest %v", transport, got.Nearest)
				}
			}
			_, err := toolspb.NewToolsClient(w.conn).Call(t.Context(), &toolspb.CallRequest{Tool: "lamp.switch", Run: &run})
			if st := status.Convert(err); st.Code() != c.code || st.Message() != detail {
				t.Errorf("status %v, want %v with the detail as its message", st, c.code)
			}
		})
	}
}

func nearestOf(err error) []tool.ID {
	var u *planner.UnknownToolError
	if errors.As(err, &u) {
		return u.Nearest
	}
	return nil
}

// A fault is told to the operator under the id that the client was given.
func TestFaultIsInTheLog(t *testing.T) {
	t.Parallel()
	w := start(t, Options{Caller: callerFunc(func(context.Context, tool.Request, string) (*tool.Result, error) { return nil, errors.New("disk full") })})
	id := w.do(t, "POST", "/v1/tools/lamp.switch", strings.NewReader("{}")).header.Get("X-Request-Id")
	w.log.find(t, func(l map[string]any) bool {
		return l["level"] == "ERROR" && l["error"] == "disk full" && l["request_id"] == id
	})
}

func TestParametersAreChecked(t *testing.T) {
	t.Parallel()
	w := start(t, Options{Caller: callerFunc(func(context.Context, tool.Request, string) (*tool.Result, error) {
		t.Error("a call with a wrong parameter was made")
		return nil, nil
	})})
	cases := map[string]struct {
		query string
		req   *toolspb.CallRequest
		says  string
	}{
		"run":     {"run=mine", &toolspb.CallRequest{Tool: "lamp.read", Run: ptr("mine")}, `run must be "r_"`},
		"lang":    {"lang=" + strings.Repeat("x", 36), &toolspb.CallRequest{Tool: "lamp.read", Lang: ptr(strings.Repeat("x", 36))}, "lang must be a language tag"},
		"repair":  {"repair=all", &toolspb.CallRequest{Tool: "lamp.read", Repair: ptr("all")}, "repair must be none, syntax"},
		"approve": {"approve=yes", &toolspb.CallRequest{Tool: "lamp.read", Approve: ptr("yes")}, "approve must be ask"},
		"both":    {"run=mine&lang=" + strings.Repeat("x", 36), &toolspb.CallRequest{Tool: "lamp.read", Run: ptr("mine"), Lang: ptr(strings.Repeat("x", 36))}, "hyphens. lang must"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := wantProblem(t, w.do(t, "POST", "/v1/tools/lamp.read?"+c.query, strings.NewReader("{}")), kindInvalidParameter)
			if !strings.Contains(p["detail"].(string), c.says) {
				t.Errorf("detail %q does not say %q", p["detail"], c.says)
			}
			_, err := toolspb.NewToolsClient(w.conn).Call(t.Context(), c.req)
			if st := status.Convert(err); st.Code() != codes.InvalidArgument || st.Message() != p["detail"] {
				t.Errorf("gRPC says %v", st)
			}
		})
	}
}

func ptr(s string) *string { return &s }

func TestCallsAtOnceAreBounded(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	w := start(t, Options{MaxConcurrent: 2, Caller: callerFunc(func(ctx context.Context, req tool.Request, lang string) (*tool.Result, error) {
		entered <- struct{}{}
		<-release
		return succeed(ctx, req, lang)
	})})
	ended := make(chan error, 2)
	for _, client := range w.clients() { // the two transports share the bound
		go func() {
			_, err := client.Call(context.WithoutCancel(t.Context()), callPayload("lamp.read", "{}"))
			ended <- err
		}()
		<-entered
	}
	wantProblem(t, w.do(t, "POST", "/v1/tools/lamp.read", strings.NewReader("{}")), kindTooManyCalls)
	_, err := w.grpc.Call(t.Context(), callPayload("lamp.read", "{}"))
	if p := problemFrom(t, err); p.Code != kindTooManyCalls.code || p.RetryAfter == nil || *p.RetryAfter != 1 {
		t.Errorf("problem %+v", p)
	}
	if a := w.do(t, "GET", "/healthz", nil); a.status != 200 {
		t.Errorf("health does not answer when calls are many: %d", a.status)
	}
	close(release)
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	go func() { <-entered }()
	if a := w.do(t, "POST", "/v1/tools/lamp.read", strings.NewReader("{}")); a.status != 200 {
		t.Errorf("a place was not given back: %d %s", a.status, a.body)
	}
}

// A client that goes away is waited for no longer, and gives its place back.
func TestClientGoesAway(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{}, 1)
	w := start(t, Options{MaxConcurrent: 1, Caller: callerFunc(func(ctx context.Context, req tool.Request, lang string) (*tool.Result, error) {
		if len(req.Arguments) > 2 {
			return succeed(ctx, req, lang)
		}
		entered <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})})
	for transport, client := range w.clients() {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := client.Call(ctx, callPayload("lamp.read", "{}"))
			ended <- err
		}()
		<-entered
		cancel()
		if err := <-ended; err == nil {
			t.Errorf("%s: a cancelled call has a result", transport)
		}
		await(t, "the place of the client that has gone", func() bool {
			_, err := client.Call(t.Context(), callPayload("lamp.read", `{"what":"on"}`))
			return err == nil
		})
	}
	w.log.find(t, func(l map[string]any) bool {
		return l["msg"] == "http request" && l["status"] == float64(statusClientGone)
	})
	w.log.find(t, func(l map[string]any) bool { return l["msg"] == "grpc request" && l["code"] == "Canceled" })
}

func TestPanicsAreRecovered(t *testing.T) {
	t.Parallel()
	w := start(t, Options{Caller: callerFunc(func(context.Context, tool.Request, string) (*tool.Result, error) { panic("boom") })})
	a := w.do(t, "POST", "/v1/tools/lamp.read", strings.NewReader("{}"))
	p := wantProblem(t, a, kindInternal)
	if bytes.Contains(a.body, []byte("boom")) || !strings.Contains(p["detail"].(string), "look at the state") {
		t.Errorf("detail %q", p["detail"])
	}
	w.log.find(t, func(l map[string]any) bool {
		return l["panic"] == "boom" && l["request_id"] == p["request_id"] && strings.Contains(fmt.Sprint(l["stack"]), "call_test.go")
	})
	_, err := w.grpc.Call(t.Context(), callPayload("lamp.read", "{}"))
	if p := problemFrom(t, err); p.Code != kindInternal.code || !strings.Contains(p.Detail, "look at the state") {
		t.Errorf("problem %+v", p)
	}
	if a := w.do(t, "GET", "/v1/tools", nil); a.status != 200 {
		t.Errorf("the server does not go on: %d", a.status)
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	t.Run("waits for calls", func(t *testing.T) {
		t.Parallel()
		entered, release := make(chan struct{}), make(chan struct{})
		w := start(t, Options{Caller: callerFunc(func(ctx context.Context, req tool.Request, lang string) (*tool.Result, error) {
			entered <- struct{}{}
			<-release
			return succeed(ctx, req, lang)
		})})
		ended := make(chan error, 2)
		for _, client := range w.clients() {
			go func() {
				_, err := client.Call(t.Context(), callPayload("lamp.read", "{}"))
				ended <- err
			}()
			<-entered
		}
		w.stop()
		w.log.find(t, func(l map[string]any) bool { return l["msg"] == "stopping" })
		close(release)
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("tells those who still wait that their call goes on", func(t *testing.T) {
		t.Parallel()
		entered := make(chan struct{})
		w := start(t, Options{Caller: callerFunc(func(ctx context.Context, _ tool.Request, _ string) (*tool.Result, error) {
			entered <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		})}, func(s *Server) { s.grace = 20 * time.Millisecond })
		type ending struct {
			res *tools.CallResult
			err error
		}
		ended := make(chan ending, 2)
		for _, client := range w.clients() {
			go func() {
				res, err := client.Call(t.Context(), callPayload("lamp.read", "{}"))
				ended <- ending{res, err}
			}()
			<-entered
		}
		w.stop()
		for range 2 {
			e := <-ended
			if e.err != nil {
				t.Fatal(e.err)
			}
			if e.res.Outcome != "called" || *e.res.Result.Error.Code != string(tool.OutcomeUnknown) || e.res.Result.RetryHint.Reason != string(tool.ReasonOutcomeUnknown) {
				t.Errorf("result %+v", e.res.Result)
			}
		}
	})
}
