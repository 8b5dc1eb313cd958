//go:build linux

package supervise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Launcher starts supervisors. It keeps one started and waiting for an order, because a large program takes a while to start.
type Launcher struct {
	// Log takes what a supervisor has to say when it fails; nil discards it. It must stay open.
	Log *os.File
	// NoSpare starts each supervisor only when it is needed.
	NoSpare bool

	mu      sync.Mutex
	spare   *started
	closed  bool
	warming sync.WaitGroup
}

// started is a supervisor that waits for its order.
type started struct {
	cmd   *exec.Cmd
	order io.WriteCloser
	reply *os.File
	gone  chan struct{}
}

// errNotHooked is a mistake of the program that uses this package.
var errNotHooked = errors.New("supervise.Hook was not called first thing in main, so no supervisor can be started")

func (l *Launcher) start() (*started, error) {
	if !Hooked() {
		return nil, errNotHooked
	}
	reply, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close() //nolint:errcheck // it lives on in the supervisor
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{processName}, Dir: "/", Stdout: theirs, Stderr: l.Log,
		// Few threads and little memory: it mostly waits.
		Env: []string{"PATH=/usr/bin:/bin", "GOMAXPROCS=2", "GOGC=50"},
		// A session of its own: what ends the worker, a Ctrl+C too, does not end the supervisor.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	order, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		_ = reply.Close()
		return nil, fmt.Errorf("start a supervisor: %w", err)
	}
	s := &started{cmd: cmd, order: order, reply: reply, gone: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // its record says how it went
		close(s.gone)
	}()
	return s, nil
}

// take returns a supervisor: the spare one, or a new one.
func (l *Launcher) take() (*started, error) {
	l.mu.Lock()
	s := l.spare
	l.spare = nil
	l.mu.Unlock()
	if s != nil {
		select {
		case <-s.gone:
			s.discard()
		default:
			return s, nil
		}
	}
	return l.start()
}

// Warm starts the spare supervisor, in the background.
func (l *Launcher) Warm() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.NoSpare || l.closed || l.spare != nil {
		return
	}
	l.warming.Add(1)
	go func() {
		defer l.warming.Done()
		s, err := l.start()
		if err != nil {
			return // the next order meets the same and reports it
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.spare != nil || l.closed {
			s.discard()
			return
		}
		l.spare = s
	}()
}

// Close gives up the spare supervisor. Those that have an order go on.
func (l *Launcher) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.warming.Wait()
	if l.spare != nil {
		l.spare.discard()
		l.spare = nil
	}
}

func (s *started) discard() {
	_ = s.order.Close() // it ends when there is no order
	_ = s.reply.Close()
}

// NotStarted is the error of an order of which nothing was started.
type NotStarted struct {
	// Problem says why.
	Problem string
	// Missing: the program, or the directory to run in, is not there.
	Missing bool
	// Again: there was an order for this directory before; what became of it, its record says.
	Again bool
}

func (e *NotStarted) Error() string { return e.Problem }

// launchLimit bounds the time from handing over an order to the start of the command.
const launchLimit = 30 * time.Second

// Launch makes the order's directory, hands the order to a supervisor, and returns when the command has been started. A *NotStarted
// guarantees that it was not; after any other error [Read] tells.
func (l *Launcher) Launch(ctx context.Context, o Order) error {
	if err := o.check(); err != nil {
		return &NotStarted{Problem: err.Error()}
	}
	if err := os.MkdirAll(filepath.Dir(o.Dir), 0o700); err != nil {
		return &NotStarted{Problem: err.Error()}
	}
	if err := os.Mkdir(o.Dir, 0o700); errors.Is(err, os.ErrExist) {
		return &NotStarted{Problem: "there was an order for this attempt before", Again: true}
	} else if err != nil {
		return &NotStarted{Problem: err.Error()}
	}
	never := func(what string, err error) error { // nothing was handed over, so there is nothing to remember
		_ = os.RemoveAll(o.Dir)
		return &NotStarted{Problem: fmt.Sprintf("%s: %v", what, err)}
	}
	text, err := json.Marshal(o)
	if err != nil {
		return never("encode the order", err)
	}
	s, err := l.take()
	if err != nil {
		return never("find a supervisor", err)
	}
	defer s.reply.Close() //nolint:errcheck // it was only read
	defer l.Warm()
	who, err := identify(s.cmd.Process.Pid)
	if err == nil {
		err = (&Record{Key: o.Key, Kind: o.Kind, State: StateOrdered, Supervisor: who}).write(o.Dir, orderFile)
	}
	if err != nil {
		_ = s.order.Close() // without an order it ends
		return never("keep the order", err)
	}
	limit := time.Now().Add(launchLimit)
	if t, ok := ctx.Deadline(); ok && t.Before(limit) {
		limit = t
	}
	_ = s.reply.SetReadDeadline(limit)
	stop := context.AfterFunc(ctx, func() { _ = s.reply.SetReadDeadline(time.Now()) })
	defer stop()
	if _, err := s.order.Write(text); err != nil {
		_ = s.order.Close()
		// A part of an order is no order: the supervisor cannot read it.
		return &NotStarted{Problem: fmt.Sprintf("hand the order to the supervisor: %v", err)}
	}
	if err := s.order.Close(); err != nil {
		return fmt.Errorf("hand the order to the supervisor: %w", err)
	}
	var a reply
	if err := json.NewDecoder(s.reply).Decode(&a); err != nil {
		return fmt.Errorf("the supervisor did not say whether it started the command: %w", err)
	}
	if !a.OK {
		return &NotStarted{Problem: a.Problem, Missing: a.Missing}
	}
	return nil
}

// ErrLost: the supervisor is gone and left no word of the end.
var ErrLost = errors.New("the process that supervised the command is gone, and left no word of how the command ended")

// dial connects to the supervisor of a directory. A socket's path is limited in length, the way through the directory's descriptor is short.
func dial(ctx context.Context, dir string) (net.Conn, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close() //nolint:errcheck // it was only a way
	return new(net.Dialer).DialContext(ctx, "unix", "/proc/self/fd/"+strconv.Itoa(int(d.Fd()))+"/"+socketFile)
}

// ask puts one question to the supervisor of a directory.
func ask(ctx context.Context, dir string, q request) (response, error) {
	c, err := dial(ctx, dir)
	if err != nil {
		return response{}, err
	}
	defer c.Close() //nolint:errcheck // the answer is here
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
	defer stop()
	var a response
	if err := json.NewEncoder(c).Encode(q); err != nil {
		return a, err
	}
	if err := json.NewDecoder(c).Decode(&a); err != nil {
		if ctx.Err() != nil {
			return a, ctx.Err()
		}
		return a, err
	}
	if a.Problem != "" {
		return a, errors.New(a.Problem)
	}
	return a, nil
}

// Wait returns the record of the order in dir as soon as it is final. It may be called by any process, at any time. A supervisor that is
// gone without having ended its record is ErrLost, together with the record as it stands.
func Wait(ctx context.Context, dir string) (*Record, error) { return final(ctx, dir, "wait") }

// End ends the command and everything that it started, and returns its record.
func End(ctx context.Context, dir string) (*Record, error) { return final(ctx, dir, "end") }

// takeUpLimit bounds the wait for a supervisor to take up its order.
const takeUpLimit = 10 * time.Second

func final(ctx context.Context, dir, op string) (*Record, error) {
	for patience := time.Now().Add(takeUpLimit); ; {
		r, err := Read(dir)
		if err != nil {
			return nil, err
		}
		if r.State == StateEnded || r.State == StateFailed {
			return r, nil
		}
		alive := r.Supervisor.Alive()
		_, err = ask(ctx, dir, request{Op: op})
		switch {
		case ctx.Err() != nil:
			return r, ctx.Err()
		case err == nil:
			continue // the record is final now
		case !alive:
			if r, err := Read(dir); err == nil && (r.State == StateEnded || r.State == StateFailed) {
				return r, nil
			}
			return r, ErrLost
		case time.Now().After(patience):
			return r, fmt.Errorf("the supervisor of a command does not answer: %w", err)
		}
		select { // it is about to listen, or about to end
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}
