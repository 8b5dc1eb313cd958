package store

import (
	"context"
	"fmt"
	"path/filepath"
)

// minRoom is how much has to be free on the disk of the state directory before anything new is accepted, in bytes: so much that what was
// accepted can still be brought to its end.
const minRoom = 16 << 20

// Room returns nil when something new can be kept, and [ErrDiskFull] when the disk of the state directory is full, or nearly so. It
// writes nothing, and is cheap enough to be asked before every call. What a database server elsewhere has left is not known: there it
// returns nil, as where the system does not tell.
func (s *Store) Room() error {
	d, ok := s.driver.(*sqliteFile)
	if !ok {
		return nil
	}
	return RoomIn(filepath.Dir(d.path))
}

// filledBelow is how little is free where a database, which writes some pages for every change, can be taken to have stopped, in bytes.
const filledBelow = 1 << 20

// Filled returns [ErrDiskFull] when so little is left on the disk of the state directory that nothing more can be written, and nil otherwise and
// where that is not known. Between that and [Store.Room], what was accepted comes to its end.
func (s *Store) Filled() error {
	d, ok := s.driver.(*sqliteFile)
	if !ok {
		return nil
	}
	dir := filepath.Dir(d.path)
	free, err := freeBytes(dir)
	if err != nil {
		return nil //nolint:nilerr // what is written next says it better
	}
	return filled(dir, free)
}

func filled(dir string, free uint64) error {
	if free >= filledBelow {
		return nil
	}
	return fmt.Errorf("%w (%d KiB are free in %s)", ErrDiskFull, free>>10, dir)
}

// RoomIn is [Store.Room] for a state directory whose store is not open.
func RoomIn(dir string) error {
	free, err := freeBytes(dir)
	if err != nil {
		return nil //nolint:nilerr // what is written next says it better
	}
	return room(dir, free)
}

func room(dir string, free uint64) error {
	if free >= minRoom {
		return nil
	}
	return fmt.Errorf("%w (%d of at least %d MiB are free in %s)", ErrDiskFull, free>>20, minRoom>>20, dir)
}

// Reach returns [ErrUnavailable] when a database server that keeps the store does not answer within the time of ctx; a file is not asked.
func (s *Store) Reach(ctx context.Context) error {
	if _, file := s.driver.(*sqliteFile); file {
		return nil
	}
	err := s.read.PingContext(ctx)
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: reach the database: %w", ErrUnavailable, err)
}
