package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/planner"
	"toolsvc/tool"
)

// tasksExtension is the extension by which long calls are handed out as tasks (SEP-2663).
const tasksExtension = "io.modelcontextprotocol/tasks"

// Bounds of tasks.
const (
	// defaultTaskAfter is how long a call may take before it becomes a task.
	defaultTaskAfter = 2 * time.Second
	// taskTTL is how long a task can be asked for after it was made; one that goes on longer stays until an hour from now.
	taskTTL, taskSpare = 24 * time.Hour, time.Hour
	// taskPoll is how often clients should ask.
	taskPoll = time.Second
	// taskAccepted bounds the wait for a call to be accepted before its task is named to the client.
	taskAccepted = 10 * time.Second
	taskLook     = 20 * time.Millisecond
)

// taskID is what the identifier of a task carries. It is sealed, so a task needs nothing kept but its run, survives every restart, and
// belongs to the user who made it.
type taskID struct {
	Run      string    `json:"r"`
	Call     string    `json:"c"`
	Tool     tool.ID   `json:"t"`
	Created  time.Time `json:"a"`
	Identity string    `json:"i,omitempty"`
}

const purposeTask = "task"

// The states of a task.
const (
	taskWorking   = "working"
	taskInput     = "input_required"
	taskCompleted = "completed"
	taskFailed    = "failed"
	taskCancelled = "cancelled"
)

// taskResult is a task on the wire: the answer to tools/call when a task was made, and to tasks/get.
type taskResult struct {
	sdk.ResultBase
	ResultType     string    `json:"resultType,omitempty"` // a notification has none
	TaskID         string    `json:"taskId"`
	Status         string    `json:"status"`
	StatusMessage  string    `json:"statusMessage,omitempty"`
	CreatedAt      time.Time `json:"createdAt"`
	LastUpdatedAt  time.Time `json:"lastUpdatedAt"`
	TTLMs          int64     `json:"ttlMs"`
	PollIntervalMs int64     `json:"pollIntervalMs"`
	// Result, Error and InputRequests belong to a task that is completed, failed or waits for input.
	Result        *sdk.CallToolResult `json:"result,omitempty"`
	Error         *jsonrpc.Error      `json:"error,omitempty"`
	InputRequests sdk.InputRequestMap `json:"inputRequests,omitempty"`
}

// taskAck acknowledges tasks/update and tasks/cancel.
type taskAck struct {
	sdk.ResultBase
	ResultType string `json:"resultType"`
}

type taskParams struct {
	sdk.ParamsBase
	TaskID string `json:"taskId"`
	// InputResponses are read one by one: what does not answer an open question is passed over, whatever it is.
	InputResponses map[string]json.RawMessage `json:"inputResponses"`
}

// slot is where the handler of a call leaves the task that it made. The SDK has no result type for it.
type slot struct {
	request request
	task    *taskResult
}

var slotKey = contextKey{"slot"}

// addTasks serves the extension.
func (s *Surface) addTasks() error {
	s.server.AddReceivingMiddleware(s.taskMiddleware)
	return errors.Join(
		sdk.AddReceivingCustomMethod(s.server, "tasks/get", func(ctx context.Context, _ *sdk.ServerSession, p *taskParams) (*taskResult, error) {
			id, c, err := s.openTask(ctx, p)
			if err != nil {
				return nil, err
			}
			return s.task(ctx, c, p.TaskID, id)
		}),
		sdk.AddReceivingCustomMethod(s.server, "tasks/update", func(ctx context.Context, _ *sdk.ServerSession, p *taskParams) (*taskAck, error) {
			id, c, err := s.openTask(ctx, p)
			if err != nil {
				return nil, err
			}
			return &taskAck{ResultType: "complete"}, s.updateTask(ctx, c, id, p.InputResponses)
		}),
		sdk.AddReceivingCustomMethod(s.server, "tasks/cancel", func(ctx context.Context, _ *sdk.ServerSession, p *taskParams) (*taskAck, error) {
			id, _, err := s.openTask(ctx, p)
			if err != nil {
				return nil, err
			}
			return &taskAck{ResultType: "complete"}, s.cancelTask(ctx, id)
		}))
}

// taskMiddleware lets handlers answer tools/call with a task, and hands the request to the handlers of tasks/….
func (s *Surface) taskMiddleware(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		req, ok := r.(request)
		if !ok || method != "tools/call" && method != "tasks/get" && method != "tasks/update" && method != "tasks/cancel" {
			return next(ctx, method, r)
		}
		sl := &slot{request: req}
		res, err := next(context.WithValue(ctx, slotKey, sl), method, r)
		if err == nil && sl.task != nil {
			return sl.task, nil
		}
		return res, err
	}
}

// tasks reports whether the client takes tasks in place of results.
func (c client) tasks() bool {
	_, ok := c.caps.Extensions[tasksExtension]
	return ok && c.modern
}

// errNoTasks answers a client that did not declare the extension.
func errNoTasks() error {
	data, err := json.Marshal(map[string]any{"requiredCapabilities": map[string]any{"extensions": map[string]any{tasksExtension: map[string]any{}}}})
	if err != nil {
		return err
	}
	return &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities, Message: "This needs a client that declares the extension " + tasksExtension + ".", Data: data}
}

// openTask checks who asks for which task.
func (s *Surface) openTask(ctx context.Context, p *taskParams) (taskID, client, error) {
	sl, ok := ctx.Value(slotKey).(*slot)
	if !ok {
		return taskID{}, client{}, errors.New("a request for a task came past the middleware")
	}
	c := s.clientOf(sl.request)
	if !c.tasks() {
		return taskID{}, c, errNoTasks()
	}
	if extra := sl.request.GetExtra(); extra != nil && extra.Header != nil {
		if name := extra.Header.Get("Mcp-Name"); name != p.TaskID {
			return taskID{}, c, &jsonrpc.Error{Code: sdk.CodeHeaderMismatch, Message: "The header Mcp-Name has to be the taskId."}
		}
	}
	id, err := opened[taskID](s.o.Key, purposeTask, p.TaskID, time.Now())
	if err != nil || id.Identity != c.identity {
		return taskID{}, c, errUnknownTask()
	}
	return id, c, nil
}

func errUnknownTask() error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "There is no such task, or it has expired."}
}

// await waits for a call that is being made. Where the client takes tasks and the call is long, it becomes a task: the slot is filled,
// and no result is returned. The call itself goes on whatever becomes of the request.
//
// A question to the client or its model, in the era without sessions, is a *[inputWanted].
func (s *Surface) await(ctx context.Context, c client, l *live, req tool.Request, call func(context.Context) (*tool.Result, error)) (*tool.Result, error) {
	sl, ok := ctx.Value(slotKey).(*slot)
	tasks := ok && c.tasks()
	if !tasks && (l == nil || l.asks == nil) {
		return call(ctx)
	}
	var asks chan *inputWanted
	if l != nil {
		asks = l.asks
	}
	type made struct {
		res *tool.Result
		err error
	}
	done := make(chan made, 1)
	waiting, stop := context.WithCancel(detached(ctx))
	go func() {
		res, err := call(waiting)
		done <- made{res, err}
	}()
	patience := time.NewTimer(s.o.TaskAfter)
	defer patience.Stop()
	if !tasks {
		patience.Stop()
	}
	created := time.Now().UTC().Truncate(time.Millisecond)
	for deadline := created.Add(s.o.TaskAfter + taskAccepted); ; {
		select {
		case m := <-done:
			stop()
			return m.res, m.err
		case q := <-asks:
			stop()
			q.run, q.call = req.RunID, req.CallID
			return nil, q
		case <-ctx.Done():
			stop()
			return nil, ctx.Err()
		case <-patience.C:
		}
		if st, err := s.o.Service.State(ctx, req.RunID); err == nil && stepOf(st, req.CallID) != nil {
			break // it is durable
		}
		if time.Now().After(deadline) {
			patience.Reset(time.Hour) // the service is not well; wait for the call itself
			continue
		}
		patience.Reset(taskLook)
	}
	stop()
	id := taskID{Run: req.RunID, Call: req.CallID, Tool: req.Tool, Created: created, Identity: c.identity}
	sealedID, err := sealed(s.o.Key, purposeTask, created.Add(tool.MaxQuestionTTL), id)
	if err != nil {
		return nil, err
	}
	sl.task = newTask(sealedID, id, created)
	sl.task.ResultType, sl.task.Status = "task", taskWorking
	return nil, nil
}

func newTask(sealedID string, id taskID, now time.Time) *taskResult {
	ttl := max(taskTTL, now.Sub(id.Created)+taskSpare)
	return &taskResult{ResultType: "complete", TaskID: sealedID, CreatedAt: id.Created, LastUpdatedAt: id.Created, TTLMs: ttl.Milliseconds(), PollIntervalMs: taskPoll.Milliseconds()}
}

func stepOf(st *planner.State, callID string) *planner.StepState {
	i := slices.IndexFunc(st.Steps, func(x planner.StepState) bool { return x.CallID == callID })
	if i < 0 {
		return nil
	}
	return &st.Steps[i]
}

// taskState is the state of the run that the call of the task is in.
func (s *Surface) taskState(ctx context.Context, id taskID) (*planner.State, error) {
	st, err := s.o.Service.State(ctx, id.Run)
	switch {
	case errors.Is(err, planner.ErrUnknownRun):
		return nil, errUnknownTask()
	case err != nil:
		return nil, fmt.Errorf("look at the task: %w", err)
	}
	return st, nil
}

// task is the task as it is now.
func (s *Surface) task(ctx context.Context, c client, sealedID string, id taskID) (*taskResult, error) {
	st, err := s.taskState(ctx, id)
	if err != nil {
		return nil, err
	}
	step := stepOf(st, id.Call)
	if step == nil {
		return nil, errUnknownTask()
	}
	t := newTask(sealedID, id, time.Now())
	t.Status, t.StatusMessage = taskWorking, step.Title
	for i := range st.Questions {
		q := &st.Questions[i]
		if q.CallID != id.Call {
			continue
		}
		if t.InputRequests == nil {
			t.InputRequests = sdk.InputRequestMap{}
		}
		t.InputRequests[q.ID] = elicitation(q, nil)
		t.Status, t.StatusMessage = taskInput, q.Text
		if q.AskedAt.After(t.LastUpdatedAt) {
			t.LastUpdatedAt = q.AskedAt
		}
	}
	r := step.Result
	if r == nil && t.Status != taskInput && (step.Status.Ended() || st.Outcome != planner.OutcomeRunning) { // its run keeps it elsewhere
		if r, err = s.o.Service.Result(ctx, id.Run, id.Call); err != nil && !errors.Is(err, planner.ErrUnknownCall) {
			return nil, fmt.Errorf("look for the result of the task: %w", err)
		}
	}
	switch {
	case t.Status == taskInput:
	case r != nil && r.Question == nil:
		t.LastUpdatedAt = id.Created.Add(time.Duration(r.Telemetry.DurationMS+r.Telemetry.QueuedMS+r.Telemetry.WaitedMS) * time.Millisecond)
		if r.Error != nil && r.Error.Code == tool.Cancelled {
			t.Status = taskCancelled
			return t, nil
		}
		if f := s.o.TaskFailed; f != nil {
			if t.Error = f(r); t.Error != nil {
				t.Status, t.Result = taskFailed, nil
				return t, nil
			}
		}
		t.Status, t.StatusMessage, t.Result = taskCompleted, "", s.render(ctx, c, r)
	case st.Outcome == planner.OutcomeCancelled:
		t.Status = taskCancelled
	}
	return t, nil
}

// updateTask hands the replies to the questions of the task that are still open; others have been answered, and are passed over. The
// task goes on by itself: nobody waits here for its result.
func (s *Surface) updateTask(ctx context.Context, c client, id taskID, replies map[string]json.RawMessage) error {
	st, err := s.taskState(ctx, id)
	if err != nil {
		return err
	}
	for i := range st.Questions {
		q := st.Questions[i]
		var reply *sdk.ElicitResult
		if q.CallID != id.Call || json.Unmarshal(replies[q.ID], &reply) != nil {
			continue
		}
		a := answerOf(&q, reply)
		if a.none {
			continue
		}
		if err := s.answerSoon(ctx, c, &q, a); err != nil {
			return err
		}
	}
	return nil
}

// answerSoon hands an answer over and returns when it was taken, not when the call has ended.
func (s *Surface) answerSoon(ctx context.Context, c client, q *tool.Question, a answer) error {
	done := make(chan error, 1)
	waiting, stop := context.WithCancel(detached(ctx))
	defer stop()
	go func() {
		_, err := s.reply(waiting, c, q, a)
		done <- err
	}()
	tick := time.NewTicker(taskLook)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		st, err := s.o.Service.State(ctx, q.RunID)
		if err == nil && !slices.ContainsFunc(st.Questions, func(x tool.Question) bool { return x.ID == q.ID }) {
			return nil
		}
	}
}

// cancelTask ends the call of a task that has not ended; of one that has, nothing.
func (s *Surface) cancelTask(ctx context.Context, id taskID) error {
	st, err := s.taskState(ctx, id)
	if err != nil {
		return err
	}
	step := stepOf(st, id.Call)
	if step == nil {
		return errUnknownTask()
	}
	if r := step.Result; r != nil && r.Question == nil || st.Outcome != planner.OutcomeRunning {
		return nil
	}
	if err := s.o.Service.CancelCall(ctx, id.Run, id.Call); err != nil && !errors.Is(err, planner.ErrUnknownCall) {
		return fmt.Errorf("cancel the task: %w", err)
	}
	return nil
}
