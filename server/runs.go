package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"toolsvc/gen/runs"
	"toolsvc/gen/types"
	"toolsvc/narration"
	"toolsvc/planner"
	"toolsvc/server/auth"
	"toolsvc/store"
	"toolsvc/tool"
)

// outcomeTaken: the answer is taken, and no call waited for it.
const outcomeTaken = "taken"

// defaultList is how many runs are listed when the caller does not say.
const defaultList = 100

// runService is the Goa service "runs", for both transports.
type runService struct {
	*bounds
	caller auth.Service
	log    *slog.Logger
	// watch and artifacts are nil where there are none.
	watch     Events
	artifacts Artifacts
	keepAlive time.Duration
}

var _ runs.Service = (*runService)(nil)

// Start starts a run and does not wait for it.
func (s *runService) Start(ctx context.Context, p *runs.StartPayload) (*runs.StartResult, error) {
	lang := preferred(p.Language, p.AcceptLanguage)
	policy := policyOf(p.Policy)
	issues := policy.Validate("/policy")
	goal := value(p.Goal)
	if p.Goal != nil && strings.TrimSpace(goal) == "" {
		issues = append(issues, tool.Issue{Path: "/goal", Constraint: "minLength", Message: "The goal is empty: say in words what is to be reached."})
	}
	for _, f := range []struct {
		name string
		text string
	}{{"goal", goal}, {"instructions", value(p.Instructions)}} {
		if len(f.text) > planner.MaxGoal {
			issues = append(issues, tool.Issue{Path: "/" + f.name, Constraint: "maxBytes", Limit: planner.MaxGoal,
				Message: fmt.Sprintf("The %s has %d bytes; at most %d are taken.", f.name, len(f.text), planner.MaxGoal)})
		}
	}
	switch {
	case p.Goal != nil && len(p.Steps) > 0:
		issues = append(issues, tool.Issue{Path: "/steps", Constraint: "not", Message: "A run has a goal or steps, not both; leave one of them out."})
	case p.Goal == nil && p.Instructions != nil:
		issues = append(issues, tool.Issue{Path: "/goal", Constraint: "required", ExpectedType: "string", Message: "There are instructions, but no goal."})
	case len(p.Steps) > planner.MaxSteps:
		issues = append(issues, tool.Issue{Path: "/steps", Constraint: "maxItems", Limit: planner.MaxSteps,
			Message: fmt.Sprintf("There are %d steps; a run takes at most %d.", len(p.Steps), planner.MaxSteps)})
	}
	if len(issues) > 0 {
		return nil, invalidBody(ctx, issues)
	}
	in, err := s.input(ctx, p, policy, lang)
	if err != nil {
		return nil, err
	}
	leave, ok := s.traffic.enter()
	if !ok {
		return nil, refuse(ctx, kindStopping, stoppingDetail)
	}
	defer leave()
	if in.RunID, err = s.caller.StartOnce(ctx, in, value(p.IdempotencyKey), startDigest(p, policy)); err != nil {
		return nil, s.refusal(ctx, "", err, faultInCall)
	}
	note(ctx, slog.String("run_id", in.RunID), slog.String("kind", string(in.Kind)))
	if h := exchangeOf(ctx).header; h != nil {
		h.Set("Location", "/v1/runs/"+in.RunID)
	}
	return &runs.StartResult{RunID: in.RunID}, nil
}

// startDigest identifies what a body asks for, in a form that outlives versions: the same body has the same digest on HTTP and gRPC, and
// after an upgrade.
func startDigest(p *runs.StartPayload, policy tool.Policy) string {
	asked := []any{"start a run", value(p.Goal), value(p.Instructions), value(p.Language), value(p.Title), policy}
	for _, st := range p.Steps {
		asked = append(asked, []string{planner.CallDigest(tool.ID(st.Tool), st.Arguments), value(st.Title), value(st.ExpectFailure)})
	}
	text, err := json.Marshal(asked)
	if err != nil {
		panic(err) // strings and a policy of plain fields
	}
	return tool.Digest(text)
}

// input makes what starts the run; its error is a refusal.
func (s *runService) input(ctx context.Context, p *runs.StartPayload, policy tool.Policy, lang string) (planner.Input, error) {
	title := value(p.Title)
	switch {
	case p.Goal != nil:
		in, err := s.caller.PrepareGoal(*p.Goal, value(p.Instructions), policy, lang)
		if err != nil {
			return in, refuse(ctx, kindInvalidBody, "The goal cannot be taken: "+err.Error()+". Nothing was started.")
		}
		if title != "" {
			in.Title = title
		}
		return in, nil
	case len(p.Steps) == 0:
		return planner.Input{RunID: tool.NewRunID(), Kind: planner.KindCaller, Title: title, Language: lang, Policy: policy}, nil
	}
	plan := &planner.Plan{Name: title, Policy: policy}
	var reqs []tool.Request
	for _, st := range p.Steps {
		plan.Steps = append(plan.Steps, planner.PlanStep{Name: value(st.Title), Tool: tool.ID(st.Tool), ExpectFailure: tool.Failure(value(st.ExpectFailure))})
		reqs = append(reqs, tool.Request{CallID: tool.NewCallID(), Tool: tool.ID(st.Tool), Arguments: st.Arguments, Policy: &policy})
	}
	in, err := s.caller.PreparePlan(plan, reqs, lang)
	var bad *planner.PlanError
	switch {
	case errors.As(err, &bad):
		return in, invalidBody(ctx, placed("/steps", bad))
	case err != nil:
		return in, s.refusal(ctx, "", err, fault)
	}
	return in, nil
}

// placed lists the mistakes of calls with pointers into the body that holds them.
func placed(list string, e *planner.PlanError) (is tool.Issues) {
	for _, st := range e.Steps {
		at := fmt.Sprintf("%s/%d", list, st.Number-1)
		var unknown *planner.UnknownToolError
		switch {
		case errors.As(st.Err, &unknown):
			i := tool.Issue{Path: at + "/tool", Constraint: "enum", ExpectedType: "string", Got: clip(string(unknown.Tool)), Message: unknown.Error() + "."}
			for _, n := range unknown.Nearest {
				i.Allowed = append(i.Allowed, string(n))
			}
			if len(i.Allowed) > 0 {
				i.Suggestion = i.Allowed[0]
				i.Message = strings.TrimSuffix(i.Message, ".")
			}
			is = append(is, i)
		case st.Err != nil:
			is = append(is, tool.Issue{Path: at + "/expect_failure", Constraint: "enum", Message: st.Err.Error()})
		}
		for _, i := range st.Issues {
			i.Path = at + "/arguments" + i.Path
			is = append(is, i)
		}
	}
	return is
}

// List lists the latest runs.
func (s *runService) List(ctx context.Context, p *runs.ListPayload) (*runs.ListResult, error) {
	limit := defaultList
	if p.Limit != nil {
		limit = *p.Limit
	}
	list := s.caller.List
	if value(p.Waiting) {
		list = s.caller.ListWaiting
	}
	found, err := list(ctx, limit)
	if err != nil {
		return nil, s.refusal(ctx, "", err, fault)
	}
	res := &runs.ListResult{Runs: []*runs.RunSummary{}}
	for _, r := range found {
		res.Runs = append(res.Runs, &runs.RunSummary{RunID: r.RunID, Title: r.Title, Outcome: string(r.Outcome), Started: instant(r.Started)})
	}
	return res, nil
}

// Show reads a run.
func (s *runService) Show(ctx context.Context, p *runs.ShowPayload) (*runs.RunState, error) {
	st, err := s.caller.State(ctx, p.Run)
	if err != nil {
		return nil, s.refusal(ctx, p.Run, err, fault)
	}
	return wireState(st), nil
}

// Append appends calls to a run and does not wait for them.
func (s *runService) Append(ctx context.Context, p *runs.AppendPayload) (*runs.AppendResult, error) {
	note(ctx, slog.String("run_id", p.Run))
	if n := len(p.Calls); n == 0 || n > planner.MaxAppend {
		return nil, invalidBody(ctx, tool.Issues{{Path: "/calls", Constraint: map[bool]string{true: "minItems", false: "maxItems"}[n == 0],
			Message: fmt.Sprintf("There are %d calls; one request takes 1 to %d.", n, planner.MaxAppend)}})
	}
	release, refused := s.enter(ctx)
	if refused != nil {
		return nil, refused
	}
	defer release()
	reqs := make([]tool.Request, len(p.Calls))
	for i, c := range p.Calls {
		reqs[i] = tool.Request{Tool: tool.ID(c.Tool), Arguments: c.Arguments}
	}
	ids, err := s.caller.Append(ctx, p.Run, reqs, value(p.IdempotencyKey))
	var bad *planner.PlanError
	switch {
	case errors.As(err, &bad):
		return nil, invalidBody(ctx, placed("/calls", bad))
	case err != nil:
		r := s.refusal(ctx, p.Run, err, faultInCall)
		if refused := new(refusal); len(ids) > 0 && errors.As(r, &refused) {
			refused.Detail = fmt.Sprintf("The first %d calls of %d were accepted: %s. The others were not: %s", len(ids), len(reqs), strings.Join(ids, ", "), refused.Detail)
		}
		return nil, r
	}
	res := &runs.AppendResult{Calls: []*runs.AppendedCall{}}
	for i, id := range ids {
		res.Calls = append(res.Calls, &runs.AppendedCall{CallID: id, Tool: p.Calls[i].Tool})
	}
	return res, nil
}

// Result waits for what a call comes to.
func (s *runService) Result(ctx context.Context, p *runs.ResultPayload) (*types.ToolResult, error) {
	note(ctx, slog.String("run_id", p.Run), slog.String("call_id", clip(p.Call)))
	release, refused := s.enter(ctx)
	if refused != nil {
		return nil, refused
	}
	defer release()
	wait, cancel := s.waiting(ctx)
	defer cancel()
	res, err := s.caller.Result(wait, p.Run, p.Call)
	if err == nil {
		err = sendable(res)
	}
	if err != nil {
		if errors.Is(context.Cause(wait), errStopping) {
			return nil, refuse(ctx, kindUnavailable, "toolsvc is stopping. The call goes on; ask for its result again.")
		}
		return nil, s.refusal(ctx, p.Run, err, fault)
	}
	return wireResult(res), nil
}

// Answer answers a question.
func (s *runService) Answer(ctx context.Context, p *runs.AnswerPayload) (*runs.Answered, error) {
	if len(p.Answer) > tool.MaxPayload {
		return nil, tooLarge(ctx, int64(len(p.Answer)))
	}
	return s.answered(ctx, p.Run, func(ctx context.Context) (*tool.Result, error) {
		return s.caller.Answer(ctx, p.Run, p.Question, json.RawMessage(p.Answer), "")
	})
}

// Approve decides about an approval.
func (s *runService) Approve(ctx context.Context, p *runs.ApprovePayload) (*runs.Answered, error) {
	return s.answered(ctx, p.Run, func(ctx context.Context) (*tool.Result, error) {
		return s.caller.Approve(ctx, p.Run, p.Approval, p.Approved, value(p.Digest), "")
	})
}

// answered gives an answer and says what became of it.
func (s *runService) answered(ctx context.Context, run string, give func(context.Context) (*tool.Result, error)) (*runs.Answered, error) {
	note(ctx, slog.String("run_id", run))
	release, refused := s.enter(ctx)
	if refused != nil {
		return nil, refused
	}
	defer release()
	wait, cancel := s.waiting(ctx)
	defer cancel()
	res, err := give(wait)
	if err == nil && res != nil {
		err = sendable(res)
	}
	if err != nil {
		if errors.Is(context.Cause(wait), errStopping) {
			return nil, refuse(ctx, kindUnavailable, "toolsvc is stopping. The answer may have been taken: look at the run before you answer again.")
		}
		return nil, s.refusal(ctx, run, err, "toolsvc failed. Whether the answer was taken is not known: look at the run before you answer again. The log tells more under this request_id.")
	}
	out := &runs.Answered{Outcome: outcomeTaken}
	if res != nil {
		out.Outcome, out.Result = outcomeCalled, wireResult(res)
		if res.Status == tool.StatusNeedsInput && res.Error != nil {
			out.Outcome = outcomeRejected
		}
	}
	note(ctx, slog.String("outcome", out.Outcome))
	return out, nil
}

// Pause keeps the run from beginning another step.
func (s *runService) Pause(ctx context.Context, p *runs.PausePayload) error {
	return s.control(ctx, p.Run, s.caller.Pause)
}

// Resume lets a paused run go on.
func (s *runService) Resume(ctx context.Context, p *runs.ResumePayload) error {
	return s.control(ctx, p.Run, s.caller.Resume)
}

// Cancel ends the run.
func (s *runService) Cancel(ctx context.Context, p *runs.CancelPayload) error {
	return s.control(ctx, p.Run, s.caller.Cancel)
}

func (s *runService) control(ctx context.Context, run string, do func(context.Context, string) error) error {
	note(ctx, slog.String("run_id", run))
	if err := do(ctx, run); err != nil {
		return s.refusal(ctx, run, err, "toolsvc failed. Look at the run before you try again. The log tells more under this request_id.")
	}
	return nil
}

// refusal turns an error about a run into a refusal, or into the context's error when nobody is there to read one.
func (s *runService) refusal(ctx context.Context, run string, err error, otherwise string) error {
	if errors.Is(err, planner.ErrUnknownRun) && run != "" {
		if over, e := s.caller.Ended(ctx, run); e == nil && over { // Temporal says "not found" of a run that is over, too
			err = planner.ErrRunEnded
		}
	}
	var forbidden *auth.ForbiddenError
	switch {
	case errors.As(err, &forbidden):
		return refuseForbidden(ctx, forbidden)
	case errors.Is(err, planner.ErrUnknownRun):
		return refuse(ctx, kindUnknownRun, fmt.Sprintf("There is no run %q. Nothing was done.", clip(run)))
	case errors.Is(err, planner.ErrUnknownCall):
		return refuse(ctx, kindUnknownCall, fmt.Sprintf("The run %q has no such call, or ended before making it.", clip(run)))
	case errors.Is(err, planner.ErrRunEnded):
		return refuse(ctx, kindRunEnded, fmt.Sprintf("The run %q has ended. Nothing was done.", clip(run)))
	case errors.Is(err, planner.ErrQuestionClosed):
		return refuse(ctx, kindQuestionClosed, "The question is not open: it was answered, has expired, or never was. Nothing was done; the run tells which questions are open.")
	case errors.Is(err, planner.ErrRunFull):
		return refuse(ctx, kindRunFull, fmt.Sprintf("Too many calls wait in the run %q; wait until some have ended.", clip(run)))
	case interruptedBy(ctx, run, err) != nil:
		s.log.ErrorContext(ctx, "a request about a run was interrupted", "request_id", requestID(ctx), "run_id", run, "error", err)
		return interruptedBy(ctx, run, err)
	case errors.Is(err, planner.ErrNoRoom):
		return refuse(ctx, kindNoRoom, noRoom+" Nothing was accepted; send the same request again later.")
	case errors.Is(err, planner.ErrUnavailable):
		return refuse(ctx, kindUnavailable, "Temporal, which keeps the runs, cannot be reached. Nothing was accepted; send the same request again later.")
	case errors.Is(err, store.ErrKeyReused):
		return refuseKey(ctx)
	case errors.Is(err, planner.ErrNoKeys):
		return refuseNoKeys(ctx)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	s.log.ErrorContext(ctx, "a request about a run failed", "request_id", requestID(ctx), "run_id", run, "error", err)
	return refuse(ctx, kindInternal, otherwise)
}

func refuseForbidden(ctx context.Context, e *auth.ForbiddenError) *refusal {
	text := e.Error()
	first, size := utf8.DecodeRuneInString(text)
	return refuse(ctx, kindForbidden, strings.ToUpper(string(first))+text[size:]+". Nothing was done.")
}

func refuseKey(ctx context.Context) *refusal {
	return refuse(ctx, kindKeyReused, "The idempotency key was used before with another request. Nothing was done. Send the same request as the first time, or take another key.")
}

func refuseNoKeys(ctx context.Context) *refusal {
	return refuse(ctx, kindInvalidParameter, "Idempotency keys are not kept here, so a repeated request would be done a second time. Nothing was done. Send the request without a key.")
}

// invalidBody lists everything that is wrong with a body.
func invalidBody(ctx context.Context, issues tool.Issues) *refusal {
	detail := "The body has one mistake: " + issues[0].Message
	if n := len(issues); n > 1 {
		detail = fmt.Sprintf("The body has %d mistakes; the first is at %q: %s", n, issues[0].Path, issues[0].Message)
	}
	r := refuse(ctx, kindInvalidBody, detail+" Nothing was done.")
	r.Issues = wireIssues(issues)
	return r
}

// preferred is the language of the narration: the first of the preferences that is spoken.
func preferred(preferences ...*string) string {
	var list []string
	for _, p := range preferences {
		if p != nil {
			list = append(list, *p)
		}
	}
	return string(narration.Match(list...))
}

// sendable rejects a result that would break off behind its status.
func sendable(res *tool.Result) error {
	switch {
	case res == nil:
		return errors.New("neither a result nor an error came back")
	case res.Result != nil && !json.Valid(res.Result):
		return errors.New("a result that is no JSON came back")
	}
	return nil
}
