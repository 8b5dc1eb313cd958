package planner

import (
	"testing"

	"toolsvc/tool"
)

// TestDecide lists every case of the healing decision.
func TestDecide(t *testing.T) {
	t.Parallel()
	all := []tool.Source{tool.SourceAX, tool.SourceCDP, tool.SourceVision}
	// at is an attempt that failed before its dispatch; sent is one that dispatched.
	at := func(src tool.Source, f tool.Failure) tool.AttemptRecord {
		return tool.AttemptRecord{Source: src, Input: tool.InputMouse, Phase: tool.PhaseStarted, Effect: tool.EffectNone, Failure: f}
	}
	sent := func(src tool.Source, f tool.Failure, e tool.Effect) tool.AttemptRecord {
		return tool.AttemptRecord{Source: src, Input: tool.InputMouse, Phase: tool.PhaseSettled, Effect: e, Failure: f}
	}
	rolledBack := func(a tool.AttemptRecord) tool.AttemptRecord { a.RolledBack = true; return a }
	type attempts = []tool.AttemptRecord

	for _, c := range []struct {
		name     string
		class    tool.EffectClass
		sources  []tool.Source
		attempts attempts
		verdict  tool.Verdict
		lost     int
		off      bool
		older    bool
		want     Action
		source   tool.Source
		input    tool.Input
		number   int
		failure  tool.Failure
	}{
		{name: "verified", attempts: attempts{sent("ax", "", "confirmed")}, verdict: "success", want: ActionDone},
		{name: "verified in the last attempt", attempts: attempts{at("ax", "target_not_found"), at("cdp", "target_not_found"), sent("vision", "", "confirmed")},
			verdict: "success", want: ActionDone},
		{name: "verified, healing off", attempts: attempts{sent("ax", "", "confirmed")}, verdict: "success", off: true, want: ActionDone},

		{name: "not found: next source", attempts: attempts{at("ax", "target_not_found")}, want: ActionRetry, source: "cdp", input: "mouse", number: 2},
		{name: "not found twice: vision", attempts: attempts{at("ax", "target_not_found"), at("cdp", "target_not_found")},
			want: ActionRetry, source: "vision", input: "mouse", number: 3},
		{name: "not found anywhere", attempts: attempts{at("ax", "target_not_found"), at("cdp", "target_not_found"), at("vision", "target_not_found")},
			want: ActionStop, failure: "target_not_found"},
		{name: "a source that does not apply is skipped", sources: []tool.Source{"ax", "vision"}, attempts: attempts{at("ax", "target_not_found")},
			want: ActionRetry, source: "vision", input: "mouse", number: 2},
		{name: "no other source", sources: []tool.Source{"cdp"}, attempts: attempts{at("cdp", "target_not_found")}, want: ActionStop, failure: "target_not_found"},
		{name: "healing off", attempts: attempts{at("ax", "target_not_found")}, off: true, want: ActionStop, failure: "target_not_found"},
		{name: "stale to the end", attempts: attempts{at("ax", "stale")}, want: ActionRetry, source: "cdp", input: "mouse", number: 2},
		{name: "one source is unavailable", attempts: attempts{at("ax", "target_not_found"), at("cdp", "tool_unavailable")},
			want: ActionRetry, source: "vision", input: "mouse", number: 3},
		{name: "timed out before the dispatch", attempts: attempts{at("ax", "timeout")}, want: ActionRetry, source: "cdp", input: "mouse", number: 2},
		{name: "the tab died before the dispatch", attempts: attempts{at("ax", "frame_gone")}, want: ActionRetry, source: "ax", input: "mouse", number: 2},
		{name: "the tab died before the dispatch, of a run that began earlier", older: true, attempts: attempts{at("ax", "frame_gone")},
			want: ActionRetry, source: "cdp", input: "mouse", number: 2},
		{name: "the tab died again", attempts: attempts{at("ax", "frame_gone"), at("ax", "browser_crashed")}, want: ActionRetry, source: "cdp", input: "mouse", number: 3},
		{name: "the browser died, one source", sources: []tool.Source{"system"}, attempts: attempts{at("system", "browser_crashed")},
			want: ActionRetry, source: "system", input: "mouse", number: 2},
		{name: "the browser died again, one source", sources: []tool.Source{"system"}, attempts: attempts{at("system", "browser_crashed"), at("system", "browser_crashed")},
			want: ActionStop, failure: "browser_crashed"},
		{name: "the browser died after the dispatch", attempts: attempts{sent("ax", "browser_crashed", "unknown")}, want: ActionStop, failure: "browser_crashed"},
		{name: "the browser died after the dispatch, idempotent", class: tool.Idempotent, sources: []tool.Source{"system"},
			attempts: attempts{sent("system", "browser_crashed", "unknown")}, want: ActionRetry, source: "system", input: "mouse", number: 2},

		{name: "ambiguous", attempts: attempts{at("ax", "ambiguous_target")}, want: ActionStop, failure: "ambiguous_target"},
		{name: "covered", attempts: attempts{at("ax", "covered")}, want: ActionStop, failure: "covered"},
		{name: "disabled", attempts: attempts{at("ax", "disabled")}, want: ActionStop, failure: "disabled"},
		{name: "moving", attempts: attempts{at("ax", "moving")}, want: ActionStop, failure: "moving"},
		{name: "not ready", attempts: attempts{at("ax", "not_ready")}, want: ActionStop, failure: "not_ready"},
		{name: "precondition", attempts: attempts{at("ax", "precondition_failed")}, want: ActionStop, failure: "precondition_failed"},
		{name: "internal", attempts: attempts{at("ax", "internal")}, want: ActionStop, failure: "internal"},
		{name: "cancelled", attempts: attempts{at("ax", "cancelled")}, want: ActionStop, failure: "cancelled"},
		{name: "ambiguous after not found", attempts: attempts{at("ax", "target_not_found"), at("cdp", "ambiguous_target")}, want: ActionStop, failure: "ambiguous_target"},

		{name: "proven no effect: another source, by keyboard", attempts: attempts{sent("ax", "no_effect", "none")}, verdict: "failure",
			want: ActionRetry, source: "cdp", input: "keyboard", number: 2},
		{name: "proven no effect of the keyboard: mouse again", verdict: "failure",
			attempts: attempts{sent("ax", "no_effect", "none"), {Source: "cdp", Input: "keyboard", Phase: "settled", Effect: "none", Failure: "no_effect"}},
			want:     ActionRetry, source: "vision", input: "mouse", number: 3},
		{name: "never any effect", verdict: "failure",
			attempts: attempts{sent("ax", "no_effect", "none"), sent("cdp", "no_effect", "none"), sent("vision", "no_effect", "none")},
			want:     ActionStop, failure: "no_effect"},
		{name: "no effect, then not found: the effect decides", verdict: "failure",
			attempts: attempts{sent("ax", "no_effect", "none"), at("cdp", "target_not_found"), at("vision", "target_not_found")},
			want:     ActionStop, failure: "no_effect"},

		{name: "wrong state, rolled back", attempts: attempts{rolledBack(sent("ax", "verification_failed", "confirmed"))}, verdict: "failure",
			want: ActionRetry, source: "cdp", input: "mouse", number: 2},
		{name: "wrong state, not rolled back", attempts: attempts{sent("ax", "verification_failed", "confirmed")}, verdict: "failure",
			want: ActionStop, failure: "verification_failed"},
		{name: "wrong state, idempotent", class: tool.Idempotent, attempts: attempts{sent("ax", "verification_failed", "confirmed")}, verdict: "failure",
			want: ActionRetry, source: "cdp", input: "mouse", number: 2},
		{name: "wrong target, rolled back", attempts: attempts{rolledBack(sent("ax", "wrong_target", "confirmed"))}, verdict: "failure",
			want: ActionRetry, source: "cdp", input: "mouse", number: 2},
		{name: "irreversible, effect stands", class: tool.Irreversible, attempts: attempts{sent("ax", "verification_failed", "confirmed")}, verdict: "failure",
			want: ActionStop, failure: "verification_failed"},
		{name: "irreversible, proven none", class: tool.Irreversible, attempts: attempts{sent("ax", "no_effect", "none")}, verdict: "failure",
			want: ActionStop, failure: "no_effect"},
		{name: "irreversible, rolled back", class: tool.Irreversible, attempts: attempts{rolledBack(sent("ax", "verification_failed", "confirmed"))},
			verdict: "failure", want: ActionStop, failure: "verification_failed"},
		{name: "irreversible, never dispatched", class: tool.Irreversible, attempts: attempts{at("ax", "target_not_found")},
			want: ActionRetry, source: "cdp", input: "mouse", number: 2},
		{name: "rollback refused", attempts: attempts{sent("ax", "rollback_refused", "confirmed")}, verdict: "failure", want: ActionStop, failure: "rollback_refused"},

		{name: "uncertain is never repeated", attempts: attempts{sent("ax", "verification_uncertain", "unknown")}, verdict: "uncertain",
			want: ActionStop, failure: "verification_uncertain"},
		{name: "uncertain although something changed", attempts: attempts{sent("ax", "verification_uncertain", "confirmed")}, verdict: "uncertain",
			want: ActionStop, failure: "verification_uncertain"},
		{name: "uncertain, read only", class: tool.ReadOnly, attempts: attempts{sent("ax", "verification_uncertain", "unknown")}, verdict: "uncertain",
			want: ActionRetry, source: "cdp", input: "mouse", number: 2},
		{name: "timed out after the dispatch", attempts: attempts{{Source: "ax", Phase: "dispatched", Effect: "unknown", Failure: "timeout"}},
			want: ActionStop, failure: "timeout"},
		{name: "timed out after the dispatch, idempotent", class: tool.Idempotent,
			attempts: attempts{{Source: "ax", Phase: "dispatched", Effect: "unknown", Failure: "timeout"}}, want: ActionRetry, source: "cdp", input: "mouse", number: 2},

		{name: "worker lost before the dispatch: the same again", lost: 1, attempts: attempts{at("ax", "worker_lost")},
			want: ActionRetry, source: "ax", input: "mouse", number: 1},
		{name: "worker lost before the dispatch, healing off", lost: 1, off: true, attempts: attempts{at("ax", "worker_lost")},
			want: ActionRetry, source: "ax", input: "mouse", number: 1},
		{name: "worker lost in a later attempt", lost: 1, attempts: attempts{at("ax", "target_not_found"), at("cdp", "worker_lost")},
			want: ActionRetry, source: "cdp", input: "mouse", number: 2},
		{name: "worker lost too often", lost: maxLost + 1, attempts: attempts{at("ax", "worker_lost")}, want: ActionStop, failure: "worker_lost"},
		{name: "worker lost after the dispatch, effect unknown", lost: 1, attempts: attempts{{Source: "ax", Phase: "dispatched", Effect: "unknown", Failure: "outcome_unknown"}},
			verdict: "uncertain", want: ActionStop, failure: "outcome_unknown"},
		{name: "worker lost after the dispatch, repeatable", class: tool.Idempotent, sources: []tool.Source{"system"}, lost: 1,
			attempts: attempts{{Source: "system", Input: "mouse", Phase: "dispatched", Effect: "unknown", Failure: "worker_lost"}},
			want:     ActionRetry, source: "system", input: "mouse", number: 1},
		{name: "worker lost after the dispatch, proven none", lost: 1, attempts: attempts{sent("ax", "no_effect", "none")}, verdict: "failure",
			want: ActionRetry, source: "cdp", input: "keyboard", number: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.class == "" {
				c.class = tool.Reversible
			}
			if c.sources == nil {
				c.sources = all
			}
			got := Decide(Situation{Class: c.class, Sources: c.sources, Attempts: c.attempts, Verdict: c.verdict, Lost: c.lost, Healing: !c.off, Rebuilt: !c.older})
			if got.Action != c.want || got.Failure != c.failure || got.Next.Source != c.source || got.Next.Input != c.input || got.Next.Number != c.number {
				t.Errorf("got %+v, want %s %s %s %d %s", got, c.want, c.source, c.input, c.number, c.failure)
			}
		})
	}
}

// TestDecideNeverRepeatsABlindEffect walks through every combination that an attempt can end in: a tool that may not be repeated is
// never dispatched again while an earlier effect stands or is unknown.
func TestDecideNeverRepeatsABlindEffect(t *testing.T) {
	t.Parallel()
	for _, class := range tool.EffectClasses {
		for _, f := range append(tool.Failures, "") {
			for _, phase := range []tool.Phase{tool.PhaseStarted, tool.PhaseResolved, tool.PhaseDispatched, tool.PhaseSettled} {
				for _, effect := range []tool.Effect{tool.EffectNone, tool.EffectConfirmed, tool.EffectUnknown} {
					for _, back := range []bool{false, true} {
						for _, v := range []tool.Verdict{"", tool.VerdictFailure, tool.VerdictUncertain, tool.VerdictSuccess} {
							a := tool.AttemptRecord{Number: 1, Source: tool.SourceAX, Phase: phase, Effect: effect, Failure: f, RolledBack: back}
							d := Decide(Situation{Class: class, Sources: []tool.Source{"ax", "cdp"}, Attempts: []tool.AttemptRecord{a}, Verdict: v, Lost: 1, Healing: true, Rebuilt: true})
							blind := phase.Dispatched() && effect != tool.EffectNone && !back && !class.Repeatable() ||
								class == tool.Irreversible && phase.Dispatched()
							if d.Action == ActionRetry && blind {
								t.Errorf("%s: %+v verdict %q is repeated blindly", class, a, v)
							}
							if (d.Action == ActionDone) != (v == tool.VerdictSuccess) {
								t.Errorf("%+v verdict %q ends as %s", a, v, d.Action)
							}
						}
					}
				}
			}
		}
	}
}
