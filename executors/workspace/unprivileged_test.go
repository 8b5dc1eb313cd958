//go:build linux

package workspace

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// nobody is a user without rights.
const nobody = 65534

// Without root's rights, modes stand in the way: a restore opens the directories that it has to, and closes them again.
func TestUnprivileged(t *testing.T) {
	if os.Getenv("WORKSPACE_AS_NOBODY") != "" {
		asNobody(t)
		return
	}
	t.Parallel()
	if os.Geteuid() != 0 {
		asNobody(t)
		return
	}
	dir, err := os.MkdirTemp("", "toolsvc-unprivileged-") // not below t.TempDir, which only its owner may enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	binary := filepath.Join(dir, "test")
	if err := copyFile(os.Args[0], binary); err != nil {
		t.Fatal(err)
	}
	for path, uid := range map[string]int{dir: 0, filepath.Join(dir, "tmp"): nobody} {
		if uid != 0 {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chown(path, uid, uid); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(binary, "-test.run=^TestUnprivileged$", "-test.v")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "WORKSPACE_AS_NOBODY=1", "TMPDIR="+filepath.Join(dir, "tmp"), "HOME=/")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := out.Close(); err == nil {
			err = cerr
		}
	}()
	_, err = io.Copy(out, in)
	return err
}

func asNobody(t *testing.T) {
	const fill = `mkdir -p open/in shut/in; echo a > open/a; echo b > shut/b; echo c > shut/in/c; echo d > open/in/d; chmod 555 shut`
	for name, c := range map[string]struct {
		attempt  string
		complete bool
	}{
		"a shut directory changed":      {`chmod 755 shut; echo x >> shut/b; rm -r shut/in; touch shut/new; chmod 555 shut`, true},
		"a directory shut":              {`chmod 000 open`, true},
		"a directory changed, and shut": {`echo x > open/in/d; chmod 000 open`, false}, // found out when it is open again
		"a file shut":                   {`chmod 000 open/a`, true},
		"a new directory, shut":         {`mkdir new; touch new/x; chmod 500 new`, true},
		"a shut directory moved":        {`chmod 755 shut; mv shut moved; chmod 555 moved`, true},
		"the root shut":                 {`echo x >> open/a; chmod 555 .`, true},
	} {
		t.Run(name, func(t *testing.T) {
			w, root := opened(t, fill)
			t.Cleanup(func() { sh(t, root, `chmod -R u+rwx .`) })
			before := picture(t, root)
			from := snap(t, w)
			sh(t, root, c.attempt)
			got, err := w.Restore(context.Background(), from, snap(t, w))
			if err != nil {
				t.Fatal(err)
			}
			if got.Complete() != c.complete {
				t.Errorf("complete: %t (%+v)", got.Complete(), got)
			}
			if c.complete {
				samePicture(t, fmt.Sprintf("after the restore of %q", c.attempt), before, picture(t, root))
			}
		})
	}
}
