package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/narration"
	"toolsvc/store"
)

// logger is the name of the logger in log notifications.
const logger = "toolsvc.narration"

// narrate tells the client what is going on in one call, as progress where it gave a token, and as log messages where it set a level,
// until ctx ends; done is closed when nothing more is sent, so no progress comes after the result.
func (s *Surface) narrate(ctx context.Context, l *live, runID, callID string) (done <-chan struct{}) {
	c := l.client
	closed := make(chan struct{})
	if s.o.Events == nil || c.session == nil || l.token == nil && !s.logs(c) {
		close(closed)
		return closed
	}
	go func() {
		defer close(closed)
		for e, err := range s.o.Events.Watch(ctx, runID, s.seen.after(runID)) {
			if err != nil {
				s.log.Warn("narration does not reach a client", "run", runID, "error", err)
				return
			}
			s.seen.note(runID, e.ID)
			if e.Kind != store.KindNarration || !strings.HasPrefix(e.Key, callID+"/") {
				continue
			}
			n, err := narration.Decode(e.ID, e.Data)
			if err != nil {
				s.log.Warn("an event of narration is broken", "run", runID, "event", e.ID, "error", err)
				continue
			}
			if l.tell(ctx, n.Line()) != nil {
				return // the client has gone
			}
			if data, err := json.Marshal(n); err == nil {
				//lint:ignore SA1019 logging is deprecated since MCP 2026-07-28, and still what older clients show
				if c.session.Log(ctx, &sdk.LoggingMessageParams{Logger: logger, Level: levels[n.Level], Data: json.RawMessage(data)}) != nil {
					return
				}
			}
		}
	}()
	return closed
}

//lint:ignore SA1019 as above
var levels = map[narration.Level]sdk.LoggingLevel{
	narration.Info: "info", narration.Success: "info", narration.Warning: "warning", narration.Error: "error",
}

// cursors remember up to which event the runs were read, so that a long run is not read from its beginning with every call.
type cursors struct {
	mu   sync.Mutex
	last map[string]int64
}

// maxCursors bounds the runs that are remembered; the events of a forgotten one are read again, and passed over.
const maxCursors = 4096

func (c *cursors) after(run string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last[run]
}

func (c *cursors) note(run string, id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil || len(c.last) >= maxCursors && c.last[run] == 0 {
		c.last = map[string]int64{}
	}
	c.last[run] = max(c.last[run], id)
}
