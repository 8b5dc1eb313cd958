package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// supported is nil: everything below is there.
var supported error

// folder is an open directory that paths are resolved from, never leaving it and never following a symbolic link.
type folder struct{ f *os.File }

func openFolder(path string) (folder, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return folder{}, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return folder{os.NewFile(uintptr(fd), path)}, nil
}

func (d folder) fd() int      { return int(d.f.Fd()) }
func (d folder) close() error { return d.f.Close() }

func failure(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// retry repeats a system call that a signal interrupted.
func retry(f func() error) error {
	for {
		if err := f(); err != unix.EINTR {
			return err
		}
	}
}

// open opens what is at the path.
func (d folder) open(rel string, flags int) (int, error) {
	flags |= unix.O_CLOEXEC | unix.O_NOFOLLOW
	how := unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	var fd int
	err := retry(func() (err error) { fd, err = unix.Openat2(d.fd(), rel, &how); return err })
	switch err {
	case nil:
		return fd, nil
	case unix.ENOSYS, unix.EPERM, unix.EINVAL, unix.EAGAIN: // an old kernel, a filter of system calls, or a rename elsewhere
		if fd, stepErr := d.openSteps(rel, flags); stepErr == nil || err != unix.EPERM {
			return fd, failure("open", rel, stepErr)
		}
	}
	return -1, failure("open", rel, err)
}

// openSteps is open for kernels without openat2.
func (d folder) openSteps(rel string, flags int) (int, error) {
	at, close := d.fd(), func() {}
	defer func() { close() }()
	parts := strings.Split(rel, "/")
	for i, part := range parts {
		how := flags
		if i < len(parts)-1 {
			how = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC | unix.O_NOFOLLOW
		}
		if part == ".." {
			return -1, unix.EXDEV
		}
		var fd int
		if err := retry(func() (err error) { fd, err = unix.Openat(at, part, how, 0); return err }); err != nil {
			return -1, err
		}
		if i == len(parts)-1 {
			return fd, nil
		}
		close()
		at, close = fd, func() { unix.Close(fd) } //nolint:errcheck // a directory
	}
	return -1, unix.ENOENT
}

// in opens the directory that holds the path and calls f with it and the last name.
func (d folder) in(rel string, f func(dir int, name string) error) error {
	dir := parent(rel)
	if dir == "." {
		return f(d.fd(), rel)
	}
	fd, err := d.open(dir, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // a directory
	return f(fd, rel[len(dir)+1:])
}

func toStat(s *unix.Stat_t) stat {
	return stat{Dev: uint64(s.Dev), Ino: s.Ino, Size: s.Size, MTime: s.Mtim.Nano(), CTime: s.Ctim.Nano(), Mode: s.Mode, Nlink: uint32(s.Nlink), UID: s.Uid, GID: s.Gid, Rdev: uint64(s.Rdev)}
}

func statIn(dir int, name string) (stat, error) {
	var s unix.Stat_t
	if err := retry(func() error { return unix.Fstatat(dir, name, &s, unix.AT_SYMLINK_NOFOLLOW) }); err != nil {
		return stat{}, err
	}
	return toStat(&s), nil
}

func statFD(fd int) (stat, error) {
	var s unix.Stat_t
	if err := retry(func() error { return unix.Fstat(fd, &s) }); err != nil {
		return stat{}, err
	}
	return toStat(&s), nil
}

// lstat is what is at the path; fs.ErrNotExist when nothing is, or a directory on the way is none.
func (d folder) lstat(rel string) (s stat, err error) {
	err = d.in(rel, func(dir int, name string) error {
		s, err = statIn(dir, name)
		return failure("stat", rel, err)
	})
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		err = failure("stat", rel, fs.ErrNotExist)
	}
	return s, err
}

func readlinkIn(dir int, name string) (string, error) {
	for size := 256; ; size *= 4 {
		buf := make([]byte, size)
		n, err := unix.Readlinkat(dir, name, buf)
		if err != nil {
			return "", err
		}
		if n < size {
			return string(buf[:n]), nil
		}
	}
}

// move renames within one file system; into must not exist.
func move(from folder, a string, to folder, b string) error {
	return two(from, a, to, b, func(da int, na string, db int, nb string) error {
		err := unix.Renameat2(da, na, db, nb, unix.RENAME_NOREPLACE)
		if err != unix.EINVAL && err != unix.ENOSYS {
			return err
		}
		if _, err := statIn(db, nb); err == nil { // this file system cannot do it in one step
			return unix.EEXIST
		}
		return unix.Renameat(da, na, db, nb)
	})
}

// exchange swaps two names in one step.
func exchange(from folder, a string, to folder, b string) error {
	return two(from, a, to, b, func(da int, na string, db int, nb string) error {
		return unix.Renameat2(da, na, db, nb, unix.RENAME_EXCHANGE)
	})
}

func hardlink(from folder, a string, to folder, b string) error {
	return two(from, a, to, b, func(da int, na string, db int, nb string) error { return unix.Linkat(da, na, db, nb, 0) })
}

func two(from folder, a string, to folder, b string, f func(da int, na string, db int, nb string) error) error {
	return from.in(a, func(da int, na string) error {
		return to.in(b, func(db int, nb string) error {
			if err := retry(func() error { return f(da, na, db, nb) }); err != nil {
				return &os.LinkError{Op: "move", Old: a, New: b, Err: err}
			}
			return nil
		})
	})
}

func (d folder) mkdir(rel string, perm uint32) error {
	return d.in(rel, func(dir int, name string) error { return failure("mkdir", rel, unix.Mkdirat(dir, name, perm)) })
}

func (d folder) rmdir(rel string) error {
	return d.in(rel, func(dir int, name string) error {
		return failure("rmdir", rel, unix.Unlinkat(dir, name, unix.AT_REMOVEDIR))
	})
}

func (d folder) unlink(rel string) error {
	return d.in(rel, func(dir int, name string) error { return failure("unlink", rel, unix.Unlinkat(dir, name, 0)) })
}

func (d folder) symlink(target, rel string) error {
	return d.in(rel, func(dir int, name string) error {
		return failure("symlink", rel, unix.Symlinkat(target, dir, name))
	})
}

func (d folder) mkfifo(rel string, perm uint32) error {
	return d.in(rel, func(dir int, name string) error {
		return failure("mkfifo", rel, unix.Mknodat(dir, name, unix.S_IFIFO|perm, 0))
	})
}

func (d folder) create(rel string, perm uint32) (f *os.File, err error) {
	err = d.in(rel, func(dir int, name string) error {
		fd, err := unix.Openat(dir, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, perm)
		if err != nil {
			return failure("create", rel, err)
		}
		f = os.NewFile(uintptr(fd), rel)
		return nil
	})
	return f, err
}

// file opens the path as a file; openRead never waits for a named pipe.
const (
	openRead  = unix.O_RDONLY | unix.O_NONBLOCK
	openWrite = unix.O_WRONLY
)

func (d folder) file(rel string, flags int) (*os.File, error) {
	fd, err := d.open(rel, flags)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), rel), nil
}

// list lists a directory in pieces, so that a huge one is not held at once.
func (d folder) list(rel string, f func(dir int, names []string) error) error {
	fd, err := d.open(rel, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	dir := os.NewFile(uintptr(fd), rel)
	defer dir.Close() //nolint:errcheck // a directory
	for {
		names, err := dir.Readdirnames(1024)
		if len(names) > 0 {
			if err := f(fd, names); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// procPath names an entry by its parent's descriptor, for the calls that have no form with a descriptor. A symbolic link at the end is not followed by
// the calls it is used with.
func procPath(dir int, name string) string { return fmt.Sprintf("/proc/self/fd/%d/%s", dir, name) }

// ownXattrs reports whether the attribute is part of what a backup brings back. Others belong to the system (trusted, SELinux).
func ownXattrs(name string) bool {
	return strings.HasPrefix(name, "user.") || strings.HasPrefix(name, "system.posix_acl_") || name == "security.capability"
}

func noXattrs(err error) bool {
	return err == unix.ENOTSUP || err == unix.ENOSYS || err == unix.EPERM || err == unix.EACCES || err == unix.ENODATA
}

// xattrsIn reads the extended attributes of an entry; none where the file system has none.
func xattrsIn(dir int, name string) ([]xattr, error) {
	path := procPath(dir, name)
	n, err := unix.Llistxattr(path, nil)
	if err != nil && noXattrs(err) || err == nil && n == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	buf := make([]byte, n+256)
	if n, err = unix.Llistxattr(path, buf); err != nil {
		return nil, err
	}
	var xs []xattr
	for _, attr := range strings.Split(strings.TrimRight(string(buf[:n]), "\x00"), "\x00") {
		if !ownXattrs(attr) {
			continue
		}
		size, err := unix.Lgetxattr(path, attr, nil)
		if err != nil {
			if noXattrs(err) {
				continue
			}
			return nil, err
		}
		value := make([]byte, size)
		if size, err = unix.Lgetxattr(path, attr, value); err != nil {
			return nil, err
		}
		xs = append(xs, xattr{attr, value[:size]})
	}
	slices.SortFunc(xs, func(a, b xattr) int { return strings.Compare(a.Name, b.Name) })
	return xs, nil
}

// setMeta gives what is at the path the owner, mode and attributes that e has, and this time of modification; nil leaves it.
func (d folder) setMeta(rel string, e *entry, mtime *int64) error {
	return d.in(rel, func(dir int, name string) error {
		now, err := statIn(dir, name)
		if err != nil {
			return failure("stat", rel, err)
		}
		if now.UID != e.UID || now.GID != e.GID {
			if err := unix.Fchownat(dir, name, int(e.UID), int(e.GID), unix.AT_SYMLINK_NOFOLLOW); err != nil {
				return failure("chown", rel, err)
			}
			now.Mode = 0 // a change of owner takes the set-user-id bit
		}
		if e.kind() != kindSymlink && now.perm() != e.perm() {
			if err := unix.Fchmodat(dir, name, e.perm(), 0); err != nil {
				return failure("chmod", rel, err)
			}
		}
		if e.kind() == kindFile || e.kind() == kindDir {
			if err := setXattrs(dir, name, e.Xattrs); err != nil {
				return failure("set the extended attributes of", rel, err)
			}
		}
		if mtime != nil && now.MTime != *mtime {
			return failure("set the time of", rel, setTimeIn(dir, name, *mtime))
		}
		return nil
	})
}

// setTime sets the time of modification only.
func (d folder) setTime(rel string, mtime int64) error {
	return d.in(rel, func(dir int, name string) error {
		return failure("set the time of", rel, setTimeIn(dir, name, mtime))
	})
}

func setTimeIn(dir int, name string, mtime int64) error {
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(mtime)}
	return unix.UtimesNanoAt(dir, name, times, unix.AT_SYMLINK_NOFOLLOW)
}

func setXattrs(dir int, name string, want []xattr) error {
	have, err := xattrsIn(dir, name)
	if err != nil || sameXattrs(have, want) {
		return err
	}
	path := procPath(dir, name)
	for _, x := range have {
		if !slices.ContainsFunc(want, func(w xattr) bool { return w.Name == x.Name }) {
			if err := unix.Lremovexattr(path, x.Name); err != nil {
				return err
			}
		}
	}
	for _, x := range want {
		if err := unix.Lsetxattr(path, x.Name, x.Value, 0); err != nil {
			return err
		}
	}
	return nil
}

// clone makes to share the blocks of from; errNoClone where the file system cannot.
func clone(to, from *os.File) error {
	err := retry(func() error { return unix.IoctlFileClone(int(to.Fd()), int(from.Fd())) })
	switch err {
	case unix.EOPNOTSUPP, unix.ENOTTY, unix.EXDEV, unix.EINVAL, unix.ENOSYS, unix.EPERM, unix.ETXTBSY:
		return errNoClone
	}
	return err
}

// syncAll brings everything on the folder's file system to the disk.
func (d folder) syncAll() error { return failure("sync", d.f.Name(), unix.Syncfs(d.fd())) }

// sync brings the names in the folder to the disk.
func (d folder) sync() error { return d.f.Sync() }

// free is how many bytes the file system has left for us.
func (d folder) free() (int64, error) {
	var s unix.Statfs_t
	if err := retry(func() error { return unix.Fstatfs(d.fd(), &s) }); err != nil {
		return 0, err
	}
	return int64(min(s.Bavail*uint64(s.Bsize), 1<<62)), nil
}

// sameMount reports whether a rename from one folder into the other can work.
func sameMount(a, b folder) bool {
	var x, y unix.Statx_t
	const mask = unix.STATX_MNT_ID | unix.STATX_INO
	if unix.Statx(a.fd(), "", unix.AT_EMPTY_PATH, mask, &x) != nil || unix.Statx(b.fd(), "", unix.AT_EMPTY_PATH, mask, &y) != nil {
		return false
	}
	return x.Mask&y.Mask&unix.STATX_MNT_ID != 0 && x.Mnt_id == y.Mnt_id && x.Dev_major == y.Dev_major && x.Dev_minor == y.Dev_minor
}

// lock takes the lock file for this process until f is closed; it does not wait.
func lock(f *os.File) error {
	err := retry(func() error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) })
	if err == unix.EWOULDBLOCK {
		return ErrLocked
	}
	return err
}

// unlock gives the lock up at once: closing the file alone would leave it with a child that is just being started and has it open still.
func unlock(f *os.File) error {
	return retry(func() error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) })
}

// Errors of the system that callers tell apart.
func isFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}
func notEmpty(err error) bool { return errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) }
func denied(err error) bool   { return errors.Is(err, fs.ErrPermission) }
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}
func notFile(err error) bool { return errors.Is(err, unix.ENXIO) || errors.Is(err, unix.ELOOP) }

// touch sets the time of the file to now.
func touch(path string) error { now := time.Now(); return os.Chtimes(path, now, now) }
