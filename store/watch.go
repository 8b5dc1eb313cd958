package store

import (
	"context"
	"iter"
	"sync"
)

// watchPage is how many events a watcher reads at once.
const watchPage = 64

// Watch yields the events of the run with an ID above afterID, first those that are there, then those to come, each exactly once and in
// order: at once when this process appends them, within about 100 ms when another one does (sooner with PostgreSQL, which notifies). It ends, without an error, when ctx ends; an
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
		h.polling.Go(func() { h.store.driver.follow(ctx, h) })
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
