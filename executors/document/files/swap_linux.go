package files

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// exchange swaps two files of a folder in one step.
func exchange(dir *os.File, a, b string) error { return rename(dir, a, b, unix.RENAME_EXCHANGE) }

// renameNew renames a file of a folder, when nothing has the new name.
func renameNew(dir *os.File, from, to string) error {
	return rename(dir, from, to, unix.RENAME_NOREPLACE)
}

// lockFolder takes an advisory lock on a folder; taken reports that somebody else has it. A file system that knows no locks has none.
func lockFolder(dir *os.File) (release func(), taken bool) {
	c, err := dir.SyscallConn()
	if err != nil {
		return func() {}, false
	}
	flock := func(how int) (done error) {
		if err := c.Control(func(fd uintptr) { done = unix.Flock(int(fd), how) }); err != nil {
			return err
		}
		return done
	}
	err = flock(unix.LOCK_EX | unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return nil, true
	}
	return func() { _ = flock(unix.LOCK_UN) }, false // closing the folder would release it too
}

func rename(dir *os.File, from, to string, flags uint) error {
	c, err := dir.SyscallConn()
	if err != nil {
		return err
	}
	var done error
	if err := c.Control(func(fd uintptr) { done = unix.Renameat2(int(fd), from, int(fd), to, flags) }); err != nil {
		return err
	}
	if errors.Is(done, unix.ENOSYS) || errors.Is(done, unix.EINVAL) || errors.Is(done, unix.ENOTSUP) {
		return errUnsupported
	}
	return done
}
