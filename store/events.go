package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// The kinds of events that toolsvc itself appends.
const (
	KindNarration  = "narration"
	KindToolResult = "tool_result"
	KindRun        = "run"
	KindQuestion   = "question"
	KindApproval   = "approval"
)

// The bounds of events.
const (
	// MaxEventData bounds the data of one event, in bytes.
	MaxEventData = 4 << 20
	// MaxAppend bounds the events of one append.
	MaxAppend = 1000
	// MaxPage bounds the events of one read.
	MaxPage = 1000
)

// Event is something that happened in a run.
type Event struct {
	// ID numbers the events of a run from 1. It is assigned by AppendEvents, which ignores what it is given.
	ID int64
	// RunID is assigned by AppendEvents, too.
	RunID string
	// Kind says what Data holds.
	Kind string
	// Key is the idempotency key, unique in the run: an activity that is repeated must use the same keys again.
	Key string
	// Data is JSON, at most MaxEventData bytes; it is kept on one line, in valid UTF-8 (what was invalid becomes U+FFFD).
	Data json.RawMessage
	// At is when it happened, by the caller's clock; it comes back in UTC.
	At time.Time
}

// AppendEvents appends the events to the run, all or none, and returns them as they are stored, in the given order. An event whose key the
// run has already is not added: the existing one is returned in its place, whatever it holds. When AppendEvents returns an error, the
// events may still have been appended (the context ended during the commit); appending them again under the same keys is safe.
func (s *Store) AppendEvents(ctx context.Context, runID string, events []Event) ([]Event, error) {
	stored, err := storable(runID, events)
	if err != nil {
		return nil, fmt.Errorf("append %d events to run %q: %w", len(events), runID, err)
	}
	if len(stored) == 0 {
		return nil, nil
	}
	active := stored[0].At
	for _, e := range stored {
		if e.At.After(active) {
			active = e.At
		}
	}
	var added []Event // those that this append, and no earlier one, has stored
	err = s.write(ctx, s.events, func(tx *sql.Tx) error {
		first, err := touch(ctx, tx, runID, active)
		if err != nil {
			return err
		}
		last := first
		added = added[:0]
		for i := range stored {
			before := last
			if err := appendEvent(ctx, tx, &stored[i], &last); err != nil {
				return err
			}
			if last > before {
				added = append(added, stored[i])
			}
		}
		if last == first {
			return nil
		}
		if _, err := tx.ExecContext(ctx, `UPDATE runs SET last_id = $1 WHERE run_id = $2`, last, runID); err != nil {
			return err
		}
		return s.driver.appended(ctx, tx, runID)
	})
	if err != nil {
		return nil, s.explain(err, "append %d events to run %s", len(events), runID)
	}
	s.hub.wake(runID)
	if s.appended != nil && len(added) > 0 {
		s.appended(ctx, added)
	}
	return stored, nil
}

// appendEvent stores e with the number after last, or makes e the event that is there already under its key.
func appendEvent(ctx context.Context, tx *sql.Tx, e *Event, last *int64) error {
	added, err := changed(tx.ExecContext(ctx, `
		INSERT INTO events (run_id, id, event_key, kind, data, at_time) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (run_id, event_key) DO NOTHING`,
		e.RunID, *last+1, e.Key, e.Kind, string(e.Data), stamp(e.At)))
	if err != nil {
		return err
	}
	if added {
		*last++
		e.ID = *last
		return nil
	}
	*e, err = scanEvent(tx.QueryRowContext(ctx, `
		SELECT run_id, id, event_key, kind, data, at_time FROM events WHERE run_id = $1 AND event_key = $2`, e.RunID, e.Key))
	return err
}

// Events returns up to limit events of the run with an ID above afterID, in order. A limit outside 1 to MaxPage means MaxPage. A run that
// nobody knows has no events.
func (s *Store) Events(ctx context.Context, runID string, afterID int64, limit int) ([]Event, error) {
	if limit < 1 || limit > MaxPage {
		limit = MaxPage
	}
	rows, err := s.read.QueryContext(ctx, `
		SELECT run_id, id, event_key, kind, data, at_time FROM events WHERE run_id = $1 AND id > $2 ORDER BY id LIMIT $3`, runID, afterID, limit)
	if err != nil {
		return nil, s.explain(err, "read the events of run %s", runID)
	}
	defer rows.Close() //nolint:errcheck // what went wrong while reading is told by Err
	var events []Event
	for rows.Next() {
		e, err := scanEvent(rows)
		if err != nil {
			return nil, s.explain(err, "read the events of run %s", runID)
		}
		events = append(events, e)
	}
	return events, s.explain(rows.Err(), "read the events of run %s", runID)
}

type scanner interface{ Scan(...any) error }

func scanEvent(row scanner) (e Event, err error) {
	var data, at string
	if err := row.Scan(&e.RunID, &e.ID, &e.Key, &e.Kind, &data, &at); err != nil {
		return e, err
	}
	e.Data = json.RawMessage(data)
	e.At, err = parseStamp(at)
	return e, err
}

// storable returns the events as they can be stored, or says what is wrong with them.
func storable(runID string, events []Event) ([]Event, error) {
	if err := checkID("run", runID); err != nil {
		return nil, err
	}
	if len(events) > MaxAppend {
		return nil, fmt.Errorf("%w: at most %d events can be appended at once", ErrTooLarge, MaxAppend)
	}
	out := make([]Event, len(events))
	for i, e := range events {
		what := fmt.Sprintf("event %d (%s %q)", i+1, e.Kind, e.Key)
		if err := checkID("kind of "+what, e.Kind); err != nil {
			return nil, err
		}
		if err := checkID("key of "+what, e.Key); err != nil {
			return nil, err
		}
		if err := checkTime(what, e.At); err != nil {
			return nil, err
		}
		if len(e.Data) > MaxEventData {
			return nil, tooLarge("the data of "+what, len(e.Data), MaxEventData)
		}
		var line bytes.Buffer
		if err := json.Compact(&line, bytes.ToValidUTF8(e.Data, []byte("\uFFFD"))); err != nil {
			return nil, invalid("the data of %s is not JSON: %v", what, err)
		}
		e.RunID, e.ID, e.Data, e.At = runID, 0, line.Bytes(), e.At.UTC()
		out[i] = e
	}
	return out, nil
}

// changed reports whether a statement changed a row.
func changed(r sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := r.RowsAffected()
	return n > 0, err
}
