//go:build linux

package terminal

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"toolsvc/executors/terminal/supervise"
	gen "toolsvc/gen/toolsets/terminal"
	"toolsvc/tool"
)

// lose has a worker of its own process work as far as it should, and kills it.
func lose(t *testing.T, spec workerSpec) {
	t.Helper()
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), "TERMINAL_TEST_WORKER="+string(text))
	in, err := cmd.StdinPipe() // held open, so that the worker waits
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "ready\n" {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatalf("the worker says %q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
}

// afterLoss is a new executor over the state of the lost worker.
func afterLoss(t *testing.T, spec workerSpec) (b *bench, call *tool.Call) {
	t.Helper()
	b = with(t, spec.options())
	b.run = spec.Run
	return b, decode(t, spec.Run, spec.ID, spec.Tool, spec.Args)
}

func (b *bench) reconcile(call *tool.Call, before *tool.Evidence) (d done) {
	b.t.Helper()
	if before == nil {
		before = &tool.Evidence{Values: map[string]any{}}
	}
	d.t, d.call, d.before = b.t, call, before
	start := time.Now()
	if d.att, d.out, d.err = b.x.Reconcile(b.ctx, call, before); d.err == nil {
		d.after, d.err = d.att.Observe(b.ctx, d.conditions().Needs())
	}
	d.took = time.Since(start)
	return d
}

func lost(t *testing.T, name string, a args, until string) workerSpec {
	n := runs.Add(1)
	return workerSpec{StateDir: t.TempDir(), Root: t.TempDir(),
		Run: fmt.Sprintf("r_lost_%d", n), ID: fmt.Sprintf("c_lost_%d", n), Tool: name, Args: a, Until: until}
}

// A command goes on without its worker; the next one waits for the same command, and learns how it ended.
func TestReconcileRun(t *testing.T) {
	t.Parallel()
	spec := lost(t, "run", args{"command": "echo begun >> log; while [ ! -e go ]; do sleep 0.01; done; echo ended >> log; echo out; exit 3", "expected_exit_codes": []int{3}}, "dispatched")
	lose(t, spec)
	b, call := afterLoss(t, spec)
	b.write("go", "")
	d := b.reconcile(call, nil).ok()
	if r := d.ran(); r.ExitCode != 3 || r.Stdout != "out\n" || d.out.Effect != tool.EffectConfirmed || !strings.Contains(d.out.Proof, "After the loss") {
		t.Errorf("%+v, %s, %s", r, d.out.Effect, d.out.Proof)
	}
	if log := b.read("log"); log != "begun\nended\n" {
		t.Errorf("it ran otherwise than once: %q", log)
	}
	// However often it is asked for.
	b.reconcile(call, nil).ok()
}

func TestReconcileRunThatEnded(t *testing.T) {
	t.Parallel()
	spec := lost(t, "run", args{"command": "echo out"}, "")
	lose(t, spec)
	b, call := afterLoss(t, spec)
	if r := b.reconcile(call, nil).ok().ran(); r.Stdout != "out\n" {
		t.Errorf("%+v", r)
	}
}

// The time limit holds although nobody is there.
func TestReconcileRunThatTookTooLong(t *testing.T) {
	t.Parallel()
	spec := lost(t, "run", args{"command": "setsid sh -c 'echo $$ > new; mv new pid; sleep 1000' & sleep 1000", "timeout_ms": 1500}, "dispatched")
	lose(t, spec)
	b, call := afterLoss(t, spec)
	d := b.reconcile(call, nil)
	d.fails(tool.Timeout, true, "1.5s")
	if pid := b.read("pid"); alive(pid) {
		t.Errorf("process %s is still there", pid)
	}
}

func TestReconcileRunThatWasNotStarted(t *testing.T) {
	t.Parallel()
	spec := lost(t, "run", args{"command": "echo x >> log"}, "resolved")
	lose(t, spec)
	b, call := afterLoss(t, spec)
	d := b.reconcile(call, nil)
	if d.err != nil || d.out.Effect != tool.EffectNone || d.out.Result != nil {
		t.Fatalf("%+v, %v", d.out, d.err)
	}
	if _, err := os.Stat(filepath.Join(b.root, "log")); !os.IsNotExist(err) {
		t.Error("it was started by looking")
	}
	// After a new start of the machine, a record that is not there proves nothing.
	if err := os.WriteFile(b.x.dir("boot"), []byte("another boot"), 0o600); err != nil {
		t.Fatal(err)
	}
	later := with(t, spec.options())
	if d := later.reconcile(call, nil); d.err != nil || d.out.Effect != tool.EffectUnknown {
		t.Errorf("%+v, %v", d.out, d.err)
	}
}

// When the supervisor is lost as well, nothing is made up.
func TestReconcileRunWhoseSupervisorIsLost(t *testing.T) {
	t.Parallel()
	spec := lost(t, "run", args{"command": "echo $$ > new; mv new pid; exec sleep 1000"}, "dispatched")
	lose(t, spec)
	b, call := afterLoss(t, spec)
	dir := b.x.runDir(call, 1)
	await(t, "the command runs", func() bool { _, err := os.Stat(filepath.Join(b.root, "pid")); return err == nil })
	r, err := supervise.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(r.Supervisor.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	d := b.reconcile(call, nil)
	if d.err != nil || d.out.Effect != tool.EffectUnknown || d.verdict().Verdict != tool.VerdictUncertain {
		t.Fatalf("%+v, %v", d.out, d.err)
	}
	await(t, "the command has ended with its supervisor", func() bool { return !alive(b.read("pid")) })

	// Handed to a supervisor that died before it took it up: nothing was started.
	never := decode(t, spec.Run, "c_never", "run", args{"command": "true"})
	dir = b.x.runDir(never, 1)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(supervise.Record{Key: "c_never/1", Kind: supervise.KindRun, State: supervise.StateOrdered, Supervisor: r.Supervisor})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "order.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if d := b.reconcile(never, nil); d.err != nil || d.out.Effect != tool.EffectNone {
		t.Errorf("%+v, %v", d.out, d.err)
	}
}

// A session outlives its worker, and knows what it was sent.
func TestReconcileType(t *testing.T) {
	t.Parallel()
	open := lost(t, "open", args{}, "")
	spec := lost(t, "type", args{"text": "echo typed >> log; while [ ! -e go ]; do sleep 0.01; done; echo done", "submit": true, "timeout_ms": 20000}, "dispatched")
	spec.StateDir, spec.Root, spec.Run, open.Run = open.StateDir, open.Root, "r_session", "r_session"
	spec.Before = []workerSpec{open}
	lose(t, spec)
	b, call := afterLoss(t, spec)
	before := &tool.Evidence{Values: map[string]any{"terminal": map[string]any{"alive": true}}}
	b.write("go", "")
	d := b.reconcile(call, before).ok()
	if r := d.typed(); d.out.Effect != tool.EffectConfirmed || r.ExitCode == nil || *r.ExitCode != 0 || r.Output != "done" {
		t.Errorf("%+v, %s", r, d.out.Proof)
	}
	if log := b.read("log"); log != "typed\n" {
		t.Errorf("it was typed otherwise than once: %q", log)
	}
	never := decode(t, spec.Run, "c_never", "type", args{"text": "echo never >> log", "submit": true})
	if d := b.reconcile(never, before); d.err != nil || d.out.Effect != tool.EffectNone {
		t.Errorf("%+v, %v", d.out, d.err)
	}
	if opened := b.reconcile(decode(t, spec.Run, open.ID, "open", nil), &tool.Evidence{Values: map[string]any{"terminal": map[string]any{"alive": false}}}).ok(); opened.out.Effect != tool.EffectConfirmed || !opened.out.Result.(*gen.OpenResult).Alive {
		t.Errorf("%+v", opened.out)
	}
	// The run goes on in the same session.
	if out := b.do("type", args{"text": "cat log", "submit": true}).ok().typed().Output; out != "typed" {
		t.Errorf("%q", out)
	}

	h, _, err := b.x.find(spec.Run, "main")
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(h.record.Supervisor.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, "the supervisor has gone", func() bool { return !h.record.Supervisor.Alive() })
	if d := b.reconcile(call, before); d.err != nil || d.out.Effect != tool.EffectUnknown {
		t.Errorf("%+v, %v", d.out, d.err)
	}
	b.do("type", args{"text": "x"}).fails(tool.PreconditionFailed, false, "supervisor is gone")
	b.do("read", nil)
	b.do("open", nil).ok()
}
