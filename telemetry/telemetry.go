package telemetry

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Options of a Telemetry; the zero value reads the environment.
type Options struct {
	// Version of the program, for the build's metric and the traces' resource.
	Version string
	// Logger gets a line for each call that has ended; nil drops them.
	Logger *slog.Logger
	// Spans takes the spans instead of what the environment names, each as it ends. For tests.
	Spans sdktrace.SpanExporter
	// Getenv reads the environment; nil is os.Getenv.
	Getenv func(string) string
}

// Telemetry is what shows one process to its operators. It is safe for concurrent use; a nil *Telemetry shows nothing.
type Telemetry struct {
	*metrics
	tracing
	log *slog.Logger

	reading sync.Mutex
	scraped *scraped
}

// New makes a Telemetry. It fails when the environment asks for traces in a way that is not understood; nothing is dialled before there
// are spans to send.
func New(ctx context.Context, o Options) (*Telemetry, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	o.Version = cmp.Or(o.Version, "dev")
	t := &Telemetry{metrics: newMetrics(o.Version), log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler))}
	var err error
	if t.tracing, err = newTracing(ctx, o); err != nil {
		return nil, err
	}
	return t, nil
}

// Close sends the spans that are not sent yet, until ctx ends.
func (t *Telemetry) Close(ctx context.Context) error {
	if t == nil || t.provider == nil {
		return nil
	}
	return errors.Join(t.provider.ForceFlush(ctx), t.provider.Shutdown(ctx))
}
