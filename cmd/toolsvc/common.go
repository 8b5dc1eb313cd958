package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"toolsvc/planner"
	"toolsvc/stack"
	"toolsvc/telemetry"
)

// Common are the flags of every command.
type Common struct {
	Config          string  `help:"Configuration file (YAML): flags by their names, those of a command in a section of its name, and in the section backends MCP servers whose tools are there too. ~/.config/toolsvc/config.yaml when it is there." type:"path" env:"TOOLSVC_CONFIG" placeholder:"FILE"`
	StateDir        string  `help:"Where runs, evidence and Temporal's database are kept." default:"${state}" env:"TOOLSVC_STATE_DIR" type:"path"`
	Store           string  `help:"PostgreSQL database that several machines share, as postgres://user:password@host:5432/database, instead of a file in the state directory. Better given by the variable, which no list of processes shows." env:"TOOLSVC_STORE" placeholder:"URL"`
	Artifacts       string  `help:"Bucket for screenshots and evidence that several machines share (s3://bucket?region=…), instead of a folder in the state directory." env:"TOOLSVC_ARTIFACTS" placeholder:"URL"`
	TemporalAddress string  `help:"Temporal service (host:port) instead of the embedded one. Temporal's own environment configuration is honoured too." env:"TOOLSVC_TEMPORAL_ADDRESS"`
	Namespace       string  `help:"Temporal namespace." env:"TOOLSVC_TEMPORAL_NAMESPACE"`
	TemporalUI      string  `name:"temporal-ui" help:"Where the UI of that Temporal service is, for links to runs." env:"TOOLSVC_TEMPORAL_UI" placeholder:"URL"`
	MaxSessions     int     `help:"How many runs may have a browser tab at the same time; others wait, and are told so." default:"8" env:"TOOLSVC_MAX_SESSIONS"`
	Lang            string  `help:"Language of the narration: en, ko or ja. The plan's, or en, when it is not given." enum:",en,ko,ja" default:"" env:"TOOLSVC_LANG"`
	Chromium        string  `help:"The browser's program; found on the PATH when empty." env:"TOOLSVC_CHROMIUM"`
	Scale           float64 `help:"Device pixels per CSS pixel of pages." default:"1" env:"TOOLSVC_SCALE"`
	Workspace       string  `help:"The folder that the terminal and document tools work in, and that is backed up around their actions. The working directory when empty, unless that is your home or holds the state directory; none leaves these tools out." env:"TOOLSVC_WORKSPACE" placeholder:"folder"`
	GeminiURL       string  `name:"gemini-url" help:"Where the Gemini API is, when it is not Google's: a proxy, or the fake of gemini/geminitest. The key comes from GEMINI_API_KEY." env:"TOOLSVC_GEMINI_URL"`
	GeminiModel     string  `name:"gemini-model" help:"Which of its models." env:"TOOLSVC_GEMINI_MODEL"`
	siteFlags
	Verbose bool `help:"Log what happens inside, to standard error." short:"v"`
}

// traced begins the span of a command, in the trace that the environment's TRACEPARENT names, where the environment asks for traces. Done ends
// it, and sends what there is; everything else of the command ends before.
func (c *Common) traced(ctx context.Context, std streams, name string) (_ context.Context, shown *telemetry.Telemetry, done func(), err error) {
	shown, err = telemetry.New(ctx, telemetry.Options{Version: version()})
	if err != nil {
		return ctx, nil, nil, usage("%w", err)
	}
	ctx, end := shown.Command(ctx, name, os.Getenv("TRACEPARENT"))
	return ctx, shown, func() {
		end()
		flush(ctx, shown, c.logger(std))
	}, nil
}

// defaultStateDir is where a user's programs keep their state (XDG Base Directory Specification).
func defaultStateDir() string {
	if d := os.Getenv("XDG_STATE_HOME"); d != "" {
		return filepath.Join(d, "toolsvc")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ".toolsvc"
	}
	return filepath.Join(home, ".local", "state", "toolsvc")
}

// lang is the language of the narration: the one that was asked for, else the plan's (nil without one), else English.
func (c *Common) lang(plan *planner.Plan) string {
	if c.Lang == "" && plan != nil && plan.Language != "" {
		return plan.Language
	}
	if c.Lang == "" {
		return "en"
	}
	return c.Lang
}

func (c *Common) logger(std streams) *slog.Logger {
	level := slog.LevelError
	if c.Verbose {
		level = slog.LevelDebug
	}
	return telemetry.NewLogger(std.err, level)
}

// workspace is the folder to work in; "" for none.
func (c *Common) workspace() string {
	if c.Workspace != "" {
		if c.Workspace == "none" {
			return ""
		}
		return c.Workspace
	}
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	if home, err := os.UserHomeDir(); err == nil && home == dir {
		return ""
	}
	if rel, err := filepath.Rel(dir, c.StateDir); err != nil || rel == "." || !strings.HasPrefix(rel, "..") {
		return "" // what is kept there must not be within reach of commands
	}
	return dir
}

// options are o with what the flags of every command say.
func (c *Common) options(std streams, o stack.Options) (stack.Options, error) {
	o.StateDir, o.TemporalAddress, o.Namespace = c.StateDir, c.TemporalAddress, c.Namespace
	o.StoreURL, o.ArtifactsURL, o.UIURL = c.Store, c.Artifacts, c.TemporalUI
	if o.MaxSessions == 0 {
		o.MaxSessions = c.MaxSessions
	}
	o.ChromiumPath, o.DeviceScaleFactor = c.Chromium, c.Scale
	if o.Logger == nil {
		o.Logger = c.logger(std)
	}
	o.Workspace = c.workspace()
	o.Gemini.BaseURL, o.Gemini.Model = c.GeminiURL, c.GeminiModel
	own := o.Navigation.Own
	var err error
	if o.Navigation, err = c.policy(); err != nil {
		return o, err
	}
	o.Navigation.Own = own
	return o, nil
}

// open puts toolsvc together, or attaches to the one that serves the state directory.
func (c *Common) open(ctx context.Context, std streams, o stack.Options) (*stack.Stack, error) {
	o, err := c.options(std, o)
	if err != nil {
		return nil, err
	}
	s, err := stack.Open(ctx, o)
	if err != nil {
		return nil, &exit{exitInfrastructure, err}
	}
	return s, nil
}
