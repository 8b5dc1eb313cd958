//go:build !linux

package files

import "os"

func exchange(*os.File, string, string) error { return errUnsupported }

func renameNew(*os.File, string, string) error { return errUnsupported }
