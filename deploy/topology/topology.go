// Package topology starts on one machine, as plain processes, what deploy/docker-compose.yaml starts as containers: PostgreSQL, a Temporal of
// its own, several `toolsvc serve` that share both, and a proxy in front of them. Any of them can be killed and started again.
//
// `make topology` runs it for people, cmd/toolsvc's tests and the chaos tests for what must survive. It guarantees: everything listens on
// loopback, at ports that stay the same over a restart; nothing goes on when [Topology.Stop] has returned, browsers included; all data is in one
// folder that is removed then.
//
// It differs from the containers in this: Temporal keeps its runs in a SQLite file and not in PostgreSQL, artifacts are in a folder that the
// workers share and not in S3, and the proxy is a few lines of Go.
package topology

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"toolsvc/store/postgrestest"
)

// Options say what to start. Only Program is required.
type Options struct {
	// Program is the toolsvc program, and Env what its processes get beside this process's environment (without what configures toolsvc,
	// Temporal or PostgreSQL there).
	Program string
	Env     []string
	// Workers is how many toolsvc serve; 2 when 0, at most 8.
	Workers int
	// Args are added to each `toolsvc serve`.
	Args []string
	// Dir is where everything is kept; a new folder below the temporary one when empty. It is removed by Stop only when it was made here.
	Dir string
	// Proxy is the address of the proxy; a free port on loopback when empty. TemporalUI is the port of Temporal's UI; -1 for none.
	Proxy      string
	TemporalUI int
	// Log gets what the processes write, each line with the name of its process in front; nobody when nil.
	Log io.Writer
}

// The bounds of starting and ending.
const (
	startLimit = 2 * time.Minute
	stopLimit  = 60 * time.Second
	maxWorkers = 8
)

// Topology is what runs.
type Topology struct {
	// URL of the proxy.
	URL string
	// Postgres keeps the store. It can be killed and restarted.
	Postgres *postgrestest.Server
	// Temporal is the process that all runs are kept by.
	Temporal *Process
	// Workers are the processes that answer and work.
	Workers []*Worker
	// Dir is where everything is kept.
	Dir string

	own   bool // Dir was made here
	proxy *http.Server
}

// Worker is one `toolsvc serve`.
type Worker struct {
	*Process
	// URL of its HTTP surface, and GRPC address of the other one.
	URL, GRPC string
	// StateDir is its own; the store is shared.
	StateDir string
}

// Name is what runs know the worker by (State.Worker of package planner); it stays the same over a restart.
func (w *Worker) Name() (string, error) {
	text, err := os.ReadFile(filepath.Join(w.StateDir, "worker", "worker.name"))
	if err != nil {
		return "", fmt.Errorf("the name of %s: %w", w.Label, err)
	}
	return strings.TrimSpace(string(text)), nil
}

// Start starts everything, and returns when calls can be made at the proxy and at each worker. postgrestest.ErrNotInstalled when there is no
// PostgreSQL on this machine.
func Start(ctx context.Context, o Options) (t *Topology, err error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	n := cmp.Or(o.Workers, 2)
	if n < 1 || n > maxWorkers {
		return nil, fmt.Errorf("%d workers: between 1 and %d can be started", n, maxWorkers)
	}
	t = &Topology{Dir: o.Dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.Stop())
		}
	}()
	if t.Dir == "" {
		if t.Dir, err = os.MkdirTemp("", "toolsvc-topology-"); err != nil {
			return t, err
		}
		t.own = true
	}
	if t.Dir, err = filepath.Abs(t.Dir); err != nil {
		return t, err
	}
	if t.Postgres, err = postgrestest.Start(ctx); err != nil {
		return t, err
	}
	env := append(cleanEnv(os.Environ()), o.Env...)
	t.Temporal = &Process{Label: "temporal", program: o.Program, env: append(slices.Clone(env), "TOOLSVC_STATE_DIR="+filepath.Join(t.Dir, "temporal")), log: o.Log,
		args: []string{"temporal", "serve", "--port=0", fmt.Sprintf("--ui-port=%d", o.TemporalUI)}}
	if err := t.Temporal.Restart(ctx); err != nil {
		return t, err
	}
	address := t.Temporal.Said("Temporal")
	key := make([]byte, 32)
	rand.Read(key) //nolint:errcheck // never fails
	artifacts := url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(t.Dir, "artifacts"))}
	for i := range n {
		dir := filepath.Join(t.Dir, fmt.Sprintf("worker-%d", i+1))
		w := &Worker{StateDir: dir}
		w.Process = &Process{Label: filepath.Base(dir), program: o.Program, log: o.Log,
			env: append(slices.Clone(env), "TOOLSVC_STATE_DIR="+dir, "TOOLSVC_STORE="+t.Postgres.URL, "TOOLSVC_ARTIFACTS="+artifacts.String(),
				"TOOLSVC_TEMPORAL_ADDRESS="+address, "TOOLSVC_TEMPORAL_UI="+t.Temporal.Said("UI"),
				"TOOLSVC_SEAL_KEY="+base64.StdEncoding.EncodeToString(key), "TOOLSVC_WORKSPACE=none"),
			args: append([]string{"serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"}, o.Args...)}
		if err := w.Restart(ctx); err != nil {
			return t, err
		}
		w.URL, w.GRPC = w.Said("HTTP"), w.Said("gRPC")
		// From now on it is at the same ports.
		copy(w.args, []string{"serve", "--http", strings.TrimPrefix(w.URL, "http://"), "--grpc", w.GRPC})
		t.Workers = append(t.Workers, w)
	}
	// Temporal, too, whatever its own memory of its ports is worth.
	_, port, _ := strings.Cut(address, ":")
	copy(t.Temporal.args, []string{"temporal", "serve", "--port=" + port})
	t.URL, t.proxy, err = startProxy(ctx, o.Proxy, t.Workers, o.Log)
	return t, err
}

// Stop ends everything, also what a killed worker left behind, and removes the folder if it was made by Start.
func (t *Topology) Stop() error {
	var errs []error
	if t.proxy != nil {
		errs = append(errs, t.proxy.Close())
	}
	ends := make(chan error, len(t.Workers))
	for _, w := range t.Workers {
		go func() { ends <- w.Stop() }()
	}
	for range t.Workers {
		errs = append(errs, <-ends)
	}
	if t.Temporal != nil {
		errs = append(errs, t.Temporal.Stop())
	}
	if t.Postgres != nil {
		errs = append(errs, t.Postgres.Stop())
	}
	if t.Dir != "" {
		errs = append(errs, endOrphans(t.Dir))
	}
	if t.own {
		errs = append(errs, os.RemoveAll(t.Dir))
	}
	return errors.Join(errs...)
}

// cleanEnv is the environment without what would lead the processes elsewhere.
func cleanEnv(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		for _, prefix := range []string{"TOOLSVC_", "TEMPORAL_", "PG", "OTEL_", "AWS_"} {
			if strings.HasPrefix(v, prefix) {
				return true
			}
		}
		return false
	})
}
