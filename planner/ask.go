package planner

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"toolsvc/narration"
	"toolsvc/store"
	"toolsvc/temporalclient"
	"toolsvc/tool"
)

// Names of the local activities around questions.
const (
	activityAsk     = "Ask"
	activityClose   = "CloseQuestion"
	activityForward = "ForwardQuestion"
)

// ask puts a question and waits for its answer; nil when nobody answered in time. While it waits, the callers of the step get a Result
// that holds the question.
func (r *run) ask(ctx workflow.Context, a Asking) (*Reply, error) {
	r.state.Asked++
	ttl := r.in.Policy.QuestionTTL()
	a.RunID, a.Language, a.Steps = r.in.RunID, r.in.Language, len(r.state.Steps)
	a.ID = questionID(a.Kind, r.in.RunID, r.state.Asked)
	a.At = workflow.Now(ctx)
	a.Expires = a.At.Add(ttl)
	var q tool.Question
	if err := workflow.ExecuteLocalActivity(local(ctx, "ask: "+string(a.Kind)), activityAsk, a).Get(ctx, &q); err != nil {
		return nil, err
	}
	r.state.Questions = append(r.state.Questions, q)
	if st := r.find(q.CallID); st != nil {
		st.Status = StatusWaiting
		r.settle(q.CallID)
	}
	r.waiting(ctx)
	r.above(ctx, q, "")
	began := workflow.Now(ctx)
	answered, err := workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{Timeout: ttl, TimerOptions: workflow.TimerOptions{Summary: clip("wait for an answer: " + q.Text)}},
		func() bool { return r.replies[q.ID] != nil })
	reply := r.replies[q.ID]
	delete(r.replies, q.ID)
	r.state.Questions = slices.DeleteFunc(r.state.Questions, func(o tool.Question) bool { return o.ID == q.ID })
	r.state.WithPeopleMS += workflow.Now(ctx).Sub(began).Milliseconds()
	how := "answered"
	switch {
	case err != nil:
		how = "cancelled"
	case !answered:
		how = "expired"
	}
	if st := r.find(q.CallID); st != nil {
		st.Status = StatusRunning
		if st.CallID != r.inHand {
			st.Status = StatusQueued
		}
	}
	r.waiting(ctx)
	dctx, cancel := workflow.NewDisconnectedContext(ctx) // what has happened is told although the run is cancelled
	defer cancel()
	closing := Closing{RunID: r.in.RunID, Question: q, How: how, Number: a.Number, Steps: len(r.state.Steps), Language: r.in.Language}
	if reply != nil {
		closing.By = reply.By
	}
	r.above(ctx, q, how)
	if cerr := workflow.ExecuteLocalActivity(local(dctx, "the question is "+how), activityClose, closing).Get(dctx, nil); cerr != nil && err == nil {
		err = cerr
	}
	return reply, err
}

// waiting shows in Temporal whether the run waits for somebody.
func (r *run) waiting(ctx workflow.Context) {
	if err := workflow.UpsertTypedSearchAttributes(ctx, temporalclient.SearchAttributeWaiting.ValueSet(len(r.state.Questions) > 0)); err != nil {
		workflow.GetLogger(ctx).Error("search attributes", "error", err)
	}
	workflow.SetCurrentDetails(ctx, r.details())
}

// local gives the options of a local activity that writes to the store.
func local(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: 10 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, MaximumInterval: time.Second, MaximumAttempts: 20},
		Summary:             clip(summary),
	})
}

// admitAnswer refuses an answer to a question that is not open, before anything of it enters the history.
func (r *run) admitAnswer(_ workflow.Context, a Reply) error {
	open := slices.ContainsFunc(r.state.Questions, func(q tool.Question) bool { return q.ID == a.QuestionID })
	if !open || r.replies[a.QuestionID] != nil {
		return temporal.NewApplicationError("the question is not open any more: it was answered, has expired, or its run has ended", errQuestionClosed)
	}
	return nil
}

// answer takes an answer and waits for what the call comes to.
func (r *run) answer(ctx workflow.Context, a Reply) (*tool.Result, error) {
	callID := ""
	for _, q := range r.state.Questions {
		if q.ID == a.QuestionID {
			callID = q.CallID
		}
	}
	if callID != "" {
		r.expectEnd(ctx, callID)
	}
	if r.state.Below[a.QuestionID] != "" {
		r.passDown(ctx, a)
		return r.outcome(ctx, callID)
	}
	r.replies[a.QuestionID] = &a
	if callID == "" {
		return nil, nil
	}
	return r.outcome(ctx, callID)
}

// ready makes a step ready for its attempts: a draft is corrected, the policy is asked, and an approval is waited for. A step that may
// not be made comes back with the refusal.
func (r *run) ready(ctx workflow.Context, s Step, number int) (Step, *refusal, error) {
	s, no, err := r.corrected(ctx, s, number)
	if no != nil || err != nil {
		return s, no, err
	}
	if no := guard(r.in.Policy, r.state.Past, len(r.state.Steps), r.worked(ctx), s.Tool, s.Digest); no != nil {
		return s, no, nil
	}
	if no := r.nested(s); no != nil {
		return s, no, nil
	}
	if s.Confirm == "" || r.in.Policy.Approve == tool.ApproveAllow {
		return s, nil, nil
	}
	if r.in.Policy.Approve == tool.ApproveDeny {
		return s, &refusal{tool.ConfirmationRequired, fmt.Sprintf("%s needs an approval, and the run's policy gives none. Ask the person in charge, and start a run whose policy asks or allows it.", s.Tool)}, nil
	}
	reply, err := r.ask(ctx, Asking{Kind: tool.AskApproval, Step: &s, Number: number})
	switch {
	case err != nil:
		return s, nil, err
	case reply == nil:
		return s, &refusal{tool.QuestionExpired, "Nobody approved or refused the call in time, so it was not made."}, nil
	case !reply.Approved:
		return s, &refusal{tool.ConfirmationRequired, "The call was not approved, so it was not made."}, nil
	}
	return s, nil, nil
}

// corrected gets a draft corrected: by a model, where the policy goes that far, then by a person.
func (r *run) corrected(ctx workflow.Context, s Step, number int) (Step, *refusal, error) {
	if s.Draft != nil && !r.noModel && r.in.Policy.Repair.Reaches(tool.RepairModel) {
		c, err := r.correct(ctx, s)
		if err != nil {
			return s, nil, err
		}
		r.state.Tokens += c.Tokens
		r.state.OutputTokens += c.Output
		r.noModel = c.NoModel
		if c.Step != nil {
			return *c.Step, nil, nil
		}
	}
	for s.Draft != nil {
		if !r.in.Policy.Repair.Reaches(tool.RepairPerson) {
			return s, &refusal{Failure: draftFailure(s.Draft.Issues)}, nil
		}
		reply, err := r.ask(ctx, Asking{Kind: tool.AskArguments, Step: &s, Number: number})
		switch {
		case err != nil:
			return s, nil, err
		case reply == nil:
			return s, &refusal{tool.QuestionExpired, "Nobody gave the missing arguments in time, so the call was not made."}, nil
		}
		s = *reply.Step
	}
	return s, nil, nil
}

func draftFailure(issues tool.Issues) tool.Failure {
	if missing := issues.Missing(); len(missing) > 0 && len(missing) == len(issues) {
		return tool.MissingFields
	}
	return tool.InvalidArguments
}

// Ask words a question and writes its event.
func (a *Activities) Ask(ctx context.Context, in Asking) (tool.Question, error) {
	var spec *tool.Spec
	if in.Step != nil {
		if spec = a.Registry.Lookup(in.Step.Tool); spec == nil {
			return tool.Question{}, temporal.NewNonRetryableApplicationError(fmt.Sprintf("this worker has no tool %s", in.Step.Tool), "NoTool", nil)
		}
	}
	if in.Step != nil {
		opened, err := a.Sealer.open(*in.Step)
		if err != nil {
			return tool.Question{}, err
		}
		in.Step = &opened
	}
	q := newQuestion(spec, in)
	return q, a.tellQuestion(ctx, q, in.Language, in.Number, in.Steps)
}

// tellQuestion writes the event that a question is open, and its narration.
func (a *Activities) tellQuestion(ctx context.Context, q tool.Question, language string, number, steps int) error {
	m := narration.Moment{Lang: language, RunID: q.RunID, Step: number, Steps: steps, At: time.Now()}
	kind, said := store.KindQuestion, m.WaitingForAnswer(q.Text)
	if q.Kind == tool.AskApproval {
		kind, said = store.KindApproval, m.WaitingForApproval(q.Text)
	}
	return a.tellOf(ctx, kind, q.ID+"/asked", q, told{q.ID + "/told", said})
}

// Closing is the data of the event that ends a question: of the kind "question" or "approval", with How set.
type Closing struct {
	RunID    string        `json:"run_id"`
	Question tool.Question `json:"question"`
	// How is answered, expired or cancelled.
	How string `json:"how"`
	// By says who answered.
	By       string `json:"by,omitempty"`
	Number   int    `json:"number,omitempty"`
	Steps    int    `json:"steps,omitempty"`
	Language string `json:"language"`
}

// CloseQuestion writes the event that a question is not open any more.
func (a *Activities) CloseQuestion(ctx context.Context, c Closing) error {
	kind := store.KindQuestion
	if c.Question.Kind == tool.AskApproval {
		kind = store.KindApproval
	}
	m := narration.Moment{Lang: c.Language, RunID: c.RunID, Step: c.Number, Steps: c.Steps, At: time.Now()}
	var ts []told
	if c.How == "answered" {
		ts = append(ts, told{c.Question.ID + "/continue", m.AnswerGiven()})
	}
	return a.tellOf(ctx, kind, c.Question.ID+"/closed", c, ts...)
}

// tellOf writes one event with its data, and the narration that goes with it.
func (a *Activities) tellOf(ctx context.Context, kind, key string, data any, ts ...told) error {
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode event %s: %w", key, err)
	}
	events, err := stored(ts)
	if err != nil {
		return err
	}
	runID := ""
	switch d := data.(type) {
	case tool.Question:
		runID = d.RunID
	case Closing:
		runID = d.RunID
	}
	return a.append(ctx, runID, append([]store.Event{{Kind: kind, Key: key, Data: text, At: time.Now()}}, events...))
}
