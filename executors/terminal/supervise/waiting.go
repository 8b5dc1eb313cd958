//go:build linux

package supervise

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLooked bounds how many processes of the foreground are looked at.
const maxLooked = 64

// awaits tells whether a process of the terminal's foreground waits for the terminal: reading, because it is blocked in reading it;
// polling, because it waits for several things (select, poll, epoll), which line editors and full-screen programs do. It asks the kernel what system
// call each process is in (proc_pid_syscall(5)); of programs that run with other privileges nothing is known.
func awaits(leader int, tty uint64) (reading, polling bool) {
	if leader <= 0 {
		return false, false
	}
	pids := append([]int{leader}, tree(leader)...)
	for _, pid := range pids[:min(len(pids), maxLooked)] {
		if s, err := readStat(pid); err != nil || s.group != leader || s.state != 'S' {
			continue
		}
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/syscall")
		if err != nil {
			continue
		}
		f := strings.Fields(string(b))
		if len(f) < 2 {
			continue // "running"
		}
		number, err := strconv.Atoi(f[0])
		if err != nil {
			continue
		}
		switch {
		case number == unix.SYS_READ:
			fd, err := strconv.ParseUint(strings.TrimPrefix(f[1], "0x"), 16, 32)
			if err == nil && refersTo(pid, int(fd), tty) {
				reading = true
			}
		case polls[number]:
			polling = true
		}
	}
	return reading, polling
}

// refersTo reports whether a descriptor of a process is the terminal, or the process's own name for it.
func refersTo(pid, fd int, tty uint64) bool {
	var st unix.Stat_t
	if err := unix.Stat("/proc/"+strconv.Itoa(pid)+"/fd/"+strconv.Itoa(fd), &st); err != nil {
		return false
	}
	return st.Rdev == tty || st.Rdev == unix.Mkdev(5, 0) // /dev/tty
}
