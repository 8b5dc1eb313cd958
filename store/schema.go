package store

import (
	"context"
	"database/sql"
	"fmt"
)

// migrations lead from one version of the schema to the next; the version of a file is how many of them it has seen. They only add, because
// an older process may have the file open while a newer one migrates it. Published ones are never changed.
var migrations = []string{
	`
	CREATE TABLE runs (
		run_id    TEXT PRIMARY KEY,
		last_id   BIGINT NOT NULL,  -- number of the last event; kept when the run is purged, so that numbers never come twice
		active_at TEXT NOT NULL,    -- latest time of anything that belongs to the run
		purged    INTEGER NOT NULL  -- 1 while everything of the run is deleted
	);
	CREATE INDEX runs_by_age ON runs (purged, active_at);

	CREATE TABLE events (
		run_id    TEXT NOT NULL,
		id        BIGINT NOT NULL,
		event_key TEXT NOT NULL,
		kind      TEXT NOT NULL,
		data      TEXT NOT NULL,    -- JSON on one line
		at_time   TEXT NOT NULL,
		PRIMARY KEY (run_id, id),
		UNIQUE (run_id, event_key)
	);

	CREATE TABLE dispatches (
		call_id   TEXT NOT NULL,
		attempt   INTEGER NOT NULL,
		run_id    TEXT NOT NULL,
		at_time   TEXT NOT NULL,
		evidence  BLOB NOT NULL,
		PRIMARY KEY (call_id, attempt)
	);
	CREATE INDEX dispatches_by_run ON dispatches (run_id);

	CREATE TABLE idempotency_keys (
		claim_key   TEXT PRIMARY KEY,
		call_id     TEXT NOT NULL,
		run_id      TEXT NOT NULL,
		args_digest TEXT NOT NULL,
		at_time     TEXT NOT NULL
	);
	CREATE INDEX idempotency_keys_by_run ON idempotency_keys (run_id);

	CREATE TABLE artifacts (
		digest     TEXT PRIMARY KEY,
		media_type TEXT NOT NULL,
		size       BIGINT NOT NULL,
		put_at     TEXT NOT NULL    -- when it was put last
	);
	CREATE INDEX artifacts_by_age ON artifacts (put_at);
	`,
	`
	CREATE TABLE memories (
		scope      TEXT NOT NULL,
		memory_key TEXT NOT NULL,
		data       TEXT NOT NULL,   -- JSON
		put_at     TEXT NOT NULL,
		PRIMARY KEY (scope, memory_key)
	);
	CREATE INDEX memories_by_age ON memories (put_at);
	`,
	`
	CREATE TABLE leases (
		lease_name TEXT PRIMARY KEY,
		owner      TEXT NOT NULL,
		until      TEXT NOT NULL
	);
	`,
}

// migrate runs the scripts that the file has not seen yet, in the transaction.
func migrate(ctx context.Context, tx *sql.Tx, path string, scripts []string) error {
	if _, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)`); err != nil {
		return err
	}
	var version, rows int
	if err := tx.QueryRowContext(ctx, `SELECT COALESCE(MAX(version), 0), COUNT(*) FROM schema_version`).Scan(&version, &rows); err != nil {
		return err
	}
	if err := usable(path, version, rows, len(scripts)); err != nil {
		return err
	}
	switch {
	case version == len(scripts):
		return nil
	case rows == 0:
		if _, err := tx.ExecContext(ctx, `INSERT INTO schema_version (version) VALUES (0)`); err != nil {
			return err
		}
	}
	for n, script := range scripts[version:] {
		if _, err := tx.ExecContext(ctx, script); err != nil {
			return fmt.Errorf("migrate %s to schema version %d: %w", path, version+n+1, err)
		}
	}
	_, err := tx.ExecContext(ctx, `UPDATE schema_version SET version = $1`, len(scripts))
	return err
}

// usable refuses a schema's version that this program does not know.
func usable(path string, version, rows, latest int) error {
	switch {
	case version > latest:
		return fmt.Errorf("%w: %s has version %d and this toolsvc knows up to %d; use the toolsvc that wrote it or a later one, or another state directory",
			ErrSchema, path, version, latest)
	case version < 0 || rows > 1:
		return fmt.Errorf("%w: the version in %s makes no sense (%d, in %d rows)", ErrCorrupt, path, version, rows)
	}
	return nil
}
