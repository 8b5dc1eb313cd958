//go:build !linux

package terminal

import (
	"context"
	"errors"

	"toolsvc/tool"
)

// Executor needs Linux.
type Executor struct{ tool.Executor }

// Supervise does nothing where there is no supervisor.
func Supervise() {}

// New fails: package supervise relies on Linux.
func New(Options) (*Executor, error) { return nil, errors.New("the terminal tools need Linux") }

// Close has nothing to give up.
func (*Executor) Close(context.Context, string) error { return nil }

// Shutdown has nothing to end.
func (*Executor) Shutdown(context.Context) error { return nil }
