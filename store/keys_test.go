package store_test

import (
	"errors"
	"strings"
	"testing"

	"toolsvc/store"
)

func TestFirstClaimWins(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	first, won, err := s.ClaimKey(t.Context(), "key", "c_1", "r_1", "sha256:a")
	if err != nil || !won || first.CallID != "c_1" || first.RunID != "r_1" || first.ArgsDigest != "sha256:a" || first.Key != "key" || first.At.IsZero() {
		t.Fatalf("first: %+v, %v, %v", first, won, err)
	}
	s = open(t, dir) // it lasts
	got, won, err := s.ClaimKey(t.Context(), "key", "c_2", "r_2", "sha256:a")
	if err != nil || won || got != first {
		t.Errorf("same arguments: %+v, %v, %v; want the first claim", got, won, err)
	}
	got, won, err = s.ClaimKey(t.Context(), "key", "c_1", "r_1", "sha256:b")
	if !errors.Is(err, store.ErrKeyReused) || won || got != first {
		t.Errorf("other arguments: %+v, %v, %v", got, won, err)
	}
	if err == nil || !strings.Contains(err.Error(), "c_1") || !strings.Contains(err.Error(), "other arguments") {
		t.Errorf("the error does not say enough: %v", err)
	}
	if _, won, err := s.ClaimKey(t.Context(), "other key", "c_2", "r_2", "sha256:b"); err != nil || !won {
		t.Errorf("another key: %v, %v", won, err)
	}
	for _, c := range [][4]string{{"", "c", "r", "d"}, {"k", "", "r", "d"}, {"k", "c", "", "d"}, {"k", "c", "r", ""}, {strings.Repeat("k", 300), "c", "r", "d"}} {
		if _, _, err := s.ClaimKey(t.Context(), c[0], c[1], c[2], c[3]); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("claim of %q: %v", c, err)
		}
	}
}
