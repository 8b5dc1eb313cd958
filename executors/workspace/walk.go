package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// keeping says which contents a reading of the folder keeps.
type keeping uint8

const (
	keepNone  keeping = iota
	keepSmall         // those that a refusal may show (diffBytes)
	keepAll
)

// errMoved: the folder changed under the reading in a way that calls for another one.
var errMoved = errors.New("the workspace changed while it was read")

// readings is how often the folder is read anew while it keeps changing.
const readings = 4

// read finds the folder as it is now. Files that are proven unchanged since base are not read. Contents are kept as keep says; nothing is kept
// when it fails.
func (w *Workspace) read(ctx context.Context, base *tree, keep keeping) (*tree, error) {
	var err error
	for range readings {
		var t *tree
		if t, err = w.readOnce(ctx, base, keep); err == nil {
			return t, nil
		}
		if !errors.Is(err, errMoved) {
			return nil, err
		}
	}
	return nil, err
}

func (w *Workspace) readOnce(ctx context.Context, base *tree, keep keeping) (_ *tree, err error) {
	found, err := w.list(ctx, base)
	if err != nil {
		return nil, err
	}
	b := w.objects.batch()
	defer func() {
		if err != nil {
			err = errors.Join(full(err), b.abort())
		}
	}()
	if err = w.readContents(ctx, base, found, b, keep); err != nil {
		return nil, err
	}
	if err = b.commit(); err != nil {
		return nil, fmt.Errorf("keep the contents of %s: %w", w.root.f.Name(), err)
	}
	found = slices.DeleteFunc(found, func(e entry) bool { return e.Path == "" })
	return &tree{entries: found}, nil
}

// full makes a full disk recognizable.
func full(err error) error {
	if isFull(err) {
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return err
}

// lister lists the folder with several goroutines.
type lister struct {
	w    *Workspace
	base *tree
	// moved finds entries of base by inode: files of a directory that was renamed.
	moved func() map[inode]*entry

	mu      sync.Mutex
	ready   *sync.Cond
	dirs    []listing // yet to be listed
	busy    int
	found   []entry
	watched int
	files   int
	over    map[string]bool // watched folders that are too large to be watched
	err     error
}

// listing is a directory to be listed.
type listing struct {
	path string
	// watched is the outermost folder above that is only watched; "" when there is none.
	watched string
}

// list finds all entries by their metadata, sorted by path; digests are those of base where the file is unchanged.
func (w *Workspace) list(ctx context.Context, base *tree) ([]entry, error) {
	rootStat, err := statFD(w.root.fd())
	if err != nil {
		return nil, fmt.Errorf("look at the workspace: %w", err)
	}
	if now, err := os.Stat(w.opt.Root); err != nil {
		return nil, fmt.Errorf("the folder %s is gone: %w", w.opt.Root, err)
	} else if open, err := w.root.f.Stat(); err != nil || !os.SameFile(now, open) {
		return nil, errors.Join(fmt.Errorf("the folder %s was replaced by another one since it was opened", w.opt.Root), err)
	}
	l := &lister{w: w, base: base, over: map[string]bool{}, moved: sync.OnceValue(func() map[inode]*entry {
		byInode := map[inode]*entry{}
		if base != nil {
			for i := range base.entries {
				byInode[base.entries[i].inode()] = &base.entries[i]
			}
		}
		return byInode
	})}
	l.ready = sync.NewCond(&l.mu)
	root := entry{Path: ".", stat: rootStat}
	if err := w.root.in(".", func(dir int, name string) (err error) { return l.describe(dir, name, &root) }); err != nil {
		return nil, err
	}
	expected := 1024
	if base != nil {
		expected = len(base.entries) + 64
	}
	l.found, l.dirs = append(make([]entry, 0, expected), root), []listing{{path: "."}}
	var wg sync.WaitGroup
	for range workers() {
		wg.Go(func() { l.work(ctx, rootStat.Dev) })
	}
	wg.Wait()
	if l.err != nil {
		return nil, l.err
	}
	for root := range l.over { // which of its entries were found depends on chance
		l.found = slices.DeleteFunc(l.found, func(e entry) bool { return strings.HasPrefix(e.Path, root+"/") })
		l.close(root)
	}
	slices.SortFunc(l.found, func(a, b entry) int { return strings.Compare(a.Path, b.Path) })
	return l.found, nil
}

// work lists directories until none is left.
func (l *lister) work(ctx context.Context, dev uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		for len(l.dirs) == 0 && l.busy > 0 && l.err == nil {
			l.ready.Wait()
		}
		if len(l.dirs) == 0 || l.err != nil {
			l.ready.Broadcast()
			return
		}
		next := l.dirs[len(l.dirs)-1]
		l.dirs = l.dirs[:len(l.dirs)-1]
		l.busy++
		l.mu.Unlock()
		err := ctx.Err()
		if err == nil {
			err = l.dir(next, dev)
		}
		l.mu.Lock()
		l.busy--
		if err != nil && l.err == nil {
			l.err = err
		}
		l.ready.Broadcast()
	}
}

// dir lists one directory.
func (l *lister) dir(at listing, dev uint64) error {
	err := l.w.root.list(at.path, func(fd int, names []string) error {
		found, dirs := make([]entry, 0, len(names)), []listing(nil)
		for _, name := range names {
			e, descend, err := l.entry(fd, name, at, dev)
			if err != nil {
				return err
			}
			if e == nil {
				continue
			}
			found = append(found, *e)
			if descend {
				root := at.watched
				if root == "" && e.has(watched) {
					root = e.Path
				}
				dirs = append(dirs, listing{e.Path, root})
			}
		}
		return l.add(at, found, dirs)
	})
	switch {
	case err == nil:
		return nil
	case gone(err):
		return errMoved
	case denied(err):
		return l.assume(at)
	}
	return err
}

// add takes what was found, within the bounds.
func (l *lister) add(at listing, found []entry, dirs []listing) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at.watched != "" {
		if l.watched += len(found); l.watched > l.w.opt.MaxWatched {
			l.over[at.watched] = true
			return nil
		}
	} else if l.files += len(found); l.files > l.w.opt.MaxFiles {
		return fmt.Errorf("%w: it has more than %d files; ignore folders that need no backup, or raise the limit", ErrTooLarge, l.w.opt.MaxFiles)
	}
	l.found, l.dirs = append(l.found, found...), append(l.dirs, dirs...)
	l.ready.Broadcast()
	return nil
}

// close marks a directory whose entries are not all known. The caller holds mu.
func (l *lister) close(dir string) {
	for i := range l.found {
		if l.found[i].Path == dir {
			l.found[i].Flags |= closed
		}
	}
}

// assume takes the entries of a directory that may not be read from the base: its own metadata changed, not what is in it, as far as
// anybody without the right to look can tell.
func (l *lister) assume(at listing) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.close(at.path)
	if l.base != nil {
		l.base.below(at.path, func(e *entry) {
			was := *e
			was.Flags |= assumed
			l.found = append(l.found, was)
		})
	}
	return nil
}

// entry describes one name in a directory. nil: nothing that counts.
func (l *lister) entry(dir int, name string, at listing, dev uint64) (_ *entry, descend bool, err error) {
	s, err := statIn(dir, name)
	if gone(err) {
		return nil, false, nil // deleted since it was listed
	}
	if err != nil {
		return nil, false, fmt.Errorf("look at %s: %w", join(at.path, name), err)
	}
	if s.inode() == l.w.own || at.path == "." && name == stageName {
		return nil, false, nil
	}
	was := l.base.get(join(at.path, name))
	e := &entry{stat: s}
	if was != nil {
		e.Path = was.Path // no second copy of the path
	} else {
		e.Path = join(at.path, name)
	}
	e.Flags = l.w.watch(e, at.watched != "", dev)
	if was == nil || !unchanged(was, &s) {
		if m := l.moved()[s.inode()]; unchanged(m, &s) {
			was = m
		} else {
			was = nil
		}
	}
	if was != nil && was.has(watched) == e.has(watched) {
		e.Digest, e.Target, e.Xattrs = was.Digest, was.Target, was.Xattrs
	} else if err := l.describe(dir, name, e); err != nil {
		if gone(err) {
			return nil, false, errMoved
		}
		return nil, false, fmt.Errorf("look at %s: %w", e.Path, err)
	}
	return e, s.kind() == kindDir, nil
}

// watch says whether the entry is only watched: ignored, too large, or on another file system.
func (w *Workspace) watch(e *entry, inherited bool, dev uint64) flags {
	if inherited || ignored(w.opt.Ignore, e.Path) || e.kind() == kindFile && e.Size > w.opt.MaxFileBytes || e.Dev != dev {
		return watched
	}
	return 0
}

// describe reads what the metadata do not hold, except contents.
func (l *lister) describe(dir int, name string, e *entry) (err error) {
	switch e.kind() {
	case kindSymlink:
		e.Target, err = readlinkIn(dir, name)
	case kindFile, kindDir:
		if !e.has(watched) {
			e.Xattrs, err = xattrsIn(dir, name)
		}
	}
	return err
}

func join(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}

// readContents reads the files whose content is not known, or not kept although it is to be.
func (w *Workspace) readContents(ctx context.Context, base *tree, found []entry, b *batch, keep keeping) error {
	var todo []*entry
	var total, need int64
	for i := range found {
		e := &found[i]
		if e.kind() != kindFile || e.has(watched|assumed) {
			continue
		}
		total += e.Size
		if e.Digest == (digest{}) || keep == keepAll && !b.holds(e.Digest) {
			todo = append(todo, e)
			if keep == keepAll {
				need += e.Size
			}
		}
	}
	if total > w.opt.MaxBytes {
		return fmt.Errorf("%w: it holds %d bytes, more than %d; ignore folders that need no backup, or raise the limit", ErrTooLarge, total, w.opt.MaxBytes)
	}
	if need > 0 {
		if err := w.objects.room(need); err != nil {
			return err
		}
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, workers())
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for i := range errs {
		wg.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= len(todo) || ctx.Err() != nil {
					return
				}
				if errs[i] = w.readFile(todo[n], base, b, keep); errs[i] != nil {
					stop()
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// rereads is how often one file is read anew while it keeps changing; then it stays racy, and the next reading reads it again.
const rereads = 3

// readFile reads one file, and says how much its times prove. An entry that is gone by now gets an empty path.
func (w *Workspace) readFile(e *entry, base *tree, b *batch, keep keeping) error {
	w.reads.Add(1)
	f, err := w.root.file(e.Path, openRead)
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist):
		if _, err := w.root.lstat(parent(e.Path)); gone(err) {
			return errMoved
		}
		e.Path = ""
		return nil
	case gone(err), notFile(err):
		return errMoved
	case denied(err):
		e.assume(base.get(e.Path))
		return nil
	default:
		return fmt.Errorf("read the workspace: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	for try := 1; ; try++ {
		readAt := time.Now().UnixNano()
		before, err := statFD(int(f.Fd()))
		if err != nil {
			return fmt.Errorf("look at %s: %w", e.Path, err)
		}
		if before.kind() != kindFile || before.Ino != e.Ino {
			return errMoved
		}
		store := keep == keepAll || keep == keepSmall && before.Size <= diffBytes
		d, n, err := b.read(f, before.Size, store)
		if err != nil {
			return fmt.Errorf("read %s: %w", e.Path, err)
		}
		after, err := statFD(int(f.Fd()))
		if err != nil {
			return fmt.Errorf("look at %s: %w", e.Path, err)
		}
		e.stat, e.Digest = after, d
		e.Flags &^= racy
		if isRacy(after.CTime, readAt) {
			e.Flags |= racy
		}
		if before == after && n == after.Size {
			return nil
		}
		if try == rereads {
			e.Flags |= racy
			e.Size = n
			return nil
		}
		if _, err := f.Seek(0, 0); err != nil {
			return fmt.Errorf("read %s: %w", e.Path, err)
		}
	}
}

// assume describes a file that may not be read: as it was, when its metadata leave no doubt; otherwise it is only watched.
func (e *entry) assume(was *entry) {
	if was != nil && was.Digest != (digest{}) && was.inode() == e.inode() && was.Size == e.Size && was.MTime == e.MTime {
		e.Digest = was.Digest
		e.Xattrs = was.Xattrs
		e.Flags |= assumed
		return
	}
	e.Flags |= watched
}
