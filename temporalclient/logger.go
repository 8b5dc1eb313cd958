package temporalclient

import (
	"context"
	"log/slog"

	"go.temporal.io/sdk/log"
)

// NewLogger adapts a slog logger to the SDK's interface, which otherwise prints every start of a worker to standard error.
//
// It is quiet: what the SDK calls information (a worker started, a poller stopped) is demoted to debug, so a logger at its usual level
// shows only warnings and errors. A nil logger is slog.Default().
func NewLogger(logger *slog.Logger) log.Logger {
	if logger == nil {
		logger = slog.Default()
	}
	return log.NewStructuredLogger(slog.New(demoted{logger.Handler()}).With("component", "temporal-sdk"))
}

// demoted is a handler that treats information as debugging.
type demoted struct{ slog.Handler }

func demote(level slog.Level) slog.Level {
	if level < slog.LevelWarn {
		return slog.LevelDebug
	}
	return level
}

func (d demoted) Enabled(ctx context.Context, level slog.Level) bool {
	return d.Handler.Enabled(ctx, demote(level))
}

func (d demoted) Handle(ctx context.Context, record slog.Record) error {
	record.Level = demote(record.Level)
	return d.Handler.Handle(ctx, record)
}

func (d demoted) WithAttrs(attrs []slog.Attr) slog.Handler {
	return demoted{d.Handler.WithAttrs(attrs)}
}

func (d demoted) WithGroup(name string) slog.Handler { return demoted{d.Handler.WithGroup(name)} }
