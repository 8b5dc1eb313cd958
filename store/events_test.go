package store_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"toolsvc/store"
)

func TestAppendNumbersEventsFromOne(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	if got := ids(appendNotes(t, s, "r_a", "k1", "k2")); got != "1=k1 2=k2" {
		t.Errorf("appended %s", got)
	}
	if got := ids(appendNotes(t, s, "r_b", "k1")); got != "1=k1" {
		t.Errorf("another run: appended %s", got)
	}
	if got := ids(appendNotes(t, s, "r_a", "k3")); got != "3=k3" {
		t.Errorf("later: appended %s", got)
	}
	if got := ids(all(t, s, "r_a")); got != "1=k1 2=k2 3=k3" {
		t.Errorf("stored %s", got)
	}
	if got := all(t, s, "r_unknown"); len(got) != 0 {
		t.Errorf("an unknown run has %s", ids(got))
	}
	if got, err := s.AppendEvents(t.Context(), "r_a", nil); err != nil || len(got) != 0 {
		t.Errorf("appending nothing gives %v, %v", got, err)
	}
}

func TestAppendAgainUnderTheSameKeyAddsNothing(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	appendNotes(t, s, "r", "k1", "k2")
	again := note("k2")
	again.Data, again.At = []byte(`{"other":true}`), noon.Add(time.Hour)
	out, err := s.AppendEvents(t.Context(), "r", []store.Event{note("k3"), again, note("k3"), note("k4")})
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(out); got != "3=k3 2=k2 3=k3 4=k4" {
		t.Errorf("returned %s", got)
	}
	if want := note("k2"); string(out[1].Data) != string(want.Data) || !out[1].At.Equal(want.At) {
		t.Errorf("the returned event is not the stored one: %+v", out[1])
	}
	if got := ids(all(t, s, "r")); got != "1=k1 2=k2 3=k3 4=k4" {
		t.Errorf("stored %s", got)
	}
	appendNotes(t, s, "other", "k1") // a key belongs to its run
}

func TestEventsPages(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	appendNotes(t, s, "r", "k1", "k2", "k3")
	for _, c := range []struct {
		after int64
		limit int
		want  string
	}{
		{0, 2, "1=k1 2=k2"}, {2, 2, "3=k3"}, {3, 2, ""}, {99, 2, ""}, {-5, 1, "1=k1"}, {0, 0, "1=k1 2=k2 3=k3"}, {0, store.MaxPage + 1, "1=k1 2=k2 3=k3"},
	} {
		got, err := s.Events(t.Context(), "r", c.after, c.limit)
		if err != nil || ids(got) != c.want {
			t.Errorf("after %d, at most %d: %q, %v; want %q", c.after, c.limit, ids(got), err, c.want)
		}
	}
}

func TestEventDataIsOneLineOfValidUTF8(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	e := store.Event{Kind: "k", Key: "1", At: noon.In(time.FixedZone("", 9*3600)), Data: []byte("{ \"text\":\n\t\"재생\xff <b>\\u0000\" }")}
	if _, err := s.AppendEvents(t.Context(), "r", []store.Event{e}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Events(t.Context(), "r", 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	if want := "{\"text\":\"재생\uFFFD <b>\\u0000\"}"; string(got[0].Data) != want {
		t.Errorf("data is %s, want %s", got[0].Data, want)
	}
	if got[0].At != noon {
		t.Errorf("time is %v, want %v", got[0].At, noon)
	}
}

func TestAppendRefusesWhatItCannotStore(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	with := func(change func(*store.Event)) []store.Event {
		e := note("bad")
		change(&e)
		return []store.Event{note("good"), e}
	}
	long := strings.Repeat("x", 300)
	for name, c := range map[string]struct {
		run    string
		events []store.Event
		want   error
	}{
		"no run":       {"", with(func(*store.Event) {}), store.ErrInvalid},
		"long run":     {long, with(func(*store.Event) {}), store.ErrTooLarge},
		"no key":       {"r", with(func(e *store.Event) { e.Key = "" }), store.ErrInvalid},
		"long key":     {"r", with(func(e *store.Event) { e.Key = long }), store.ErrTooLarge},
		"no kind":      {"r", with(func(e *store.Event) { e.Kind = "" }), store.ErrInvalid},
		"no time":      {"r", with(func(e *store.Event) { e.At = time.Time{} }), store.ErrInvalid},
		"far time":     {"r", with(func(e *store.Event) { e.At = noon.AddDate(9000, 0, 0) }), store.ErrInvalid},
		"no data":      {"r", with(func(e *store.Event) { e.Data = nil }), store.ErrInvalid},
		"broken data":  {"r", with(func(e *store.Event) { e.Data = []byte(`{"a":`) }), store.ErrInvalid},
		"long data":    {"r", with(func(e *store.Event) { e.Data = make([]byte, store.MaxEventData+1) }), store.ErrTooLarge},
		"many at once": {"r", make([]store.Event, store.MaxAppend+1), store.ErrTooLarge},
	} {
		if _, err := s.AppendEvents(t.Context(), c.run, c.events); !errors.Is(err, c.want) || !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := all(t, s, "r"); len(got) != 0 { // not even the good event beside the bad one
		t.Errorf("stored %s", ids(got))
	}
}

// Whoever appends at the same time, the events of a run are numbered without a gap and without a double, every writer gets the number that
// is stored, and a retried append is heard once.
func TestConcurrentAppendsAreDenseAndUnique(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stores := []*store.Store{open(t, dir), open(t, dir)}
	const writers, rounds = 12, 15
	var mu sync.Mutex
	told := map[string]map[string]int64{"r_one": {}, "r_two": {}, "r_three": {}}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			s := stores[w%2]
			for n := range rounds {
				for run := range told {
					batch := []store.Event{note(fmt.Sprintf("%d-%d", w, n)), note(fmt.Sprintf("%d-%d", w/2, n))} // the second one comes from two writers
					out, err := s.AppendEvents(t.Context(), run, batch)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					for _, e := range out {
						if was := told[run][e.Key]; was != 0 && was != e.ID {
							t.Errorf("run %s: key %s is %d and %d", run, e.Key, was, e.ID)
						}
						told[run][e.Key] = e.ID
					}
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	for run, keys := range told {
		events := all(t, stores[0], run)
		if len(events) != len(keys) || len(events) != writers*rounds {
			t.Errorf("run %s has %d events for %d keys", run, len(events), len(keys))
		}
		for _, e := range events {
			if keys[e.Key] != e.ID {
				t.Errorf("run %s: the writer of %s was told %d, stored is %d", run, e.Key, keys[e.Key], e.ID)
			}
		}
	}
}
