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
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/executors/mcpclient"
	"toolsvc/gen/toolsets"
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
	log   *slog.Logger
	began time.Time
	open  []*mcpclient.Executor
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
	sets := b.toolsets()
	reg, err := stack.NewRegistry(sets...)
	if err != nil {
		return nil, err
	}
	s := &planner.Service{Registry: reg, Executors: map[string]tool.Executor{}}
	for _, t := range sets {
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

// patience is how long a program that goes on waits for its servers at the start, beside what it does itself. Those that take longer come when
// they come: a client that lists tools only once, just then, misses them.
const patience = 2 * time.Second

// openBackends starts the servers of the configuration, all at once. One that cannot be used is left out, and logged: the others are served.
// A program that goes on, and follows, gives no needed: it waits for none, and a server's tools come when it answers. Otherwise those that are needed
// are waited for, and the others left alone: they are known by what they listed last.
func (c *Common) openBackends(ctx context.Context, log *slog.Logger, needed func(name string) bool) (*backends, error) {
	b := &backends{log: log, began: time.Now()}
	config, err := c.readBackends()
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(config))
	open := make([]*mcpclient.Executor, len(names))
	var starting sync.WaitGroup
	for i, name := range names {
		starting.Go(func() {
			var err error
			open[i], err = mcpclient.Open(ctx, name, config[name], mcpclient.Options{StateDir: c.StateDir, Version: version(), Logger: log, Changed: b.relisted, Ask: b.ask, Progress: b.progress,
				PutArtifact: b.put, Late: needed == nil, Asleep: needed != nil && !needed(name)})
			if err != nil {
				open[i] = nil
				log.Error("an MCP server is left out", "backend", name, "error", err)
			}
		})
	}
	starting.Wait()
	b.open = slices.DeleteFunc(open, func(e *mcpclient.Executor) bool { return e == nil })
	return b, nil
}

// readBackends reads the section of the configuration; nil when there is none.
func (c *Common) readBackends() (mcpclient.Config, error) {
	path := c.configFile()
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, usage("read the configuration: %w", err)
	}
	config, err := mcpclient.ReadConfig(text)
	if err != nil {
		return nil, usage("%s: %w", path, err)
	}
	return config, nil
}

// settle waits until every server has answered, or failed to, for no longer than patience after their start.
func (b *backends) settle(ctx context.Context) {
	ctx, cancel := context.WithDeadline(ctx, b.began.Add(patience))
	defer cancel()
	for _, e := range b.open {
		select {
		case <-e.Tried():
		case <-ctx.Done():
			return
		}
	}
}

// toolsets are the servers' tools as they are now. One that has none yet may get some later.
func (b *backends) toolsets() (sets []stack.Toolset) {
	for _, e := range b.open {
		sets = append(sets, stack.Toolset{Name: e.Name(), Specs: usable(e.Specs(), b.log), Executor: e})
	}
	return sets
}

// every needs all servers.
func every(string) bool { return true }

// toolsetsOf needs the servers that these tools are of; all of them when there is a tool of which nobody knows yet whose it is.
func (c *Common) toolsetsOf(ids ...tool.ID) func(string) bool {
	config, err := c.readBackends()
	if err != nil {
		return nil // openBackends says it
	}
	own := toolsets.Registry()
	for _, id := range ids {
		_, configured := config[id.Toolset()]
		if !configured && own.Lookup(id) == nil {
			return every
		}
	}
	return func(name string) bool {
		return slices.ContainsFunc(ids, func(id tool.ID) bool { return id.Toolset() == name })
	}
}

// relisted passes on that a server has other tools.
func (b *backends) relisted(e *mcpclient.Executor) {
	specs := usable(e.Specs(), b.log)
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
	errs := make([]error, len(b.open))
	var ending sync.WaitGroup
	for i, e := range b.open {
		ending.Go(func() { errs[i] = e.Shutdown(ctx) })
	}
	ending.Wait()
	return errors.Join(errs...)
}
