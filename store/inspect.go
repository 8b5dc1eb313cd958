package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// quickCheckLimit bounds how long [Inspect] reads a file for damage; a file that takes longer counts as undamaged so far.
const quickCheckLimit = 5 * time.Second

// Inspection is what [Inspect] found.
type Inspection struct {
	// Exists: there is a file.
	Exists bool
	// Schema is its version; Latest is the one that it is brought to when it is opened.
	Schema, Latest int
}

// Inspect looks at the store's file of a state directory, and changes nothing, while a server may be using it. It fails with what would keep
// [Open] from using it: [ErrSchema] for a later version's or another program's file, [ErrCorrupt] for a damaged one.
func Inspect(ctx context.Context, dir string) (Inspection, error) {
	in := Inspection{Latest: len(migrations)}
	path := filepath.Join(dir, FileName)
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return in, nil
	}
	in.Exists = true
	if err == nil && st.Size() == 0 { // a start that was broken off
		return in, nil
	}
	if err == nil {
		in.Schema, err = inspect(ctx, path, in.Latest)
	}
	if err == nil || errors.Is(err, ErrSchema) {
		return in, err
	}
	if kind := kindOf(err); kind != nil && !errors.Is(err, kind) {
		err = fmt.Errorf("%w (%w)", kind, err)
	}
	return in, fmt.Errorf("%s: %w", path, err)
}

func inspect(ctx context.Context, path string, latest int) (version int, err error) {
	query := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(2000)"}}
	if _, err := os.Stat(path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		query.Set("immutable", "1") // nobody uses it, and a reader must not leave files behind
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String())
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	if err := refuseForeign(ctx, tx, path); err != nil {
		return 0, err
	}
	version, err = schemaVersion(ctx, tx, path, latest)
	if err != nil {
		return version, err
	}
	bounded, cancel := context.WithTimeout(ctx, quickCheckLimit)
	defer cancel()
	var verdict string
	switch err := tx.QueryRowContext(bounded, `PRAGMA quick_check(1)`).Scan(&verdict); {
	case err != nil && bounded.Err() != nil && ctx.Err() == nil:
	case err != nil:
		return version, err
	case verdict != "ok":
		return version, fmt.Errorf("%w: %s", ErrCorrupt, verdict)
	}
	return version, nil
}

// schemaVersion is the version of the schema, or why it cannot be used. A store without tables has 0.
func schemaVersion(ctx context.Context, tx *sql.Tx, path string, latest int) (int, error) {
	var tables int
	if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM sqlite_master WHERE type = 'table'`).Scan(&tables); err != nil || tables == 0 {
		return 0, err
	}
	var version, rows int
	if err := tx.QueryRowContext(ctx, `SELECT COALESCE(MAX(version), 0), COUNT(*) FROM schema_version`).Scan(&version, &rows); err != nil {
		return 0, err
	}
	return version, usable(path, version, rows, latest)
}
