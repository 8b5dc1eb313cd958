package workspace

import (
	"context"
	"fmt"
	"sync"
)

// edits are what others of this process write into the workspace just now, without an attempt of their own.
type edits struct {
	mu   sync.Mutex
	next int
	open map[int]edit
}

type edit struct{ runID, callID, path string }

func (e edit) why() string {
	return fmt.Sprintf("it was written by another call meanwhile (%s)", e.callID)
}

// Edit says that a call is about to write the file at the path (from the workspace's root), and may write it until done is called: a tool that takes
// its own changes back. An attempt of another run that is under way meanwhile did not make this change, and so is not allowed to take it back:
// a verified edit must not vanish because a command of somebody else failed. When it fails, the file must not be written.
func (w *Workspace) Edit(ctx context.Context, runID, callID, path string) (done func(), err error) {
	e := edit{runID, callID, path}
	w.edits.mu.Lock() // before the turn comes: an attempt that begins meanwhile must know of it
	if w.edits.open == nil {
		w.edits.open = map[int]edit{}
	}
	w.edits.next++
	id := w.edits.next
	w.edits.open[id] = e
	w.edits.mu.Unlock()
	done = func() {
		w.edits.mu.Lock()
		defer w.edits.mu.Unlock()
		delete(w.edits.open, id)
	}
	defer func() {
		if err != nil {
			done()
		}
	}()
	if err := w.acquire(ctx); err != nil {
		return nil, err
	}
	defer w.leave()
	for token, rec := range w.attempts {
		if rec.Stage != stageBegun || !rec.disown(e) {
			continue
		}
		if err := w.save(Token(token), rec); err != nil {
			return nil, fmt.Errorf("record that %s is not changed by the command that runs meanwhile: %w", path, err)
		}
	}
	return done, nil
}

// editing lists the edits under way.
func (w *Workspace) editing() (all []edit) {
	w.edits.mu.Lock()
	defer w.edits.mu.Unlock()
	for _, e := range w.edits.open {
		all = append(all, e)
	}
	return all
}

// disown marks the path of an edit as not the attempt's, and reports whether that is so: not within one run.
func (r *record) disown(e edit) bool {
	if related(r.RunID, e.runID) {
		return false
	}
	if r.Shared == nil {
		r.Shared = map[string]string{}
	}
	if len(r.Shared) >= maxShared {
		r.SharedAll = e.why()
	} else {
		r.Shared[e.path] = e.why()
	}
	return true
}
