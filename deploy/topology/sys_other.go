//go:build !linux

package topology

import "syscall"

// sysProcAttr keeps a terminal's Ctrl-C from the process, which is ended in order.
func sysProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
