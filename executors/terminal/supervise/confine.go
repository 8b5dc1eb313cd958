//go:build linux

package supervise

import (
	"errors"
	"fmt"

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

// The versions of Landlock's ABI that brought what is used here; see landlock(7). Before abiRefer, files could not be moved between directories.
const (
	abiRefer    = 2
	abiTruncate = 3
	abiTCP      = 4
	abiIoctl    = 5
	abiScoped   = 6
	abiUDP      = 10
)

// ErrUnconfined: confinement is required, and the kernel cannot give it.
var ErrUnconfined = errors.New("this kernel has no Landlock, and commands must be confined")

// landlockABI is the version of the kernel's Landlock, 0 when it has none that serves.
func landlockABI() int {
	v, err := ll.LandlockGetABIVersion()
	if err != nil || v < abiRefer {
		return 0
	}
	return v
}

// Possible are the layers that a command would have on this machine.
func Possible(noNetwork bool) Layers {
	abi := landlockABI()
	return Layers{Subreaper: true, Landlock: abi, NoNewPrivileges: abi > 0, Scoped: abi >= abiScoped, NoTCP: noNetwork && abi >= abiTCP, NoUDP: noNetwork && abi >= abiUDP}
}

// What may be done with files, and with directories as well.
const (
	readFile  = ll.AccessFSExecute | ll.AccessFSReadFile
	readDir   = readFile | ll.AccessFSReadDir
	writeFile = readFile | ll.AccessFSWriteFile | ll.AccessFSTruncate
	writeDir  = readDir | writeFile | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeChar | ll.AccessFSMakeDir | ll.AccessFSMakeReg |
		ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeBlock | ll.AccessFSMakeSym | ll.AccessFSRefer
)

// devices are those that programs need, terminals among them.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm"}

// confine restricts the calling thread for good, and with it what that thread starts; the caller has locked it. The other threads of this process
// stay free: they write the record, and look at what the command does. (Restricting all threads would not do: each would get a domain of its
// own, and the kernel keeps a thread from looking at processes of another domain.)
func confine(c Confinement) (Layers, error) {
	if c.Off {
		return Layers{Subreaper: true}, nil
	}
	l := Possible(c.NoNetwork)
	if c.Required && l.Landlock == 0 {
		return l, ErrUnconfined
	}
	if c.Required && c.NoNetwork && !l.NoTCP {
		return l, errors.New("this kernel cannot cut a command off the network, which is required")
	}
	if l.Landlock == 0 {
		return l, nil
	}
	if err := restrict(c, l); err != nil {
		return l, fmt.Errorf("confine the command by Landlock: %w", err)
	}
	return l, nil
}

func restrict(c Confinement, l Layers) error {
	files := uint64(writeDir)
	if l.Landlock < abiTruncate {
		files &^= ll.AccessFSTruncate
	}
	if l.Landlock >= abiIoctl {
		files |= ll.AccessFSIoctlDev
	}
	attr := ll.RulesetAttr{HandledAccessFS: files}
	if l.Scoped {
		attr.Scoped = ll.ScopeAbstractUnixSocket | ll.ScopeSignal
	}
	if l.NoTCP {
		attr.HandledAccessNet |= ll.AccessNetBindTCP | ll.AccessNetConnectTCP
	}
	if l.NoUDP {
		attr.HandledAccessNet |= ll.AccessNetBindUDP | ll.AccessNetConnectSendUDP
	}
	rules, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return fmt.Errorf("make the rules: %w", err)
	}
	defer unix.Close(rules) //nolint:errcheck // they are in force, or not needed
	for _, r := range []struct {
		paths     []string
		file, dir uint64
	}{
		{c.ReadOnly, readFile, readDir},
		{c.ReadWrite, writeFile, writeDir},
		{devices, writeFile | ll.AccessFSIoctlDev, writeDir | ll.AccessFSIoctlDev},
	} {
		for _, p := range r.paths {
			if err := allow(rules, p, r.file&files, r.dir&files); err != nil {
				return fmt.Errorf("allow %s: %w", p, err)
			}
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("forbid new privileges: %w", err)
	}
	return ll.LandlockRestrictSelf(rules, 0)
}

// allow adds a rule for a directory with all below it, or for a file; none when it is not there.
func allow(rules int, path string, file, dir uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // the rule holds the file
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	access := file
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		access = dir
	}
	return ll.LandlockAddPathBeneathRule(rules, &ll.PathBeneathAttr{AllowedAccess: access, ParentFd: fd}, 0)
}
