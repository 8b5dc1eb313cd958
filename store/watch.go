package store

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"sync"
	"time"
)

const (
	// pollEvery is how often another process's writes are looked for while anybody watches.
	pollEvery = 100 * time.Millisecond
	// watchPage is how many events a watcher reads at once.
	watchPage = 64
)

// Watch yields the events of the run with an ID above afterID, first those that are there, then those to come, each exactly once and in
// order: at once when this process appends them, within about 100 ms when another one does. It ends, without an error, when ctx ends; an
// error is the last thing it yields ([ErrClosed] when the store is closed). A consumer that is slow holds up nobody.
func (s *Store) Watch(ctx context.Context, runID string, afterID int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		woken, leave := s.hub.join(runID) // before the first read, so that nothing falls between reading and waiting
		defer leave()
		for last := afterID; ; {
			page, err := s.Events(ctx, runID, last, watchPage)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				yield(Event{}, err)
				return
			}
			for _, e := range page {
				if ctx.Err() != nil || !yield(e, nil) {
					return
				}
				last = e.ID
			}
			if len(page) == watchPage {
				continue
			}
			select {
			case <-woken:
			case <-ctx.Done():
				return
			case <-s.closing:
				yield(Event{}, s.explain(ErrClosed, "watch run %s", runID))
				return
			}
		}
	}
}

// hub wakes the watchers of a run. Its zero value has no watchers and costs nothing.
type hub struct {
	store *Store

	mu       sync.Mutex
	watchers map[string]map[chan struct{}]struct{} // by run
	stopPoll context.CancelFunc                    // nil while nobody watches
	polling  sync.WaitGroup
	stopped  bool
}

// join adds a watcher of the run. Whatever is committed afterwards makes woken readable; several commits may count as one.
func (h *hub) join(runID string) (woken <-chan struct{}, leave func()) {
	ch := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers == nil {
		h.watchers = map[string]map[chan struct{}]struct{}{}
	}
	if h.watchers[runID] == nil {
		h.watchers[runID] = map[chan struct{}]struct{}{}
	}
	h.watchers[runID][ch] = struct{}{}
	if h.stopPoll == nil && !h.stopped {
		ctx, cancel := context.WithCancel(context.Background())
		h.stopPoll = cancel
		h.polling.Go(func() { h.poll(ctx) })
	}
	return ch, func() { h.leave(runID, ch) }
}

func (h *hub) leave(runID string, ch chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watchers[runID], ch)
	if len(h.watchers[runID]) == 0 {
		delete(h.watchers, runID)
	}
	if len(h.watchers) == 0 && h.stopPoll != nil {
		h.stopPoll()
		h.stopPoll = nil
	}
}

// wake wakes the watchers of one run.
func (h *hub) wake(runID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ch := range h.watchers[runID] {
		signal(ch)
	}
}

func (h *hub) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, watchers := range h.watchers {
		for ch := range watchers {
			signal(ch)
		}
	}
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default: // it is woken already
	}
}

// poll wakes everyone when the database has changed, until ctx ends.
func (h *hub) poll(ctx context.Context) {
	var conn *sql.Conn
	drop := func() error {
		if conn == nil {
			return nil
		}
		err := conn.Close()
		conn = nil
		return err
	}
	version := int64(-1)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		now, err := int64(-1), error(nil)
		if conn == nil {
			conn, err = h.store.read.Conn(ctx) // versions can only be compared on one connection
			version = -1
		}
		if err == nil {
			now, err = dataVersion(ctx, conn)
		}
		if err != nil {
			// The watchers will meet the same error when they read, and report it.
			err = errors.Join(err, drop())
		}
		if err != nil || now != version {
			version = now
			h.wakeAll()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	_ = drop() // the connection goes back to its pool, or is gone; there is nothing to do about either
}

// stop ends polling for good.
func (h *hub) stop() {
	h.mu.Lock()
	h.stopped = true
	if h.stopPoll != nil {
		h.stopPoll()
		h.stopPoll = nil
	}
	h.mu.Unlock()
	h.polling.Wait()
}
