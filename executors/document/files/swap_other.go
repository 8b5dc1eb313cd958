//go:build !linux

package files

import "os"

func exchange(*os.File, string, string) error { return errUnsupported }

func lockFolder(*os.File) (func(), bool) { return func() {}, false }

func renameNew(*os.File, string, string) error { return errUnsupported }
