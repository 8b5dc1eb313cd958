//go:build !linux

package postgrestest

import "syscall"

// sysProcAttr makes the process another user's. A terminal's Ctrl-C is not for it.
func sysProcAttr(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: as, Setpgid: true}
}

// children are not known here: they end by themselves a moment later.
func children(int) []int { return nil }

func running(int) bool { return false }
