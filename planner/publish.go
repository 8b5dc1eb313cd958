package planner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"toolsvc/temporalclient"
	"toolsvc/tool"
)

// What a run shows of itself: events, the details and attributes that Temporal's UI shows, and its end.

// Publication is what the publish activity tells the world; exactly one of its fields is set beside Number.
type Publication struct {
	Input Input `json:"input"`
	// Number of the step, from 1, and Steps known so far.
	Number int `json:"number"`
	Steps  int `json:"steps"`
	// Began: the run was accepted and planned.
	Began bool `json:"began,omitempty"`
	// Retry: another attempt follows.
	Retry *Conclusion `json:"retry,omitempty"`
	// Waits: the same attempt is made again after a wait.
	Waits *Conclusion `json:"waits,omitempty"`
	// Ended: the step has ended.
	Ended *Conclusion `json:"ended,omitempty"`
	// Answer is the planner's final response.
	Answer string `json:"answer,omitempty"`
	// Control: the run was paused or resumed, for this many times.
	Control int  `json:"control,omitempty"`
	Paused  bool `json:"paused,omitempty"`
	// Finished: the run has ended.
	Finished Outcome `json:"finished,omitempty"`
	Verified int     `json:"verified,omitempty"`
}

// summary says in Temporal's UI what is published.
func (p Publication) summary() string {
	switch {
	case p.Began:
		return "tell that the run has begun"
	case p.Retry != nil:
		return fmt.Sprintf("step %d/%d: another attempt by %s", p.Number, p.Steps, p.Retry.Decision.Next.Source.Badge())
	case p.Waits != nil:
		return fmt.Sprintf("step %d/%d: wait, because of %s", p.Number, p.Steps, p.Waits.Decision.Failure)
	case p.Answer != "":
		return "tell the planner's final answer"
	case p.Control > 0 && p.Paused:
		return "tell that the run is paused"
	case p.Control > 0:
		return "tell that the run goes on"
	case p.Ended != nil && p.Ended.Decision.Action == ActionDone:
		return fmt.Sprintf("step %d/%d: verified", p.Number, p.Steps)
	case p.Ended != nil:
		return fmt.Sprintf("step %d/%d: %s", p.Number, p.Steps, p.Ended.Decision.Failure)
	}
	return "tell that the run has ended: " + string(p.Finished)
}

// publish writes events, and makes the Result of a step that has ended. It is a local activity: it costs no round trip.
func (r *run) publish(ctx workflow.Context, p Publication) (*tool.Result, error) {
	p.Input = Input{RunID: r.in.RunID, Kind: r.in.Kind, Title: r.in.Title, Language: r.in.Language, KeepSession: r.in.KeepSession}
	p.Steps = len(r.state.Steps)
	dctx, cancel := workflow.NewDisconnectedContext(ctx) // what has happened is told although the run is cancelled
	defer cancel()
	lctx := workflow.WithLocalActivityOptions(dctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: 10 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, MaximumInterval: time.Second, MaximumAttempts: 20},
		Summary:             clip(p.summary()),
	})
	var res *tool.Result
	err := workflow.ExecuteLocalActivity(lctx, activityPublish, p).Get(ctx, &res)
	return res, err
}

// show makes what happens now readable in Temporal's UI.
func (r *run) show(ctx workflow.Context, n *narrow) {
	r.current = n
	workflow.SetCurrentDetails(ctx, r.details())
}

// details renders the run as Markdown.
func (r *run) details() string {
	var b strings.Builder
	if r.in.Title != "" {
		fmt.Fprintf(&b, "### %s\n", r.in.Title)
	}
	for i, st := range r.state.Steps {
		if len(r.state.Steps) > 60 && st.Status.Ended() && i < len(r.state.Steps)-60 {
			continue
		}
		mark := map[Status]string{StatusQueued: "▫️", StatusRunning: "▶️", StatusVerified: "✅", StatusFailed: "❌", StatusSkipped: "⏭️", StatusWaiting: "❓"}[st.Status]
		fmt.Fprintf(&b, "%d. %s %s `%s`", i+1, mark, st.Title, st.Tool)
		if st.Status == StatusRunning && r.current != nil {
			fmt.Fprintf(&b, ": attempt %d/%d by **%s**", r.current.plan.Number, MaxAttempts, r.current.plan.Source.Badge())
			if st.ChildRun != "" {
				fmt.Fprintf(&b, " in the run `%s`", st.ChildRun)
			}
		}
		for _, q := range r.state.Questions {
			if q.CallID == st.CallID {
				fmt.Fprintf(&b, ": **%s**", q.Text)
			}
		}
		if k := st.kept(); k != nil && k.Attempts == 0 && k.Failure != "" {
			fmt.Fprintf(&b, ": **%s**: %s", k.Failure, k.Message)
		} else if k != nil && k.Attempts > 0 {
			fmt.Fprintf(&b, ": %d attempt(s), %s", k.Attempts, k.Source.Badge())
			if k.Failure != "" {
				fmt.Fprintf(&b, ", **%s**: %s", k.Failure, k.Message)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// finish settles the outcome and leaves what an operator needs to see after the worker is gone.
func (r *run) finish(ctx workflow.Context, cause error) {
	if temporal.IsCanceledError(cause) || errors.Is(cause, workflow.ErrCanceled) {
		r.state.Outcome = OutcomeCancelled
	}
	verified := 0
	healed, source, failure := false, "", ""
	var tools []string
	for _, st := range r.state.Steps {
		if st.Status == StatusVerified {
			verified++
		}
		if !slices.Contains(tools, string(st.Tool)) && len(tools) < 50 {
			tools = append(tools, string(st.Tool))
		}
		if k := st.kept(); k != nil && k.Attempts > 0 {
			source = string(k.Source)
			healed = healed || k.Failure == "" && k.Attempts > 1
			if st.Status == StatusFailed && k.Failure != "" {
				failure = string(k.Failure)
			}
		}
	}
	if r.state.Outcome == OutcomeRunning {
		r.state.Outcome = OutcomeFailed
		if r.in.Kind == KindGemini && goalReached(r.state.Planning, r.state.Steps, r.in.Backs != nil) || r.in.Kind != KindGemini && r.state.Succeeded() {
			r.state.Outcome = OutcomeSucceeded
		}
	}
	dctx, cancel := workflow.NewDisconnectedContext(ctx) // what follows must happen although the run was cancelled
	defer cancel()
	r.current = nil
	workflow.SetCurrentDetails(dctx, r.details())
	attrs := []temporal.SearchAttributeUpdate{
		temporalclient.SearchAttributeOutcome.ValueSet(string(r.state.Outcome)), temporalclient.SearchAttributeHealed.ValueSet(healed), temporalclient.SearchAttributeWaiting.ValueSet(false),
		temporalclient.SearchAttributeTool.ValueSet(tools), temporalclient.SearchAttributeSource.ValueSet(source), temporalclient.SearchAttributeFailure.ValueSet(failure),
	}
	if err := workflow.UpsertTypedSearchAttributes(dctx, attrs...); err != nil {
		workflow.GetLogger(ctx).Error("search attributes", "error", err)
	}
	if err := workflow.UpsertMemo(dctx, map[string]any{memoOutcome: string(r.state.Outcome), memoStory: r.details()}); err != nil {
		workflow.GetLogger(ctx).Error("memo", "error", err)
	}
	if _, err := r.publish(dctx, Publication{Finished: r.state.Outcome, Verified: verified}); err != nil {
		workflow.GetLogger(ctx).Error("publish the end of the run", "error", err)
	}
	r.release(dctx)
}

// clip keeps a summary within what Temporal accepts (200 bytes), at a rune boundary.
func clip(s string) string {
	const limit = 200
	if len(s) <= limit {
		return s
	}
	n := limit - len("…")
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

// Keys of the run's memo.
const (
	memoTitle   = "title"
	memoOutcome = "outcome"
	memoStory   = "story"
)

// Types of the application errors that an update or a run can end with.
const (
	errRunEnded       = "RunEnded"
	errRunFull        = "RunFull"
	errQuestionClosed = "QuestionClosed"
	errUnknownCall    = "UnknownCall"
)

// conflictPolicy lets a call join a run that is open already.
const conflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING
