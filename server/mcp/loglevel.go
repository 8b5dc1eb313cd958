package mcp

import (
	"context"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// logLevels remembers which sessions of the older protocol asked for log messages, so that nobody watches a run for a client that would
// not be told anything.
type logLevels struct {
	mu     sync.Mutex
	wanted map[*sdk.ServerSession]bool
}

// note is middleware that takes notice of logging/setLevel.
func (l *logLevels) note(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, r)
		if session, ok := r.GetSession().(*sdk.ServerSession); ok && err == nil && method == "logging/setLevel" {
			l.set(session)
		}
		return res, err
	}
}

func (l *logLevels) set(session *sdk.ServerSession) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wanted == nil {
		l.wanted = map[*sdk.ServerSession]bool{}
	}
	if l.wanted[session] {
		return
	}
	l.wanted[session] = true
	go func() {
		_ = session.Wait() // however it ends
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.wanted, session)
	}()
}

func (l *logLevels) has(session *sdk.ServerSession) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wanted[session]
}

// logs reports whether the client gets log messages: by the session's level, or by that of the request in the newer protocol.
func (s *Surface) logs(c client) bool { return c.logs || s.levels.has(c.session) }
