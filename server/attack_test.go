package server

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"toolsvc/tool"
)

// everyRoute are the routes of the HTTP surface: those of its own description, and those that are mounted beside them.
func everyRoute(t *testing.T, w *world) map[string][]string {
	t.Helper()
	routes := map[string][]string{"/": {"GET"}, "/runs/r_1": {"GET"}, "/assets/main.js": {"GET"}, "/metrics": {"GET"}, "/mcp": {"GET", "POST", "DELETE"}, "/openapi.json": {"GET"}}
	var doc struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(w.do(t, "GET", "/openapi.json", nil, bearer(adminToken)).body, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Paths) < 10 {
		t.Fatalf("only %d paths are described", len(doc.Paths))
	}
	fill := strings.NewReplacer("{tool}", "lamp.read", "{run}", "r_1", "{call}", "c_1", "{question}", "q_args", "{approval}", "a_1", "{digest}", "sha256:"+strings.Repeat("0", 64))
	for path, methods := range doc.Paths {
		for m := range methods {
			p := fill.Replace(path)
			routes[p] = append(routes[p], strings.ToUpper(m))
		}
	}
	return routes
}

// Every route takes a token, found by the description itself, so that a route that is added without one fails here; so does what is no
// route, and what looks like one of the two that take none.
func TestAttackEveryRouteTakesAToken(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	open := map[string]bool{"/healthz": true, "/readyz": true}
	routes := everyRoute(t, w)
	for _, p := range []string{"/nothing", "/healthz/", "/healthz/x", "/readyz/../v1/tools", "//healthz", "/healthz%2f..%2fv1%2ftools", "/HEALTHZ", "/v1/tools/healthz", "/debug/pprof/", "/.git/config"} {
		routes[p] = []string{"GET", "POST"}
	}
	for path, methods := range routes {
		for _, m := range append(methods, "PUT", "PATCH", "OPTIONS", "TRACE") {
			if a := w.do(t, m, path, strings.NewReader("{}")); !open[path] && a.status != http.StatusUnauthorized {
				t.Errorf("%s %s without a token: %d %s", m, path, a.status, a.body)
			}
		}
	}
}

// Every gRPC method takes a token, found by the server's own list; but its health.
func TestAttackEveryMethodTakesAToken(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	tried := 0
	for name, info := range w.GRPCServer().GetServiceInfo() {
		for _, m := range info.Methods {
			ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer token-of-nobody-at-all"), 20*time.Second)
			s, err := w.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/"+name+"/"+m.Name, grpc.ForceCodec(raw{}))
			if err == nil {
				if err = s.SendMsg([]byte{}); err == nil {
					_ = s.CloseSend()
					err = s.RecvMsg(new([]byte))
				}
			}
			cancel()
			if name == "grpc.health.v1.Health" {
				continue
			}
			tried++
			if status.Code(err) != codes.Unauthenticated {
				t.Errorf("%s/%s: %v", name, m.Name, err)
			}
		}
	}
	if tried < 12 {
		t.Errorf("only %d methods were tried", tried)
	}
}

// raw is a codec of bytes as they are.
type raw struct{}

func (raw) Name() string                       { return "proto" }
func (raw) Marshal(v any) ([]byte, error)      { return v.([]byte), nil }
func (raw) Unmarshal(data []byte, v any) error { *v.(*[]byte) = bytes.Clone(data); return nil }

// A foreign name that resolves to this machine (DNS rebinding), and a foreign page, get nothing on any route, whatever token comes along.
func TestAttackForeignHostAndOriginOnEveryRoute(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	for path, methods := range everyRoute(t, w) {
		for _, m := range methods {
			for _, host := range []string{"evil.test", "127.0.0.1.evil.test", "localhost.evil.test:7070", "169.254.169.254", "0.0.0.0", "[::ffff:10.0.0.1]"} {
				a := w.do(t, m, path, strings.NewReader("{}"), bearer(adminToken), func(r *http.Request) { r.Host = host })
				if a.status != kindForeignHost.status || !bytes.Contains(a.body, []byte(kindForeignHost.code)) {
					t.Errorf("%s %s for the host %s: %d %s", m, path, host, a.status, a.body)
				}
			}
			if m == "GET" || m == "HEAD" {
				continue // what only reads is kept from foreign pages by the browser: no answer allows them to see it
			}
			for _, h := range []http.Header{{"Origin": {"https://evil.test"}}, {"Origin": {"null"}}, {"Sec-Fetch-Site": {"cross-site"}}, {"Sec-Fetch-Site": {"same-site"}, "Origin": {"http://127.0.0.1:1"}}} {
				a := w.do(t, m, path, strings.NewReader("{}"), bearer(adminToken), func(r *http.Request) {
					for k, v := range h {
						r.Header[k] = v
					}
				})
				if a.status != kindCrossOrigin.status || a.header.Get("Access-Control-Allow-Origin") != "" {
					t.Errorf("%s %s with %v: %d %s", m, path, h, a.status, a.body)
				}
			}
		}
	}
}

// Requests that try to cost more than they are: each is refused, quickly, and the server answers the next one.
func TestAttackBombs(t *testing.T) {
	t.Parallel()
	w := guarded(t)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	for range 64 { // 64 MiB of zeros in 64 KiB
		if _, err := z.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		body   []byte
		header string
	}{
		"a large body":      {bytes.Repeat([]byte{' '}, tool.MaxPayload+spareMessage+1), ""},
		"a zipped body":     {zipped.Bytes(), "gzip"},
		"a zip of a zip":    {zipped.Bytes(), "gzip, gzip"},
		"an unknown coding": {[]byte("{}"), "br"},
	} {
		for _, path := range []string{"/v1/tools/lamp.read", "/v1/runs", "/v1/runs/r_1/calls", "/v1/runs/r_1/answers/q_args", "/v1/runs/r_1/approvals/a_1"} {
			a := w.do(t, "POST", path, bytes.NewReader(c.body), bearer(adminToken), func(r *http.Request) {
				if c.header != "" {
					r.Header.Set("Content-Encoding", c.header)
				}
			})
			if a.status != http.StatusRequestEntityTooLarge && a.status != http.StatusUnsupportedMediaType && a.status != http.StatusBadRequest {
				t.Errorf("%s to %s: %d %s", what, path, a.status, clip(string(a.body)))
			}
		}
	}
	for what, body := range map[string]string{
		"deep arrays":  strings.Repeat("[", 500_000),
		"deep objects": strings.Repeat(`{"a":`, 100_000),
		"many fields":  "{" + strings.TrimSuffix(strings.Repeat(`"a":1,`, 100_000), ",") + "}",
	} {
		for _, path := range []string{"/v1/runs", "/v1/runs/r_1/calls", "/v1/runs/r_1/approvals/a_1"} {
			began := time.Now()
			a := w.do(t, "POST", path, strings.NewReader(body), bearer(adminToken))
			if a.status < 400 || a.status >= 500 || len(a.body) > 64<<10 {
				t.Errorf("%s to %s: %d, %d bytes", what, path, a.status, len(a.body))
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("%s to %s took %s", what, path, took)
			}
		}
	}
	c, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()                                                                                                                  //nolint:errcheck // of no interest
	_, _ = fmt.Fprintf(c, "GET /v1/tools HTTP/1.1\r\nHost: localhost\r\nX-Large: %s\r\n\r\n", strings.Repeat("x", 2*maxHeaderBytes)) // it may be cut before its end
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err == nil {
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("large headers: %d", resp.StatusCode)
		}
	}
	if a := w.do(t, "GET", "/v1/tools", nil, bearer(adminToken)); a.status != http.StatusOK {
		t.Errorf("afterwards: %d", a.status)
	}
}
