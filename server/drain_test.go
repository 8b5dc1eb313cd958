package server

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"toolsvc/tool"
)

// A server that stops says so before anything else: it is not ready, new work is refused on every surface with the word that it can be sent
// again, and what is under way ends first.
func TestStoppingRefusesNewWork(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	mcp := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet { // a client that only listens
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	})
	w := start(t, Options{MCP: mcp, Caller: callerFunc(func(ctx context.Context, req tool.Request, lang string) (*tool.Result, error) {
		entered <- struct{}{}
		<-release
		return succeed(ctx, req, lang)
	})})
	under := make(chan error, 1)
	go func() {
		_, err := w.http.Call(t.Context(), callPayload("lamp.read", "{}"))
		under <- err
	}()
	<-entered
	listening := make(chan int, 1)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer res.Body.Close()
		n, _ := res.Body.Read(make([]byte, 1)) // until the server ends it
		listening <- n
	}()
	w.stop()
	w.log.find(t, func(l map[string]any) bool { return l["msg"] == "stopping" })

	for _, r := range []struct{ method, path, body string }{{"GET", "/readyz", ""}, {"POST", "/v1/tools/lamp.read", "{}"}, {"POST", "/v1/runs", "{}"}, {"POST", "/mcp", "{}"}} {
		a := w.do(t, r.method, r.path, strings.NewReader(r.body))
		if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" || !strings.Contains(string(a.body), "toolsvc is stopping") {
			t.Errorf("%s %s: %d %v %s", r.method, r.path, a.status, a.header, a.body)
		}
	}
	if a := w.do(t, "GET", "/healthz", nil); a.status != http.StatusOK {
		t.Errorf("the process is up: %d", a.status)
	}
	_, err = w.grpc.Call(t.Context(), callPayload("lamp.read", "{}"))
	if p := problemFrom(t, err); p.Code != kindStopping.code || p.RetryAfter == nil || !strings.Contains(p.Detail, "toolsvc is stopping") {
		t.Errorf("gRPC: %+v", p)
	}
	close(release)
	if err := <-under; err != nil {
		t.Errorf("what was under way ended with %v", err)
	}
	if n := <-listening; n != 0 {
		t.Errorf("%d bytes came", n)
	}
}
