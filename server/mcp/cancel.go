package mcp

import (
	"context"
	"errors"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/planner"
	"toolsvc/tool"
)

// Bounds of cancellations.
const (
	// cancelSoon is how far apart a notification and the end of the request that it cancels may be: the SDK handles them side by side.
	cancelSoon = 2 * time.Second
	// cancelLimit bounds the handing over of a cancellation.
	cancelLimit = 10 * time.Second
)

// cancellations tell a request that its client has cancelled from one whose client is gone. The SDK ends the context of both, and tells
// only in notifications which it was; they name a request by an identifier that handlers do not get. So each notification stands for one
// request of its session that ends at that time.
type cancellations struct {
	mu   sync.Mutex
	seen map[*sdk.ServerSession][]time.Time
	came chan struct{} // closed by the next one
	ends map[*sdk.ServerSession]chan struct{}
}

// ended is closed when the session has ended, however.
func (x *cancellations) ended(session *sdk.ServerSession) <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	if closed := x.ends[session]; closed != nil {
		return closed
	}
	if x.ends == nil {
		x.ends = map[*sdk.ServerSession]chan struct{}{}
	}
	closed := make(chan struct{})
	x.ends[session] = closed
	go func() {
		_ = session.Wait() // however it ends
		close(closed)
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.ends, session)
		delete(x.seen, session)
	}()
	return closed
}

// note is middleware that takes notice of notifications/cancelled.
func (x *cancellations) note(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if session, ok := r.GetSession().(*sdk.ServerSession); ok && method == "notifications/cancelled" {
			x.mu.Lock()
			now := time.Now()
			for s, times := range x.seen { // those that no request took
				if now.Sub(times[len(times)-1]) > cancelSoon {
					delete(x.seen, s)
				}
			}
			if x.seen == nil {
				x.seen = map[*sdk.ServerSession][]time.Time{}
			}
			x.seen[session] = append(x.seen[session], now)
			if x.came != nil {
				close(x.came)
				x.came = nil
			}
			x.mu.Unlock()
		}
		return next(ctx, method, r)
	}
}

// wanted reports whether a request of the session that has just ended was cancelled by its client. A closed session ends it, too, and is
// no wish.
func (x *cancellations) wanted(session *sdk.ServerSession) bool {
	if session == nil {
		return false
	}
	closed := x.ended(session)
	late := time.NewTimer(cancelSoon)
	defer late.Stop()
	for {
		x.mu.Lock()
		if times := x.seen[session]; len(times) > 0 {
			if x.seen[session] = times[1:]; len(times) == 1 {
				delete(x.seen, session)
			}
			x.mu.Unlock()
			if time.Since(times[0]) <= cancelSoon {
				return true
			}
			continue
		}
		if x.came == nil {
			x.came = make(chan struct{})
		}
		came := x.came
		x.mu.Unlock()
		select {
		case <-came:
		case <-closed:
			return false
		case <-late.C:
			return false
		}
	}
}

// drop ends a call that its client does not want any more. Its run and its other calls go on.
func (s *Surface) drop(ctx context.Context, req tool.Request) {
	ctx, cancel := context.WithTimeout(ctx, cancelLimit)
	defer cancel()
	err := s.o.Service.CancelCall(ctx, req.RunID, req.CallID)
	if err != nil && !errors.Is(err, planner.ErrUnknownCall) && !errors.Is(err, planner.ErrUnknownRun) {
		s.log.Error("a call that was cancelled goes on", "run", req.RunID, "call_id", req.CallID, "error", err)
	}
}
