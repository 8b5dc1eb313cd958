//go:build linux || darwin

package store

import "syscall"

// freeBytes is what this user may still write to the disk of dir.
func freeBytes(dir string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil //nolint:gosec // a block has a positive size
}
