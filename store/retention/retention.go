// Package retention deletes runs and artifacts that are older than an operator wants to keep: at the start of a service and every hour,
// by one of the processes that share a store.
//
// It guarantees that a run which is still open is never deleted, however old it is: which runs are open is asked first, and without an
// answer nothing is deleted. toolsvc's stack calls it.
package retention

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"toolsvc/store"
)

// Every is how often a Keeper looks.
const Every = time.Hour

// lease is the name under which the processes of one store agree on who deletes.
const lease = "retention"

// Store is what is kept in order; store.Store is one.
type Store interface {
	Lease(ctx context.Context, name, owner string, ttl time.Duration) (won bool, err error)
	Retain(ctx context.Context, r store.Retention) (store.Purged, error)
}

// Keeper keeps a store within bounds.
type Keeper struct {
	Store Store
	// Owner tells this process from others.
	Owner string
	// Open lists the runs that go on.
	Open func(ctx context.Context) ([]string, error)
	// Runs is how long a run is kept after its last event; 0 keeps all. ArtifactBytes bounds the artifacts together; 0 does not.
	Runs          time.Duration
	ArtifactBytes int64
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Purged is told what was deleted; nil tells nobody.
	Purged func(store.Purged)
	Log    *slog.Logger
}

// Run looks at once, and then every hour until ctx ends. What fails is logged, and tried again at the next look.
func (k *Keeper) Run(ctx context.Context) {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		if err := k.Once(ctx); err != nil && ctx.Err() == nil {
			k.Log.ErrorContext(ctx, "old runs could not be deleted; it is tried again in an hour", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Once deletes what is too old, unless another process has done so within the hour.
func (k *Keeper) Once(ctx context.Context) error {
	if k.Runs <= 0 && k.ArtifactBytes <= 0 {
		return nil
	}
	now := time.Now
	if k.Now != nil {
		now = k.Now
	}
	won, err := k.Store.Lease(ctx, lease, k.Owner, Every-time.Minute) // a little less, or every second look would come too early
	if err != nil || !won {
		return err
	}
	open, err := k.Open(ctx)
	if err != nil {
		return fmt.Errorf("ask which runs are open: %w", err)
	}
	r := store.Retention{Open: open, MaxArtifactBytes: k.ArtifactBytes}
	if k.Runs > 0 {
		r.Before = now().Add(-k.Runs)
	}
	p, err := k.Store.Retain(ctx, r)
	if p != (store.Purged{}) {
		k.Log.InfoContext(ctx, "deleted what was too old", "runs", p.Runs, "events", p.Events, "artifacts", p.Artifacts, "artifact_bytes", p.ArtifactBytes, "open_runs", len(open))
		if k.Purged != nil {
			k.Purged(p)
		}
	}
	return err
}
