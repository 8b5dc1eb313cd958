package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/planner"
	"toolsvc/store"
	"toolsvc/tool"
)

// Service makes calls and reaches runs. planner.Service is one.
type Service interface {
	// Call makes one call in the run that it names, which is started when it is not there, and waits for its result or its question. A
	// payload that does not validate is a Result with an error. When ctx ends, the call goes on.
	Call(ctx context.Context, req tool.Request, lang string) (*tool.Result, error)
	// Answer answers a clarification, and waits for the call's result or its next question. An answer that does not validate leaves the
	// question open and is a Result that holds the issues.
	Answer(ctx context.Context, runID, questionID string, answer json.RawMessage, by string) (*tool.Result, error)
	// Approve decides about an approval that is bound to a digest of the exact arguments.
	Approve(ctx context.Context, runID, approvalID string, approved bool, digest, by string) (*tool.Result, error)
	// Result returns the result of a call, or the question that it waits for; it waits for neither.
	Result(ctx context.Context, runID, callID string) (*tool.Result, error)
	// State returns a run as it is now.
	State(ctx context.Context, runID string) (*planner.State, error)
	// Cancel asks a run to end.
	Cancel(ctx context.Context, runID string) error
	// CancelCall asks one call to end, and leaves its run and the other calls as they are.
	CancelCall(ctx context.Context, runID, callID string) error
}

// Events are the events of runs, as the store keeps them.
type Events interface {
	// Watch yields the events of a run after the given one, as they come, until ctx ends.
	Watch(ctx context.Context, runID string, afterID int64) iter.Seq2[store.Event, error]
}

// Artifacts are the stored pictures and files, by content digest.
type Artifacts interface {
	// Artifact returns an artifact; store.ErrNotFound when there is none.
	Artifact(ctx context.Context, digest string) (mediaType string, data []byte, err error)
}

// Options of a Surface.
type Options struct {
	// Service makes the calls. Required.
	Service Service
	// Registry is the catalogue. Required.
	Registry *tool.Registry
	// Events feed progress and log notifications; nil means that there are none.
	Events Events
	// Artifacts are offered as resources and as images; nil means that there are none.
	Artifacts Artifacts
	// Key signs what is carried through clients: 32 bytes, see [LoadKey]. Required.
	Key []byte
	// Language of the narration for clients that ask for none: en, ko or ja.
	Language string
	// Policy of the runs that calls start; its Repair and Ask are set by what the client can answer, unless Ask below is set.
	Policy tool.Policy
	// Ask opens a question also for clients that cannot show one, which then get needs_input; otherwise they get a hint at once, which an
	// agent can act on by itself.
	Ask bool
	// Run is the run of all calls on stdio that name none; "" makes one for the process.
	Run string
	// Version is the program's version.
	Version string
	// TaskAfter is how long a call may take before it becomes a task, for clients that take tasks; 2 s when 0.
	TaskAfter time.Duration
	// TaskFailed says that a result means a fault of the protocol, for the fixtures of conformance tests; nil says that none does.
	TaskFailed func(*tool.Result) *jsonrpc.Error
	// TaskRequired says that a tool can only be called as a task, for the fixtures of conformance tests; nil says that all can.
	TaskRequired func(tool.ID) bool
	// Warm is called, perhaps more than once, when a client is about to make calls; one that only probes is not. It returns at once.
	Warm func()
	// Extend adds to the server before it serves; for the fixtures of conformance tests.
	Extend func(*sdk.Server, *Surface)
	// Logger gets what goes wrong beside calls; slog.Default() when nil.
	Logger *slog.Logger
}

func (o *Options) check() error {
	switch {
	case o.Service == nil || o.Registry == nil:
		return errors.New("an MCP surface needs a Service and a Registry")
	case len(o.Key) < minKey:
		return errors.New("an MCP surface needs a key of at least 32 bytes")
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.TaskAfter == 0 {
		o.TaskAfter = defaultTaskAfter
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	return nil
}
