package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/tool"
)

// twoBackends is a configuration of a server that answers and one that never does.
func twoBackends(t *testing.T) *Common {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "good", Version: "1"}, nil)
	s.AddTool(&sdk.Tool{Name: "hello", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{}, nil
	})
	good := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(good.Close)
	over := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	t.Cleanup(func() { close(over); hangs.Close() })
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, fmt.Appendf(nil, "backends:\n  hangs: {url: %q, shared: true}\n  good: {url: %q, shared: true}\n", hangs.URL, good.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	return &Common{StateDir: t.TempDir(), Config: path}
}

// A server that hangs delays neither the others nor the start; what answers within the patience is there from the beginning.
func TestHangingBackendDelaysNobody(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	for name, needed := range map[string]func(string) bool{
		"a program that goes on":         nil,
		"a command that needs the other": func(name string) bool { return name == "good" },
	} {
		began := time.Now()
		b, err := twoBackends(t).openBackends(t.Context(), log, needed)
		if err != nil {
			t.Fatal(err)
		}
		if needed == nil {
			b.settle(t.Context())
		}
		sets := b.toolsets()
		if len(sets) != 2 || sets[0].Name != "good" || len(sets[0].Specs) != 1 || len(sets[1].Specs) != 0 {
			t.Errorf("%s: %+v", name, sets)
		}
		if _, err := b.registry(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		b.done(t.Context(), log)
		if took := time.Since(began); took > 15*time.Second { // half of what a server is given to start
			t.Errorf("%s: it took %s", name, took)
		}
	}
}

// A call waits for the server of its tool only, and for all when nobody knows whose tool it is.
func TestToolsetsOf(t *testing.T) {
	t.Parallel()
	common := twoBackends(t)
	for id, want := range map[tool.ID]string{"browser.click": "", "good.hello": "good", "hangs.x": "hangs", "goood.hello": "good hangs", "browser.clik": "good hangs"} {
		var got []string
		for _, name := range []string{"good", "hangs"} {
			if common.toolsetsOf(id)(name) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s needs %v, want %s", id, got, want)
		}
	}
}

func TestDoctorReachesBackends(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	found := backendFindings(ctx, twoBackends(t))
	if len(found) != 2 || !found[0].OK || found[0].Found != "good: 1 tools" || found[1].OK || !strings.HasPrefix(found[1].Found, "hangs: ") || found[1].Fix == "" {
		t.Errorf("%+v", found)
	}
}
