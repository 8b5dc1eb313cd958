//go:build linux

package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // holds the lock of the store
)

// inject breaks what the fault says, at its time and for its while, and mends it. landed tells that it met something: a call under way, a
// browser that ran, an answer that was lost. An error says that what was broken could not be mended.
func (w *world) inject(ctx context.Context, f Fault) (landed bool, err error) {
	if !pause(ctx, f.At) {
		return false, nil
	}
	busy := w.client.inFlight.Load() > 0
	until := time.Now().Add(f.For).UnixNano()
	switch f.Kind {
	case Kill:
		return busy, w.servers[f.Machine].kill(ctx, f.For)
	case Pause:
		return w.servers[f.Machine].hold(ctx, f.For) && busy, nil
	case KillBrowser:
		return killBrowser(w.servers[f.Machine].stateDir()), nil
	case LoseAnswers:
		before := w.front.lost.Load()
		w.front.loseUntil.Store(until)
		pause(ctx, f.For)
		return w.front.lost.Load() > before, nil
	case LockStore:
		return busy, w.lockStore(ctx, f.For)
	case StopStore:
		return busy, w.stopStore(ctx, f.For)
	case FillDisk:
		return busy, w.fillDisk(ctx, f.For)
	case CutTemporal:
		landed = w.wire.cut() > 0 && busy
		pause(ctx, f.For)
		w.wire.mend()
		return landed, nil
	case KillTemporal:
		return busy, w.shared.kill(ctx, f.For)
	case SlowModel, BadModel:
		at := &w.model.slowUntil
		if f.Kind == BadModel {
			at = &w.model.badUntil
		}
		before := w.model.hit.Load()
		at.Store(until)
		pause(ctx, f.For)
		return w.model.hit.Load() > before, nil
	}
	return false, fmt.Errorf("there is no fault %q", f.Kind)
}

// killBrowser kills the first process of the Chromium of a server; the others end with it.
func killBrowser(stateDir string) bool {
	text, err := os.ReadFile(filepath.Join(stateDir, "browser", "browser", "chromium.json"))
	if err != nil {
		return false
	}
	var record struct {
		PID int `json:"pid"`
	}
	return json.Unmarshal(text, &record) == nil && record.PID > 1 && syscall.Kill(record.PID, syscall.SIGKILL) == nil
}

// lockStore holds the store's file for itself, as another program could.
func (w *world) lockStore(ctx context.Context, d time.Duration) error {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.state(), "toolsvc.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // nothing was written
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing was written
	if _, err := conn.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		return nil // others hold it; then this fault does not land, which the count of calls does not know
	}
	pause(ctx, d)
	_, err = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	return err
}

// fillDisk leaves no room in the file system of the state for a while.
func (w *world) fillDisk(ctx context.Context, d time.Duration) error {
	f, err := os.CreateTemp(w.state(), "filler-*") // two of them may meet
	if err != nil {
		return err
	}
	chunk := make([]byte, 1<<20)
	for len(chunk) > 0 { // ever smaller, until not a byte fits
		if _, err := f.Write(chunk); err != nil {
			chunk = chunk[:len(chunk)/2]
		}
	}
	f.Close() //nolint:errcheck // it could not be written, as wanted
	pause(ctx, d)
	return os.Remove(f.Name())
}
