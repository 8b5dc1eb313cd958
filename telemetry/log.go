package telemetry

import (
	"context"
	"io"
	"log/slog"
	"os"

	"github.com/mattn/go-isatty"
	"go.opentelemetry.io/otel/trace"
)

// NewLogger writes to w what is at least as grave as level: as text for a terminal, otherwise as one JSON object a line. Each line has the
// trace_id of the trace that it belongs to.
func NewLogger(w io.Writer, level slog.Leveler) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	if f, ok := w.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
		return slog.New(traced{slog.NewTextHandler(w, o)})
	}
	return slog.New(traced{slog.NewJSONHandler(w, o)})
}

// traced adds to each line the trace that its context belongs to.
type traced struct{ slog.Handler }

func (h traced) Handle(ctx context.Context, r slog.Record) error {
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		r.AddAttrs(slog.String("trace_id", sc.TraceID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

func (h traced) WithAttrs(attrs []slog.Attr) slog.Handler { return traced{h.Handler.WithAttrs(attrs)} }
func (h traced) WithGroup(name string) slog.Handler       { return traced{h.Handler.WithGroup(name)} }
