package geminitest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Always is the Times of a turn that answers as often as it is asked.
const Always = -1

// Turn is one line of a script.
type Turn struct {
	// Name says in messages which turn is meant; may be "".
	Name string
	// If says which requests the turn answers; nil means every request to generate content.
	If Matcher
	// Reply is the answer.
	Reply Reply
	// Handle, when set, makes the answer from the request instead.
	Handle func(*Request) Reply
	// Times is how often the turn answers: 0 means once, [Always] any number.
	Times int
}

// TB is what the fake needs of a test; *testing.T and *testing.B have it.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Server is a running fake. It is safe for concurrent use.
type Server struct {
	http     *http.Server
	listener net.Listener
	model    string
	repeat   bool
	report   func(format string, args ...any)
	closed   chan struct{}
	close    sync.Once

	mu       sync.Mutex
	turns    []Turn
	left     []int // how often each turn may still answer; Always stays
	requests []Request
	refused  []string
	arrived  chan struct{} // closed and replaced at each request
	ids      int
	issued   map[string]bool
}

// Start runs a fake for one test, on a free port of loopback, and stops it when the test ends. A request that the service would refuse or
// that no turn answers, and a turn that was never used, fail the test.
func Start(t TB, turns ...Turn) *Server {
	t.Helper()
	s, err := Serve("127.0.0.1:0", &Script{Turns: turns})
	if err != nil {
		t.Fatalf("geminitest: %v", err)
	}
	s.mu.Lock()
	s.report = t.Errorf
	s.mu.Unlock()
	t.Cleanup(func() {
		t.Helper()
		s.Close()
		s.Tolerate() // a handler that is still at work has nobody to tell any more
		for _, name := range s.Unused() {
			t.Errorf("geminitest: the script's %s was never asked for", name)
		}
	})
	return s
}

// Serve runs a fake with a script on an address ("127.0.0.1:0" for any free port). Close ends it.
func Serve(addr string, script *Script) (*Server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("serve the fake Gemini: %w", err)
	}
	s := &Server{listener: l, model: script.Model, repeat: script.Repeat, report: func(string, ...any) {}, closed: make(chan struct{}),
		arrived: make(chan struct{}), issued: map[string]bool{}}
	if s.model == "" {
		s.model = "gemini-3.8-flash"
	}
	s.Add(script.Turns...)
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.complain("the server ended: %v", err)
		}
	}()
	return s, nil
}

// URL is the base URL for clients: "http://127.0.0.1:40123".
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Close ends the server and every reply that is held back.
func (s *Server) Close() {
	s.close.Do(func() {
		close(s.closed)
		_ = s.http.Close()     // its connections are of no use to anybody any more
		_ = s.listener.Close() // for a server that was closed before it began to serve
	})
}

// Add appends turns to the script.
func (s *Server) Add(turns ...Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range turns {
		s.turns = append(s.turns, t)
		s.left = append(s.left, times(t))
	}
}

func times(t Turn) int {
	if t.Times == 0 {
		return 1
	}
	return t.Times
}

// Requests are all requests that were received so far, in order, those that were refused included.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Refused lists why requests were refused, in order.
func (s *Server) Refused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.refused)
}

// Tolerate keeps requests that the service would refuse from failing the test: for tests of a client's reaction to a refusal.
func (s *Server) Tolerate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report = func(string, ...any) {}
}

// Await waits until n requests were received, and returns all that were.
func (s *Server) Await(ctx context.Context, n int) ([]Request, error) {
	for {
		s.mu.Lock()
		got, arrived := slices.Clone(s.requests), s.arrived
		s.mu.Unlock()
		if len(got) >= n {
			return got, nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return got, fmt.Errorf("geminitest: %d of %d requests came: %w", len(got), n, ctx.Err())
		}
	}
}

// Unused names the turns that were to be used a certain number of times and were not.
func (s *Server) Unused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for i, n := range s.left {
		if n > 0 {
			out = append(out, s.name(i))
		}
	}
	return out
}

func (s *Server) name(i int) string {
	if n := s.turns[i].Name; n != "" {
		return fmt.Sprintf("turn %d (%s)", i+1, n)
	}
	return fmt.Sprintf("turn %d", i+1)
}

// complain tells the test.
func (s *Server) complain(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock() // so that nothing is reported once Start's cleanup has gone past
	s.report("geminitest: "+format, args...)
}

// ServeHTTP serves one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	r := &Request{Header: hr.Header.Clone()}
	hasKey := hr.Header.Get("X-Goog-Api-Key") != "" || hr.URL.Query().Get("key") != ""
	if r.Header.Get("X-Goog-Api-Key") != "" {
		r.Header.Set("X-Goog-Api-Key", "[redacted]")
	}
	var wire *wireRequest
	bad := route(hr, r)
	if bad == nil && !hasKey {
		bad = &refusal{code: http.StatusForbidden, status: "PERMISSION_DENIED", message: "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API."}
	}
	if bad == nil && hr.Method == http.MethodPost {
		wire, bad = s.read(w, hr, r)
	}
	s.record(r)
	if bad != nil {
		s.refuse(w, r, bad, true)
		return
	}
	switch r.Operation {
	case "list":
		writeJSON(w, http.StatusOK, map[string]any{"models": []any{s.describe(s.model)}})
	case "get":
		if r.Model != s.model {
			s.refuse(w, r, noModel(r.Model), false)
			return
		}
		writeJSON(w, http.StatusOK, s.describe(s.model))
	case "countTokens":
		writeJSON(w, http.StatusOK, map[string]any{"totalTokens": promptTokens(r)})
	default:
		if bad := check(r.Model, wire, s.gaveOut); bad != nil {
			s.refuse(w, r, bad, true)
			return
		}
		reply, bad := s.choose(r)
		if bad != nil {
			s.refuse(w, r, bad, true)
			return
		}
		s.send(w, hr, r, reply)
	}
}

// route reads the path: {v1|v1beta}/models[/M[:operation]].
func route(hr *http.Request, r *Request) *refusal {
	missing := &refusal{code: http.StatusNotFound, status: "NOT_FOUND", message: fmt.Sprintf("%s %s is not served here.", hr.Method, hr.URL.Path)}
	version, rest, ok := strings.Cut(strings.Trim(hr.URL.Path, "/"), "/")
	if !ok || version != "v1" && version != "v1beta" {
		return missing
	}
	r.Version = version
	if rest == "models" && hr.Method == http.MethodGet {
		r.Operation = "list"
		return nil
	}
	name, ok := strings.CutPrefix(rest, "models/")
	if !ok {
		return missing
	}
	if hr.Method == http.MethodGet {
		r.Operation, r.Model = "get", name
		return nil
	}
	model, operation, _ := strings.Cut(name, ":")
	r.Model, r.Operation = model, operation
	if hr.Method != http.MethodPost || !slices.Contains([]string{"generateContent", "streamGenerateContent", "countTokens"}, operation) {
		return missing
	}
	return nil
}

// read reads and decodes the body.
func (s *Server) read(w http.ResponseWriter, hr *http.Request, r *Request) (*wireRequest, *refusal) {
	body, err := io.ReadAll(http.MaxBytesReader(w, hr.Body, maxBody))
	if err != nil {
		return nil, badRequest("Request payload size exceeds the limit: %d bytes.", maxBody)
	}
	r.Raw = body
	wire, bad := decode(body)
	if bad != nil {
		return nil, bad
	}
	if wire.Nested != nil {
		wire = wire.Nested
	}
	r.fill(wire)
	return wire, nil
}

func (s *Server) record(r *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.N = len(s.requests) + 1
	s.requests = append(s.requests, *r)
	close(s.arrived)
	s.arrived = make(chan struct{})
}

// refuse answers with an error; ours says that it is the client's mistake, which a test is told of.
func (s *Server) refuse(w http.ResponseWriter, r *Request, f *refusal, ours bool) {
	if ours {
		s.mu.Lock()
		s.refused = append(s.refused, f.message)
		s.mu.Unlock()
		s.complain("request %d is refused: %s", r.N, f.message)
	}
	writeJSON(w, f.code, wireError{wireStatus{Code: f.code, Message: f.message, Status: f.status, Details: f.details}})
}

// choose finds the turn that answers a request.
func (s *Server) choose(r *Request) (Reply, *refusal) {
	s.mu.Lock()
	i, why := s.next(r)
	if i >= 0 && s.left[i] > 0 {
		s.left[i]--
	}
	var t Turn
	if i >= 0 {
		t = s.turns[i]
	}
	s.mu.Unlock()
	if i < 0 {
		return Reply{}, &refusal{code: http.StatusInternalServerError, status: "INTERNAL", message: "The script has no answer: " + why}
	}
	if t.Handle != nil {
		return t.Handle(r), nil
	}
	return t.Reply, nil
}

// next is the turn that answers a request: the first that is not used up, if it accepts the request, otherwise one that always answers.
func (s *Server) next(r *Request) (int, string) {
	accepts := func(i int) bool { return s.turns[i].If == nil || s.turns[i].If(r) }
	if s.repeat && !slices.ContainsFunc(s.left, func(n int) bool { return n > 0 }) {
		for i := range s.turns {
			s.left[i] = times(s.turns[i])
		}
	}
	why := "all turns are used up."
	if i := slices.IndexFunc(s.left, func(n int) bool { return n > 0 }); i >= 0 {
		if accepts(i) {
			return i, ""
		}
		why = fmt.Sprintf("%s does not accept it.", s.name(i))
	}
	for i, n := range s.left {
		if n == Always && accepts(i) {
			return i, ""
		}
	}
	return -1, why
}

// gaveOut reports whether a script gave out this signature.
func (s *Server) gaveOut(signature []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.issued[string(signature)]
}

// describe is the entry of a model in the list.
func (s *Server) describe(model string) map[string]any {
	return map[string]any{"name": "models/" + model, "version": "001", "displayName": model, "inputTokenLimit": 1048576, "outputTokenLimit": 65536,
		"supportedGenerationMethods": []string{"generateContent", "countTokens"}}
}

func noModel(name string) *refusal {
	return &refusal{code: http.StatusNotFound, status: "NOT_FOUND", message: fmt.Sprintf("models/%s is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.", name)}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err) // our own types always marshal
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // a client that is gone does not read it
}
