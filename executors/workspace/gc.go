package workspace

import (
	"context"
	"fmt"
	"os"
	"time"
)

// Freed is what a collection of garbage freed.
type Freed struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// Expired are the snapshots and attempts that were older than Options.MaxAge.
	Expired int `json:"expired"`
}

// GC forgets what is older than Options.MaxAge, and frees what no backup needs. It happens by itself now and then.
func (w *Workspace) GC(ctx context.Context) (Freed, error) {
	if err := w.acquire(ctx); err != nil {
		return Freed{}, err
	}
	defer w.leave()
	return w.collect()
}

// collectSoon collects garbage when enough was written since the last time.
func (w *Workspace) collectSoon() error {
	if w.objects.total-w.written < gcBytes {
		return nil
	}
	_, err := w.collect()
	return err
}

func (w *Workspace) collect() (f Freed, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("collect the garbage of the backups: %w", err)
		}
	}()
	old := time.Now().Add(-w.opt.MaxAge)
	for id, s := range w.snapshots {
		if s.Taken.Before(old) {
			if err := remove(w.path("snapshots", id)); err != nil {
				return f, err
			}
			delete(w.snapshots, id)
			f.Expired++
		}
	}
	for id, a := range w.attempts {
		if a.Began.Before(old) {
			if err := remove(w.path("attempts", id)); err != nil {
				return f, err
			}
			delete(w.attempts, id)
			f.Expired++
		}
	}
	live := map[digest]struct{}{}
	names, err := os.ReadDir(w.path("manifests"))
	if err != nil {
		return f, err
	}
	for _, n := range names {
		var name digest
		if name.UnmarshalText([]byte(n.Name())) != nil || !w.live(name) {
			if err := remove(w.path("manifests", n.Name())); err != nil {
				return f, err
			}
			continue
		}
		t, err := w.tree(name)
		if err != nil {
			return f, err
		}
		for i := range t.entries {
			live[t.entries[i].Digest] = struct{}{}
		}
	}
	f.Files, f.Bytes, err = w.objects.sweep(live)
	w.written = w.objects.total
	return f, err
}
