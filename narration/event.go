package narration

import (
	"encoding/json"
	"fmt"
	"time"

	"toolsvc/tool"
)

// Event is one narrated moment of a run, as callers see it. Only Text is in the run's language.
type Event struct {
	// ID numbers the events of a run; it is given by the event store, so it is 0 in what is stored.
	ID    int64  `json:"id"`
	RunID string `json:"run_id"`
	// Step is the number of the step, from 1, and Steps how many there are so far; 0 for moments of the run as a whole.
	Step  int `json:"step"`
	Steps int `json:"steps"`
	// Attempt is the number of the attempt at the step, from 1; 0 outside of attempts.
	Attempt int   `json:"attempt"`
	Stage   Stage `json:"stage"`
	// Source is how the attempt finds what to act on; "" where none is used.
	Source tool.Source `json:"source"`
	// Text is one line, at most MaxText runes.
	Text  string    `json:"text"`
	Level Level     `json:"level"`
	At    time.Time `json:"at"`
}

// Decode reads the event that is stored under that number.
func Decode(id int64, data []byte) (Event, error) {
	var e Event
	if err := json.Unmarshal(data, &e); err != nil {
		return e, fmt.Errorf("decode narration event %d: %w", id, err)
	}
	e.ID = id
	return e, nil
}

// Line is the event in one line of plain text, for surfaces that have no columns: "2/3 Click “Play” [AX]".
func (e Event) Line() string { return e.Place() + e.Text + e.Badge() }

// Place says which step of how many it is, with a space after it; "" for moments of the run as a whole.
func (e Event) Place() string {
	switch {
	case e.Step > 0 && e.Steps >= e.Step:
		return fmt.Sprintf("%d/%d ", e.Step, e.Steps)
	case e.Step > 0:
		return fmt.Sprintf("%d ", e.Step)
	}
	return ""
}

// Badge is the source's badge in brackets, with a space before it; "" without a source.
func (e Event) Badge() string {
	if e.Source == "" {
		return ""
	}
	return " [" + e.Source.Badge() + "]"
}
