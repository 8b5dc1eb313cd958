package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"toolsvc/executors/browser/chromium"
)

// The browser of an ephemeral executor runs in a session of its own, as every browser here: when the executor's process is killed, the
// browser stays, and nobody will ever use it again. The next ephemeral executor on the machine ends it.

// temporaryPrefix begins the names of the folders of ephemeral executors, and ownerFile in them names whose it is.
const (
	temporaryPrefix = "toolsvc-browser-"
	ownerFile       = "owner.json"
)

// owner is the process that an ephemeral browser belongs to: a number alone may be given to another process. Numbers and times are those of one
// PID namespace: containers, and machines, may share the folder for temporary files.
type owner struct {
	PID       int    `json:"pid"`
	Started   string `json:"started"`
	Namespace string `json:"namespace"`
}

// namespace names the PID namespace of this process among all that there are, "" where that is not known. The number of a namespace is given
// to another one only when it and all of its processes are gone, and is the system's own: the start of the system tells two of them apart.
func namespace() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	pids, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + pids
}

// newTemporary makes the folder of an ephemeral executor.
func newTemporary() (string, error) {
	dir, err := os.MkdirTemp("", temporaryPrefix)
	if err != nil {
		return "", fmt.Errorf("make a temporary state directory: %w", err)
	}
	text, err := json.Marshal(owner{os.Getpid(), chromium.StartTime(os.Getpid()), namespace()})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, ownerFile), text, 0o600)
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("say whose the temporary state directory is: %w", err), os.RemoveAll(dir))
	}
	return dir, nil
}

// endOrphans ends the ephemeral browsers whose owners are gone, and removes their folders. It touches folders of this user only, and no
// process but the one that a folder's record names with its start. What cannot be ended now is left to the next executor.
func endOrphans() {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), temporaryPrefix+"*"))
	if err != nil {
		return // the pattern is wrong, which a test would have shown
	}
	for _, dir := range dirs {
		if !orphaned(dir) || chromium.EndRecorded(filepath.Join(dir, "browser")) != nil {
			continue
		}
		_ = removeAll(dir)
	}
}

// orphaned reports that a folder is this user's own, and that the process that it names was of this namespace and is gone. A folder that names
// none may be new; of another namespace's processes nothing is known here, so theirs are left.
func orphaned(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o077 != 0 {
		return false
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !ok || int(s.Uid) != os.Geteuid() {
		return false
	}
	text, err := os.ReadFile(filepath.Join(dir, ownerFile))
	var o owner
	if err != nil || json.Unmarshal(text, &o) != nil || o.PID <= 0 || o.Started == "" || o.Namespace == "" || o.Namespace != namespace() {
		return false
	}
	return chromium.StartTime(o.PID) != o.Started
}
