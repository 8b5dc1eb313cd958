//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package temporalclient

import (
	"errors"
	"os"
)

// errUnsupported: without file locks two servers could write one database, so none is started.
var errUnsupported = errors.New("the embedded Temporal needs file locks of a Unix system; run Temporal separately and give its address")

func tryLock(*os.File) error { return errUnsupported }

// lockHeld is false: no embedded server can run here.
func lockHeld(string) (bool, error) { return false, nil }

func processAlive(int) bool { return false }
