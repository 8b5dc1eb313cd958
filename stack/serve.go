package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/server"
	"toolsvc/server/auth"
	"toolsvc/server/mcp"
	"toolsvc/server/page"
	"toolsvc/telemetry"
)

// flushLimit bounds the sending of what is left of the traces.
const flushLimit = 5 * time.Second

// Serve puts toolsvc together and answers on all surfaces until ctx ends. It is the whole of a program that serves toolsets of its own, and of
// `toolsvc serve`:
//
//	err := stack.Serve(ctx, stack.Options{StateDir: "state", Toolsets: own}, stack.Surfaces{HTTP: "127.0.0.1:7070", Out: os.Stderr})
//
// The HTTP address has the API, the live page, the MCP endpoint, metrics and health; the gRPC address, the same API with health and
// reflection. Where the options have no Telemetry, Serve makes one, which exports traces if the environment asks for them; where they have no
// Logger, it is slog.Default.
//
// When ctx ends, Serve drains: it is not ready any more and takes no new calls, lets those under way end within Options.Drain, and hands over
// what is left.
//
// A program that gives a Workspace calls terminal.Supervise first thing in main.
//
// It returns nil when ctx has ended, and an error when something could not be started or ended, or the embedded Temporal failed.
func Serve(ctx context.Context, o Options, at Surfaces) (err error) {
	if at.Out == nil {
		at.Out = io.Discard
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	httpL, grpcL, err := at.listen(ctx)
	if err != nil {
		return err
	}
	defer closeListeners(httpL, grpcL)
	o.Navigation.Own = append(o.Navigation.Own, ports(httpL, grpcL)...) // what toolsvc serves itself is not for its browser
	if o.Telemetry == nil {
		if o.Telemetry, err = telemetry.New(ctx, telemetry.Options{Version: at.Version, Logger: o.Logger}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, flush(ctx, o.Telemetry)) }()
	}
	model := &ClientModel{}
	if o.Caller == nil {
		o.Caller = model
	}
	s, err := Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(context.WithoutCancel(ctx))) }()
	if s.Attached {
		return fmt.Errorf("another toolsvc serves %s already (Temporal at %s); end it first, or use another state directory", o.StateDir, s.TemporalAddress)
	}
	srv, err := s.surfaces(o, at, model)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { s.DrainBy(time.Now().Add(s.drain)) })()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case err := <-s.Failed():
			cancel(fmt.Errorf("the embedded Temporal failed: %w", err))
		case <-ctx.Done():
		}
	}()
	at.tell(s, o.StateDir, httpL, grpcL)
	if err := srv.Serve(ctx, httpL, grpcL); err != nil { // a nil listener leaves its surface out
		return err
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return nil
}

// surfaces makes the server of all surfaces, and lets model ask the clients of the MCP endpoint.
func (s *Stack) surfaces(o Options, at Surfaces, model *ClientModel) (*server.Server, error) {
	opts := server.Options{Caller: s.Service, Registry: s.Service.Registry, Events: s.Store, Artifacts: s.Store, Ready: s.Ready,
		AllowedHosts: at.AllowedHosts, Tokens: at.Tokens, TLS: at.TLS, Drain: o.Drain, Logger: o.Logger}
	Show(&opts, o.Telemetry)
	if !at.NoPage {
		live, err := page.New()
		if err != nil {
			return nil, err
		}
		opts.Page = live
	}
	var surface *mcp.Surface
	if !at.NoMCP {
		key, err := MCPKey(o.StateDir)
		if err != nil {
			return nil, err
		}
		nobody := auth.Local // who makes requests that name nobody: everyone on this machine without tokens, and no one with them
		if at.Tokens != nil {
			nobody = auth.Principal{}
		}
		if surface, err = mcp.New(mcp.Options{Service: auth.Guard(s.Service), Registry: s.Service.Registry, Events: s.Store, Artifacts: s.Store, Key: key,
			Language: at.Language, Ask: at.MCPAsk, Version: at.Version, Logger: o.Logger,
			Extend: func(srv *sdk.Server, _ *mcp.Surface) {
				srv.AddReceivingMiddleware(o.Telemetry.MCP, auth.MCPMiddleware(nobody))
			}}); err != nil {
			return nil, err
		}
		model.Ask(surface)
		opts.MCP = surface.Handler()
	}
	if at.Opened != nil {
		at.Opened(s, surface)
	}
	return server.New(opts)
}

// Show adds to the options of a server what lets operators see it: /metrics, and measures and traces of its requests.
func Show(opts *server.Options, t *telemetry.Telemetry) {
	if t == nil {
		return
	}
	opts.Metrics, opts.WrapHTTP, opts.GRPC = t.MetricsHandler(), t.HTTP, t.GRPC()
}

// flush sends what is left of the traces.
func flush(ctx context.Context, t *telemetry.Telemetry) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushLimit)
	defer cancel()
	if err := t.Close(ctx); err != nil {
		return fmt.Errorf("traces were not sent to their end: %w", err)
	}
	return nil
}

// closeListeners closes those that nothing serves any more; the server has closed those that it served.
func closeListeners(ls ...net.Listener) {
	for _, l := range ls {
		if l != nil {
			l.Close() //nolint:errcheck // closed already
		}
	}
}
