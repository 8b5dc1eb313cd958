package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Reason says why a call should be made differently, or not be made again. Each has exactly one meaning
// (docs/reference/reasons.md).
type Reason string

// The reasons.
const (
	ReasonInvalidArguments     Reason = "invalid_arguments"
	ReasonMissingFields        Reason = "missing_fields"
	ReasonMalformedResponse    Reason = "malformed_response"
	ReasonTimeout              Reason = "timeout"
	ReasonRateLimited          Reason = "rate_limited"
	ReasonToolUnavailable      Reason = "tool_unavailable"
	ReasonTargetNotFound       Reason = "target_not_found"
	ReasonAmbiguousTarget      Reason = "ambiguous_target"
	ReasonWrongTarget          Reason = "wrong_target"
	ReasonNoEffect             Reason = "no_effect"
	ReasonVerificationFailed   Reason = "verification_failed"
	ReasonPreconditionFailed   Reason = "precondition_failed"
	ReasonPostconditionFailed  Reason = "postcondition_failed"
	ReasonOutcomeUnknown       Reason = "outcome_unknown"
	ReasonConfirmationRequired Reason = "confirmation_required"
	ReasonPolicyDenied         Reason = "policy_denied"
	ReasonLoopDetected         Reason = "loop_detected"
	ReasonCancelled            Reason = "cancelled"
)

// advice is what kind of next step a reason allows. It is what keeps illegal hints from being built.
type advice int

const (
	correct advice = iota + 1 // send corrected arguments: may carry issues, an example, the prior input
	wait                      // send the same again later: may carry a wait
	observe                   // look before anything else: never invites a repetition
)

var adviceOf = map[Reason]advice{
	ReasonInvalidArguments:     correct,
	ReasonMissingFields:        correct,
	ReasonTargetNotFound:       correct,
	ReasonAmbiguousTarget:      correct,
	ReasonWrongTarget:          correct,
	ReasonNoEffect:             correct,
	ReasonVerificationFailed:   correct,
	ReasonPreconditionFailed:   correct,
	ReasonPostconditionFailed:  correct,
	ReasonTimeout:              wait,
	ReasonRateLimited:          wait,
	ReasonToolUnavailable:      wait,
	ReasonMalformedResponse:    observe,
	ReasonOutcomeUnknown:       observe,
	ReasonConfirmationRequired: observe,
	ReasonPolicyDenied:         observe,
	ReasonLoopDetected:         observe,
	ReasonCancelled:            observe,
}

// Reasons lists every reason, sorted by name.
func Reasons() []Reason {
	var rs []Reason
	for r := range adviceOf {
		rs = append(rs, r)
	}
	slices.Sort(rs)
	return rs
}

// RollbackNotice tells a caller, or a model in its own conversation, that what an attempt changed was undone.
type RollbackNotice struct {
	Performed    bool     `json:"performed"`
	RestoredTo   string   `json:"restored_to"`
	FailedChecks []string `json:"failed_checks"`
}

// HintFields are the fields of a RetryHint, for reading.
type HintFields struct {
	Reason             Reason          `json:"reason"`
	Tool               ID              `json:"tool"`
	RestrictToTool     bool            `json:"restrict_to_tool"`
	MissingFields      []string        `json:"missing_fields,omitempty"`
	Issues             Issues          `json:"issues,omitempty"`
	Candidates         []Candidate     `json:"candidates,omitempty"`
	ExampleInput       json.RawMessage `json:"example_input,omitempty"`
	PriorInput         json.RawMessage `json:"prior_input,omitempty"`
	ClarifyingQuestion string          `json:"clarifying_question,omitempty"`
	Message            string          `json:"message"`
	RetryAfterMS       int64           `json:"retry_after_ms"`
	Rollback           *RollbackNotice `json:"rollback,omitempty"`
}

// RetryHint tells a caller what to do next. The constructors of this package are the only way to make one; each accepts only what
// makes sense for its reasons, and decoding one validates it, so an illegal hint cannot exist.
type RetryHint struct{ f HintFields }

// Fields returns a copy of the hint's fields.
func (h *RetryHint) Fields() HintFields { return h.f }

// Reason returns the hint's reason.
func (h *RetryHint) Reason() Reason { return h.f.Reason }

// MarshalJSON renders the fields.
func (h *RetryHint) MarshalJSON() ([]byte, error) { return json.Marshal(h.f) }

// UnmarshalJSON decodes a hint and rejects an illegal one.
func (h *RetryHint) UnmarshalJSON(b []byte) error {
	var f HintFields
	if err := json.Unmarshal(b, &f); err != nil {
		return err
	}
	if err := f.validate(); err != nil {
		return err
	}
	h.f = f
	return nil
}

// validate rejects combinations that make no sense.
func (f HintFields) validate() error {
	a, ok := adviceOf[f.Reason]
	var errs []error
	reject := func(bad bool, what string) {
		if bad {
			errs = append(errs, fmt.Errorf("a %s hint cannot carry %s", f.Reason, what))
		}
	}
	if !ok {
		errs = append(errs, fmt.Errorf("unknown reason %q", f.Reason))
	}
	if f.Tool == "" {
		errs = append(errs, errors.New("a hint names its tool"))
	}
	if f.Message == "" {
		errs = append(errs, errors.New("a hint has a message"))
	}
	reject(a != correct && (len(f.Issues) > 0 && f.Reason != ReasonMalformedResponse), "issues of the payload")
	reject(a != correct && len(f.ExampleInput) > 0, "an example, which would invite a repetition")
	reject(a != correct && len(f.PriorInput) > 0, "the prior input, which would invite a repetition")
	reject(a != correct && f.RestrictToTool, "restrict_to_tool, which would invite a repetition")
	reject(a != wait && f.RetryAfterMS != 0, "a wait")
	reject(f.RetryAfterMS < 0, "a negative wait")
	reject(f.Reason != ReasonMissingFields && f.Reason != ReasonInvalidArguments && len(f.MissingFields) > 0, "missing fields")
	reject(f.Reason == ReasonMissingFields && len(f.MissingFields) == 0, "no missing field")
	reject(f.Reason == ReasonInvalidArguments && len(f.Issues) == 0, "no issue")
	reject(f.Reason != ReasonAmbiguousTarget && f.Reason != ReasonTargetNotFound && len(f.Candidates) > 0, "candidates")
	return errors.Join(errs...)
}

func newHint(f HintFields) *RetryHint {
	if err := f.validate(); err != nil {
		panic("tool: " + err.Error()) // the constructors below make this impossible; a test walks through all of them
	}
	if r := f.Rollback; r != nil && r.FailedChecks == nil { // a list on every surface, also when nothing failed
		f.Rollback = &RollbackNotice{Performed: r.Performed, RestoredTo: r.RestoredTo, FailedChecks: []string{}}
	}
	return &RetryHint{f}
}

// HintArguments answers a payload that does not validate: all issues, what is missing, a valid example, the payload as it came
// (secrets redacted), and a question in words. When nothing but required fields is wrong, the reason is missing_fields.
func HintArguments(s *Spec, issues Issues, prior []byte) *RetryHint {
	missing := issues.Missing()
	f := HintFields{Reason: ReasonInvalidArguments, Tool: s.ID, RestrictToTool: true, Issues: issues, MissingFields: missing,
		ExampleInput: s.Example, PriorInput: s.Redact(prior)}
	switch {
	case len(missing) > 0 && len(missing) == len(issues):
		f.Reason = ReasonMissingFields
		f.Message = fmt.Sprintf("%s needs %s. Send the same call again with %s.", s.ID, inWords(missing), it(len(missing)))
	case len(issues) == 1:
		f.Message = fmt.Sprintf("The payload of %s breaks one rule: %s Correct it and call the same tool again.", s.ID, issues[0].Message)
	default:
		f.Message = fmt.Sprintf("The payload of %s breaks %d rules. Correct all of them and call the same tool again.", s.ID, len(issues))
	}
	f.ClarifyingQuestion = question(s, missing)
	return newHint(f)
}

// HintMalformedResponse answers a tool whose result breaks its own schema. The tool may have done its work, so the hint does not
// invite a repetition.
func HintMalformedResponse(id ID, issues Issues) *RetryHint {
	return newHint(HintFields{Reason: ReasonMalformedResponse, Tool: id, Issues: issues,
		Message: "The tool answered with data that breaks its own contract, so the answer was not passed on. Check the state before calling it again; its owner has to mend it."})
}

// HintTarget answers a call whose target could not be acted upon: it was not found, means two things, was the wrong one, is
// covered or disabled, or did not react. Nothing is left changed, so corrected arguments may be sent.
// Reasons: target_not_found, ambiguous_target, wrong_target, no_effect, precondition_failed.
func HintTarget(s *Spec, r Reason, message string, candidates []Candidate, prior []byte) *RetryHint {
	switch r {
	case ReasonTargetNotFound, ReasonAmbiguousTarget, ReasonWrongTarget, ReasonNoEffect, ReasonPreconditionFailed:
	default:
		r = ReasonTargetNotFound
	}
	f := HintFields{Reason: r, Tool: s.ID, PriorInput: s.Redact(prior), Message: message}
	if r == ReasonAmbiguousTarget || r == ReasonTargetNotFound {
		f.Candidates = candidates
	}
	if r == ReasonAmbiguousTarget {
		f.ClarifyingQuestion = which(s, candidates)
	}
	return newHint(f)
}

// HintVerification answers an action that was done and then rolled back, because its checks failed: the state is as before it, and
// a corrected call may be made. Reasons: verification_failed, postcondition_failed.
func HintVerification(s *Spec, r Reason, message string, notice RollbackNotice, prior []byte) *RetryHint {
	if r != ReasonPostconditionFailed {
		r = ReasonVerificationFailed
	}
	return newHint(HintFields{Reason: r, Tool: s.ID, PriorInput: s.Redact(prior), Message: message, Rollback: &notice})
}

// HintUnknown answers an action whose outcome no evidence decides, or that failed its checks and could not be rolled back. It never
// carries the input: the caller must look first.
func HintUnknown(id ID, message string, notice *RollbackNotice) *RetryHint {
	return newHint(HintFields{Reason: ReasonOutcomeUnknown, Tool: id, Message: message, Rollback: notice})
}

// WithRollback returns the hint with an account of what was taken back; the hint as it is when there is nothing to tell, or when it tells
// it already.
func (h *RetryHint) WithRollback(notice *RollbackNotice) *RetryHint {
	if notice == nil || h.f.Rollback != nil {
		return h
	}
	f := h.f
	f.Rollback = notice
	return newHint(f)
}

// HintWait answers a call that may be made again, unchanged, after a wait: it did nothing. Reasons: timeout, rate_limited,
// tool_unavailable. A timeout after a dispatch is HintUnknown instead, unless the tool is repeatable.
func HintWait(id ID, r Reason, message string, after time.Duration) *RetryHint {
	if adviceOf[r] != wait {
		r = ReasonToolUnavailable
	}
	return newHint(HintFields{Reason: r, Tool: id, Message: message, RetryAfterMS: max(0, after.Milliseconds())})
}

// HintStop answers a call that must not be made again as it is. Reasons: confirmation_required, policy_denied, loop_detected,
// cancelled.
func HintStop(id ID, r Reason, message string) *RetryHint {
	if adviceOf[r] != observe {
		r = ReasonPolicyDenied
	}
	return newHint(HintFields{Reason: r, Tool: id, Message: message})
}
