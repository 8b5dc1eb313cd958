package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"toolsvc/tool"
)

// maxLinks bounds how many symbolic links one path leads through.
const maxLinks = 40

// Root is a folder with all that is in it.
type Root struct {
	dir  string
	root *os.Root
	max  int64
	mu   sync.Mutex // held while a file is swapped
}

// Open opens a folder. max bounds the files that are read and written, in bytes.
func Open(dir string, max int64) (*Root, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open the workspace %s: %w", dir, err)
	}
	// The path that callers give is compared with the real one.
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	r, err := os.OpenRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	return &Root{dir: abs, root: r, max: max}, nil
}

// Close gives the folder up.
func (r *Root) Close() error { return r.root.Close() }

// File is a file at one moment.
type File struct {
	// Path is the real one from the root, with slashes and without symbolic links.
	Path   string
	Exists bool
	Data   []byte
	// Digest is that of the data, "" when there is no file.
	Digest  string
	Mode    fs.FileMode
	ModTime time.Time

	owner owner
}

// Name is a path that callers give, from the root, with slashes. A path from the root of the machine is accepted when it leads into the folder.
func (r *Root) Name(name string) (string, error) {
	if strings.ContainsRune(name, 0) || strings.TrimSpace(name) == "" {
		return "", tool.Failf(tool.PreconditionFailed, "%q is not a path.", name)
	}
	clean := filepath.Clean(filepath.FromSlash(name))
	if filepath.IsAbs(clean) {
		rel, err := filepath.Rel(r.dir, clean)
		if err != nil || !filepath.IsLocal(rel) {
			return "", tool.Failf(tool.PolicyDenied, "%s lies outside of the workspace; give a path from its root.", name)
		}
		clean = rel
	}
	if !filepath.IsLocal(clean) {
		return "", tool.Failf(tool.PolicyDenied, "%s lies outside of the workspace.", name)
	}
	return filepath.ToSlash(clean), nil
}

// Resolve follows the symbolic links of a path, which need not lead to a file that is there.
func (r *Root) Resolve(name string) (string, error) {
	clean, err := r.Name(name)
	if err != nil {
		return "", err
	}
	var done []string
	todo := strings.Split(clean, "/")
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(done) == 0 {
				return "", tool.Failf(tool.PolicyDenied, "%s leads out of the workspace by a symbolic link.", name)
			}
			done = done[:len(done)-1]
			continue
		}
		at := path.Join(append(slices.Clone(done), part)...)
		info, err := r.root.Lstat(filepath.FromSlash(at))
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			if links++; links > maxLinks {
				return "", tool.Failf(tool.PreconditionFailed, "%s leads through more than %d symbolic links, or in a circle.", name, maxLinks)
			}
			target, err := r.root.Readlink(filepath.FromSlash(at))
			if err != nil {
				return "", r.fail("follow", name, err)
			}
			target = filepath.ToSlash(target)
			if path.IsAbs(target) {
				return "", tool.Failf(tool.PolicyDenied, "%s is, or leads through, a symbolic link to %s; only links from place to place inside of the workspace are followed.", name, target)
			}
			todo = append(strings.Split(target, "/"), todo...)
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", r.fail("look up", name, err)
		}
		done = append(done, part)
	}
	if len(done) == 0 {
		return "", tool.Failf(tool.PreconditionFailed, "%s is the workspace itself, not a file.", name)
	}
	return path.Join(done...), nil
}

// Read reads a file. One that is not there is no error.
func (r *Root) Read(name string) (*File, error) {
	at, err := r.Resolve(name)
	if err != nil {
		return nil, err
	}
	return r.read(name, at)
}

func (r *Root) read(name, at string) (*File, error) {
	info, err := r.root.Lstat(filepath.FromSlash(at))
	if errors.Is(err, fs.ErrNotExist) {
		return &File{Path: at}, nil
	}
	if err != nil {
		return nil, r.fail("look up", name, err)
	}
	if err := r.regular(name, info); err != nil {
		return nil, err
	}
	// Non-blocking, so that a pipe that has just taken the file's place does not hold us up.
	f, err := r.root.OpenFile(filepath.FromSlash(at), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return &File{Path: at}, nil
	}
	if err != nil {
		return nil, r.fail("open", name, err)
	}
	defer f.Close() //nolint:errcheck // only read
	if info, err = f.Stat(); err != nil {
		return nil, r.fail("look up", name, err)
	}
	if err := r.regular(name, info); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, r.max+1))
	if err != nil {
		return nil, r.fail("read", name, err)
	}
	if int64(len(data)) > r.max {
		return nil, r.tooLarge(name, int64(len(data)))
	}
	return &File{Path: at, Exists: true, Data: data, Digest: tool.Digest(data), Mode: info.Mode(), ModTime: info.ModTime(), owner: ownerOf(info)}, nil
}

// Stat reports whether there is something at a path: a file or a folder.
func (r *Root) Stat(name string) (exists, dir bool, err error) {
	at, err := r.Name(name)
	if err != nil {
		return false, false, err
	}
	info, err := r.root.Stat(filepath.FromSlash(at))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, false, nil
	}
	if err != nil {
		return false, false, r.fail("look up", name, err)
	}
	return true, info.IsDir(), nil
}

// Siblings lists the files of the folder that a path lies in, for suggestions; none when that folder is not there.
func (r *Root) Siblings(name string) []string {
	const most = 1000
	at, err := r.Name(name)
	if err != nil {
		return nil
	}
	f, err := r.root.Open(filepath.FromSlash(path.Dir(at)))
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // only read
	entries, _ := f.ReadDir(most)
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, path.Join(path.Dir(at), e.Name()))
		}
	}
	slices.Sort(names)
	return names
}

func (r *Root) regular(name string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return tool.Failf(tool.PreconditionFailed, "%s is a folder, not a file.", name)
	case !mode.IsRegular():
		return tool.Failf(tool.PreconditionFailed, "%s is no regular file (%s), so it is not read.", name, mode.Type())
	case info.Size() > r.max:
		return r.tooLarge(name, info.Size())
	}
	return nil
}

func (r *Root) tooLarge(name string, size int64) error {
	return tool.Failf(tool.PreconditionFailed, "%s has %d bytes, more than the %d that document tools work on.", name, size, r.max)
}

// fail names an error of the file system after the failure catalogue.
func (r *Root) fail(what, name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return tool.Failf(tool.PreconditionFailed, "toolsvc may not %s %s: %w", what, name, err)
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.EINVAL):
		return tool.Failf(tool.PreconditionFailed, "%s cannot be a file: %w", name, err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return tool.Failf(tool.ToolUnavailable, "there is no space left to %s %s: %w", what, name, err)
	case errors.Is(err, syscall.EROFS):
		return tool.Failf(tool.PreconditionFailed, "%s lies on a file system that cannot be written: %w", name, err)
	case strings.Contains(err.Error(), "path escapes from parent"):
		return tool.Failf(tool.PolicyDenied, "%s leads out of the workspace: %w", name, err)
	}
	return tool.Failf(tool.Internal, "%s %s: %w", what, name, err)
}
