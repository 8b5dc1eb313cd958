package telemetry

import (
	"context"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// scope names the instrumentation in traces.
const scope = "toolsvc"

// tracing is nil inside while nothing is traced.
type tracing struct{ provider *sdktrace.TracerProvider }

// newTracing makes what the environment asks for (OpenTelemetry's specification of environment variables): spans go by OTLP, over HTTP unless
// OTEL_EXPORTER_OTLP_PROTOCOL is grpc, to where OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT say. Without either, or with
// OTEL_SDK_DISABLED=true or OTEL_TRACES_EXPORTER=none, nothing is traced. The exporters read headers, certificates and time-outs, and the SDK
// sampler and service name, from their variables by themselves.
func newTracing(ctx context.Context, o Options) (tracing, error) {
	exporter := o.Spans
	process := sdktrace.WithSyncer(exporter)
	if exporter == nil {
		var err error
		if exporter, err = fromEnvironment(ctx, o.Getenv); err != nil || exporter == nil {
			return tracing{}, err
		}
		process = sdktrace.WithBatcher(exporter)
	}
	described, err := resource.New(ctx, resource.WithSchemaURL(""), resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithAttributes(attribute.String("service.name", "toolsvc"), attribute.String("service.version", o.Version)),
		resource.WithFromEnv()) // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win
	if err != nil {
		return tracing{}, fmt.Errorf("describe this process for traces: %w", err)
	}
	return tracing{sdktrace.NewTracerProvider(process, sdktrace.WithResource(described))}, nil
}

// fromEnvironment makes the exporter that the environment names; nil for none.
func fromEnvironment(ctx context.Context, getenv func(string) string) (sdktrace.SpanExporter, error) {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	switch name := getenv("OTEL_TRACES_EXPORTER"); name {
	case "", "otlp":
	case "none":
		return nil, nil
	default:
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER is %q; toolsvc knows otlp and none", name)
	}
	if getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
		return nil, nil
	}
	protocol := getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
	if protocol == "" {
		protocol = getenv("OTEL_EXPORTER_OTLP_PROTOCOL")
	}
	var e sdktrace.SpanExporter
	var err error
	switch protocol {
	case "", "http/protobuf":
		e, err = otlptracehttp.New(ctx)
	case "grpc":
		e, err = otlptracegrpc.New(ctx) // connects with the first spans
	default:
		return nil, fmt.Errorf("the OTLP protocol is %q; toolsvc knows http/protobuf and grpc", protocol)
	}
	if err != nil {
		return nil, fmt.Errorf("set up the export of traces: %w", err)
	}
	return e, nil
}

// Tracer makes spans; none are recorded while nothing is traced.
func (t *Telemetry) Tracer() trace.Tracer {
	if t == nil || t.provider == nil {
		return noop.NewTracerProvider().Tracer(scope)
	}
	return t.provider.Tracer(scope)
}

// carrier reads and writes the W3C Trace Context; baggage is not taken, because nobody vouches for what it holds.
var carrier = propagation.TraceContext{}

// Remote is ctx in the trace that the W3C header traceparent names; ctx itself where it names none.
func Remote(ctx context.Context, traceparent string) context.Context {
	return carrier.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent})
}
