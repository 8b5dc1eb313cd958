package store_test

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"toolsvc/store"
)

func TestMarkIsFoundAndNeverMadeTwice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	first := mark("r", "c", 1)
	if err := s.MarkDispatch(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	second := first
	second.Evidence = []byte("other")
	if err := s.MarkDispatch(t.Context(), second); !errors.Is(err, store.ErrMarked) {
		t.Errorf("marking again gives %v", err)
	}
	bare := store.Mark{RunID: "r", CallID: "c", Attempt: 2, At: noon}
	if err := s.MarkDispatch(t.Context(), bare); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*store.Store{s, open(t, dir)} {
		got, found, err := s.Dispatch(t.Context(), "c", 1)
		if err != nil || !found || !bytes.Equal(got.Evidence, first.Evidence) || got.RunID != "r" || got.CallID != "c" || got.Attempt != 1 || got.At != noon {
			t.Errorf("attempt 1: %v, %v, %+v", found, err, got)
		}
		if got, found, err := s.Dispatch(t.Context(), "c", 2); err != nil || !found || len(got.Evidence) != 0 {
			t.Errorf("attempt 2: %v, %v, %+v", found, err, got)
		}
		if _, found, err := s.Dispatch(t.Context(), "c", 3); err != nil || found {
			t.Errorf("attempt 3, never marked: %v, %v", found, err)
		}
	}
}

// Of several workers that want to dispatch the same attempt, one may.
func TestOneOfManyMayDispatch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stores := []*store.Store{open(t, dir), open(t, dir)}
	var may atomic.Int32
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			switch err := stores[w%2].MarkDispatch(t.Context(), mark("r", "c", 1)); {
			case err == nil:
				may.Add(1)
			case !errors.Is(err, store.ErrMarked):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if may.Load() != 1 {
		t.Errorf("%d workers may dispatch", may.Load())
	}
}

func TestMarkRefusesWhatItCannotStore(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	for name, change := range map[string]func(*store.Mark){
		"no run":        func(m *store.Mark) { m.RunID = "" },
		"no call":       func(m *store.Mark) { m.CallID = "" },
		"no attempt":    func(m *store.Mark) { m.Attempt = 0 },
		"no time":       func(m *store.Mark) { m.At = time.Time{} },
		"much evidence": func(m *store.Mark) { m.Evidence = make([]byte, store.MaxMarkEvidence+1) },
	} {
		m := mark("r", "c", 1)
		change(&m)
		if err := s.MarkDispatch(t.Context(), m); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, found, err := s.Dispatch(t.Context(), "c", 1); found || err != nil {
		t.Errorf("something was marked: %v, %v", found, err)
	}
}
