package planner

import (
	"testing"
	"time"

	"toolsvc/tool"
)

// Waits, questions, and what a person's word allows.
func TestDecideWaitsAndAsks(t *testing.T) {
	t.Parallel()
	at := func(phase tool.Phase, f tool.Failure, e tool.Effect) tool.AttemptRecord {
		return tool.AttemptRecord{Number: 1, Source: tool.SourceSystem, Phase: phase, Effect: e, Failure: f}
	}
	before, sent := tool.PhaseStarted, tool.PhaseDispatched
	for _, c := range []struct {
		name    string
		class   tool.EffectClass
		attempt tool.AttemptRecord
		after   time.Duration
		waits   int
		left    time.Duration
		asked   int
		silent  bool // nobody may be asked
		off     bool
		vouched bool
		want    Action
		wait    time.Duration // exactly; 0: about a second
		ask     tool.QuestionKind
	}{
		{name: "rate limited, as told", attempt: at(before, tool.RateLimited, "none"), after: 7 * time.Second, want: ActionWait, wait: 7 * time.Second},
		{name: "rate limited, nothing told", attempt: at(before, tool.RateLimited, "none"), want: ActionWait},
		{name: "rate limited for longer than the budget", attempt: at(before, tool.RateLimited, "none"), after: time.Hour, want: ActionStop},
		{name: "rate limited once more", attempt: at(before, tool.RateLimited, "none"), waits: maxWaits, want: ActionStop},
		{name: "rate limited, healing off", attempt: at(before, tool.RateLimited, "none"), off: true, want: ActionStop},
		{name: "unavailable for a while", attempt: at(before, tool.ToolUnavailable, "none"), after: time.Second, want: ActionWait, wait: time.Second},
		{name: "unavailable for good", attempt: at(before, tool.ToolUnavailable, "none"), want: ActionStop},
		{name: "rate limited after a dispatch that may have worked", attempt: at(sent, tool.RateLimited, "unknown"), silent: true, want: ActionStop},
		{name: "the same, of an idempotent tool", class: tool.Idempotent, attempt: at(sent, tool.RateLimited, "unknown"), after: time.Second, want: ActionWait, wait: time.Second},
		{name: "rate limited after the dispatch, refused by the other side", attempt: at(sent, tool.RateLimited, "none"), after: time.Second, want: ActionWait, wait: time.Second},
		{name: "the same, irreversible", class: tool.Irreversible, attempt: at(sent, tool.RateLimited, "none"), after: time.Second, want: ActionStop},

		{name: "ambiguous: ask", attempt: at(before, tool.AmbiguousTarget, "none"), want: ActionAsk, ask: tool.AskArguments},
		{name: "ambiguous, nobody to ask", attempt: at(before, tool.AmbiguousTarget, "none"), silent: true, want: ActionStop},
		{name: "ambiguous, asked often enough", attempt: at(before, tool.AmbiguousTarget, "none"), asked: maxAsked, want: ActionStop},
		{name: "unknown: ask", attempt: at(sent, tool.OutcomeUnknown, "unknown"), want: ActionAsk, ask: tool.AskOutcome},
		{name: "uncertain: ask", attempt: at(sent, tool.VerificationUncertain, "unknown"), want: ActionAsk, ask: tool.AskOutcome},
		{name: "unknown, nobody to ask", attempt: at(sent, tool.OutcomeUnknown, "unknown"), silent: true, want: ActionStop},
		{name: "confirmed and wrong: there is nothing to ask", attempt: at(sent, tool.VerificationFailed, "confirmed"), want: ActionStop},
		{name: "unknown, irreversible, vouched for", class: tool.Irreversible, attempt: at(sent, tool.OutcomeUnknown, "none"), vouched: true, want: ActionRetry},
		{name: "none, irreversible, nobody vouches", class: tool.Irreversible, attempt: at(sent, tool.NoEffect, "none"), want: ActionStop},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.class == "" {
				c.class = tool.Reversible
			}
			if c.left == 0 {
				c.left = 10 * time.Minute
			}
			got := Decide(Situation{Class: c.class, Sources: []tool.Source{tool.SourceSystem}, Attempts: []tool.AttemptRecord{c.attempt}, Healing: !c.off,
				RetryAfter: c.after, Waits: c.waits, WaitLeft: c.left, Ask: !c.silent, Asked: c.asked, Vouched: c.vouched, Seed: "c_1"})
			if got.Action != c.want || got.Ask != c.ask {
				t.Fatalf("got %+v, want %s %s", got, c.want, c.ask)
			}
			if c.want == ActionWait && (c.wait > 0 && got.Wait != c.wait || got.Wait < 800*time.Millisecond) {
				t.Errorf("waits %s", got.Wait)
			}
		})
	}
}

func TestBackOffGrowsAndScatters(t *testing.T) {
	t.Parallel()
	wait := func(seed string, n int) time.Duration {
		d, _ := backOff(Situation{Seed: seed, Waits: n, WaitLeft: time.Hour})
		return d
	}
	for n := range maxWaits {
		base := min(time.Second<<n, time.Minute)
		if d := wait("c_1", n); d < base*4/5 || d > base*6/5 || d != wait("c_1", n) {
			t.Errorf("wait %d is %s", n, d)
		}
	}
	if wait("c_1", 3) == wait("c_2", 3) {
		t.Error("two calls come back together")
	}
}
