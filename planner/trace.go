package planner

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"toolsvc/tool"
)

// traceparent is the key of W3C Trace Context.
const traceparent = "traceparent"

// belonging notes in the step to which trace its call belongs. The run of several calls has a trace of its own, that of the first of them, so
// each step carries its own.
func belonging(ctx context.Context, s Step) Step {
	c := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, c)
	s.Trace = c[traceparent]
	return s
}

// ofCall is ctx in the trace of the step's call: the activity's own span where that is in the same trace, and else the caller's.
func ofCall(ctx context.Context, s Step) context.Context {
	if s.Trace == "" {
		return ctx
	}
	called := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{traceparent: s.Trace})
	sc := trace.SpanContextFromContext(called)
	if !sc.IsValid() || sc.TraceID() == trace.SpanContextFromContext(ctx).TraceID() {
		return ctx
	}
	return trace.ContextWithRemoteSpanContext(ctx, sc)
}

// spanOf begins the span of an activity that works at a step, in the trace of the step's call.
func (a *Activities) spanOf(ctx context.Context, what string, in AttemptInput) (context.Context, trace.Span) {
	ctx = ofCall(ctx, in.Step)
	if a.Tracer == nil {
		return ctx, trace.SpanFromContext(context.Background()) // one that records nothing
	}
	return a.Tracer.Start(ctx, what+" "+string(in.Step.Tool), trace.WithAttributes(attribute.String("toolsvc.run_id", in.RunID), attribute.String("toolsvc.call_id", in.Step.CallID),
		attribute.String("toolsvc.tool", string(in.Step.Tool)), attribute.Int("toolsvc.step", in.Number), attribute.Int("toolsvc.attempt", in.Plan.Number), attribute.String("toolsvc.source", string(in.Plan.Source))))
}

// reported puts into the span what an attempt came to, in words of closed enumerations: messages may quote arguments.
func reported(span trace.Span, rep Report) {
	span.SetAttributes(attribute.String("toolsvc.phase", string(rep.Record.Phase)), attribute.String("toolsvc.effect", string(rep.Record.Effect)),
		attribute.String("toolsvc.failure", string(rep.Record.Failure)), attribute.Bool("toolsvc.rolled_back", rep.Record.RolledBack))
	if v := rep.Verification; v != nil {
		span.SetAttributes(attribute.String("toolsvc.verdict", string(v.Verdict)))
	}
	if rep.Record.Failure != "" {
		span.SetStatus(codes.Error, string(rep.Record.Failure))
	}
}

// acting does one thing of an attempt under a span of its own: "browser.dispatch". It costs nothing where nothing is traced.
func acting(ctx context.Context, call *tool.Call, what string, do func(context.Context) error) error {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return do(ctx)
	}
	ctx, span := trace.SpanFromContext(ctx).TracerProvider().Tracer("toolsvc").Start(ctx, call.Spec.ID.Toolset()+"."+what)
	defer span.End()
	err := do(ctx)
	if err != nil {
		f := tool.AsFailed(err).Failure
		span.SetAttributes(attribute.String("toolsvc.failure", string(f)))
		span.SetStatus(codes.Error, string(f))
	}
	return err
}
