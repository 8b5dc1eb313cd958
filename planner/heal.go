package planner

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

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
	// ActionWait: make the same attempt again after the Wait; nothing was done by the last one.
	ActionWait Action = "wait"
	// ActionAsk: ask a question of the kind Ask, and go on by its answer.
	ActionAsk Action = "ask"
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
	// RetryAfter is the wait that the other side asked for with the latest failure; 0 when it said nothing.
	RetryAfter time.Duration
	// Waits counts the waits of this step, and WaitLeft is how long the run may still back off.
	Waits    int
	WaitLeft time.Duration
	// Ask is true when a person may be asked, and Asked counts the questions about this step's attempts so far.
	Ask   bool
	Asked int
	// Vouched is true when a person has said that the latest dispatch had no effect, and so allowed another one.
	Vouched bool
	// Reask is true when the latest attempt's work may be right, and only its answer has to be asked for again.
	Reask bool
	// Most bounds the attempts when it is less than [MaxAttempts]; 0 otherwise.
	Most int
	// Learns is true when whoever acts is told what failed, so that the same source may do better the next time: an agent.
	Learns bool
	// Rebuilt is true when a tab or a browser that died is made anew for the next attempt, so that its source has not failed.
	Rebuilt bool
	// Seed makes the jitter of waits: the same for one call, different between calls.
	Seed string
}

// Decision is what to do, and why.
type Decision struct {
	Action Action
	// Next is the plan of the next attempt, with ActionRetry.
	Next tool.Plan
	// Wait is how long to wait, with ActionWait.
	Wait time.Duration
	// Ask is what to ask, with ActionAsk.
	Ask tool.QuestionKind
	// Failure is what the step has failed with, with ActionStop, and what is asked about, with ActionAsk.
	Failure tool.Failure
	// Why is the rule that decided, for logs and tests.
	Why string
}

// Decide is the healing decision. Its rules, in order:
//
//  1. A verdict of success ends the step. Nothing else does.
//  2. A lost worker that had dispatched nothing costs nothing: the same attempt is made again.
//  3. What the other side asks to be sent later (rate_limited, tool_unavailable for a while) is sent later, if the last attempt did
//     nothing or may be repeated: the same attempt, after a wait within the run's budget.
//  4. Where a person may be asked, an ambiguous target and an unknown outcome are asked about.
//  5. A failure that another source cannot mend (disabled, covered, ambiguous, …) stops the step at once.
//  6. Nothing was dispatched, or the effect is proven none, or it is rolled back: another source is tried.
//  7. The effect stands or is unknown: another source is tried only if the tool may be repeated by design.
//     Where the tab or the browser died, it is the same source once more, in a new one.
//  8. An irreversible call that was dispatched is never dispatched again, whatever is proven: that needs another approval, or a person
//     who says that it had no effect.
//     An agent whose answer cannot be read is asked for the answer alone: that dispatches nothing, so it is allowed after any effect.
//  9. At most [MaxAttempts] attempts, each with another source.
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
	harmless := !last.Phase.Dispatched() || last.Effect == tool.EffectNone || last.RolledBack
	sent := slices.ContainsFunc(s.Attempts, func(a tool.AttemptRecord) bool { return a.Phase.Dispatched() })
	spent := s.Class == tool.Irreversible && sent && !s.Vouched
	if passing(last.Failure, s.RetryAfter) && (harmless || s.Class.Repeatable()) && !spent {
		if d, ok := backOff(s); ok {
			return Decision{Action: ActionWait, Wait: d, Failure: last.Failure, Why: "it may be better later, and nothing was done"}
		}
		return stop(s, "the waits are used up")
	}
	if s.Reask && len(s.Attempts) < MaxAttempts && (s.Most == 0 || len(s.Attempts) < s.Most) {
		return retry(s, last.Source, last.Input, "only the answer is asked for again, and nothing can be called")
	}
	if kind := question(last, harmless, s.Class); kind != "" && s.Ask && s.Asked < maxAsked {
		return Decision{Action: ActionAsk, Ask: kind, Failure: last.Failure, Why: "only a person can tell"}
	}
	if terminal(last.Failure) && !s.Vouched {
		return stop(s, "another source cannot mend this")
	}
	if spent {
		return stop(s, "an irreversible call is dispatched once")
	}
	switch {
	case harmless:
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
	if len(s.Attempts) >= MaxAttempts || s.Most > 0 && len(s.Attempts) >= s.Most {
		return stop(s, "no attempts are left")
	}
	if gone(last.Failure) && s.Rebuilt && s.tried(last.Source) == 1 {
		return retry(s, last.Source, last.Input, "the tab is made anew, and the source has not failed")
	}
	for _, src := range s.Sources {
		if s.tried(src) == 0 {
			return retry(s, src, nextInput(last), "another source may do better")
		}
	}
	if s.Learns {
		return retry(s, last.Source, last.Input, "the agent is told what failed")
	}
	if s.Vouched {
		return retry(s, last.Source, last.Input, "a person says that the last dispatch had no effect")
	}
	return stop(s, "every source was tried")
}

// tried is how many attempts were made by a source.
func (s *Situation) tried(src tool.Source) int {
	n := 0
	for _, a := range s.Attempts {
		if a.Source == src {
			n++
		}
	}
	return n
}

// gone reports a failure of where the action takes place, not of how it was looked for.
func gone(f tool.Failure) bool { return f == tool.FrameGone || f == tool.BrowserCrashed }

// maxWaits bounds the waits of one step, and maxAsked the questions about one step's attempts.
const (
	maxWaits = 8
	maxAsked = 2
)

// passing reports a failure that the other side says will pass.
func passing(f tool.Failure, retryAfter time.Duration) bool {
	return f == tool.RateLimited || f == tool.ToolUnavailable && retryAfter > 0
}

// backOff is how long to wait: what the other side asked for; otherwise a second, doubled by every wait up to a minute, and moved by up
// to a fifth so that those who failed together do not come back together. It is not ok when no wait is left.
func backOff(s Situation) (d time.Duration, ok bool) {
	if s.Waits >= maxWaits {
		return 0, false
	}
	d = s.RetryAfter
	if d <= 0 {
		d = min(time.Second<<s.Waits, time.Minute)
		h := fnv.New32a()
		fmt.Fprintf(h, "%s/%d", s.Seed, s.Waits) //nolint:errcheck // a hash takes everything
		d += d / 5 * time.Duration(int64(h.Sum32()%2001)-1000) / 1000
	}
	return d, d <= s.WaitLeft
}

// question is what a person has to be asked about the failure; "" when there is nothing to ask.
func question(last tool.AttemptRecord, harmless bool, class tool.EffectClass) tool.QuestionKind {
	switch {
	case last.Failure == tool.AmbiguousTarget && !last.Phase.Dispatched():
		return tool.AskArguments
	case !harmless && last.Effect == tool.EffectUnknown && !class.Repeatable():
		return tool.AskOutcome
	}
	return ""
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
