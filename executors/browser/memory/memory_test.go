package memory_test

import (
	"testing"
	"time"

	"toolsvc/executors/browser/memory"
	"toolsvc/store"
)

var (
	target = memory.Target{Name: "Save", Role: "button"}
	page   = memory.Page{Origin: "https://shop.example", Pattern: "/orders/*"}
	button = memory.Fingerprint{Role: "button", Name: "Save", Tag: "button", ID: "save"}
)

// kept makes a memory on a real store, and its clock.
func kept(t *testing.T) (*memory.Memory, *time.Time) {
	t.Helper()
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	s, err := store.Open(t.Context(), t.TempDir(), store.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return memory.New(s, func() time.Time { return now }), &now
}

func confirm(t *testing.T, m *memory.Memory, p memory.Page, f memory.Fingerprint) *memory.Entry {
	t.Helper()
	before, err := m.Recall(t.Context(), p, target)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Confirm(t.Context(), p, target, f, false, before); err != nil {
		t.Fatal(err)
	}
	e, err := m.Recall(t.Context(), p, target)
	if err != nil || e == nil {
		t.Fatalf("%+v, %v", e, err)
	}
	return e
}

func TestConfirmRecallRefute(t *testing.T) {
	t.Parallel()
	m, now := kept(t)
	confirm(t, m, page, button)
	first := *now
	*now = now.Add(time.Hour)
	if e := confirm(t, m, page, button); e.Times != 1 || !e.ConfirmedAt.Equal(first) {
		t.Errorf("written again although nothing changed: %+v", e)
	}
	*now = now.Add(48 * time.Hour)
	if e := confirm(t, m, page, button); !e.ConfirmedAt.Equal(*now) || !e.LearntAt.Equal(first) {
		t.Errorf("not refreshed: %+v", e)
	}
	changed := button
	changed.ID = "save-2"
	if e := confirm(t, m, page, changed); e.Element.ID != "save-2" || e.Times != 3 {
		t.Errorf("not replaced: %+v", e)
	}
	for _, p := range []memory.Page{{Origin: "https://other.example", Pattern: page.Pattern}, {Origin: page.Origin, Pattern: "/cart"}} {
		if e, err := m.Recall(t.Context(), p, target); e != nil || err != nil {
			t.Errorf("%+v: %+v, %v", p, e, err)
		}
	}
	if err := m.Refute(t.Context(), page, target); err != nil {
		t.Fatal(err)
	}
	if e, err := m.Recall(t.Context(), page, target); e != nil || err != nil {
		t.Errorf("refuted, and still remembered: %+v, %v", e, err)
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	m, now := kept(t)
	confirm(t, m, page, button)
	*now = now.Add(memory.Expiry + time.Hour)
	if e, err := m.Recall(t.Context(), page, target); e != nil || err != nil {
		t.Errorf("expired, and still used: %+v, %v", e, err)
	}
	if list, err := m.List(t.Context(), memory.Filter{}); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestListAndErase(t *testing.T) {
	t.Parallel()
	m, _ := kept(t)
	cart := memory.Page{Origin: page.Origin, Pattern: "/cart"}
	other := memory.Page{Origin: "https://other.example", Pattern: "/cart"}
	count := func(f memory.Filter) int {
		t.Helper()
		list, err := m.List(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	for _, c := range []struct {
		name string
		f    memory.Filter
		want int64
	}{
		{"all", memory.Filter{}, 3},
		{"an origin", memory.Filter{Origin: "https://SHOP.example"}, 2},
		{"a pattern", memory.Filter{Pattern: "/cart"}, 2},
		{"both", memory.Filter{Origin: page.Origin, Pattern: "/cart"}, 1},
		{"words", memory.Filter{Contains: "sAVe"}, 3},
		{"other words", memory.Filter{Contains: "nothing"}, 0},
	} {
		for _, p := range []memory.Page{page, cart, other} {
			confirm(t, m, p, button)
		}
		if n := count(c.f); int64(n) != c.want {
			t.Errorf("%s: lists %d, want %d", c.name, n, c.want)
		}
		if n, err := m.Erase(t.Context(), c.f); err != nil || n != c.want || count(memory.Filter{}) != 3-int(c.want) {
			t.Errorf("%s: erased %d, want %d, %v", c.name, n, c.want, err)
		}
	}
}
