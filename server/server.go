package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"

	"toolsvc/gen/openapi"
	"toolsvc/gen/runs"
	"toolsvc/gen/tools"
	"toolsvc/server/auth"
	"toolsvc/tool"
)

// DefaultMaxConcurrent is how many calls are made at once when Options say nothing.
const DefaultMaxConcurrent = 256

// Bounds of connections and requests. The time of a call itself is bounded by its tool's time limit, not here.
const (
	headerTimeout  = 10 * time.Second
	bodyTimeout    = 30 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10
	// spareConnections are kept beside those of calls, for the catalogue, health and waiting clients.
	spareConnections = 256
	// settle is how long the answers of calls that did not end in time, and that go on without their client, may take to be written.
	settle = 3 * time.Second
)

// Options of a Server.
type Options struct {
	// Caller makes the calls and reaches the runs; planner.Service is one. Required. It is asked only what the principal of the request may
	// do. When a context ends, a call goes on.
	Caller auth.Service
	// Registry is the catalogue. Required.
	Registry *tool.Registry
	// Ready returns nil when calls can be made. It is asked often and has two seconds to answer; nil means always ready.
	Ready func(context.Context) error
	// Events and Artifacts are those of runs, as the store keeps them; nil answers that there are none.
	Events    Events
	Artifacts Artifacts
	// MCP answers at /mcp, Page (the live page) at /, below /runs/ and below /assets/, Metrics at /metrics: behind the same checks of host,
	// origin and token as everything else. nil leaves one out.
	MCP, Page, Metrics http.Handler
	// Tokens are those who may make requests; nil lets everyone do everything, which is for loopback only.
	Tokens *auth.Tokens
	// TLS encrypts both surfaces; nil does not.
	TLS *tls.Config
	// AllowedHosts are host names that requests may name besides loopback ones, such as that of a reverse proxy; without port.
	AllowedHosts []string
	// MaxConcurrent bounds the calls that are made at once on HTTP and gRPC together; DefaultMaxConcurrent when 0.
	MaxConcurrent int
	// MaxStreams bounds the streams that are open at once on HTTP and gRPC together; DefaultMaxStreams when 0.
	MaxStreams int
	// Drain is how long calls may take to end after the server was told to stop; DefaultDrain when 0.
	Drain time.Duration
	// WrapHTTP and GRPC put something around both surfaces, outside of everything else: telemetry. nil does not.
	WrapHTTP func(http.Handler) http.Handler
	GRPC     []grpc.ServerOption
	// Logger gets one line per request; slog.Default() when nil.
	Logger *slog.Logger
}

// Server answers on HTTP and gRPC.
type Server struct {
	log    *slog.Logger
	tokens *auth.Tokens
	tls    *tls.Config
	runs   *runService
	ready  func(context.Context) error
	hosts  map[string]bool
	http   *http.Server
	grpc   *grpc.Server
	health *health.Server
	// maxConnections bounds the connections of each surface.
	maxConnections int
	bodyTimeout    time.Duration
	readyEvery     time.Duration
	grace          time.Duration
	traffic        *traffic
	// stopping ends, with the cause errStopping, when calls no longer hold up the end of the server.
	stopping context.Context
	giveUp   context.CancelCauseFunc
	// draining ends when the calls have ended, or their time is up, and with it all streams; serving ends after it, and with it whatever
	// requests are left.
	draining, serving context.Context
	drain, cut        context.CancelFunc
}

// errStopping is the cause that ends the waiting for a call when the server stops; the call itself goes on.
var errStopping = errors.New("toolsvc is stopping")

// New makes a Server. It fails when an option is missing, or when the catalogue cannot be described as OpenAPI.
func New(o Options) (*Server, error) {
	if o.Caller == nil || o.Registry == nil {
		return nil, errors.New("a server needs a Caller and a Registry")
	}
	if o.MaxConcurrent < 0 || o.MaxStreams < 0 || o.Drain < 0 {
		return nil, fmt.Errorf("the numbers of concurrent calls (%d) and streams (%d), and the time to stop in (%s), cannot be negative", o.MaxConcurrent, o.MaxStreams, o.Drain)
	}
	description, err := describe(openapi.JSON, o.Registry)
	if err != nil {
		return nil, fmt.Errorf("describe the tools as OpenAPI: %w", err)
	}
	calls, streams := cmp.Or(o.MaxConcurrent, DefaultMaxConcurrent), cmp.Or(o.MaxStreams, DefaultMaxStreams)
	s := &Server{
		log:            cmp.Or(o.Logger, slog.Default()),
		tokens:         o.Tokens,
		tls:            o.TLS,
		ready:          o.Ready,
		hosts:          hostSet(o.AllowedHosts),
		maxConnections: calls + streams + spareConnections,
		bodyTimeout:    bodyTimeout,
		readyEvery:     readyEvery,
		grace:          cmp.Or(o.Drain, DefaultDrain),
		traffic:        &traffic{},
	}
	if s.ready == nil {
		s.ready = func(context.Context) error { return nil }
	}
	s.stopping, s.giveUp = context.WithCancelCause(context.Background())
	s.draining, s.drain = context.WithCancel(context.Background())
	s.serving, s.cut = context.WithCancel(context.Background())
	shared := &bounds{traffic: s.traffic, stopping: s.stopping, draining: s.draining, slots: make(chan struct{}, calls), streams: make(chan struct{}, streams)}
	caller := auth.Guard(o.Caller)
	ofTools := tools.NewEndpoints(&service{bounds: shared, caller: caller, registry: o.Registry, log: s.log})
	s.runs = &runService{bounds: shared, caller: caller, log: s.log, watch: o.Events, artifacts: o.Artifacts, keepAlive: keepAlive}
	ofRuns := runs.NewEndpoints(s.runs)
	handler, err := s.handler(o, ofTools, ofRuns, s.runs, description)
	if err != nil {
		return nil, fmt.Errorf("put the HTTP surface together: %w", err)
	}
	if o.WrapHTTP != nil {
		handler = o.WrapHTTP(handler)
	}
	s.http = &http.Server{
		Handler:           handler,
		BaseContext:       func(net.Listener) context.Context { return s.serving },
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	s.grpc, s.health = s.grpcServer(o.GRPC, ofTools, ofRuns, calls+streams)
	return s, nil
}

// HTTPHandler is the whole HTTP surface.
func (s *Server) HTTPHandler() http.Handler { return s.http.Handler }

// GRPCServer is the whole gRPC surface. Its health service says NOT_SERVING until Serve has asked for readiness.
func (s *Server) GRPCServer() *grpc.Server { return s.grpc }

// Serve answers on the listeners until ctx ends, and closes them; a nil listener leaves that surface out. It then stops gracefully: readiness is
// false, new calls are refused with 503 and Unavailable, and those under way have Options.Drain to end, while the listeners stay open; after
// that the clients that still wait are told that their calls go on. Then streams are ended. It returns nil after such a stop, and an error when
// a listener fails. A Server serves once.
func (s *Server) Serve(ctx context.Context, httpListener, grpcListener net.Listener) error {
	failed := make(chan error, 2)
	serve := func(what string, l net.Listener, serve func(net.Listener) error) {
		if l == nil {
			return
		}
		go func() {
			if err := serve(netutil.LimitListener(l, s.maxConnections)); err != nil && !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serve %s on %s: %w", what, l.Addr(), err)
			}
		}()
	}
	serveHTTP := s.http.Serve
	if s.tls != nil {
		s.http.TLSConfig = s.tls.Clone()
		serveHTTP = func(l net.Listener) error { return s.http.ServeTLS(l, "", "") }
	}
	serve("HTTP", httpListener, serveHTTP)
	serve("gRPC", grpcListener, s.grpc.Serve)
	watching, unwatch := context.WithCancel(ctx)
	defer unwatch()
	go s.watchReadiness(watching)

	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	s.stop()
	return err
}

// stop ends both surfaces: calls first, then streams, then what is left.
func (s *Server) stop() {
	idle := s.traffic.close()
	s.log.Info("stopping", "drain", s.grace.String())
	s.health.Shutdown()
	select {
	case <-idle:
	case <-time.After(s.grace):
		s.log.Warn("calls are left to go on without their clients")
		s.giveUp(errStopping)
		select { // until those clients are told
		case <-idle:
		case <-time.After(settle):
		}
	}
	s.giveUp(errStopping)
	s.drain()
	ctx, cancel := context.WithTimeout(context.Background(), settle)
	defer cancel()
	time.AfterFunc(settle/3, s.cut) // what does not know of draining, and only listens
	defer s.cut()

	grpcStopped := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(grpcStopped)
	}()
	if err := s.http.Shutdown(ctx); err != nil {
		s.log.Warn("HTTP connections were cut", "error", err)
		if err := s.http.Close(); err != nil {
			s.log.Warn("close HTTP", "error", err)
		}
	}
	select {
	case <-grpcStopped:
	case <-ctx.Done():
		s.log.Warn("gRPC connections were cut")
		s.grpc.Stop()
		<-grpcStopped
	}
}
