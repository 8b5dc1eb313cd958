package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gocloud.dev/gcerrors"
)

// purgeBatch is how many runs or artifacts are deleted in one transaction, so that writers wait for a short time only.
const purgeBatch = 20

// sizeGrace is how long the size bound leaves an artifact alone: whoever has put it just now is about to refer to it.
const sizeGrace = time.Hour

// Purged counts what a purge deleted.
type Purged struct {
	Runs, Events, Dispatches, Keys, Artifacts int64
	// ArtifactBytes is the size of the deleted artifacts together.
	ArtifactBytes int64
}

func (p *Purged) add(o Purged) {
	p.Runs += o.Runs
	p.Events += o.Events
	p.Dispatches += o.Dispatches
	p.Keys += o.Keys
	p.Artifacts += o.Artifacts
	p.ArtifactBytes += o.ArtifactBytes
}

// Retention says what is kept.
type Retention struct {
	// Before: runs to which nothing was added since, and artifacts that were not put since, are deleted.
	Before time.Time
	// Open are runs that go on. They are kept whole, however old they are; and so is every artifact that was put since the first event of the
	// oldest of them.
	Open []string
	// MaxArtifactBytes bounds the artifacts together: beyond it the oldest are deleted although they are younger than Before, but none of the
	// last hour, and none that Open protects. 0 is no bound.
	MaxArtifactBytes int64
}

// Purge is Retain of what is younger than before. The store does not know which runs are still open, so before must lie further back than a
// run may wait.
func (s *Store) Purge(ctx context.Context, before time.Time) (Purged, error) {
	return s.Retain(ctx, Retention{Before: before})
}

// Retain deletes, whole, each run that is not kept: its events, its marks and its idempotency keys; and each artifact that is not kept. Should a
// run go on nevertheless, its events are numbered on from where they were. Retain can be interrupted and repeated; on an error it returns what
// was deleted so far.
func (s *Store) Retain(ctx context.Context, r Retention) (Purged, error) {
	var total Purged
	first, err := s.firstEvent(ctx, r.Open)
	if err != nil {
		return total, s.explain(err, "find out since when the open runs go on")
	}
	old, young := r.Before, s.now().Add(-sizeGrace)
	if !first.IsZero() {
		old, young = earlier(old, first), earlier(young, first)
	}
	steps := []func(context.Context, *sql.Tx) (Purged, bool, error){
		s.purgeRuns(stamp(r.Before), r.Open),
		func(ctx context.Context, tx *sql.Tx) (Purged, bool, error) {
			return s.purgeArtifacts(ctx, tx, stamp(old), 0)
		},
	}
	if r.MaxArtifactBytes > 0 {
		steps = append(steps, func(ctx context.Context, tx *sql.Tx) (Purged, bool, error) {
			var size int64
			if err := tx.QueryRowContext(ctx, `SELECT COALESCE(SUM(size), 0) FROM artifacts`).Scan(&size); err != nil || size <= r.MaxArtifactBytes {
				return Purged{}, false, err
			}
			return s.purgeArtifacts(ctx, tx, stamp(young), size-r.MaxArtifactBytes)
		})
	}
	for _, step := range steps {
		for more := true; more; {
			var batch Purged
			err := s.write(ctx, s.events, func(tx *sql.Tx) (err error) {
				batch, more, err = step(ctx, tx)
				return err
			})
			if err != nil {
				return total, s.explain(err, "purge what is older than %s", r.Before.UTC().Format(time.RFC3339))
			}
			total.add(batch)
		}
	}
	return total, s.explain(s.purgeStranded(ctx, r.Before), "purge half-written artifacts older than %s", r.Before.UTC().Format(time.RFC3339))
}

// ArtifactBytes is the size of all artifacts together.
func (s *Store) ArtifactBytes(ctx context.Context) (size int64, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT COALESCE(SUM(size), 0) FROM artifacts`).Scan(&size)
	return size, s.explain(err, "add up the artifacts")
}

// firstEvent is when the oldest of the runs began; the zero time when none has an event.
func (s *Store) firstEvent(ctx context.Context, runs []string) (first time.Time, err error) {
	for _, run := range runs {
		events, err := s.Events(ctx, run, 0, 1)
		if err != nil {
			return first, err
		}
		if len(events) > 0 && (first.IsZero() || events[0].At.Before(first)) {
			first = events[0].At
		}
	}
	return first, nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// purgeRuns deletes the runs that are not open, from the oldest on, a batch at a time.
func (s *Store) purgeRuns(before string, open []string) func(context.Context, *sql.Tx) (Purged, bool, error) {
	isOpen := make(map[string]bool, len(open))
	for _, run := range open {
		isOpen[run] = true
	}
	after := "" // what was looked at; run identifiers sort after it
	return func(ctx context.Context, tx *sql.Tx) (p Purged, more bool, err error) {
		runs, err := texts(tx.QueryContext(ctx, `SELECT run_id FROM runs WHERE purged = 0 AND active_at < $1 AND run_id > $2 ORDER BY run_id LIMIT $3`+s.driver.locking(), before, after, purgeBatch))
		if err != nil {
			return p, false, err
		}
		for _, run := range runs {
			if isOpen[run] {
				continue
			}
			for _, d := range []struct {
				count     *int64
				statement string
			}{
				{&p.Events, `DELETE FROM events WHERE run_id = $1`},
				{&p.Dispatches, `DELETE FROM dispatches WHERE run_id = $1`},
				{&p.Keys, `DELETE FROM idempotency_keys WHERE run_id = $1`},
				{&p.Runs, `UPDATE runs SET purged = 1 WHERE run_id = $1`},
			} {
				r, err := tx.ExecContext(ctx, d.statement, run)
				if err != nil {
					return p, false, err
				}
				n, err := r.RowsAffected()
				if err != nil {
					return p, false, err
				}
				*d.count += n
			}
		}
		if len(runs) > 0 {
			after = runs[len(runs)-1]
		}
		return p, len(runs) == purgeBatch, nil
	}
}

// purgeArtifacts deletes a batch of artifacts that were not put since before, the oldest first; with enough above 0 it stops when that many
// bytes are deleted. It deletes the files inside the transaction that deletes their rows: see PutArtifact.
func (s *Store) purgeArtifacts(ctx context.Context, tx *sql.Tx, before string, enough int64) (p Purged, more bool, err error) {
	digests, err := texts(tx.QueryContext(ctx, `SELECT digest FROM artifacts WHERE put_at < $1 ORDER BY put_at LIMIT $2`+s.driver.locking(), before, purgeBatch))
	if err != nil {
		return p, false, err
	}
	for _, digest := range digests {
		if enough > 0 && p.ArtifactBytes >= enough {
			return p, false, nil
		}
		var size int64
		if err := tx.QueryRowContext(ctx, `SELECT size FROM artifacts WHERE digest = $1`, digest).Scan(&size); err != nil {
			return p, false, err
		}
		if err := s.bucket.Delete(ctx, blobKey(digest)); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
			return p, false, err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM artifacts WHERE digest = $1`, digest); err != nil {
			return p, false, err
		}
		p.Artifacts++
		p.ArtifactBytes += size
	}
	return p, len(digests) == purgeBatch, nil
}

// purgeStranded deletes the temporary files that a bucket of files keeps when its process is killed in the middle of a put. Other buckets
// have none. Whatever vanishes meanwhile was a put that came to its end.
func (s *Store) purgeStranded(ctx context.Context, before time.Time) error {
	if s.folder == "" {
		return nil
	}
	return filepath.WalkDir(filepath.Join(s.folder, blobPrefix), func(path string, file fs.DirEntry, err error) error {
		if err == nil && ctx.Err() == nil && strings.HasSuffix(path, ".tmp") && !file.IsDir() {
			var info fs.FileInfo
			if info, err = file.Info(); err == nil && info.ModTime().Before(before) {
				err = os.Remove(path)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return cmp.Or(err, ctx.Err())
	})
}

// texts reads a column of texts.
func texts(rows *sql.Rows, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // what went wrong while reading is told by Err
	var out []string
	for rows.Next() {
		var t string
		if err := rows.Scan(&t); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, rows.Err()
}
