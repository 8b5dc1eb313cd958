package stack

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	toolspb "toolsvc/gen/grpc/tools/pb"
	"toolsvc/telemetry"
	"toolsvc/tool"
)

// A call is one trace, that of its caller, whichever surface it comes in by: each span of it leads over its parents to the caller's own, from
// the request through the run to what the browser did.
func TestOneTraceFromEverySurfaceToTheBrowser(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	spans := tracetest.NewInMemoryExporter()
	shown, err := telemetry.New(ctx, telemetry.Options{Spans: spans})
	if err != nil {
		t.Fatal(err)
	}
	at := serveAll(ctx, t, Options{StateDir: t.TempDir(), UIPort: -1, Ephemeral: true, NoVision: true, Telemetry: shown}, Surfaces{HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0"})
	address := func() string { return fmt.Sprintf("%s/c/twin?session=%s", site.URL, tool.NewRunID()) }
	payload := func() string { return fmt.Sprintf(`{"url":%q}`, address()) }
	// Each caller has a trace and a span of its own.
	const parent = "b7ad6b7169203331"
	traceOf := func(n int) string { return fmt.Sprintf("0af7651916cd43dd8448eb211c8031%02x", n) }
	named := func(n int) string { return "00-" + traceOf(n) + "-" + parent + "-01" }
	surfaces := []struct {
		name, first string // the span of the request
		call        func(traceparent string) (string, error)
	}{
		{"HTTP", "HTTP POST /v1/tools/{tool}", func(traceparent string) (string, error) {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, at["HTTP"]+"/v1/tools/browser.navigate", strings.NewReader(payload()))
			if err != nil {
				return "", err
			}
			r.Header.Set("traceparent", traceparent)
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				return "", err
			}
			defer res.Body.Close()
			text, err := io.ReadAll(res.Body)
			return string(text), err
		}},
		{"gRPC", "toolsvc.tools.v1.Tools/Call", func(traceparent string) (string, error) {
			conn, err := grpc.NewClient(at["gRPC"], grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				return "", err
			}
			defer conn.Close() //nolint:errcheck // it has answered
			res, err := toolspb.NewToolsClient(conn).Call(metadata.AppendToOutgoingContext(ctx, "traceparent", traceparent), &toolspb.CallRequest{Tool: "browser.navigate", Arguments: []byte(payload())})
			return fmt.Sprintf(`"verdict":"%s"`, res.GetResult().GetVerification().GetVerdict()), err
		}},
		{"MCP", "MCP tools/call", func(traceparent string) (string, error) {
			s, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, &sdk.StreamableClientTransport{Endpoint: at["MCP"], MaxRetries: -1}, nil)
			if err != nil {
				return "", err
			}
			defer s.Close() //nolint:errcheck // it has answered
			res, err := s.CallTool(ctx, &sdk.CallToolParams{Meta: sdk.Meta{"traceparent": traceparent}, Name: "browser_navigate", Arguments: json.RawMessage(payload())})
			if err != nil {
				return "", err
			}
			text, err := json.Marshal(res.StructuredContent)
			if err != nil {
				return "", err
			}
			var of struct {
				RunID string `json:"run_id"`
			}
			if err := json.Unmarshal(text, &of); err != nil {
				return "", err
			}
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, at["HTTP"]+"/v1/runs/"+of.RunID+"/cancel", nil) // the run of a session stays open, and its span
			if err != nil {
				return "", err
			}
			ended, err := http.DefaultClient.Do(r)
			if err != nil {
				return "", err
			}
			return string(text), ended.Body.Close()
		}},
	}
	for i, s := range surfaces {
		if text, err := s.call(named(i)); err != nil || !strings.Contains(text, `"verdict":"success"`) {
			t.Fatalf("%s: %v %s", s.name, err, text)
		}
	}
	for i, s := range surfaces {
		awaited := []string{s.first, "UpdateWithStartWorkflow:call", "StartActivity:Attempt", "RunActivity:Attempt", "attempt browser.navigate",
			"browser.begin", "browser.dispatch", "browser.settle", "browser.verify"}
		for _, why := range traced(ctx, spans, traceOf(i), parent, awaited) {
			t.Errorf("%s: %s", s.name, why)
		}
	}
}

// traced waits until the trace has spans of those names, and says what is wrong with it: each of them, and every span of the trace, leads over
// its parents to the given one.
func traced(ctx context.Context, spans *tracetest.InMemoryExporter, traceID, parent string, awaited []string) (wrong []string) {
	for {
		byID, names := map[string]tracetest.SpanStub{}, map[string]bool{}
		for _, sp := range spans.GetSpans() {
			if sp.SpanContext.TraceID().String() == traceID {
				byID[sp.SpanContext.SpanID().String()], names[sp.Name] = sp, true
			}
		}
		wrong = nil
		for _, name := range awaited {
			if !names[name] {
				wrong = append(wrong, "there is no span "+name)
			}
		}
		for _, sp := range byID {
			for id := sp.Parent.SpanID().String(); id != parent; {
				up, ok := byID[id]
				if !ok {
					wrong = append(wrong, fmt.Sprintf("the span %s does not lead to the caller's: its ancestor %s is not in the trace", sp.Name, id))
					break
				}
				id = up.Parent.SpanID().String()
			}
		}
		if len(wrong) == 0 || ctx.Err() != nil {
			return wrong
		}
		select { // a span is there when it has ended: some do after the answer
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// serveAll serves until the test ends, and returns where what answers, by the names in Serve's own words.
func serveAll(ctx context.Context, t *testing.T, o Options, at Surfaces) map[string]string {
	t.Helper()
	running, stop := context.WithCancel(ctx)
	read, write := io.Pipe()
	at.Out = write
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(running, o, at)
		write.Close() //nolint:errcheck // always nil
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	where := map[string]string{}
	for lines := bufio.NewScanner(read); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "Ready.") {
			go io.Copy(io.Discard, read) //nolint:errcheck // so that it never waits for a reader
			return where
		}
		if f := strings.Fields(lines.Text()); len(f) == 2 {
			where[f[0]] = f[1]
		}
	}
	t.Fatal("it ended before it was ready")
	return nil
}
