package store

import (
	"context"
	"database/sql"
	"time"
)

// driver is what the databases differ in; the rest of the SQL is the same.
type driver interface {
	// name says which database it is, in errors; without secrets.
	name() string
	// open makes the store's pools and brings the schema up to date. It may write by then.
	open(ctx context.Context, s *Store) error
	// writers is how many transactions of this process go on at once.
	writers() int
	// locking is what makes a SELECT keep the rows that it found until its transaction ends: "" where transactions exclude each other.
	locking() string
	// appended tells the watchers of other processes of the run, in the transaction that appends.
	appended(ctx context.Context, tx *sql.Tx, runID string) error
	// follow wakes watchers when other processes have appended, until ctx ends.
	follow(ctx context.Context, h *hub)
}

// newDriver finds the driver for a store's URL; "" is SQLite.
func newDriver(url, dir string, busy time.Duration) (driver, error) {
	switch {
	case url == "":
		return &sqliteFile{path: sqlitePath(dir), busy: busy}, nil
	case isPostgres(url):
		return newPostgres(url, busy)
	}
	return nil, invalid("the store's URL begins neither with postgres:// nor with postgresql://; leave it out for a file in the state directory")
}
