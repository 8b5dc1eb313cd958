package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/tool"
)

// guarded is an MCP server over HTTP that lets in who has the token of the day, and an authorization server that gives it out.
type guarded struct {
	*httptest.Server
	server *sdk.Server

	mu     sync.Mutex
	token  string
	issued int
	asked  []string
}

func newGuarded(t *testing.T, token string) *guarded {
	t.Helper()
	g := &guarded{token: token, server: sdk.NewServer(&sdk.Implementation{Name: "guarded", Version: "1"}, nil)}
	g.add("one")
	mcp := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return g.server }, nil)
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		ok := r.Header.Get("Authorization") == "Bearer "+g.token
		g.mu.Unlock()
		if !ok {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		mcp.ServeHTTP(w, r)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		id, password, _ := r.BasicAuth()
		if err := r.ParseForm(); err != nil || id+password == "" {
			id, password = r.FormValue("client_id"), r.FormValue("client_secret")
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.asked = append(g.asked, fmt.Sprint(r.FormValue("grant_type"), " ", id, " ", password, " ", r.FormValue("scope")))
		g.issued++
		g.token = fmt.Sprint("issued-", g.issued)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":3600}`, g.token) //nolint:errcheck // the client has gone
	})
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.Replace(g.URL, "127.0.0.1", "localhost", 1)+"/mcp", http.StatusTemporaryRedirect)
	})
	g.Server = httptest.NewServer(mux)
	t.Cleanup(g.Close)
	return g
}

func (g *guarded) add(name string) {
	g.server.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: name}}}, nil
	})
}

func opened(t *testing.T, b Backend, o Options) (*Executor, error) {
	t.Helper()
	e, err := Open(t.Context(), "guarded", b, o)
	if err == nil {
		t.Cleanup(func() { _ = e.Shutdown(context.Background()) })
	}
	return e, err
}

// unusable is why a server cannot be used, or not yet; "" when it can.
func unusable(t *testing.T, b Backend) string {
	t.Helper()
	var log bytes.Buffer
	e, err := opened(t, b, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		return err.Error()
	}
	if err := e.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if len(e.Specs()) > 0 {
		return ""
	}
	return log.String()
}

func TestBearerFromTheEnvironment(t *testing.T) {
	g := newGuarded(t, "right")
	t.Setenv("GUARDED_TOKEN", "right")
	t.Setenv("WRONG_TOKEN", "wrong")
	for name, want := range map[string]string{"GUARDED_TOKEN": "", "WRONG_TOKEN": "Unauthorized", "NO_TOKEN": "the environment lacks NO_TOKEN"} {
		why := unusable(t, Backend{URL: g.URL + "/mcp", BearerEnv: name})
		if want == "" && why != "" || !strings.Contains(why, want) {
			t.Errorf("%s: %s", name, why)
		}
		if strings.Contains(why, "wrong") {
			t.Errorf("what is said holds the secret: %s", why)
		}
	}
	if why := unusable(t, Backend{URL: g.URL + "/moved", BearerEnv: "GUARDED_TOKEN"}); !strings.Contains(why, "not followed") {
		t.Errorf("the secret was sent to another host: %s", why)
	}
}

// Tokens are had by client credentials, used again, and had anew when the server refuses them.
func TestClientCredentials(t *testing.T) {
	g := newGuarded(t, "nobody has it")
	t.Setenv("GUARDED_SECRET", "s3cret")
	e, err := opened(t, Backend{URL: g.URL + "/mcp", OAuth: &OAuth{ClientID: "toolsvc", ClientSecretEnv: "GUARDED_SECRET", TokenURL: g.URL + "/token", Scopes: []string{"tools"}}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := "client_credentials toolsvc s3cret tools"; len(g.asked) != 1 || g.asked[0] != want {
		t.Errorf("asked for %q", g.asked)
	}
	session, err := e.connection("r_1").get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	g.token = "revoked"
	g.mu.Unlock()
	if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "one"}); err != nil || g.issued != 3 {
		t.Errorf("%v after %d tokens", err, g.issued)
	}
}

func TestAuthIsChecked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{b: {url: "https://x.example/mcp", bearer_env: A, oauth: {client_id: a, client_secret_env: B}}}`:             "exclude each other",
		`{b: {url: "http://x.example/mcp", bearer_env: A}}`:                                                           "in the clear",
		`{b: {url: "http://x.example/mcp", headers: {authorization: "Bearer x"}}}`:                                    "in the clear",
		`{b: {command: [x], bearer_env: A}}`:                                                                          "for a server with a url",
		`{b: {url: "https://x.example/mcp", oauth: {client_id: a}}}`:                                                  "needs client_id and client_secret_env",
		`{b: {url: "https://x.example/mcp", oauth: {client_id: a, client_secret_env: B, token_url: "http://y.z/t"}}}`: "is not an https address",
		`{b: {url: "https://x.example/mcp", oauth: {client_id: a, client_secret_env: B}}}`:                            "",
		`{b: {url: "http://127.0.0.1:1/mcp", bearer_env: A}}`:                                                         "",
	} {
		_, err := ReadConfig([]byte("backends: " + text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A server that lists other tools from now on is believed, and whoever wants to know is told.
func TestListChanged(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, "")
	g.token = "t"
	changed := make(chan []tool.ID, 10)
	e, err := opened(t, Backend{URL: g.URL + "/mcp", Headers: map[string]string{"Authorization": "Bearer t"}, Shared: true}, Options{Changed: func(e *Executor) {
		var ids []tool.ID
		for _, s := range e.Specs() {
			ids = append(ids, s.ID)
		}
		slices.Sort(ids)
		changed <- ids
	}})
	if err != nil {
		t.Fatal(err)
	}
	g.add("two")
	select {
	case ids := <-changed:
		if !slices.Equal(ids, []tool.ID{"guarded.one", "guarded.two"}) || e.ServerName("guarded.two") != "two" {
			t.Errorf("%v", ids)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("nobody was told")
	}
}
