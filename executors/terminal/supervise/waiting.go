//go:build linux

package supervise

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLooked bounds how many processes of the foreground are looked at.
const maxLooked = 64

// foreground is what the processes of a terminal's foreground are doing.
type foreground struct {
	// program is the name of the one that waits for the terminal, or of the first one.
	program string
	// reading: one is blocked in reading the terminal. polling: one waits for several things (select, poll, epoll), which line editors and
	// full-screen programs do.
	reading, polling bool
}

// lookAtForeground asks the kernel what system call each process of a group is in (proc_pid_syscall(5)); of programs that run with other
// privileges nothing is known.
func lookAtForeground(group int, tty uint64) foreground {
	var f foreground
	if group <= 0 {
		return f
	}
	looked := 0
	for _, pid := range below(os.Getpid()) {
		s, err := readStat(pid)
		if err != nil || s.group != group {
			continue
		}
		if looked++; looked > maxLooked {
			break
		}
		call, fd := systemCall(pid)
		reading := s.state == 'S' && call == unix.SYS_READ && refersTo(pid, fd, tty)
		polling := s.state == 'S' && polls[call]
		if f.program == "" || reading && !f.reading || polling && !f.reading && !f.polling {
			f.program = programName(pid)
		}
		f.reading, f.polling = f.reading || reading, f.polling || polling
	}
	return f
}

// systemCall is the number of the system call that a process is blocked in, and its first argument; -1 when that is not known.
func systemCall(pid int) (number, first int) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/syscall")
	if err != nil {
		return -1, 0
	}
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return -1, 0 // "running"
	}
	number, err = strconv.Atoi(f[0])
	if err != nil {
		return -1, 0
	}
	arg, err := strconv.ParseUint(strings.TrimPrefix(f[1], "0x"), 16, 32)
	if err != nil {
		return number, -1
	}
	return number, int(arg)
}

// below lists the descendants of a process, parents first. Unlike tree it looks only at them, where the kernel lists children
// (CONFIG_PROC_CHILDREN), and may miss one that is just coming or going.
func below(root int) []int {
	var found []int
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		tasks, err := filepath.Glob("/proc/" + strconv.Itoa(queue[0]) + "/task/*/children")
		if err != nil || len(tasks) == 0 && queue[0] == root {
			return tree(root)
		}
		for _, t := range tasks {
			b, err := os.ReadFile(t)
			if err != nil {
				continue // the thread has ended
			}
			for _, f := range strings.Fields(string(b)) {
				if pid, err := strconv.Atoi(f); err == nil {
					found, queue = append(found, pid), append(queue, pid)
				}
			}
		}
	}
	return found
}

func programName(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	if err != nil {
		return ""
	}
	return text(bytes.TrimSpace(b))
}

// refersTo reports whether a descriptor of a process is the terminal, or the process's own name for it.
func refersTo(pid, fd int, tty uint64) bool {
	var st unix.Stat_t
	if err := unix.Stat("/proc/"+strconv.Itoa(pid)+"/fd/"+strconv.Itoa(fd), &st); err != nil {
		return false
	}
	return st.Rdev == tty || st.Rdev == unix.Mkdev(5, 0) // /dev/tty
}
