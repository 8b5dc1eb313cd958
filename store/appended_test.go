package store_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"toolsvc/store"
)

// Each event is told once, by the process that stored it, however often and by whomever it is appended.
func TestAppendedIsToldOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var mu sync.Mutex
	told := map[string]int{}
	tell := func(_ context.Context, events []store.Event) {
		mu.Lock()
		defer mu.Unlock()
		for _, e := range events {
			if e.ID == 0 || e.RunID != "r" {
				t.Errorf("it was told before it was stored: %+v", e)
			}
			told[e.Key]++
		}
	}
	a, b := open(t, dir, store.Options{Appended: tell}), open(t, dir, store.Options{Appended: tell})
	var wg sync.WaitGroup
	for range 4 {
		for _, s := range []*store.Store{a, b} {
			wg.Go(func() { appendNotes(t, s, "r", "k1", "k2") })
			wg.Go(func() { appendNotes(t, s, "r", "k2", "k3") })
		}
	}
	wg.Wait()
	for _, k := range []string{"k1", "k2", "k3"} {
		if told[k] != 1 {
			t.Errorf("%s was told %d times", k, told[k])
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.AppendEvents(ctx, "r", []store.Event{note("k4")}); err == nil || told["k4"] != 0 {
		t.Errorf("what was not stored was told %d times (%v)", told["k4"], err)
	}
}

func TestLease(t *testing.T) {
	t.Parallel()
	now := noon
	dir := t.TempDir()
	clock := store.Options{Now: func() time.Time { return now }}
	a, b := open(t, dir, clock), open(t, dir, clock)
	take := func(s *store.Store, owner string, want bool) {
		t.Helper()
		if won, err := s.Lease(t.Context(), "work", owner, time.Minute); err != nil || won != want {
			t.Errorf("%s: %v, %v", owner, won, err)
		}
	}
	take(a, "a", true)
	take(b, "b", false)
	now = now.Add(30 * time.Second)
	take(a, "a", true) // renewed
	now = now.Add(45 * time.Second)
	take(b, "b", false)
	now = now.Add(15 * time.Second)
	take(b, "b", true)
	take(a, "a", false)
	if _, err := a.Lease(t.Context(), "", "a", time.Minute); err == nil {
		t.Error("a lease without a name was given")
	}
}
