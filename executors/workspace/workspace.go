package workspace

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Workspace is a folder that can be brought back to how it was. It is safe for concurrent use; its operations come one after the other.
type Workspace struct {
	opt     Options
	root    folder
	own     inode // the state directory, which is in no snapshot
	inner   bool  // restores stage in the workspace: the state directory is on another file system
	locked  *os.File
	objects *objects

	turn chan struct{} // holds one token: whose turn it is
	done bool

	latest     *tree  // what was found last
	latestName digest // its manifest
	trees      []cached
	snapshots  map[string]*Snapshot
	attempts   map[string]*record
	edits      edits
	recovered  []Recovery
	written    int64 // bytes of backups when the garbage was last collected
	pulse      *pulse
	reads      atomic.Int64 // files whose content was read since Open
}

// cached is a tree that was used lately.
type cached struct {
	name digest
	tree *tree
}

// Snapshot is the state of the folder at one time.
type Snapshot struct {
	ID    string    `json:"id"`
	Label string    `json:"label"`
	Taken time.Time `json:"taken"`
	// Files and Bytes are what is backed up.
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// Uncovered are the outermost paths that are watched only, the first of them; a change in them cannot be taken back.
	Uncovered []Uncovered `json:"uncovered,omitempty"`
	// Manifest is the digest of the list of all that was found.
	Manifest digest `json:"manifest"`
}

// Uncovered is something that is not backed up.
type Uncovered struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

const (
	maxUncovered = 50       // paths that a snapshot lists
	maxListed    = 200      // changes that a result lists
	maxTrees     = 4        // trees that are kept in memory
	gcBytes      = 64 << 20 // how much is written before garbage is collected by itself
)

// identity of a state directory.
type identity struct {
	Version int    `json:"version"`
	Root    string `json:"root"`
}

const version = 1

// Open opens the workspace, finishes or undoes what a killed process left unfinished, and collects garbage. Errors: [ErrLocked], what the
// file system says, and a state directory that serves another folder.
func Open(opt Options) (_ *Workspace, err error) {
	if supported != nil {
		return nil, supported
	}
	if err := opt.check(); err != nil {
		return nil, err
	}
	if opt.Root, err = filepath.Abs(opt.Root); err != nil {
		return nil, err
	}
	if opt.StateDir, err = filepath.Abs(opt.StateDir); err != nil {
		return nil, err
	}
	w := &Workspace{opt: opt, turn: make(chan struct{}, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open the workspace %s: %w", opt.Root, err), w.release())
		}
	}()
	if w.root, err = openFolder(opt.Root); err != nil {
		return nil, err
	}
	for _, dir := range []string{"", "manifests", "snapshots", "attempts", "restores"} {
		if err := os.MkdirAll(filepath.Join(opt.StateDir, dir), 0o700); err != nil {
			return nil, err
		}
	}
	if err := w.takeLock(); err != nil {
		return nil, err
	}
	if err := w.identify(); err != nil {
		return nil, err
	}
	if w.objects, err = openObjects(opt.StateDir, opt.MaxBytes); err != nil {
		return nil, err
	}
	if w.snapshots, err = readRecords[Snapshot](w.path("snapshots")); err != nil {
		return nil, err
	}
	if w.attempts, err = readRecords[record](w.path("attempts")); err != nil {
		return nil, err
	}
	if err := w.recover(); err != nil {
		return nil, err
	}
	if err := w.loadLatest(); err != nil {
		return nil, err
	}
	if err := w.recoverAttempts(); err != nil {
		return nil, err
	}
	if _, err := w.collect(); err != nil {
		return nil, err
	}
	w.turn <- struct{}{}
	return w, nil
}

func (w *Workspace) path(name ...string) string {
	return filepath.Join(append([]string{w.opt.StateDir}, name...)...)
}

// takeLock makes sure that no other process uses the state directory.
func (w *Workspace) takeLock() (err error) {
	if w.locked, err = os.OpenFile(w.path("lock"), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	return lock(w.locked)
}

// identify checks that the state directory serves this folder.
func (w *Workspace) identify() error {
	state, err := openFolder(w.opt.StateDir)
	if err != nil {
		return err
	}
	defer state.close() //nolint:errcheck // a directory
	s, err := statFD(state.fd())
	if err != nil {
		return err
	}
	w.own, w.inner = s.inode(), !sameMount(state, w.root)
	text, err := os.ReadFile(w.path("workspace.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return writeRecord(w.opt.StateDir, "workspace.json", identity{version, w.opt.Root})
	}
	if err != nil {
		return err
	}
	var id identity
	if err := json.Unmarshal(text, &id); err != nil {
		return fmt.Errorf("%s is damaged: %w", w.path("workspace.json"), err)
	}
	if id.Version != version {
		return fmt.Errorf("the state directory %s has the form %d, and this program knows form %d", w.opt.StateDir, id.Version, version)
	}
	if id.Root != w.opt.Root {
		return fmt.Errorf("the state directory %s serves %s; each folder needs its own", w.opt.StateDir, id.Root)
	}
	return nil
}

// loadLatest takes up what was found last, so that only what changed since is read.
func (w *Workspace) loadLatest() error {
	text, err := os.ReadFile(w.path("latest"))
	if err != nil {
		return nil //nolint:nilerr // without it everything is read anew
	}
	var name digest
	if n, err := hex.Decode(name[:], text[:min(len(text), 2*len(name))]); err != nil || n != len(name) {
		return nil
	}
	if t, err := w.tree(name); err == nil {
		w.latest, w.latestName = t, name
	}
	return nil
}

// Close gives the workspace up. Backups stay.
func (w *Workspace) Close() error {
	if err := w.acquire(context.Background()); err != nil {
		return nil //nolint:nilerr // closed before
	}
	w.done = true
	defer w.leave()
	return w.release()
}

func (w *Workspace) release() error {
	w.stopPulse()
	var errs []error
	if w.objects != nil {
		errs = append(errs, w.objects.close())
	}
	if w.root.f != nil {
		errs = append(errs, w.root.close())
	}
	if w.locked != nil {
		errs = append(errs, unlock(w.locked), w.locked.Close())
	}
	return errors.Join(errs...)
}

// acquire waits for this caller's turn; leave ends it.
func (w *Workspace) acquire(ctx context.Context) error {
	select {
	case <-w.turn:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if w.done {
		w.leave()
		return ErrClosed
	}
	return nil
}

func (w *Workspace) leave() { w.turn <- struct{}{} }

// find reads the folder, remembers what was found, and charges what changed to the attempts that are under way.
func (w *Workspace) find(ctx context.Context, keep keeping) (*tree, digest, error) {
	t, err := w.read(ctx, w.latest, keep)
	if err != nil {
		return nil, digest{}, err
	}
	if t.equal(w.latest) {
		return w.latest, w.latestName, nil
	}
	text, name := t.encode()
	if _, err := os.Stat(w.path("manifests", name.hex())); err != nil {
		if err := writeFile(w.path("manifests"), name.hex(), text, true); err != nil {
			return nil, digest{}, fmt.Errorf("keep the list of what was found: %w", full(err))
		}
	}
	if err := w.charge(t); err != nil {
		return nil, digest{}, err
	}
	if err := writeFile(w.opt.StateDir, "latest", []byte(name.hex()), false); err != nil {
		return nil, digest{}, full(err)
	}
	old := w.latestName
	w.latest, w.latestName = t, name
	w.remember(name, t)
	if old != (digest{}) && !w.live(old) {
		if err := remove(w.path("manifests", old.hex())); err != nil {
			return nil, digest{}, err
		}
	}
	return t, name, nil
}

// live reports whether somebody may ask for the manifest.
func (w *Workspace) live(name digest) bool {
	for _, s := range w.snapshots {
		if s.Manifest == name {
			return true
		}
	}
	for _, a := range w.attempts {
		if slices.Contains(a.manifests(), name) {
			return true
		}
	}
	return name == w.latestName
}

// tree loads a manifest.
func (w *Workspace) tree(name digest) (*tree, error) {
	for _, c := range w.trees {
		if c.name == name {
			return c.tree, nil
		}
	}
	text, err := os.ReadFile(w.path("manifests", name.hex()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: its list of files is gone", ErrUnknown)
	}
	if err != nil {
		return nil, err
	}
	t, err := decodeTree(text, name)
	if err != nil {
		return nil, err
	}
	w.remember(name, t)
	return t, nil
}

func (w *Workspace) remember(name digest, t *tree) {
	w.trees = append([]cached{{name, t}}, w.trees[:min(len(w.trees), maxTrees-1)]...)
}

// newID names a snapshot or a restore; names sort by time.
func newID(prefix string) string {
	var b [6]byte
	rand.Read(b[:]) //nolint:errcheck // never fails
	return fmt.Sprintf("%s_%013x%s", prefix, time.Now().UnixMilli(), hex.EncodeToString(b[:]))
}

// describe makes the snapshot of a tree.
func describe(t *tree, name digest, label string, opt *Options) Snapshot {
	s := Snapshot{ID: newID("s"), Label: label, Taken: time.Now().UTC(), Manifest: name}
	for i := range t.entries {
		e := &t.entries[i]
		if e.covered() {
			s.Files++
			if e.kind() == kindFile {
				s.Bytes += e.Size
			}
			if !e.has(closed) {
				continue
			}
		}
		if len(s.Uncovered) < maxUncovered && (e.Path == "." || !t.get(parent(e.Path)).has(watched)) {
			s.Uncovered = append(s.Uncovered, Uncovered{e.Path, whyUncovered(t, e, opt)})
		}
	}
	return s
}

func whyUncovered(t *tree, e *entry, opt *Options) string {
	switch root := t.get("."); {
	case e.has(watched) && e.has(closed):
		return "it is not backed up, and too large to be watched"
	case ignored(opt.Ignore, e.Path):
		return "it is ignored"
	case e.kind() == kindOther:
		return "it is a " + e.kind().String()
	case root != nil && e.Dev != root.Dev:
		return "it is on another file system"
	case e.Size > opt.MaxFileBytes:
		return fmt.Sprintf("it is larger than %d bytes", opt.MaxFileBytes)
	}
	return "it may not be read"
}

// Snapshot backs up the folder as it is now. Only what changed since the last look at it is read. Errors: [ErrTooLarge], [ErrNoSpace]; then
// nothing was kept.
func (w *Workspace) Snapshot(ctx context.Context, label string) (Snapshot, error) {
	if err := w.acquire(ctx); err != nil {
		return Snapshot{}, err
	}
	defer w.leave()
	if err := w.place(); err != nil {
		return Snapshot{}, err
	}
	t, name, err := w.findOrCollect(ctx)
	if err != nil {
		return Snapshot{}, fmt.Errorf("back up %s: %w", w.opt.Root, err)
	}
	s := describe(t, name, label, &w.opt)
	if err := writeRecord(w.path("snapshots"), s.ID, s); err != nil {
		return Snapshot{}, fmt.Errorf("record the backup: %w", err)
	}
	w.snapshots[s.ID] = &s
	return s, nil
}

// findOrCollect backs the folder up; when there is no room, it collects garbage and tries once more.
func (w *Workspace) findOrCollect(ctx context.Context) (*tree, digest, error) {
	t, name, err := w.find(ctx, keepAll)
	if errors.Is(err, ErrTooLarge) || errors.Is(err, ErrNoSpace) {
		freed, gcErr := w.collect()
		if gcErr != nil {
			return nil, digest{}, errors.Join(err, gcErr)
		}
		if freed.Bytes > 0 {
			t, name, err = w.find(ctx, keepAll)
		}
	}
	return t, name, err
}

// place makes sure that one more backup may be kept.
func (w *Workspace) place() error {
	if n := len(w.snapshots) + len(w.attempts); n >= w.opt.MaxSnapshots {
		if _, err := w.collect(); err != nil {
			return err
		}
		if n := len(w.snapshots) + len(w.attempts); n >= w.opt.MaxSnapshots {
			return fmt.Errorf("%w: there are %d backups already; discard some", ErrTooLarge, n)
		}
	}
	return nil
}

// known finds the manifest of a snapshot that was not discarded.
func (w *Workspace) known(s Snapshot) (*tree, error) {
	have, ok := w.snapshots[s.ID]
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrUnknown, s.ID)
	}
	return w.tree(have.Manifest)
}

// Changes lists what differs now from the snapshot.
func (w *Workspace) Changes(ctx context.Context, from Snapshot) ([]Change, error) {
	if err := w.acquire(ctx); err != nil {
		return nil, err
	}
	defer w.leave()
	b, err := w.known(from)
	if err != nil {
		return nil, err
	}
	n, _, err := w.find(ctx, keepNone)
	if err != nil {
		return nil, fmt.Errorf("look for changes in %s: %w", w.opt.Root, err)
	}
	return compare(b, n).changes(b, n), nil
}

// Restored is what a restore came to.
type Restored struct {
	// Changes are what was taken back, the first of them; Total is how many there were.
	Changes []Change `json:"changes"`
	Total   int      `json:"total"`
	// Uncovered are changes that the backup could not take back.
	Uncovered []Change `json:"uncovered,omitempty"`
	// Unseen are directories whose content is not all known, so that changes in them may have gone unnoticed.
	Unseen []string `json:"unseen,omitempty"`
	// Left are paths that were not found as they were before, when the folder was read again afterwards.
	Left []string `json:"left,omitempty"`
}

// Complete reports that the folder, where the attempt changed it, was found to be as before.
func (r Restored) Complete() bool { return len(r.Uncovered)+len(r.Unseen)+len(r.Left) == 0 }

// Restore takes back what changed between the two snapshots, and nothing else. after is the state right after the attempt. When something
// else changed one of the same paths since, nothing is done, and the error is a [*Refused]. Other errors also mean that nothing was changed,
// unless they say otherwise.
func (w *Workspace) Restore(ctx context.Context, from, after Snapshot) (Restored, error) {
	if err := w.acquire(ctx); err != nil {
		return Restored{}, err
	}
	defer w.leave()
	b, err := w.known(from)
	if err != nil {
		return Restored{}, err
	}
	a, err := w.known(after)
	if err != nil {
		return Restored{}, err
	}
	return w.restore(ctx, b, a, nil)
}

// restore brings what differs between b and a back to b.
func (w *Workspace) restore(ctx context.Context, b, a *tree, foreign map[string]string) (Restored, error) {
	n, _, err := w.find(ctx, keepNone)
	if err != nil {
		return Restored{}, fmt.Errorf("look at %s before the restore: %w", w.opt.Root, err)
	}
	d := compare(b, a)
	if cs := conflictsOf(b, a, n, d, foreign); len(cs) > 0 {
		return Restored{}, w.refuse(cs, a, n)
	}
	uncovered, err := w.carryOut(ctx, b, a, n, d)
	if err != nil {
		if errors.Is(err, errInWay) {
			return Restored{}, w.inWay(ctx, err, b, a, d, foreign)
		}
		return Restored{}, fmt.Errorf("restore %s: %w", w.opt.Root, err)
	}
	now, _, err := w.find(context.WithoutCancel(ctx), keepNone)
	if err != nil {
		return Restored{}, fmt.Errorf("%s was restored, but it could not be read again to prove it: %w", w.opt.Root, err)
	}
	return result(b, a, now, d, uncovered), nil
}

// result compares what is there now with what was there before.
func result(b, a, now *tree, d delta, uncovered []string) Restored {
	all := d.changes(b, a)
	r := Restored{Total: len(all), Changes: all[:min(len(all), maxListed)]}
	not := map[string]bool{}
	for _, p := range uncovered {
		not[p] = true
		if len(r.Uncovered) < maxListed {
			r.Uncovered = append(r.Uncovered, delta{paths: []string{p}}.changes(b, a)...)
		}
	}
	left := compare(b, now)
	for _, p := range left.paths {
		if was, is := b.get(p), now.get(p); was.has(watched) && alike(was, is) && sameTime(was, is) && !suspicious(was, a.get(p)) {
			continue // its status changed by being brought back
		}
		// Below a directory that could not be read at the time, what differs may be the attempt's.
		hidden := slices.ContainsFunc(d.unseen, func(dir string) bool { return strings.HasPrefix(p, dir+"/") })
		if (d.has(p) && !not[p] || hidden) && len(r.Left) < maxListed {
			r.Left = append(r.Left, p)
		}
	}
	for _, dir := range d.unseen {
		if slices.Contains(left.unseen, dir) {
			r.Unseen = append(r.Unseen, dir)
		}
	}
	return r
}

// carryOut plans, prepares and does a restore.
func (w *Workspace) carryOut(ctx context.Context, b, a, n *tree, d delta) (uncovered []string, err error) {
	r, err := w.beginRestore(newID("r"))
	if err != nil {
		return nil, full(err)
	}
	p := planRestore(b, a, n, d, rights{exchange: r.canExchange(), root: os.Geteuid() == 0, uid: uint32(os.Geteuid())})
	if len(p.Steps) > 0 {
		if err := r.prepare(ctx, &p); err != nil {
			return nil, errors.Join(err, r.end())
		}
		if err, undone := r.run(&p, false); err != nil {
			if undone {
				return nil, errors.Join(err, r.end())
			}
			return nil, errors.Join(err, r.stage.close()) // the journal stays for the next Open
		}
	}
	return p.Uncovered, r.end()
}

// inWay turns what was met half-way into a refusal, with what differs now.
func (w *Workspace) inWay(ctx context.Context, met error, b, a *tree, d delta, foreign map[string]string) error {
	n, _, err := w.find(ctx, keepNone)
	if err != nil {
		return errors.Join(met, err)
	}
	if cs := conflictsOf(b, a, n, d, foreign); len(cs) > 0 {
		return w.refuse(cs, a, n)
	}
	var at *stepError
	if !errors.As(met, &at) {
		return met
	}
	c := Conflict{Path: at.step.Path, Why: errInWay.Error(), Ours: a.get(at.step.Path).words(), Theirs: n.get(at.step.Path).words()}
	return &Refused{Conflicts: []Conflict{c}, Total: 1, cause: met}
}

// refuse makes the error of a refusal, with differences where both sides are small texts.
func (w *Workspace) refuse(cs []Conflict, a, n *tree) error {
	r := &Refused{Total: len(cs), Conflicts: cs[:min(len(cs), maxConflicts)]}
	for i := range r.Conflicts {
		c := &r.Conflicts[i]
		ours, theirs := a.get(c.Path), n.get(c.Path)
		if ours == nil || theirs == nil || ours.kind() != kindFile || theirs.kind() != kindFile || theirs.Size > diffBytes || ours.Digest == theirs.Digest {
			continue
		}
		x, ok := w.objects.text(ours.Digest, diffBytes)
		if !ok {
			continue
		}
		if y, err := w.small(c.Path); err == nil {
			c.Diff = textDiff(c.Path, x, y)
		}
	}
	return r
}

// small reads a small file of the folder.
func (w *Workspace) small(path string) ([]byte, error) {
	f, err := w.root.file(path, openRead)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	return io.ReadAll(io.LimitReader(f, diffBytes))
}

// Discard forgets a snapshot; nothing when it is forgotten already.
func (w *Workspace) Discard(ctx context.Context, s Snapshot) error {
	if err := w.acquire(ctx); err != nil {
		return err
	}
	defer w.leave()
	if err := remove(w.path("snapshots", s.ID)); err != nil {
		return fmt.Errorf("discard the backup %s: %w", s.ID, err)
	}
	delete(w.snapshots, s.ID)
	return w.collectSoon()
}
