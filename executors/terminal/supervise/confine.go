//go:build linux

package supervise

import (
	"errors"
	"fmt"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Confinement is what a command may touch.
type Confinement struct {
	// Off confines nothing.
	Off bool
	// Required has the order fail where the kernel cannot confine.
	Required bool
	// ReadOnly are directories and files that may be read and executed, ReadWrite those that may also be changed. What is not there is
	// left out.
	ReadOnly, ReadWrite []string
	// NoNetwork forbids TCP, and UDP where the kernel can.
	NoNetwork bool
}

// Layers are the layers of protection that are active for a command.
type Layers struct {
	// Subreaper: no process that the command starts can get out of sight.
	Subreaper bool `json:"subreaper"`
	// Landlock is the version of the kernel's Landlock that confines the command's files; 0 when nothing does.
	Landlock int `json:"landlock"`
	// Scoped: the command can signal only processes of its own, and reach no abstract Unix socket of others.
	Scoped bool `json:"scoped"`
	// NoTCP and NoUDP: the command cannot open connections.
	NoTCP bool `json:"no_tcp"`
	NoUDP bool `json:"no_udp"`
	// NoNewPrivileges: programs with the set-user-ID bit give no privileges.
	NoNewPrivileges bool `json:"no_new_privileges"`
}

// The versions of Landlock's ABI that brought what is reported; see landlock(7).
const (
	abiRefer  = 2 // before it, files could not be moved between directories
	abiTCP    = 4
	abiScoped = 6
	abiUDP    = 10
)

// ErrUnconfined: confinement is required, and the kernel cannot give it.
var ErrUnconfined = errors.New("this kernel has no Landlock, and commands must be confined")

// LandlockABI is the version of the kernel's Landlock, 0 when it has none.
func LandlockABI() int {
	v, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return v
}

// Possible are the layers that a command would have on this machine.
func Possible(noNetwork bool) Layers {
	abi := LandlockABI()
	l := Layers{Subreaper: true}
	if abi < abiRefer {
		return l
	}
	l.Landlock, l.NoNewPrivileges, l.Scoped = abi, true, abi >= abiScoped
	l.NoTCP, l.NoUDP = noNetwork && abi >= abiTCP, noNetwork && abi >= abiUDP
	return l
}

// confine restricts this process for good, and with it all that it starts.
func confine(c Confinement, dir string) (Layers, error) {
	var l Layers
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return l, fmt.Errorf("become a subreaper: %w", err)
	}
	l.Subreaper = true
	if c.Off {
		return l, nil
	}
	abi := LandlockABI()
	if abi < abiRefer {
		if c.Required {
			return l, ErrUnconfined
		}
		return l, nil
	}
	rules := []landlock.Rule{
		landlock.RWDirs(dir).WithRefer(),
		landlock.RWFiles("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx").IgnoreIfMissing().WithIoctlDev(),
		landlock.RWDirs("/dev/pts", "/dev/shm").IgnoreIfMissing().WithIoctlDev(),
	}
	for _, p := range c.ReadOnly {
		rules = append(rules, pathRule(p, false)...)
	}
	for _, p := range c.ReadWrite {
		rules = append(rules, pathRule(p, true)...)
	}
	config := landlock.V8
	if err := config.BestEffort().RestrictPaths(rules...); err != nil {
		return l, fmt.Errorf("confine the command by Landlock: %w", err)
	}
	if err := config.BestEffort().RestrictScoped(); err != nil {
		return l, fmt.Errorf("keep the command from signalling other processes: %w", err)
	}
	if c.NoNetwork {
		if err := landlock.V10.BestEffort().RestrictNet(); err != nil {
			return l, fmt.Errorf("cut the command off the network by Landlock: %w", err)
		}
		if c.Required && abi < abiTCP {
			return l, errors.New("this kernel cannot cut a command off the network, which is required")
		}
	}
	return Possible(c.NoNetwork), nil
}

// pathRule allows a directory with all below it, or a file; nothing when it is not there.
func pathRule(path string, write bool) []landlock.Rule {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return nil
	}
	dir := st.Mode&unix.S_IFMT == unix.S_IFDIR
	switch {
	case dir && write:
		return []landlock.Rule{landlock.RWDirs(path).WithRefer()}
	case dir:
		return []landlock.Rule{landlock.RODirs(path)}
	case write:
		return []landlock.Rule{landlock.RWFiles(path)}
	}
	return []landlock.Rule{landlock.ROFiles(path)}
}
