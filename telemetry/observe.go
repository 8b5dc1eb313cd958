package telemetry

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"time"

	"toolsvc/planner"
	"toolsvc/repair"
	"toolsvc/store"
	"toolsvc/tool"
)

var (
	tiers    = []string{repair.TierSyntax, repair.TierLossless, repair.TierModel, repair.TierPerson}
	sources  = []tool.Source{tool.SourceAX, tool.SourceCDP, tool.SourceVision, tool.SourceHotkey, tool.SourceSystem}
	effects  = []tool.Effect{tool.EffectNone, tool.EffectConfirmed, tool.EffectUnknown}
	verdicts = []tool.Verdict{tool.VerdictSuccess, tool.VerdictFailure, tool.VerdictUncertain}
	kinds    = []string{store.KindNarration, store.KindToolResult, store.KindRun, store.KindQuestion, store.KindApproval}
	asked    = []tool.QuestionKind{tool.AskArguments, tool.AskApproval, tool.AskOutcome, tool.AskFreely}
	outcomes = []planner.Outcome{planner.OutcomeSucceeded, planner.OutcomeFailed, planner.OutcomeCancelled, planner.OutcomeIdle}
	ways     = []string{"answered", "expired", "cancelled"}
)

// label is v where it is one of the values that are known: what is stored by another version must not make series without bound.
func label[T ~string](v T, known []T) string {
	switch {
	case v == "":
		return none
	case slices.Contains(known, v):
		return string(v)
	}
	return other
}

func failureLabel(f tool.Failure) string { return label(f, tool.Failures) }

// ended is what is read of a ToolResult. It holds no text that was made from arguments.
type ended struct {
	CallID string  `json:"call_id"`
	RunID  string  `json:"run_id"`
	Tool   tool.ID `json:"tool"`
	Error  *struct {
		Code tool.Failure `json:"code"`
	} `json:"error"`
	Verification *struct {
		Verdict tool.Verdict `json:"verdict"`
	} `json:"verification"`
	Attempts []struct {
		Number     int          `json:"number"`
		Source     tool.Source  `json:"source"`
		Effect     tool.Effect  `json:"effect"`
		Failure    tool.Failure `json:"failure"`
		RolledBack bool         `json:"rolled_back"`
		DurationMS int64        `json:"duration_ms"`
	} `json:"attempts"`
	Repairs []struct {
		Tier string `json:"tier"`
	} `json:"repairs"`
	Telemetry struct {
		DurationMS int64 `json:"duration_ms"`
		QueuedMS   int64 `json:"queued_ms"`
		WaitedMS   int64 `json:"waited_ms"`
	} `json:"telemetry"`
}

func (e *ended) failure() tool.Failure {
	if e.Error == nil {
		return ""
	}
	return e.Error.Code
}

func (e *ended) verdict() tool.Verdict {
	if e.Verification == nil {
		return ""
	}
	return e.Verification.Verdict
}

// Observe counts the events that the store has just kept, each once, and writes a line into the log for each call that has ended. It is what
// store.Options.Appended is for.
func (t *Telemetry) Observe(ctx context.Context, events []store.Event) {
	if t == nil {
		return
	}
	for _, e := range events {
		t.events.WithLabelValues(label(e.Kind, kinds)).Inc()
		switch e.Kind {
		case store.KindToolResult:
			var r ended
			if !t.read(ctx, e, &r) {
				continue
			}
			t.count(&r)
			t.tell(ctx, &r)
		case store.KindRun:
			var c planner.RunChange
			switch {
			case !t.read(ctx, e, &c):
			case c.Outcome == planner.OutcomeRunning:
				t.runsStarted.WithLabelValues().Inc()
			default:
				t.runsEnded.WithLabelValues(label(c.Outcome, outcomes)).Inc()
				t.log.LogAttrs(ctx, slog.LevelInfo, "run ended", slog.String("run_id", e.RunID), slog.String("outcome", label(c.Outcome, outcomes)),
					slog.Int("steps", c.Steps), slog.Int("verified", c.Verified))
			}
		case store.KindQuestion, store.KindApproval:
			t.question(ctx, e)
		case store.KindNarration:
			if strings.HasSuffix(e.Key, "/wait") {
				t.backoffs.WithLabelValues().Inc()
			}
		}
	}
}

// read decodes the data of an event; what cannot be decoded is logged, for then the metrics lack it.
func (t *Telemetry) read(ctx context.Context, e store.Event, into any) bool {
	if err := json.Unmarshal(e.Data, into); err != nil {
		t.log.LogAttrs(ctx, slog.LevelError, "an event is not counted, because it cannot be read", slog.String("run_id", e.RunID), slog.Int64("event", e.ID), slog.String("kind", e.Kind))
		return false
	}
	return true
}

// count counts a call that has ended.
func (t *Telemetry) count(r *ended) {
	name, set, verdict := t.toolLabel(r.Tool), t.toolsetLabel(r.Tool), label(r.verdict(), verdicts)
	t.calls.WithLabelValues(name, verdict, failureLabel(r.failure())).Inc()
	t.callSeconds.WithLabelValues(set, verdict).Observe(seconds(r.Telemetry.DurationMS))
	t.queueSeconds.WithLabelValues().Observe(seconds(r.Telemetry.QueuedMS))
	if r.Telemetry.WaitedMS > 0 {
		t.backoffSeconds.WithLabelValues().Observe(seconds(r.Telemetry.WaitedMS))
	}
	if r.verdict() == tool.VerdictSuccess && r.Error == nil && len(r.Attempts) > 1 {
		t.healed.WithLabelValues(set).Inc()
	}
	for _, a := range r.Attempts {
		source := label(a.Source, sources)
		t.attempts.WithLabelValues(set, source, failureLabel(a.Failure), label(a.Effect, effects)).Inc()
		t.attemptSeconds.WithLabelValues(set, source).Observe(seconds(a.DurationMS))
		switch {
		case a.RolledBack:
			t.rollbacks.WithLabelValues(set, "performed").Inc()
		case a.Failure == tool.RollbackRefused:
			t.rollbacks.WithLabelValues(set, "refused").Inc()
		}
	}
	for _, c := range r.Repairs {
		t.repairs.WithLabelValues(label(c.Tier, tiers)).Inc()
	}
}

// tell writes the line of a call that has ended, and, for those who want to see more, one for each of its attempts.
func (t *Telemetry) tell(ctx context.Context, r *ended) {
	id := []slog.Attr{slog.String("run_id", r.RunID), slog.String("call_id", r.CallID), slog.String("tool", string(r.Tool))}
	for _, a := range r.Attempts {
		t.log.LogAttrs(ctx, slog.LevelDebug, "attempt ended", append(slices.Clone(id), slog.Int("attempt", a.Number), slog.String("source", label(a.Source, sources)),
			slog.String("failure", failureLabel(a.Failure)), slog.String("effect", label(a.Effect, effects)), slog.Bool("rolled_back", a.RolledBack), slog.Int64("duration_ms", a.DurationMS))...)
	}
	source := none
	if n := len(r.Attempts); n > 0 {
		source = label(r.Attempts[n-1].Source, sources)
	}
	t.log.LogAttrs(ctx, slog.LevelInfo, "call ended", append(id, slog.String("verdict", label(r.verdict(), verdicts)), slog.String("failure", failureLabel(r.failure())),
		slog.Int("attempt", len(r.Attempts)), slog.String("source", source), slog.Int("repairs", len(r.Repairs)), slog.Int64("duration_ms", r.Telemetry.DurationMS),
		slog.Int64("queued_ms", r.Telemetry.QueuedMS), slog.Int64("waited_ms", r.Telemetry.WaitedMS))...)
}

// question counts a question that was asked, or is not open any more.
func (t *Telemetry) question(ctx context.Context, e store.Event) {
	var q struct {
		Kind     tool.QuestionKind `json:"kind"`
		Question *struct {
			ID      string            `json:"id"`
			Kind    tool.QuestionKind `json:"kind"`
			AskedAt time.Time         `json:"asked_at"`
		} `json:"question"`
		How string `json:"how"`
	}
	if !t.read(ctx, e, &q) {
		return
	}
	if q.Question == nil {
		t.questions.WithLabelValues(label(q.Kind, asked)).Inc()
		return
	}
	took := max(0, e.At.Sub(q.Question.AskedAt)) // two machines have two clocks
	t.questionSeconds.WithLabelValues(label(q.Question.Kind, asked), label(q.How, ways)).Observe(took.Seconds())
	t.log.LogAttrs(ctx, slog.LevelInfo, "question closed", slog.String("run_id", e.RunID), slog.String("question_id", q.Question.ID),
		slog.String("kind", label(q.Question.Kind, asked)), slog.String("how", label(q.How, ways)), slog.Int64("open_ms", took.Milliseconds()))
}

func seconds(ms int64) float64 { return (time.Duration(ms) * time.Millisecond).Seconds() }
