package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"toolsvc/gen/runs"
	"toolsvc/narration"
	"toolsvc/planner"
	"toolsvc/store"
)

// sse is one server-sent event.
type sse struct{ id, kind, data string }

// eventStream reads server-sent events as they come.
type eventStream struct {
	status int
	header http.Header
	body   io.ReadCloser
	lines  *bufio.Reader
}

func (w *world) eventStream(t *testing.T, path string, change ...func(*http.Request)) *eventStream {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", w.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(req)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return &eventStream{resp.StatusCode, resp.Header, resp.Body, bufio.NewReader(resp.Body)}
}

// next returns the next event; ok is false at the end of the stream. A comment is an event of the kind ":".
func (s *eventStream) next(t *testing.T) (e sse, ok bool) {
	t.Helper()
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return e, false
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "id":
			e.id = value
		case "event":
			e.kind = value
		case "data":
			e.data = value
		case ":", "":
			if strings.HasPrefix(line, ":") {
				return sse{kind: ":"}, true
			}
			if e.kind != "" {
				return e, true
			}
		}
	}
}

// tell appends events of narration to a run, with line breaks in them.
func tell(t *testing.T, st *store.Store, run string, keys ...string) {
	t.Helper()
	var es []store.Event
	for _, k := range keys {
		data, err := json.Marshal(narration.Event{RunID: run, Text: k + "\nand\r\nmore", At: someTime})
		if err != nil {
			t.Fatal(err)
		}
		es = append(es, store.Event{Kind: store.KindNarration, Key: k, Data: data, At: someTime})
	}
	if _, err := st.AppendEvents(t.Context(), run, es); err != nil {
		t.Fatal(err)
	}
}

// end appends the event that ends a run.
func end(t *testing.T, st *store.Store, run string) {
	t.Helper()
	data, err := json.Marshal(planner.RunChange{RunID: run, Outcome: planner.OutcomeSucceeded})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.AppendEvents(t.Context(), run, []store.Event{{Kind: store.KindRun, Key: "run/end", Data: data, At: someTime}}); err != nil {
		t.Fatal(err)
	}
}

// watching is a server over a real store, whose runs go on until over is set.
func watching(t *testing.T, o Options, change ...func(*Server)) (w *world, st *counted, over *atomic.Bool) {
	t.Helper()
	st, over = &counted{Store: openStore(t)}, &atomic.Bool{}
	o.Events, o.Artifacts = st, st
	if o.Caller == nil {
		o.Caller = &scripted{ended: func(_ context.Context, run string) (bool, error) {
			if run == "r_none" {
				return false, planner.ErrUnknownRun
			}
			return over.Load(), nil
		}}
	}
	return start(t, o, change...), st, over
}

func TestEventsComeOnceAndInOrder(t *testing.T) {
	t.Parallel()
	w, st, _ := watching(t, Options{})
	tell(t, st.Store, "r_1", "a", "b")
	s := w.eventStream(t, "/v1/runs/r_1/events")
	if s.status != 200 || s.header.Get("Content-Type") != "text/event-stream" || s.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("answer %d %v", s.status, s.header)
	}
	expect := func(s *eventStream, id, key string) {
		t.Helper()
		e, ok := s.next(t)
		var n narration.Event
		if err := json.Unmarshal([]byte(e.data), &n); !ok || err != nil || e.id != id || e.kind != "narration" || fmt.Sprint(n.ID) != id || n.Text != key+"\nand\r\nmore" {
			t.Fatalf("event %+v (%v, %v), want %s with the id %s", e, ok, err, key, id)
		}
	}
	expect(s, "1", "a")
	expect(s, "2", "b")
	tell(t, st.Store, "r_other", "x")
	tell(t, st.Store, "r_1", "c")
	expect(s, "3", "c")
	_ = s.body.Close()
	await(t, "the end of watching", func() bool { return st.count() == 0 })

	tell(t, st.Store, "r_1", "d", "e")
	again := w.eventStream(t, "/v1/runs/r_1/events?after=1", func(r *http.Request) { r.Header.Set("Last-Event-ID", "3") }) // what a browser sends beside the first URL
	expect(again, "4", "d")
	expect(again, "5", "e")
	after := w.eventStream(t, "/v1/runs/r_1/events?after=4")
	expect(after, "5", "e")

	end(t, st.Store, "r_1")
	for _, s := range []*eventStream{again, after} {
		if e, ok := s.next(t); !ok || e.kind != "run" || e.id != "6" || !strings.Contains(e.data, `"outcome":"succeeded"`) {
			t.Errorf("event %+v", e)
		}
		if e, ok := s.next(t); ok {
			t.Errorf("%+v comes behind the end", e)
		}
	}
}

func TestEventsOfARunThatIsOver(t *testing.T) {
	t.Parallel()
	w, st, over := watching(t, Options{})
	over.Store(true)
	var keys []string
	for i := range 2*eventPage + 3 {
		keys = append(keys, fmt.Sprint("k", i))
	}
	tell(t, st.Store, "r_1", keys...)
	s := w.eventStream(t, "/v1/runs/r_1/events")
	for i := range keys {
		if e, ok := s.next(t); !ok || e.id != fmt.Sprint(i+1) {
			t.Fatalf("event %d is %+v", i+1, e)
		}
	}
	if _, ok := s.next(t); ok {
		t.Error("the stream goes on")
	}
	if s := w.eventStream(t, fmt.Sprintf("/v1/runs/r_1/events?after=%d", len(keys))); s.status != 204 {
		t.Errorf("status %d: a browser would connect for ever", s.status)
	}
	wantProblem(t, w.do(t, "GET", "/v1/runs/r_none/events", nil), kindUnknownRun)
}

// A run that was ended in Temporal has no last event; its stream ends all the same.
func TestEventsOfATerminatedRun(t *testing.T) {
	t.Parallel()
	w, st, over := watching(t, Options{}, func(s *Server) { s.runs.keepAlive = 5 * time.Millisecond })
	tell(t, st.Store, "r_1", "a")
	s := w.eventStream(t, "/v1/runs/r_1/events")
	e, ok := s.next(t)
	for ok && e.kind == ":" { // a sign of life may come first
		e, ok = s.next(t)
	}
	if e.id != "1" {
		t.Fatalf("event %+v", e)
	}
	if e, ok := s.next(t); !ok || e.kind != ":" {
		t.Errorf("%+v, want a sign of life", e)
	}
	over.Store(true)
	await(t, "the end of the stream", func() bool {
		e, ok := s.next(t)
		if ok && e.kind != ":" {
			t.Errorf("event %+v", e)
		}
		return !ok
	})
}

func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	w, st, _ := watching(t, Options{MaxStreams: 1})
	s := w.eventStream(t, "/v1/runs/r_1/events")
	await(t, "the watcher", func() bool { return st.count() == 1 })
	wantProblem(t, w.do(t, "GET", "/v1/runs/r_1/events", nil), kindTooManyStreams)
	stream, err := w.runs["grpc"].Watch(t.Context(), &runs.WatchPayload{Run: "r_1"})
	if err == nil {
		_, err = stream.Recv()
	}
	if p := problemFrom(t, err); p.Code != kindTooManyStreams.code || p.RetryAfter == nil {
		t.Errorf("gRPC: %+v", p)
	}
	_ = s.body.Close()
	await(t, "the place of the stream that was closed", func() bool {
		s := w.eventStream(t, "/v1/runs/r_1/events")
		defer s.body.Close() //nolint:errcheck // it was only looked at
		return s.status == 200
	})
}

// A client that does not read holds up neither others nor those who write events, and loses its place after a while.
func TestASlowClientHoldsUpNobody(t *testing.T) {
	t.Parallel()
	w, st, _ := watching(t, Options{})
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // the end of the test
	if _, err := io.WriteString(conn, "GET /v1/runs/r_1/events HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	await(t, "the slow watcher", func() bool { return st.count() == 1 })
	quick := w.eventStream(t, "/v1/runs/r_1/events")
	long := strings.Repeat("x", 1<<20)
	for i := range 24 { // more than the buffers of a connection hold
		tell(t, st.Store, "r_1", fmt.Sprint("k", i))
		if _, err := st.AppendEvents(t.Context(), "r_1", []store.Event{{Kind: store.KindToolResult, Key: fmt.Sprint("r", i), Data: json.RawMessage(`"` + long + `"`), At: someTime}}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 48 {
		if e, ok := quick.next(t); !ok || e.id != fmt.Sprint(i+1) {
			t.Fatalf("event %d is %s %s", i+1, e.id, e.kind)
		}
	}
}

func TestWatchOverGRPC(t *testing.T) {
	t.Parallel()
	w, st, _ := watching(t, Options{})
	tell(t, st.Store, "r_1", "a", "b")
	stream, err := w.runs["grpc"].Watch(t.Context(), &runs.WatchPayload{Run: "r_1", After: nonZero(int64(1))})
	if err != nil {
		t.Fatal(err)
	}
	e, err := stream.Recv()
	var n narration.Event
	if err != nil || json.Unmarshal(e.Data, &n) != nil || e.ID != 2 || n.ID != 2 || e.Type != "narration" || e.RunID != "r_1" || e.At != instant(someTime) || n.Text != "b\nand\r\nmore" {
		t.Fatalf("event %+v %v", e, err)
	}
	end(t, st.Store, "r_1")
	if e, err := stream.Recv(); err != nil || e.ID != 3 || e.Type != "run" {
		t.Errorf("event %+v %v", e, err)
	}
	if e, err := stream.Recv(); err != io.EOF {
		t.Errorf("%+v %v comes behind the end", e, err)
	}
	unknown, err := w.runs["grpc"].Watch(t.Context(), &runs.WatchPayload{Run: "r_none"})
	if err == nil {
		_, err = unknown.Recv()
	}
	if p := problemFrom(t, err); p.Code != kindUnknownRun.code {
		t.Errorf("gRPC: %+v", p)
	}
}

// A server that stops ends its streams at once: their clients go on elsewhere.
func TestStopEndsStreams(t *testing.T) {
	t.Parallel()
	w, st, _ := watching(t, Options{})
	s := w.eventStream(t, "/v1/runs/r_1/events")
	stream, err := w.runs["grpc"].Watch(t.Context(), &runs.WatchPayload{Run: "r_1"})
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the watchers", func() bool { return st.count() == 2 })
	w.stop()
	if e, ok := s.next(t); ok {
		t.Errorf("event %+v", e)
	}
	_, err = stream.Recv()
	if p := problemFrom(t, err); p.Code != kindUnavailable.code {
		t.Errorf("gRPC: %+v", p)
	}
}
