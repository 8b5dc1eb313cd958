package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
)

// TestAProgramOfOnesOwnIsAllOfToolsvc runs `orders tools` and finds on it what `toolsvc serve` has: the live page, the MCP endpoint with the
// shop's own tools, metrics, health, gRPC, and an end in good order.
func TestAProgramOfOnesOwnIsAllOfToolsvc(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	running, stop := context.WithCancel(ctx)
	defer stop()
	read, write := io.Pipe()
	dir := t.TempDir()
	c := &toolsCmd{database: database{DB: filepath.Join(dir, "orders.db")}, HTTP: "127.0.0.1:0", GRPC: "127.0.0.1:0", StateDir: filepath.Join(dir, "state"), out: write}
	ended := make(chan error, 1)
	go func() {
		err := c.Run(running)
		ended <- err
		write.CloseWithError(io.EOF) //nolint:errcheck // always nil
	}()
	at := map[string]string{}
	for lines := bufio.NewScanner(read); lines.Scan() && !strings.HasPrefix(lines.Text(), "Ready."); {
		if f := strings.Fields(lines.Text()); len(f) == 2 {
			at[f[0]] = f[1]
		}
	}
	go io.Copy(io.Discard, read) //nolint:errcheck // so that it never waits for a reader
	if at["Page"] == "" || at["HTTP"] == "" || at["gRPC"] == "" || at["MCP"] == "" || at["Temporal"] == "" {
		t.Fatalf("it says that it answers at %v; %v", at, <-ended)
	}
	get := func(url string) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(body)
	}
	if res, body := get(at["Page"]); res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") || !strings.Contains(body, "<html") {
		t.Errorf("the page: %d %v %.200s", res.StatusCode, res.Header, body)
	}
	for _, path := range []string{"/healthz", "/readyz", "/openapi.json", "/v1/tools/orders.upsert"} {
		if res, body := get(at["HTTP"] + path); res.StatusCode != 200 {
			t.Errorf("%s: %d %.200s", path, res.StatusCode, body)
		}
	}

	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: at["MCP"], MaxRetries: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	if !slices.Contains(names, "orders_upsert") || !slices.Contains(names, "browser_click") {
		t.Errorf("tools over MCP: %v", names)
	}
	res, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "orders_upsert",
		Arguments: json.RawMessage(`{"order":"H-1","customer":"Ada","lines":[{"sku":"LPV-0001","quantity":3,"cents":1000}]}`)})
	if err != nil || res.IsError {
		t.Fatalf("%v %+v", err, res)
	}
	if text, err := json.Marshal(res.StructuredContent); err != nil || !strings.Contains(string(text), `"verdict":"success"`) {
		t.Errorf("%s, %v", text, err)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	if res, body := get(at["HTTP"] + "/metrics"); res.StatusCode != 200 || !strings.Contains(body, `toolsvc_calls_total{failure="none",tool="orders.upsert",verdict="success"} 1`) {
		t.Errorf("the metrics do not count the call: %d %.500s", res.StatusCode, body)
	}

	conn, err := grpc.NewClient(at["gRPC"], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // the test is over
	if h, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{}); err != nil || h.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("%v %v", h, err)
	}
	if _, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(ctx); err != nil {
		t.Error(err)
	}

	stop()
	if err := <-ended; err != nil {
		t.Errorf("it did not end in good order: %v", err)
	}
}
