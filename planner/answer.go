package planner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"toolsvc/store"
	"toolsvc/tool"
)

// Keys keeps idempotency keys.
type Keys interface {
	// ClaimKey returns the first claim of the key, and whether it is this one.
	ClaimKey(ctx context.Context, key, callID, runID, argsDigest string) (claim store.Claim, won bool, err error)
}

// EventLog reads the events of runs.
type EventLog interface {
	Events(ctx context.Context, runID string, afterID int64, limit int) ([]store.Event, error)
}

// ErrNoKeys: idempotency keys are not kept here.
var ErrNoKeys = errors.New("idempotency keys are not kept by this toolsvc")

// claim claims the request's idempotency key; when it was claimed before, the request becomes that of the first claim.
func (s *Service) claim(ctx context.Context, req *tool.Request, step *Step) (repeated bool, err error) {
	if s.Keys == nil {
		return false, ErrNoKeys
	}
	claim, won, err := s.Keys.ClaimKey(ctx, req.IdempotencyKey, req.CallID, req.RunID, CallDigest(req.Tool, req.Arguments))
	if err != nil {
		return false, err
	}
	req.CallID, req.RunID, step.CallID = claim.CallID, claim.RunID, claim.CallID
	return !won, nil
}

// correctable reports whether a payload that does not validate may be corrected by a model or a person in its run.
func (s *Service) correctable(ctx context.Context, req tool.Request) (bool, error) {
	var p tool.Policy
	switch {
	case req.Policy != nil:
		p = *req.Policy
	case req.RunID != "":
		st, err := s.State(ctx, req.RunID)
		if errors.Is(err, ErrUnknownRun) {
			return false, nil // a new run with the default policy
		}
		if err != nil {
			return false, err
		}
		p = st.Policy
	}
	return p.Repair.Reaches(tool.RepairPerson) || p.Repair.Reaches(tool.RepairModel) && (s.HasModel || s.Offers != nil && s.Offers(req.CallID)), nil
}

// draftOf makes the Step of a payload that does not validate yet.
func draftOf(spec *tool.Spec, req tool.Request, rejected *tool.Result) Step {
	title := spec.Title
	if title == "" {
		title = string(spec.ID)
	}
	return Step{CallID: req.CallID, Tool: spec.ID, Title: title, Class: spec.Effect, Sources: spec.Sources, TimeLimitMS: spec.TimeLimit.Milliseconds(),
		Draft: &Draft{Payload: req.Arguments, Issues: rejected.RetryHint.Fields().Issues}, Repairs: rejected.Repairs, Digest: CallDigest(spec.ID, req.Arguments)}
}

// Answer answers a question of the run, and waits for what its call comes to: a Result, or its next question. An answer that does not
// validate is refused by a Result that holds the issues and the question, which stays open. A planner's own question has no call, so the
// Result is nil. by says who answers.
//
// Errors: [ErrQuestionClosed], [ErrUnknownRun], [ErrUnavailable], [ErrInterrupted], *[FilledError].
func (s *Service) Answer(ctx context.Context, runID, questionID string, answer json.RawMessage, by string) (*tool.Result, error) {
	st, err := s.State(ctx, runID)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(st.Questions, func(q tool.Question) bool { return q.ID == questionID })
	if i < 0 {
		return nil, fmt.Errorf("%w (%s)", ErrQuestionClosed, questionID)
	}
	q := st.Questions[i]
	asking, own, err := s.asker(ctx, st, q)
	if err != nil {
		return nil, err
	}
	reply, rejected, err := s.reply(ctx, asking, own, answer)
	if rejected != nil && own.RunID != runID { // told of the question as this run holds it
		rejected.RunID, rejected.CallID, rejected.Question = runID, q.CallID, &q
		if i := slices.IndexFunc(st.Steps, func(x StepState) bool { return x.CallID == q.CallID }); i >= 0 {
			rejected.Tool = st.Steps[i].Tool
		}
	}
	if err != nil || rejected != nil {
		return rejected, err
	}
	reply.QuestionID, reply.By = questionID, by
	if reply.Step != nil {
		sealed, err := s.Sealer.seal(*reply.Step)
		if err != nil {
			return nil, err
		}
		reply.Step = &sealed
	}
	var res *tool.Result
	if err := s.update(ctx, runID, UpdateAnswer, reply, &res); err != nil {
		return nil, interrupted(err)
	}
	return s.linked(res), nil
}

// Approve answers an approval. To approve, digest must be that of the question: it binds the approval to the exact arguments.
func (s *Service) Approve(ctx context.Context, runID, approvalID string, approved bool, digest, by string) (*tool.Result, error) {
	answer, err := json.Marshal(map[string]any{"approved": approved, "digest": digest})
	if err != nil {
		return nil, err
	}
	return s.Answer(ctx, runID, approvalID, answer, by)
}

// reply validates an answer.
func (s *Service) reply(ctx context.Context, st *State, q tool.Question, answer []byte) (Reply, *tool.Result, error) {
	refuse := func(hint *tool.RetryHint, issues tool.Issues) *tool.Result {
		return &tool.Result{CallID: q.CallID, RunID: q.RunID, Tool: q.Tool, Status: tool.StatusNeedsInput, Question: &q, RetryHint: hint,
			Error: &tool.Error{Code: tool.InvalidArguments, Message: "The answer is not valid, so the question stays open. " + issues.Error()}}
	}
	if q.Kind != tool.AskArguments {
		r, issues := parseAnswer(q.Kind, answer, q.Digest)
		if len(issues) > 0 {
			return r, refuse(nil, issues), nil
		}
		return r, nil, nil
	}
	spec := s.Registry.Lookup(q.Tool)
	if spec == nil {
		return Reply{}, nil, &UnknownToolError{Tool: q.Tool}
	}
	waiting, err := s.step(ctx, q.RunID, q.CallID)
	if err != nil {
		return Reply{}, nil, err
	}
	payload := []byte(waiting.Arguments)
	if waiting.Draft != nil {
		payload = waiting.Draft.Payload
	}
	patch, err := decodeExactly(answer)
	if _, object := patch.(map[string]any); err != nil || !object {
		issues := tool.Issues{{Constraint: tool.ConstraintSyntax, ExpectedType: "object",
			Message: "The answer must be a JSON object with the fields of the payload, like the example."}}
		return Reply{}, refuse(tool.HintArguments(spec, issues, answer), issues), nil
	}
	merged, err := merge(payload, answer)
	if err != nil {
		return Reply{}, nil, fmt.Errorf("merge the answer to question %s: %w", q.ID, err)
	}
	step, rejected, err := s.Prepare(tool.Request{CallID: q.CallID, RunID: q.RunID, Tool: q.Tool, Arguments: merged}, st.Language)
	if err != nil {
		return Reply{}, nil, err
	}
	if rejected != nil {
		return Reply{}, refuse(rejected.RetryHint, rejected.RetryHint.Fields().Issues), nil
	}
	step.Repairs = slices.Concat(waiting.Repairs, step.Repairs, personRepairs(spec, payload, answer))
	step.ExpectFailure = waiting.ExpectFailure
	return Reply{Step: &step}, nil, nil
}

// step returns a call that waits in the run, with its arguments as they are.
func (s *Service) step(ctx context.Context, runID, callID string) (Step, error) {
	v, err := s.query(ctx, runID, QueryStep, callID)
	if err != nil {
		return Step{}, err
	}
	var st Step
	if err := v.Get(&st); err != nil {
		return Step{}, fmt.Errorf("decode call %s of run %s: %w", callID, runID, err)
	}
	return s.Sealer.open(st)
}

// Result returns what a call has come to so far: its Result, or the question that it waits for. A call that is queued or running is
// waited for. Errors: [ErrUnknownCall], [ErrUnknownRun], [ErrUnavailable].
func (s *Service) Result(ctx context.Context, runID, callID string) (*tool.Result, error) {
	st, err := s.State(ctx, runID)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(st.Steps, func(x StepState) bool { return x.CallID == callID })
	if i < 0 {
		return nil, fmt.Errorf("%w: %s has no %s", ErrUnknownCall, runID, callID)
	}
	if res := st.Steps[i].Result; res != nil {
		return s.linked(res), nil
	}
	for _, q := range st.Questions {
		if q.CallID == callID {
			return s.linked(&tool.Result{CallID: callID, RunID: runID, Tool: st.Steps[i].Tool, Status: tool.StatusNeedsInput, Question: &q, RunLink: &tool.RunLink{WorkflowID: runID}}), nil
		}
	}
	if st.Steps[i].Status.Ended() || st.Outcome != OutcomeRunning {
		return s.logged(ctx, runID, callID)
	}
	return s.join(ctx, runID, callID)
}

// join waits for a call that is in the run: the same call again joins the one that is there, as often as it is asked for.
func (s *Service) join(ctx context.Context, runID, callID string) (*tool.Result, error) {
	for try, wait := 1, queryWait; ; try, wait = try+1, 2*wait {
		var res *tool.Result
		err := s.update(ctx, runID, UpdateCall, Step{CallID: callID}, &res)
		switch {
		case err == nil:
			return s.linked(res), nil
		case !givenUp(ctx, err) || try == queryTries || !pause(ctx, wait):
			return nil, interrupted(err)
		}
	}
}

// logged finds a call's result among the events of its run.
func (s *Service) logged(ctx context.Context, runID, callID string) (*tool.Result, error) {
	res, err := loggedResult(ctx, s.Log, runID, callID)
	return s.linked(res), err
}

func loggedResult(ctx context.Context, log EventLog, runID, callID string) (*tool.Result, error) {
	if log == nil {
		return nil, fmt.Errorf("%w: the result of %s is not kept", ErrUnknownCall, callID)
	}
	const page = 500
	for after := int64(0); ; {
		events, err := log.Events(ctx, runID, after, page)
		if err != nil {
			return nil, fmt.Errorf("look for the result of call %s: %w", callID, err)
		}
		for _, e := range events {
			after = e.ID
			if e.Kind != store.KindToolResult || e.Key != key(callID, 0, "result") {
				continue
			}
			var res tool.Result
			if err := json.Unmarshal(e.Data, &res); err != nil {
				return nil, fmt.Errorf("decode the result of call %s: %w", callID, err)
			}
			return &res, nil
		}
		if len(events) < page {
			return nil, fmt.Errorf("%w: %s ended without making call %s", ErrUnknownCall, runID, callID)
		}
	}
}

// Pause keeps the run from beginning another step; the one in hand goes on.
func (s *Service) Pause(ctx context.Context, runID string) error { return s.control(ctx, runID, true) }

// Resume lets a paused run go on.
func (s *Service) Resume(ctx context.Context, runID string) error {
	return s.control(ctx, runID, false)
}

func (s *Service) control(ctx context.Context, runID string, pause bool) error {
	return explain(s.update(ctx, runID, UpdateControl, pause, nil))
}
