package temporalclient

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// StateLock is the ownership of a state directory by this process: of the Temporal database in it, and of the record that tells other
// processes where that Temporal listens. The operating system gives it up when the process ends, however it ends.
type StateLock struct {
	stateDir string
	file     *os.File
	record   Endpoint
	previous Endpoint
}

// HeldError says that another process (or another server in this one) runs on the state directory.
type HeldError struct {
	StateDir string
	Holder   Endpoint // what it wrote about itself; PID is 0 if it has written nothing yet, the addresses count only if Ready
}

// Error names the holder and what to do.
func (e *HeldError) Error() string {
	who := "another process"
	if e.Holder.PID != 0 {
		who = fmt.Sprintf("process %d", e.Holder.PID)
	}
	text := fmt.Sprintf("%s already runs a Temporal server on %s", who, e.StateDir)
	if !e.Holder.Ready {
		return text + ": wait for it, stop it, or use another state directory"
	}
	text += fmt.Sprintf(" (Temporal %s", e.Holder.Address)
	if e.Holder.UIURL != "" {
		text += ", UI " + e.Holder.UIURL
	}
	return text + "): use that one, stop it, or use another state directory"
}

// A reader holds the lock for an instant to see whether it is free (see [ReadEndpoint]); an owner waits that instant out.
const (
	lockPatience = 250 * time.Millisecond
	lockInterval = 5 * time.Millisecond
)

// LockState takes a state directory for this process, creating it (mode 0700) if it is missing. A directory that is taken gives a
// [*HeldError].
func LockState(stateDir string) (*StateLock, error) {
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return nil, fmt.Errorf("create the state directory: %w", err)
	}
	path := filepath.Join(stateDir, lockName)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the state directory: %w", err)
	}
	for deadline := time.Now().Add(lockPatience); ; time.Sleep(lockInterval) {
		err = tryLock(file)
		if err == nil {
			break
		}
		if errors.Is(err, errLocked) && time.Now().Before(deadline) {
			continue
		}
		file.Close() //nolint:errcheck // it holds no lock
		if errors.Is(err, errLocked) {
			holder, readErr := readRecord(stateDir)
			return nil, errors.Join(&HeldError{StateDir: stateDir, Holder: holder}, readErr)
		}
		return nil, fmt.Errorf("lock the state directory %s: %w", stateDir, err)
	}
	l := &StateLock{stateDir: stateDir, file: file}
	if l.previous, err = readRecord(stateDir); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	l.record = l.previous
	l.record.PID, l.record.Started, l.record.Ready = os.Getpid(), time.Now().UTC(), false
	if err := writeRecord(stateDir, l.record); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return l, nil
}

// Previous is what the last owner of the directory recorded, so that the same ports can be used again. It is zero for a new directory.
func (l *StateLock) Previous() Endpoint { return l.previous }

// Publish records where the server of this process listens, and that it is ready.
func (l *StateLock) Publish(address, uiURL, namespace string) error {
	l.record.Address, l.record.UIURL, l.record.Namespace, l.record.Ready = address, uiURL, namespace, true
	return writeRecord(l.stateDir, l.record)
}

// Withdraw records that the server is about to stop, so that nobody is sent to it any more.
func (l *StateLock) Withdraw() error {
	l.record.Ready = false
	return writeRecord(l.stateDir, l.record)
}

// Release gives the directory up; a second time does nothing. The record stays, marked as not ready, for the ports it remembers.
func (l *StateLock) Release() error {
	if l.file == nil {
		return nil
	}
	err := l.Withdraw()
	// The lock file is never removed: a process that has just opened it would lock a file that no other process can see.
	err = errors.Join(err, l.file.Close())
	l.file = nil
	return err
}

// errLocked: someone else holds the lock.
var errLocked = errors.New("the lock is held")
