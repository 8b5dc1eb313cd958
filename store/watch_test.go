package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"toolsvc/store"
)

// collect watches until it has seen n events, and hands them over.
func collect(ctx context.Context, s *store.Store, run string, after int64, n int) <-chan []store.Event {
	done := make(chan []store.Event, 1)
	go func() {
		var seen []store.Event
		for e, err := range s.Watch(ctx, run, after) {
			if err != nil {
				break
			}
			if seen = append(seen, e); len(seen) == n {
				break
			}
		}
		done <- seen
	}()
	return done
}

func receive[T any](t *testing.T, ch <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-ch:
	case <-time.After(30 * time.Second):
		t.Fatal("nothing came within 30 s")
	}
	return v
}

func TestWatchReplaysThenFollows(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	appendNotes(t, s, "r", "k1", "k2", "k3")
	whole, later := collect(t.Context(), s, "r", 0, 5), collect(t.Context(), s, "r", 2, 3)
	appendNotes(t, s, "other", "x")
	appendNotes(t, s, "r", "k2", "k4") // k2 is there already and is not heard again
	appendNotes(t, s, "r", "k5")
	if got := ids(receive(t, whole)); got != "1=k1 2=k2 3=k3 4=k4 5=k5" {
		t.Errorf("saw %s", got)
	}
	if got := ids(receive(t, later)); got != "3=k3 4=k4 5=k5" {
		t.Errorf("after 2, saw %s", got)
	}
}

// In this process events are heard at once, not at the next poll.
func TestWatchHearsThisProcessAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	heard := make(chan time.Time)
	go func() {
		for _, err := range s.Watch(t.Context(), "r", 0) {
			if err != nil {
				return
			}
			heard <- time.Now()
		}
	}()
	var delays []time.Duration
	for n := range 21 {
		appendNotes(t, s, "r", fmt.Sprint("k", n))
		appended := time.Now()
		delays = append(delays, receive(t, heard).Sub(appended))
	}
	slices.Sort(delays)
	if median := delays[len(delays)/2]; median > 40*time.Millisecond { // waiting for polls, it is nearly 100 ms
		t.Errorf("heard after %v", median)
	}
}

// What is written through another connection, as other processes do, is heard without anything being appended here.
func TestWatchHearsOtherConnections(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	here, there := open(t, dir), open(t, dir)
	heard := make(chan string)
	go func() {
		for e, err := range here.Watch(t.Context(), "r", 0) {
			if err != nil {
				return
			}
			heard <- e.Key
		}
	}()
	for n := range 5 {
		key := fmt.Sprint("k", n)
		appendNotes(t, there, "other", key)
		appendNotes(t, there, "r", key)
		if got := receive(t, heard); got != key {
			t.Errorf("heard %s, want %s", got, key)
		}
	}
}

// Every event is seen exactly once and in order while this and another process append, across more than one page.
func TestWatchSeesAnotherProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	const many = 300 // the other process appends 300 batches, half of them to r_one: 1 to 3 events each
	appendNotes(t, s, "r_one", "first")
	other := start(t, "append", dir, "other", many)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	seen := collect(ctx, s, "r_one", 0, 1+300+50)
	for n := range 50 {
		appendNotes(t, s, "r_one", fmt.Sprintf("own-%d", n))
	}
	expected := 0
	for _, l := range other.read(-1) {
		if l[0] == "r_one" {
			expected++
		}
	}
	other.wait()
	if expected != 300 {
		t.Fatalf("the other process appended %d events to r_one", expected)
	}
	events := receive(t, seen)
	checkRun(t, "r_one", events)
	if len(events) != 1+expected+50 {
		t.Errorf("saw %d events", len(events))
	}
}

func TestWatchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	appendNotes(t, s, "r", "k1", "k2")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan string, 1)
	go func() {
		var seen []store.Event
		for e, err := range s.Watch(ctx, "r", 0) {
			if err != nil {
				ended <- err.Error()
				return
			}
			seen = append(seen, e)
			if len(seen) == 2 {
				cancel()
			}
		}
		ended <- ids(seen)
	}()
	if got := receive(t, ended); got != "1=k1 2=k2" {
		t.Errorf("ended with %s", got)
	}
}

func TestCloseEndsWatchers(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	appendNotes(t, s, "r", "k1")
	began, ended := make(chan bool), make(chan error, 1)
	go func() {
		for _, err := range s.Watch(t.Context(), "r", 0) {
			if err != nil {
				ended <- err
				return
			}
			began <- true
		}
		ended <- nil
	}()
	receive(t, began)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := receive(t, ended); !errors.Is(err, store.ErrClosed) {
		t.Errorf("ended with %v", err)
	}
	for _, err := range s.Watch(t.Context(), "r", 0) {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("a watcher of a closed store gets %v", err)
		}
	}
}

func TestManyWatchersComeAndGo(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	for round := range 5 {
		var watchers []<-chan []store.Event
		for range 20 {
			watchers = append(watchers, collect(t.Context(), s, "r", int64(round), 1))
		}
		appendNotes(t, s, "r", fmt.Sprint("k", round))
		for _, w := range watchers {
			if got := receive(t, w); len(got) != 1 || got[0].ID != int64(round+1) {
				t.Fatalf("round %d: saw %s", round, ids(got))
			}
		}
	}
}
