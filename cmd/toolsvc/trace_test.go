package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"toolsvc/bench/gym"
	"toolsvc/tool"
)

// receiver takes spans as an OpenTelemetry collector does: by OTLP over HTTP.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*tracepb.Span
}

func receive(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		var in collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &in)
		}
		if err != nil || q.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", q.URL.Path, err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, of := range in.GetResourceSpans() {
			for _, s := range of.GetScopeSpans() {
				r.spans = append(r.spans, s.GetSpans()...)
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(r.Close)
	return r
}

// wrong says what is wrong with a trace: each of those names is there, and every span of it leads over its parents to the given one.
func (r *receiver) wrong(traceID, parent string, awaited []string) (out []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	byID, names := map[string]*tracepb.Span{}, map[string]bool{}
	for _, s := range r.spans {
		if hex.EncodeToString(s.GetTraceId()) == traceID {
			byID[hex.EncodeToString(s.GetSpanId())], names[s.GetName()] = s, true
		}
	}
	for _, name := range awaited {
		if !names[name] {
			out = append(out, "there is no span "+name)
		}
	}
	for _, s := range byID {
		for id := hex.EncodeToString(s.GetParentSpanId()); id != parent; {
			up := byID[id]
			if up == nil {
				out = append(out, fmt.Sprintf("the span %s does not lead to the caller's: its ancestor %s is not in the trace", s.GetName(), id))
				break
			}
			id = hex.EncodeToString(up.GetParentSpanId())
		}
	}
	return out
}

// Commands belong to the trace that TRACEPARENT names, and calls over MCP to that of their _meta, from there to what the browser did; what a
// short-lived process has traced is sent before it ends.
func TestCommandsAreTraced(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes with a Temporal and a browser each; not with -short")
	}
	t.Parallel()
	site, err := gym.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = site.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute) // longer than this function: its parts run after it
	t.Cleanup(cancel)
	address := func() string { return fmt.Sprintf("%s/c/twin?session=%s", site.URL, tool.NewRunID()) }
	plan := write(t, "plan.yaml", "steps:\n  - tool: browser.navigate\n    args: {url: '"+address()+"'}\n")
	const parent = "b7ad6b7169203331"
	action := []string{"StartActivity:Attempt", "RunActivity:Attempt", "attempt browser.navigate", "browser.begin", "browser.dispatch", "browser.settle", "browser.verify"}
	for i, c := range []struct {
		first string
		args  []string
	}{
		{"toolsvc call", []string{"call", "browser.navigate", fmt.Sprintf(`{"url":%q}`, address())}},
		{"toolsvc run", []string{"run", plan}},
		{"MCP tools/call", []string{"mcp"}},
	} {
		t.Run(c.args[0], func(t *testing.T) {
			t.Parallel()
			spans := receive(t)
			traceID := fmt.Sprintf("0af7651916cd43dd8448eb211c8032%02x", i)
			traceparent := "00-" + traceID + "-" + parent + "-01"
			cmd := program(ctx, t, t.TempDir(), c.args...)
			cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+spans.URL)
			if c.args[0] != "mcp" {
				cmd.Env = append(cmd.Env, "TRACEPARENT="+traceparent)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			} else {
				cmd.Env = append(cmd.Env, "TRACEPARENT=00-"+strings.Repeat("e", 32)+"-"+parent+"-01") // of the process, not of the call
				s, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, &sdk.CommandTransport{Command: cmd, TerminateDuration: time.Minute}, nil)
				if err != nil {
					t.Fatal(err)
				}
				res, err := s.CallTool(ctx, &sdk.CallToolParams{Meta: sdk.Meta{"traceparent": traceparent}, Name: "browser_navigate", Arguments: json.RawMessage(fmt.Sprintf(`{"url":%q}`, address()))})
				if err != nil || res.IsError {
					t.Fatalf("%v %+v", err, res)
				}
				text, err := json.Marshal(res.StructuredContent)
				if err != nil {
					t.Fatal(err)
				}
				var of tool.Result
				if err := json.Unmarshal(text, &of); err != nil {
					t.Fatal(err)
				}
				if res, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "run_cancel", Arguments: map[string]any{"run": of.RunID}}); err != nil || res.IsError { // its run stays open otherwise, and the run's span
					t.Fatalf("%v %+v", err, res)
				}
				for over := false; !over; { // and ends a moment later
					res, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "run_get", Arguments: map[string]any{"run": of.RunID}})
					if err != nil {
						t.Fatal(err)
					}
					text, err := json.Marshal(res.StructuredContent)
					if err != nil {
						t.Fatal(err)
					}
					over = strings.Contains(string(text), `"outcome":"cancelled"`)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			for _, why := range spans.wrong(traceID, parent, append([]string{c.first}, action...)) {
				t.Error(why)
			}
		})
	}
}
