package planner

import (
	"slices"

	"toolsvc/tool"
)

// MaxAttempts bounds the attempts at one step: the first and at most two more.
const MaxAttempts = 3

// maxLost bounds how often a step is taken up again after its worker died with nothing dispatched.
const maxLost = 5

// Action is what follows from an attempt.
type Action string

// The actions.
const (
	// ActionDone: the step is verified.
	ActionDone Action = "done"
	// ActionRetry: make another attempt, with the Next plan.
	ActionRetry Action = "retry"
	// ActionStop: the step has failed.
	ActionStop Action = "stop"
)

// Situation is all that a healing decision depends on.
type Situation struct {
	// Class is the effect class of this call.
	Class tool.EffectClass
	// Sources are the sources that apply to this call, in the order of trying.
	Sources []tool.Source
	// Attempts are the attempts so far, at least one; the last one is the latest.
	Attempts []tool.AttemptRecord
	// Verdict is the verdict of the latest attempt; "" when it did not come so far.
	Verdict tool.Verdict
	// Lost counts how often a worker died during this step before anything was dispatched.
	Lost int
	// Healing is false when the policy allows one attempt only.
	Healing bool
}

// Decision is what to do, and why.
type Decision struct {
	Action Action
	// Next is the plan of the next attempt, with ActionRetry.
	Next tool.Plan
	// Failure is what the step has failed with, with ActionStop.
	Failure tool.Failure
	// Why is the rule that decided, for logs and tests.
	Why string
}

// Decide is the healing decision. Its rules, in order:
//
//  1. A verdict of success ends the step. Nothing else does.
//  2. A lost worker that had dispatched nothing costs nothing: the same attempt is made again.
//  3. A failure that another source cannot mend (disabled, covered, ambiguous, …) stops the step at once.
//  4. Nothing was dispatched, or the effect is proven none, or it is rolled back: another source is tried.
//  5. The effect stands or is unknown: another source is tried only if the tool may be repeated by design.
//  6. An irreversible call that was dispatched is never dispatched again, whatever is proven: that needs another approval.
//  7. At most [MaxAttempts] attempts, each with another source.
func Decide(s Situation) Decision {
	last := s.Attempts[len(s.Attempts)-1]
	if s.Verdict == tool.VerdictSuccess {
		return Decision{Action: ActionDone, Why: "verified"}
	}
	if last.Failure == tool.WorkerLost && !last.Phase.Dispatched() {
		if s.Lost <= maxLost {
			return retry(s, last.Source, last.Input, "the worker was lost before anything was dispatched")
		}
		return stop(s, "the worker was lost too often")
	}
	if !s.Healing {
		return stop(s, "healing is switched off")
	}
	if terminal(last.Failure) {
		return stop(s, "another source cannot mend this")
	}
	if s.Class == tool.Irreversible && slices.ContainsFunc(s.Attempts, func(a tool.AttemptRecord) bool { return a.Phase.Dispatched() }) {
		return stop(s, "an irreversible call is dispatched once")
	}
	switch {
	case !last.Phase.Dispatched(), last.Effect == tool.EffectNone, last.RolledBack:
	case s.Class.Repeatable():
		if last.Failure == tool.WorkerLost { // the attempt is void, and repeating is harmless: no source has failed yet
			if s.Lost <= maxLost {
				return retry(s, last.Source, last.Input, "the worker was lost, and the tool may be repeated")
			}
			return stop(s, "the worker was lost too often")
		}
	default:
		return stop(s, "the effect stands or is unknown, and the tool may not be repeated")
	}
	if len(s.Attempts) >= MaxAttempts {
		return stop(s, "no attempts are left")
	}
	for _, src := range s.Sources {
		if !slices.ContainsFunc(s.Attempts, func(a tool.AttemptRecord) bool { return a.Source == src }) {
			return retry(s, src, nextInput(last), "another source may do better")
		}
	}
	return stop(s, "every source was tried")
}

func retry(s Situation, src tool.Source, in tool.Input, why string) Decision {
	n := len(s.Attempts) + 1
	if s.Attempts[len(s.Attempts)-1].Failure == tool.WorkerLost && src == s.Attempts[len(s.Attempts)-1].Source {
		n-- // the lost attempt is made again under its own number
	}
	return Decision{Action: ActionRetry, Next: tool.Plan{Number: n, Source: src, Input: in}, Why: why}
}

func stop(s Situation, why string) Decision {
	return Decision{Action: ActionStop, Failure: decisive(s.Attempts), Why: why}
}

// terminal reports a failure that another source would only meet again, or that a person has to decide.
func terminal(f tool.Failure) bool {
	switch f {
	case tool.AmbiguousTarget, tool.Covered, tool.Moving, tool.Disabled, tool.NotReady, tool.PreconditionFailed, tool.RollbackRefused,
		tool.InvalidArguments, tool.MissingFields, tool.PolicyDenied, tool.ConfirmationRequired, tool.LoopDetected, tool.RateLimited,
		tool.Cancelled, tool.Internal, tool.MalformedResponse, tool.OutcomeUnknown:
		return true
	}
	return false
}

// firstInput is how the first attempt sends its action: by the mouse, where there is a target to point at.
func firstInput(src tool.Source) tool.Input {
	switch src {
	case tool.SourceAX, tool.SourceCDP, tool.SourceVision:
		return tool.InputMouse
	case tool.SourceHotkey:
		return tool.InputKeyboard
	}
	return ""
}

// nextInput is how the next attempt sends its action: after a mouse event that was delivered and provably did nothing, the keyboard.
func nextInput(last tool.AttemptRecord) tool.Input {
	if last.Failure == tool.NoEffect && last.Input == tool.InputMouse {
		return tool.InputKeyboard
	}
	return tool.InputMouse
}

// decisive is the failure that says most about why the step failed: the latest one of an attempt that dispatched something, else the
// first that found more than "not there", else the first.
func decisive(as []tool.AttemptRecord) tool.Failure {
	for _, a := range slices.Backward(as) {
		if a.Phase.Dispatched() && a.Failure != "" {
			return a.Failure
		}
	}
	last := as[len(as)-1]
	if terminal(last.Failure) {
		return last.Failure
	}
	for _, a := range as {
		if a.Failure != tool.TargetNotFound && a.Failure != tool.ToolUnavailable && a.Failure != "" {
			return a.Failure
		}
	}
	return as[0].Failure
}
