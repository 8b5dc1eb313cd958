//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package temporalclient

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// tryLock takes the exclusive lock of an open file, or fails with errLocked. The lock belongs to the open file: closing it, or the end
// of the process, releases it, and a second server in the same process is refused like one in another.
func tryLock(file *os.File) error {
	return flock(file, syscall.LOCK_EX|syscall.LOCK_NB)
}

func flock(file *os.File, how int) error {
	for {
		switch err := syscall.Flock(int(file.Fd()), how); {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errLocked
		case err != nil:
			return fmt.Errorf("flock %s: %w", file.Name(), err)
		default:
			return nil
		}
	}
}

// lockHeld reports whether some process holds the lock file. A shared lock is the question: it is refused only by an owner, so readers
// do not mistake one another for one.
func lockHeld(path string) (bool, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close() //nolint:errcheck // closing gives the lock up, which was only looked at
	err = flock(file, syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, errLocked) {
		return true, nil
	}
	return false, err
}

// processAlive reports whether a process of this id exists, of whichever user.
func processAlive(pid int) bool {
	if pid <= 0 {
		return false
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
