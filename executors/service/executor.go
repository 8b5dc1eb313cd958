package service

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptrace"
	"slices"
	"sync/atomic"

	"toolsvc/tool"
)

// Executor does the tools of one toolset. It holds no session: calls of different runs go to the service side by side.
type Executor struct{ bindings map[tool.ID]*Binding }

var (
	_ tool.Executor   = (*Executor)(nil)
	_ tool.Reconciler = (*Executor)(nil)
)

// New makes the executor of the bound tools.
func New(bindings ...*Binding) *Executor {
	e := &Executor{bindings: map[tool.ID]*Binding{}}
	for _, b := range bindings {
		e.bindings[b.Tool] = b
	}
	return e
}

// Applies reports true for the one source that needs no target.
func (e *Executor) Applies(_ *tool.Call, source tool.Source) bool { return source == tool.SourceSystem }

// Begin readies one attempt.
func (e *Executor) Begin(_ context.Context, call *tool.Call, _ tool.Plan) (tool.Attempt, error) {
	return e.begin(call)
}

func (e *Executor) begin(call *tool.Call) (*attempt, error) {
	b := e.bindings[call.Spec.ID]
	if b == nil {
		return nil, tool.Failf(tool.ToolUnavailable, "%s is bound to no method in this process; generate the code again and build it anew", call.Spec.ID)
	}
	return &attempt{b: b, in: Input{Args: call.Args, CallID: call.ID}}, nil
}

// Reconcile looks at what a call left whose answer was lost. A state that changed tells that something happened, and the conditions of
// the call tell whether it was this. One that did not change decides nothing, because the request may still be under way, unless the tool
// may be repeated: then the conditions decide.
func (e *Executor) Reconcile(ctx context.Context, call *tool.Call, before *tool.Evidence) (tool.Attempt, tool.Outcome, error) {
	a, err := e.begin(call)
	if err != nil {
		return nil, tool.Outcome{}, err
	}
	if a.b.Observe == nil {
		return nil, tool.Outcome{}, fmt.Errorf("the design of %s declares no Observe, so nothing can be found out", call.Spec.ID)
	}
	_, now, result, err := a.look(ctx)
	if err != nil {
		return nil, tool.Outcome{}, err
	}
	if result == nil && a.b.NoResult != nil {
		result = a.b.NoResult()
	}
	if result == nil {
		return nil, tool.Outcome{}, fmt.Errorf("the answer of %s is lost, and what can be observed does not hold it", call.Spec.ID)
	}
	a.before, a.beforeJSON, err = plain(before.Values["state"])
	if err != nil {
		return nil, tool.Outcome{}, err
	}
	a.dispatched, a.result = true, result
	out := tool.Outcome{Result: result, Effect: tool.EffectConfirmed, Proof: "what is observed has changed since the call was made"}
	if now == a.beforeJSON {
		out.Effect, out.Proof = tool.EffectUnknown, "what is observed is as before, but the request may still be under way"
		if !a.b.Effect.Repeatable() || len(call.Spec.EffectRules) > 0 { // conditions that held before would hold now, and prove nothing
			return nil, tool.Outcome{}, errors.New(out.Proof)
		}
	}
	a.proof = out.Proof
	return a, out, nil
}

// attempt is one call of the method.
type attempt struct {
	b  *Binding
	in Input
	// before is the state as it was last observed before the dispatch.
	before     any
	beforeJSON string
	dispatched bool
	result     any
	// proof says how it is known that the method was called.
	proof string
}

// Observe looks at what the tool acts on, where the design says how.
func (a *attempt) Observe(ctx context.Context, _ tool.Needs) (*tool.Evidence, error) {
	values := map[string]any{}
	changed, known := false, false
	if a.b.Observe != nil {
		state, text, _, err := a.look(ctx)
		if err != nil {
			return nil, err
		}
		values["state"] = state
		if a.dispatched {
			changed, known = text != a.beforeJSON, true
		} else {
			a.before, a.beforeJSON = state, text
		}
	}
	if a.dispatched {
		effect := map[string]any{"delivered": true, "proof": a.proof}
		if known {
			effect["changed"] = changed
		}
		values["effect"] = effect
	}
	return &tool.Evidence{Values: values}, nil
}

// look calls the observing method. A declared error of it is an answer: {"error": name}.
func (a *attempt) look(ctx context.Context) (state any, text string, result any, err error) {
	type answer struct{ state, result any }
	ans, err := within(ctx, func(ctx context.Context) (answer, error) {
		d, r, err := a.b.Observe(ctx, a.in)
		return answer{d, r}, err
	})
	if name := errorName(err); err != nil && slices.Contains(a.b.Absences, name) {
		ans, err = answer{state: map[string]any{"error": name}}, nil
	}
	if err != nil {
		return nil, "", nil, &tool.Failed{Failure: tool.ToolUnavailable, Dispatched: a.dispatched, What: a.b.Service, Cause: err,
			Message: fmt.Sprintf("The service %s could not be observed: %s", a.b.Service, said(err))}
	}
	state, text, err = plain(ans.state)
	if err != nil {
		return nil, "", nil, &tool.Failed{Failure: tool.MalformedResponse, Dispatched: a.dispatched, Cause: err, Message: err.Error()}
	}
	return state, text, ans.result, nil
}

// Resolve has nothing to find.
func (a *attempt) Resolve(context.Context) error { return nil }

// Dispatch calls the method.
func (a *attempt) Dispatch(ctx context.Context) error {
	var asked, connected atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	result, err := within(traced, func(ctx context.Context) (any, error) { return a.b.Call(ctx, a.in) })
	if err == nil {
		a.dispatched, a.result, a.proof = true, result, fmt.Sprintf("the method %s of the service %s answered", a.b.Method, a.b.Service)
		return nil
	}
	f := explain(a.b, err, asked.Load() && !connected.Load())
	if f.Dispatched && lost(a.b, err) && a.recover(ctx) {
		return nil
	}
	return f
}

// recover looks at what became of a call whose answer was lost on its way. Only a state that has changed, and holds the result, makes up
// for the answer; whether it is as it should be is for the conditions to say.
func (a *attempt) recover(ctx context.Context) bool {
	if a.b.Observe == nil {
		return false
	}
	_, now, result, err := a.look(ctx)
	if result == nil && a.b.NoResult != nil {
		result = a.b.NoResult()
	}
	if err != nil || result == nil || now == a.beforeJSON {
		return false // the lost answer is what the caller is told of
	}
	a.dispatched, a.result = true, result
	a.proof = fmt.Sprintf("the answer of the service %s was lost, and what is observed has changed since the call was made", a.b.Service)
	return true
}

// Settle has nothing to wait for: the method has answered.
func (a *attempt) Settle(context.Context) (tool.Outcome, error) {
	out := tool.Outcome{Result: a.result, Effect: tool.EffectConfirmed, Proof: a.proof}
	if a.b.Effect == tool.ReadOnly {
		out.Effect = tool.EffectNone
	}
	return out, nil
}

// Rollback compensates the call. It is performed only when what is observed is as it was before.
func (a *attempt) Rollback(ctx context.Context) (tool.Rollback, error) {
	if a.b.Compensate == nil {
		return tool.Rollback{Refused: "the design of " + string(a.b.Tool) + " declares no Compensate"}, nil
	}
	if _, err := within(ctx, func(ctx context.Context) (any, error) {
		return nil, a.b.Compensate(ctx, a.in, a.result, a.before)
	}); err != nil {
		return tool.Rollback{}, fmt.Errorf("compensate by %s of the service %s: %w", a.b.Compensation, a.b.Service, err)
	}
	done := fmt.Sprintf("%s of the service %s was called", a.b.Compensation, a.b.Service)
	if a.b.Observe == nil {
		return tool.Rollback{Refused: done + ", but the design declares no Observe that proves that the state is as before"}, nil
	}
	_, now, _, err := a.look(ctx)
	if err != nil {
		return tool.Rollback{}, err
	}
	if now != a.beforeJSON {
		return tool.Rollback{Refused: done + ", but what is observed is not as it was before: " + clip(now)}, nil
	}
	return tool.Rollback{Performed: true, RestoredTo: done + ", and what is observed is as it was"}, nil
}

// Close has nothing to free.
func (a *attempt) Close() error { return nil }

// errPanicked is the error of a method that panicked.
var errPanicked = errors.New("the method panicked")

// within calls f and waits for it as long as ctx allows; f may go on after that, and what it answers then is lost.
func within[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	type answer struct {
		v   T
		err error
	}
	done := make(chan answer, 1)
	go func() {
		var ans answer
		defer func() {
			if r := recover(); r != nil {
				ans.err = fmt.Errorf("%w: %v", errPanicked, r)
			}
			done <- ans
		}()
		ans.v, ans.err = f(ctx)
	}()
	select {
	case ans := <-done:
		return ans.v, ans.err
	case <-ctx.Done():
		select { // an answer that is there already counts
		case ans := <-done:
			return ans.v, ans.err
		default:
		}
		var none T
		return none, ctx.Err()
	}
}
