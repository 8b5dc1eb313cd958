package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"toolsvc/store"
	"toolsvc/tool"
)

// at is note, at another time.
func at(key string, when time.Time) []store.Event {
	e := note(key)
	e.At = when
	return []store.Event{e}
}

func TestPurgeDeletesWholeOldRuns(t *testing.T) {
	t.Parallel()
	dir, ctx := t.TempDir(), t.Context()
	now := noon.AddDate(0, 0, -60)
	s := open(t, dir, store.Options{Now: func() time.Time { return now }})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	put := func(text string) string {
		t.Helper()
		digest, err := s.PutArtifact(ctx, "text/plain", []byte(text))
		must(err)
		return digest
	}
	claim := func(key, run string) bool {
		t.Helper()
		_, won, err := s.ClaimKey(ctx, key, "c", run, "d")
		must(err)
		return won
	}
	appendAt := func(run, key string, when time.Time) []store.Event {
		t.Helper()
		out, err := s.AppendEvents(ctx, run, at(key, when))
		must(err)
		return out
	}
	old, recent := now, noon.AddDate(0, 0, -1)

	for n := range 45 { // more than one batch
		appendAt(fmt.Sprint("old", n), "k1", old)
		appendAt(fmt.Sprint("old", n), "k2", old)
	}
	must(s.MarkDispatch(ctx, store.Mark{RunID: "old0", CallID: "c_old", Attempt: 1, At: old}))
	claim("old key", "old1")
	claim("lonely key", "old without events")
	appendAt("going on", "k1", old)
	appendAt("going on", "k2", recent)
	appendAt("going on", "k3", old) // a late one does not make the run older
	appendAt("marked lately", "k1", old)
	must(s.MarkDispatch(ctx, store.Mark{RunID: "marked lately", CallID: "c_late", Attempt: 1, At: recent}))
	appendAt("claimed lately", "k1", old)
	kept, gone := put("kept"), put("gone")
	now = recent
	claim("late key", "claimed lately")
	put("kept")

	stranded := filepath.Join(dir, "artifacts", "sha256", gone[7:9], gone[7:]+".18c.tmp") // as a kill in the middle of a put leaves it
	fresh := filepath.Join(dir, "artifacts", "sha256", gone[7:9], gone[7:]+".18d.tmp")
	for _, f := range []string{stranded, fresh} {
		must(os.WriteFile(f, []byte("go"), 0o600))
	}
	must(os.Chtimes(stranded, old, old))
	must(os.Chtimes(fresh, noon, noon))

	cut := noon.AddDate(0, 0, -30)
	got, err := s.Purge(ctx, cut)
	must(err)
	if want := (store.Purged{Runs: 46, Events: 90, Dispatches: 1, Keys: 2, Artifacts: 1, ArtifactBytes: 4}); got != want {
		t.Errorf("purged %+v, want %+v", got, want)
	}
	if again, err := s.Purge(ctx, cut); err != nil || again != (store.Purged{}) {
		t.Errorf("purging again: %+v, %v", again, err)
	}
	for run, want := range map[string]int{"old0": 0, "old44": 0, "going on": 3, "marked lately": 1, "claimed lately": 1} {
		if events, err := s.Events(ctx, run, 0, 0); err != nil || len(events) != want {
			t.Errorf("run %q has %d events (%v), want %d", run, len(events), err, want)
		}
	}
	for call, want := range map[string]bool{"c_old": false, "c_late": true} {
		if _, found, err := s.Dispatch(ctx, call, 1); err != nil || found != want {
			t.Errorf("mark of %s: %v, %v", call, found, err)
		}
	}
	if !claim("old key", "new") || claim("late key", "new") {
		t.Error("the old key is not free, or the late one is")
	}
	if _, data, err := s.Artifact(ctx, kept); err != nil || string(data) != "kept" {
		t.Errorf("what was put again lately: %q, %v", data, err)
	}
	if got := strings.Join(files(t, filepath.Join(dir, "artifacts")), " "); strings.Contains(got, ".18c.tmp") || !strings.Contains(got, ".18d.tmp") || strings.Contains(got, gone[7:]+" ") {
		t.Errorf("the bucket holds %s", got)
	}
	// A run that goes on after all never uses a number twice.
	if out := appendAt("old0", "k1", noon); ids(out) != "3=k1" {
		t.Errorf("a purged run goes on with %s", ids(out))
	}
	if got, err := s.Purge(ctx, noon.Add(time.Hour)); err != nil || got.Events != 6 {
		t.Errorf("purging all: %+v, %v", got, err)
	}
}

// An artifact that is put while its older self is purged is there afterwards.
func TestPurgeNeverTakesWhatIsBeingPut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	longAgo := open(t, dir, store.Options{Now: func() time.Time { return noon.AddDate(-1, 0, 0) }})
	today := open(t, dir, store.Options{Now: func() time.Time { return noon }})
	for round := range 30 {
		var data [][]byte
		for n := range 4 {
			data = append(data, fmt.Appendf(nil, "%d/%d", round, n))
			if _, err := longAgo.PutArtifact(t.Context(), "text/plain", data[n]); err != nil {
				t.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := longAgo.Purge(t.Context(), noon.AddDate(0, -1, 0)); err != nil {
				t.Error(err)
			}
		})
		for _, d := range data {
			wg.Go(func() {
				if _, err := today.PutArtifact(t.Context(), "text/plain", d); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, d := range data {
			if _, got, err := today.Artifact(t.Context(), tool.Digest(d)); err != nil || string(got) != string(d) {
				t.Fatalf("round %d: %q, %v", round, got, err)
			}
		}
	}
}

func TestPurgeStopsWithItsContext(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	appendNotes(t, s, "r", "k1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := s.Purge(ctx, noon.Add(time.Hour)); err == nil || got != (store.Purged{}) {
		t.Errorf("purged %+v, %v", got, err)
	}
	if got := ids(all(t, s, "r")); got != "1=k1" {
		t.Errorf("left %s", got)
	}
}
