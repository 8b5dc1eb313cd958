package temporalserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync/atomic"

	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
	"go.uber.org/zap/zapcore"
)

// ErrServerFailed is what [Start] and [Server.Failed] report when a part of the server gave up.
var ErrServerFailed = errors.New("the embedded Temporal server failed")

// serverLogger writes the server's log to slog.
//
// The server's own logger ends the process on Fatal. This one reports the failure and ends only the goroutine that called it, which keeps
// the promise that Fatal does not return and leaves it to the owner of the process to decide what to do.
type serverLogger struct {
	out   *slog.Logger
	level slog.Leveler
	tags  []tag.Tag
	fatal func(error)  // keeps the first one, never blocks
	muted *atomic.Bool // set when the server stops: it reports every queue that it closes as an error
}

var (
	_ log.Logger     = serverLogger{}
	_ log.WithLogger = serverLogger{}
)

func (l serverLogger) Debug(msg string, tags ...tag.Tag) { l.write(slog.LevelDebug, msg, tags) }
func (l serverLogger) Info(msg string, tags ...tag.Tag)  { l.write(slog.LevelInfo, msg, tags) }
func (l serverLogger) Warn(msg string, tags ...tag.Tag)  { l.write(slog.LevelWarn, msg, tags) }

// Error is a warning when its cause is a caller who went away or ran out of time: the server calls that an error of its own.
func (l serverLogger) Error(msg string, tags ...tag.Tag) {
	level := slog.LevelError
	if cause := causeOf(tags); errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
		level = slog.LevelWarn
	}
	l.write(level, msg, tags)
}

// DPanic is a broken assertion of the server. It panics only in the server's own tests.
func (l serverLogger) DPanic(msg string, tags ...tag.Tag) { l.write(slog.LevelError, msg, tags) }

// Panic is used where going on would corrupt data; its caller relies on the panic.
func (l serverLogger) Panic(msg string, tags ...tag.Tag) {
	l.write(slog.LevelError, msg, tags)
	panic(msg)
}

// Fatal ends the calling goroutine.
func (l serverLogger) Fatal(msg string, tags ...tag.Tag) {
	l.write(slog.LevelError, msg, tags)
	err := fmt.Errorf("%w: %s", ErrServerFailed, msg)
	if cause := causeOf(tags); cause != nil {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	l.fatal(err)
	runtime.Goexit()
}

// With returns a logger that adds the tags to every record. The server makes one for every workflow that it loads and writes with few of
// them, so tags are formatted only when a record is written.
func (l serverLogger) With(tags ...tag.Tag) log.Logger {
	l.tags = slices.Concat(l.tags, tags)
	return l
}

func (l serverLogger) write(level slog.Level, msg string, tags []tag.Tag) {
	if level < l.level.Level() || l.muted.Load() {
		return
	}
	ctx := context.Background()
	if !l.out.Enabled(ctx, level) {
		return
	}
	attributes := make([]slog.Attr, 0, len(l.tags)+len(tags)+1)
	attributes = append(attributes, slog.String("component", "temporal-server"))
	for _, t := range l.tags {
		attributes = append(attributes, slog.Any(t.Key(), t.Value()))
	}
	for _, t := range tags {
		attributes = append(attributes, slog.Any(t.Key(), t.Value()))
	}
	l.out.LogAttrs(ctx, level, msg, attributes...)
}

// causeOf finds the error among the tags of a record.
func causeOf(tags []tag.Tag) error {
	for _, t := range tags {
		if field, ok := t.(tag.ZapTag); ok && field.Field().Type == zapcore.ErrorType {
			if err, ok := field.Field().Interface.(error); ok {
				return err
			}
		}
	}
	return nil
}
