//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"toolsvc/tool"
)

// The invariants, as docs/chaos.md and docs/architecture.md state them. [judge] checks 1 to 6 for one call, [agree] 7 and
// [startedOnce] 11 for one run; the round checks the others.
const (
	// Every accepted call ends in a result or in an open question, whatever was killed or cut off meanwhile.
	ruleEnds = "1: every call ends in a result or an open question"
	// Nothing that has an effect is done twice: one order of an id at the most, one line of an id at the most.
	ruleOnce = "2: no effect happens twice"
	// A result without an error carries a verdict of success from evidence after the action, and its effect is there, once.
	ruleTrue = "3: a success has exactly its effect, and a verdict from evidence after it"
	// A result that says that nothing happened is right about it.
	ruleNone = "4: a failure that says that nothing happened has no effect"
	// After a step that was rolled back, the folder is as before it, to the byte.
	ruleBack = "5: what was rolled back is as before"
	// At most three attempts, and none after one whose effect is not known to be gone, unless the tool may be repeated.
	ruleBlind = "6: at most three attempts, none of them blind"
	// Events are numbered from 1 without gaps or doubles, a stream that was interrupted goes on where it was, and events, the run's state and the
	// caller's results agree.
	ruleAgree = "7: events, state and results agree"
	// A step's effect comes after that of the step before it.
	ruleOrder = "8: steps happen in the order of their calls"
	// The history of a run that has ended leads the workflow of this build to the same commands.
	ruleReplay = "9: histories replay"
	// The process ends only when it is told to, and when it has, no process of it is left.
	ruleLeft = "10: no process ends by itself, and none is left behind"
	// A start that is sent again under its idempotency key, because its answer was lost, makes no second run, and is answered with the first.
	ruleStart = "11: a start under one key makes one run"
)

// Violation is a broken invariant, with what is needed to repeat it.
type Violation struct {
	Seed   uint64          `json:"seed"`
	Round  int             `json:"round"`
	Rule   string          `json:"rule"`
	What   string          `json:"what"`
	Run    string          `json:"run,omitempty"`
	Op     *Op             `json:"op,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Faults []string        `json:"faults,omitempty"`
	Kept   string          `json:"kept,omitempty"` // where databases and logs lie
}

// seen is what was seen of one call: its result, and the world after it.
type seen struct {
	op      Op
	result  *tool.Result // nil without one
	skipped bool         // an earlier step of its script failed: it was never made
	effects int          // orders or lines of its id
	// changed tells in words how the run's folder differs from before the call; "" when it does not, or when nobody can tell, because a
	// later call was made.
	changed string
}

// judge returns which invariants the call broke, and how.
func judge(s seen) (broken [][2]string) {
	say := func(rule, format string, args ...any) {
		broken = append(broken, [2]string{rule, fmt.Sprintf(format, args...)})
	}
	r := s.result
	if s.effects > 1 {
		say(ruleOnce, "%d effects of %s", s.effects, s.op.ID)
	}
	switch {
	case s.skipped:
		if s.effects != 0 {
			say(ruleNone, "the step was skipped, and its effect is there")
		}
		return broken
	case r == nil:
		say(ruleEnds, "the call has neither a result nor an open question")
		return broken
	case r.Status == tool.StatusNeedsInput:
		return broken // it waits: what happened is what the question is about
	}
	if err := r.Validate(); err != nil {
		say(ruleTrue, "the result breaks the contract: %v", err)
	}
	if r.Error == nil {
		switch {
		case !r.OK() || r.Verification.Evidence.After == "":
			say(ruleTrue, "success without a verdict from evidence after the action")
		case s.op.Kind.Fails():
			say(ruleTrue, "success of a call that cannot succeed")
		case s.op.Kind != Open && s.effects != 1:
			say(ruleTrue, "success with %d effects", s.effects)
		}
	} else if s.effects != 0 && saysNothing(r, s.op.Kind.InFolder() || s.op.Kind == OrderFail || s.op.Kind == Order) && s.op.Kind != Write {
		say(ruleNone, "%s (%s), and its effect is there", r.Error.Code, r.Error.Message)
	}
	if r.Error != nil && rolledBack(r) && s.op.Kind.InFolder() && s.changed != "" {
		say(ruleBack, "rolled back, but %s", s.changed)
	}
	if len(r.Attempts) > 3 {
		say(ruleBlind, "%d attempts", len(r.Attempts))
	}
	repeatable := slices.Contains([]OpKind{Open, Write}, s.op.Kind)
	for i, a := range r.Attempts {
		if i < len(r.Attempts)-1 && !repeatable && a.Effect != tool.EffectNone && !a.RolledBack {
			say(ruleBlind, "attempt %d has the effect %q, was not rolled back, and was followed by another", i+1, a.Effect)
		}
	}
	return broken
}

// startedOnce returns in words what is wrong with the runs that starts under one key have led to, "" for nothing. answered is the run that the
// client was told of, "" when no answer reached it; a list of runs lags behind, and may lack it.
func startedOnce(answered string, runs []string) string {
	switch {
	case len(runs) > 1:
		return fmt.Sprintf("there are %d runs: %v", len(runs), runs)
	case len(runs) == 1 && answered != "" && runs[0] != answered:
		return fmt.Sprintf("the client was told of the run %s, and there is %s", answered, runs[0])
	}
	return ""
}

// saysNothing reports whether a failure claims that the world is as before the call: every attempt was without effect, or was taken back.
// covered tells that what is taken back covers the effect: what a command did outside of the workspace is beyond it, as its design says.
func saysNothing(r *tool.Result, covered bool) bool {
	if r.Error.Code == tool.OutcomeUnknown || r.RetryHint != nil && r.RetryHint.Reason() == tool.ReasonOutcomeUnknown {
		return false
	}
	for _, a := range r.Attempts {
		if a.Effect != tool.EffectNone && !(a.RolledBack && covered) {
			return false
		}
	}
	return true
}

// rolledBack reports whether the last attempt was taken back.
func rolledBack(r *tool.Result) bool {
	return len(r.Attempts) > 0 && r.Attempts[len(r.Attempts)-1].RolledBack
}

// event is one event of a run as the stream tells it.
type event struct {
	ID   int64
	Kind string
	Data json.RawMessage
}

// agree returns in words where the events of a run, its state and the caller's results contradict each other. watched is what a client saw
// that stayed connected as well as it could; ended tells that the run is over, so that all of its events are there.
func agree(all, watched []event, state *runState, results map[string]*tool.Result, ended bool) (broken []string) {
	say := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	for i, e := range all {
		if e.ID != int64(i+1) {
			say("event %d stands in place %d", e.ID, i+1)
			break
		}
	}
	for i, e := range watched {
		if i >= len(all) || e.ID != all[i].ID || e.Kind != all[i].Kind || string(e.Data) != string(all[i].Data) {
			say("who watched saw event %d (%s) in place %d, and it is another one now", e.ID, e.Kind, i+1)
			break
		}
	}
	if ended && len(watched) > 0 && len(watched) < len(all) {
		say("who watched saw %d of %d events", len(watched), len(all))
	}
	told := map[string]*tool.Result{}
	for _, e := range all {
		if e.Kind != "tool_result" {
			continue
		}
		var r tool.Result
		switch err := json.Unmarshal(e.Data, &r); {
		case err != nil:
			say("event %d holds no result: %v", e.ID, err)
		case told[r.CallID] != nil && told[r.CallID].Status == "":
			say("the call %s has two results", r.CallID)
		default:
			told[r.CallID] = &r
		}
	}
	same := func(a, b *tool.Result) bool { return canonical(a) == canonical(b) }
	for id, r := range results {
		switch {
		case r.Status != "":
		case told[id] == nil:
			say("no event tells the result of the call %s", id)
		case !same(r, told[id]):
			say("the caller and the event differ: %s", apart(canonical(r), canonical(told[id])))
		}
	}
	if state == nil {
		return broken
	}
	for _, st := range state.Steps {
		if st.Result == nil || st.Result.Status != "" {
			continue
		}
		if t := told[st.CallID]; t == nil {
			say("no event tells the result of the step %s", st.CallID)
		} else if !same(st.Result, t) {
			say("the state and the event differ: %s", apart(canonical(st.Result), canonical(t)))
		}
	}
	if ended && (len(all) == 0 || all[len(all)-1].Kind != "run") {
		say("the run has ended, and its last event does not say so")
	}
	return broken
}

// canonical is a result without its link, which depends on where Temporal's UI listens just now.
func canonical(r *tool.Result) string {
	c := *r
	c.RunLink = nil
	text, err := json.Marshal(&c)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// apart shows where two texts part.
func apart(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	from := max(0, n-80)
	return fmt.Sprintf("…%s and …%s", clip(a[from:], 200), clip(b[from:], 200))
}
