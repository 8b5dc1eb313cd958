package planner

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"

	"toolsvc/tool"
)

// errHandedOver is the cause that ends attempts of a worker that stops.
var errHandedOver = errors.New("the worker stops, and the attempt is given back")

// handover ends attempts early. Its zero value is ready.
type handover struct {
	once sync.Once
	gone chan struct{}
	now  sync.Once
}

func (h *handover) begun() chan struct{} {
	h.once.Do(func() { h.gone = make(chan struct{}) })
	return h.gone
}

// HandOver ends the attempts that are under way, and all that begin later, and gives them back to Temporal: another worker, or this one after
// its restart, observes what became of them and goes on, as after a kill, but without waiting for heartbeats. For a worker that was told to
// stop, and whose time is up.
func (a *Activities) HandOver() {
	a.handover.now.Do(func() { close(a.handover.begun()) })
}

// until is ctx until the attempts are handed over.
func (h *handover) until(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-h.begun():
			cancel(errHandedOver)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// handing is the interceptor that bounds the activities of a worker by the handover. Local activities are short, and belong to a workflow task.
type handing struct {
	interceptor.WorkerInterceptorBase
	handover *handover
}

func (h *handing) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	i := &handingActivity{handover: h.handover}
	i.Next = next
	return i
}

type handingActivity struct {
	interceptor.ActivityInboundInterceptorBase
	handover *handover
}

func (h *handingActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	if activity.GetInfo(ctx).IsLocalActivity {
		return h.Next.ExecuteActivity(ctx, in)
	}
	ctx, cancel := h.handover.until(ctx)
	defer cancel()
	out, err := h.Next.ExecuteActivity(ctx, in)
	if err != nil && errors.Is(context.Cause(ctx), errHandedOver) { // whatever it is that broke off: Temporal repeats it elsewhere
		return nil, temporal.NewApplicationError(errHandedOver.Error(), "HandedOver")
	}
	return out, err
}

// soon is when an attempt whose worker stopped is made again.
const soon = time.Second

// givenBack decides about the report of an attempt that was ended by a handover. One that came to its end all the same counts. What was taken
// back is made again in a while, as if the tool had been away. Any other ends in an error, which makes the run look what became of it
// (see [run.attempt]): without a record of its dispatch it is made again, with one it is observed.
func givenBack(ctx context.Context, rep Report) (Report, error) {
	if !errors.Is(context.Cause(ctx), errHandedOver) || rep.Record.Failure != tool.Cancelled {
		return rep, nil
	}
	if rep.Record.RolledBack {
		rep.Record.Failure, rep.Record.Message = tool.ToolUnavailable, "The worker was stopped during the attempt; what it had done was taken back."
		rep.RetryAfterMS = soon.Milliseconds()
		return rep, nil
	}
	return Report{}, errHandedOver
}
