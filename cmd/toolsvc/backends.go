package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/executors/mcpclient"
	"toolsvc/stack"
	"toolsvc/store"
	"toolsvc/tool"
	"toolsvc/verification"
)

// backendFlags name the configuration of other MCP servers, whose tools become toolsets.
type backendFlags struct {
	Config string `help:"Configuration (YAML). Its section backends lists MCP servers whose tools are served too." type:"existingfile" env:"TOOLSVC_CONFIG" placeholder:"FILE"`
}

// passing passes on to clients what backends ask and tell during calls. An mcp.Surface does.
type passing interface {
	Ask(ctx context.Context, callID, message string, schema any) (*sdk.ElicitResult, error)
	Progress(callID, message string, progress, total float64)
}

// backends are the MCP servers of a configuration.
type backends struct {
	toolsets []stack.Toolset
	open     []*mcpclient.Executor
	// to and keep are set when there is somebody to ask, and a store.
	to   passing
	keep *store.Store
}

// openBackends reaches the servers of the configuration. One that cannot be used is left out, and logged: the others are served.
func (f backendFlags) openBackends(ctx context.Context, stateDir string, log *slog.Logger) (*backends, error) {
	b := &backends{}
	if f.Config == "" {
		return b, nil
	}
	text, err := os.ReadFile(f.Config)
	if err != nil {
		return nil, usage("read the configuration: %w", err)
	}
	config, err := mcpclient.ReadConfig(text)
	if err != nil {
		return nil, usage("%s: %w", f.Config, err)
	}
	for _, name := range slices.Sorted(maps.Keys(config)) {
		e, err := mcpclient.Open(ctx, name, config[name], mcpclient.Options{StateDir: stateDir, Version: version(), Logger: log, Ask: b.ask, Progress: b.progress, PutArtifact: b.put})
		if err != nil {
			log.Error("an MCP server is left out", "backend", name, "error", err)
			continue
		}
		b.open = append(b.open, e)
		specs := usable(e.Specs(), log)
		if len(specs) > 0 {
			b.toolsets = append(b.toolsets, stack.Toolset{Specs: specs, Executor: e})
		}
	}
	return b, nil
}

// usable leaves out tools whose schemas conditions cannot be compiled over.
func usable(specs []*tool.Spec, log *slog.Logger) []*tool.Spec {
	return slices.DeleteFunc(slices.Clone(specs), func(s *tool.Spec) bool {
		_, issues := verification.Compile(s, s.Example, nil)
		_, err := verification.EffectClass(s, s.Example)
		if err = errors.Join(err, issues.Err()); err != nil {
			log.Error("a tool of an MCP server is left out", "tool", s.ID, "error", err)
		}
		return err != nil
	})
}

func (b *backends) ask(ctx context.Context, callID, message string, schema any) (*sdk.ElicitResult, error) {
	if b.to == nil {
		return &sdk.ElicitResult{Action: "cancel"}, nil
	}
	return b.to.Ask(ctx, callID, message, schema)
}

func (b *backends) progress(callID, message string, progress, total float64) {
	if b.to != nil {
		b.to.Progress(callID, message, progress, total)
	}
}

func (b *backends) put(ctx context.Context, mediaType string, data []byte) (string, error) {
	if b.keep == nil {
		return "", fmt.Errorf("there is no store for the pictures of MCP servers yet")
	}
	return b.keep.PutArtifact(ctx, mediaType, data)
}

// close ends the servers that were started.
func (b *backends) close(ctx context.Context) error {
	var errs []error
	for _, e := range b.open {
		errs = append(errs, e.Shutdown(ctx))
	}
	return errors.Join(errs...)
}
