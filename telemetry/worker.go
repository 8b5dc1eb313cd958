package telemetry

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"

	"go.opentelemetry.io/otel/propagation"
)

// ClientInterceptors are those of a Temporal client and of its workers: they carry the trace of a call into its run and the run's
// activities. There are none while nothing is traced.
func (t *Telemetry) ClientInterceptors() ([]interceptor.ClientInterceptor, error) {
	if t == nil || t.provider == nil {
		return nil, nil
	}
	i, err := opentelemetry.NewTracingInterceptor(opentelemetry.TracerOptions{Tracer: t.Tracer(), TextMapPropagator: propagation.TraceContext{},
		DisableBaggage: true, DisableQueryTracing: true, AllowInvalidParentSpans: true})
	if err != nil {
		return nil, err
	}
	return []interceptor.ClientInterceptor{i}, nil
}

// WorkerInterceptors are those of a worker: they measure its activities.
func (t *Telemetry) WorkerInterceptors() []interceptor.WorkerInterceptor {
	if t == nil {
		return nil
	}
	return []interceptor.WorkerInterceptor{&measuring{t: t}}
}

type measuring struct {
	interceptor.WorkerInterceptorBase
	t *Telemetry
}

func (m *measuring) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	i := &measuredActivity{t: m.t}
	i.Next = next
	return i
}

type measuredActivity struct {
	interceptor.ActivityInboundInterceptorBase
	t *Telemetry
}

func (m *measuredActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	info := activity.GetInfo(ctx)
	name := info.ActivityType.Name
	running := m.t.activities.WithLabelValues(name)
	running.Inc()
	defer running.Dec()
	if !info.IsLocalActivity && info.Attempt <= 1 && !info.ScheduledTime.IsZero() { // both by the clock of Temporal
		m.t.scheduleSeconds.WithLabelValues(name).Observe(max(0, info.StartedTime.Sub(info.ScheduledTime)).Seconds())
	}
	began := time.Now()
	out, err := m.Next.ExecuteActivity(ctx, in)
	outcome := "completed"
	if err != nil {
		outcome = "failed"
	}
	m.t.activitySeconds.WithLabelValues(name, outcome).Observe(time.Since(began).Seconds())
	return out, err
}
