package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/tool"
)

// maxSamples bounds the questions to clients' models that wait for an answer.
const maxSamples = 1000

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
		return s.sampleByResult(ctx, l, q)
	}
	asking, cancel := context.WithCancel(l.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	res, err := l.client.session.CreateMessage(asking, q) //nolint:staticcheck // deprecated, and what clients of this era have
	if err != nil {
		return nil, fmt.Errorf("the client's model did not answer: %w", err)
	}
	return res, nil
}

// sampleWanted is a question to a client's model on its way into a result. It is an error, because it takes the place of the result.
type sampleWanted struct {
	id string
	q  *sdk.CreateMessageParams
	l  *live
	// run and call are filled in where the request is answered.
	run, call string
	deadline  time.Time
}

func (*sampleWanted) Error() string { return "the client's model is asked" }

// samples are the questions that wait for the next request of their client.
type samples struct {
	mu   sync.Mutex
	open map[string]chan<- sdk.InputResponse
}

// samplePrefix begins the identifier of such a question, which keeps it apart from those of runs.
const samplePrefix = "m_"

// sampleLimit bounds the time for which an answer is taken.
const sampleLimit = 5 * time.Minute

func (s *Surface) sampleByResult(ctx context.Context, l *live, q *sdk.CreateMessageParams) (*sdk.CreateMessageResult, error) {
	ctx, cancel := context.WithTimeout(ctx, sampleLimit)
	defer cancel()
	w := &sampleWanted{id: samplePrefix + strings.TrimPrefix(tool.NewCallID(), "c_"), q: q, l: l}
	w.deadline, _ = ctx.Deadline()
	answers := make(chan sdk.InputResponse, 1)
	if err := s.samples.add(w.id, answers); err != nil {
		return nil, err
	}
	defer s.samples.end(w.id)
	select {
	case l.asks <- w:
	case <-l.ctx.Done():
		return nil, errNoSampler
	case <-ctx.Done():
		return nil, fmt.Errorf("the client's model was not asked in time: %w", ctx.Err())
	}
	select {
	case a := <-answers:
		return sampleOf(a)
	case <-ctx.Done():
		return nil, fmt.Errorf("the client's model did not answer in time: %w", ctx.Err())
	}
}

func (x *samples) add(id string, answers chan<- sdk.InputResponse) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.open) >= maxSamples {
		return errors.New("too many questions wait for clients' models")
	}
	if x.open == nil {
		x.open = map[string]chan<- sdk.InputResponse{}
	}
	x.open[id] = answers
	return nil
}

func (x *samples) end(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.open, id)
}

// sampled hands the answer over to whoever waits for it; one that comes too late is passed over.
func (s *Surface) sampled(id string, answer sdk.InputResponse) {
	if !strings.HasPrefix(id, samplePrefix) {
		return
	}
	s.samples.mu.Lock()
	defer s.samples.mu.Unlock()
	if to := s.samples.open[id]; to != nil {
		to <- answer // it has room for one, and is asked once
		delete(s.samples.open, id)
	}
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

// wanting puts a question to the client's model into the place of a result.
func (s *Surface) wanting(c client, name string, out *sdk.CallToolResult, err error) (*sdk.CallToolResult, error) {
	var w *sampleWanted
	if !errors.As(err, &w) {
		return out, err
	}
	state, err := sealed(s.o.Key, purposeState, w.deadline, pending{Run: w.run, Call: w.call, Question: w.id, Name: name, Identity: c.identity})
	if err != nil {
		return nil, err
	}
	return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{w.id: w.q}, RequestState: state}, nil
}
