package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/planner"
	"toolsvc/server/auth"
	"toolsvc/store"
	"toolsvc/tool"
)

// maxRounds bounds how many questions one request asks a client with sessions; what is still open then is needs_input.
const maxRounds = 10

// callTool handles tools/call for a tool of the registry.
func (s *Surface) callTool(spec *tool.Spec) sdk.ToolHandler {
	ownRun := !hasProperty(spec.PayloadSchema, runProperty)
	return func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		c := s.clientOf(r)
		if s.o.TaskRequired != nil && s.o.TaskRequired(spec.ID) && !c.tasks() {
			return nil, errNoTasks()
		}
		if r.Params.RequestState != "" {
			out, err := s.resume(ctx, c, spec, r)
			return s.wanting(c, r.Params.Name, out, err)
		}
		call := calling{spec: spec, args: r.Params.Arguments}
		if ownRun {
			call.run, call.args = cutRun(call.args)
		}
		if m, ok := r.Params.Meta[metaRun].(string); ok && call.run == "" && len(m) <= maxRunID {
			call.run = m
		}
		call.run = s.runOf(c, call.run)
		if k, ok := r.Params.Meta[metaKey].(string); ok && k != "" {
			call.key = s.scoped(c, k)
		}
		res, err := s.make(ctx, c, call, r.Params.GetProgressToken())
		if err != nil || res == nil { // a task in place of a result
			return s.wanting(c, r.Params.Name, &sdk.CallToolResult{}, err)
		}
		out, err := s.settle(ctx, c, r, res)
		return s.wanting(c, r.Params.Name, out, err)
	}
}

// calling is a call on its way.
type calling struct {
	spec *tool.Spec
	args json.RawMessage
	// run is the run that was asked for, "" for the client's own.
	run string
	// key makes a repeated request get the first one's result; "" for none.
	key string
}

// make makes the call. A run of the client's that has ended meanwhile is replaced by another; one that was asked for is not.
func (s *Surface) make(ctx context.Context, c client, call calling, token any) (*tool.Result, error) {
	policy := s.policy(c)
	req := tool.Request{CallID: tool.NewCallID(), RunID: call.run, Tool: call.spec.ID, Arguments: call.args, Policy: &policy, IdempotencyKey: call.key}
	if req.RunID == "" {
		req.RunID = s.runs.of(c.key)
	}
	for generation := 1; ; generation++ {
		res, err := s.tell(ctx, c, req, token)
		if !errors.Is(err, planner.ErrRunEnded) || call.run != "" || generation > maxGenerations+1 {
			return s.resultOf(ctx, req, res, err)
		}
		req.RunID = s.runs.next(c.key, req.RunID, generation)
	}
}

// policy is that of a run that the client's call starts: a client that can show a form is asked for what is missing.
func (s *Surface) policy(c client) tool.Policy {
	p := s.o.Policy
	switch {
	case c.elicits() || s.o.Ask:
		p.Repair, p.Ask = tool.RepairPerson, true
	case c.samples() && !p.Repair.Reaches(tool.RepairModel):
		p.Repair = tool.RepairModel
	}
	return p
}

// tell makes the call, and tells the client meanwhile what is going on.
func (s *Surface) tell(ctx context.Context, c client, req tool.Request, token any) (*tool.Result, error) {
	return s.during(ctx, c, req, token, func(ctx context.Context) (*tool.Result, error) { return s.o.Service.Call(ctx, req, c.lang) })
}

// during waits for what becomes of a call. Meanwhile the client hears what is going on, and its tool may ask it something. When the client
// says that it does not want the call any more, the call ends; when the client is merely gone, it goes on.
func (s *Surface) during(ctx context.Context, c client, req tool.Request, token any, wait func(context.Context) (*tool.Result, error)) (*tool.Result, error) {
	l, end := s.begin(ctx, c, req.CallID, token)
	defer end()
	watching, stop := context.WithCancel(ctx)
	done := s.narrate(watching, l, req.RunID, req.CallID)
	res, err := s.await(ctx, c, l, req, wait)
	stop()
	<-done
	if ctx.Err() != nil && s.cancels.wanted(c.session) {
		s.drop(detached(ctx), req)
	}
	return res, err
}

// resultOf turns what the service says into a result; only the end of ctx stays an error. A call that became a task has neither.
func (s *Surface) resultOf(ctx context.Context, req tool.Request, res *tool.Result, err error) (*tool.Result, error) {
	if sl, ok := ctx.Value(slotKey).(*slot); ok && sl.task != nil {
		return nil, nil
	}
	switch {
	case err == nil && res != nil:
		if res.RunID == "" {
			res.RunID = req.RunID
		}
		return res, nil
	case ctx.Err() != nil:
		return nil, ctx.Err() // the client has cancelled, or is gone
	}
	if wanted := new(inputWanted); errors.As(err, &wanted) {
		return nil, err
	}
	if err == nil {
		err = errors.New("neither a result nor an error came back")
	}
	return s.refused(req, err), nil
}

// unavailableFor is the wait that is advised when Temporal cannot be reached.
const unavailableFor = 5 * time.Second

// refused is the result of a call that the service did not accept, or lost.
func (s *Surface) refused(req tool.Request, err error) *tool.Result {
	res := &tool.Result{CallID: req.CallID, RunID: req.RunID, Tool: req.Tool}
	fail := func(f tool.Failure, message string, hint *tool.RetryHint) {
		res.Error, res.RetryHint = tool.NewErrorWithCause(f, message, err), hint
	}
	var unknown *planner.UnknownToolError
	var forbidden *auth.ForbiddenError
	var full *planner.FilledError
	switch {
	case errors.As(err, &unknown):
		m := unknown.Error() + " Nothing was called."
		fail(tool.ToolUnavailable, m, tool.HintStop(req.Tool, tool.ReasonPolicyDenied, m))
	case errors.As(err, &forbidden):
		m := forbidden.Error() + ". Nothing was done."
		fail(tool.PolicyDenied, m, tool.HintStop(req.Tool, tool.ReasonPolicyDenied, m))
	case errors.Is(err, planner.ErrQuestionClosed):
		m := "The question is not open any more: it was answered, has expired, or never was. Nothing was changed; look at the run with run_get."
		fail(tool.PreconditionFailed, m, tool.HintStop(req.Tool, tool.ReasonCancelled, m))
	case errors.Is(err, planner.ErrUnknownCall):
		m := fmt.Sprintf("The run %s has no call %s. Nothing was changed; look at the run with run_get.", req.RunID, req.CallID)
		fail(tool.PreconditionFailed, m, tool.HintStop(req.Tool, tool.ReasonCancelled, m))
	case errors.Is(err, store.ErrKeyReused):
		m := "The idempotency key was used for another call. Nothing was called; use a new key."
		fail(tool.PreconditionFailed, m, tool.HintStop(req.Tool, tool.ReasonPolicyDenied, m))
	case errors.Is(err, planner.ErrRunEnded), errors.Is(err, planner.ErrUnknownRun):
		m := fmt.Sprintf("The run %s has ended, or there is none. Nothing was done. ", req.RunID)
		switch {
		case req.Tool == "run.get":
			m += "Leave run out to look at the current one."
		case req.Tool.Toolset() == "run":
			m += "Take the run from the result that asked."
		default:
			m += "Leave run out to work in a new one."
		}
		fail(tool.PreconditionFailed, m, tool.HintStop(req.Tool, tool.ReasonCancelled, m))
		res.Error.Cause = nil // says the same in the words of Temporal
	case errors.Is(err, planner.ErrRunFull):
		m := "Too many calls wait in this run. Nothing was called; wait until some have ended."
		fail(tool.RateLimited, m, tool.HintWait(req.Tool, tool.ReasonRateLimited, m, time.Second))
	case errors.Is(err, planner.ErrNoRoom):
		m := "The disk that keeps the runs is full. Nothing was accepted; send the same call again when its operator has made room."
		fail(tool.ToolUnavailable, m, tool.HintWait(req.Tool, tool.ReasonToolUnavailable, m, unavailableFor))
	case errors.Is(err, planner.ErrUnavailable):
		m := "Temporal, which keeps the runs, cannot be reached. Nothing was accepted; send the same call again later."
		fail(tool.ToolUnavailable, m, tool.HintWait(req.Tool, tool.ReasonToolUnavailable, m, unavailableFor))
	case errors.As(err, &full):
		m := "The disk that keeps the runs became full before the result came. The call may have been made, and its run goes on when there is room: look with run_get before calling again."
		if res.RunID == "" {
			res.RunID = full.RunID
		}
		fail(tool.OutcomeUnknown, m, tool.HintUnknown(req.Tool, m, nil))
		res.Error.Cause = nil // it names folders
	case errors.Is(err, planner.ErrInterrupted):
		m := "Temporal was lost before the result came. The call may go on in its run: look with run_get before calling again."
		fail(tool.OutcomeUnknown, m, tool.HintUnknown(req.Tool, m, nil))
	default:
		s.log.Error("a call failed", "tool", req.Tool, "call_id", req.CallID, "error", err)
		m := "toolsvc met a fault of its own; its log says more. The call may have been made: look before calling again."
		fail(tool.Internal, m, tool.HintUnknown(req.Tool, m, nil))
		res.Error.Cause = nil // inner workings are for the log
	}
	return res
}

// settle answers a request with a result: at once when the call has ended, and by asking the client when it waits for an answer.
func (s *Surface) settle(ctx context.Context, c client, r *sdk.CallToolRequest, res *tool.Result) (*sdk.CallToolResult, error) {
	for round := 0; ; round++ {
		q := res.Question
		switch {
		case q == nil || !c.elicits() || round == maxRounds:
			return s.render(ctx, c, res), nil
		case c.modern:
			return s.inputRequired(c, r.Params.Name, res)
		}
		reply, err := r.Session.Elicit(ctx, elicitation(q, wrongIn(res)))
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			s.log.Warn("a client did not answer an elicitation", "client", c.name, "question", q.ID, "error", err)
			return s.render(ctx, c, res), nil
		}
		next, answered, err := s.give(ctx, c, q, reply, r.Params.GetProgressToken())
		if err != nil {
			return nil, err
		}
		if !answered {
			return s.render(ctx, c, res), nil
		}
		res = next
	}
}

// wrongIn is what was wrong with the answer that a result refuses.
func wrongIn(res *tool.Result) tool.Issues {
	if res.RetryHint == nil {
		return nil
	}
	return res.RetryHint.Fields().Issues
}

// give hands a person's reply to the run. answered is false when the reply is none: the question stays open then.
func (s *Surface) give(ctx context.Context, c client, q *tool.Question, reply *sdk.ElicitResult, token any) (res *tool.Result, answered bool, err error) {
	a := answerOf(q, reply)
	if a.none {
		return nil, false, nil
	}
	res, err = s.answer(ctx, c, q, a, token)
	return res, err == nil, err
}

// answer hands an answer, or a decision, to the run.
func (s *Surface) answer(ctx context.Context, c client, q *tool.Question, a answer, token any) (*tool.Result, error) {
	req := tool.Request{CallID: q.CallID, RunID: q.RunID, Tool: q.Tool}
	res, err := s.during(ctx, c, req, token, func(ctx context.Context) (*tool.Result, error) { return s.reply(ctx, c, q, a) })
	return s.resultOf(ctx, req, res, err)
}

func (s *Surface) reply(ctx context.Context, c client, q *tool.Question, a answer) (*tool.Result, error) {
	if q.Kind == tool.AskApproval {
		return s.o.Service.Approve(ctx, q.RunID, q.ID, a.approved, q.Digest, c.by())
	}
	return s.o.Service.Answer(ctx, q.RunID, q.ID, a.value, c.by())
}

// pending is what a requestState carries: which question of which run a retried request answers.
type pending struct {
	Run      string `json:"r"`
	Call     string `json:"c"`
	Question string `json:"q"`
	// Name is the MCP name of the tool that was called: an answer cannot be moved to another.
	Name string `json:"n"`
	// Identity is the user who was asked.
	Identity string `json:"i,omitempty"`
}

const purposeState = "requestState"

// inputRequired answers with the question, in the era without sessions: the client asks, and sends the request again with the reply.
func (s *Surface) inputRequired(c client, name string, res *tool.Result) (*sdk.CallToolResult, error) {
	q := res.Question
	state, err := sealed(s.o.Key, purposeState, expiry(q), pending{Run: q.RunID, Call: res.CallID, Question: q.ID, Name: name, Identity: c.identity})
	if err != nil {
		return nil, err
	}
	return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{q.ID: elicitation(q, wrongIn(res))}, RequestState: state}, nil
}

// expiry is when a question stops being answerable.
func expiry(q *tool.Question) time.Time {
	if q.ExpiresAt.IsZero() {
		return time.Now().Add(tool.DefaultQuestionTTL)
	}
	return q.ExpiresAt
}

// resume goes on with a call whose question the client has shown. Nothing but the state says which call that is, so it works after a
// restart, on another machine, and with other arguments in the request: those were accepted long ago.
func (s *Surface) resume(ctx context.Context, c client, spec *tool.Spec, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	p, err := opened[pending](s.o.Key, purposeState, r.Params.RequestState, time.Now())
	if err != nil || p.Name != r.Params.Name || p.Identity != c.identity {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "The requestState cannot be used: " + errSeal.Error() + ". Make the call anew, without it."}
	}
	req := tool.Request{CallID: p.Call, RunID: p.Run, Tool: spec.ID}
	res, err := s.during(ctx, c, req, r.Params.GetProgressToken(), func(ctx context.Context) (*tool.Result, error) {
		s.answered(p.Question, r.Params.InputResponses[p.Question])
		return s.o.Service.Result(ctx, p.Run, p.Call)
	})
	if res, err = s.resultOf(ctx, req, res, err); err != nil || res == nil {
		return &sdk.CallToolResult{}, err
	}
	if q := res.Question; q != nil && q.ID == p.Question {
		reply, ok := r.Params.InputResponses[p.Question].(*sdk.ElicitResult)
		if !ok { // nobody has replied: ask again
			return s.settle(ctx, c, r, res)
		}
		next, answered, err := s.give(ctx, c, q, reply, r.Params.GetProgressToken())
		switch {
		case err != nil:
			return nil, err
		case !answered:
			return s.render(ctx, c, res), nil
		case next == nil: // it goes on as a task
			return &sdk.CallToolResult{}, nil
		}
		res = next
	}
	return s.settle(ctx, c, r, res) // answered elsewhere meanwhile, or the next question
}
