//go:build linux

package supervise

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// killLimit bounds the ending of a tree of processes after the grace. Only a process that hangs in the kernel takes so long.
const killLimit = 5 * time.Second

// tree lists the descendants of a process that are no zombies, in no order.
func tree(root int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]stat{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if s, err := readStat(pid); err == nil { // one that has ended meanwhile is none
			children[s.parent] = append(children[s.parent], s)
		}
	}
	return descendants(children, root)
}

func descendants(children map[int][]stat, root int) []int {
	var found []int
	seen := map[int]bool{root: true}
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, s := range children[queue[0]] {
			if seen[s.pid] {
				continue
			}
			seen[s.pid] = true
			queue = append(queue, s.pid)
			if s.state != 'Z' && s.state != 'X' {
				found = append(found, s.pid)
			}
		}
	}
	return found
}

// endTree ends all descendants of this process, and returns how many there were. They are asked first, by
// signals, and have the grace to comply.
// Then all are stopped before any is killed, so that none can start another in between. empty is closed when no child is left.
func endTree(ask []unix.Signal, grace time.Duration, empty <-chan struct{}) int {
	select {
	case <-empty: // the usual case
		return 0
	case <-time.After(time.Millisecond): // the last one is just being collected
	}
	self := os.Getpid()
	first := tree(self)
	for _, pid := range first {
		for _, sig := range ask {
			_ = unix.Kill(pid, sig) // it may have ended by itself
		}
		_ = unix.Kill(pid, unix.SIGCONT)
	}
	count := len(first)
	if count == 0 {
		return 0
	}
	select {
	case <-empty:
		return count
	case <-time.After(grace):
	}
	stopped := map[int]bool{}
	for end := time.Now().Add(killLimit); time.Now().Before(end); {
		more := false
		for _, pid := range tree(self) {
			if !stopped[pid] {
				stopped[pid], more = true, true
				_ = unix.Kill(pid, unix.SIGSTOP)
			}
		}
		if more {
			continue
		}
		left := tree(self)
		for _, pid := range left {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		select {
		case <-empty:
			return max(count, len(stopped))
		case <-time.After(2 * time.Millisecond):
			clear(stopped) // a number may be in use again
		}
	}
	return max(count, len(stopped))
}
