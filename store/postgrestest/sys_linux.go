package postgrestest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// sysProcAttr makes the process another user's, and lets it die with this one. A terminal's Ctrl-C is not for it.
func sysProcAttr(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: as, Setpgid: true, Pdeathsig: syscall.SIGINT}
}

// children are the processes that a process has made and that run.
func children(parent int) (pids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	for _, path := range stats {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if state, of := stat(pid); err == nil && of == parent && state != 'Z' {
			pids = append(pids, pid)
		}
	}
	return pids
}

// running reports whether a process is there, and has not only its end to be noticed.
func running(pid int) bool {
	state, _ := stat(pid)
	return state != 0 && state != 'Z' && state != 'X'
}

// stat is a process's state and its parent (proc(5)); 0 when there is none.
func stat(pid int) (state byte, parent int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0
	}
	if _, err := fmt.Sscanf(string(text[bytes.LastIndexByte(text, ')')+1:]), " %c %d", &state, &parent); err != nil {
		return 0, 0
	}
	return state, parent
}
