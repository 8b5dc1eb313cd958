//go:build unix

package files

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// owner is whom a file belongs to.
type owner struct {
	uid, gid int
	known    bool
}

func ownerOf(info fs.FileInfo) owner {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return owner{}
	}
	return owner{int(s.Uid), int(s.Gid), true}
}

// give makes a new file belong to the owner.
func (o owner) give(f *os.File) error {
	if !o.known {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if ownerOf(info) == o {
		return nil
	}
	if err := f.Chown(o.uid, o.gid); err != nil {
		return fmt.Errorf("keep its owner (user %d, group %d): %w", o.uid, o.gid, err)
	}
	return nil
}
