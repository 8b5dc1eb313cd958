package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"gocloud.dev/blob"
)

// FileName is the name of the SQLite file in the state directory.
const FileName = "toolsvc.db"

// Options are the settings of a store; the zero value is right for one machine.
type Options struct {
	// URL of a PostgreSQL database that several machines share: postgres://user:password@host:5432/database, with what libpq and pgx take
	// besides (sslmode, search_path for another schema than DefaultSchema, pool_max_conns, statement_timeout …). "" means a SQLite file in
	// the state directory.
	URL string
	// BucketURL is where artifacts are kept, as gocloud.dev/blob spells it ("s3://…", "file:///…"; the driver of any scheme but
	// these two must be imported by the program). "" means the folder "artifacts" in the state directory.
	BucketURL string
	// BusyTimeout bounds the wait for another process that is writing, which a context does not cut short; 0 means 10 s.
	BusyTimeout time.Duration
	// Now stamps claims, leases and artifacts; nil means time.Now.
	Now func() time.Time
	// Appended is told, in the context of the append, which events were stored: each event of a run is told once, by the process that
	// stored it, after it is stored, however often it is appended. It must return soon. nil tells nobody.
	Appended func(ctx context.Context, events []Event)
}

// Store is an open store. It is safe for concurrent use.
type Store struct {
	driver   driver
	path     string // which database it is, for people
	now      func() time.Time
	appended func(context.Context, []Event)

	// As many transactions of this process write at once as there is room for.
	turn    chan struct{}
	events  *sql.DB // commits survive a kill of the process
	durable *sql.DB // commits survive a loss of power, too
	read    *sql.DB
	bucket  *blob.Bucket
	folder  string // where the bucket's files are; "" when it is no folder
	hub     hub

	closing chan struct{}
	once    sync.Once
	closed  error
}

// Open opens the store: in the directory, or in the database of Options.URL with only artifacts in the directory. The directory is created, readable by this user only, when it is not there. A schema of an earlier
// toolsvc is brought up to date; one of a later toolsvc is refused with [ErrSchema]. ctx bounds the opening only.
func Open(ctx context.Context, dir string, options Options) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	d, err := newDriver(options.URL, dir, cmp.Or(options.BusyTimeout, 10*time.Second))
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	s := &Store{
		driver:   d,
		path:     d.name(),
		now:      options.Now,
		appended: options.Appended,
		turn:     make(chan struct{}, d.writers()),
		closing:  make(chan struct{}),
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.hub.store = s
	if err := s.open(ctx, dir, options); err != nil {
		return nil, errors.Join(s.explain(err, "open the store %s", s.path), s.Close())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, dir string, options Options) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := s.driver.open(ctx, s); err != nil {
		return err
	}
	return s.openBucket(ctx, dir, options.BucketURL)
}

// Close ends all watchers, waits for the transaction under way, and closes the file. Closing again returns the same.
func (s *Store) Close() error {
	s.once.Do(func() {
		close(s.closing)
		s.hub.stop()
		for range cap(s.turn) {
			s.turn <- struct{}{} // and keeps it: nobody writes any more
		}
		var errs []error
		for _, db := range []*sql.DB{s.read, s.durable, s.events} {
			if db != nil {
				errs = append(errs, db.Close())
			}
		}
		if s.bucket != nil {
			errs = append(errs, s.bucket.Close())
		}
		if err := errors.Join(errs...); err != nil {
			s.closed = fmt.Errorf("close the store %s: %w", s.path, err)
		}
	})
	return s.closed
}

func (s *Store) isClosing() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// write runs do in one transaction of the pool. Either all of it is stored, or nothing. When it conflicts with another one, do runs again.
func (s *Store) write(ctx context.Context, pool *sql.DB, do func(*sql.Tx) error) (err error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.closing:
		return ErrClosed
	}
	for range maxConflicts {
		if err = transact(ctx, pool, do); !again(err) {
			break
		}
	}
	return err
}

// maxConflicts bounds how often a transaction is made that others make impossible.
const maxConflicts = 5

func transact(ctx context.Context, pool *sql.DB, do func(*sql.Tx) error) error {
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		if undo := tx.Rollback(); undo != nil && !errors.Is(undo, sql.ErrTxDone) {
			return errors.Join(err, fmt.Errorf("roll back: %w", undo))
		}
		return err
	}
	return tx.Commit()
}

// touch notes that the run was active at that time, and returns the number of its last event. In a database that locks rows it also locks the
// run until the end of the transaction.
func touch(ctx context.Context, tx *sql.Tx, runID string, at time.Time) (last int64, err error) {
	err = tx.QueryRowContext(ctx, `
		INSERT INTO runs (run_id, last_id, active_at, purged) VALUES ($1, 0, $2, 0)
		ON CONFLICT (run_id) DO UPDATE SET purged = 0,
			active_at = CASE WHEN excluded.active_at > runs.active_at THEN excluded.active_at ELSE runs.active_at END
		RETURNING last_id`, runID, stamp(at)).Scan(&last)
	return last, err
}

// stampLayout writes times so that they sort as text: UTC, always nine digits of a second. It is RFC 3339.
const stampLayout = "2006-01-02T15:04:05.000000000Z"

func stamp(t time.Time) string { return t.UTC().Format(stampLayout) }

func parseStamp(s string) (time.Time, error) {
	t, err := time.Parse(stampLayout, s)
	if err != nil {
		return t, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return t, nil
}

// maxID bounds identifiers, kinds and keys, in bytes.
const maxID = 256

// checkID rejects what cannot be an identifier.
func checkID(what, id string) error {
	if id == "" {
		return invalid("the %s is empty", what)
	}
	if len(id) > maxID {
		return tooLarge("the "+what, len(id), maxID)
	}
	return nil
}

// checkTime rejects times that RFC 3339 cannot write.
func checkTime(what string, t time.Time) error {
	if t.IsZero() {
		return invalid("%s has no time", what)
	}
	if y := t.UTC().Year(); y < 0 || y > 9999 {
		return invalid("the year %d of %s is outside RFC 3339", y, what)
	}
	return nil
}
