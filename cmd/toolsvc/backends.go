package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/executors/mcpclient"
	"toolsvc/planner"
	"toolsvc/stack"
	"toolsvc/store"
	"toolsvc/tool"
	"toolsvc/verification"
)

// passing passes on to clients what backends ask and tell during calls. An mcp.Surface does.
type passing interface {
	Ask(ctx context.Context, callID, message string, schema any) (*sdk.ElicitResult, error)
	Progress(callID, message string, progress, total float64)
}

// backends are the MCP servers of a configuration.
type backends struct {
	toolsets []stack.Toolset
	open     []*mcpclient.Executor
	// to and keep are set when there is somebody to ask, and a store; changed, when somebody wants to know of other tools.
	to   passing
	keep *store.Store
	// changed is told of toolsets that have other tools; late are those that had before anybody followed.
	mu      sync.Mutex
	changed func(stack.Toolset)
	late    map[string]stack.Toolset
	// following keeps replacements one after the other: each makes a whole new list.
	following sync.Mutex
}

// follow gives the stack, and those who list its tools, what servers list from now on.
func (b *backends) follow(s *stack.Stack, list func(*tool.Registry) error, log *slog.Logger) {
	f := func(t stack.Toolset) {
		b.following.Lock()
		defer b.following.Unlock()
		err := s.Replace(t)
		if err == nil {
			err = list(s.Service.Registry)
		}
		if err != nil {
			log.Error("an MCP server has other tools now, which cannot be served", "backend", t.Name, "error", err)
		}
	}
	b.mu.Lock()
	b.changed = f
	late := b.late
	b.late = nil
	b.mu.Unlock()
	for _, t := range late {
		f(t)
	}
}

// registry is the catalogue with the tools of the servers, and the executors that know which sources apply.
func (b *backends) registry() (*planner.Service, error) {
	reg, err := stack.NewRegistry(b.toolsets...)
	if err != nil {
		return nil, err
	}
	s := &planner.Service{Registry: reg, Executors: map[string]tool.Executor{}}
	for _, t := range b.toolsets {
		s.Executors[t.Name] = t.Executor
	}
	return s, nil
}

// done ends the servers of a command that has ended.
func (b *backends) done(ctx context.Context, log *slog.Logger) {
	if err := b.close(context.WithoutCancel(ctx)); err != nil {
		log.Error("end the MCP servers", "error", err)
	}
}

// openBackends reaches the servers of the configuration. One that cannot be used is left out, and logged: the others are served. One that
// does not answer is tried again, and its tools come when it does, where somebody follows.
func (c *Common) openBackends(ctx context.Context, log *slog.Logger) (*backends, error) {
	b := &backends{}
	path := c.configFile()
	if path == "" {
		return b, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, usage("read the configuration: %w", err)
	}
	config, err := mcpclient.ReadConfig(text)
	if err != nil {
		return nil, usage("%s: %w", path, err)
	}
	for _, name := range slices.Sorted(maps.Keys(config)) {
		e, err := mcpclient.Open(ctx, name, config[name], mcpclient.Options{StateDir: c.StateDir, Version: version(), Logger: log, Changed: b.relisted(log), Ask: b.ask, Progress: b.progress, PutArtifact: b.put})
		if err != nil {
			log.Error("an MCP server is left out", "backend", name, "error", err)
			continue
		}
		b.open = append(b.open, e)
		specs := usable(e.Specs(), log)
		b.toolsets = append(b.toolsets, stack.Toolset{Name: name, Specs: specs, Executor: e}) // it may get tools later
	}
	return b, nil
}

// relisted passes on that a server has other tools.
func (b *backends) relisted(log *slog.Logger) func(*mcpclient.Executor) {
	return func(e *mcpclient.Executor) {
		specs := usable(e.Specs(), log)
		if len(specs) == 0 {
			return
		}
		t := stack.Toolset{Name: e.Name(), Specs: specs, Executor: e}
		b.mu.Lock()
		f := b.changed
		if f == nil {
			if b.late == nil {
				b.late = map[string]stack.Toolset{}
			}
			b.late[e.Name()] = t
		}
		b.mu.Unlock()
		if f != nil {
			f(t)
		}
	}
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
