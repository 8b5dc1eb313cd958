package mcp

import (
	"context"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// live is a call that a client waits for: what its tool asks or tells meanwhile can be passed on.
type live struct {
	ctx    context.Context // of the request, which leads to its stream
	client client
	token  any // of the progress; nil when nobody wants to hear it
	// asks takes questions to the client's model that have to travel in a result; nil where there is another way, or no model.
	asks chan *sampleWanted

	mu       sync.Mutex
	progress float64
}

// tell sends the next progress; it counts by itself, because several tell of one call.
func (l *live) tell(ctx context.Context, message string) error {
	if l.token == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.progress++
	return l.client.session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: l.token, Progress: l.progress, Message: message})
}

// begin notes that a client waits for a call; end forgets it.
func (s *Surface) begin(ctx context.Context, c client, callID string, token any) (l *live, end func()) {
	l = &live{ctx: ctx, client: c, token: token}
	if c.modern && c.samples() {
		l.asks = make(chan *sampleWanted)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == nil {
		s.live = map[string]*live{}
	}
	s.live[callID] = l
	return l, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.live[callID] == l {
			delete(s.live, callID)
		}
	}
}

func (s *Surface) waiting(callID string) *live {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.live[callID]
}

// Ask passes the question of an MCP backend on to the client that waits for the call. A client that cannot be asked while it waits (the
// era without sessions has no way to) dismisses it, and so does a call whose client is gone.
func (s *Surface) Ask(ctx context.Context, callID, message string, schema any) (*sdk.ElicitResult, error) {
	l := s.waiting(callID)
	if l == nil || l.client.modern || !l.client.elicits() || l.client.session == nil {
		return &sdk.ElicitResult{Action: "cancel"}, nil
	}
	asking, cancel := context.WithCancel(l.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	return l.client.session.Elicit(asking, &sdk.ElicitParams{Mode: "form", Message: message, RequestedSchema: schema})
}

// Progress passes on what an MCP backend tells during a call.
func (s *Surface) Progress(callID, message string, _, _ float64) {
	if l := s.waiting(callID); l != nil && message != "" {
		if err := l.tell(l.ctx, message); err != nil {
			s.log.Debug("progress does not reach a client", "call_id", callID, "error", err)
		}
	}
}
