package stack

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"toolsvc/planner"
	"toolsvc/temporalclient"
	"toolsvc/tool"
)

// One among several: a process whose store is PostgreSQL shares its Temporal with others. It has a name, which Temporal and runs know it by, and
// which it keeps over a restart, because then it finds its browser again.

// nameFile holds the name in the state directory.
const nameFile = "worker.name"

var notInNames = regexp.MustCompile(`[^a-z0-9-]+`)

// joinOthers makes this process one among several: it takes the state directory for itself, and reads or makes its name. When another process
// has the directory, this one only asks. Name is "" where one process does all the work.
func (s *Stack) joinOthers(o Options) (name string, err error) {
	if o.StoreURL == "" || o.NoWorker {
		return "", nil
	}
	dir := filepath.Join(o.StateDir, "worker")
	lock, err := temporalclient.LockState(dir)
	var held *temporalclient.HeldError
	if errors.As(err, &held) {
		s.Attached = true
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("take the state directory for a worker: %w", err)
	}
	s.onClose(func(context.Context) error { return lock.Release() })
	return workerName(filepath.Join(dir, nameFile))
}

// workerName reads the name of a state directory, and makes it the first time: the machine's, and something that no other has.
func workerName(path string) (string, error) {
	text, err := os.ReadFile(path)
	if name := string(bytes.TrimSpace(text)); err == nil && name != "" && !notInNames.MatchString(name) {
		return name, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the worker's name: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "worker"
	}
	host = strings.Trim(notInNames.ReplaceAllString(strings.ToLower(host), "-"), "-")
	name := fmt.Sprintf("%.40s-%s", host, strings.ToLower(rand.Text()[:8]))
	if err := os.WriteFile(path, []byte(name+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("keep the worker's name: %w", err)
	}
	return name, nil
}

// Shareable refuses a store that several machines share without what else they must share. The file of a state directory, "", is shared by none.
func Shareable(storeURL string) error {
	if storeURL != "" && os.Getenv(SealKeyVariable) == "" {
		return fmt.Errorf("a shared store needs a sealing key that all of its processes share, in %s; make one with: head -c %d /dev/urandom | base64", SealKeyVariable, planner.SealKeySize)
	}
	return nil
}

// everywhere are the toolsets whose tools see the same world from every worker: a user's own, unless they hold something for a run.
func everywhere(own []Toolset) map[string]bool {
	sets := map[string]bool{}
	for _, t := range own {
		if _, holds := t.Executor.(tool.Releaser); !holds && t.Executor != nil {
			sets[t.name()] = true
		}
	}
	return sets
}
