package chromium

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestFindMissing(t *testing.T) {
	t.Parallel()
	_, err := Find(filepath.Join(t.TempDir(), "none"))
	if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "apt-get install chromium") {
		t.Errorf("%v", err)
	}
}

// TestAcquire: the second one who comes finds the browser that the first has started; one that is killed is replaced.
func TestAcquire(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "toolsvc-chromium-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 50 { // children of the browser may write a moment longer
			if os.RemoveAll(dir) == nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o := Options{StateDir: dir, Width: 800, Height: 600}
	one, conn, fresh, err := Acquire(ctx, o)
	if err != nil || !fresh {
		t.Fatal(err, fresh)
	}
	defer conn.Close()
	two, again, fresh, err := Acquire(ctx, o)
	if err != nil || fresh || two.PID != one.PID {
		t.Fatalf("%v, fresh %t, process %d after %d", err, fresh, two.PID, one.PID)
	}
	defer again.Close()
	if err := two.End(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-conn.Lost():
	case <-ctx.Done():
		t.Fatal("the loss is not noticed")
	}
	three, last, fresh, err := Acquire(ctx, o)
	if err != nil || !fresh || three.PID == one.PID {
		t.Fatalf("%v, fresh %t", err, fresh)
	}
	defer last.Close()

	// A copy of the directory has a browser of its own, and leaves the original's alone; a directory that was moved keeps its.
	copied := filepath.Join(dir, "copied")
	if err := os.MkdirAll(filepath.Join(copied, "profile"), 0o700); err != nil {
		t.Fatal(err)
	}
	record, err := os.ReadFile(RecordFile(dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(RecordFile(copied), record, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := EndRecorded(copied); err != nil || !three.Running() {
		t.Fatalf("the original's browser was ended (%v)", err)
	}
	four, other, fresh, err := Acquire(ctx, Options{StateDir: copied, Width: 800, Height: 600})
	if err != nil || !fresh || four.PID == three.PID {
		t.Fatalf("%v, fresh %t: the copy uses the original's browser", err, fresh)
	}
	other.Close()
	if err := EndRecorded(copied); err != nil || four.Running() || !three.Running() {
		t.Errorf("%v: the copy's browser runs %t, the original's %t", err, four.Running(), three.Running())
	}

	for range 2 { // a process that never used it ends it by its record; then there is nothing left to end
		if err := EndRecorded(dir); err != nil {
			t.Error(err)
		}
		if three.Running() {
			t.Error("the browser still runs")
		}
	}
}

func TestStartThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "browser")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho 'no display for you' >&2\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, _, _, err := Acquire(t.Context(), Options{Path: script, StateDir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "no display for you") {
		t.Errorf("%v", err)
	}
}
