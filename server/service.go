package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"toolsvc/gen/tools"
	"toolsvc/planner"
	"toolsvc/server/auth"
	"toolsvc/store"
	"toolsvc/tool"
)

// Outcomes of a call, as the design names them.
const (
	outcomeCalled   = "called"
	outcomeRejected = "rejected"
)

// service is the Goa service "tools", for both transports.
type service struct {
	*bounds
	caller   auth.Service
	registry *tool.Registry
	log      *slog.Logger
}

var _ tools.Service = (*service)(nil)

// List lists the whole catalogue, sorted by identifier.
func (s *service) List(context.Context) (*tools.ListResult, error) {
	res := &tools.ListResult{Tools: []*tools.ToolSpec{}}
	for _, id := range s.registry.IDs() {
		res.Tools = append(res.Tools, catalogueEntry(s.registry.Lookup(id)))
	}
	return res, nil
}

// Show describes one tool.
func (s *service) Show(ctx context.Context, p *tools.ShowPayload) (*tools.ToolSpec, error) {
	id := tool.ID(p.Tool)
	spec := s.registry.Lookup(id)
	if spec == nil {
		return nil, unknownTool(ctx, id, s.registry.Nearest(id))
	}
	return catalogueEntry(spec), nil
}

// Call makes a call and waits for its result.
func (s *service) Call(ctx context.Context, p *tools.CallPayload) (*tools.CallResult, error) {
	if len(p.Arguments) > tool.MaxPayload {
		return nil, tooLarge(ctx, int64(len(p.Arguments)))
	}
	release, refused := s.enter(ctx)
	if refused != nil {
		return nil, refused
	}
	defer release()
	req := tool.Request{CallID: tool.NewCallID(), Tool: tool.ID(p.Tool), Arguments: p.Arguments, IdempotencyKey: value(p.IdempotencyKey), Policy: policyOfCall(p)}
	if p.Run != nil {
		req.RunID = *p.Run
	}
	note(ctx, slog.String("tool", clip(p.Tool)), slog.String("call_id", req.CallID))

	wait, cancel := s.waiting(ctx)
	defer cancel()
	res, err := s.caller.Call(wait, req, preferred(p.Lang, p.AcceptLanguage))
	if err == nil {
		err = sendable(res)
	}
	if err != nil {
		if r := interruptedBy(ctx, req.RunID, err); r != nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "a call was interrupted", "request_id", requestID(ctx), "tool", req.Tool, "call_id", req.CallID, "error", err)
			return nil, r
		}
		if r := refusalOf(ctx, req, err); r != nil {
			s.log.DebugContext(ctx, "a call was refused", "request_id", requestID(ctx), "error", err)
			return nil, r
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err() // nobody is there to read an answer
		case errors.Is(context.Cause(wait), errStopping):
			res = unfinished(req)
		default:
			s.log.ErrorContext(ctx, "a call failed", "request_id", requestID(ctx), "tool", req.Tool, "call_id", req.CallID, "error", err)
			return nil, refuse(ctx, kindInternal, faultInCall)
		}
	}
	out := &tools.CallResult{Outcome: outcomeCalled, Result: wireResult(res)}
	if rejected(res) {
		out.Outcome = outcomeRejected
	}
	note(ctx, slog.String("run_id", res.RunID), slog.String("outcome", out.Outcome), slog.Bool("ok", res.OK()))
	if res.Error != nil {
		note(ctx, slog.String("error_code", string(res.Error.Code)))
	}
	return out, nil
}

// policyOfCall is the policy that the parameters ask for; nil when they ask for none.
func policyOfCall(p *tools.CallPayload) *tool.Policy {
	if p.Repair == nil && p.Ask == nil && p.Approve == nil {
		return nil
	}
	return &tool.Policy{Repair: tool.RepairLevel(value(p.Repair)), Ask: value(p.Ask), Approve: tool.ApproveMode(value(p.Approve))}
}

// rejected reports whether the payload was found invalid before it entered a run. The same codes with attempts come from a worker whose
// tools differ from ours: that call was made.
func rejected(r *tool.Result) bool {
	return r.Error != nil && (r.Error.Code == tool.InvalidArguments || r.Error.Code == tool.MissingFields) && len(r.Attempts) == 0 && r.RunLink == nil
}

// unfinished is the result for a client whose call goes on although the server stops waiting for it. The client must not repeat it.
func unfinished(req tool.Request) *tool.Result {
	const message = "toolsvc stopped while this call was under way. The call goes on in its run, and its outcome is not known here: look at the state before calling again."
	return &tool.Result{CallID: req.CallID, RunID: req.RunID, Tool: req.Tool, Error: tool.NewError(tool.OutcomeUnknown, message),
		RetryHint: tool.HintUnknown(req.Tool, message, nil)}
}

// refusalOf turns an error of the Caller that says that nothing was called into a refusal; nil for any other error.
func refusalOf(ctx context.Context, req tool.Request, err error) *refusal {
	var unknown *planner.UnknownToolError
	var forbidden *auth.ForbiddenError
	switch {
	case errors.As(err, &forbidden):
		return refuseForbidden(ctx, forbidden)
	case errors.Is(err, store.ErrKeyReused):
		return refuseKey(ctx)
	case errors.Is(err, planner.ErrNoKeys):
		return refuseNoKeys(ctx)
	case errors.As(err, &unknown):
		return unknownTool(ctx, unknown.Tool, unknown.Nearest)
	case errors.Is(err, planner.ErrUnknownRun):
		return refuse(ctx, kindUnknownRun, fmt.Sprintf("There is no run %q. Nothing was called. Leave run out to make the call in a run of its own.", clip(req.RunID)))
	case errors.Is(err, planner.ErrRunEnded):
		return refuse(ctx, kindRunEnded, fmt.Sprintf("The run %q has ended and takes no more calls. Nothing was called. Name another run, or none.", clip(req.RunID)))
	case errors.Is(err, planner.ErrRunFull):
		return refuse(ctx, kindRunFull, fmt.Sprintf("Too many calls wait in the run %q. Nothing was called; wait until some have ended.", clip(req.RunID)))
	case errors.Is(err, planner.ErrNoRoom):
		return refuse(ctx, kindNoRoom, noRoom+" Nothing was accepted; send the same request again later.")
	case errors.Is(err, planner.ErrUnavailable):
		return refuse(ctx, kindUnavailable, "Temporal, which keeps the runs, cannot be reached. Nothing was accepted; send the same request again later.")
	}
	return nil
}

// unknownTool names the tools that may be meant.
func unknownTool(ctx context.Context, id tool.ID, nearest []tool.ID) *refusal {
	detail := fmt.Sprintf("There is no tool %q.", clip(string(id)))
	names := make([]string, len(nearest))
	for i, n := range nearest {
		names[i] = string(n)
	}
	if len(names) > 0 {
		detail += " Is " + alternatives(names) + " meant?"
	}
	r := refuse(ctx, kindUnknownTool, detail+" The catalogue lists all tools.")
	r.Nearest = names
	return r
}

// tooLarge refuses a payload; size is in bytes, or -1 when it is not known.
func tooLarge(ctx context.Context, size int64) *refusal {
	has := "more"
	if size >= 0 {
		has = fmt.Sprint(size)
	}
	return refuse(ctx, kindPayloadTooLarge, fmt.Sprintf("A payload may have %d bytes; this one has %s. Nothing was called. Put large content in several calls, or in a file that the tool reads.", tool.MaxPayload, has))
}
