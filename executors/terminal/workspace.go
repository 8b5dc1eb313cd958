//go:build linux

package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"toolsvc/tool"
)

// realDir is a directory's path without symbolic links.
func realDir(dir string, create bool) (string, error) {
	if create {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", err
		}
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", err
	}
	st, err := os.Stat(real)
	if err == nil && !st.IsDir() {
		err = fmt.Errorf("%s is not a directory", dir)
	}
	return real, err
}

// inside reports whether path is dir, or below it. Both are absolute and clean.
func inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// within is a path of the workspace relative to its root. Absolute paths are taken when they lie in it.
func (x *Executor) within(path string) (string, error) {
	rel := filepath.Clean(path)
	if filepath.IsAbs(rel) {
		r, err := filepath.Rel(x.rootPath, rel)
		if abs, e := filepath.Abs(x.opts.Root); err == nil && !filepath.IsLocal(r) && e == nil { // the workspace's path as it was given
			r, err = filepath.Rel(abs, rel)
		}
		if err != nil {
			return "", err
		}
		rel = r
	}
	if !filepath.IsLocal(rel) {
		return "", tool.Failf(tool.PolicyDenied, "%s is outside of the workspace.", path)
	}
	return rel, nil
}

// cwd is the directory of the workspace to start in. Symbolic links that lead out of the workspace are refused.
func (x *Executor) cwd(path string) (string, error) {
	rel, err := x.within(path)
	if err != nil {
		return "", err
	}
	d, err := x.root.Open(rel)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", &tool.Failed{Failure: tool.PreconditionFailed, What: path, Cause: err, Message: fmt.Sprintf("The directory %s is not in the workspace.", path)}
		}
		return "", &tool.Failed{Failure: tool.PolicyDenied, What: path, Cause: err, Message: fmt.Sprintf("The directory %s cannot be used: it leads out of the workspace, or may not be opened.", path)}
	}
	defer d.Close() //nolint:errcheck // it was only looked at
	st, err := d.Stat()
	if err != nil || !st.IsDir() {
		return "", &tool.Failed{Failure: tool.PreconditionFailed, What: path, Cause: err, Message: fmt.Sprintf("%s is not a directory.", path)}
	}
	// The real path, so that a link that is changed meanwhile leads nowhere else.
	real, err := filepath.EvalSymlinks(filepath.Join(x.rootPath, rel))
	if err != nil || !inside(x.rootPath, real) {
		return "", &tool.Failed{Failure: tool.PolicyDenied, What: path, Cause: err, Message: fmt.Sprintf("The directory %s leads out of the workspace.", path)}
	}
	return real, nil
}

// documents answers what conditions ask of files.
func (x *Executor) documents(ctx context.Context, needs tool.Needs) (map[string]any, error) {
	if len(needs.Documents) == 0 {
		return nil, nil
	}
	if x.opts.Documents != nil {
		return x.opts.Documents(ctx, needs)
	}
	out := map[string]any{}
	for _, path := range needs.Documents {
		d, err := x.document(path, needs.DocumentText)
		if err != nil {
			return nil, err
		}
		out[path] = d
	}
	return out, nil
}

// document is what is known of a file without understanding it. A file that is not there is known not to be there; one that cannot be
// looked at is an error.
func (x *Executor) document(path string, withText bool) (map[string]any, error) {
	rel, err := x.within(path)
	if err != nil {
		return nil, err
	}
	f, err := x.root.Open(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]any{"path": path, "exists": false}, nil
	}
	if err != nil {
		return nil, &tool.Failed{Failure: tool.PolicyDenied, What: path, Cause: err, Message: fmt.Sprintf("The file %s cannot be read: it leads out of the workspace, or may not be opened.", path)}
	}
	defer f.Close() //nolint:errcheck // it was only read
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", path, err)
	}
	d := map[string]any{"path": path, "exists": true, "size": st.Size(), "mode": fmt.Sprintf("%04o", st.Mode().Perm())}
	if !st.Mode().IsRegular() || st.Size() > whole {
		return d, nil // too large, or no file, for the rest
	}
	b, err := io.ReadAll(io.LimitReader(f, whole+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(b) > whole { // it grew
		return d, nil
	}
	d["digest"], d["size"] = tool.Digest(b), len(b)
	if utf8.Valid(b) {
		text := strings.ReplaceAll(string(b), "\r\n", "\n")
		d["lines"] = bytes.Count(b, []byte("\n"))
		if len(b) > 0 && b[len(b)-1] != '\n' {
			d["lines"] = bytes.Count(b, []byte("\n")) + 1
		}
		if withText {
			d["text"] = text
		}
	}
	return d, nil
}
