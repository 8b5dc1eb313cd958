package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	runspb "toolsvc/gen/grpc/runs/pb"
	toolspb "toolsvc/gen/grpc/tools/pb"
	"toolsvc/planner"
	"toolsvc/server/auth"
	"toolsvc/tool"
)

const (
	callToken    = "token-of-the-agent-1"
	approveToken = "token-of-the-person-2"
	adminToken   = "token-of-the-admin-33"
)

func someTokens(t *testing.T) *auth.Tokens {
	t.Helper()
	tokens, err := auth.ParseBytes([]byte("agent call " + callToken + ";person approve " + approveToken + ";ops admin " + adminToken))
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func bearer(token string) func(*http.Request) {
	return func(r *http.Request) {
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
	}
}

// guarded is a server with tokens whose planner does everything that it is asked.
func guarded(t *testing.T) *world {
	state := &planner.State{RunID: "r_1", Language: "en", Questions: []tool.Question{{ID: "q_args", Kind: tool.AskArguments}, {ID: "a_1", Kind: tool.AskApproval}, {ID: "q_out", Kind: tool.AskOutcome}}}
	who := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, auth.From(r.Context()).Name) })
	w, st, _ := watching(t, Options{Tokens: someTokens(t), Page: who, Metrics: who, MCP: who, Caller: &scripted{
		call:  succeed,
		start: func(context.Context, planner.Input) error { return nil },
		state: func(context.Context, string) (*planner.State, error) { return state, nil },
		ended: func(context.Context, string) (bool, error) { return true, nil },
		list:  func(context.Context, int, bool) ([]planner.Summary, error) { return nil, nil },
		result: func(context.Context, string, string) (*tool.Result, error) {
			return &tool.Result{CallID: "c_1", Tool: "lamp.read"}, nil
		},
		control: func(context.Context, string, string) error { return nil },
		appendCalls: func(_ context.Context, _ string, reqs []tool.Request, _ string) ([]string, error) {
			return make([]string, len(reqs)), nil
		},
		answer:  func(context.Context, string, string, json.RawMessage, string) (*tool.Result, error) { return nil, nil },
		approve: func(context.Context, string, string, bool, string, string) (*tool.Result, error) { return nil, nil },
	}})
	if _, err := st.PutArtifact(t.Context(), "text/plain", []byte("x")); err != nil {
		t.Fatal(err)
	}
	return w
}

// What each token may do; everyone else is refused, everywhere.
func TestScopes(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	x := tool.Digest([]byte("x"))
	for _, c := range []struct {
		method, path, body   string
		agent, person, admin bool
	}{
		{"GET", "/v1/tools", "", true, true, true},
		{"GET", "/v1/tools/lamp.read", "", true, true, true},
		{"GET", "/openapi.json", "", true, true, true},
		{"POST", "/v1/tools/lamp.read", "{}", true, false, true},
		{"POST", "/v1/tools/lamp.read?approve=ask", "{}", true, false, true},
		{"POST", "/v1/tools/lamp.read?approve=allow", "{}", false, false, true},
		{"POST", "/v1/runs", "{}", true, false, true},
		{"POST", "/v1/runs", `{"policy":{"approve":"allow"}}`, false, false, true},
		{"GET", "/v1/runs", "", false, true, true},
		{"GET", "/v1/runs?waiting=true", "", false, true, true},
		{"GET", "/v1/runs/r_1", "", true, true, true},
		{"GET", "/v1/runs/r_1/events", "", true, true, true},
		{"GET", "/v1/runs/r_1/calls/c_1", "", true, true, true},
		{"POST", "/v1/runs/r_1/calls", `{"calls":[{"tool":"lamp.read"}]}`, true, false, true},
		{"POST", "/v1/runs/r_1/answers/q_args", "{}", true, true, true},
		{"POST", "/v1/runs/r_1/answers/a_1", `{"approved":true}`, false, true, true},
		{"POST", "/v1/runs/r_1/answers/q_out", `{"happened":false}`, false, true, true},
		{"POST", "/v1/runs/r_1/approvals/a_1", `{"approved":false}`, false, true, true},
		{"POST", "/v1/runs/r_1/pause", "", true, false, true},
		{"POST", "/v1/runs/r_1/resume", "", true, false, true},
		{"POST", "/v1/runs/r_1/cancel", "", true, false, true},
		{"GET", "/v1/artifacts/" + x, "", true, true, true},
		{"GET", "/", "", true, true, true},
		{"GET", "/runs/r_1", "", true, true, true},
		{"GET", "/metrics", "", true, true, true},
		{"POST", "/mcp", "{}", true, true, true},
	} {
		for token, ok := range map[string]bool{callToken: c.agent, approveToken: c.person, adminToken: c.admin} {
			a := w.do(t, c.method, c.path, strings.NewReader(c.body), bearer(token))
			if ok && a.status >= 300 {
				t.Errorf("%s %s with %q: %d %s", c.method, c.path, token, a.status, a.body)
			}
			if !ok {
				wantProblem(t, a, kindForbidden)
			}
		}
		for _, token := range []string{"", "token-of-nobody-at-all", callToken + "x", callToken[:len(callToken)-1]} {
			a := w.do(t, c.method, c.path, strings.NewReader(c.body), bearer(token))
			wantProblem(t, a, kindUnauthorized)
			if !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("%s: %v", c.path, a.header)
			}
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if a := w.do(t, "GET", path, nil); a.status != 200 {
			t.Errorf("%s takes a token: %d", path, a.status)
		}
	}
	if strings.Contains(w.log.all(), callToken) {
		t.Error("a token was logged")
	}
	w.log.find(t, func(l map[string]any) bool { return l["principal"] == "person" })
}

// A browser can be asked for a token, and sends it as a password.
func TestBrowsersAreAskedForAToken(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	for path, asked := range map[string]bool{"/": true, "/runs/r_1": true, "/v1/tools": false} {
		a := w.do(t, "GET", path, nil)
		if got := strings.Contains(fmt.Sprint(a.header.Values("Www-Authenticate")), "Basic"); got != asked {
			t.Errorf("%s: %v", path, a.header.Values("Www-Authenticate"))
		}
		if a := w.do(t, "GET", path, nil, func(r *http.Request) { r.SetBasicAuth("anyone", approveToken) }); a.status != 200 {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	wantProblem(t, w.do(t, "GET", "/", nil, func(r *http.Request) { r.SetBasicAuth(approveToken, "") }), kindUnauthorized)
}

func TestPrincipalReachesHandlers(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	for _, path := range []string{"/", "/mcp"} {
		if a := w.do(t, "GET", path, nil, bearer(approveToken)); string(a.body) != "person" {
			t.Errorf("%s knows %q: %d", path, a.body, a.status)
		}
	}
}

func TestTokensOverGRPC(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	call := func(token string) error {
		ctx := t.Context()
		if token != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
		}
		_, err := toolspb.NewToolsClient(w.conn).Call(ctx, &toolspb.CallRequest{Tool: "lamp.read"})
		return err
	}
	for token, want := range map[string]codes.Code{callToken: codes.OK, adminToken: codes.OK, approveToken: codes.PermissionDenied, "": codes.Unauthenticated, "wrong": codes.Unauthenticated} {
		if got := status.Code(call(token)); got != want {
			t.Errorf("%q: %v, want %v", token, got, want)
		}
	}
	stream, err := runspb.NewRunsClient(w.conn).Watch(t.Context(), &runspb.WatchRequest{Run: "r_1"})
	if err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.Unauthenticated {
		t.Errorf("a stream without a token: %v", err)
	}
	if _, err := healthpb.NewHealthClient(w.conn).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
		t.Errorf("health takes a token: %v", err)
	}
}

// The key of one principal is not that of another, and the principal is the author of answers.
func TestWhoAsksCounts(t *testing.T) {
	t.Parallel()
	keys, authors := make(chan string, 1), make(chan string, 1)
	w := start(t, Options{Tokens: someTokens(t), Caller: &scripted{
		call: func(ctx context.Context, req tool.Request, lang string) (*tool.Result, error) {
			keys <- req.IdempotencyKey
			return succeed(ctx, req, lang)
		},
		answer: func(_ context.Context, _, _ string, _ json.RawMessage, by string) (*tool.Result, error) {
			authors <- by
			return nil, nil
		}}})
	key := func(token string) string {
		w.do(t, "POST", "/v1/tools/lamp.read", strings.NewReader("{}"), bearer(token), func(r *http.Request) { r.Header.Set("Idempotency-Key", "one") })
		return <-keys
	}
	a, b, again := key(callToken), key(adminToken), key(callToken)
	if a == b || a != again || a == "" || a == "one" {
		t.Errorf("keys %q, %q and %q", a, b, again)
	}
	w.do(t, "POST", "/v1/runs/r_1/answers/q_1", strings.NewReader("{}"), bearer(approveToken))
	if by := <-authors; by != "person" {
		t.Errorf("answered by %q", by)
	}
}
