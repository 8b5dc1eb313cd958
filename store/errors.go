package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"syscall"
)

// The errors that callers tell apart, with errors.Is.
var (
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("the store is closed")
	// ErrInvalid: the caller gave something that is never stored; repeating it is useless.
	ErrInvalid = errors.New("not storable")
	// ErrTooLarge: more than the bound that the function states. It is also an ErrInvalid.
	ErrTooLarge = fmt.Errorf("%w: too large", ErrInvalid)
	// ErrNotFound: there is no such artifact.
	ErrNotFound = errors.New("not found")
	// ErrMarked: this attempt of this call is marked already, so it may have been dispatched; find out before doing anything.
	ErrMarked = errors.New("this attempt is marked as dispatched already")
	// ErrKeyReused: the idempotency key belongs to a call with other arguments.
	ErrKeyReused = errors.New("the idempotency key was used before with other arguments")
	// ErrSchema: the store was not written by this toolsvc or an earlier one.
	ErrSchema = errors.New("the store has another schema")
	// ErrDiskFull: there is no room left; nothing was written.
	ErrDiskFull = errors.New("the disk of the store is full: free some space and try again")
	// ErrLocked: another process held the store longer than the busy timeout; nothing was written.
	ErrLocked = errors.New("another process holds the store: try again, and look for a toolsvc that hangs")
	// ErrCorrupt: what is stored is damaged.
	ErrCorrupt = errors.New("the stored data is damaged")
	// ErrUnavailable: the state directory, the database or the bucket cannot be read or written.
	ErrUnavailable = errors.New("the state directory, the database or the artifact bucket cannot be used")
)

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

func tooLarge(what string, size, limit int) error {
	return fmt.Errorf("%w: %s has %d bytes, at most %d are kept", ErrTooLarge, what, size, limit)
}

// explain wraps err with what was tried, and with the sentinel that tells a person what to do about it.
func (s *Store) explain(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	tried := fmt.Sprintf(format, args...)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", tried, err)
	case s.isClosing() && !errors.Is(err, ErrClosed):
		return fmt.Errorf("%s: %w (%w)", tried, ErrClosed, err)
	}
	kind := kindOf(err)
	if kind == nil || errors.Is(err, kind) {
		return fmt.Errorf("%s: %w", tried, err)
	}
	return fmt.Errorf("%s: %w (%w)", tried, kind, err)
}

// kindOf finds the sentinel for an error of the file system or the database; nil when it is none that a person can act upon.
func kindOf(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return ErrDiskFull
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EIO):
		return ErrUnavailable
	}
	return cmp.Or(sqliteKind(err), postgresKind(err))
}
