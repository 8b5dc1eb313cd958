package server

import (
	"net/http"
	"sync"
	"time"
)

// DefaultDrain is how long calls may take to end after the server was told to stop, when Options say nothing.
const DefaultDrain = 25 * time.Second

// traffic counts the calls under way, and lets nothing in once it is closed. Its zero value is open.
type traffic struct {
	mu     sync.Mutex
	n      int
	closed bool
	idle   chan struct{} // closed when it is closed and nothing is under way
}

// enter counts a call until leave is called; not ok when no more are let in.
func (t *traffic) enter() (leave func(), ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, false
	}
	t.n++
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.n--; t.n == 0 && t.closed {
			close(t.idle)
		}
	}), true
}

// close lets nothing more in; idle is closed when what is under way has ended. Once.
func (t *traffic) close() (idle <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed, t.idle = true, make(chan struct{})
	if t.n == 0 {
		close(t.idle)
	}
	return t.idle
}

func (t *traffic) isClosed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

const stoppingDetail = "toolsvc is stopping. Nothing was called; send the same request again in a few seconds, to this server or another one."

// counted counts what clients of MCP send among the calls under way; what they only listen to is none.
func (s *Server) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			leave, ok := s.traffic.enter()
			if !ok {
				writeProblem(w, refuse(r.Context(), kindStopping, stoppingDetail))
				return
			}
			defer leave()
		}
		next.ServeHTTP(w, r)
	})
}
