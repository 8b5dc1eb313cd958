//go:build linux

package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"toolsvc/executors/terminal/supervise"
	"toolsvc/tool"
)

// Executor runs commands and sessions. It implements tool.Executor, tool.Reconciler and tool.Releaser.
type Executor struct {
	opts     Options
	root     *os.Root
	rootPath string // without symbolic links
	shell    string
	bash     bool
	home     string
	launcher *supervise.Launcher
	log      *os.File
	slots    chan struct{}
	// oldBoot: the state directory was last used before the machine was started anew, so that a record that is not there proves nothing.
	oldBoot bool
	began   time.Time

	stopPurging context.CancelFunc
	purged      chan struct{} // closed when the purging has stopped
}

var (
	_ tool.Executor   = (*Executor)(nil)
	_ tool.Reconciler = (*Executor)(nil)
	_ tool.Releaser   = (*Executor)(nil)
	_ tool.Attempt    = (*runAttempt)(nil)
	_ tool.Attempt    = (*sessionAttempt)(nil)
)

// Supervise turns this process into a supervisor when it was started as one, and then does not return. It must be the first call of main,
// and of TestMain where tests run commands.
func Supervise() { supervise.Hook() }

// New makes an executor. It starts one supervisor that waits for the first command.
func New(o Options) (_ *Executor, err error) {
	if !supervise.Hooked() {
		return nil, errors.New("terminal.Supervise must be called first thing in main, before a terminal executor is made")
	}
	o.Limits = o.Limits.withDefaults()
	if o.Confine == "" {
		o.Confine = ConfineAuto
	}
	if o.StateDir == "" || o.Root == "" {
		return nil, errors.New("the terminal executor needs a state directory and a workspace")
	}
	if !slices.Contains([]Confine{ConfineAuto, ConfineRequired, ConfineOff}, o.Confine) {
		return nil, fmt.Errorf("commands are confined %q, %q or %q, not %q", ConfineAuto, ConfineRequired, ConfineOff, o.Confine)
	}
	x := &Executor{began: time.Now()}
	defer func() {
		if err != nil && x.root != nil {
			err = errors.Join(err, x.root.Close())
		}
	}()
	if o.StateDir, err = realDir(o.StateDir, true); err != nil {
		return nil, fmt.Errorf("the terminal's state directory: %w", err)
	}
	if x.rootPath, err = realDir(o.Root, false); err != nil {
		return nil, fmt.Errorf("the workspace: %w", err)
	}
	if inside(x.rootPath, o.StateDir) {
		return nil, fmt.Errorf("the state directory %s lies inside the workspace %s, where commands could change it", o.StateDir, x.rootPath)
	}
	if x.root, err = os.OpenRoot(x.rootPath); err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	x.opts = o
	x.home = filepath.Join(o.StateDir, "home")
	for _, d := range []string{x.home, x.dir("runs"), x.dir("sessions")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("make the terminal's state directory: %w", err)
		}
	}
	if err := os.WriteFile(x.rcFile(), []byte(supervise.ShellMarks), 0o600); err != nil {
		return nil, fmt.Errorf("write the shell's start file: %w", err)
	}
	if x.oldBoot, err = noteBoot(x.dir("boot")); err != nil {
		return nil, err
	}
	if x.shell, x.bash, err = findShell(o.Shell); err != nil && o.Shell != "" {
		return nil, err // without any shell the tools say that they are unavailable
	}
	if x.log, err = os.OpenFile(x.dir("supervisor.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return nil, fmt.Errorf("open the log of the supervisors: %w", err)
	}
	if st, err := x.log.Stat(); err == nil && st.Size() > maxLog {
		_ = x.log.Truncate(0) // an old one tells nothing any more
	}
	x.slots = make(chan struct{}, o.Limits.Commands)
	x.launcher = &supervise.Launcher{Log: x.log}
	x.launcher.Warm()
	ctx, cancel := context.WithCancel(context.Background())
	x.stopPurging, x.purged = cancel, make(chan struct{})
	go x.keepPurging(ctx)
	return x, nil
}

// maxLog bounds what supervisors that failed have left in their log, in bytes, when an executor is made.
const maxLog = 1 << 20

func (x *Executor) dir(names ...string) string {
	return filepath.Join(append([]string{x.opts.StateDir}, names...)...)
}

func (x *Executor) rcFile() string { return x.dir("bashrc") }

// findShell finds the program that runs commands; bash says whether it is bash.
func findShell(want string) (path string, bash bool, err error) {
	names := []string{want}
	if want == "" {
		names = []string{"bash", "sh"}
	}
	for _, n := range names {
		p, e := exec.LookPath(n)
		if e == nil {
			p, e = filepath.Abs(p)
		}
		if e == nil {
			return p, filepath.Base(p) == "bash", nil
		}
		err = e
	}
	return "", false, fmt.Errorf("find a shell (%s): %w", strings.Join(names, ", "), err)
}

// noteBoot keeps the id of this boot of the machine, and reports whether the one that was kept is another.
func noteBoot(file string) (old bool, err error) {
	now := supervise.Boot()
	was, err := os.ReadFile(file)
	switch {
	case err == nil && string(was) == now && now != "":
		return false, nil
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return false, fmt.Errorf("read the terminal's state: %w", err)
	}
	old = err == nil
	if err := os.WriteFile(file, []byte(now), 0o600); err != nil {
		return old, fmt.Errorf("keep the terminal's state: %w", err)
	}
	return old, nil
}

// Layers says which layers of protection commands have on this machine.
func (x *Executor) Layers() supervise.Layers {
	l := supervise.Layers{Subreaper: true}
	if x.opts.Confine != ConfineOff {
		l = supervise.Possible(x.opts.NoNetwork)
	}
	return l
}

// Applies implements tool.Executor: each tool has one source, and it always applies.
func (x *Executor) Applies(call *tool.Call, source tool.Source) bool {
	return call.Spec != nil && slices.Contains(call.Spec.Sources, source)
}

// Begin implements tool.Executor.
func (x *Executor) Begin(_ context.Context, call *tool.Call, plan tool.Plan) (tool.Attempt, error) {
	return x.begin(call, plan)
}

// Close implements tool.Releaser: it ends the run's sessions.
func (x *Executor) Close(ctx context.Context, runID string) error {
	dir := x.sessionsOf(runID)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find the sessions of run %s: %w", runID, err)
	}
	var errs []error
	for _, e := range entries {
		_, err := supervise.End(ctx, filepath.Join(dir, e.Name()))
		if err != nil && !errors.Is(err, supervise.ErrLost) && !errors.Is(err, supervise.ErrNoRecord) {
			errs = append(errs, fmt.Errorf("end a session of run %s: %w", runID, err))
		}
	}
	if len(errs) == 0 {
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}

// Shutdown gives up what the executor holds. Commands and sessions go on, unless sessions are to be ended.
func (x *Executor) Shutdown(ctx context.Context) error {
	x.stopPurging()
	<-x.purged
	x.launcher.Close()
	var errs []error
	if x.opts.EndSessions {
		runs, err := os.ReadDir(x.dir("sessions"))
		errs = append(errs, err)
		for _, r := range runs {
			names, err := os.ReadDir(x.dir("sessions", r.Name()))
			errs = append(errs, err)
			for _, n := range names {
				if _, err := supervise.End(ctx, x.dir("sessions", r.Name(), n.Name())); err != nil && !errors.Is(err, supervise.ErrLost) && !errors.Is(err, supervise.ErrNoRecord) {
					errs = append(errs, err)
				}
			}
		}
	}
	return errors.Join(append(errs, x.root.Close(), x.log.Close())...)
}

// purge removes the records of commands and sessions that ended long ago.
func (x *Executor) purge() {
	old := func(dir string) bool {
		st, err := os.Stat(dir)
		if err != nil || time.Since(st.ModTime()) < x.opts.Limits.Keep {
			return false
		}
		r, err := supervise.Read(dir)
		return err != nil || !r.Supervisor.Alive()
	}
	sessions, _ := below(x.dir("sessions")) // what cannot be read now is tried again the next time
	for _, parent := range append(sessions, x.dir("runs")) {
		dirs, _ := below(parent)
		for _, d := range dirs {
			if old(d) {
				_ = os.RemoveAll(d)
			}
		}
	}
}

// purgeAgain bounds how long it takes until records are looked through again.
const purgeAgain = time.Hour

// keepPurging removes old records now and from time to time, until the executor is shut down.
func (x *Executor) keepPurging(ctx context.Context) {
	defer close(x.purged)
	t := time.NewTicker(min(x.opts.Limits.Keep, purgeAgain))
	defer t.Stop()
	for {
		x.purge()
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// below lists what is in a folder, by whole paths; nothing when there is no such folder.
func below(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	paths := make([]string, len(entries))
	for i, e := range entries {
		paths[i] = filepath.Join(dir, e.Name())
	}
	return paths, nil
}

// acquire takes a command's place among those that run at the same time.
func (x *Executor) acquire(ctx context.Context) (release func(), err error) {
	t := time.NewTimer(x.opts.Limits.Queue)
	defer t.Stop()
	select {
	case x.slots <- struct{}{}:
		return func() { <-x.slots }, nil
	case <-t.C:
		return nil, &tool.Failed{Failure: tool.RateLimited, RetryAfter: x.opts.Limits.Queue,
			Message: fmt.Sprintf("%d commands are running, which is the most at the same time, and none ended within %s.", cap(x.slots), x.opts.Limits.Queue)}
	case <-ctx.Done():
		return nil, tool.Failf(tool.Cancelled, "The call ended while it waited for other commands: %w", context.Cause(ctx))
	}
}
