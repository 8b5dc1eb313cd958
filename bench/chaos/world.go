//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"toolsvc/deploy/topology"
	"toolsvc/temporalclient"
)

// diskSize bounds what a server may keep; the disk is memory.
const diskSize = "size=1g"

// world is one server, or several machines, with everything around, for the rounds of a block.
type world struct {
	dir      string // logs and workspace; the state is in a file system of its own below it, where that can be made
	canFill  bool
	external bool
	servers  []server
	temporal *process           // nil when Temporal is embedded
	shared   server             // the Temporal that is killed: the process above, or that of the machines
	wire     *wire              // between server and Temporal
	machines *topology.Topology // nil with one server
	store    sync.Mutex         // held by who breaks the machines' database
	log      io.Writer          // of the machines
	front    *front
	site     *site
	model    *model
	client   *client
	logs     []*os.File

	mu   sync.Mutex
	died []string // what ended by itself, since it was last asked
}

func (w *world) state() string { return filepath.Join(w.dir, "state") }
func (w *world) work() string  { return filepath.Join(w.dir, "work") }

// programs are the programs under test.
type programs struct{ toolsvc, temporald string }

// openWorld starts everything for a block, and makes the folders of its runs.
func openWorld(ctx context.Context, p programs, rounds []Round) (w *world, err error) {
	dir, err := os.MkdirTemp("", "toolsvc-chaos-")
	if err != nil {
		return nil, err
	}
	w = &world{dir: dir, external: rounds[0].External}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close(false))
		}
	}()
	for _, d := range []string{w.state(), w.work()} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return w, err
		}
	}
	w.canFill = !rounds[0].Machines && syscall.Mount("tmpfs", w.state(), "tmpfs", 0, diskSize) == nil // only root may
	for _, round := range rounds {
		for _, run := range round.Runs {
			if err := w.furnish(run); err != nil {
				return w, err
			}
		}
	}
	if w.site, err = openSite(); err != nil {
		return w, err
	}
	if w.model, err = openModel(); err != nil {
		return w, err
	}
	if rounds[0].Machines {
		log, err := w.logFile("machines")
		if err != nil {
			return w, err
		}
		w.log = log
		return w, w.openMachines(ctx, p)
	}
	ports, err := freePorts(3)
	if err != nil {
		return w, err
	}
	addr := fmt.Sprintf("127.0.0.1:%d", ports[0])
	if w.front, err = openFront(addr); err != nil {
		return w, err
	}
	w.client = &client{base: "http://" + w.front.addr, statuses: map[int]int{}}
	args := []string{p.toolsvc, "serve", "--state-dir", w.state(), "--workspace", w.work(), "--http", addr, "--grpc", fmt.Sprintf("127.0.0.1:%d", ports[1]),
		"--ui-port=-1", "--end-browser", "--gemini-url", w.model.server.URL()}
	if w.external {
		if w.temporal, err = w.process("temporald", p.temporald, "-dir", filepath.Join(w.state(), "temporald"), "-port", strconv.Itoa(ports[2])); err != nil {
			return w, err
		}
		w.temporal.ready = func(ctx context.Context) bool {
			_, ready, err := temporalclient.ReadEndpoint(filepath.Join(w.state(), "temporald"))
			return ready && err == nil
		}
		w.shared = w.temporal
		if err := w.temporal.start(ctx); err != nil {
			return w, err
		}
		if w.wire, err = openWire(fmt.Sprintf("127.0.0.1:%d", ports[2])); err != nil {
			return w, err
		}
		args = append(args, "--temporal-address", w.wire.addr())
	}
	one, err := w.process("toolsvc", args...)
	if err != nil {
		return w, err
	}
	one.env, one.ready, one.state = []string{"GEMINI_API_KEY=none"}, readyz(addr), w.state()
	w.servers = []server{one}
	return w, one.start(ctx)
}

func (w *world) logFile(name string) (*os.File, error) {
	log, err := os.OpenFile(filepath.Join(w.dir, name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err == nil {
		w.logs = append(w.logs, log)
	}
	return log, err
}

func (w *world) process(name string, args ...string) (*process, error) {
	log, err := w.logFile(name)
	if err != nil {
		return nil, err
	}
	return &process{name: name, args: args, log: log, died: func(what string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.died = append(w.died, what)
	}}, nil
}

// deaths are the ends that nobody meant, since it was last asked.
func (w *world) deaths() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.died
	w.died = nil
	return d
}

// folder is where the effects of a run are, from the workspace's root.
func folder(run Run) string { return "runs/" + run.ID }

// furnish makes the folder of a run.
func (w *world) furnish(run Run) error {
	at := filepath.Join(w.work(), folder(run))
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	files := map[string]string{"log.txt": "start\n", "doc.md": "# Log\n\nstart\n"}
	for _, op := range run.Ops {
		if op.Kind == AppendFail {
			files[keepFile(op)] = "keep " + op.ID + "\n"
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func keepFile(op Op) string { return "keep_" + op.ID + ".txt" }
func madeDir(op Op) string  { return "made_" + op.ID }

// lines are the identifiers in a run's files, in order, file by file.
func (w *world) lines(run Run) (ids []string, err error) {
	for _, name := range []string{"log.txt", "doc.md", "note.md"} {
		text, err := os.ReadFile(filepath.Join(w.work(), folder(run), name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, strings.Fields(string(text))...)
	}
	return ids, nil
}

// snapshot is the run's folder: paths with their contents and modes.
func (w *world) snapshot(run Run) (map[string]string, error) {
	found, root := map[string]string{}, filepath.Join(w.work(), folder(run))
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += " " + string(b)
		}
		found[strings.TrimPrefix(path, root+"/")] = text
		return nil
	})
	return found, err
}

// differs tells in words how two snapshots differ; "" when they do not.
func differs(before, after map[string]string) string {
	var what []string
	for name, text := range after {
		switch old, ok := before[name]; {
		case !ok:
			what = append(what, name+" is new")
		case old != text:
			what = append(what, fmt.Sprintf("%s was %q and is %q", name, clip(old, 200), clip(text, 200)))
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			what = append(what, name+" is gone")
		}
	}
	return strings.Join(what, ", ")
}

// temporalAddress is where Temporal answers, past the wire.
func (w *world) temporalAddress() (string, error) {
	if w.machines != nil {
		return w.machines.Temporal.Said("Temporal"), nil
	}
	dir := filepath.Join(w.state(), "temporal")
	if w.external {
		dir = filepath.Join(w.state(), "temporald")
	}
	e, ready, err := temporalclient.ReadEndpoint(dir)
	if err == nil && !ready {
		err = errors.New("the Temporal server is not ready")
	}
	return e.Address, err
}

// close ends everything. keep keeps databases, logs and the workspace. Its errors are violations: something did not end, or was left behind.
func (w *world) close(keep bool) error {
	var errs []error
	switch {
	case w.machines != nil:
		errs = append(errs, w.machines.Stop())
	default:
		for _, s := range w.servers {
			errs = append(errs, s.stop())
		}
		if w.temporal != nil {
			errs = append(errs, w.temporal.stop())
		}
	}
	if w.wire != nil {
		w.wire.close()
	}
	if w.front != nil {
		w.front.close()
	}
	if w.site != nil {
		w.site.close()
	}
	if w.model != nil {
		w.model.server.Close()
	}
	for _, l := range w.logs {
		l.Close() //nolint:errcheck // nobody writes into it any more
	}
	left := processesOf(w.dir)
	for deadline := time.Now().Add(10 * time.Second); len(left) > 0 && time.Now().Before(deadline); left = processesOf(w.dir) {
		time.Sleep(50 * time.Millisecond)
	}
	if len(left) > 0 {
		errs = append(errs, fmt.Errorf("left behind: %s", strings.Join(left, "; ")))
		for _, l := range left {
			if pid, err := strconv.Atoi(strings.Fields(l)[0]); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it was started by what we started, in our own folder
			}
		}
	}
	if keep && w.canFill {
		for _, name := range []string{"toolsvc.db", "toolsvc.db-wal", "temporal/temporal.db", "temporal/temporal.db-wal", "temporald/temporal.db"} {
			if b, err := os.ReadFile(filepath.Join(w.state(), name)); err == nil {
				errs = append(errs, os.WriteFile(filepath.Join(w.dir, filepath.Base(name)), b, 0o600))
			}
		}
	}
	if w.canFill {
		err := syscall.Unmount(w.state(), 0)
		if err != nil {
			err = syscall.Unmount(w.state(), syscall.MNT_DETACH)
		}
		errs = append(errs, err)
	}
	if !keep {
		errs = append(errs, os.RemoveAll(w.dir))
	}
	return errors.Join(errs...)
}
