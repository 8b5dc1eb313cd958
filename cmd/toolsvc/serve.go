package main

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/executors/browser/guard"
	"toolsvc/server"
	"toolsvc/server/auth"
	"toolsvc/server/mcp"
	"toolsvc/server/page"
	"toolsvc/stack"
	"toolsvc/store/retention"
	"toolsvc/telemetry"
)

// serveCmd serves all surfaces.
type serveCmd struct {
	HTTP          string          `name:"http" help:"HTTP address." default:"127.0.0.1:7070" env:"TOOLSVC_HTTP"`
	GRPC          string          `name:"grpc" help:"gRPC address." default:"127.0.0.1:7071" env:"TOOLSVC_GRPC"`
	UIPort        int             `help:"Port of Temporal's UI; 0 keeps the last one, -1 switches it off." default:"0"`
	NoWorker      bool            `help:"Only answer; other processes that share the store and Temporal do the work." env:"TOOLSVC_NO_WORKER"`
	EndBrowser    bool            `help:"End the browser with the server. Otherwise it goes on, so that a restarted server finds its tabs again."`
	Screenshots   bool            `help:"Keep pictures of the page from before and after an action, for the live page." default:"true" negatable:"" env:"TOOLSVC_SCREENSHOTS"`
	MCPAsk        bool            `name:"mcp-ask" help:"Open questions also for MCP clients that cannot show them." env:"TOOLSVC_MCP_ASK"`
	Drain         time.Duration   `help:"How long calls and attempts may go on after SIGTERM before they are handed over." default:"25s" env:"TOOLSVC_DRAIN"`
	KeepRuns      retention.Age   `help:"How long a run is kept after its last event, such as 30d or 36h; 0 for ever. A run that goes on is kept." default:"30d" env:"TOOLSVC_KEEP_RUNS"`
	KeepArtifacts retention.Bytes `help:"How large screenshots, evidence and files may be together, such as 20GiB, before the oldest are deleted; 0 for no bound." default:"20GiB" env:"TOOLSVC_KEEP_ARTIFACTS"`
	AllowHost     []string        `help:"Host names under which a reverse proxy may reach the HTTP surface." env:"TOOLSVC_ALLOW_HOST"`
	exposure
}

func (c *serveCmd) Run(ctx context.Context, common *Common, std streams) error {
	level := slog.LevelInfo
	if common.Verbose {
		level = slog.LevelDebug
	}
	log := telemetry.NewLogger(std.err, level)
	shown, err := telemetry.New(ctx, telemetry.Options{Version: version(), Logger: log})
	if err != nil {
		return &exit{exitUsage, err}
	}
	defer flush(ctx, shown, log)
	tokens, config, err := c.open(c.HTTP, c.GRPC)
	if err != nil {
		return err
	}
	httpL, err := listen(ctx, c.HTTP)
	if err != nil {
		return err
	}
	defer httpL.Close() //nolint:errcheck // the server closes it first
	grpcL, err := listen(ctx, c.GRPC)
	if err != nil {
		return err
	}
	defer grpcL.Close() //nolint:errcheck // the server closes it first

	servers, err := common.openBackends(ctx, log)
	if err != nil {
		return err
	}
	defer servers.done(ctx, log)
	callers := &callersModel{}
	s, err := common.open(ctx, std, stack.Options{UIPort: c.UIPort, Ephemeral: c.EndBrowser, NoWorker: c.NoWorker, Screenshots: c.Screenshots, Toolsets: servers.toolsets, Caller: callers, Navigation: guard.Policy{Own: ports(httpL, grpcL)},
		Drain: c.Drain, KeepRuns: time.Duration(c.KeepRuns), KeepArtifacts: int64(c.KeepArtifacts), Telemetry: shown, Logger: log})
	if err != nil {
		return err
	}
	servers.keep = s.Store
	defer func() {
		if err := s.Close(context.WithoutCancel(ctx)); err != nil {
			log.Error("end", "error", err)
		}
	}()
	if s.Attached {
		return &exit{exitInfrastructure, fmt.Errorf("another toolsvc serves %s already (Temporal at %s); end it first, or give another --state-dir", common.StateDir, s.TemporalAddress)}
	}
	key, err := mcpKey(common.StateDir)
	if err != nil {
		return &exit{exitInfrastructure, err}
	}
	surface, err := mcp.New(mcp.Options{Service: auth.Guard(s.Service), Registry: s.Service.Registry, Events: s.Store, Artifacts: s.Store, Key: key,
		Language: common.lang(nil), Ask: c.MCPAsk, Version: version(), Logger: log,
		Extend: func(srv *sdk.Server, _ *mcp.Surface) {
			srv.AddReceivingMiddleware(shown.MCP, auth.MCPMiddleware(caller(tokens)))
		}})
	if err != nil {
		return &exit{exitInfrastructure, err}
	}
	servers.to = surface
	callers.of.Store(surface)
	servers.follow(s, surface.SetRegistry, log)
	live, err := page.New()
	if err != nil {
		return &exit{exitInfrastructure, err}
	}
	opts := server.Options{Caller: s.Service, Page: live, Registry: s.Service.Registry, Events: s.Store, Artifacts: s.Store, MCP: surface.Handler(), Ready: s.Ready, AllowedHosts: c.AllowHost,
		Tokens: tokens, TLS: config, Drain: c.Drain, Logger: log}
	stack.Show(&opts, shown)
	srv, err := server.New(opts)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { s.DrainBy(time.Now().Add(c.Drain)) })()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case err := <-s.Failed():
			cancel(fmt.Errorf("the embedded Temporal failed: %w", err))
		case <-ctx.Done():
		}
	}()
	address := scheme(config) + "://" + httpL.Addr().String()
	fmt.Fprintf(std.err, "Page      %s/\nHTTP      %s\ngRPC      %s\nMCP       %s/mcp\n", address, address, grpcL.Addr(), address)
	if s.UIURL != "" {
		fmt.Fprintf(std.err, "Temporal  %s\n", s.UIURL)
	}
	fmt.Fprintf(std.err, "State     %s\nReady. Ctrl-C ends it; runs go on when it is started again.\n", common.StateDir)
	if err := srv.Serve(ctx, httpL, grpcL); err != nil {
		return &exit{exitInfrastructure, err}
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return &exit{exitInfrastructure, cause}
	}
	return nil
}

// mcpKey is the key that signs what is carried through MCP clients. Where several processes share a sealing key, it is made of that, because an
// answer may come back to another one.
func mcpKey(stateDir string) ([]byte, error) {
	if shared := os.Getenv(stack.SealKeyVariable); shared != "" {
		return hkdf.Key(sha256.New, []byte(shared), nil, "toolsvc MCP signing key", 32)
	}
	return mcp.LoadKey(stateDir)
}

// flush sends what is left of the traces.
func flush(ctx context.Context, shown *telemetry.Telemetry, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := shown.Close(ctx); err != nil {
		log.Warn("traces were not sent to their end", "error", err)
	}
}

// listen takes an address.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, &exit{exitInfrastructure, fmt.Errorf("listen on %s: %w; another program uses it? give another address", addr, err)}
	}
	return l, nil
}
