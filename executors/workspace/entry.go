package workspace

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// kind is what an entry of the folder is.
type kind uint8

const (
	kindFile kind = iota + 1
	kindDir
	kindSymlink
	kindFIFO
	kindOther // sockets and devices: watched, not backed up
)

func (k kind) String() string {
	return [...]string{"nothing", "file", "directory", "symbolic link", "named pipe", "socket or device"}[k]
}

// Bits of st_mode; the same on every Unix.
const (
	modeType    = 0o170000
	modeFile    = 0o100000
	modeDir     = 0o040000
	modeSymlink = 0o120000
	modeFIFO    = 0o010000
	modePerm    = 0o007777
)

// digest is the SHA-256 of a file's content; zero when the content was not read.
type digest [32]byte

func (d digest) hex() string { return hex.EncodeToString(d[:]) }

// MarshalText implements encoding.TextMarshaler, so that a digest is readable in records.
func (d digest) MarshalText() ([]byte, error) { return []byte(d.hex()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *digest) UnmarshalText(text []byte) error {
	if len(text) != 2*len(d) {
		return fmt.Errorf("%q is no SHA-256", text)
	}
	if _, err := hex.Decode(d[:], text); err != nil {
		return fmt.Errorf("%q is no SHA-256", text)
	}
	return nil
}

// String is the digest as it is shown everywhere else in toolsvc.
func (d digest) String() string { return "sha256:" + d.hex() }

// stat is what the file system says of an entry. Times are nanoseconds since 1970.
type stat struct {
	Dev   uint64 `json:"dev"`
	Ino   uint64 `json:"ino"`
	Size  int64  `json:"size"`
	MTime int64  `json:"mtime"`
	CTime int64  `json:"ctime"`
	Mode  uint32 `json:"mode"`
	Nlink uint32 `json:"nlink"`
	UID   uint32 `json:"uid"`
	GID   uint32 `json:"gid"`
	Rdev  uint64 `json:"rdev,omitempty"`
}

func (s *stat) kind() kind {
	switch s.Mode & modeType {
	case modeFile:
		return kindFile
	case modeDir:
		return kindDir
	case modeSymlink:
		return kindSymlink
	case modeFIFO:
		return kindFIFO
	}
	return kindOther
}

func (s *stat) perm() uint32 { return s.Mode & modePerm }

// inode tells one file from another, whatever its names.
type inode struct{ dev, ino uint64 }

func (s *stat) inode() inode { return inode{s.Dev, s.Ino} }

// flags of an entry.
type flags uint8

const (
	// racy: the entry was changed so shortly before it was read that its times do not prove it unchanged later.
	racy flags = 1 << iota
	// watched: only the metadata is known, because the entry is ignored, too large, or not for us to read.
	watched
	// assumed: the entry could not be read, and its metadata leave no doubt that it is what it was.
	assumed
	// closed: a directory whose entries were not, or not all, looked at.
	closed
)

// xattr is an extended attribute.
type xattr struct {
	Name  string `json:"name"`
	Value []byte `json:"value"`
}

// entry is one file, directory or link of the folder, as it was found.
type entry struct {
	Path string `json:"path"` // from the root, with slashes; "." is the root itself
	stat
	Flags  flags   `json:"flags,omitempty"`
	Digest digest  `json:"digest,omitzero"`
	Target string  `json:"target,omitempty"` // of a symbolic link
	Xattrs []xattr `json:"xattrs,omitempty"` // sorted by name
}

func (e *entry) has(f flags) bool { return e != nil && e.Flags&f != 0 }

// covered reports whether the entry can be brought back from the backup.
func (e *entry) covered() bool { return !e.has(watched) && e.kind() != kindOther }

// linked reports whether it has more than one name. Symbolic links and pipes can have, too.
func (e *entry) linked() bool { return e.kind() != kindDir && e.Nlink > 1 }

// sameContent reports whether two entries are known to hold the same. Where a content was not read, the same file with the same size and
// time of modification counts as the same.
func sameContent(a, b *entry) bool {
	if a.kind() != b.kind() {
		return false
	}
	switch a.kind() {
	case kindFile:
		if a.Digest != (digest{}) && b.Digest != (digest{}) {
			return a.Digest == b.Digest
		}
		return a.inode() == b.inode() && a.Size == b.Size && a.MTime == b.MTime
	case kindSymlink:
		return a.Target == b.Target
	case kindOther:
		return a.Rdev == b.Rdev && (a.Rdev != 0 || a.inode() == b.inode())
	}
	return true
}

// sameState reports whether two entries (nil: nothing there) are the same but for their times and their place on the disk.
func sameState(a, b *entry) bool { return alike(a, b) && !suspicious(a, b) }

// alike is sameState that takes the metadata of a file that was not read for the whole truth.
func alike(a, b *entry) bool {
	if a == nil || b == nil {
		return a == b
	}
	return sameContent(a, b) && a.UID == b.UID && a.GID == b.GID && sameXattrs(a.Xattrs, b.Xattrs) && (a.kind() == kindSymlink || a.perm() == b.perm())
}

// suspicious reports whether a file that was not read has changed its status in a way that no other metadata explain: its content may
// have been changed, and its time set back.
func suspicious(a, b *entry) bool {
	return a != nil && b != nil && a.kind() == kindFile && (a.has(watched) || b.has(watched)) && a.Digest == b.Digest &&
		a.CTime != b.CTime && a.Mode == b.Mode && a.UID == b.UID && a.GID == b.GID && a.Nlink == b.Nlink
}

// sameTime reports whether two entries were modified at the same time. It is asked of what has a time of its own: that of a directory
// follows from what happens in it.
func sameTime(a, b *entry) bool {
	return a == nil || b == nil || a.kind() == kindDir || a.MTime == b.MTime
}

func sameXattrs(a, b []xattr) bool {
	return slices.EqualFunc(a, b, func(x, y xattr) bool { return x.Name == y.Name && bytes.Equal(x.Value, y.Value) })
}

// words describe an entry in a refusal.
func (e *entry) words() string {
	if e == nil {
		return "nothing"
	}
	switch e.kind() {
	case kindFile:
		if e.Digest == (digest{}) {
			return fmt.Sprintf("a file of %d bytes, mode %04o", e.Size, e.perm())
		}
		return fmt.Sprintf("a file of %d bytes, mode %04o, %s", e.Size, e.perm(), e.Digest)
	case kindSymlink:
		return "a symbolic link to " + e.Target
	}
	return fmt.Sprintf("a %s, mode %04o", e.kind(), e.perm())
}

// tree is the folder as it was found at one time: all entries, sorted by path.
type tree struct {
	entries []entry
}

// get finds an entry; nil when there is none.
func (t *tree) get(path string) *entry {
	if t == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(t.entries, path, func(e entry, p string) int { return strings.Compare(e.Path, p) })
	if !ok {
		return nil
	}
	return &t.entries[i]
}

// below calls f for every entry below the directory.
func (t *tree) below(dir string, f func(*entry)) {
	prefix := dir + "/"
	if dir == "." {
		prefix = ""
	}
	i, _ := slices.BinarySearchFunc(t.entries, prefix, func(e entry, p string) int { return strings.Compare(e.Path, p) })
	for ; i < len(t.entries) && strings.HasPrefix(t.entries[i].Path, prefix); i++ {
		if t.entries[i].Path != dir {
			f(&t.entries[i])
		}
	}
}

// equal reports whether both say the same of every entry.
func (t *tree) equal(u *tree) bool {
	return t != nil && u != nil && slices.EqualFunc(t.entries, u.entries, func(a, b entry) bool {
		return a.Path == b.Path && a.stat == b.stat && a.Flags == b.Flags && a.Digest == b.Digest && a.Target == b.Target && sameXattrs(a.Xattrs, b.Xattrs)
	})
}

// parent is the directory that holds the path.
func parent(p string) string {
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		return p[:i]
	}
	return "."
}

// ancestors calls f for the directories that hold the path, the nearest first, the root last; it stops when f says false.
func ancestors(p string, f func(string) bool) {
	for p != "." {
		if p = parent(p); !f(p) {
			return
		}
	}
}

func depth(p string) int {
	if p == "." {
		return -1
	}
	return strings.Count(p, "/")
}
