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

// Purged counts what a purge deleted.
type Purged struct {
	Runs, Events, Dispatches, Keys, Artifacts int64
}

// Purge deletes, whole, each run to which nothing was added since before: its events, its marks and its idempotency keys; and each artifact that
// was not put since. The store does not know which runs are still open, so before must lie further back than a run may wait. Should a run
// go on nevertheless, its events are numbered on from where they were. Purge can be interrupted and repeated; on an error it returns what
// was deleted so far.
func (s *Store) Purge(ctx context.Context, before time.Time) (Purged, error) {
	var total Purged
	for _, step := range []func(context.Context, *sql.Tx, string) (Purged, bool, error){s.purgeRuns, s.purgeArtifacts} {
		for more := true; more; {
			var batch Purged
			err := s.write(ctx, s.events, func(tx *sql.Tx) (err error) {
				batch, more, err = step(ctx, tx, stamp(before))
				return err
			})
			if err != nil {
				return total, s.explain(err, "purge what is older than %s", before.UTC().Format(time.RFC3339))
			}
			total.Runs += batch.Runs
			total.Events += batch.Events
			total.Dispatches += batch.Dispatches
			total.Keys += batch.Keys
			total.Artifacts += batch.Artifacts
		}
	}
	return total, s.explain(s.purgeStranded(ctx, before), "purge half-written artifacts older than %s", before.UTC().Format(time.RFC3339))
}

func (s *Store) purgeRuns(ctx context.Context, tx *sql.Tx, before string) (p Purged, more bool, err error) {
	runs, err := texts(tx.QueryContext(ctx, `SELECT run_id FROM runs WHERE purged = 0 AND active_at < $1 ORDER BY active_at LIMIT $2`+s.driver.locking(), before, purgeBatch))
	if err != nil {
		return p, false, err
	}
	for _, run := range runs {
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
	return p, len(runs) == purgeBatch, nil
}

// purgeArtifacts deletes the files inside the transaction that deletes their rows: see PutArtifact.
func (s *Store) purgeArtifacts(ctx context.Context, tx *sql.Tx, before string) (p Purged, more bool, err error) {
	digests, err := texts(tx.QueryContext(ctx, `SELECT digest FROM artifacts WHERE put_at < $1 ORDER BY put_at LIMIT $2`+s.driver.locking(), before, purgeBatch))
	if err != nil {
		return p, false, err
	}
	for _, digest := range digests {
		if err := s.bucket.Delete(ctx, blobKey(digest)); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
			return p, false, err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM artifacts WHERE digest = $1`, digest); err != nil {
			return p, false, err
		}
		p.Artifacts++
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
	defer rows.Close()
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
