package retention

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"toolsvc/store"
)

// clock is a time that the test moves.
type clock struct{ time.Time }

func (c *clock) now() time.Time { return c.Time }

// world is a store with a Keeper, both by one clock.
type world struct {
	*clock
	store  *store.Store
	keeper *Keeper
	open   []string
	total  store.Purged
	log    strings.Builder
}

func start(t *testing.T) *world {
	t.Helper()
	w := &world{clock: &clock{time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)}}
	s, err := store.Open(t.Context(), t.TempDir(), store.Options{Now: w.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	w.store = s
	w.keeper = &Keeper{Store: s, Owner: "a", Runs: 30 * 24 * time.Hour, Now: w.now, Log: slog.New(slog.NewTextHandler(&w.log, nil)),
		Open: func(context.Context) ([]string, error) { return w.open, nil },
		Purged: func(p store.Purged) {
			w.total.Runs += p.Runs
			w.total.Artifacts += p.Artifacts
		}}
	return w
}

// run adds an event and an artifact to a run, and returns the artifact's digest.
func (w *world) run(t *testing.T, id string, size int) string {
	t.Helper()
	if _, err := w.store.AppendEvents(t.Context(), id, []store.Event{{Kind: store.KindRun, Key: w.Format(time.RFC3339Nano), Data: []byte("{}"), At: w.now()}}); err != nil {
		t.Fatal(err)
	}
	digest, err := w.store.PutArtifact(t.Context(), "text/plain", []byte(id+strings.Repeat("x", size)))
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

func (w *world) once(t *testing.T) {
	t.Helper()
	if err := w.keeper.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// left lists which of the runs have events, and which of the artifacts are there.
func (w *world) left(t *testing.T, digests map[string]string) (names []string) {
	t.Helper()
	for run, digest := range digests {
		events, err := w.store.Events(t.Context(), run, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(events) > 0 {
			names = append(names, run)
		}
		if _, _, err := w.store.Artifact(t.Context(), digest); err == nil {
			names = append(names, run+"'s artifact")
		} else if !errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
	}
	slices.Sort(names)
	return names
}

func TestOldRunsGoWithTheirArtifactsAndOpenOnesStay(t *testing.T) {
	t.Parallel()
	w := start(t)
	digests := map[string]string{}
	for n := range 25 { // more than one batch
		digests[fmt.Sprintf("closed%02d", n)] = w.run(t, fmt.Sprintf("closed%02d", n), 1)
	}
	w.Time = w.Add(24 * time.Hour)
	w.open = []string{"waiting"}
	digests["waiting"] = w.run(t, "waiting", 1) // a day younger, and open
	digests["closed with it"] = w.run(t, "closed with it", 1)
	w.Time = w.Add(30 * 24 * time.Hour)
	digests["new"] = w.run(t, "new", 1)

	w.once(t)
	want := []string{"closed with it", "closed with it's artifact", "new", "new's artifact", "waiting", "waiting's artifact"}
	if got := w.left(t, digests); !slices.Equal(got, want) {
		t.Fatalf("left %q", got)
	}
	if w.total.Runs != 25 || w.total.Artifacts != 25 || !strings.Contains(w.log.String(), "runs=25") {
		t.Errorf("told %+v: %s", w.total, &w.log)
	}

	w.Time = w.Add(2 * time.Hour)
	w.once(t) // what was put since the open run began may belong to it, so it stays
	want = []string{"closed with it's artifact", "new", "new's artifact", "waiting", "waiting's artifact"}
	if got := w.left(t, digests); !slices.Equal(got, want) {
		t.Fatalf("with an open run, left %q", got)
	}

	w.open = nil
	w.Time = w.Add(2 * time.Hour)
	w.once(t)
	if got := w.left(t, digests); !slices.Equal(got, []string{"new", "new's artifact"}) {
		t.Fatalf("after it ended, left %q", got)
	}
}

func TestNothingIsDeletedWithoutKnowingWhatIsOpen(t *testing.T) {
	t.Parallel()
	w := start(t)
	digests := map[string]string{"old": w.run(t, "old", 1)}
	w.Time = w.Add(60 * 24 * time.Hour)
	w.keeper.Open = func(context.Context) ([]string, error) { return nil, errors.New("Temporal is away") }
	if err := w.keeper.Once(t.Context()); err == nil || !strings.Contains(err.Error(), "Temporal is away") {
		t.Errorf("error %v", err)
	}
	if got := w.left(t, digests); len(got) != 2 {
		t.Errorf("left %q", got)
	}
}

// Of two processes one deletes; the other follows when the first is gone.
func TestOneProcessDeletesAtATime(t *testing.T) {
	t.Parallel()
	w := start(t)
	digests := map[string]string{"old": w.run(t, "old", 1)}
	w.Time = w.Add(60 * 24 * time.Hour)
	other := *w.keeper
	other.Owner = "b"
	if won, err := w.store.Lease(t.Context(), lease, "a", Every); err != nil || !won {
		t.Fatal(won, err)
	}
	if err := other.Once(t.Context()); err != nil || len(w.left(t, digests)) != 2 {
		t.Fatalf("the other one deleted, too (%v)", err)
	}
	w.Time = w.Add(Every)
	if err := other.Once(t.Context()); err != nil || len(w.left(t, digests)) != 0 {
		t.Errorf("nobody followed: %v, left %q", err, w.left(t, digests))
	}
}

func TestArtifactsAreBounded(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.keeper.Runs, w.keeper.ArtifactBytes = 0, 250
	digests := map[string]string{}
	for _, run := range []string{"a", "b", "c", "d"} {
		digests[run] = w.run(t, run, 99)
		w.Time = w.Add(time.Minute)
	}
	w.once(t) // all of them are of the last hour
	if got := w.left(t, digests); len(got) != 8 {
		t.Fatalf("left %q", got)
	}
	w.Time = w.Add(2 * time.Hour)
	w.open = []string{"b"}
	w.once(t) // b and what came after it is protected
	if got := w.left(t, digests); !slices.Equal(got, []string{"a", "b", "b's artifact", "c", "c's artifact", "d", "d's artifact"}) {
		t.Fatalf("with an open run, left %q", got)
	}
	w.Time = w.Add(2 * time.Hour)
	w.open = nil
	w.once(t)
	if got := w.left(t, digests); !slices.Equal(got, []string{"a", "b", "c", "c's artifact", "d", "d's artifact"}) {
		t.Errorf("left %q", got)
	}
	if size, err := w.store.ArtifactBytes(t.Context()); err != nil || size != 200 {
		t.Errorf("%d bytes, %v", size, err)
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"30d": 720 * time.Hour, "1.5d": 36 * time.Hour, "36h": 36 * time.Hour, "0": 0, "0d": 0, "5m": -1, "-1d": -1, "x": -1, "": -1, "1e9d": -1} {
		var a Age
		if err := a.UnmarshalText([]byte(text)); (err != nil) != (want < 0) || err == nil && time.Duration(a) != want {
			t.Errorf("age %q: %v, %v", text, time.Duration(a), err)
		}
	}
	for text, want := range map[string]int64{"20GiB": 20 << 30, "500 MB": 5e8, "1024": 1024, "0": 0, "7B": 7, "-1": -1, "GiB": -1, "1e30": -1, "NaN": -1} {
		var b Bytes
		if err := b.UnmarshalText([]byte(text)); (err != nil) != (want < 0) || err == nil && int64(b) != want {
			t.Errorf("size %q: %v, %v", text, b, err)
		}
	}
}
