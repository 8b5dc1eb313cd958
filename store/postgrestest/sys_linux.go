package postgrestest

import "syscall"

// sysProcAttr makes the process another user's, and lets it die with this one. A terminal's Ctrl-C is not for it.
func sysProcAttr(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: as, Setpgid: true, Pdeathsig: syscall.SIGINT}
}
