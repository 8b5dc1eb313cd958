package tool

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Failure names one way in which an attempt fails. Each is a row of the failure catalogue (docs/reference/failures.md).
type Failure string

// The failures of acting on a page.
const (
	TargetNotFound        Failure = "target_not_found"
	WrongTarget           Failure = "wrong_target"
	AmbiguousTarget       Failure = "ambiguous_target"
	Covered               Failure = "covered"
	Moving                Failure = "moving"
	Disabled              Failure = "disabled"
	NotReady              Failure = "not_ready"
	Stale                 Failure = "stale"
	NoEffect              Failure = "no_effect"
	VerificationFailed    Failure = "verification_failed"
	VerificationUncertain Failure = "verification_uncertain"
	FrameGone             Failure = "frame_gone"
	BrowserCrashed        Failure = "browser_crashed"
)

// The failures of calling a tool.
const (
	InvalidArguments     Failure = "invalid_arguments"
	MissingFields        Failure = "missing_fields"
	MalformedResponse    Failure = "malformed_response"
	Timeout              Failure = "timeout"
	RateLimited          Failure = "rate_limited"
	ToolUnavailable      Failure = "tool_unavailable"
	PreconditionFailed   Failure = "precondition_failed"
	PostconditionFailed  Failure = "postcondition_failed"
	RollbackRefused      Failure = "rollback_refused"
	PolicyDenied         Failure = "policy_denied"
	ConfirmationRequired Failure = "confirmation_required"
	LoopDetected         Failure = "loop_detected"
	OutcomeUnknown       Failure = "outcome_unknown"
	// QuestionExpired: nobody answered in time. It is not a refusal.
	QuestionExpired Failure = "question_expired"
	Cancelled       Failure = "cancelled"
	// WorkerLost: the process that made the attempt died, or lost contact, before it could report.
	WorkerLost Failure = "worker_lost"
	// Internal is a fault of toolsvc itself (a store that cannot be written, a bug). Never retried blindly.
	Internal Failure = "internal"
)

// Failures lists every failure, in the order of the catalogue.
var Failures = []Failure{
	TargetNotFound, WrongTarget, AmbiguousTarget, Covered, Moving, Disabled, NotReady, Stale, NoEffect, VerificationFailed,
	VerificationUncertain, FrameGone, BrowserCrashed, InvalidArguments, MissingFields, MalformedResponse, Timeout, RateLimited,
	ToolUnavailable, PreconditionFailed, PostconditionFailed, RollbackRefused, PolicyDenied, ConfirmationRequired, LoopDetected,
	OutcomeUnknown, QuestionExpired, Cancelled, WorkerLost, Internal,
}

// Reason is the reason of a RetryHint that this failure leads to when it ends a call.
func (f Failure) Reason() Reason {
	switch f {
	case TargetNotFound, Stale:
		return ReasonTargetNotFound
	case Covered, Moving, Disabled, NotReady, PreconditionFailed:
		return ReasonPreconditionFailed
	case VerificationFailed:
		return ReasonVerificationFailed
	case VerificationUncertain, OutcomeUnknown:
		return ReasonOutcomeUnknown
	case FrameGone, BrowserCrashed, ToolUnavailable, WorkerLost, Internal:
		return ReasonToolUnavailable
	case QuestionExpired:
		return ReasonCancelled
	case PostconditionFailed, RollbackRefused:
		return ReasonPostconditionFailed
	}
	return Reason(f) // the others carry their reason's name
}

// Candidate is one thing that a target may mean, in words that tell it from the others.
type Candidate struct {
	Name     string `json:"name"`
	Role     string `json:"role,omitempty"`
	Within   string `json:"within,omitempty"` // the panel, landmark, dialog or frame that holds it
	Near     string `json:"near,omitempty"`   // the text beside it
	Selector string `json:"selector,omitempty"`
}

// Failed is the error of an executor: which failure of the catalogue it met, and what a person should know of it.
type Failed struct {
	Failure Failure
	// Message is one sentence for people: what was tried, on what, and what stood in the way.
	Message string
	// What stood in the way, as people know it: the name of the cover, of the unticked box; "" when there is nothing to name.
	What string
	// Dispatched reports that the action was sent before the failure, so that its effect is unknown unless Effect says otherwise.
	Dispatched bool
	// Candidates are the things that an ambiguous target may mean.
	Candidates []Candidate
	// RetryAfter is the wait that the other side asked for; 0 when it said nothing.
	RetryAfter time.Duration
	// Cause is what led to it; may be nil.
	Cause error
}

// Failf makes a Failed from a format; a %w in it becomes the cause.
func Failf(f Failure, format string, args ...any) *Failed {
	err := fmt.Errorf(format, args...)
	return &Failed{Failure: f, Message: err.Error(), Cause: errors.Unwrap(err)}
}

func (f *Failed) Error() string { return string(f.Failure) + ": " + f.Message }

// Unwrap returns the cause.
func (f *Failed) Unwrap() error { return f.Cause }

// AsFailed finds the Failed in err's chain; an error without one is an Internal failure.
func AsFailed(err error) *Failed {
	var f *Failed
	if errors.As(err, &f) {
		return f
	}
	return &Failed{Failure: Internal, Message: err.Error(), Cause: err}
}

// Known reports whether f is a failure of the catalogue.
func (f Failure) Known() bool { return slices.Contains(Failures, f) }

// NearestFailure is the failure whose name is nearest to f; the first of the catalogue when none is near.
func NearestFailure(f Failure) Failure {
	names := make([]string, len(Failures))
	for i, x := range Failures {
		names[i] = string(x)
	}
	if n := Nearest(string(f), names); n != "" {
		return Failure(n)
	}
	return Failures[0]
}
