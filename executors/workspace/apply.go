package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// stageName is the folder in the workspace where a restore stages files when the state directory is on another file system. It is in no
// snapshot, and exists only while a restore is under way.
const stageName = ".toolsvc-restore"

// Files of the journal of one restore. It is prepared (staging only), then committed to (planFile is there), then perhaps given up (undoFile is
// there); what does not exist any more is over.
const (
	planFile  = "plan.json"
	undoFile  = "undo"      // the number of the last step that was done
	rootFile  = "root-time" // the time that the workspace gets back when the staging folder in it is gone
	wroteFile = "wrote-"    // + slot: writing in place has begun
)

// at is called at every point where a kill must be survived. Tests put a kill there.
var at = func(point string) {}

// errGivenUp: the restore was being taken back when the process was killed.
var errGivenUp = errors.New("the restore was given up")

// errInWay: what a step needs is not as the plan found it.
var errInWay = errors.New("it was changed while the restore was under way")

// restore is one restore of the journal.
type restore struct {
	w     *Workspace
	dir   string // the journal
	stage folder // staged files and displaced ones, by slot
	inner bool   // the stage is in the workspace
}

// restoresDir holds the journals.
func (w *Workspace) restoresDir() string { return filepath.Join(w.opt.StateDir, "restores") }

// beginRestore makes the journal and the staging folder; on an error, nothing is left of them.
func (w *Workspace) beginRestore(id string) (*restore, error) {
	r := &restore{w: w, dir: filepath.Join(w.restoresDir(), id)}
	err := os.MkdirAll(filepath.Join(r.dir, "stage"), 0o700)
	if err == nil {
		err = r.openStage(true)
	}
	if err == nil {
		return r, nil
	}
	if r.inner {
		err = errors.Join(err, r.clearInner())
	}
	return nil, errors.Join(err, removeAll(r.dir))
}

// openStage opens the staging folder, which must be on the workspace's file system; with create it makes the one in the workspace, where that is
// needed.
func (r *restore) openStage(create bool) error {
	stage, err := openFolder(filepath.Join(r.dir, "stage"))
	if err != nil {
		return err
	}
	if sameMount(stage, r.w.root) {
		r.stage = stage
		return nil
	}
	r.inner = true
	if err := stage.close(); err != nil {
		return err
	}
	rel := stageName + "/" + filepath.Base(r.dir)
	if create {
		root, err := r.keepRootTime()
		if err != nil {
			return err
		}
		for _, dir := range []string{stageName, rel} {
			if err := r.w.root.mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
		at("restore: staging folder made")
		if err := r.w.root.setTime(".", root); err != nil {
			return err
		}
	}
	r.stage, err = openFolder(filepath.Join(r.w.opt.Root, filepath.FromSlash(rel)))
	return err
}

// canExchange tries whether the file system can swap two names.
func (r *restore) canExchange() bool {
	for _, name := range []string{"a", "b"} {
		f, err := r.stage.create(name, 0o600)
		if err != nil {
			return false
		}
		defer r.stage.unlink(name) //nolint:errcheck // removed with the stage
		if f.Close() != nil {
			return false
		}
	}
	return exchange(r.stage, "a", r.stage, "b") == nil
}

// prepare makes everything that needs space, so that nothing that follows does, and commits to the plan.
func (r *restore) prepare(ctx context.Context, p *plan) error {
	made := map[string]uint64{}
	for slot, e := range p.Stage {
		if err := ctx.Err(); err != nil {
			return err
		}
		ino, err := r.make(slot, e)
		if err != nil {
			return fmt.Errorf("bring back %s from the backup: %w", e.Path, full(err))
		}
		made[slot] = ino
		at("restore: staged")
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Do == doWrite {
			if err := r.saveInPlace(s); err != nil {
				return fmt.Errorf("prepare to bring back %s: %w", s.Path, full(err))
			}
		}
		if s.New == 0 {
			s.New = made[s.Slot]
		}
	}
	if err := r.flush(p.Stage); err != nil {
		return full(err)
	}
	p.Stage = nil
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return full(writeFile(r.dir, planFile, text, true))
}

// flush brings the staged files to the disk.
func (r *restore) flush(staged map[string]*entry) error {
	if len(staged) > fewObjects {
		return r.stage.syncAll()
	}
	for slot, e := range staged {
		if e.kind() != kindFile {
			continue
		}
		f, err := r.stage.file(slot, openRead)
		if denied(err) {
			return r.stage.syncAll()
		}
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return r.stage.sync()
}

// make stages one file, link or pipe, and checks a content against its digest.
func (r *restore) make(slot string, e *entry) (uint64, error) {
	var err error
	switch e.kind() {
	case kindSymlink:
		err = r.stage.symlink(e.Target, slot)
	case kindFIFO:
		err = r.stage.mkfifo(slot, e.perm())
	default:
		err = r.content(slot, e.Digest)
	}
	if err != nil {
		return 0, err
	}
	if err := r.stage.setMeta(slot, e, &e.MTime); err != nil {
		return 0, err
	}
	s, err := r.stage.lstat(slot)
	return s.Ino, err
}

// content makes a file with the content of the digest.
func (r *restore) content(slot string, d digest) (err error) {
	from, err := r.w.objects.open(d)
	if err != nil {
		return fmt.Errorf("the backup is damaged: %w", err)
	}
	defer from.Close() //nolint:errcheck // it was only read
	to, err := r.stage.create(slot, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if closed := to.Close(); err == nil {
			err = closed
		}
	}()
	h := sha256.New()
	if r.w.objects.clone(to, from) == nil {
		_, err = io.Copy(h, onlyReader{to})
	} else {
		_, err = io.Copy(io.MultiWriter(h, onlyWriter{to}), onlyReader{from})
	}
	if err != nil {
		return err
	}
	if sum(h) != d {
		return fmt.Errorf("the backup is damaged: the content %s is not what its digest says", d)
	}
	return nil
}

// saveInPlace stages the content before and after for a file that is written in place.
func (r *restore) saveInPlace(s *step) error {
	if err := r.content(s.Slot+".new", s.Want.Digest); err != nil {
		return err
	}
	if f, err := r.stage.file(s.Slot+".new", openRead); err != nil {
		return err
	} else if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	from, err := r.w.root.file(s.Path, openRead)
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // it was only read
	to, err := r.stage.create(s.Slot+".old", 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Sync(), to.Close())
}

// stepError is the error of a step.
type stepError struct {
	step step
	err  error
}

func (e *stepError) Error() string {
	return fmt.Sprintf("bring back %s (%s): %v", e.step.Path, e.step.Do, e.err)
}
func (e *stepError) Unwrap() error { return e.err }

// run carries the plan out; when a step cannot be done, it undoes those before. The first error says why it was undone; undone reports that
// nothing is left of it.
func (r *restore) run(p *plan, again bool) (err error, undone bool) {
	if text, readErr := os.ReadFile(filepath.Join(r.dir, undoFile)); readErr == nil {
		last, err := strconv.Atoi(string(text))
		if err != nil {
			return fmt.Errorf("the journal %s is damaged: %w", r.dir, err), false
		}
		err = r.undo(p, last)
		return errors.Join(errGivenUp, err), err == nil
	}
	for i := range p.Steps {
		at("restore: " + string(p.Steps[i].Do))
		if err := r.do(&p.Steps[i]); err != nil {
			if again && errors.Is(err, errInWay) && (p.Steps[i].Do == doMeta || r.past(p, i)) {
				continue // it was done before the kill, or is another file by now; what something else did to it since stands
			}
			err = &stepError{p.Steps[i], full(err)}
			if markErr := writeFile(r.dir, undoFile, []byte(strconv.Itoa(i)), true); markErr != nil {
				return errors.Join(err, markErr), false
			}
			at("restore: giving up")
			undoErr := r.undo(p, i)
			return errors.Join(err, undoErr), undoErr == nil
		}
	}
	at("restore: done")
	return r.settle(p), false
}

// settle brings the restored state to the disk.
func (r *restore) settle(p *plan) error {
	if len(p.Steps) > 2*fewObjects {
		return r.w.root.syncAll()
	}
	synced := map[string]bool{}
	for _, s := range p.Steps {
		path := parent(s.Path)
		if s.Do == doMeta {
			path = s.Path
		}
		if synced[path] {
			continue
		}
		synced[path] = true
		f, err := r.w.root.file(path, openRead)
		if err != nil {
			continue // a link, or not for us to read: its directory is synced
		}
		now, err := statFD(int(f.Fd()))
		if err == nil && (now.kind() == kindFile || now.kind() == kindDir) {
			err = f.Sync()
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// past reports whether an earlier run, which was killed, has done a step after this one, and so this one too: they are done in their order.
func (r *restore) past(p *plan, step int) bool {
	for i := step + 1; i < len(p.Steps); i++ {
		s := &p.Steps[i]
		path, slot, err := r.where(s)
		if err != nil {
			continue
		}
		var done bool
		switch s.Do {
		case doLift, doExchange:
			done = slot == s.Old
		case doPlace:
			done = path == s.New && slot == 0
		case doLink:
			done = path == s.New
		case doMeta:
			now, err := r.w.root.lstat(s.Path)
			done = err == nil && s.Was != nil && now.Ino == s.Was.Ino && now.perm() == s.Want.perm() && (s.WantTime == nil || now.MTime == *s.WantTime) &&
				(s.Was.perm() != s.Want.perm() || s.WantTime != nil && s.Was.MTime != *s.WantTime)
		}
		if done {
			return true
		}
	}
	return false
}

// end removes the journal and what was displaced.
func (r *restore) end() error {
	at("restore: ending")
	err := r.stage.close()
	if r.inner {
		_, keepErr := r.keepRootTime()
		err = errors.Join(err, keepErr, r.clearInner())
	}
	// The plan goes first: without it, what is left is a restore that never began.
	if rmErr := os.Remove(filepath.Join(r.dir, planFile)); rmErr != nil && !errors.Is(rmErr, fs.ErrNotExist) {
		return errors.Join(err, rmErr)
	}
	at("restore: ended")
	return errors.Join(err, removeAll(r.dir))
}

// keepRootTime notes the time of the workspace, which making and removing the staging folder in it changes.
func (r *restore) keepRootTime() (int64, error) {
	root, err := statFD(r.w.root.fd())
	if err != nil {
		return 0, err
	}
	return root.MTime, writeFile(r.dir, rootFile, []byte(strconv.FormatInt(root.MTime, 10)), true)
}

// clearInner removes the staging folder in the workspace without a trace in the time of the workspace.
func (r *restore) clearInner() error {
	err := removeAll(filepath.Join(r.w.opt.Root, stageName, filepath.Base(r.dir)))
	if rmErr := r.w.root.rmdir(stageName); rmErr != nil && !gone(rmErr) && !notEmpty(rmErr) {
		err = errors.Join(err, rmErr)
	}
	text, readErr := os.ReadFile(filepath.Join(r.dir, rootFile))
	if errors.Is(readErr, fs.ErrNotExist) {
		return err // it was killed before it made anything, or after all was over
	}
	at("restore: staging folder removed")
	mtime, parseErr := strconv.ParseInt(string(text), 10, 64)
	if err = errors.Join(err, readErr, parseErr); err != nil {
		return err
	}
	if err := r.w.root.setTime(".", mtime); err != nil {
		return err
	}
	return remove(filepath.Join(r.dir, rootFile))
}

// removeAll removes a folder of displaced files, whose modes may not allow it.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	if errors.Is(err, fs.ErrPermission) {
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { //nolint:errcheck // the second try tells
			if err == nil && d.IsDir() {
				return os.Chmod(path, 0o700)
			}
			return nil
		})
		err = os.RemoveAll(dir)
	}
	return err
}

// ino is the inode at a path; 0: nothing there.
func ino(d folder, rel string) (uint64, error) {
	s, err := d.lstat(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	return s.Ino, err
}

// where finds which inodes are at the path and in the slot of a step.
func (r *restore) where(s *step) (path, slot uint64, err error) {
	if path, err = ino(r.w.root, s.Path); err != nil {
		return 0, 0, err
	}
	if s.Slot != "" {
		slot, err = ino(r.stage, s.Slot)
	}
	return path, slot, err
}

// still checks that what is about to be displaced is as the plan found it.
func (r *restore) still(d folder, rel string, was *entry) error {
	now, err := d.lstat(rel)
	if err != nil {
		return err
	}
	if now.Ino != was.Ino || now.kind() != was.kind() || now.kind() != kindDir && (now.Size != was.Size || now.MTime != was.MTime) {
		return errInWay
	}
	return nil
}

// do does a step; nothing when it is done already.
func (r *restore) do(s *step) error {
	path, slot, err := r.where(s)
	if err != nil {
		return err
	}
	switch s.Do {
	case doMeta:
		if path == 0 || s.Was != nil && path != s.Was.Ino {
			return errInWay
		}
		return r.w.root.setMeta(s.Path, s.Want, s.WantTime)
	case doWrite:
		return r.writeInPlace(s, path, ".new")
	case doLift:
		switch {
		case slot == s.Old:
			return nil
		case path != s.Old && slot == 0 && s.Next != "":
			if next, err := ino(r.w.root, s.Next); err != nil || next == s.Old {
				return err // it was placed already
			}
			return errInWay
		case path != s.Old || slot != 0:
			return errInWay
		}
		return r.displace(s, func() error { return move(r.w.root, s.Path, r.stage, s.Slot) }, func() error { return move(r.stage, s.Slot, r.w.root, s.Path) })
	case doExchange:
		switch {
		case slot == s.Old:
			return nil // also when something else changed the path since: that stands
		case path != s.Old || slot != s.New:
			return errInWay
		}
		swap := func() error { return exchange(r.stage, s.Slot, r.w.root, s.Path) }
		return r.displace(s, swap, swap)
	case doPlace:
		switch {
		case path == s.New && slot == 0:
			return nil
		case path != 0 || slot != s.New:
			return errInWay
		}
		return inWay(move(r.stage, s.Slot, r.w.root, s.Path))
	case doLink:
		switch path {
		case s.New:
			return nil
		case 0:
			return inWay(hardlink(r.w.root, s.From, r.w.root, s.Path))
		}
		return errInWay
	case doRmdir:
		if path != s.Old {
			return nil // it is gone; what a later step put there is not it
		}
		if err := r.w.root.rmdir(s.Path); notEmpty(err) || err != nil && gone(err) {
			return errInWay
		} else if err != nil {
			return err
		}
		return nil
	case doMkdir:
		if path != 0 {
			if st, err := r.w.root.lstat(s.Path); err != nil || st.kind() != kindDir {
				return errors.Join(errInWay, err)
			}
			return nil
		}
		return inWay(r.w.root.mkdir(s.Path, 0o700))
	}
	return fmt.Errorf("%q is no step of a restore", s.Do)
}

// displace moves what is at the path away, unless it changed; what changed in the last moment is put back.
func (r *restore) displace(s *step, there, back func() error) error {
	if err := r.still(r.w.root, s.Path, s.Was); err != nil {
		return err
	}
	if err := inWay(there()); err != nil {
		return err
	}
	if err := r.still(r.stage, s.Slot, s.Was); err != nil {
		return errors.Join(err, back())
	}
	return nil
}

// inWay names the errors that mean that something else is there, or nothing any more.
func inWay(err error) error {
	if errors.Is(err, fs.ErrExist) || err != nil && gone(err) {
		return errInWay
	}
	return err
}

// writeInPlace gives a file the staged content without changing its inode.
func (r *restore) writeInPlace(s *step, path uint64, which string) error {
	if path != s.Old {
		return errInWay
	}
	mark := wroteFile + s.Slot
	_, err := os.Stat(filepath.Join(r.dir, mark))
	begun := err == nil
	if !begun {
		if which == ".old" {
			return nil // nothing to undo
		}
		if err := r.still(r.w.root, s.Path, s.Was); err != nil {
			return err
		}
		if err := writeFile(r.dir, mark, nil, true); err != nil {
			return err
		}
	}
	from, err := r.stage.file(s.Slot+which, openRead)
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // it was only read
	to, err := r.w.root.file(s.Path, openWrite)
	if err != nil {
		return err
	}
	at("restore: writing in place")
	n, err := io.Copy(to, from)
	if err == nil {
		err = to.Truncate(n)
	}
	return errors.Join(err, to.Sync(), to.Close())
}

// undo takes back the steps up to last, the last first.
func (r *restore) undo(p *plan, last int) error {
	var errs []string
	for i := last; i >= 0; i-- {
		at("undo: " + string(p.Steps[i].Do))
		if err := r.undoStep(&p.Steps[i]); err != nil {
			errs = append(errs, fmt.Sprintf("%s: %v", p.Steps[i].Path, err))
		}
	}
	for _, s := range p.Steps { // the undoing itself changed the times of directories
		if (s.Do == doMeta && s.WasTime != nil || s.Do == doRmdir) && s.Was.kind() == kindDir {
			if err := r.w.root.setTime(s.Path, s.Was.MTime); err != nil && !gone(err) {
				errs = append(errs, fmt.Sprintf("%s: %v", s.Path, err))
			}
		}
	}
	if len(errs) > 0 {
		n := len(errs)
		return fmt.Errorf("the restore could not be taken back at %d paths: %s; what was moved away is kept in %s", n, strings.Join(errs[:min(n, 5)], "; "), r.stage.f.Name())
	}
	return nil
}

func (r *restore) undoStep(s *step) error {
	path, slot, err := r.where(s)
	if err != nil {
		return err
	}
	switch s.Do {
	case doMeta:
		if path == 0 || s.Was == nil || path != s.Was.Ino {
			return nil // not there before, or not in its place yet
		}
		return r.w.root.setMeta(s.Path, s.Was, s.WasTime)
	case doWrite:
		if err := r.writeInPlace(s, path, ".old"); err != nil {
			return err
		}
		return r.w.root.setTime(s.Path, s.Was.MTime)
	case doLift:
		if slot != s.Old {
			return nil
		}
		return inWay(move(r.stage, s.Slot, r.w.root, s.Path))
	case doExchange:
		if slot != s.Old {
			return nil
		}
		if path != s.New {
			return errInWay
		}
		return exchange(r.stage, s.Slot, r.w.root, s.Path)
	case doPlace:
		if path != s.New || slot != 0 {
			return nil
		}
		return move(r.w.root, s.Path, r.stage, s.Slot)
	case doLink:
		if path != s.New {
			return nil
		}
		return r.w.root.unlink(s.Path)
	case doRmdir:
		if path != 0 {
			return nil
		}
		if err := r.w.root.mkdir(s.Path, 0o700); err != nil {
			return inWay(err)
		}
		return r.w.root.setMeta(s.Path, s.Was, &s.Was.MTime)
	case doMkdir:
		if st, err := r.w.root.lstat(s.Path); err != nil || st.kind() != kindDir {
			return nil //nolint:nilerr // it was not made, or is gone
		}
		if err := r.w.root.rmdir(s.Path); err != nil && !notEmpty(err) { // what others put into it since stays
			return err
		}
		return nil
	}
	return nil
}
