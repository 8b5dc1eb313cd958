package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"toolsvc/server"
	"toolsvc/telemetry"
)

// Surfaces say where Serve answers.
type Surfaces struct {
	// HTTP and GRPC are addresses (host:port) on loopback, because calls are not authenticated: anything else needs a proxy with
	// authentication and TLS in front. Port 0 takes a free one; an empty address leaves the surface out.
	HTTP, GRPC string
	// AllowedHosts are host names under which such a proxy may reach the HTTP surface.
	AllowedHosts []string
	// Out is told, in a few lines, where what answers; nothing when nil.
	Out io.Writer
}

// Serve puts toolsvc together and answers until ctx ends. It is the whole of a program that serves toolsets of its own:
//
//	err := stack.Serve(ctx, stack.Options{StateDir: "state", Toolsets: own}, stack.Surfaces{HTTP: "127.0.0.1:7070", Out: os.Stderr})
//
// A program that gives a Workspace calls terminal.Supervise first thing in main.
//
// It returns nil when ctx has ended, and an error when something could not be started, or the embedded Temporal failed.
func Serve(ctx context.Context, o Options, at Surfaces) (err error) {
	if at.Out == nil {
		at.Out = io.Discard
	}
	httpL, err := listen(ctx, at.HTTP)
	if err != nil {
		return err
	}
	defer closeListener(httpL)
	grpcL, err := listen(ctx, at.GRPC)
	if err != nil {
		return err
	}
	defer closeListener(grpcL)
	s, err := Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(context.WithoutCancel(ctx))) }()
	if s.Attached {
		return fmt.Errorf("another toolsvc serves %s already (Temporal at %s); end it first, or use another state directory", o.StateDir, s.TemporalAddress)
	}
	opts := server.Options{Caller: s.Service, Registry: s.Service.Registry, Events: s.Store, Artifacts: s.Store, Ready: s.Ready, AllowedHosts: at.AllowedHosts, Drain: o.Drain, Logger: o.Logger}
	Show(&opts, o.Telemetry)
	srv, err := server.New(opts)
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
	for _, surface := range []struct {
		name, scheme string
		l            net.Listener
	}{{"HTTP", "http://", httpL}, {"gRPC", "", grpcL}} {
		if surface.l != nil {
			fmt.Fprintf(at.Out, "%-9s %s%s\n", surface.name, surface.scheme, surface.l.Addr())
		}
	}
	if s.UIURL != "" {
		fmt.Fprintf(at.Out, "%-9s %s\n", "Temporal", s.UIURL)
	}
	fmt.Fprintf(at.Out, "%-9s %s\nReady. Ctrl-C ends it; runs go on when it is started again.\n", "State", o.StateDir)
	if err := srv.Serve(ctx, httpL, grpcL); err != nil { // a nil listener leaves its surface out
		return err
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return nil
}

// Show adds to the options of a server what lets operators see it: /metrics, and measures and traces of its requests.
func Show(opts *server.Options, t *telemetry.Telemetry) {
	if t == nil {
		return
	}
	opts.Metrics, opts.WrapHTTP, opts.GRPC = t.MetricsHandler(), t.HTTP, t.GRPC()
}

// listen takes an address on loopback; nil for an empty one.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	if addr == "" {
		return nil, nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w; write host:port, such as 127.0.0.1:7070", addr, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("address %q is not loopback: calls are not authenticated, so put a proxy with authentication and TLS in front", addr)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; another program uses it? give another address", addr, err)
	}
	return l, nil
}

// closeListener closes a listener that nothing serves any more; the server has closed those that it served.
func closeListener(l net.Listener) {
	if l != nil {
		l.Close() //nolint:errcheck // closed already
	}
}
