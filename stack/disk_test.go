//go:build linux

package stack

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"toolsvc/planner"
	"toolsvc/store"
	"toolsvc/tool"
)

// A call that is under way when the disk becomes full: its caller is told so in seconds, and never that nothing was done; when there is room
// again, the run comes to its end, and the same request under its key gets what the call came to.
func TestDiskBecomesFullDuringACall(t *testing.T) {
	disk, work := t.TempDir(), t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64m"); err != nil {
		t.Skipf("a disk that can be filled takes the right to mount one: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	s, err := Open(t.Context(), Options{StateDir: filepath.Join(disk, "state"), Ephemeral: true, Workspace: work})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.WithoutCancel(t.Context())) })
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	req := request(t, "terminal.run", map[string]any{"command": "touch began; until [ -e go ]; do sleep 0.05; done; echo done >> log"})
	req.IdempotencyKey = "filled"
	answered := make(chan error, 1)
	go func() {
		_, err := s.Service.Call(ctx, req, "en")
		answered <- err
	}()
	for _, err := os.Stat(filepath.Join(work, "began")); err != nil; _, err = os.Stat(filepath.Join(work, "began")) {
		select {
		case err := <-answered:
			t.Fatalf("the command did not begin: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	fill(t, filepath.Join(disk, "filler"))
	filled := time.Now()
	if err := os.WriteFile(filepath.Join(work, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err = <-answered
	full, ok := errors.AsType[*planner.FilledError](err)
	if !ok || full.RunID == "" || !errors.Is(err, store.ErrDiskFull) || errors.Is(err, planner.ErrUnavailable) {
		t.Fatalf("the call came to %v", err)
	}
	if took := time.Since(filled); took > 20*time.Second {
		t.Errorf("it was told after %s", took)
	}
	if _, err := s.Service.Call(ctx, request(t, "terminal.run", map[string]any{"command": "true"}), "en"); !errors.Is(err, planner.ErrNoRoom) {
		t.Errorf("a new call came to %v", err)
	}
	if err := os.Remove(filepath.Join(disk, "filler")); err != nil {
		t.Fatal(err)
	}
	res, err := s.Service.Call(ctx, req, "en") // the same request again
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(work, "log"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	done := strings.Count(string(text), "done")
	switch {
	case res.RunID != full.RunID:
		t.Errorf("the run was told as %s, and is %s", full.RunID, res.RunID)
	case done > 1:
		t.Errorf("the command ran %d times", done)
	case res.OK() && done != 1:
		t.Error("success, and nothing was done")
	case !res.OK() && done == 1 && res.Error.Code != tool.OutcomeUnknown:
		t.Errorf("the command ran, and its result is %+v", res.Error)
	}
	if err := res.Validate(); err != nil {
		t.Error(err)
	}
	t.Logf("afterwards: %+v", res.Error)
}

// fill leaves nothing free on the disk of path.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // it is full
	block := make([]byte, 64<<10)
	for range 64 << 4 {
		if _, err := f.Write(block); errors.Is(err, syscall.ENOSPC) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the disk is larger than it should be")
}
