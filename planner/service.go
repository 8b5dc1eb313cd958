package planner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"toolsvc/tool"
)

// Errors of the Service, beside those of the context.
var (
	// ErrUnavailable: Temporal cannot be reached; nothing was accepted.
	ErrUnavailable = errors.New("the Temporal server cannot be reached; nothing was accepted")
	// ErrNoRoom: what is accepted could not be kept; nothing was accepted.
	ErrNoRoom = errors.New("there is no room to keep runs; nothing was accepted")
	// ErrInterrupted: the call may have been accepted, and Temporal was lost before its result came. The run goes on.
	ErrInterrupted = errors.New("the Temporal server was lost before the result came; the call may go on, so look at its run before repeating it")
	// ErrUnknownRun: there is no such run.
	ErrUnknownRun = errors.New("there is no such run")
	// ErrRunEnded: the run takes no more calls.
	ErrRunEnded = errors.New("the run has ended and takes no more calls; start another one")
	// ErrQuestionClosed: the question does not wait for an answer.
	ErrQuestionClosed = errors.New("the question is not open: it was answered, has expired, or never was; look at the run")
	// ErrUnknownCall: the run has no such call.
	ErrUnknownCall = errors.New("the run has no such call")
	// ErrRunFull: too many calls wait in the run.
	ErrRunFull = errors.New("too many calls wait in this run; wait for some to end")
)

// UnknownToolError is the error of a call to a tool that is not there.
type UnknownToolError struct {
	Tool    tool.ID
	Nearest []tool.ID
}

func (e *UnknownToolError) Error() string {
	if len(e.Nearest) == 0 {
		return fmt.Sprintf("there is no tool %q; toolsvc tools lists them", e.Tool)
	}
	names := make([]string, len(e.Nearest))
	for i, n := range e.Nearest {
		names[i] = string(n)
	}
	return fmt.Sprintf("there is no tool %q; is %s meant?", e.Tool, strings.Join(names, " or "))
}

// Service is how surfaces reach runs.
type Service struct {
	// Client of the Temporal service that keeps the runs.
	Client   client.Client
	Registry *tool.Registry
	// Executors by toolset; used here only to ask which sources apply.
	Executors map[string]tool.Executor
	// Keys keeps idempotency keys; nil refuses them.
	Keys Keys
	// Log reads the events of runs, where the results of ended runs are; nil does without.
	Log EventLog
	// Sealer keeps arguments out of histories; nil leaves them in.
	Sealer *Sealer
	// HasModel tells that payloads can be corrected by a model.
	HasModel bool
	// Offers tells that whoever makes a call offers a model of their own; nil when nobody does.
	Offers func(callID string) bool
	// RunURL leads to a run in Temporal's UI; nil when there is none.
	RunURL func(workflowID string) string
	// Room is asked before anything is accepted: its error says that it could not be kept. nil always has room.
	Room func() error
	// Filled is asked while something is under way: its error says that nothing can be written any more, so that its answer will not come.
	// nil is never filled.
	Filled func() error
	// Watcher sees calls come and go; nil when nobody does.
	Watcher CallWatcher
}

// CallWatcher sees what no run keeps: who waits, and who was turned away. telemetry.Telemetry is one.
type CallWatcher interface {
	// Awaited is told that a caller waits for a result, until done is called.
	Awaited() (done func())
	// Rejected is told of a call that was answered without a run.
	Rejected(*tool.Result)
}

// Prepare validates a request and turns it into a Step, without starting anything. A payload that does not validate is answered with a
// Result that holds all issues; err is an *UnknownToolError, or nil.
func (s *Service) Prepare(req tool.Request, lang string) (step Step, rejected *tool.Result, err error) {
	return prepareStep(s.Registry, s.Executors, req, lang)
}

// Start starts a run. The same RunID again joins the run that is there. Errors: [ErrNoRoom], *[FilledError], [ErrUnavailable], [ErrRunEnded].
func (s *Service) Start(ctx context.Context, in Input) error {
	if err := s.room(); err != nil {
		return err
	}
	in.Steps = slices.Clone(in.Steps)
	for i, st := range in.Steps {
		var err error
		if in.Steps[i], err = s.Sealer.seal(belonging(ctx, st)); err != nil {
			return err
		}
	}
	return explain(s.whileRoom(ctx, in.RunID, func(ctx context.Context) error {
		_, err := s.Client.ExecuteWorkflow(ctx, s.options(in), WorkflowRun, in)
		return err
	}))
}

// StartOnce is Start for a request that may come again under its idempotency key: the first one's run is returned, and started unless it is
// there, or has been. Digest identifies what was asked for; the same key with another one is store.ErrKeyReused. Without a key the run is that
// of the input.
//
// Errors: [ErrNoKeys], [ErrNoRoom], *[FilledError], [ErrUnavailable], and those of the store; with any of them, the same request again leads to at most one run.
func (s *Service) StartOnce(ctx context.Context, in Input, key, digest string) (runID string, err error) {
	if key == "" {
		return in.RunID, s.Start(ctx, in)
	}
	if s.Keys == nil {
		return "", ErrNoKeys
	}
	if err := s.room(); err != nil { // a claim needs it, too
		return "", err
	}
	claim, won, err := s.Keys.ClaimKey(ctx, key, tool.NewCallID(), in.RunID, digest) // the call is a name that nothing has: a start makes none
	if err != nil {
		return "", err
	}
	in.RunID = claim.RunID
	err = s.Start(ctx, in)
	if !won && errors.Is(err, ErrRunEnded) { // it was started, and is over
		err = nil
	}
	if err != nil {
		return "", err
	}
	return in.RunID, nil
}

func (s *Service) options(in Input) client.StartWorkflowOptions {
	title := in.Title
	if title == "" && len(in.Steps) > 0 {
		title = in.Steps[0].Title
	}
	if title == "" {
		title = "Run " + in.RunID
	}
	return client.StartWorkflowOptions{
		ID: in.RunID, TaskQueue: TaskQueue, EnableEagerStart: true,
		WorkflowTaskTimeout:      5 * time.Second, // a lost workflow task is made again soon
		WorkflowIDConflictPolicy: conflictPolicy,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		StaticSummary:            clip(title),
		Memo:                     map[string]any{memoTitle: title},
		StaticDetails:            fmt.Sprintf("Run `%s` of toolsvc, planner: %s, language: %s. The current details tell the story step by step.", in.RunID, in.Kind, in.Language),
	}
}

// Call makes one call and waits for its Result: in the run that the request names, which is started when it is not there, or in a run
// of its own. The run goes on if ctx ends first, and, with a *[FilledError], when there is room again.
func (s *Service) Call(ctx context.Context, req tool.Request, lang string) (*tool.Result, error) {
	return s.CallIn(ctx, req, lang, req.RunID == "")
}

// CallIn is Call with a given run, which ends after the call when single is set; "" makes one. A call that needs an answer comes back
// with the status needs_input, and goes on when that is given. With an idempotency key, a repeated request gets what the first one came
// to; the same key with other arguments is store.ErrKeyReused.
func (s *Service) CallIn(ctx context.Context, req tool.Request, lang string, single bool) (*tool.Result, error) {
	if req.CallID == "" {
		req.CallID = tool.NewCallID()
	}
	if s.Watcher != nil {
		defer s.Watcher.Awaited()()
	}
	step, rejected, err := s.Prepare(req, lang)
	if err != nil {
		return nil, err
	}
	if rejected != nil {
		correctable, err := s.correctable(ctx, req)
		if err != nil || !correctable {
			if s.Watcher != nil && err == nil {
				s.Watcher.Rejected(rejected)
			}
			return rejected, err
		}
		step = draftOf(s.Registry.Lookup(req.Tool), req, rejected)
	}
	if err := s.room(); err != nil {
		return nil, err
	}
	if req.RunID == "" {
		req.RunID = tool.NewRunID()
	}
	repeated := false
	if req.IdempotencyKey != "" {
		if repeated, err = s.claim(ctx, &req, &step); err != nil {
			return nil, err
		}
	}
	if step, err = s.Sealer.seal(belonging(ctx, step)); err != nil {
		return nil, err
	}
	in := Input{RunID: req.RunID, Kind: KindCaller, Language: lang, Single: single}
	if req.Policy != nil {
		in.Policy = *req.Policy
	}
	opts := s.options(in)
	if single {
		opts.StaticSummary, opts.Memo[memoTitle] = clip(step.Title), step.Title
	}
	start := s.Client.NewWithStartWorkflowOperation(opts, WorkflowRun, in)
	var res *tool.Result
	err = s.whileRoom(ctx, req.RunID, func(ctx context.Context) error {
		handle, err := s.Client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
			StartWorkflowOperation: start,
			UpdateOptions: client.UpdateWorkflowOptions{UpdateID: req.CallID, UpdateName: UpdateCall, Args: []any{step},
				WaitForStage: client.WorkflowUpdateStageCompleted},
		})
		if err != nil {
			return err
		}
		return handle.Get(ctx, &res)
	})
	if err != nil {
		err = interrupted(err)
		if repeated && errors.Is(err, ErrRunEnded) { // the first one's run is over: its result is in the log
			return s.Result(ctx, req.RunID, req.CallID)
		}
		return nil, err
	}
	if repeated && res.Status == tool.StatusNeedsInput { // that was then
		return s.Result(ctx, req.RunID, req.CallID)
	}
	return s.linked(res), nil
}

// linked fills in where the run of a Result can be looked at.
func (s *Service) linked(res *tool.Result) *tool.Result {
	if res != nil && res.RunLink != nil && res.RunLink.URL == "" && s.RunURL != nil {
		res.RunLink.URL = s.RunURL(res.RunLink.WorkflowID)
	}
	return res
}

// interrupted is explain for a call that was on its way: only a connection that was never made proves that nothing was accepted.
func interrupted(err error) error {
	explained := explain(err)
	if errors.Is(explained, ErrUnavailable) && !strings.Contains(err.Error(), "Error while dialing") {
		return fmt.Errorf("%w (%s)", ErrInterrupted, err)
	}
	return explained
}

// Wait waits until the run has ended, and returns its last state.
func (s *Service) Wait(ctx context.Context, runID string) (*State, error) {
	var st *State
	if err := s.Client.GetWorkflow(ctx, runID, "").Get(ctx, &st); err != nil {
		return nil, explain(err)
	}
	return st, nil
}

// State returns the run's state, whether it has ended or not.
func (s *Service) State(ctx context.Context, runID string) (*State, error) {
	v, err := s.query(ctx, runID, QueryState)
	if err != nil {
		return nil, err
	}
	var st State
	if err := v.Get(&st); err != nil {
		return nil, fmt.Errorf("decode the state of run %s: %w", runID, err)
	}
	return &st, nil
}

// Queries that Temporal gives up because the worker that it asked has just died are asked again.
const (
	queryTries = 6
	queryWait  = 50 * time.Millisecond // the first; each next one is twice as long
)

// query asks the run.
func (s *Service) query(ctx context.Context, runID, name string, args ...any) (converter.EncodedValue, error) {
	for try, wait := 1, queryWait; ; try, wait = try+1, 2*wait {
		v, err := s.Client.QueryWorkflow(ctx, runID, "", name, args...)
		if err == nil || !givenUp(ctx, err) || try == queryTries || !pause(ctx, wait) {
			return v, explain(err)
		}
	}
}

// givenUp reports that it was Temporal that gave a request up, and not who sent it.
func givenUp(ctx context.Context, err error) bool {
	var cancelled *serviceerror.Canceled
	return ctx.Err() == nil && (errors.As(err, &cancelled) || errors.Is(err, context.Canceled))
}

// update makes an update of a run and waits for what it comes to, which is decoded into out unless that is nil.
func (s *Service) update(ctx context.Context, runID, name string, arg, out any) error {
	return s.whileRoom(ctx, runID, func(ctx context.Context) error {
		handle, err := s.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{WorkflowID: runID, UpdateName: name, Args: []any{arg},
			WaitForStage: client.WorkflowUpdateStageCompleted})
		if err != nil {
			return err
		}
		return handle.Get(ctx, out)
	})
}

// Cancel asks the run to end.
func (s *Service) Cancel(ctx context.Context, runID string) error {
	return explain(s.whileRoom(ctx, runID, func(ctx context.Context) error { return s.Client.CancelWorkflow(ctx, runID, "") }))
}

// explain turns Temporal's errors into ours.
func explain(err error) error {
	if err == nil {
		return nil
	}
	var (
		notFound    *serviceerror.NotFound
		unavailable *serviceerror.Unavailable
		cancelled   *serviceerror.Canceled
		started     *serviceerror.WorkflowExecutionAlreadyStarted
		app         *temporal.ApplicationError
	)
	switch {
	case errors.As(err, &app) && app.Type() == errRunEnded:
		return ErrRunEnded
	case errors.As(err, &app) && app.Type() == errQuestionClosed:
		return ErrQuestionClosed
	case errors.As(err, &app) && app.Type() == errUnknownCall:
		return ErrUnknownCall
	case errors.As(err, &app) && app.Type() == errRunFull:
		return ErrRunFull
	case errors.As(err, &started):
		return ErrRunEnded
	case errors.As(err, &notFound):
		return fmt.Errorf("%w: %s", ErrUnknownRun, notFound.Message)
	case errors.As(err, &cancelled):
		return fmt.Errorf("%w: Temporal gave the request up: %s", ErrUnavailable, cancelled.Message)
	case errors.As(err, &unavailable):
		return fmt.Errorf("%w: %s", ErrUnavailable, unavailable.Message)
	}
	return err
}
