//go:build linux

package supervise

import (
	"errors"
	"time"
)

// Kind is what a supervisor supervises.
type Kind string

// The kinds.
const (
	// KindRun is one command, with pipes, to its end.
	KindRun Kind = "run"
	// KindSession is a program in a terminal.
	KindSession Kind = "session"
)

// Order is what a supervisor is to do. It reaches the supervisor through a pipe and is never written to disk, because it may hold
// secrets.
type Order struct {
	Kind Kind
	// Dir is the supervisor's own directory, which must exist: its record and its socket live there, and the command may write there.
	Dir string
	// Key names the order in its record.
	Key  string
	Argv []string
	Env  []string
	// Cwd is where the command starts. Tmp is its directory for temporary files, made by the supervisor and removed when all is over.
	Cwd, Tmp string
	// Stdin is what a run reads.
	Stdin []byte
	// Limit bounds a run. Idle bounds how long a session goes on with nobody asking for it.
	Limit, Idle time.Duration
	// Grace is the time between asking processes to end (SIGTERM) and ending them (SIGKILL).
	Grace time.Duration
	// Whole is up to how many bytes of each stream are kept whole; of a longer one Head and Tail bytes are kept.
	Whole, Head, Tail int
	// Secrets are masked wherever they appear in what the command writes.
	Secrets []string
	Confine Confinement
	// Rows, Cols and Scrollback are the size of a session's screen, and how many lines above it are kept.
	Rows, Cols, Scrollback int
	// Marked says that the program of a session is a shell that was told to mark its prompts (OSC 133).
	Marked bool
}

func (o Order) check() error {
	switch {
	case o.Kind != KindRun && o.Kind != KindSession:
		return errors.New("the order names no kind")
	case o.Dir == "" || o.Cwd == "" || len(o.Argv) == 0 || o.Key == "":
		return errors.New("the order lacks a directory, a key or a command")
	case o.Kind == KindRun && (o.Limit <= 0 || o.Whole <= 0 || o.Head <= 0 || o.Tail <= 0):
		return errors.New("a run needs a time limit and bounds of its output")
	case o.Kind == KindSession && (o.Idle <= 0 || o.Rows <= 0 || o.Cols <= 0 || o.Scrollback <= 0):
		return errors.New("a session needs an idle limit and the size of its screen")
	}
	return nil
}
