//go:build linux

package workspace

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// pictureOf describes a folder with nothing but the standard library: by path, what is there, with content, mode, owner, times, targets, and which
// names share one file.
func pictureOf(root string) (map[string]string, error) {
	pic := map[string]string{}
	first := map[[2]uint64]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		line := fmt.Sprintf("%v uid=%d gid=%d mtime=%d", info.Mode(), st.Uid, st.Gid, info.ModTime().UnixNano())
		if key := [2]uint64{uint64(st.Dev), st.Ino}; st.Nlink > 1 && !info.IsDir() {
			if first[key] == "" {
				first[key] = rel
			}
			line += " file of " + first[key]
		}
		switch {
		case info.Mode().IsRegular():
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" size=%d sum=%x", len(content), sha256.Sum256(content))
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			line += " -> " + target
		}
		for _, attr := range []string{"user.note"} {
			buf := make([]byte, 100)
			if n, err := syscall.Getxattr(path, attr, buf); err == nil && info.Mode().IsRegular() {
				line += fmt.Sprintf(" %s=%q", attr, buf[:n])
			}
		}
		pic[rel] = line
		return nil
	})
	return pic, err
}

func picture(t testing.TB, root string) map[string]string {
	t.Helper()
	pic, err := pictureOf(root)
	if err != nil {
		t.Fatal(err)
	}
	return pic
}

// samePicture fails with what differs.
func samePicture(t testing.TB, what string, want, got map[string]string) {
	t.Helper()
	if d := pictureDiff(want, got); d != "" {
		t.Fatalf("%s:\n%s", what, d)
	}
}

func pictureDiff(want, got map[string]string) string {
	var b strings.Builder
	for _, p := range slices.Sorted(maps.Keys(want)) {
		if got[p] != want[p] {
			fmt.Fprintf(&b, "%s\n  want %s\n  got  %s\n", p, want[p], got[p])
		}
	}
	for _, p := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[p]; !ok {
			fmt.Fprintf(&b, "%s\n  want nothing\n  got  %s\n", p, got[p])
		}
	}
	return b.String()
}

// sh runs a script of the shell in the folder.
func sh(t testing.TB, dir, script string) {
	t.Helper()
	cmd := exec.Command("bash", "-ec", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// opened opens a workspace over a new folder that the script fills.
func opened(t testing.TB, fill string, change ...func(*Options)) (*Workspace, string) {
	t.Helper()
	root, state := t.TempDir(), t.TempDir()
	sh(t, root, fill)
	opt := Options{Root: root, StateDir: state}
	for _, f := range change {
		f(&opt)
	}
	w, err := Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w, root
}

func snap(t testing.TB, w *Workspace) Snapshot {
	t.Helper()
	s, err := w.Snapshot(context.Background(), t.Name())
	if err != nil {
		t.Fatal(err)
	}
	return s
}
