//go:build unix

package temporalserver

import (
	"fmt"
	"os"
	"syscall"
)

// fileIdentity tells a file from another one that later has its path.
func fileIdentity(info os.FileInfo) string {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d-%d", stat.Dev, stat.Ino)
	}
	return info.ModTime().UTC().String()
}
