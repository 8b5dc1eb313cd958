//go:build linux

package supervise

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Process names a process for good: numbers are used again, the time of the start together with the boot of the machine is not.
type Process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // in clock ticks since the boot
	Boot  string `json:"boot"`
}

// Boot is the id of this boot of the machine.
func Boot() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "" // then no process is ever recognised again, which is safe
	}
	return strings.TrimSpace(string(b))
}

func identify(pid int) (Process, error) {
	s, err := readStat(pid)
	if err != nil {
		return Process{}, err
	}
	return Process{PID: pid, Start: s.start, Boot: Boot()}, nil
}

// Alive reports whether the process is still there, and no zombie.
func (p Process) Alive() bool {
	if p.PID <= 0 || p.Boot == "" || p.Boot != Boot() {
		return false
	}
	s, err := readStat(p.PID)
	return err == nil && s.start == p.Start && s.state != 'Z' && s.state != 'X'
}

// stat is what /proc/PID/stat tells; see proc_pid_stat(5).
type stat struct {
	pid, parent, group, session int
	state                       byte
	start                       uint64
}

func readStat(pid int) (stat, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, err
	}
	return parseStat(b)
}

// parseStat reads a line of /proc/PID/stat. The name, the second field, may hold anything, parentheses and spaces too.
func parseStat(b []byte) (stat, error) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return stat{}, fmt.Errorf("not a stat line: %.80q", b)
	}
	f := strings.Fields(string(b[end+1:]))
	if len(f) < 20 {
		return stat{}, fmt.Errorf("a short stat line: %.80q", b)
	}
	var s stat
	var err error
	number := func(text string) int {
		n, e := strconv.Atoi(text)
		if err == nil {
			err = e
		}
		return n
	}
	s.pid, s.state = number(strings.TrimSpace(string(b[:open]))), f[0][0]
	s.parent, s.group, s.session = number(f[1]), number(f[2]), number(f[3])
	start, e := strconv.ParseUint(f[19], 10, 64)
	if err == nil {
		err = e
	}
	s.start = start
	return s, err
}
