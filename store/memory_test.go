package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"toolsvc/store"
)

func TestMemories(t *testing.T) {
	t.Parallel()
	s, ctx := open(t, t.TempDir()), t.Context()
	put := func(scope, key, data string) {
		t.Helper()
		if err := s.PutMemory(ctx, scope, key, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	put("https://a.example", "1", `{"n":1}`)
	put("https://a.example", "2", `{"n":2}`)
	put("https://b.example", "1", `{"n":3}`)
	put("https://a.example", "1", `{"n":4}`) // replaces
	if data, found, err := s.Memory(ctx, "https://a.example", "1"); err != nil || !found || string(data) != `{"n":4}` {
		t.Errorf("%s, %v, %v", data, found, err)
	}
	if _, found, err := s.Memory(ctx, "https://b.example", "2"); err != nil || found {
		t.Errorf("of another scope: %v, %v", found, err)
	}
	if list, err := s.Memories(ctx, "https://a.example"); err != nil || len(list) != 2 {
		t.Errorf("%q, %v", list, err)
	}
	if n, err := s.EraseMemory(ctx, "https://a.example", "1"); err != nil || n != 1 {
		t.Errorf("erased %d, %v", n, err)
	}
	if _, found, err := s.Memory(ctx, "https://a.example", "1"); err != nil || found {
		t.Errorf("erased, and there: %v, %v", found, err)
	}
	if n, err := s.EraseMemory(ctx, "", ""); err != nil || n != 2 {
		t.Errorf("erased %d, %v", n, err)
	}
	if list, err := s.Memories(ctx, ""); err != nil || len(list) != 0 {
		t.Errorf("%q, %v", list, err)
	}
}

func TestMemoriesThatAreNotKept(t *testing.T) {
	t.Parallel()
	s, ctx := open(t, t.TempDir()), t.Context()
	for name, c := range map[string]struct{ scope, key, data string }{
		"no scope":  {"", "k", `{}`},
		"no key":    {"s", "", `{}`},
		"not JSON":  {"s", "k", `{`},
		"too large": {"s", "k", `"` + strings.Repeat("x", store.MaxMemory) + `"`},
		"long key":  {"s", strings.Repeat("k", 5000), `{}`},
	} {
		if err := s.PutMemory(ctx, c.scope, c.key, []byte(c.data)); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.EraseMemory(ctx, "", "k"); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("a key without a scope: %v", err)
	}
}

// A scope keeps its latest memories only.
func TestMemoriesAreBounded(t *testing.T) {
	t.Parallel()
	s, ctx := open(t, t.TempDir()), t.Context()
	for i := range store.MaxMemoriesPerScope + 3 {
		if err := s.PutMemory(ctx, "s", fmt.Sprint(i), []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := s.Memories(ctx, "s"); err != nil || len(list) != store.MaxMemoriesPerScope {
		t.Errorf("%d are kept, %v", len(list), err)
	}
	for key, want := range map[string]bool{"0": false, "2": false, "3": true, fmt.Sprint(store.MaxMemoriesPerScope + 2): true} {
		if _, found, err := s.Memory(ctx, "s", key); err != nil || found != want {
			t.Errorf("%s: %v, %v", key, found, err)
		}
	}
}
