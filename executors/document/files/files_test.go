package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"toolsvc/tool"
)

func open(t testing.TB) (*Root, string) {
	t.Helper()
	dir := t.TempDir()
	r, err := Open(dir, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r, r.dir
}

func put(t testing.TB, dir, name, text string, mode fs.FileMode) {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(text), 0o600), os.Chmod(p, mode)); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// onlyFiles makes sure that nothing else lies in the folder: no temporary file is left.
func onlyFiles(t testing.TB, dir string, want ...string) {
	t.Helper()
	var got []string
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, p)
			got = append(got, filepath.ToSlash(rel))
		}
		return err
	})
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the folder holds %v, want %v", got, want)
	}
}

func failure(err error) tool.Failure {
	if err == nil {
		return ""
	}
	return tool.AsFailed(err).Failure
}

// No path leads out of the folder.
func TestConfinement(t *testing.T) {
	t.Parallel()
	r, dir := open(t)
	outside := t.TempDir()
	put(t, outside, "secret", "s", 0o644)
	put(t, dir, "a/in.md", "in", 0o644)
	for link, target := range map[string]string{"out": filepath.Join(outside, "secret"), "outdir": outside, "up": "../secret", "a/up": "../../x", "in": "a/in.md", "a/dir": ".", "loop": "loop",
		"abs": filepath.Join(dir, "a/in.md"), "dangling": "a/new.md", "a/round": "../a/../in"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]tool.Failure{
		"../secret": tool.PolicyDenied, "/etc/passwd": tool.PolicyDenied, "a/../../x": tool.PolicyDenied, "out": tool.PolicyDenied, "outdir/secret": tool.PolicyDenied,
		"up": tool.PolicyDenied, "a/up": tool.PolicyDenied, "abs": tool.PolicyDenied, "loop": tool.PreconditionFailed, ".": tool.PreconditionFailed, "a": tool.PreconditionFailed,
		"": tool.PreconditionFailed, "a\x00b": tool.PreconditionFailed, "a/in.md/x": tool.PreconditionFailed, strings.Repeat("x", 300): tool.PreconditionFailed,
		"a/in.md": "", "in": "", "a/dir/dir/in.md": "", "./a//in.md": "", filepath.Join(dir, "a/in.md"): "", "none": "", "dangling": "", "a/round": "",
	} {
		f, err := r.Read(name)
		if failure(err) != want {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
		if want == "" && name != "none" && name != "dangling" && (f.Path != "a/in.md" || string(f.Data) != "in") {
			t.Errorf("%q leads to %s, %q", name, f.Path, f.Data)
		}
	}
	f, err := r.Read("dangling")
	if err != nil || f.Exists || f.Path != "a/new.md" {
		t.Errorf("a link to a file that is not there yet: %+v, %v", f, err)
	}
}

func TestOnlyRegularFilesOfBoundedSize(t *testing.T) {
	t.Parallel()
	r, dir := open(t)
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "big", strings.Repeat("x", 1<<20+1), 0o644)
	put(t, dir, "fits", strings.Repeat("x", 1<<20), 0o644)
	for name, want := range map[string]tool.Failure{"pipe": tool.PreconditionFailed, "big": tool.PreconditionFailed, "fits": ""} {
		if _, err := r.Read(name); failure(err) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	f, err := r.Read("fits")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Replace(f, Content{Data: append(f.Data, 'x')}, "c"); failure(err) != tool.PreconditionFailed {
		t.Errorf("too much was written: %v", err)
	}
}

func TestReplaceKeepsModeOwnerAndLinks(t *testing.T) {
	t.Parallel()
	r, dir := open(t)
	put(t, dir, "sub/run.sh", "old", 0o754)
	if err := os.Symlink("sub/run.sh", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(filepath.Join(dir, "sub/run.sh"), 4321, 1234); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, "sub/run.sh"), 0o754|fs.ModeSetuid); err != nil {
			t.Fatal(err)
		}
	}
	f, err := r.Read("link")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Replace(f, Content{Data: []byte("new"), Mode: 0o600}, "c"); err != nil {
		t.Fatal(err)
	}
	if s := get(t, dir, "sub/run.sh"); s != "new" {
		t.Errorf("the file holds %q", s)
	}
	if target, err := os.Readlink(filepath.Join(dir, "link")); err != nil || target != "sub/run.sh" {
		t.Errorf("the link is %q, %v", target, err)
	}
	g, err := r.Read("link")
	if err != nil || g.Mode != f.Mode || g.owner != f.owner {
		t.Errorf("mode %v, owner %v; were %v, %v (%v)", g.Mode, g.owner, f.Mode, f.owner, err)
	}
	onlyFiles(t, dir, "link", "sub/run.sh")
}

func TestReplaceRefuses(t *testing.T) {
	t.Parallel()
	r, dir := open(t)
	put(t, dir, "a", "one", 0o644)
	put(t, dir, "locked", "one", 0o444)
	a, err := r.Read("a")
	if err != nil {
		t.Fatal(err)
	}
	gone, err := r.Read("new")
	if err != nil {
		t.Fatal(err)
	}
	locked, err := r.Read("locked")
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "a", "two", 0o644)
	put(t, dir, "new", "theirs", 0o644)
	var changed *ChangedError
	if err := r.Replace(a, Content{Data: []byte("x")}, "c"); !errors.As(err, &changed) || changed.Now != tool.Digest([]byte("two")) {
		t.Errorf("a changed file: %v", err)
	}
	if err := r.Replace(gone, Content{Data: []byte("x"), Mode: 0o644}, "c"); !errors.As(err, &changed) {
		t.Errorf("a file that appeared: %v", err)
	}
	if err := r.Replace(locked, Content{Data: []byte("x")}, "c"); failure(err) != tool.PreconditionFailed {
		t.Errorf("a read-only file: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	if err := r.Replace(a, Content{Data: []byte("x")}, "c"); !errors.As(err, &changed) || changed.Now != "" {
		t.Errorf("a removed file: %v", err)
	}
	if get(t, dir, "new") != "theirs" || get(t, dir, "locked") != "one" {
		t.Error("something was written")
	}
	onlyFiles(t, dir, "locked", "new")
}

// What somebody else writes between the last look and the swap is put back: the swap is an exchange, and looks at what it displaced.
func TestSwapPutsBackWhatItDisplaced(t *testing.T) {
	t.Parallel()
	r, dir := open(t)
	put(t, dir, "a", "theirs", 0o600)
	put(t, dir, ".t", "ours", 0o644)
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // only read
	var changed *ChangedError
	err = r.exchangeChecked(d, "a", ".t", tool.Digest([]byte("what we read")), tool.Digest([]byte("ours")))
	if !errors.As(err, &changed) || changed.Now != tool.Digest([]byte("theirs")) {
		t.Errorf("got %v", err)
	}
	if get(t, dir, "a") != "theirs" {
		t.Errorf("the file holds %q", get(t, dir, "a"))
	}
	put(t, dir, ".t", "ours", 0o644)
	if err = r.place(d, "a", ".t"); !errors.As(err, &changed) || get(t, dir, "a") != "theirs" {
		t.Errorf("a file that appeared was replaced: %v", err)
	}
	onlyFiles(t, dir, "a")
}

// Many writers of one file, each reading, adding one and replacing: no addition is lost.
func TestNoUpdateIsLost(t *testing.T) {
	t.Parallel()
	r, dir := open(t)
	put(t, dir, "n", "0", 0o644)
	const writers, each = 4, 40
	other, err := Open(dir, 1<<20) // as another process has it
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close() //nolint:errcheck // only read
	var all sync.WaitGroup
	for w := range writers {
		r := []*Root{r, other}[w%2]
		all.Go(func() {
			for i := range each {
				for {
					f, err := r.Read("n")
					if err != nil || !f.Exists {
						t.Errorf("read: %v", err)
						return
					}
					n, err := strconv.Atoi(string(f.Data))
					if err != nil {
						t.Errorf("half a file was seen: %q", f.Data)
						return
					}
					err = r.Replace(f, Content{Data: []byte(strconv.Itoa(n + 1))}, fmt.Sprintf("%d-%d", w, i))
					var changed *ChangedError
					if errors.As(err, &changed) {
						continue
					}
					if err != nil {
						t.Error(err)
						return
					}
					break
				}
			}
		})
	}
	all.Wait()
	if s := get(t, dir, "n"); s != strconv.Itoa(writers*each) {
		t.Errorf("%s additions of %d are there", s, writers*each)
	}
	onlyFiles(t, dir, "n")
}

func TestRestore(t *testing.T) {
	t.Parallel()
	r, dir := open(t)
	put(t, dir, "a", "before", 0o640)
	old := time.Date(2020, 1, 2, 3, 4, 5, 678, time.UTC)
	if err := os.Chtimes(filepath.Join(dir, "a"), old, old); err != nil {
		t.Fatal(err)
	}
	a, err := r.Read("a")
	if err != nil {
		t.Fatal(err)
	}
	ours := []byte("ours")
	if err := r.Replace(a, Content{Data: ours}, "c"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "a"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Restore(a, tool.Digest(ours), "c"); err != nil {
		t.Fatal(err)
	}
	back, err := r.Read("a")
	if err != nil || string(back.Data) != "before" || back.Mode != a.Mode || !back.ModTime.Equal(a.ModTime) {
		t.Errorf("got %q %v %v, want %v %v (%v)", back.Data, back.Mode, back.ModTime, a.Mode, a.ModTime, err)
	}
	var changed *ChangedError
	put(t, dir, "a", "theirs", 0o644)
	if err := r.Restore(a, tool.Digest(ours), "c"); !errors.As(err, &changed) || get(t, dir, "a") != "theirs" {
		t.Errorf("what somebody else wrote was restored over: %v", err)
	}

	made, err := r.MakeFolders("x/y/new.md")
	if err != nil || fmt.Sprint(made) != "[x x/y]" {
		t.Fatalf("made %v, %v", made, err)
	}
	if made, err := r.MakeFolders("x/y/z.md"); err != nil || len(made) != 0 {
		t.Errorf("made %v again (%v)", made, err)
	}
	if _, err := r.MakeFolders("a/b/c"); failure(err) != tool.PreconditionFailed {
		t.Errorf("a folder in a file: %v", err)
	}
	none, err := r.Read("x/y/new.md")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Replace(none, Content{Data: ours, Mode: 0o644}, "c"); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "x/y/new.md", "theirs", 0o644)
	if err := r.Restore(none, tool.Digest(ours), "c"); !errors.As(err, &changed) {
		t.Errorf("somebody else's file was removed: %v", err)
	}
	put(t, dir, "x/y/new.md", "ours", 0o644)
	if err := r.Restore(none, tool.Digest(ours), "c"); err != nil {
		t.Error(err)
	}
	put(t, dir, "x/theirs", "", 0o644)
	if stay := r.RemoveFolders(made); fmt.Sprint(stay) != "[x]" {
		t.Errorf("stay %v", stay)
	}
	onlyFiles(t, dir, "a", "x/theirs")
}

func TestLeftover(t *testing.T) {
	t.Parallel()
	r, dir := open(t)
	put(t, dir, "sub/a", "one", 0o644)
	put(t, dir, Temporary("sub/a", "call"), "half", 0o600)
	f, err := r.Leftover("sub/a", "call")
	if err != nil || !f.Exists || string(f.Data) != "half" {
		t.Fatalf("%+v, %v", f, err)
	}
	a, err := r.Read("sub/a")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Replace(a, Content{Data: []byte("two")}, "call"); err != nil {
		t.Fatalf("the temporary file of an earlier attempt is in the way: %v", err)
	}
	put(t, dir, Temporary("sub/a", "call"), "half", 0o600)
	if err := errors.Join(r.Discard("sub/a", "call"), r.Discard("sub/a", "call")); err != nil {
		t.Error(err)
	}
	onlyFiles(t, dir, "sub/a")
}

func TestSiblings(t *testing.T) {
	t.Parallel()
	r, dir := open(t)
	put(t, dir, "sub/b", "", 0o644)
	put(t, dir, "sub/a", "", 0o644)
	put(t, dir, "sub/deep/c", "", 0o644)
	if got := r.Siblings("sub/x"); fmt.Sprint(got) != "[sub/a sub/b]" {
		t.Error(got)
	}
	if got := append(r.Siblings("none/x"), r.Siblings("../x")...); len(got) != 0 {
		t.Error(got)
	}
}
