package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// readers bounds how many reads go on at once; more wait for their turn.
const readers = 4

// sqliteFile is the driver for one machine: a file in the state directory.
type sqliteFile struct {
	path string
	busy time.Duration
}

func sqlitePath(dir string) string { return filepath.Join(dir, FileName) }

func (d *sqliteFile) name() string { return d.path }

// writers of this process take turns, instead of polling each other's lock in SQLite.
func (d *sqliteFile) writers() int { return 1 }

func (d *sqliteFile) locking() string { return "" }

func (d *sqliteFile) appended(context.Context, *sql.Tx, string) error { return nil }

// open opens the file, switches it to WAL, and brings its schema up to date.
func (d *sqliteFile) open(ctx context.Context, s *Store) error {
	// SQLite would create the file readable by everyone; its -wal and -shm files take over the permissions.
	f, err := os.OpenFile(d.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	pool := func(conns int, params ...string) (*sql.DB, error) {
		q := url.Values{"_pragma": append(params, "busy_timeout("+strconv.FormatInt(d.busy.Milliseconds(), 10)+")")}
		q.Set("_txlock", "immediate") // a transaction that begins with a read must not find at its first write that it came too late
		db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: d.path, RawQuery: q.Encode()}).String())
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(conns)
		db.SetMaxIdleConns(conns)
		return db, nil
	}
	const walLimit = "journal_size_limit(67108864)" // bytes; a longer -wal file is cut when it is next written from its start
	if s.events, err = pool(1, "synchronous(NORMAL)", walLimit); err != nil {
		return err
	}
	if s.durable, err = pool(1, "synchronous(FULL)", "fullfsync(1)", walLimit); err != nil {
		return err
	}
	if s.read, err = pool(readers+1, "query_only(1)"); err != nil { // and one for the hub
		return err
	}
	if err := d.useWAL(ctx, s.durable); err != nil {
		return err
	}
	return s.write(ctx, s.durable, func(tx *sql.Tx) error {
		if err := refuseForeign(ctx, tx, d.path); err != nil {
			return err
		}
		return migrate(ctx, tx, d.path, migrations)
	})
}

// useWAL switches the file to write-ahead logging, which lasts. SQLite does not apply the busy timeout to this step, so a lock that another
// process holds meanwhile (it may be opening the same new file) is waited for here.
func (d *sqliteFile) useWAL(ctx context.Context, db *sql.DB) error {
	deadline := time.NewTimer(d.busy)
	defer deadline.Stop()
	for {
		var mode string
		err := db.QueryRowContext(ctx, `PRAGMA journal_mode=WAL`).Scan(&mode)
		if err == nil && mode != "wal" {
			return fmt.Errorf("%w: %s cannot use a write-ahead log (journal mode %q): put the state directory on a local file system", ErrUnavailable, d.path, mode)
		}
		if !errors.Is(sqliteKind(err), ErrLocked) {
			return err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-deadline.C:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// refuseForeign refuses a database of another program.
func refuseForeign(ctx context.Context, tx *sql.Tx, path string) error {
	var tables, ours int
	err := tx.QueryRowContext(ctx, `SELECT COUNT(*), COALESCE(SUM(name = 'schema_version'), 0) FROM sqlite_master WHERE type = 'table'`).Scan(&tables, &ours)
	if err != nil {
		return err
	}
	if tables > 0 && ours == 0 {
		return fmt.Errorf("%w: %s belongs to another program; use another state directory", ErrSchema, path)
	}
	return nil
}

// pollEvery is how often another process's writes are looked for while anybody watches.
const pollEvery = 100 * time.Millisecond

// follow wakes everyone when the file has changed: another process cannot tell this one, so it is asked for a number.
func (d *sqliteFile) follow(ctx context.Context, h *hub) {
	var conn *sql.Conn
	drop := func() error {
		if conn == nil {
			return nil
		}
		err := conn.Close()
		conn = nil
		return err
	}
	version := int64(-1)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		now, err := int64(-1), error(nil)
		if conn == nil {
			conn, err = h.store.read.Conn(ctx) // versions can only be compared on one connection
			version = -1
		}
		if err == nil {
			now, err = dataVersion(ctx, conn)
		}
		if err != nil {
			// The watchers will meet the same error when they read, and report it.
			err = errors.Join(err, drop())
		}
		if err != nil || now != version {
			version = now
			h.wakeAll()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	_ = drop() // the connection goes back to its pool, or is gone; there is nothing to do about either
}

// dataVersion returns a number that changes when any other connection, of any process, commits. It only means something on one connection.
func dataVersion(ctx context.Context, conn *sql.Conn) (version int64, err error) {
	err = conn.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&version)
	return version, err
}

// sqliteKind finds the sentinel for an error of SQLite; nil for none.
func sqliteKind(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return nil
	}
	if e.Code() == codes.SQLITE_IOERR_SHMSIZE { // the index of the write-ahead log cannot be made as large as it has to be
		return ErrDiskFull
	}
	switch e.Code() & 0xff { // the rest of the code is detail
	case codes.SQLITE_FULL:
		return ErrDiskFull
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED:
		return ErrLocked
	case codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB:
		return ErrCorrupt
	case codes.SQLITE_IOERR, codes.SQLITE_CANTOPEN, codes.SQLITE_READONLY, codes.SQLITE_PERM, codes.SQLITE_NOLFS:
		return ErrUnavailable
	}
	return nil
}
