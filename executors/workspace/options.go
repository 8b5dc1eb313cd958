package workspace

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"strings"
	"time"
)

// DefaultIgnore are the names that are watched but not backed up, unless Options.Ignore says otherwise.
var DefaultIgnore = []string{".git", "node_modules"}

// Limits that hold where Options leave them 0.
const (
	DefaultMaxFiles     = 200_000
	DefaultMaxBytes     = 4 << 30
	DefaultMaxFileBytes = 256 << 20
	DefaultMaxWatched   = 100_000
	DefaultMaxSnapshots = 256
	DefaultMaxAge       = 7 * 24 * time.Hour
)

// diffBytes is the size up to which the contents that an attempt left behind are kept, so that a refusal can show a difference.
const diffBytes = 64 << 10

// Options say which folder is kept, where, and within which bounds.
type Options struct {
	// Root is the folder.
	Root string
	// StateDir is where backups, records and the journal are kept; it is made when it is missing (mode 0700: it holds copies of the folder's
	// contents). It serves one Root and one process at a time. On the same file system as Root, a restore moves files instead of
	// copying them. It may lie inside Root; then it is left out of every snapshot.
	StateDir string
	// Ignore are names ("node_modules") or, with a slash, paths from Root ("build/cache"), with the wildcards of [path.Match], that are not backed
	// up. They are watched: a result names what an attempt changed in them. nil means [DefaultIgnore]; an empty slice ignores nothing.
	Ignore []string
	// MaxFiles bounds the files and directories that are backed up; MaxBytes both the size of the folder and that of all backups together.
	// A snapshot beyond them is refused with [ErrTooLarge].
	MaxFiles int
	MaxBytes int64
	// MaxFileBytes is the size above which a file is watched but not backed up.
	MaxFileBytes int64
	// MaxWatched bounds the entries below ignored folders that are looked at. A folder beyond it is not watched: no restore is then said to be
	// complete, because nobody knows.
	MaxWatched int
	// MaxSnapshots bounds the snapshots and open attempts at one time.
	MaxSnapshots int
	// MaxAge is how long a snapshot or a record of an attempt is kept that nobody discards.
	MaxAge time.Duration
}

// Errors that callers match.
var (
	// ErrLocked: another process uses the state directory.
	ErrLocked = errors.New("the workspace is in use by another process")
	// ErrTooLarge: the folder is beyond a bound of Options. Nothing was kept.
	ErrTooLarge = errors.New("the workspace is too large to be backed up")
	// ErrNoSpace: the disk with the state directory is full. Nothing was kept, and nothing was changed.
	ErrNoSpace = errors.New("there is no space left for the backup")
	// ErrUnknown: there is no such snapshot or attempt; it was discarded, is too old, or never was.
	ErrUnknown = errors.New("there is no such backup")
	// ErrClosed: the workspace was closed.
	ErrClosed = errors.New("the workspace is closed")
)

func (o *Options) check() error {
	if o.Root == "" || o.StateDir == "" {
		return errors.New("a workspace needs a root and a state directory")
	}
	if o.Ignore == nil {
		o.Ignore = DefaultIgnore
	}
	for _, pattern := range o.Ignore {
		if _, err := path.Match(pattern, "x"); err != nil || pattern == "" {
			return fmt.Errorf("the ignore pattern %q is not a valid pattern", pattern)
		}
	}
	set := func(v *int, or int) {
		if *v <= 0 {
			*v = or
		}
	}
	set(&o.MaxFiles, DefaultMaxFiles)
	set(&o.MaxWatched, DefaultMaxWatched)
	set(&o.MaxSnapshots, DefaultMaxSnapshots)
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.MaxFileBytes <= 0 {
		o.MaxFileBytes = DefaultMaxFileBytes
	}
	if o.MaxAge <= 0 {
		o.MaxAge = DefaultMaxAge
	}
	return nil
}

// ignored reports whether the path from the root is one that is not backed up.
func ignored(patterns []string, rel string) bool {
	for _, pattern := range patterns {
		subject := rel
		if !strings.Contains(pattern, "/") {
			subject = path.Base(rel)
		}
		if ok, err := path.Match(strings.Trim(pattern, "/"), subject); ok && err == nil {
			return true
		}
	}
	return false
}

// workers is how many goroutines read the folder.
func workers() int { return min(max(runtime.GOMAXPROCS(0), 2), 4) }
