package tool

import (
	"context"
	"encoding/json"
)

// Call is a validated call on its way to an executor.
type Call struct {
	ID, RunID string
	// Step is the 1-based number of the call in its run.
	Step int
	Spec *Spec
	// Args is the payload: a pointer to the struct that was generated for the tool.
	Args Payload
	// Raw is the same payload as JSON.
	Raw json.RawMessage
}

// Payload is what every generated payload struct implements.
type Payload interface {
	// Expectations are the caller's conditions ("expect"): CEL expressions that must hold afterwards.
	Expectations() []string
	// Purpose is the caller's "intent": one sentence, why.
	Purpose() string
}

// Plan is how one attempt is to be made.
type Plan struct {
	// Number of the attempt, from 1.
	Number int
	Source Source
	Input  Input
}

// Executor does the work of a toolset. It knows one world (a browser, a shell, a service) and nothing of queues or retries.
// It is safe for concurrent use by different runs; calls of one run come one after the other.
type Executor interface {
	// Applies reports whether the source can be used for this call at all (no OCR on this machine, a target without a name);
	// a source that does not apply is skipped and costs no attempt.
	Applies(call *Call, source Source) bool
	// Begin readies the run's session (starting or rebuilding it where necessary) for one attempt.
	Begin(ctx context.Context, call *Call, plan Plan) (Attempt, error)
}

// Attempt is one attempt at a call. The order is Resolve, Observe, Dispatch, Settle, Observe, perhaps Rollback, Close; each at most once but Observe;
// an error ends the attempt. Errors are *Failed or wrap one.
type Attempt interface {
	// Observe collects fresh evidence without changing anything. It is called after Resolve, immediately before Dispatch ("before"),
	// and again after Settle ("after", several times when the effect takes a while to show); for tools with preconditions also once
	// before Resolve, when no target is known yet.
	Observe(ctx context.Context, needs Needs) (*Evidence, error)
	// Resolve grounds the call: finds the target by the plan's source, waits until it can be acted upon (bounded), and checks
	// that it can. It changes nothing except scrolling, and dismissing a known harmless cover.
	Resolve(ctx context.Context) error
	// Dispatch sends the action. A *Failed with Dispatched false guarantees that nothing was sent.
	Dispatch(ctx context.Context) error
	// Settle waits (bounded) until the world has come to rest, and says what is known of the effect and the tool's result.
	Settle(ctx context.Context) (Outcome, error)
	// Rollback undoes what the attempt changed, and reports whether the state is proven to be as before it.
	Rollback(ctx context.Context) (Rollback, error)
	// Close frees what the attempt holds. The session stays.
	Close() error
}

// Reconciler is an executor that can find out, by observing only, whether a dispatch whose attempt died had its effect.
type Reconciler interface {
	// Reconcile compares the world with the evidence from before the dispatch. EffectUnknown when that does not decide.
	Reconcile(ctx context.Context, call *Call, before *Evidence) (Attempt, Outcome, error)
}

// Concealing is an attempt that knows which of its arguments are secrets, because they go where what is held is concealed.
type Concealing interface {
	// Secrets are JSON Pointers into the arguments; none when there are none. More may be known after the latest observation.
	Secrets() []string
}

// Learner is an attempt that learns from how it was judged: what was verified is remembered, what was refuted is forgotten.
type Learner interface {
	// Learn is told the verdict on the attempt, at most once, after its last observation and before a rollback. It changes nothing in
	// the world that was acted upon. Its error does not touch the verdict: it only says that nothing could be learnt.
	Learn(ctx context.Context, verdict Verdict) error
}

// Releaser is an executor that holds something for a run between its calls: a tab, a shell.
type Releaser interface {
	// Close gives up what is held for the run; nothing when there is none. It is called when the run has ended.
	Close(ctx context.Context, runID string) error
}

// Outcome is what is known after an action has settled.
type Outcome struct {
	// Result is the tool's typed result: a pointer to the struct that was generated for it; nil when there is none to give.
	Result any
	Effect Effect
	// Proof says in one sentence why the effect is what it is.
	Proof string
	// Final: the action has ended, and what follows from it is there. Looking again later would show the same, or somebody else's doing.
	Final bool
}

// Rollback is what a rollback came to.
type Rollback struct {
	// Performed reports that the state is proven to be as before the attempt.
	Performed bool `json:"performed"`
	// RestoredTo says to which state, in words.
	RestoredTo string `json:"restored_to,omitempty"`
	// Refused says why nothing, or not everything, was undone.
	Refused string `json:"refused,omitempty"`
}

// Pictured is an attempt whose world can be seen: a model that verifies is shown the picture.
type Pictured interface {
	// Picture is a PNG of what a person would see now, without secrets, with the number of its pixels for each CSS pixel.
	Picture(ctx context.Context) (png []byte, scale float64, err error)
}

// Transactional is an attempt that can be taken back also when it ended in an error after its dispatch: nothing of it goes on then, and
// what it left is known. A command that was ended by its time limit is one; a click whose page was lost is not.
type Transactional interface {
	RollbackAfterError() bool
}
