package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/gen/toolsets"
	"toolsvc/planner"
	"toolsvc/server/mcp"
	"toolsvc/stack"
	"toolsvc/store"
	"toolsvc/telemetry"
	"toolsvc/tool"
)

// mcpCmd serves MCP on standard input and output, for a client that starts it.
type mcpCmd struct {
	InRun       string `name:"run" help:"The run to work in; started when it is not there. Otherwise a new one for this process." placeholder:"r_…"`
	Ask         bool   `help:"Open questions also for clients that cannot show them; they get needs_input and answer with run_answer. Otherwise they get a hint at once." env:"TOOLSVC_MCP_ASK"`
	KeepBrowser bool   `help:"Let the browser go on when the client goes away, so that a run can be taken up again with its tab." env:"TOOLSVC_MCP_KEEP_BROWSER"`
}

func (c *mcpCmd) Run(ctx context.Context, common *Common, std streams) error {
	if err := os.MkdirAll(common.StateDir, 0o700); err != nil {
		return fmt.Errorf("make the state directory: %w", err)
	}
	key, err := stack.MCPKey(common.StateDir)
	if err != nil {
		return &exit{exitInfrastructure, err}
	}
	log := common.logger(std)
	shown, err := telemetry.New(ctx, telemetry.Options{Version: version()})
	if err != nil {
		return usage("%w", err)
	}
	defer flush(ctx, shown, log)
	ctx = telemetry.Remote(ctx, os.Getenv("TRACEPARENT")) // of calls that name no trace themselves
	var servers *backends                                 // of the configuration; reached with the stack, and once
	var surface *mcp.Surface
	callers := &stack.ClientModel{}
	back := newBackground(ctx, log, func(ctx context.Context) (*stack.Stack, error) {
		if servers == nil {
			var err error
			if servers, err = common.openBackends(ctx, log, nil); err != nil {
				return nil, err
			}
			servers.to = surface
		}
		s, err := common.open(ctx, std, stack.Options{Ephemeral: !c.KeepBrowser, Toolsets: servers.toolsets(), Caller: callers, Telemetry: shown})
		if err == nil {
			servers.keep = s.Store
			servers.settle(ctx)
			servers.follow(s, surface.SetRegistry, log)
		}
		return s, err
	})
	defer func() {
		back.close()
		if servers != nil {
			servers.done(ctx, log)
		}
	}()
	surface, err = mcp.New(mcp.Options{Service: back, Registry: toolsets.Registry(), Events: back, Artifacts: back, Key: key,
		Language: common.lang(nil), Ask: c.Ask, Run: c.InRun, Warm: back.start, Version: version(), Logger: log,
		Extend: func(srv *sdk.Server, _ *mcp.Surface) { srv.AddReceivingMiddleware(shown.MCP) }})
	if err != nil {
		return &exit{exitInfrastructure, err}
	}
	callers.Ask(surface)
	back.opened = func(s *stack.Stack) {
		if err := surface.SetRegistry(s.Service.Registry); err != nil {
			log.Error("the catalogue cannot be served", "error", err)
		}
	}
	if err := surface.ServeStdio(ctx, os.Stdin, keepOpen{std.out}); err != nil {
		return &exit{exitInfrastructure, err}
	}
	return nil
}

// keepOpen writes to a stream that others close.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

// version is that of the build.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

// background is a stack that is put together while the client already talks: the handshake does not wait for Temporal, and a client that
// only probes (the TypeScript SDK starts a process for that) does not start it. When the stack is
// attached to another process (a `toolsvc serve`, or an MCP client's that came first) and that one goes away, it is put together anew.
type background struct {
	ctx    context.Context
	log    *slog.Logger
	open   func(context.Context) (*stack.Stack, error)
	opened func(*stack.Stack)
	stop   context.CancelFunc
	work   sync.WaitGroup
	once   sync.Once

	mu    sync.Mutex
	ready chan struct{} // closed when there is a stack, or an error
	stack *stack.Stack
	err   error
}

// Times of looking after the stack.
const (
	lookEvery  = 2 * time.Second
	openAgain  = 3 * time.Second
	lookFor    = time.Second
	lostAfter  = 2 // looks without an answer
	closeGrace = 50 * time.Second
)

func newBackground(ctx context.Context, log *slog.Logger, open func(context.Context) (*stack.Stack, error)) *background {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // it ends after the client has been served
	return &background{ctx: ctx, stop: stop, log: log, open: open, ready: make(chan struct{})}
}

// start begins to put the stack together, once.
func (b *background) start() { b.once.Do(func() { b.work.Go(b.run) }) }

// run puts the stack together, and again whenever it is lost.
func (b *background) run() {
	for b.ctx.Err() == nil {
		s, err := b.open(b.ctx)
		b.mu.Lock()
		b.stack, b.err = s, err
		if err != nil {
			b.stack = nil
		}
		close(b.ready)
		b.mu.Unlock()
		wait := openAgain
		if err != nil {
			b.log.Error("toolsvc cannot be started", "error", err)
		} else {
			b.opened(s)
			b.look(s)
			wait = 0
		}
		select {
		case <-b.ctx.Done():
			return
		case <-time.After(wait):
		}
		b.mu.Lock()
		b.ready, b.stack = make(chan struct{}), nil
		b.mu.Unlock()
		if s != nil && err == nil {
			b.end(s)
		}
	}
}

// look returns when the stack no longer answers, or is to be closed.
func (b *background) look(s *stack.Stack) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for silent := 0; silent < lostAfter; {
		select {
		case <-b.ctx.Done():
			return
		case err := <-s.Failed():
			b.log.Error("the embedded Temporal failed", "error", err)
			return
		case <-tick.C:
		}
		if !s.Attached {
			continue // its own server says when it fails
		}
		ctx, cancel := context.WithTimeout(b.ctx, lookFor)
		err := s.Ready(ctx)
		cancel()
		if silent++; err == nil {
			silent = 0
		}
	}
}

func (b *background) end(s *stack.Stack) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), closeGrace)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		b.log.Error("end", "error", err)
	}
}

func (b *background) close() {
	b.stop()
	b.work.Wait()
	b.mu.Lock()
	s := b.stack
	b.mu.Unlock()
	if s != nil {
		b.end(s)
	}
}

// get waits for the stack.
func (b *background) get(ctx context.Context) (*stack.Stack, error) {
	b.start()
	b.mu.Lock()
	ready := b.ready
	b.mu.Unlock()
	select {
	case <-ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return nil, fmt.Errorf("%w: %w", planner.ErrUnavailable, b.err)
	}
	if b.stack == nil { // lost between the two locks
		return nil, planner.ErrUnavailable
	}
	return b.stack, nil
}

// with calls f with the stack.
func with[T any](ctx context.Context, b *background, f func(*stack.Stack) (T, error)) (T, error) {
	s, err := b.get(ctx)
	if err != nil {
		var none T
		return none, err
	}
	return f(s)
}

func (b *background) Call(ctx context.Context, req tool.Request, lang string) (*tool.Result, error) {
	return with(ctx, b, func(s *stack.Stack) (*tool.Result, error) { return s.Service.Call(ctx, req, lang) })
}

func (b *background) Answer(ctx context.Context, runID, questionID string, answer json.RawMessage, by string) (*tool.Result, error) {
	return with(ctx, b, func(s *stack.Stack) (*tool.Result, error) {
		return s.Service.Answer(ctx, runID, questionID, answer, by)
	})
}

func (b *background) Approve(ctx context.Context, runID, approvalID string, approved bool, digest, by string) (*tool.Result, error) {
	return with(ctx, b, func(s *stack.Stack) (*tool.Result, error) {
		return s.Service.Approve(ctx, runID, approvalID, approved, digest, by)
	})
}

func (b *background) Result(ctx context.Context, runID, callID string) (*tool.Result, error) {
	return with(ctx, b, func(s *stack.Stack) (*tool.Result, error) { return s.Service.Result(ctx, runID, callID) })
}

func (b *background) State(ctx context.Context, runID string) (*planner.State, error) {
	return with(ctx, b, func(s *stack.Stack) (*planner.State, error) { return s.Service.State(ctx, runID) })
}

func (b *background) Cancel(ctx context.Context, runID string) error {
	_, err := with(ctx, b, func(s *stack.Stack) (struct{}, error) { return struct{}{}, s.Service.Cancel(ctx, runID) })
	return err
}

func (b *background) CancelCall(ctx context.Context, runID, callID string) error {
	_, err := with(ctx, b, func(s *stack.Stack) (struct{}, error) { return struct{}{}, s.Service.CancelCall(ctx, runID, callID) })
	return err
}

func (b *background) List(ctx context.Context, limit int) ([]planner.Summary, error) {
	return with(ctx, b, func(s *stack.Stack) ([]planner.Summary, error) { return s.Service.List(ctx, limit) })
}

func (b *background) Artifact(ctx context.Context, digest string) (mediaType string, data []byte, err error) {
	s, err := b.get(ctx)
	if err != nil {
		return "", nil, err
	}
	return s.Store.Artifact(ctx, digest)
}

// Watch yields the events of a run; when the stack is not there, it ends with the reason.
func (b *background) Watch(ctx context.Context, runID string, afterID int64) iter.Seq2[store.Event, error] {
	s, err := b.get(ctx)
	if err != nil {
		return func(yield func(store.Event, error) bool) {
			if !errors.Is(err, context.Canceled) {
				yield(store.Event{}, err)
			}
		}
	}
	return s.Store.Watch(ctx, runID, afterID)
}
