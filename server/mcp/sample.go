package mcp

//lint:file-ignore SA1019 Sampling is deprecated since MCP 2026-07-28, with nothing in its place; until it is gone, it is how a client offers its model.

import (
	"context"
	"errors"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

var errNoSampler = errors.New("the client that waits for the call offers no model, or has gone")

// Offers reports whether the client that waits for a call offers its own model; for any call when callID is "".
func (s *Surface) Offers(callID string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if callID != "" {
		l := s.live[callID]
		return l != nil && l.samples()
	}
	for _, l := range s.live {
		if l.samples() {
			return true
		}
	}
	return false
}

func (l *live) samples() bool { return l.client.samples() && l.client.session != nil }

// Sample puts a question to the model of the client that waits for the call. In the era with sessions it is a request to the client; in the
// other it travels in the result of the client's request, and its answer in the next one. Whatever goes wrong, and the end of ctx, is an
// error; nobody depends on an answer.
func (s *Surface) Sample(ctx context.Context, callID string, q *sdk.CreateMessageParams) (*sdk.CreateMessageResult, error) {
	l := s.waiting(callID)
	if l == nil || !l.samples() {
		return nil, errNoSampler
	}
	if l.asks != nil {
		a, err := s.askByResult(ctx, l, q)
		if err != nil {
			return nil, fmt.Errorf("the client's model did not answer: %w", err)
		}
		return sampleOf(a)
	}
	asking, cancel := context.WithCancel(l.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	res, err := l.client.session.CreateMessage(asking, q)
	if err != nil {
		return nil, fmt.Errorf("the client's model did not answer: %w", err)
	}
	return res, nil
}

// sampleOf reads an answer. A request that came again without one is a refusal.
func sampleOf(a sdk.InputResponse) (*sdk.CreateMessageResult, error) {
	switch x := a.(type) {
	case *sdk.CreateMessageResult:
		return x, nil
	case *sdk.CreateMessageWithToolsResult:
		res := &sdk.CreateMessageResult{Model: x.Model, Role: x.Role, StopReason: x.StopReason}
		if len(x.Content) == 1 {
			res.Content = x.Content[0]
		}
		return res, nil
	}
	return nil, errors.New("the client came back without an answer of its model")
}
