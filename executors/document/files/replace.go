package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"toolsvc/tool"
)

// ChangedError says that a file is not any more what it was when it was read; nothing was written.
type ChangedError struct {
	// Path of the file.
	Path string
	// Now is the digest that it has; "" when it is not there any more.
	Now string
}

func (e *ChangedError) Error() string {
	if e.Now == "" {
		return e.Path + " was removed by somebody else meanwhile"
	}
	return fmt.Sprintf("%s was changed by somebody else meanwhile (it is %.19s… now)", e.Path, e.Now)
}

// Content is what a file is to become.
type Content struct {
	Data []byte
	// Mode of a new file; a file that is there keeps its own.
	Mode fs.FileMode
	// ModTime is set when it is not zero.
	ModTime time.Time
	// restore: mode and owner are those of the given file, not of the one that is replaced.
	restore *File
}

// Temporary is the name of the file beside path that a call writes first.
func Temporary(at, call string) string {
	return path.Join(path.Dir(at), ".toolsvc-"+tool.Digest([]byte(at + "\x00" + call))[len("sha256:"):][:16]+".tmp")
}

// Replace gives a file new content, when it still is what was; what was not there is made. call names the call, for the temporary file. The
// error is a *ChangedError, or a *tool.Failed whose Dispatched says whether the file may have been replaced all the same.
func (r *Root) Replace(was *File, c Content, call string) error {
	at := was.Path
	if int64(len(c.Data)) > r.max {
		return r.tooLarge(at, int64(len(c.Data)))
	}
	now, err := r.read(at, at)
	if err != nil {
		return err
	}
	if now.Digest != was.Digest {
		return &ChangedError{Path: at, Now: now.Digest}
	}
	if now.Exists && now.Mode.Perm()&0o222 == 0 && c.restore == nil {
		return tool.Failf(tool.PreconditionFailed, "%s is read-only (mode %04o); make it writable first.", at, now.Mode.Perm())
	}
	temp := Temporary(at, call)
	if err := r.writeTemporary(temp, now, c); err != nil {
		return errors.Join(r.fail("write beside", at, err), ignoreMissing(r.root.Remove(filepath.FromSlash(temp))))
	}
	dir, err := r.root.Open(filepath.FromSlash(path.Dir(at)))
	if err != nil {
		return errors.Join(r.fail("open the folder of", at, err), r.root.Remove(filepath.FromSlash(temp)))
	}
	defer dir.Close() //nolint:errcheck // only read
	unlock, err := r.lock(dir)
	if err != nil {
		return errors.Join(err, r.root.Remove(filepath.FromSlash(temp)))
	}
	defer unlock()
	if now.Exists {
		err = r.swap(dir, at, temp, was.Digest, tool.Digest(c.Data))
	} else {
		err = r.place(dir, at, temp)
	}
	if err != nil {
		return err
	}
	if err := dir.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return &tool.Failed{Failure: tool.Internal, Dispatched: true, Cause: err, Message: fmt.Sprintf("%s was replaced, but the folder could not be synced: %v", at, err)}
	}
	return nil
}

// Restore gives a file the content, mode, owner and time of an earlier moment, or removes it when it was not there, if it still is what written
// says.
func (r *Root) Restore(earlier *File, written, call string) error {
	now, err := r.read(earlier.Path, earlier.Path)
	if err != nil {
		return err
	}
	if now.Digest != written {
		return &ChangedError{Path: earlier.Path, Now: now.Digest}
	}
	if earlier.Exists {
		return r.Replace(now, Content{Data: earlier.Data, Mode: earlier.Mode, ModTime: earlier.ModTime, restore: earlier}, call)
	}
	return r.remove(now, call)
}

// remove removes a file, when it still is what was: it is moved aside, looked at, and only then removed.
func (r *Root) remove(was *File, call string) error {
	at, temp := filepath.FromSlash(was.Path), filepath.FromSlash(Temporary(was.Path, call))
	if err := r.root.Rename(at, temp); err != nil {
		return r.fail("remove", was.Path, err)
	}
	moved, err := r.read(was.Path, filepath.ToSlash(temp))
	if err != nil || moved.Digest != was.Digest {
		back := r.root.Link(temp, at) // not over what may have come in its place
		if back == nil {
			back = r.root.Remove(temp)
		}
		if err == nil {
			err = &ChangedError{Path: was.Path, Now: moved.Digest}
		}
		return errors.Join(err, back)
	}
	if err := r.root.Remove(temp); err != nil {
		return r.fail("remove", was.Path, err)
	}
	return r.syncDir(path.Dir(was.Path))
}

func (r *Root) syncDir(at string) error {
	dir, err := r.root.Open(filepath.FromSlash(at))
	if err != nil {
		return r.fail("open", at, err)
	}
	defer dir.Close() //nolint:errcheck // only read
	if err := dir.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return r.fail("sync", at, err)
	}
	return nil
}

// MakeFolders makes the folders above a path, and returns those that it made, the outermost first.
func (r *Root) MakeFolders(at string) ([]string, error) {
	missing, err := r.MissingFolders(at)
	if err != nil {
		return nil, err
	}
	var made []string
	for _, dir := range missing {
		err := r.root.Mkdir(filepath.FromSlash(dir), 0o755)
		if errors.Is(err, fs.ErrExist) {
			continue // somebody else made it, and may use it
		}
		if err != nil {
			r.RemoveFolders(made)
			return nil, r.fail("make the folder", dir, err)
		}
		made = append(made, dir)
	}
	return made, nil
}

// RemoveFolders removes folders that MakeFolders made, as far as they are empty; it returns those that stay.
func (r *Root) RemoveFolders(made []string) (stay []string) {
	for i := len(made) - 1; i >= 0; i-- {
		if err := r.root.Remove(filepath.FromSlash(made[i])); err != nil && !errors.Is(err, fs.ErrNotExist) {
			stay = append(stay, made[i])
		}
	}
	return stay
}

// Leftover is the temporary file that a call left behind when its process was killed: it holds what was to be written, or what was displaced and
// not yet looked at.
func (r *Root) Leftover(at, call string) (*File, error) {
	temp := Temporary(at, call)
	return r.read(temp, temp)
}

// Discard removes the temporary file of a call.
func (r *Root) Discard(at, call string) error {
	return ignoreMissing(r.root.Remove(filepath.FromSlash(Temporary(at, call))))
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// writeTemporary writes the new content beside the file, with the mode and the owner that it is to have, and syncs it.
func (r *Root) writeTemporary(temp string, now *File, c Content) error {
	name := filepath.FromSlash(temp)
	if err := ignoreMissing(r.root.Remove(name)); err != nil { // of an earlier attempt of the same call
		return err
	}
	f, err := r.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(c.Data)
	like := c.restore
	if like == nil && now.Exists {
		like = now
	}
	mode := c.Mode
	if like != nil {
		mode = like.Mode
		if err == nil {
			err = like.owner.give(f)
		}
	}
	if err == nil {
		err = f.Chmod(mode & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky))
	}
	if err == nil && !c.ModTime.IsZero() {
		err = r.root.Chtimes(name, time.Time{}, c.ModTime)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// place gives the temporary file its name, when nothing has taken that.
func (r *Root) place(dir *os.File, at, temp string) error {
	err := renameNew(dir, path.Base(temp), path.Base(at))
	if errors.Is(err, errUnsupported) {
		if err = r.root.Link(filepath.FromSlash(temp), filepath.FromSlash(at)); err == nil {
			err = r.root.Remove(filepath.FromSlash(temp))
		}
	}
	if err == nil {
		return nil
	}
	gone := ignoreMissing(r.root.Remove(filepath.FromSlash(temp)))
	if errors.Is(err, fs.ErrExist) {
		now, readErr := r.read(at, at)
		if readErr != nil {
			return errors.Join(readErr, gone)
		}
		return errors.Join(&ChangedError{Path: at, Now: now.Digest}, gone)
	}
	return errors.Join(r.fail("name", at, err), gone)
}

// swap puts the temporary file into the place of the file, when that still has the digest was.
func (r *Root) swap(dir *os.File, at, temp, was, ours string) error {
	now, err := r.read(at, at)
	if err != nil || now.Digest != was {
		gone := r.root.Remove(filepath.FromSlash(temp))
		if err == nil {
			err = &ChangedError{Path: at, Now: now.Digest}
		}
		return errors.Join(err, gone)
	}
	return r.exchangeChecked(dir, at, temp, was, ours)
}

// exchangeChecked swaps both files and looks at what was displaced; what is not the content that was read is put back.
func (r *Root) exchangeChecked(dir *os.File, at, temp, was, ours string) error {
	name, tempName := filepath.FromSlash(at), filepath.FromSlash(temp)
	err := exchange(dir, path.Base(temp), path.Base(at))
	if errors.Is(err, errUnsupported) {
		if err := r.root.Rename(tempName, name); err != nil {
			return errors.Join(r.fail("replace", at, err), r.root.Remove(tempName))
		}
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) { // removed since it was read
		return errors.Join(&ChangedError{Path: at}, ignoreMissing(r.root.Remove(tempName)))
	}
	if err != nil {
		return errors.Join(r.fail("replace", at, err), r.root.Remove(tempName))
	}
	displaced, err := r.read(temp, temp)
	if err == nil && displaced.Digest == was {
		if err := r.root.Remove(tempName); err != nil {
			return &tool.Failed{Failure: tool.Internal, Dispatched: true, Cause: err, Message: fmt.Sprintf("%s was replaced, but the earlier content could not be removed from %s: %v", at, temp, err)}
		}
		return nil
	}
	changed := &ChangedError{Path: at}
	if displaced != nil {
		changed.Now = displaced.Digest
	}
	// Somebody changed the file since it was read: what was displaced is theirs, and is put back.
	if err := exchange(dir, path.Base(temp), path.Base(at)); err != nil {
		return &tool.Failed{Failure: tool.Internal, Dispatched: true, Cause: err,
			Message: fmt.Sprintf("%s was changed by somebody else while it was replaced; their version is kept in %s, because it could not be put back: %v", at, temp, err)}
	}
	if back, err := r.read(temp, temp); err == nil && back.Digest != ours { // and again since then: the latest version stays
		if err := exchange(dir, path.Base(temp), path.Base(at)); err != nil {
			return &tool.Failed{Failure: tool.Internal, Dispatched: true, Cause: err, Message: fmt.Sprintf("%s was changed by somebody else while it was replaced; one version is kept in %s: %v", at, temp, err)}
		}
	}
	return errors.Join(changed, ignoreMissing(r.root.Remove(tempName)))
}

// lockLimit bounds the wait for other writers in a folder; each holds the lock for one swap.
const lockLimit = 5 * time.Second

// lock keeps other writers of ours, in this process and in others, from swapping files in a folder at the same time: two that put back what they
// displaced could put back each other's. Programs that know nothing of it are not held up.
func (r *Root) lock(dir *os.File) (unlock func(), err error) {
	r.mu.Lock()
	for end := time.Now().Add(lockLimit); ; time.Sleep(time.Millisecond) {
		release, taken := lockFolder(dir)
		if !taken {
			return func() { release(); r.mu.Unlock() }, nil
		}
		if time.Now().After(end) {
			r.mu.Unlock()
			return nil, tool.Failf(tool.NotReady, "another program has locked the folder %s for more than %s.", dir.Name(), lockLimit)
		}
	}
}

// errUnsupported: the system cannot do this to files in one step.
var errUnsupported = errors.New("not supported")

// MissingFolders lists the folders above a path that are not there, the outermost first.
func (r *Root) MissingFolders(at string) ([]string, error) {
	var missing []string
	for dir := path.Dir(at); dir != "."; dir = path.Dir(dir) {
		exists, isDir, err := r.Stat(dir)
		switch {
		case err != nil:
			return nil, err
		case exists && !isDir:
			return nil, tool.Failf(tool.PreconditionFailed, "%s is a file, so nothing can lie in it.", dir)
		case exists:
			return missing, nil
		}
		missing = slices.Insert(missing, 0, dir)
	}
	return missing, nil
}
