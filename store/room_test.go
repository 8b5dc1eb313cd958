package store

import (
	"errors"
	"strings"
	"testing"
)

func TestRoom(t *testing.T) {
	t.Parallel()
	for free, full := range map[uint64]bool{0: true, minRoom - 1: true, minRoom: false, 1 << 62: false} {
		err := room("/state", free)
		if errors.Is(err, ErrDiskFull) != full || full && !strings.Contains(err.Error(), "/state") {
			t.Errorf("%d bytes free: %v", free, err)
		}
	}
	for free, full := range map[uint64]bool{0: true, filledBelow - 1: true, filledBelow: false, minRoom - 1: false} {
		if err := filled("/state", free); errors.Is(err, ErrDiskFull) != full || full && !strings.Contains(err.Error(), "/state") {
			t.Errorf("filled with %d bytes free: %v", free, err)
		}
	}
	dir := t.TempDir()
	s, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	free, err := freeBytes(dir)
	if err != nil || free == 0 {
		t.Fatalf("%d bytes are free in %s: %v", free, dir, err)
	}
	if got, want := s.Filled(), filled(dir, free); (got == nil) != (want == nil) {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := s.Room(), room(dir, free); (got == nil) != (want == nil) {
		t.Errorf("%v, want %v", got, want)
	}
}
