package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"toolsvc/planner"
	"toolsvc/tool"
)

// ForbiddenError: the principal does not have the scope that this takes. Nothing was done.
type ForbiddenError struct {
	Principal string
	Scope     Scope
	// What was asked for, in words.
	What string
}

func (e *ForbiddenError) Error() string {
	if e.Principal == "" {
		return fmt.Sprintf("nobody is known to ask for this: %s takes a token with the scope %s", e.What, e.Scope)
	}
	return fmt.Sprintf("%s takes the scope %s, which the token of %s does not have", e.What, e.Scope, e.Principal)
}

// Service is what is guarded: the planner, as surfaces reach it. planner.Service is one.
type Service interface {
	Call(ctx context.Context, req tool.Request, lang string) (*tool.Result, error)
	PreparePlan(p *planner.Plan, reqs []tool.Request, lang string) (planner.Input, error)
	PrepareGoal(goal, instructions string, p tool.Policy, lang string) (planner.Input, error)
	Start(ctx context.Context, in planner.Input) error
	StartOnce(ctx context.Context, in planner.Input, key, digest string) (runID string, err error)
	State(ctx context.Context, runID string) (*planner.State, error)
	Ended(ctx context.Context, runID string) (bool, error)
	List(ctx context.Context, limit int) ([]planner.Summary, error)
	ListWaiting(ctx context.Context, limit int) ([]planner.Summary, error)
	Append(ctx context.Context, runID string, reqs []tool.Request, idempotencyKey string) ([]string, error)
	Result(ctx context.Context, runID, callID string) (*tool.Result, error)
	Answer(ctx context.Context, runID, questionID string, answer json.RawMessage, by string) (*tool.Result, error)
	Approve(ctx context.Context, runID, approvalID string, approved bool, digest, by string) (*tool.Result, error)
	Pause(ctx context.Context, runID string) error
	Resume(ctx context.Context, runID string) error
	Cancel(ctx context.Context, runID string) error
	CancelCall(ctx context.Context, runID, callID string) error
}

// Guard returns the service for principals: each method asks first whether the principal of its context may do that, and answers with a
// *[ForbiddenError] when not. Idempotency keys become those of the principal, and the principal is the author of answers: what a surface
// says beside it (the name of a client) is added.
func Guard(s Service) Service { return guard{s} }

type guard struct{ Service }

// require is nil when the principal of ctx has the scope.
func require(ctx context.Context, s Scope, what string) error {
	if p := From(ctx); !p.May(s) {
		return &ForbiddenError{Principal: p.Name, Scope: s, What: what}
	}
	return nil
}

// Require is nil when the principal of ctx has the scope, and a *[ForbiddenError] when not; for what does not go through a [Guard].
func Require(ctx context.Context, s Scope, what string) error { return require(ctx, s, what) }

func allowed(ctx context.Context, p tool.Policy) error {
	if p.Approve == tool.ApproveAllow {
		return require(ctx, Approve, "a policy that allows calls without their approval")
	}
	return nil
}

func (g guard) Call(ctx context.Context, req tool.Request, lang string) (*tool.Result, error) {
	if err := require(ctx, Call, "to call a tool"); err != nil {
		return nil, err
	}
	if req.Policy != nil {
		if err := allowed(ctx, *req.Policy); err != nil {
			return nil, err
		}
	}
	req.IdempotencyKey = From(ctx).Key(req.IdempotencyKey)
	return g.Service.Call(ctx, req, lang)
}

func (g guard) Start(ctx context.Context, in planner.Input) error {
	if err := require(ctx, Call, "to start a run"); err != nil {
		return err
	}
	if err := allowed(ctx, in.Policy); err != nil {
		return err
	}
	return g.Service.Start(ctx, in)
}

func (g guard) StartOnce(ctx context.Context, in planner.Input, key, digest string) (string, error) {
	if err := require(ctx, Call, "to start a run"); err != nil {
		return "", err
	}
	if err := allowed(ctx, in.Policy); err != nil {
		return "", err
	}
	return g.Service.StartOnce(ctx, in, From(ctx).Key(key), digest)
}

func (g guard) State(ctx context.Context, runID string) (*planner.State, error) {
	if err := MayRead(ctx); err != nil {
		return nil, err
	}
	return g.Service.State(ctx, runID)
}

// MayRead is nil when the principal of ctx may read runs and what belongs to them: who calls reads what came of it, and who approves reads
// what is to be approved.
func MayRead(ctx context.Context) error {
	if From(ctx).May(Approve) {
		return nil
	}
	return require(ctx, Call, "to read a run")
}

func (g guard) Ended(ctx context.Context, runID string) (bool, error) {
	if err := MayRead(ctx); err != nil {
		return false, err
	}
	return g.Service.Ended(ctx, runID)
}

func (g guard) List(ctx context.Context, limit int) ([]planner.Summary, error) {
	if err := require(ctx, Approve, "to list all runs"); err != nil {
		return nil, err
	}
	return g.Service.List(ctx, limit)
}

func (g guard) ListWaiting(ctx context.Context, limit int) ([]planner.Summary, error) {
	if err := require(ctx, Approve, "to list all runs"); err != nil {
		return nil, err
	}
	return g.Service.ListWaiting(ctx, limit)
}

func (g guard) Append(ctx context.Context, runID string, reqs []tool.Request, idempotencyKey string) ([]string, error) {
	if err := require(ctx, Call, "to call a tool"); err != nil {
		return nil, err
	}
	return g.Service.Append(ctx, runID, reqs, From(ctx).Key(idempotencyKey))
}

func (g guard) Result(ctx context.Context, runID, callID string) (*tool.Result, error) {
	if err := MayRead(ctx); err != nil {
		return nil, err
	}
	return g.Service.Result(ctx, runID, callID)
}

func (g guard) Answer(ctx context.Context, runID, questionID string, answer json.RawMessage, by string) (*tool.Result, error) {
	if err := MayRead(ctx); err != nil {
		return nil, err
	}
	if !From(ctx).May(Approve) { // then only what is no decision of a person
		st, err := g.Service.State(ctx, runID)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(st.Questions, func(q tool.Question) bool { return q.ID == questionID })
		if i < 0 {
			return nil, planner.ErrQuestionClosed
		}
		if k := st.Questions[i].Kind; k == tool.AskApproval || k == tool.AskOutcome {
			return nil, require(ctx, Approve, "to decide about an approval, or to say what became of an action,")
		}
	}
	return g.Service.Answer(ctx, runID, questionID, answer, author(ctx, by))
}

func (g guard) Approve(ctx context.Context, runID, approvalID string, approved bool, digest, by string) (*tool.Result, error) {
	if err := require(ctx, Approve, "to decide about an approval"); err != nil {
		return nil, err
	}
	return g.Service.Approve(ctx, runID, approvalID, approved, digest, author(ctx, by))
}

// author names who answers: the principal, and what the surface knows beside it.
func author(ctx context.Context, by string) string {
	name := From(ctx).Name
	if by == "" || by == name {
		return name
	}
	return name + " (" + by + ")"
}

func (g guard) Pause(ctx context.Context, runID string) error {
	if err := require(ctx, Call, "to pause a run"); err != nil {
		return err
	}
	return g.Service.Pause(ctx, runID)
}

func (g guard) Resume(ctx context.Context, runID string) error {
	if err := require(ctx, Call, "to resume a run"); err != nil {
		return err
	}
	return g.Service.Resume(ctx, runID)
}

func (g guard) CancelCall(ctx context.Context, runID, callID string) error {
	if err := require(ctx, Call, "to cancel a call"); err != nil {
		return err
	}
	return g.Service.CancelCall(ctx, runID, callID)
}

func (g guard) Cancel(ctx context.Context, runID string) error {
	if err := require(ctx, Call, "to cancel a run"); err != nil {
		return err
	}
	return g.Service.Cancel(ctx, runID)
}
