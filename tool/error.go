package tool

import (
	"errors"
	"fmt"
)

// maxCauses bounds a cause chain; a longer one is cut at its far end, so that an Error stays small in histories and on the wire.
const maxCauses = 16

// Error is the structured error of a call. Its cause chain survives retries, rollbacks and agent-as-tool hops, because it is
// plain data.
type Error struct {
	Code    Failure `json:"code,omitempty"`
	Message string  `json:"message"`
	Cause   *Error  `json:"cause"`
}

// NewError makes an Error from a message.
func NewError(code Failure, message string) *Error { return &Error{Code: code, Message: message} }

// Errorf makes an Error from a format; what %w wraps becomes its cause.
func Errorf(code Failure, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Cause: chain(causeOf(err), maxCauses)}
}

// NewErrorWithCause makes an Error from a message and what led to it.
func NewErrorWithCause(code Failure, message string, cause error) *Error {
	return &Error{Code: code, Message: message, Cause: chain(cause, maxCauses)}
}

// ErrorFrom turns any error into an Error, keeping the chain of what it wraps. A *Failed keeps its failure as the code. It returns
// nil for nil.
func ErrorFrom(err error) *Error { return chain(err, maxCauses) }

func chain(err error, room int) *Error {
	if err == nil || room == 0 {
		return nil
	}
	if e, ok := err.(*Error); ok {
		c := *e
		if e.Cause != nil {
			c.Cause = chain(e.Cause, room-1)
		}
		return &c
	}
	e := &Error{Message: err.Error(), Cause: chain(causeOf(err), room-1)}
	if f, ok := err.(*Failed); ok {
		e.Code, e.Message = f.Failure, f.Message
	}
	return e
}

// causeOf is what err wraps; of several causes the first, because a chain has no branches.
func causeOf(err error) error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, c := range many.Unwrap() {
			if c != nil {
				return c
			}
		}
	}
	return errors.Unwrap(err)
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause, so that errors.Is and errors.As see the chain.
func (e *Error) Unwrap() error {
	if e.Cause == nil {
		return nil
	}
	return e.Cause
}
