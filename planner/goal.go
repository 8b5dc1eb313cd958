package planner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"toolsvc/tool"
)

const activityPlan = "Plan"

// Bounds of a run with a goal.
const (
	// MaxTurns bounds the turns of the planner.
	MaxTurns = 200
	// MaxGoal bounds the goal and the instructions, in bytes.
	MaxGoal   = 64 << 10
	turnLimit = 3 * time.Minute
	// maxTurnWaits bounds how often a turn is asked for again because the model was busy or answered garbage.
	maxTurnWaits = 6
)

// Planning is where a run with a goal stands.
type Planning struct {
	// Conversation is the digest of the artifact that holds the planner's messages; "" before the first turn.
	Conversation string `json:"conversation,omitempty"`
	Turns        int    `json:"turns"`
	// Answer is the planner's final response.
	Answer string `json:"answer,omitempty"`
	// Finalized says why the planner was made to come to an end; "" when it did by itself.
	Finalized string `json:"finalized,omitempty"`
	Model     string `json:"model,omitempty"`
	// Failure is why the planner could not go on; "" when it could.
	Failure tool.Failure `json:"failure,omitempty"`
	// Base is how many messages of the conversation are from earlier attempts at the same stage.
	Base int `json:"base,omitempty"`
	// Loops counts how often in a row a call was refused as a loop.
	Loops int `json:"loops,omitempty"`
	// Awaited is what the planner has not been told yet.
	Awaited []Awaited `json:"awaited,omitempty"`
}

// Awaited is one thing that the planner asked for.
type Awaited struct {
	ID      string          `json:"id"`
	CallID  string          `json:"call_id,omitempty"`
	Answer  json.RawMessage `json:"answer,omitempty"`
	NotDone string          `json:"not_done,omitempty"`
}

// TurnInput is what the Plan activity works from.
type TurnInput struct {
	RunID        string `json:"run_id"`
	Goal         string `json:"goal"`
	Instructions string `json:"instructions,omitempty"`
	Language     string `json:"language"`
	// Backs is the call that the run does the work of: Goal and Instructions are those of its tool's agent. Depth counts the agents above.
	Backs        *Backed     `json:"backs,omitempty"`
	Depth        int         `json:"depth,omitempty"`
	Policy       tool.Policy `json:"policy,omitzero"`
	Conversation string      `json:"conversation,omitempty"`
	// Skip leaves out the first messages of the conversation, and Notice is told first; both on the first turn of another attempt.
	Skip       int       `json:"skip,omitempty"`
	Notice     string    `json:"notice,omitempty"`
	Turn       int       `json:"turn"`
	Awaited    []Awaited `json:"awaited,omitempty"`
	RestrictTo tool.ID   `json:"restrict_to,omitempty"`
	Finalize   string    `json:"finalize,omitempty"`
	Budget     Budget    `json:"budget,omitzero"`
}

// Planned is what a turn came to.
type Planned struct {
	// Base is how many messages of the conversation are from earlier attempts; set on the first turn of another attempt.
	Base         int              `json:"base,omitempty"`
	Conversation string           `json:"conversation,omitempty"`
	Calls        []PlannedStep    `json:"calls,omitempty"`
	Question     *PlannedQuestion `json:"question,omitempty"`
	Final        string           `json:"final,omitempty"`
	Tokens       int64            `json:"tokens,omitempty"`
	Output       int64            `json:"output,omitempty"` // of Tokens, the model's own
	Model        string           `json:"model,omitempty"`
	// Failure says why there is no turn; the next try makes sense after RetryAfterMS, when that is not -1.
	Failure      tool.Failure `json:"failure,omitempty"`
	Message      string       `json:"message,omitempty"`
	RetryAfterMS int64        `json:"retry_after_ms,omitempty"`
}

// PlannedStep is one call of a turn: a Step, or why there is none.
type PlannedStep struct {
	ID      string `json:"id"`
	Step    *Step  `json:"step,omitempty"`
	NotDone string `json:"not_done,omitempty"`
}

// plan asks the planner for its next turn and puts what it wants into the queue. done is true when the run is over.
func (r *run) plan(ctx workflow.Context) (done bool, err error) {
	p := r.state.Planning
	p.Turns++
	finalize := r.finalize(ctx)
	in := TurnInput{RunID: r.in.RunID, Goal: r.in.Goal, Instructions: r.in.Instructions, Language: r.in.Language, Policy: r.in.Policy, Backs: r.in.Backs, Depth: len(r.in.Above),
		Conversation: p.Conversation, Turn: p.Turns, Awaited: p.Awaited, RestrictTo: r.restriction(), Finalize: finalize, Budget: r.budget(ctx)}
	if p.Turns == 1 {
		in.Skip, in.Notice = r.in.Skip, r.in.Notice
	}
	turn, err := r.turn(ctx, in)
	if err != nil {
		return false, err
	}
	if turn.Failure != "" {
		p.Finalized, p.Failure = fmt.Sprintf("the planner cannot go on: %s", turn.Message), turn.Failure
		return true, nil
	}
	p.Conversation, p.Model, p.Awaited = turn.Conversation, turn.Model, nil
	p.Base = max(p.Base, turn.Base)
	for _, c := range turn.Calls {
		a := Awaited{ID: c.ID, NotDone: c.NotDone}
		if c.Step != nil {
			a.CallID = c.Step.CallID
			r.enqueue(ctx, *c.Step)
		}
		p.Awaited = append(p.Awaited, a)
	}
	if turn.Question != nil {
		r.question = turn.Question
	}
	if len(turn.Calls) > 0 || turn.Question != nil {
		return false, nil
	}
	p.Answer, p.Finalized = turn.Final, finalize
	_, err = r.publish(ctx, Publication{Answer: p.Answer})
	return true, err
}

// askForPlanner puts the planner's question, after the calls of its turn.
func (r *run) askForPlanner(ctx workflow.Context) error {
	q := r.question
	r.question = nil
	reply, err := r.ask(ctx, Asking{Kind: tool.AskFreely, Text: q.Text})
	if err != nil {
		return err
	}
	a := Awaited{ID: q.ID, NotDone: "Nobody answered in time."}
	if reply != nil {
		if a.Answer, err = json.Marshal(map[string]string{"text": reply.Text}); err != nil {
			return err
		}
		a.NotDone = ""
	}
	r.state.Planning.Awaited = append(r.state.Planning.Awaited, a)
	return nil
}

// turn asks for one turn; a model that is busy is asked again after a while, by a timer.
func (r *run) turn(ctx workflow.Context, in TurnInput) (turn Planned, err error) {
	actx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: turnLimit,
		HeartbeatTimeout:    heartbeatTimeout,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 10 * time.Second, MaximumAttempts: 5},
		Summary:             clip(fmt.Sprintf("turn %d: ask the planner what to do next", in.Turn)),
	})
	for waits := 0; ; waits++ {
		turn = Planned{}
		if err := workflow.ExecuteActivity(actx, activityPlan, in).Get(ctx, &turn); err != nil {
			if temporal.IsCanceledError(err) || ctx.Err() != nil {
				return turn, err
			}
			return Planned{Failure: tool.Internal, Message: err.Error()}, nil
		}
		r.state.Tokens += turn.Tokens
		r.state.OutputTokens += turn.Output
		if turn.Failure == "" || turn.RetryAfterMS < 0 || waits >= maxTurnWaits {
			return turn, nil
		}
		d, ok := backOff(Situation{RetryAfter: time.Duration(turn.RetryAfterMS) * time.Millisecond, Waits: waits, Seed: fmt.Sprintf("%s/%d", in.RunID, in.Turn),
			WaitLeft: r.in.Policy.Waits() - time.Duration(r.state.WaitedMS)*time.Millisecond})
		if !ok {
			return turn, nil
		}
		t := workflow.NewTimerWithOptions(ctx, d, workflow.TimerOptions{Summary: clip(fmt.Sprintf("%s: ask the planner again in %s", turn.Failure, d.Round(time.Millisecond)))})
		if err := t.Get(ctx, nil); err != nil {
			return turn, err
		}
		r.state.WaitedMS += d.Milliseconds()
	}
}

// finalize says why the planner has to come to an end; "" when it need not.
func (r *run) finalize(ctx workflow.Context) string {
	pol := r.in.Policy
	switch p := r.state.Planning; {
	case p.Turns > MaxTurns:
		return fmt.Sprintf("it has had %d turns", MaxTurns)
	case len(r.state.Steps) >= pol.Calls():
		return fmt.Sprintf("the run has made its %d calls", pol.Calls())
	case pol.TimeBudgetMS > 0 && r.worked(ctx).Milliseconds() > pol.TimeBudgetMS:
		return "the run's time is used up"
	case r.tokensLeft() < 0:
		return "the run's tokens are used up"
	case failuresInARow(r.state.Past) >= pol.Failures():
		return fmt.Sprintf("%d calls failed one after the other", failuresInARow(r.state.Past))
	case p.Loops >= 3:
		return "it repeats calls that fail in the same way"
	}
	return ""
}

// restriction is the tool that the last result's hint restricts the next turn to.
func (r *run) restriction() tool.ID {
	for _, a := range slices.Backward(r.state.Planning.Awaited) {
		st := r.find(a.CallID)
		if st == nil {
			continue
		}
		if k := st.kept(); k != nil && k.Restrict {
			return st.Tool
		} else if k != nil {
			return ""
		}
	}
	return ""
}

func (r *run) budget(ctx workflow.Context) Budget {
	b := Budget{Calls: max(0, r.in.Policy.Calls()-len(r.state.Steps)), Tokens: max(0, r.tokensLeft())}
	if ms := r.in.Policy.TimeBudgetMS; ms > 0 {
		b.Time = max(0, time.Duration(ms)*time.Millisecond-r.worked(ctx))
	}
	return b
}

// goalReached reports whether a run with a goal has succeeded: its planner came to an end by itself, and what it did last is verified.
// backs is true for a run that does the work of a tool: its answer may need no call.
func goalReached(p *Planning, steps []StepState, backs bool) bool {
	if p == nil || p.Finalized != "" || p.Answer == "" || len(steps) == 0 && !backs {
		return false
	}
	for _, st := range steps {
		if k := st.kept(); st.Status == StatusFailed && k.Reason == tool.ReasonOutcomeUnknown {
			return false // something was left standing that nobody has looked into
		}
	}
	return len(steps) == 0 || steps[len(steps)-1].Status == StatusVerified
}

// escalate reacts to a planner that repeats itself: it is told by the results first, then a person is asked, then it has to end.
func (r *run) escalate(res *tool.Result) {
	p := r.state.Planning
	if res.Error == nil || res.Error.Code != tool.LoopDetected {
		p.Loops = 0
		return
	}
	if p.Loops++; p.Loops == 2 && r.in.Policy.Ask && r.question == nil {
		r.question = &PlannedQuestion{Text: fmt.Sprintf("The planner keeps calling %s in the same way, and it keeps failing. What should it do instead?", res.Tool)}
	}
}

// Plan asks the planner for a turn, and prepares what it wants done.
func (a *Activities) Plan(ctx context.Context, in TurnInput) (Planned, error) {
	if a.Planner == nil {
		return Planned{Failure: tool.ToolUnavailable, RetryAfterMS: -1, Message: "there is no model: set GEMINI_API_KEY, or point --gemini-url at a service that speaks its protocol"}, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go a.beat(ctx)
	start := PlanStart{RunID: in.RunID, Goal: in.Goal, Instructions: in.Instructions, Language: in.Language, Budget: in.Budget, NoQuestions: !in.Policy.Ask, Finalize: in.Finalize}
	for _, id := range a.Registry.IDs() {
		spec := a.Registry.Lookup(id)
		if ok, _ := in.Policy.Permits(id); ok && (spec.Agent == nil || in.Depth < MaxAgents) {
			start.Tools = append(start.Tools, spec)
		}
	}
	var turn Turn
	var out Planned
	var err error
	if in.Backs != nil {
		if start.Goal, start.Instructions, err = a.task(*in.Backs); err != nil {
			f := tool.AsFailed(err)
			return Planned{Failure: f.Failure, Message: f.Message, RetryAfterMS: -1}, nil
		}
	}
	if in.Conversation == "" {
		turn, err = a.Planner.PlanStart(ctx, start)
	} else {
		resume := PlanResume{PlanStart: start, RestrictTo: in.RestrictTo}
		if resume.Messages, err = a.conversation(ctx, in.Conversation); err != nil {
			return Planned{}, err
		}
		if resume.News, err = a.news(ctx, in); err != nil {
			return Planned{}, err
		}
		if out.Base, resume.Messages, err = skip(resume.Messages, in.Skip, in.Notice != ""); err != nil {
			return Planned{}, err
		}
		resume.Notice = in.Notice
		for _, w := range in.Awaited {
			if w.ID == "" && w.Answer != nil {
				resume.Notice = "The person in charge says: " + string(w.Answer)
			}
		}
		turn, err = a.Planner.PlanResume(ctx, resume)
	}
	out.Question, out.Final, out.Tokens, out.Output, out.Model = turn.Question, turn.Final, turn.Tokens, turn.Output, turn.Model
	if err != nil {
		f := tool.AsFailed(err)
		out.Failure, out.Message, out.RetryAfterMS = f.Failure, f.Message, -1
		switch f.Failure {
		case tool.RateLimited, tool.ToolUnavailable, tool.Timeout, tool.MalformedResponse:
			out.RetryAfterMS = f.RetryAfter.Milliseconds()
		}
		return out, nil
	}
	if out.Conversation, err = a.Artifacts.PutArtifact(ctx, "application/json", turn.Messages); err != nil {
		return out, fmt.Errorf("keep the planner's conversation: %w", err)
	}
	for _, c := range turn.Calls {
		ps, err := a.planned(in, c)
		if err != nil {
			return out, err
		}
		out.Calls = append(out.Calls, ps)
	}
	return out, nil
}

// skip leaves out the first n messages of a conversation, which belong to attempts before the latest one, and counts the rest when another
// attempt begins.
func skip(messages json.RawMessage, n int, begins bool) (base int, rest json.RawMessage, err error) {
	if !begins {
		return 0, messages, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(messages, &list); err != nil {
		return 0, nil, fmt.Errorf("decode the planner's conversation: %w", err)
	}
	list = list[min(n, len(list)):]
	rest, err = json.Marshal(list)
	return len(list), rest, err
}

// planned prepares one call of the planner's. What does not validate becomes a draft: its result carries the issues and the hint.
func (a *Activities) planned(in TurnInput, c PlannedCall) (PlannedStep, error) {
	if c.Refused != "" {
		return PlannedStep{ID: c.ID, NotDone: c.Refused}, nil
	}
	req := tool.Request{CallID: callIDOf(in.RunID, in.Turn, c.ID), RunID: in.RunID, Tool: c.Tool, Arguments: c.Arguments, Policy: &in.Policy}
	step, rejected, err := prepareStep(a.Registry, a.Executors, req, in.Language)
	if unknown := new(UnknownToolError); errors.As(err, &unknown) {
		return PlannedStep{ID: c.ID, NotDone: unknown.Error()}, nil
	}
	if err != nil {
		return PlannedStep{}, err
	}
	if rejected != nil {
		step = draftOf(a.Registry.Lookup(c.Tool), req, rejected)
	}
	if step, err = a.Sealer.seal(step); err != nil {
		return PlannedStep{}, err
	}
	return PlannedStep{ID: c.ID, Step: &step}, nil
}

// conversation reads the planner's messages.
func (a *Activities) conversation(ctx context.Context, digest string) (json.RawMessage, error) {
	_, data, err := a.Artifacts.Artifact(ctx, digest)
	if err != nil {
		return nil, fmt.Errorf("read the planner's conversation: %w", err)
	}
	return data, nil
}

// news collects what the planner has to be told; results come from the event log, so that they do not travel through the history again.
func (a *Activities) news(ctx context.Context, in TurnInput) ([]News, error) {
	var list []News
	for _, w := range in.Awaited {
		if w.ID == "" {
			continue
		}
		n := News{ID: w.ID, Answer: w.Answer, NotDone: w.NotDone}
		if w.CallID != "" {
			res, err := loggedResult(ctx, a.Log, in.RunID, w.CallID)
			if err != nil {
				return nil, err
			}
			n.Result = res
		}
		list = append(list, n)
	}
	return list, nil
}
