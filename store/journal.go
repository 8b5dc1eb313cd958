package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// MaxMarkEvidence bounds the evidence of a mark, in bytes.
const MaxMarkEvidence = 4 << 20

// Mark is the note, written before an action is sent, that it may have been sent.
type Mark struct {
	RunID, CallID string
	// Attempt is the number of the attempt, from 1.
	Attempt int
	// At is when it was marked, by the caller's clock; it comes back in UTC.
	At time.Time
	// Evidence is what was observed before the dispatch, to compare the world with after a crash; at most MaxMarkEvidence bytes.
	Evidence []byte
}

// MarkDispatch writes the mark. When it returns nil, the mark survives a kill of the process and a loss of power, and the action may be
// sent. On any error it must not be sent: with [ErrMarked] because the attempt was marked before and may have been sent then, with
// any other because a crash would find no trace of it. After another error the mark may have been written nevertheless; a repetition then
// says ErrMarked.
func (s *Store) MarkDispatch(ctx context.Context, m Mark) error {
	if err := m.check(); err != nil {
		return s.explain(err, "mark attempt %d of call %q as dispatched", m.Attempt, m.CallID)
	}
	if m.Evidence == nil {
		m.Evidence = []byte{} // SQL's NULL is something else
	}
	err := s.write(ctx, s.durable, func(tx *sql.Tx) error {
		if _, err := touch(ctx, tx, m.RunID, m.At); err != nil {
			return err
		}
		added, err := changed(tx.ExecContext(ctx, `
			INSERT INTO dispatches (call_id, attempt, run_id, at_time, evidence) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (call_id, attempt) DO NOTHING`,
			m.CallID, m.Attempt, m.RunID, stamp(m.At), m.Evidence))
		if err == nil && !added {
			err = ErrMarked
		}
		return err
	})
	return s.explain(err, "mark attempt %d of call %s as dispatched", m.Attempt, m.CallID)
}

// Dispatch returns the mark of an attempt, and whether there is one. Without one, and with a store that works, nothing was sent.
func (s *Store) Dispatch(ctx context.Context, callID string, attempt int) (Mark, bool, error) {
	m := Mark{CallID: callID, Attempt: attempt}
	var at string
	err := s.read.QueryRowContext(ctx, `SELECT run_id, at_time, evidence FROM dispatches WHERE call_id = $1 AND attempt = $2`, callID, attempt).
		Scan(&m.RunID, &at, &m.Evidence)
	if errors.Is(err, sql.ErrNoRows) {
		return Mark{}, false, nil
	}
	if err == nil {
		m.At, err = parseStamp(at)
	}
	if err != nil {
		return Mark{}, false, s.explain(err, "look for the dispatch of attempt %d of call %s", attempt, callID)
	}
	return m, true, nil
}

func (m Mark) check() error {
	if err := checkID("run", m.RunID); err != nil {
		return err
	}
	if err := checkID("call", m.CallID); err != nil {
		return err
	}
	if m.Attempt < 1 {
		return invalid("attempts are numbered from 1, not %d", m.Attempt)
	}
	if len(m.Evidence) > MaxMarkEvidence {
		return tooLarge("the evidence", len(m.Evidence), MaxMarkEvidence)
	}
	return checkTime("the mark", m.At)
}
