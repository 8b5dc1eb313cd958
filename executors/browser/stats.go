package browser

import (
	"sync"
	"sync/atomic"

	"toolsvc/executors/browser/devtools"
)

// Stats are what operators see of the pool.
type Stats struct {
	// Up: there is a connection to a browser.
	Up bool
	// Open counts the runs that have a place in the browser, Busy those with an attempt under way, and Limit bounds them.
	Open, Busy, Limit int
	// Starts counts the browsers that were started, Crashes those that were lost unasked, and TabCrashes tabs, since the executor was made.
	Starts, Crashes, TabCrashes int64
}

// counts are counted while the pool works.
type counts struct {
	starts, crashes, tabs atomic.Int64

	mu   sync.Mutex
	last *devtools.Conn // that was counted as lost
}

// lost counts a connection that was lost, once.
func (c *counts) lost(conn *devtools.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != conn {
		c.last = conn
		c.crashes.Add(1)
	}
}

// Stats returns the pool as it is now.
func (x *Executor) Stats() Stats {
	p := x.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Stats{Open: len(p.sessions), Limit: p.opts.MaxSessions}
	for _, one := range p.sessions {
		if one.busy > 0 {
			s.Busy++
		}
	}
	if p.conn != nil && !p.closed {
		select {
		case <-p.conn.Lost():
			p.counts.lost(p.conn)
		default:
			s.Up = true
		}
	}
	s.Starts, s.Crashes, s.TabCrashes = p.counts.starts.Load(), p.counts.crashes.Load(), p.counts.tabs.Load()
	return s
}
