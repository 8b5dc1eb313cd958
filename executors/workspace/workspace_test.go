//go:build linux

package workspace

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Only what changed is read.
func TestLaterSnapshotsReadOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	w, root := opened(t, `mkdir d; for i in {1..50}; do echo $i > d/f$i; done`)
	snap(t, w)
	if n := w.reads.Load(); n != 50 {
		t.Errorf("the first snapshot read %d files", n)
	}
	awaitAfter(t, root, time.Now()) // until a later change would show in the time of a file
	snap(t, w)                      // reads what had been changed too shortly before the first
	w.reads.Store(0)
	sh(t, root, `echo x >> d/f1; chmod 600 d/f2; mv d e; touch e/f3; echo new > e/new`)
	snap(t, w)
	if n := w.reads.Load(); n != 4 {
		t.Errorf("%d files were read", n)
	}
	awaitAfter(t, root, time.Now())
	snap(t, w)
	w.reads.Store(0)
	snap(t, w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(w.opt)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	snap(t, again)
	if n := w.reads.Load() + again.reads.Load(); n != 0 {
		t.Errorf("%d unchanged files were read", n)
	}
}

func TestRacy(t *testing.T) {
	t.Parallel()
	const second = int64(time.Second)
	at := 1000*second + 500_000_000
	for _, c := range []struct {
		name          string
		ctime, readAt int64
		racy          bool
	}{
		{"long ago", at - second, at, false},
		{"a tick ago", at - int64(tick), at, false},
		{"less than a tick ago", at - int64(tick) + 1, at, true},
		{"now", at, at, true},
		{"in the future: the clock was set back", at + 5*second, at, true},
		{"whole seconds, one ago", 999 * second, at, true},
		{"whole seconds, three ago", 997 * second, at, false},
	} {
		if got := isRacy(c.ctime, c.readAt); got != c.racy {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

func TestUnchanged(t *testing.T) {
	t.Parallel()
	s := stat{Ino: 1, Size: 2, MTime: 3, CTime: 4, Mode: modeFile | 0o644, Nlink: 1}
	later := s
	later.CTime++
	for name, c := range map[string]struct {
		was  *entry
		now  stat
		same bool
	}{
		"same":                       {&entry{stat: s}, s, true},
		"never seen":                 {nil, s, false},
		"racy":                       {&entry{stat: s, Flags: racy}, s, false},
		"only the status is younger": {&entry{stat: s}, later, false},
	} {
		if unchanged(c.was, &c.now) != c.same {
			t.Errorf("%s", name)
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	const fill = `for i in {1..20}; do head -c 1000 /dev/urandom > f$i; done`
	for name, c := range map[string]struct {
		change func(*Options)
		words  string
	}{
		"files": {func(o *Options) { o.MaxFiles = 10 }, "more than 10 files"},
		"bytes": {func(o *Options) { o.MaxBytes = 15_000 }, "20000 bytes, more than 15000"},
	} {
		w, _ := opened(t, fill, c.change)
		_, err := w.Snapshot(context.Background(), "")
		if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v", name, err)
		}
		if len(w.objects.has) > 0 || len(w.snapshots) > 0 {
			t.Errorf("%s: something was kept", name)
		}
	}
	w, root := opened(t, fill, func(o *Options) { o.MaxSnapshots = 2; o.MaxBytes = 50_000 })
	first := snap(t, w)
	sh(t, root, `for i in {1..20}; do head -c 1000 /dev/urandom > f$i; done`)
	second := snap(t, w)
	if _, err := w.Snapshot(context.Background(), ""); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a third snapshot: %v", err)
	}
	if err := w.Discard(context.Background(), first); err != nil {
		t.Fatal(err)
	}
	sh(t, root, `for i in {1..20}; do head -c 1000 /dev/urandom > f$i; done`)
	snap(t, w) // 60,000 bytes were written, but those of the first are not needed any more
	if w.objects.total > 50_000 {
		t.Errorf("the backups hold %d bytes", w.objects.total)
	}
	got, err := w.Restore(context.Background(), second, snapshotOf(w, second))
	if err != nil || !got.Complete() || got.Total != 20 {
		t.Errorf("%d, %v", got.Total, err)
	}
}

// snapshotOf is the other snapshot there is.
func snapshotOf(w *Workspace, not Snapshot) Snapshot {
	for id, s := range w.snapshots {
		if id != not.ID {
			return *s
		}
	}
	return Snapshot{}
}

func TestGarbageIsCollected(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w, root := opened(t, `echo one > a; echo two > b`)
	s := snap(t, w)
	sh(t, root, `echo three > a`)
	snap(t, w)
	if n := len(w.objects.has); n != 3 {
		t.Errorf("%d contents are kept", n)
	}
	if err := w.Discard(ctx, s); err != nil {
		t.Fatal(err)
	}
	freed, err := w.GC(ctx)
	if err != nil || freed.Files != 1 || freed.Bytes != 4 || len(w.objects.has) != 2 {
		t.Errorf("freed: %+v, %v", freed, err)
	}
	if _, err := w.Changes(ctx, s); !errors.Is(err, ErrUnknown) {
		t.Errorf("a discarded snapshot: %v", err)
	}
	for _, s := range w.snapshots {
		s.Taken = s.Taken.Add(-w.opt.MaxAge - time.Hour)
	}
	if freed, err := w.GC(ctx); err != nil || freed.Expired != 1 {
		t.Errorf("expired: %+v, %v", freed, err)
	}
	names, err := os.ReadDir(filepath.Join(w.opt.StateDir, "manifests"))
	if err != nil || len(names) != 1 {
		t.Errorf("%d manifests are kept: %v", len(names), err)
	}
}

func TestOneProcessAtATime(t *testing.T) {
	t.Parallel()
	w, _ := opened(t, `true`)
	if _, err := Open(w.opt); !errors.Is(err, ErrLocked) {
		t.Errorf("a second one: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Snapshot(context.Background(), ""); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	other := w.opt
	other.Root = t.TempDir()
	if _, err := Open(other); err == nil || !strings.Contains(err.Error(), "serves "+w.opt.Root) {
		t.Errorf("another folder: %v", err)
	}
}

// The state directory may lie in the folder; then it is no part of it.
func TestStateInside(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	sh(t, root, somewhere)
	w, err := Open(Options{Root: root, StateDir: filepath.Join(root, ".toolsvc", "state")})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	s := snap(t, w)
	sh(t, root, `echo x >> a.txt`)
	if got, err := w.Restore(context.Background(), s, snap(t, w)); err != nil || !got.Complete() || got.Total != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	cs, err := w.Changes(context.Background(), s)
	if err != nil || len(cs) != 0 {
		t.Errorf("%+v, %v", cs, err)
	}
}

// A backup that was damaged brings nothing back, rather than something wrong.
func TestDamagedBackup(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"other content": `for f in objects/*; do printf junk > $f; done`,
		"gone":          `rm objects/*`,
	} {
		w, root := opened(t, somewhere)
		from := snap(t, w)
		sh(t, root, `echo x >> a.txt; rm solo; mkdir new`)
		to := snap(t, w)
		sh(t, w.opt.StateDir, damage)
		stands := picture(t, root)
		if _, err := w.Restore(context.Background(), from, to); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: %v", name, err)
		}
		samePicture(t, name, stands, picture(t, root))
	}
}

// With a full disk, a backup and a restore fail as a whole, and say so.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	small := t.TempDir()
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=40m"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(small, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	ctx := context.Background()
	root, state := filepath.Join(small, "root"), filepath.Join(small, "state")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	sh(t, root, `head -c 6000000 /dev/urandom > a; echo b > b`)
	w, err := Open(Options{Root: root, StateDir: state})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	from := snap(t, w)
	before := picture(t, root)
	sh(t, root, `echo x > a; rm b; head -c 12000000 /dev/urandom > c`)
	if _, err := w.Snapshot(ctx, ""); !errors.Is(err, ErrNoSpace) {
		t.Fatalf("a snapshot beyond the disk: %v", err)
	}
	token := begun(t, w, from)
	if err := w.Observe(ctx, token); err != nil { // what is not kept is known all the same
		t.Fatal(err)
	}
	sh(t, small, `head -c 100000000 /dev/zero > filler 2>/dev/null || true`)
	stands := picture(t, root)
	if _, err := w.Rollback(ctx, token); !errors.Is(err, ErrNoSpace) {
		t.Fatalf("a restore with a full disk: %v", err)
	}
	samePicture(t, "after the restore that had no space", stands, picture(t, root))
	sh(t, small, `rm filler`)
	if why := refusal(t, w, token); why != "" {
		t.Fatal(why)
	}
	samePicture(t, "after the restore", before, picture(t, root))
	if left, err := os.ReadDir(filepath.Join(state, "restores")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// begun makes an attempt that began with the snapshot.
func begun(t *testing.T, w *Workspace, from Snapshot) Token {
	t.Helper()
	token := TokenOf("c", 1)
	w.attempts[string(token)] = &record{CallID: "c", Attempt: 1, Began: time.Now(), Stage: stageBegun, Before: from.Manifest}
	return token
}

func TestManifest(t *testing.T) {
	t.Parallel()
	w, _ := opened(t, somewhere)
	want, err := w.tree(snap(t, w).Manifest)
	if err != nil {
		t.Fatal(err)
	}
	text, name := want.encode()
	got, err := decodeTree(text, name)
	if err != nil || !got.equal(want) {
		t.Fatalf("not the same: %v", err)
	}
	text[len(text)/2] ^= 1
	if _, err := decodeTree(text, name); err == nil {
		t.Error("a damaged manifest was read")
	}
	for n := range bytes.NewReader(text).Len() / 7 {
		decodeTree(text[:7*n], digest{}) //nolint:errcheck // it must not panic
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	w, root := opened(t, somewhere)
	s := snap(t, w)
	sh(t, root, `echo x >> a.txt; mv src lib; rm solo; touch new; chmod 600 run.sh; touch -d 2001-01-01 s1; ln h1 h4; mv s2 s3`)
	cs, err := w.Changes(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range cs {
		got = append(got, strings.TrimSpace(string(c.Op)+" "+c.Path+" "+c.From))
	}
	slices.Sort(got)
	want := []string{"changed a.txt", "created h4", "created new", "deleted solo", "mode run.sh", "moved lib src", "moved s3 s2", "touched s1"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestIgnored(t *testing.T) {
	t.Parallel()
	patterns := []string{".git", "*.log", "build/cache", "/dist"}
	for path, want := range map[string]bool{
		".git": true, "sub/.git": true, "x.git": false, "a.log": true, "deep/b.log": true, "build/cache": true, "sub/build/cache": false, "cache": false, "src": false,
	} {
		if ignored(patterns, path) != want {
			t.Errorf("%s: %t", path, !want)
		}
	}
	if _, err := Open(Options{Root: t.TempDir(), StateDir: t.TempDir(), Ignore: []string{"["}}); err == nil {
		t.Error("a bad pattern was taken")
	}
}

// A workspace whose folder was removed or replaced says so, instead of finding it empty.
func TestTheFolderItselfIsGone(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := Open(Options{Root: root, StateDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for words, script := range map[string]string{"is gone": `rm -r root`, "was replaced": `rm -rf root; mkdir root`} {
		sh(t, filepath.Dir(root), script)
		if _, err := w.Snapshot(context.Background(), ""); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", script, err)
		}
	}
}
