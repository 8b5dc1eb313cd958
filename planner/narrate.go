package planner

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"toolsvc/narration"
	"toolsvc/store"
	"toolsvc/tool"
)

// Events keeps the events of runs.
type Events interface {
	// AppendEvents numbers and keeps the events; one whose key the run has already is kept once.
	AppendEvents(ctx context.Context, runID string, events []store.Event) ([]store.Event, error)
}

// RunChange is the data of a "run" event: the run's state has changed.
type RunChange struct {
	RunID    string  `json:"run_id"`
	Title    string  `json:"title,omitempty"`
	Outcome  Outcome `json:"outcome"`
	Verified int     `json:"verified"`
	Steps    int     `json:"steps"`
}

// told is an event of narration under its key.
type told struct {
	key   string
	event narration.Event
}

func (a *Activities) append(ctx context.Context, runID string, events []store.Event) error {
	if len(events) == 0 {
		return nil
	}
	if _, err := a.Events.AppendEvents(ctx, runID, events); err != nil {
		return fmt.Errorf("write events of run %s: %w", runID, err)
	}
	return nil
}

// narrate tells what an attempt is doing just now. Narration that cannot be written does not stop the attempt: the result, which does
// matter, is written by Publish, which Temporal repeats.
func (a *Activities) narrate(ctx context.Context, runID string, ts ...told) {
	events, err := stored(ts)
	if err == nil {
		err = a.append(ctx, runID, events)
	}
	if err != nil {
		activity.GetLogger(ctx).Warn("narration is lost", "run", runID, "error", err)
	}
}

func stored(ts []told) ([]store.Event, error) {
	events := make([]store.Event, len(ts))
	for i, t := range ts {
		text, err := json.Marshal(t.event)
		if err != nil {
			return nil, fmt.Errorf("encode the narration %s: %w", t.key, err)
		}
		events[i] = store.Event{Kind: store.KindNarration, Key: t.key, Data: text, At: t.event.At}
	}
	return events, nil
}

func attemptMoment(in AttemptInput) narration.Moment {
	return narration.Moment{Lang: in.Language, RunID: in.RunID, Step: in.Number, Steps: in.Steps, Attempt: in.Plan.Number, Source: sourceTold(in.Step, in.Plan.Source), At: time.Now()}
}

// sourceTold is the source that is named for a step; a stage has none.
func sourceTold(s Step, src tool.Source) tool.Source {
	if s.Stage != nil {
		return ""
	}
	return src
}

// key names a moment of an attempt, so that it is told once however often an activity is made.
func key(callID string, attempt int, moment string) string {
	return fmt.Sprintf("%s/%d/%s", callID, attempt, moment)
}

func attemptBegan(in AttemptInput) []told {
	m := attemptMoment(in)
	began := told{key(in.Step.CallID, in.Plan.Number, "execute"), m.Executing(in.Step.Title)}
	if in.Plan.Source == tool.SourceSystem || in.Plan.Source == tool.SourceHotkey { // nothing on the screen is looked for
		return []told{began}
	}
	look := m
	look.Source = ""
	return []told{{key(in.Step.CallID, in.Plan.Number, "observe"), look.Observing()}, began}
}

func attemptVerifies(in AttemptInput) told {
	return told{key(in.Step.CallID, in.Plan.Number, "verify"), attemptMoment(in).Verifying()}
}

// published makes the narration of a publication; the result of a step that has ended comes beside it.
func published(p Publication, res *tool.Result) ([]store.Event, error) {
	m := narration.Moment{Lang: p.Input.Language, RunID: p.Input.RunID, Steps: p.Steps, At: time.Now()}
	var ts []told
	var change *RunChange
	switch {
	case p.Began:
		ts = append(ts, told{"run/accepted", m.Accepted(p.Input.Title)})
		if p.Input.Kind == KindScript || p.Input.Kind == KindPipeline {
			ts = append(ts, told{"run/planned", m.Planned()})
		}
		change = &RunChange{Outcome: OutcomeRunning}
	case p.Retry != nil:
		ts = retried(m, p)
	case p.Waits != nil:
		c := p.Waits
		last := c.Reports[len(c.Reports)-1]
		m.Step, m.Attempt, m.Source = p.Number, last.Record.Number, last.Record.Source
		ts = append(ts, told{key(c.Step.CallID, last.Record.Number+10*MaxAttempts*c.Waits, "wait"), m.Waiting(c.Decision.Wait, last.trouble())})
	case p.Answer != "":
		ts = append(ts, told{"run/answer", m.Answered(p.Answer)})
	case p.Control > 0:
		said := m.Resumed()
		if p.Paused {
			said = m.Paused()
		}
		ts = append(ts, told{fmt.Sprintf("run/control/%d", p.Control), said})
	case p.Ended != nil:
		ts = ended(m, p, res)
	default:
		switch p.Finished {
		case OutcomeSucceeded:
			ts = append(ts, told{"run/finished", m.Completed(p.Verified)})
		case OutcomeCancelled:
			ts = append(ts, told{"run/finished", m.Cancelled(p.Verified)})
		case OutcomeFailed:
			ts = append(ts, told{"run/finished", m.Stopped(p.Verified)})
		}
		change = &RunChange{Outcome: p.Finished}
	}
	events, err := stored(ts)
	if err != nil {
		return nil, err
	}
	if change != nil {
		change.RunID, change.Title, change.Verified, change.Steps = p.Input.RunID, p.Input.Title, p.Verified, p.Steps
		text, err := json.Marshal(change)
		if err != nil {
			return nil, err
		}
		events = append(events, store.Event{Kind: store.KindRun, Key: "run/" + string(change.Outcome), Data: text, At: m.At})
	}
	return events, nil
}

func retried(m narration.Moment, p Publication) []told {
	c := p.Retry
	last, next := c.Reports[len(c.Reports)-1], c.Decision.Next
	m.Step, m.Attempt, m.Source = p.Number, next.Number, sourceTold(c.Step, next.Source)
	ts := rollbackTold(m, c.Step, last)
	if c.Step.Stage != nil {
		return append(ts, told{key(c.Step.CallID, next.Number, "retry"), m.RetryingStage(last.trouble())})
	}
	return append(ts, told{key(c.Step.CallID, next.Number, "retry"), m.Retrying(last.Record.Source, last.trouble())})
}

func rollbackTold(m narration.Moment, s Step, rep Report) []told {
	if rep.Rollback == nil {
		return nil
	}
	m.Attempt, m.Source = rep.Record.Number, sourceTold(s, rep.Record.Source)
	if rep.Rollback.Performed {
		return []told{{key(s.CallID, rep.Record.Number, "rollback"), m.RolledBack()}}
	}
	return []told{{key(s.CallID, rep.Record.Number, "rollback"), m.NotRolledBack()}}
}

func ended(m narration.Moment, p Publication, res *tool.Result) []told {
	c := p.Ended
	if len(c.Reports) == 0 {
		m.Step = p.Number
		why := narration.Trouble{Failure: c.Decision.Failure}
		if d := c.Step.Draft; d != nil && len(d.Issues) > 0 {
			why.What = d.Issues[0].Path
		}
		return []told{{key(c.Step.CallID, 0, "end"), m.Failed(c.Step.Title, why)}}
	}
	last := c.Reports[len(c.Reports)-1]
	m.Step, m.Attempt, m.Source = p.Number, last.Record.Number, sourceTold(c.Step, last.Record.Source)
	ts := rollbackTold(m, c.Step, last)
	if asExpected(c.Step, res) {
		return append(ts, told{key(c.Step.CallID, 0, "end"), m.Verified(c.Step.Title, c.Took)})
	}
	var tried []tool.Source
	for _, r := range c.Reports {
		if c.Step.Stage == nil {
			tried = append(tried, r.Record.Source)
		}
	}
	why := telling(c.Reports, c.Decision.Failure).trouble()
	why.Failure = c.Decision.Failure
	if res.OK() { // it succeeded where it should have failed
		why = narration.Trouble{Failure: tool.VerificationFailed, What: string(c.Step.ExpectFailure)}
	}
	return append(ts, told{key(c.Step.CallID, 0, "end"), m.Failed(c.Step.Title, why, tried...)})
}

// trouble is why the attempt failed, for people.
func (rep Report) trouble() narration.Trouble {
	t := narration.Trouble{Failure: rep.Record.Failure, What: rep.What}
	if v := rep.Verification; t.What == "" && v != nil {
		if failed := v.Failed(); len(failed) > 0 {
			t.What = failed[0]
		}
	}
	return t
}

// Rows are the lines of the table that ends a run.
func (s *State) Rows() []narration.Row {
	rows := make([]narration.Row, len(s.Steps))
	for i, st := range s.Steps {
		rows[i] = narration.RowOf(i+1, st.Title, st.Result)
		if k := st.kept(); st.Result == nil && k != nil {
			rows[i].Attempts, rows[i].Failure, rows[i].Verdict = k.Attempts, k.Failure, tool.VerdictSuccess
			switch {
			case k.Reason == tool.ReasonOutcomeUnknown, k.Failure == tool.VerificationUncertain:
				rows[i].Verdict = tool.VerdictUncertain
			case k.Failure != "":
				rows[i].Verdict = tool.VerdictFailure
			}
		}
		if st.Status == StatusVerified && st.Expects != "" { // it failed as it should
			rows[i].Verdict = tool.VerdictSuccess
		}
	}
	return rows
}

// LastWordsKey is the key of the event with which a call's narration ends.
func LastWordsKey(callID string) string { return key(callID, 0, "end") }
