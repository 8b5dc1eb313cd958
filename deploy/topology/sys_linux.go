package topology

import "syscall"

// sysProcAttr keeps a terminal's Ctrl-C from the process, which is ended in order, and lets it end when this one dies.
func sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
