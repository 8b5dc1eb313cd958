package page

import (
	"context"
	"errors"
	"strings"

	"toolsvc/executors/browser/devtools"
)

var (
	// ErrCrashed: the tab's renderer died.
	ErrCrashed = errors.New("the tab has crashed")
	// ErrNavigated: the document went away during the call.
	ErrNavigated = errors.New("the page was left meanwhile")
	// ErrNoFrame: the frame is gone.
	ErrNoFrame = errors.New("the frame is gone")
)

// moved reports whether an error of the protocol means that the document or frame that was asked is not there any more.
func moved(err error) bool {
	if err == nil {
		return false
	}
	if errors.Is(err, ErrNavigated) || errors.Is(err, ErrNoFrame) {
		return true
	}
	for _, s := range []string{"Cannot find context", "uniqueContextId not found", "Execution context was destroyed", "Inspected target navigated or closed",
		"Cannot find execution context", "No frame for given id", "Frame with the given id was not found", "Frame with the given frameId is not found"} {
		if strings.Contains(err.Error(), s) {
			return true
		}
	}
	return false
}

// Moved reports whether a call failed because its document or frame is not there any more, so that looking again makes sense.
func Moved(err error) bool { return moved(err) || errors.Is(err, devtools.ErrDetached) }

// because replaces a bare cancellation by its cause, so that a crash is told from a time limit.
func because(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return errors.Join(cause, err)
	}
	return err
}
