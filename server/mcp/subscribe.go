package mcp

import (
	"context"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/store"
)

// maxSubscriptions bounds the runs that are watched for subscribers.
const maxSubscriptions = 1000

// subscriptions watch runs for clients that subscribed to them as resources.
type subscriptions struct {
	mu sync.Mutex
	// by URI and session
	open map[string]map[*sdk.ServerSession]context.CancelFunc
	n    int
}

// subscribe watches a run. Other resources never change, so there is nothing to watch.
func (s *Surface) subscribe(_ context.Context, r *sdk.SubscribeRequest) error {
	uri, session := r.Params.URI, r.Session
	run, isRun := strings.CutPrefix(uri, runPrefix)
	if !isRun || s.o.Events == nil {
		return nil
	}
	x := &s.subs
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.open[uri][session] != nil {
		return nil
	}
	if x.n >= maxSubscriptions {
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "Too many runs are being watched; unsubscribe from some."}
	}
	ctx, cancel := context.WithCancel(context.Background())
	if x.open == nil {
		x.open = map[string]map[*sdk.ServerSession]context.CancelFunc{}
	}
	if x.open[uri] == nil {
		x.open[uri] = map[*sdk.ServerSession]context.CancelFunc{}
	}
	x.open[uri][session] = cancel
	x.n++
	go func() {
		_ = session.Wait() // however it ends
		s.subs.end(uri, session)
	}()
	go s.watchRun(ctx, uri, run)
	return nil
}

func (s *Surface) unsubscribe(_ context.Context, r *sdk.UnsubscribeRequest) error {
	s.subs.end(r.Params.URI, r.Session)
	return nil
}

func (x *subscriptions) end(uri string, session *sdk.ServerSession) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if cancel := x.open[uri][session]; cancel != nil {
		cancel()
		delete(x.open[uri], session)
		x.n--
	}
	if len(x.open[uri]) == 0 {
		delete(x.open, uri)
	}
}

// watchRun tells subscribers whenever the run's state has changed.
func (s *Surface) watchRun(ctx context.Context, uri, run string) {
	for e, err := range s.o.Events.Watch(ctx, run, s.seen.after(run)) {
		if err != nil {
			s.log.Warn("a subscription to a run ended", "run", run, "error", err)
			return
		}
		if e.Kind == store.KindNarration {
			continue
		}
		if err := s.server.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
			return // nobody is there any more
		}
	}
}
