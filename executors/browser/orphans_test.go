package browser

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"toolsvc/executors/browser/chromium"
	"toolsvc/tool"
)

// An ephemeral browser whose process was killed is ended by the next ephemeral executor, with its folder; that of a process which lives is
// left alone.
func TestOrphanedBrowserIsEnded(t *testing.T) {
	t.Parallel()
	start := func() (*Executor, *chromium.Process) {
		t.Helper()
		x, err := New(Options{Ephemeral: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = x.Shutdown(t.Context()) })
		openIn(t, x, counter).do("click", clickOn("Play")).must(t, tool.EffectConfirmed)
		return x, x.pool.proc
	}
	lives, living := start()
	orphan, left := start()

	killed := exec.Command("true") // whose number nobody has any more
	if err := killed.Run(); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(owner{killed.Process.Pid, "1", namespace()})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(orphan.temporary, ownerFile), text, 0o600); err != nil {
		t.Fatal(err)
	}
	endOrphans()
	if left.Running() {
		t.Error("the browser of a process that is gone still runs")
	}
	if _, err := os.Stat(orphan.temporary); !os.IsNotExist(err) {
		t.Errorf("its folder is still there (%v)", err)
	}
	if !living.Running() {
		t.Error("the browser of a process that lives was ended")
	}
	if _, err := os.Stat(lives.temporary); err != nil {
		t.Error(err)
	}
}

// Only a folder that this user owns alone, and that names an owner who is gone, is an orphan's.
func TestOrphaned(t *testing.T) {
	t.Parallel()
	self, here := chromium.StartTime(os.Getpid()), namespace()
	for name, c := range map[string]struct {
		owner any
		mode  os.FileMode
		want  bool
	}{
		"gone":              {owner{os.Getpid(), self + "0", here}, 0o700, true},
		"alive":             {owner{os.Getpid(), self, here}, 0o700, false},
		"nobody is named":   {nil, 0o700, false},
		"no start is named": {owner{PID: 1 << 30, Namespace: here}, 0o700, false},
		"nonsense":          {"x", 0o700, false},
		"no namespace":      {owner{PID: 1 << 30, Started: "1"}, 0o700, false},
		"of another one":    {owner{1 << 30, "1", here + "0"}, 0o700, false},
		"of another system": {owner{1 << 30, "1", "0" + here}, 0o700, false},
		"others may write":  {owner{os.Getpid(), self + "0", here}, 0o777, false},
	} {
		dir := filepath.Join(t.TempDir(), "d")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if c.owner != nil {
			text, err := json.Marshal(c.owner)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, ownerFile), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(dir, c.mode); err != nil {
			t.Fatal(err)
		}
		if got := orphaned(dir); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What a process of another PID namespace left in a shared folder stays: its numbers mean nothing here.
func TestFolderOfAnotherNamespaceIsLeft(t *testing.T) {
	if os.Getenv("TOOLSVC_TEST_NAMESPACE") != "" { // inside
		dir, err := newTemporary()
		if err != nil {
			t.Fatal(err)
		}
		t.Log("made ", dir)
		return
	}
	t.Setenv("TMPDIR", t.TempDir())
	cmd := exec.Command("unshare", "--pid", "--fork", "--mount-proc", os.Args[0], "-test.run=^TestFolderOfAnotherNamespaceIsLeft$", "-test.v")
	if err := exec.Command("unshare", "--pid", "--fork", "--mount-proc", "true").Run(); err != nil {
		t.Skipf("a PID namespace takes unshare, and the right to use it: %v", err)
	}
	cmd.Env = append(os.Environ(), "TOOLSVC_TEST_NAMESPACE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	made, err := filepath.Glob(filepath.Join(os.TempDir(), temporaryPrefix+"*"))
	if err != nil || len(made) != 1 {
		t.Fatalf("%v, %v", made, err)
	}
	endOrphans()
	if _, err := os.Stat(made[0]); err != nil {
		t.Error(err)
	}
}
