//go:build linux

package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// processName is what a supervisor is called, in place of the program's own name.
const processName = "toolsvc-supervisor"

var hooked bool

// Hook turns this process into a supervisor when it was started as one; then it does not return. It must be the first call of main,
// and of TestMain in packages whose tests start supervisors.
func Hook() {
	hooked = true
	if len(os.Args) > 0 && os.Args[0] == processName {
		os.Exit(serve())
	}
}

// Hooked reports whether Hook was called, so that starting a supervisor cannot run the program's main instead.
func Hooked() bool { return hooked }

// reply is a supervisor's answer to its order, on its standard output.
type reply struct {
	OK      bool   `json:"ok"`
	Problem string `json:"problem,omitempty"`
	Missing bool   `json:"missing,omitempty"`
}

// maxOrder bounds an order, in bytes.
const maxOrder = 16 << 20

// serve is a supervisor's life: it takes one order, carries it out, and ends.
func serve() int {
	text, err := io.ReadAll(io.LimitReader(os.Stdin, maxOrder))
	if err != nil || len(text) == 0 {
		return 0 // a spare that was not needed
	}
	// What is for a terminal's foreground is not for us. To ignore these signals would not do: the command would inherit that.
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGPIPE, unix.SIGQUIT)
	// The thread that starts the command is confined, and stays until the end: the kernel sends the parent-death signal when it ends. All
	// else happens on other threads.
	runtime.LockOSThread()
	s := &supervisor{empty: make(chan struct{}), exited: make(chan unix.WaitStatus, 1), end: make(chan Ended, 1), over: make(chan struct{})}
	err = s.begin(text)
	code := make(chan int)
	go func() { code <- s.finish(err) }()
	return <-code
}

// finish is all that follows the start of the command, or the failure to start it.
func (s *supervisor) finish(failed error) int {
	answer := reply{OK: failed == nil}
	if failed != nil {
		answer.Problem, answer.Missing = failed.Error(), errors.Is(failed, exec.ErrNotFound) || errors.Is(failed, os.ErrNotExist)
		s.record.State, s.record.Problem, s.record.Missing = StateFailed, answer.Problem, answer.Missing
	}
	var err error
	if s.order.Dir != "" {
		err = s.record.write(s.order.Dir, recordFile) // with the process, or the problem
	}
	_ = json.NewEncoder(os.Stdout).Encode(answer) // the worker may be gone; the record tells
	_ = os.Stdout.Close()
	if failed == nil {
		err = errors.Join(err, s.work())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if failed != nil || err != nil {
		return 1
	}
	return 0
}

// supervisor is the state of one.
type supervisor struct {
	order  Order
	record Record
	socket net.Listener

	exited chan unix.WaitStatus // the command's first process has ended
	empty  chan struct{}        // closed when there is no child left
	end    chan Ended           // somebody, or a limit, wants the end
	over   chan struct{}        // closed when the record is final

	out, err *pipe    // of a run
	session  *session // of a session
	awaited  sync.WaitGroup
}

// begin makes everything ready and starts the command. After an error nothing was started.
func (s *supervisor) begin(text []byte) error {
	if err := json.Unmarshal(text, &s.order); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	o := s.order
	if err := o.check(); err != nil {
		return err
	}
	if err := os.Chdir(o.Dir); err != nil {
		return fmt.Errorf("go to the supervisor's directory: %w", err)
	}
	self, err := identify(os.Getpid())
	if err != nil {
		return fmt.Errorf("find out who I am: %w", err)
	}
	s.record = Record{Key: o.Key, Kind: o.Kind, State: StateStarted, Supervisor: self, Started: time.Now()}
	if s.socket, err = net.Listen("unix", socketFile); err != nil { // relative, because the length of a socket's path is limited
		return fmt.Errorf("listen for questions: %w", err)
	}
	if o.Tmp != "" {
		if err := os.Mkdir(o.Tmp, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("make the directory for temporary files: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become a subreaper: %w", err)
	}
	if _, err := os.Stat(o.Cwd); err != nil {
		return fmt.Errorf("the directory to run in: %w", err)
	}
	// The record goes first: whoever finds none, and no supervisor, knows that nothing was started.
	if err := s.record.write(".", recordFile); err != nil {
		return err
	}
	cmd := &exec.Cmd{Path: o.Argv[0], Args: o.Argv, Env: o.Env, Dir: o.Cwd}
	if o.Kind == KindSession {
		err = s.startSession(cmd)
	} else {
		err = s.startRun(cmd)
	}
	if err != nil {
		return fmt.Errorf("start %s: %w", o.Argv[0], err)
	}
	s.record.Child = cmd.Process.Pid
	go s.reap(cmd.Process.Pid)
	return nil
}

// startConfined starts the command from this thread, which is confined from now on.
func (s *supervisor) startConfined(cmd *exec.Cmd) error {
	c := s.order.Confine
	if s.order.Tmp != "" {
		c.ReadWrite = append(c.ReadWrite, s.order.Tmp)
	}
	var err error
	if s.record.Layers, err = confine(c); err != nil {
		return err
	}
	return cmd.Start()
}

// reap collects everything that ends below this process, the command's first process among it.
func (s *supervisor) reap(child int) {
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil: // ECHILD: nothing is left
			close(s.empty)
			return
		case pid == child:
			s.exited <- ws
		}
	}
}

// work waits for the end, whoever brings it, and makes the record final.
func (s *supervisor) work() error {
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, unix.SIGTERM)
	s.awaited.Add(1)
	go s.answer()
	var limit <-chan time.Time
	if s.order.Kind == KindRun {
		limit = time.After(s.order.Limit)
	}
	ask := []unix.Signal{unix.SIGTERM}
	if s.order.Kind == KindSession {
		ask = []unix.Signal{unix.SIGHUP, unix.SIGTERM} // the terminal hangs up; a shell that is used interactively ignores SIGTERM
	}
	ended := EndedItself
	var ws unix.WaitStatus
	select {
	case ws = <-s.exited:
	case <-limit:
		ended = EndedLimit
	case <-terminate:
		ended = EndedRequest
	case ended = <-s.end:
	}
	r := &s.record
	left := endTree(ask, s.order.Grace, s.empty)
	if ended != EndedItself {
		select {
		case ws = <-s.exited:
		case <-time.After(killLimit): // it hangs in the kernel
			r.Problem = "a process could not be ended: it hangs in the kernel"
		}
	}
	r.State, r.EndedBy, r.LeftBehind, r.Ended = StateEnded, ended, left, time.Now()
	if r.ExitCode, r.Signal = status(ws); r.Problem != "" {
		r.ExitCode = -1
	}
	s.collect()
	err := r.write(".", recordFile)
	if s.order.Tmp != "" {
		_ = os.RemoveAll(s.order.Tmp) // it is temporary anyhow
	}
	close(s.over)
	_ = os.Remove(socketFile)
	_ = s.socket.Close()
	s.awaited.Wait()
	return err
}

// collect takes what was written, once nobody can write any more.
func (s *supervisor) collect() {
	if s.session != nil {
		s.session.finish()
		r := &s.record
		r.Screen = s.session.look(s.order.Scrollback)
		r.Screen.Alive = false
		r.Screen.ExitCode = &r.ExitCode
		return
	}
	s.record.Stdout, s.record.Stderr = s.out.finish(), s.err.finish()
}

// status is a shell's view of how a process ended.
func status(ws unix.WaitStatus) (code int, signal string) {
	if ws.Signaled() {
		return 128 + int(ws.Signal()), unix.SignalName(ws.Signal())
	}
	return ws.ExitStatus(), ""
}

// startRun starts a command with pipes.
func (s *supervisor) startRun(cmd *exec.Cmd) error {
	var files []*os.File // the command's ends
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	stdin, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	files = append(files, stdin)
	var feed *os.File
	if len(s.order.Stdin) > 0 {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		files, stdin, feed = append(files, r), r, w
	}
	for _, p := range []**pipe{&s.out, &s.err} {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		files = append(files, w)
		*p = newPipe(r, s.order)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, files[len(files)-2], files[len(files)-1]
	// A session of its own: no terminal to ask for a password, and no signal from ours.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGKILL}
	if err := s.startConfined(cmd); err != nil {
		return err
	}
	if feed != nil {
		go func() {
			_, _ = feed.Write(s.order.Stdin) // a command need not read it
			_ = feed.Close()
		}()
	}
	s.out.start()
	s.err.start()
	return nil
}

// drainLimit bounds the wait for the last output after everything that could write has ended.
const drainLimit = time.Second

// pipe reads one stream of a run.
type pipe struct {
	from *os.File
	keep *spool
	mask *masker
	done chan struct{}
}

func newPipe(from *os.File, o Order) *pipe {
	p := &pipe{from: from, keep: newSpool(o.Whole, o.Head, o.Tail), done: make(chan struct{})}
	p.mask = newMasker(p.keep, o.Secrets)
	return p
}

func (p *pipe) start() {
	go func() {
		defer close(p.done)
		_, _ = io.CopyBuffer(p.mask, p.from, make([]byte, 64<<10)) // it ends when the pipe does
		_ = p.mask.flush()                                         // a spool takes everything
	}()
}

func (p *pipe) finish() Output {
	select {
	case <-p.done:
	case <-time.After(drainLimit): // the other end was given to a process outside of our tree
		_ = p.from.Close()
		<-p.done
	}
	return p.keep.output()
}
