//go:build !unix

package files

import (
	"io/fs"
	"os"
)

// owner is whom a file belongs to; it is known on Unix only.
type owner struct{}

func ownerOf(fs.FileInfo) owner { return owner{} }

func (owner) give(*os.File) error { return nil }
