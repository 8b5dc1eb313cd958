//go:build linux

package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// State is how far an order has come.
type State string

// The states.
const (
	// StateOrdered: handed to a supervisor, nothing was started yet.
	StateOrdered State = "ordered"
	// StateFailed: nothing was started, and Problem says why.
	StateFailed State = "failed"
	// StateStarted: the command is being started, or runs.
	StateStarted State = "started"
	// StateEnded: the command has ended, and with it everything that it started.
	StateEnded State = "ended"
)

// Ended says what ended a command.
type Ended string

// What can end a command.
const (
	EndedItself  Ended = "itself"
	EndedLimit   Ended = "limit"   // its time limit
	EndedRequest Ended = "request" // somebody asked for it
	EndedIdle    Ended = "idle"    // nobody asked for the session any more
)

// Record is what is known of an order, on disk. It holds no secret.
type Record struct {
	Key        string  `json:"key"`
	Kind       Kind    `json:"kind"`
	State      State   `json:"state"`
	Supervisor Process `json:"supervisor"`
	// Child is the command's first process.
	Child   int       `json:"child,omitempty"`
	Problem string    `json:"problem,omitempty"`
	Missing bool      `json:"missing,omitempty"` // the program is not there
	Layers  Layers    `json:"layers"`
	Started time.Time `json:"started"`
	// The following are known when it has ended.
	Ended      time.Time `json:"ended"`
	EndedBy    Ended     `json:"ended_by,omitempty"`
	ExitCode   int       `json:"exit_code"`
	Signal     string    `json:"signal,omitempty"`
	LeftBehind int       `json:"left_behind,omitempty"` // processes that were still there when the first one had ended, or that were ended
	Stdout     Output    `json:"stdout"`
	Stderr     Output    `json:"stderr"`
	// Screen is the last look of a session.
	Screen *Screen `json:"screen,omitempty"`
}

// Output is what was kept of a stream, as valid UTF-8: Head and, when something was left out between, Tail.
type Output struct {
	Head    string `json:"head,omitempty"`
	Tail    string `json:"tail,omitempty"`
	Omitted int64  `json:"omitted,omitempty"` // bytes left out between head and tail
}

const (
	recordFile = "record.json"
	orderFile  = "order.json"
)

// ErrNoRecord: nothing was ever ordered there.
var ErrNoRecord = errors.New("there is no record")

// Read reads what is known of the order in dir. An order that was handed over and not taken up has the state ordered.
func Read(dir string) (*Record, error) {
	for _, name := range []string{recordFile, orderFile} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the record of a command: %w", err)
		}
		r := new(Record)
		if err := json.Unmarshal(text, r); err != nil {
			return nil, fmt.Errorf("the record of a command in %s cannot be read: %w", dir, err)
		}
		return r, nil
	}
	return nil, ErrNoRecord
}

// write replaces the record in one step. It is not synced: after a crash of the machine, which the supervisor's boot tells, a record
// that says less than all proves nothing.
func (r *Record) write(dir, name string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode the record of a command: %w", err)
	}
	f := filepath.Join(dir, name)
	if err := os.WriteFile(f+".new", text, 0o600); err != nil {
		return fmt.Errorf("keep the record of a command: %w", err)
	}
	if err := os.Rename(f+".new", f); err != nil {
		return fmt.Errorf("keep the record of a command: %w", err)
	}
	return nil
}
