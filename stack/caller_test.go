package stack

//lint:file-ignore SA1019 Sampling is deprecated since MCP 2026-07-28, with nothing in its place; until it is gone, it is how a client offers its model.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/planner"
	"toolsvc/server"
	"toolsvc/server/auth"
	"toolsvc/server/mcp"
	"toolsvc/tool"
)

// lateCaller is the model of the clients of a surface that is made after the stack.
type lateCaller struct{ *mcp.Surface }

// Offers implements CallerModel before there is a surface, too.
func (l *lateCaller) Offers(callID string) bool { return l.Surface != nil && l.Surface.Offers(callID) }

// callers is a toolsvc without a model of its own, with tokens, over HTTP.
type callers struct {
	stack *Stack
	url   string
}

func serveCallers(t *testing.T) callers {
	t.Helper()
	for _, name := range []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"} {
		t.Setenv(name, "")
	}
	dir, late := t.TempDir(), &lateCaller{}
	s, err := Open(t.Context(), Options{StateDir: filepath.Join(dir, "state"), Ephemeral: true, UIPort: -1, MaxSessions: 16, Caller: late})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	tokens, err := auth.ParseBytes([]byte("alice call alice-0123456789abcdef\nbob call bob-0123456789abcdef\n"))
	if err != nil {
		t.Fatal(err)
	}
	late.Surface, err = mcp.New(mcp.Options{Service: auth.Guard(s.Service), Registry: s.Service.Registry, Events: s.Store, Artifacts: s.Store, Key: bytes.Repeat([]byte{7}, 32),
		Policy: tool.Policy{Verify: tool.VerifyAlways}, TaskAfter: 50 * time.Millisecond,
		Extend: func(srv *sdk.Server, _ *mcp.Surface) {
			srv.AddReceivingMiddleware(auth.MCPMiddleware(auth.Principal{}))
		}})
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(server.Options{Caller: s.Service, Registry: s.Service.Registry, Events: s.Store, Artifacts: s.Store, MCP: late.Handler(), Tokens: tokens, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, l, nil) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return callers{s, "http://" + l.Addr().String() + "/mcp"}
}

// bearer adds a token to requests.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b != "" {
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

func (c callers) connect(t *testing.T, token, version string, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	cs, err := c.dial(t, token, version, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close() })
	return cs
}

func (c callers) dial(t *testing.T, token, version string, o *sdk.ClientOptions) (*sdk.ClientSession, error) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return sdk.NewClient(&sdk.Implementation{Name: "test-client", Version: "1"}, o).Connect(ctx,
		&sdk.StreamableClientTransport{Endpoint: c.url, HTTPClient: &http.Client{Transport: bearer(token)}}, &sdk.ClientSessionOptions{ProtocolVersion: version})
}

func do(t *testing.T, cs *sdk.ClientSession, name string, args map[string]any) *tool.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	res, err := cs.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
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

// thinker is a client's own model: it knows what the three kinds of questions ask for, and refuses when told to.
type thinker struct {
	mu     sync.Mutex
	asked  []string
	refuse bool
}

func (m *thinker) options() *sdk.ClientOptions {
	return &sdk.ClientOptions{CreateMessageHandler: func(_ context.Context, r *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
		kind, answer := m.think(r.Params)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.asked = append(m.asked, kind)
		if m.refuse {
			return nil, errors.New("the user does not want that")
		}
		return &sdk.CreateMessageResult{Model: "their-model-1", Role: "assistant", StopReason: "endTurn", Content: &sdk.TextContent{Text: "Here you are:\n```json\n" + answer + "\n```"}}, nil
	}}
}

func (m *thinker) think(p *sdk.CreateMessageParams) (kind, answer string) {
	switch {
	case strings.Contains(p.SystemPrompt, "You correct the JSON payload"):
		return "repair", `{"target":{"name":"Play","role":"button"}}`
	case strings.Contains(p.SystemPrompt, "You judge whether an action"):
		return "verify", `{"changes":"it says so","expectation_met":true,"verdict":"success","confidence":0.9,"explanation":"The record plays."}`
	case strings.Contains(p.SystemPrompt, "You find things in screenshots"):
		return "see", seen(p)
	}
	return "other", "{}"
}

// seen finds the blue button in the picture.
func seen(p *sdk.CreateMessageParams) string {
	for _, msg := range p.Messages {
		picture, ok := msg.Content.(*sdk.ImageContent)
		if !ok {
			continue
		}
		found, err := blueBoxes(picture.Data)
		if err != nil {
			return err.Error()
		}
		return found
	}
	return `{"candidates":[]}`
}

func (m *thinker) was(kind string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, k := range m.asked {
		if k == kind {
			n++
		}
	}
	return n
}

// What a caller's own model is good for, and how callers are kept apart, on real parts: clients of both eras, over HTTP, with tokens.
func TestCallers(t *testing.T) {
	c := serveCallers(t)
	const alice, bob = "alice-0123456789abcdef", "bob-0123456789abcdef"
	page := func(path string) map[string]any { return map[string]any{"url": site.URL + path} }
	wrong := map[string]any{"target": "the Play button"} // what is meant is clear, and no rule corrects it
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run("model/"+version, func(t *testing.T) {
			m := &thinker{}
			cs := c.connect(t, alice, version, m.options())
			if r := do(t, cs, "browser_navigate", page("/c/twin?only=1&v="+version)); !r.OK() {
				t.Fatalf("%+v", r.Error)
			}
			r := do(t, cs, "browser_click", wrong)
			if m.was("repair") != 1 || len(r.Repairs) == 0 || r.Repairs[0].Tier != "model" || r.Telemetry.Model != "their-model-1" {
				t.Errorf("asked %v, repairs %+v, telemetry %+v, error %+v", m.asked, r.Repairs, r.Telemetry, r.Error)
			}
			if r := do(t, cs, "browser_navigate", page("/c/canvas?silent=1&v="+version)); !r.OK() {
				t.Fatalf("%+v", r.Error)
			}
			m.asked = nil
			r = do(t, cs, "browser_click", map[string]any{"target": map[string]any{"description": "the blue button below the title, for " + version}, "intent": "Play the record."})
			if !r.OK() || m.was("see") == 0 || m.was("verify") != 1 || r.Verification.Opinion == nil || r.Verification.Opinion.Model != "their-model-1" || r.Telemetry.InputTokens == 0 {
				t.Errorf("asked %v, %+v, verification %+v, telemetry %+v", m.asked, r.Error, r.Verification, r.Telemetry)
			}
			if last := r.Attempts[len(r.Attempts)-1]; last.Source != tool.SourceVision {
				t.Errorf("attempts %+v", r.Attempts)
			}
		})
	}
	t.Run("a refusal is like no model", func(t *testing.T) {
		m := &thinker{refuse: true}
		cs := c.connect(t, alice, "2025-11-25", m.options())
		if r := do(t, cs, "browser_navigate", page("/c/twin?only=1")); !r.OK() || r.Verification.Opinion != nil || m.was("verify") != 1 {
			t.Errorf("asked %v, %+v %+v", m.asked, r.Error, r.Verification)
		}
		if r := do(t, cs, "browser_click", wrong); m.was("repair") != 1 || r.Error == nil || r.Error.Code != tool.InvalidArguments || r.RetryHint.Reason() != tool.ReasonInvalidArguments {
			t.Errorf("asked %v, %+v", m.asked, r)
		}
	})
	t.Run("without a model nobody is asked", func(t *testing.T) {
		cs := c.connect(t, alice, "2025-11-25", nil)
		r := do(t, cs, "browser_click", wrong)
		if r.Error == nil || r.Error.Code != tool.InvalidArguments || r.RunLink != nil {
			t.Errorf("%+v", r)
		}
	})
	t.Run("a cancelled call leaves its run", func(t *testing.T) {
		cs := c.connect(t, alice, "2025-11-25", nil)
		opened := do(t, cs, "browser_navigate", page("/c/twin"))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := cs.CallTool(ctx, &sdk.CallToolParams{Name: "browser_wait_for", Arguments: map[string]any{"text": "what never comes", "timeout_ms": 100_000}})
			done <- err
		}()
		var st *planner.State
		for st == nil || len(st.Steps) < 2 || st.Steps[1].Status != planner.StatusRunning {
			var err error
			if st, err = c.stack.Service.State(t.Context(), opened.RunID); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		res, err := c.stack.Service.Result(t.Context(), opened.RunID, st.Steps[1].CallID)
		if err != nil || res.Error == nil || res.Error.Code != tool.Cancelled || time.Since(began) > 20*time.Second {
			t.Errorf("%v, %+v after %s", err, res, time.Since(began))
		}
		if r := do(t, cs, "browser_read", map[string]any{}); !r.OK() || r.RunID != opened.RunID {
			t.Errorf("the run does not go on: %+v", r)
		}
	})
	t.Run("who has no token gets nothing", func(t *testing.T) {
		for _, token := range []string{"", "mallory-0123456789abcdef"} {
			if cs, err := c.dial(t, token, "2025-11-25", nil); err == nil {
				_ = cs.Close()
				t.Errorf("the token %q lets somebody in", token)
			}
		}
	})
	for version, named := range map[string][]map[string]any{"2025-11-25": {{}, {"run": "shop"}}, "2026-07-28": {{}}} {
		t.Run("users are kept apart/"+version, func(t *testing.T) {
			runs := map[string]string{}
			for _, token := range []string{alice, bob} {
				cs := c.connect(t, token, version, nil)
				for _, args := range named {
					r := do(t, cs, "browser_navigate", merged(page("/c/twin"), args))
					if !r.OK() || runs[r.RunID] != "" {
						t.Errorf("run %s is that of %s, %+v", r.RunID, runs[r.RunID], r.Error)
					}
					runs[r.RunID] = token
				}
				// A name that a client chose is its user's own.
				res, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "run_get", Arguments: map[string]any{"run": "shop"}})
				if err != nil || res.IsError {
					t.Fatalf("%v %+v", err, res)
				}
			}
		})
	}
	t.Run("tasks belong to their user", func(t *testing.T) {
		id := c.task(t, alice)
		if status, _ := c.ask(t, alice, "tasks/get", id); status != "working" {
			t.Errorf("the user's own task is %q", status)
		}
		for _, method := range []string{"tasks/get", "tasks/cancel"} {
			if status, code := c.ask(t, bob, method, id); code != -32602 {
				t.Errorf("%s of another user's task: %q %v", method, status, code)
			}
		}
		if _, code := c.ask(t, alice, "tasks/cancel", id); code != 0 {
			t.Errorf("the task cannot be cancelled: %v", code)
		}
		for status := ""; status != "cancelled"; {
			if status, _ = c.ask(t, alice, "tasks/get", id); status != "working" && status != "cancelled" {
				t.Fatalf("the cancelled task is %q", status)
			}
		}
	})
}

func merged(a, b map[string]any) map[string]any {
	maps.Copy(a, b)
	return a
}

// wire sends a request of the era without sessions by a client that takes tasks.
func (c callers) wire(t *testing.T, token, method, name, params string) map[string]any {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`, method, params)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name} {
		req.Header.Set(k, v)
	}
	res, err := (&http.Client{Transport: bearer(token)}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	var text bytes.Buffer
	if _, err := text.ReadFrom(res.Body); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		var answer map[string]any
		if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &answer) == nil && (answer["result"] != nil || answer["error"] != nil) {
			return answer
		}
	}
	t.Fatalf("%s: %s %s", method, res.Status, &text)
	return nil
}

func (c callers) task(t *testing.T, token string) string {
	t.Helper()
	made, _ := c.wire(t, token, "tools/call", "browser_wait_for", `"name":"browser_wait_for","arguments":{"text":"what never comes","timeout_ms":100000}`)["result"].(map[string]any)
	id, _ := made["taskId"].(string)
	if id == "" {
		t.Fatalf("no task: %v", made)
	}
	return id
}

func (c callers) ask(t *testing.T, token, method, id string) (status string, code float64) {
	t.Helper()
	a := c.wire(t, token, method, id, fmt.Sprintf(`"taskId":%q`, id))
	if e, ok := a["error"].(map[string]any); ok {
		code, _ = e["code"].(float64)
	}
	if r, ok := a["result"].(map[string]any); ok {
		status, _ = r["status"].(string)
	}
	return status, code
}
