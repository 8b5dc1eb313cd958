package main

import (
	"context"
	"log/slog"
	"time"

	"toolsvc/server/mcp"
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
	c.follow(ctx, tokens, log)
	servers, err := common.openBackends(ctx, log, nil)
	if err != nil {
		return err
	}
	defer servers.done(ctx, log)
	o, err := common.options(std, stack.Options{UIPort: c.UIPort, Ephemeral: c.EndBrowser, NoWorker: c.NoWorker, Screenshots: c.Screenshots, Toolsets: servers.toolsets(),
		Drain: c.Drain, KeepRuns: time.Duration(c.KeepRuns), KeepArtifacts: int64(c.KeepArtifacts), Telemetry: shown, Logger: log})
	if err != nil {
		return err
	}
	err = stack.Serve(ctx, o, stack.Surfaces{HTTP: c.HTTP, GRPC: c.GRPC, AllowedHosts: c.AllowHost, Tokens: tokens, TLS: config, BehindProxy: c.BehindProxy,
		Language: common.lang(nil), MCPAsk: c.MCPAsk, Version: version(), Out: std.err,
		Opened: func(s *stack.Stack, surface *mcp.Surface) {
			servers.keep, servers.to = s.Store, surface
			servers.settle(ctx)
			servers.follow(s, surface.SetRegistry, log)
		}})
	if err != nil {
		return &exit{exitInfrastructure, err}
	}
	return nil
}

// flush sends what is left of the traces.
func flush(ctx context.Context, shown *telemetry.Telemetry, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := shown.Close(ctx); err != nil {
		log.Warn("traces were not sent to their end", "error", err)
	}
}
