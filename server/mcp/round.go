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

// In the era without sessions, a client is asked something in the result of its request, and answers with the next one. What a call's work
// asks meanwhile (the client's model, or its user, for an MCP backend) waits here for that round trip. The questions of runs do not: they
// are the run's own, and survive this process.

// maxAsked bounds the questions that wait for the next request of their client.
const maxAsked = 1000

// askedPrefix begins the identifier of such a question, which keeps it apart from those of runs.
const askedPrefix = "m_"

// askedLimit bounds the time for which an answer is taken.
const askedLimit = 5 * time.Minute

// inputWanted is a question on its way into a result. It is an error, because it takes the place of the result.
type inputWanted struct {
	id string
	q  sdk.InputRequest
	// run and call are filled in where the request is answered.
	run, call string
	deadline  time.Time
}

func (*inputWanted) Error() string { return "the client is asked" }

// askedOf are the questions that wait for the next request of their client.
type askedOf struct {
	mu   sync.Mutex
	open map[string]chan<- sdk.InputResponse
}

var errGone = errors.New("the client that waits for the call has gone")

// askByResult puts a question into the result of the request that waits for a call, and waits for the answer in the next one, which is nil
// when that came without.
func (s *Surface) askByResult(ctx context.Context, l *live, q sdk.InputRequest) (sdk.InputResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, askedLimit)
	defer cancel()
	w := &inputWanted{id: askedPrefix + strings.TrimPrefix(tool.NewCallID(), "c_"), q: q}
	w.deadline, _ = ctx.Deadline()
	answers := make(chan sdk.InputResponse, 1)
	if err := s.asked.add(w.id, answers); err != nil {
		return nil, err
	}
	defer s.asked.end(w.id)
	select {
	case l.asks <- w:
	case <-l.ctx.Done():
		return nil, errGone
	case <-ctx.Done():
		return nil, fmt.Errorf("the question did not reach the client in time: %w", ctx.Err())
	}
	select {
	case a := <-answers:
		return a, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("there was no answer in time: %w", ctx.Err())
	}
}

func (x *askedOf) add(id string, answers chan<- sdk.InputResponse) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.open) >= maxAsked {
		return errors.New("too many questions wait for clients")
	}
	if x.open == nil {
		x.open = map[string]chan<- sdk.InputResponse{}
	}
	x.open[id] = answers
	return nil
}

func (x *askedOf) end(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.open, id)
}

// answered hands the answer over to whoever waits for it; one that comes too late is passed over.
func (s *Surface) answered(id string, answer sdk.InputResponse) {
	if !strings.HasPrefix(id, askedPrefix) {
		return
	}
	s.asked.mu.Lock()
	defer s.asked.mu.Unlock()
	if to := s.asked.open[id]; to != nil {
		to <- answer // it has room for one, and is asked once
		delete(s.asked.open, id)
	}
}

// wanting puts a question of a call's work into the place of a result.
func (s *Surface) wanting(c client, name string, out *sdk.CallToolResult, err error) (*sdk.CallToolResult, error) {
	var w *inputWanted
	if !errors.As(err, &w) {
		return out, err
	}
	state, err := sealed(s.o.Key, purposeState, w.deadline, pending{Run: w.run, Call: w.call, Question: w.id, Name: name, Identity: c.identity})
	if err != nil {
		return nil, err
	}
	return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{w.id: w.q}, RequestState: state}, nil
}
