//go:build linux && !amd64

package supervise

import "golang.org/x/sys/unix"

// polls are the system calls that wait for several things.
var polls = map[int]bool{unix.SYS_PSELECT6: true, unix.SYS_PPOLL: true, unix.SYS_EPOLL_PWAIT: true, unix.SYS_EPOLL_PWAIT2: true}
