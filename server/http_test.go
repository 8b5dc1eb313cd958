package server

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"toolsvc/tool"
)

func TestWhatIsNotThere(t *testing.T) {
	t.Parallel()
	w := start(t, Options{})
	cases := []struct {
		method, path string
		kind         kind
		allow, says  string
	}{
		{"GET", "/", kindNotFound, "", "/openapi.json"},
		{"GET", "/v1/tool", kindNotFound, "", "There is nothing at /v1/tool."},
		{"GET", "/v1/tools/", kindNotFound, "", ""},
		{"DELETE", "/v1/tools", kindMethodNotAllowed, "GET, HEAD", "DELETE does not work here; GET or HEAD does."},
		{"PUT", "/v1/tools/lamp.read", kindMethodNotAllowed, "GET, HEAD, POST", "GET, HEAD or POST"},
		{"GET", "/v1/tools/lamp.rad", kindUnknownTool, "", "Is lamp.read meant?"},
	}
	for _, c := range cases {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			a := w.do(t, c.method, c.path, nil)
			p := wantProblem(t, a, c.kind)
			if !strings.Contains(p["detail"].(string), c.says) || a.header.Get("Allow") != c.allow {
				t.Errorf("detail %q, allow %q", p["detail"], a.header.Get("Allow"))
			}
		})
	}
}

// A payload that is too large is refused without being read: at once when its length is announced, soon after the bound when not.
func TestLargePayloads(t *testing.T) {
	t.Parallel()
	w := start(t, Options{Caller: callerFunc(func(context.Context, tool.Request, string) (*tool.Result, error) {
		t.Error("a payload that is too large was passed on")
		return nil, nil
	})})
	t.Run("announced", func(t *testing.T) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(conn, "POST /v1/tools/lamp.read HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", 5<<20); err != nil { // and not one byte of it
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		p := wantProblem(t, answer{resp.StatusCode, resp.Header, body}, kindPayloadTooLarge)
		if d := p["detail"].(string); !strings.Contains(d, "1048576 bytes; this one has 5242880") || !resp.Close {
			t.Errorf("detail %q, close %v", d, resp.Close)
		}
	})
	t.Run("not announced", func(t *testing.T) {
		body := &endless{limit: 256 << 20}
		a := w.do(t, "POST", "/v1/tools/lamp.read", body)
		wantProblem(t, a, kindPayloadTooLarge)
		if read := body.read.Load(); read > 32<<20 { // what socket buffers hold, and no more
			t.Errorf("%d bytes were taken from the client", read)
		}
	})
	t.Run("one byte too many", func(t *testing.T) {
		wantProblem(t, w.do(t, "POST", "/v1/tools/lamp.read", bytes.NewReader(make([]byte, tool.MaxPayload+1))), kindPayloadTooLarge)
	})
}

func TestTheLargestPayloadIsTaken(t *testing.T) {
	t.Parallel()
	w := start(t, Options{})
	largest := `"` + strings.Repeat("x", tool.MaxPayload-2) + `"`
	for name, body := range map[string]io.Reader{"announced": strings.NewReader(largest), "not announced": io.MultiReader(strings.NewReader(largest))} {
		if a := w.do(t, "POST", "/v1/tools/lamp.read", body); a.status != 200 || a.json(t)["result"] != strings.Trim(largest, `"`) {
			t.Errorf("%s: status %d", name, a.status)
		}
	}
}

// endless is a body without an end that was announced; it counts what was taken.
type endless struct {
	limit int64
	read  atomic.Int64
}

func (e *endless) Read(p []byte) (int, error) {
	if e.read.Add(int64(len(p))) > e.limit {
		return 0, io.EOF
	}
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestSlowAndBrokenBodies(t *testing.T) {
	t.Parallel()
	const limit = 100 * time.Millisecond
	w := start(t, Options{Caller: callerFunc(func(ctx context.Context, req tool.Request, lang string) (*tool.Result, error) {
		select { // a call may take longer than its body might have
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(3 * limit):
			return succeed(ctx, req, lang)
		}
	})}, func(s *Server) { s.bodyTimeout = limit })
	send := func(t *testing.T, thenClose bool) answer {
		conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "POST /v1/tools/lamp.read HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"half\""); err != nil {
			t.Fatal(err)
		}
		if thenClose {
			if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer{resp.StatusCode, resp.Header, body}
	}
	t.Run("slow", func(t *testing.T) {
		t.Parallel()
		wantProblem(t, send(t, false), kindBodyTimeout)
	})
	t.Run("broken off", func(t *testing.T) {
		t.Parallel()
		wantProblem(t, send(t, true), kindBrokenBody)
	})
	t.Run("whole, and a long call", func(t *testing.T) {
		t.Parallel()
		if a := w.do(t, "POST", "/v1/tools/lamp.read", strings.NewReader("{}")); a.status != 200 {
			t.Errorf("status %d: %s", a.status, a.body)
		}
	})
}

func TestEncodedBody(t *testing.T) {
	t.Parallel()
	w := start(t, Options{})
	encoded := func(how string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Content-Encoding", how) }
	}
	p := wantProblem(t, w.do(t, "POST", "/v1/tools/lamp.read", strings.NewReader("{}"), encoded("gzip")), kindEncodedBody)
	if !strings.Contains(p["detail"].(string), `"gzip"`) {
		t.Errorf("detail %q", p["detail"])
	}
	if a := w.do(t, "POST", "/v1/tools/lamp.read", strings.NewReader("{}"), encoded("identity")); a.status != 200 {
		t.Errorf("status %d", a.status)
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	w := start(t, Options{AllowedHosts: []string{"Tools.Example", "other.example:8443"}})
	for host, ok := range map[string]bool{
		"localhost": true, "LOCALHOST:80": true, "127.0.0.1": true, "127.8.8.8:1": true, "[::1]": true, "[::1]:8080": true, "localhost.": true,
		"tools.example": true, "tools.example:443": true, "TOOLS.example.": true, "other.example": true,
		"evil.example": false, "evil.example:80": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false, "192.168.0.1": false,
		"0.0.0.0": false, "[::]": false, "x.tools.example": false, "[::ffff:10.0.0.1]": false, "2130706433": false,
	} {
		for _, path := range []string{"/v1/tools", "/healthz", "/openapi.json", "/nothing"} {
			a := w.do(t, "GET", path, nil, func(r *http.Request) { r.Host = host })
			if got := a.status != http.StatusForbidden; got != ok {
				t.Errorf("%s with host %q: status %d", path, host, a.status)
			}
			if !ok {
				wantProblem(t, a, kindForeignHost)
			}
		}
	}
}

func TestForeignPagesCannotCall(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	w := start(t, Options{Caller: callerFunc(func(ctx context.Context, req tool.Request, lang string) (*tool.Result, error) {
		calls.Add(1)
		return succeed(ctx, req, lang)
	})})
	own := w.url
	cases := []struct {
		header, value string
		ok            bool
	}{
		{"Origin", "http://evil.example", false},
		{"Origin", "null", false},
		{"Sec-Fetch-Site", "cross-site", false},
		{"Sec-Fetch-Site", "same-site", false},
		{"Sec-Fetch-Site", "same-origin", true},
		{"Origin", own, true},
		{"User-Agent", "curl/8", true},
	}
	want := int32(0)
	for _, c := range cases {
		a := w.do(t, "POST", "/v1/tools/lamp.read", strings.NewReader("{}"), func(r *http.Request) { r.Header.Set(c.header, c.value) })
		if c.ok {
			want++
			if a.status != 200 {
				t.Errorf("%s: %s: status %d", c.header, c.value, a.status)
			}
			continue
		}
		wantProblem(t, a, kindCrossOrigin)
	}
	if calls.Load() != want {
		t.Errorf("%d calls were made, want %d", calls.Load(), want)
	}
}

func TestEveryAnswerIsGuarded(t *testing.T) {
	t.Parallel()
	w := start(t, Options{})
	for _, path := range []string{"/v1/tools", "/openapi.json", "/healthz", "/readyz", "/nothing"} {
		h := w.do(t, "GET", path, nil).header
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" || h.Get("X-Request-Id") == "" || h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %v", path, h)
		}
	}
}

// One line a request tells an operator what was asked and what came of it, and nothing of the payload.
func TestRequestsAreLogged(t *testing.T) {
	t.Parallel()
	w := start(t, Options{})
	a := w.do(t, "POST", "/v1/tools/lamp.read?run=r_secretrun", strings.NewReader(`{"password":"hunter2"}`))
	l := w.log.find(t, func(l map[string]any) bool {
		return l["msg"] == "http request" && l["request_id"] == a.header.Get("X-Request-Id")
	})
	for k, want := range map[string]any{"method": "POST", "path": "/v1/tools/lamp.read", "status": 200.0, "tool": "lamp.read", "call_id": a.json(t)["call_id"],
		"run_id": "r_test", "outcome": "called", "ok": true, "bytes": float64(len(a.body)), "level": "INFO"} {
		if l[k] != want {
			t.Errorf("%s is %v in the log, want %v", k, l[k], want)
		}
	}
	if _, err := w.grpc.Call(t.Context(), callPayload("lamp.read", `{"password":"hunter2"}`)); err != nil {
		t.Fatal(err)
	}
	l = w.log.find(t, func(l map[string]any) bool { return l["msg"] == "grpc request" })
	for k, want := range map[string]any{"method": "/toolsvc.tools.v1.Tools/Call", "code": "OK", "tool": "lamp.read", "outcome": "called", "level": "INFO"} {
		if l[k] != want {
			t.Errorf("%s is %v in the log, want %v", k, l[k], want)
		}
	}
	if strings.Contains(w.log.all(), "hunter2") {
		t.Error("a payload was logged")
	}
}

func TestAListenerThatFailsEndsServe(t *testing.T) {
	t.Parallel()
	s, err := New(Options{Caller: callerFunc(succeed), Registry: smallRegistry(t)})
	if err != nil {
		t.Fatal(err)
	}
	dead := listen(t)
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(t.Context(), dead, listen(t)); err == nil || !strings.Contains(err.Error(), "serve HTTP on 127.0.0.1") {
		t.Errorf("Serve ended with %v", err)
	}
}

func TestNewRejectsBadOptions(t *testing.T) {
	t.Parallel()
	reg := smallRegistry(t)
	broken, err := tool.NewRegistry([]*tool.Spec{{ID: "a.b", PayloadSchema: []byte("{")}})
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{
		"no caller": {Registry: reg}, "no registry": {Caller: callerFunc(succeed)}, "negative bound": {Caller: callerFunc(succeed), Registry: reg, MaxConcurrent: -1},
		"a schema that is no JSON": {Caller: callerFunc(succeed), Registry: broken},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
