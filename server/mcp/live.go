package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// live is a call that a client waits for: what its tool asks or tells meanwhile can be passed on.
type live struct {
	ctx    context.Context // of the request, which leads to its stream
	client client
	token  any // of the progress; nil when nobody wants to hear it
	// asks takes questions to the client, or to its model, that have to travel in a result; nil where there is another way, or nobody to ask.
	asks chan *inputWanted

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
	if c.modern && (c.samples() || c.elicits()) {
		l.asks = make(chan *inputWanted)
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

// Ask passes the question of an MCP backend on to the client that waits for the call: in the era with sessions as a request, in the other
// in the result of the client's request, whose answer comes with the next one. A client that cannot show forms dismisses it, and so does a
// call that became a task, or whose client is gone.
func (s *Surface) Ask(ctx context.Context, callID, message string, schema any) (*sdk.ElicitResult, error) {
	l := s.waiting(callID)
	if l == nil || !l.client.elicits() || l.client.session == nil {
		return &sdk.ElicitResult{Action: "cancel"}, nil
	}
	q := &sdk.ElicitParams{Mode: "form", Message: message, RequestedSchema: schema}
	if l.asks != nil {
		switch a, err := s.askByResult(ctx, l, q); reply := a.(type) {
		case *sdk.ElicitResult:
			return reply, nil
		default:
			if err != nil && !errors.Is(err, errGone) {
				return nil, fmt.Errorf("the client's user was not asked: %w", err)
			}
			return &sdk.ElicitResult{Action: "cancel"}, nil // it came again without an answer, or not at all
		}
	}
	asking, cancel := context.WithCancel(l.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	return l.client.session.Elicit(asking, q)
}

// Progress passes on what an MCP backend tells during a call.
func (s *Surface) Progress(callID, message string, _, _ float64) {
	if l := s.waiting(callID); l != nil && message != "" {
		if err := l.tell(l.ctx, message); err != nil {
			s.log.Debug("progress does not reach a client", "call_id", callID, "error", err)
		}
	}
}
