package planner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
)

// A full disk is told twice: before anything is accepted (Service.Room), and while something is under way (Service.Filled). In the second case
// Temporal can write nothing, and its client would wait for a minute to say no more than that there was no answer.

// FilledError says that the disk became full before the answer came. What was asked for may have been accepted, and may have had its effect;
// its run goes on when there is room.
type FilledError struct {
	// RunID is the run that was asked; "" when a run was to be started under a key, whose claim may be another one's.
	RunID string
	Cause error
}

func (e *FilledError) Error() string {
	return "the disk that keeps the runs became full before the answer came; what was asked for may have been done, so look at the run before repeating it: " + e.Cause.Error()
}

func (e *FilledError) Unwrap() error { return e.Cause }

const (
	// filledGrace is how long nothing can be written before an answer is not waited for any longer: what somebody clears away at once, or a
	// rotation of logs does, ends nothing.
	filledGrace = 3 * time.Second
	// filledEvery is how often it is looked at meanwhile.
	filledEvery = 500 * time.Millisecond
)

// room is nil when a call can be kept. Without asking, a call would wait for a Temporal that cannot write, until nobody knows any more
// whether it was accepted.
func (s *Service) room() error {
	if s.Room == nil {
		return nil
	}
	if err := s.Room(); err != nil {
		return fmt.Errorf("%w: %w", ErrNoRoom, err)
	}
	return nil
}

// whileRoom asks Temporal something that it has to write. When there is no room for that any more, f's context ends, and the error is a
// *[FilledError]; so it is when f fails without a definite answer while the disk is full. Any other error of f is returned as it is.
func (s *Service) whileRoom(ctx context.Context, runID string, f func(context.Context) error) error {
	if s.Filled == nil {
		return f(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { s.watchRoom(ctx, cancel) })
	err := f(ctx)
	cause := context.Cause(ctx) // before the watch is ended
	cancel(nil)
	watching.Wait()
	if err == nil || !indefinite(err) {
		return err
	}
	full, ok := errors.AsType[*filled](cause)
	if ok {
		return &FilledError{RunID: runID, Cause: full.err}
	}
	if now := s.Filled(); now != nil && cause == nil { // else the caller has gone
		return &FilledError{RunID: runID, Cause: now}
	}
	return err
}

// filled is the cause of a context's end.
type filled struct{ err error }

func (f *filled) Error() string { return f.err.Error() }

// watchRoom cancels when the disk is full for as long as filledGrace; it returns when ctx ends.
func (s *Service) watchRoom(ctx context.Context, cancel context.CancelCauseFunc) {
	t := time.NewTicker(filledEvery)
	defer t.Stop()
	var since time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-t.C:
			err := s.Filled()
			switch {
			case err == nil:
				since = time.Time{}
			case since.IsZero():
				since = now
			case now.Sub(since) >= filledGrace:
				cancel(&filled{err})
				return
			}
		}
	}
}

// indefinite reports an error that does not tell whether Temporal took what it was asked.
func indefinite(err error) bool {
	var timeout *client.WorkflowUpdateServiceTimeoutOrCanceledError
	return errors.As(err, &timeout) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(explain(err), ErrUnavailable)
}
