package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/tool"
)

// Options are what backends have in common.
type Options struct {
	// StateDir keeps what servers listed last, so that their tools are known although they are down; "" keeps nothing.
	StateDir string
	// PutArtifact keeps pictures and returns their digests; nil leaves pictures out.
	PutArtifact func(ctx context.Context, mediaType string, data []byte) (digest string, err error)
	// Ask passes a question of a server on to whoever made the call; nil dismisses it.
	Ask func(ctx context.Context, callID, message string, schema any) (*sdk.ElicitResult, error)
	// Progress passes on what a server tells during a call; nil keeps it to itself.
	Progress func(callID, message string, progress, total float64)
	// Changed is told that the server has other tools now: Specs has them; nil when nobody wants to know.
	Changed func(*Executor)
	// Late lets Open return without waiting for the server: it is known by what it listed last, or by nothing, until it answers. Tried tells
	// when it has, or has not.
	Late bool
	// Asleep leaves the server alone until one of the tools that it listed last is called. Whatever does not need it does not wait for it, at
	// its own end either.
	Asleep bool
	// Version of this program.
	Version string
	Logger  *slog.Logger
}

// Executor does the tools of one server.
type Executor struct {
	name    string
	backend Backend
	options Options
	listed  atomic.Pointer[listed]
	relists chan struct{} // holds one while the list is read again
	// ctx ends with Shutdown, and with it whatever goes on by itself.
	ctx     context.Context
	cancel  context.CancelFunc
	seeking sync.WaitGroup
	tried   chan struct{} // closed when the first try has ended

	mu    sync.Mutex
	runs  map[string]*connection
	calls map[string]string // progress token → call
}

var (
	_ tool.Executor = (*Executor)(nil)
	_ tool.Releaser = (*Executor)(nil)
)

// listed are a server's tools.
type listed struct {
	names  map[tool.ID]string // the server's own names
	specs  []*tool.Spec
	output map[tool.ID]bool // has an output schema
	text   []byte           // as it listed them
}

// maxConnections bounds the connections to one server.
const maxConnections = 64

// Open connects to a server, lists its tools, and makes their specs. A server that does not answer is known by what it listed last, or by
// nothing, and is tried again with growing waits until it answers or Shutdown is called; Options.Changed is told when that has brought
// other tools. A tool that cannot be used (its schema does not compile) is left out, and logged. A configuration that is not valid or
// lacks a variable of the environment, and a server none of whose tools can be used, are errors; of the latter, one that comes late is only logged.
//
// It waits for the server for 30 s at most, or not at all with Options.Late and Options.Asleep.
func Open(ctx context.Context, name string, b Backend, o Options) (*Executor, error) {
	e, err := unopened(name, b, o)
	if err != nil {
		return nil, err
	}
	if o.Late || o.Asleep {
		if known := e.remembered(); known != nil {
			e.listed.Store(e.read(known))
		}
	}
	switch {
	case o.Asleep:
		close(e.tried)
		return e, nil
	case o.Late:
		e.seeking.Go(func() {
			tools, err := e.list(e.ctx)
			if err == nil {
				e.take(tools)
			} else if e.ctx.Err() == nil {
				e.missing(err)
			}
			close(e.tried)
			if err != nil {
				e.seek()
			}
		})
		return e, nil
	}
	defer close(e.tried)
	tools, err := e.list(ctx)
	if err != nil {
		if known := e.remembered(); known != nil {
			e.listed.Store(e.read(known))
		}
		e.missing(err)
		e.seeking.Go(e.seek)
		return e, nil
	}
	e.remember(tools)
	l := e.read(tools)
	if len(l.specs) == 0 {
		return nil, errors.Join(fmt.Errorf("backend %s: none of its %d tools can be used", name, len(tools)), e.closeAll())
	}
	e.listed.Store(l)
	return e, nil
}

// Check starts a server, or reaches it, and ends the connection again. It returns how many of its tools can be used, or why it cannot be; nothing
// is kept, and nothing goes on.
func Check(ctx context.Context, name string, b Backend, o Options) (tools int, err error) {
	e, err := unopened(name, b, o)
	if err != nil {
		return 0, err
	}
	listed, err := e.list(ctx)
	return len(e.read(listed).specs), errors.Join(err, e.Shutdown(ctx))
}

// unopened is an executor that has not tried to reach its server yet.
func unopened(name string, b Backend, o Options) (*Executor, error) {
	if err := (Config{name: b}).Validate(); err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if _, err := (&connection{name: name, backend: b, log: o.Logger}).transport(); err != nil {
		return nil, fmt.Errorf("backend %s: %w", name, err) // time does not mend what the environment lacks
	}
	e := &Executor{name: name, backend: b, options: o, relists: make(chan struct{}, 1), tried: make(chan struct{}), runs: map[string]*connection{}, calls: map[string]string{}}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.listed.Store(&listed{})
	return e, nil
}

// missing tells that a server did not answer.
func (e *Executor) missing(err error) {
	if len(e.Specs()) == 0 {
		e.options.Logger.Warn("an MCP server does not answer, and has no tools until it does; it is tried again", "backend", e.name, "error", err)
	} else {
		e.options.Logger.Warn("an MCP server does not answer; its tools are those that it listed last until it does; it is tried again", "backend", e.name, "error", err)
	}
}

// Tried is closed when the server has been tried for the first time: it has answered, or failed to.
func (e *Executor) Tried() <-chan struct{} { return e.tried }

// seek tries to reach a server that was not there, until it is. The connection knows how long to wait; a call of a remembered tool that
// makes the connection first makes no difference.
func (e *Executor) seek() {
	for {
		tools, err := e.list(e.ctx)
		if e.ctx.Err() != nil {
			return
		}
		if err == nil {
			e.options.Logger.Info("an MCP server that did not answer does now", "backend", e.name, "tools", len(tools))
			e.take(tools)
			return
		}
		wait := backOffFirst
		var failed *tool.Failed
		if errors.As(err, &failed) {
			wait = max(wait, failed.RetryAfter)
		}
		e.options.Logger.Debug("an MCP server still does not answer", "backend", e.name, "again_in", wait, "error", err)
		select {
		case <-time.After(wait):
		case <-e.ctx.Done():
			return
		}
	}
}

// read makes the specs of what a server listed; what cannot be used is left out.
func (e *Executor) read(tools []*sdk.Tool) *listed {
	l := &listed{names: map[tool.ID]string{}, output: map[tool.ID]bool{}}
	for _, t := range tools {
		if !e.backend.permits(t.Name) {
			continue
		}
		spec, err := SpecOf(e.name, e.backend, t)
		if err == nil && l.names[spec.ID] != "" {
			err = fmt.Errorf("%s and %s have the same name here, %s", l.names[spec.ID], t.Name, spec.ID)
		}
		if err != nil {
			e.options.Logger.Warn("a tool of an MCP server is left out", "backend", e.name, "tool", t.Name, "error", err)
			continue
		}
		l.names[spec.ID], l.output[spec.ID] = t.Name, t.OutputSchema != nil
		l.specs = append(l.specs, spec)
	}
	var err error
	if l.text, err = json.Marshal(tools); err != nil {
		e.options.Logger.Warn("what an MCP server listed cannot be kept", "backend", e.name, "error", err)
	}
	return l
}

// Name is the backend's, and that of its toolset.
func (e *Executor) Name() string { return e.name }

// Specs are the server's tools; none while a server has never answered.
func (e *Executor) Specs() []*tool.Spec { return e.listed.Load().specs }

// ServerName is the server's own name of a tool, "" when it has none of that ID.
func (e *Executor) ServerName(id tool.ID) string { return e.listed.Load().names[id] }

// relist reads the tools again, after a server has said that they are others now. A list that cannot be read, or has nothing that can be used,
// leaves things as they are.
func (e *Executor) relist(session *sdk.ClientSession) {
	select {
	case e.relists <- struct{}{}:
	default:
		return // it is being read
	}
	select { // servers that change tell so more than once
	case <-time.After(relistAfter):
	case <-e.ctx.Done():
	}
	<-e.relists
	ctx, cancel := context.WithTimeout(e.ctx, connectLimit)
	defer cancel()
	tools, err := e.tools(ctx, session)
	if e.ctx.Err() != nil {
		return // it is being shut down
	}
	if err != nil {
		e.options.Logger.Warn("an MCP server has changed its tools, and does not list them", "backend", e.name, "error", err)
		return
	}
	e.take(tools)
}

// take replaces what a server listed before, and tells whoever wants to know.
func (e *Executor) take(tools []*sdk.Tool) {
	l := e.read(tools)
	if bytes.Equal(l.text, e.listed.Load().text) {
		return
	}
	if len(l.specs) == 0 {
		e.options.Logger.Warn("an MCP server has no tools that can be used; those that it had stay", "backend", e.name)
		return
	}
	e.listed.Store(l)
	e.remember(tools)
	if e.options.Changed != nil {
		e.options.Changed(e)
	}
}

// relistAfter is how long further notices are waited for.
const relistAfter = 100 * time.Millisecond

// list asks the server for its tools.
func (e *Executor) list(ctx context.Context) ([]*sdk.Tool, error) {
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	session, err := e.connection("").get(ctx)
	if err != nil {
		return nil, err
	}
	tools, err := e.tools(ctx, session)
	if err != nil {
		return nil, err
	}
	if !e.backend.Shared { // this connection belongs to no run
		if err := e.Close(ctx, ""); err != nil {
			e.options.Logger.Debug("close the connection that listed the tools", "backend", e.name, "error", err)
		}
	}
	return tools, nil
}

func (e *Executor) tools(ctx context.Context, session *sdk.ClientSession) (tools []*sdk.Tool, err error) {
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("list the tools: %w", err)
		}
		if len(tools) == MaxTools {
			e.options.Logger.Warn("an MCP server lists too many tools; the rest is left out", "backend", e.name, "limit", MaxTools)
			break
		}
		tools = append(tools, t)
	}
	return tools, nil
}

func (e *Executor) memory() string {
	return filepath.Join(e.options.StateDir, "backends", e.name+".json")
}

func (e *Executor) remembered() []*sdk.Tool {
	if e.options.StateDir == "" {
		return nil
	}
	text, err := os.ReadFile(e.memory())
	if err != nil {
		return nil
	}
	var tools []*sdk.Tool
	if json.Unmarshal(text, &tools) != nil {
		return nil
	}
	return tools
}

func (e *Executor) remember(tools []*sdk.Tool) {
	if e.options.StateDir == "" {
		return
	}
	text, err := json.Marshal(tools)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(e.memory()), 0o700)
	}
	if err == nil {
		err = os.WriteFile(e.memory(), text, 0o600)
	}
	if err != nil {
		e.options.Logger.Warn("what an MCP server listed cannot be kept", "backend", e.name, "error", err)
	}
}

// connection returns the connection of a run.
func (e *Executor) connection(runID string) *connection {
	if e.backend.Shared {
		runID = ""
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.runs[runID]; c != nil {
		return c
	}
	c := &connection{name: e.name, backend: e.backend, log: e.options.Logger}
	c.client = sdk.NewClient(&sdk.Implementation{Name: "toolsvc", Version: e.options.Version}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{},
		Logger:       slog.New(slog.DiscardHandler),
		ElicitationHandler: func(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return e.ask(ctx, runID, r)
		},
		ToolListChangedHandler: func(_ context.Context, r *sdk.ToolListChangedRequest) { go e.relist(r.Session) },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			// The token names the call, because a notification may be handled after the response that followed it.
			if p := strings.Split(fmt.Sprint(r.Params.ProgressToken), "/"); len(p) == 3 && e.options.Progress != nil {
				e.options.Progress(p[1], r.Params.Message, r.Params.Progress, r.Params.Total)
			}
		},
	})
	e.runs[runID] = c
	return c
}

// callKey leads from the context of a call to its ID.
type callKey struct{}

// ask passes a server's question on. One that comes in the result of a call (2026-07-28) knows its call. One that comes as a request of its
// own does not: calls of one run come one after the other, so the call that is under way there is the one that asks.
func (e *Executor) ask(ctx context.Context, runID string, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	e.mu.Lock()
	call, known := ctx.Value(callKey{}).(string)
	for token, c := range e.calls {
		if known {
			break
		}
		if e.backend.Shared || strings.HasPrefix(token, runID+"/") {
			if call != "" { // two at once over a shared connection: nobody can tell whose question this is
				call = ""
				break
			}
			call = c
		}
	}
	e.mu.Unlock()
	if call == "" || e.options.Ask == nil || r.Params.URL != "" {
		return &sdk.ElicitResult{Action: "cancel"}, nil
	}
	return e.options.Ask(ctx, call, r.Params.Message, r.Params.RequestedSchema)
}

// Applies reports true for the one source that needs no target.
func (e *Executor) Applies(_ *tool.Call, source tool.Source) bool { return source == tool.SourceSystem }

// Begin readies one attempt. The server is reached in Resolve, before anything is recorded as dispatched.
func (e *Executor) Begin(_ context.Context, call *tool.Call, plan tool.Plan) (tool.Attempt, error) {
	p, ok := call.Args.(*Payload)
	name := e.ServerName(call.Spec.ID)
	if !ok || name == "" {
		return nil, tool.Failf(tool.ToolUnavailable, "the MCP server %s has no tool %s any more", e.name, call.Spec.ID)
	}
	e.mu.Lock()
	full := e.runs[call.RunID] == nil && !e.backend.Shared && len(e.runs) >= maxConnections
	e.mu.Unlock()
	if full {
		return nil, &tool.Failed{Failure: tool.RateLimited, What: e.name, RetryAfter: time.Second, Message: fmt.Sprintf("%d runs use the MCP server %s already; wait for one to end.", maxConnections, e.name)}
	}
	return &attempt{e: e, call: call, payload: p, name: name, token: fmt.Sprintf("%s/%s/%d", call.RunID, call.ID, plan.Number)}, nil
}

// Close ends the connection of a run.
func (e *Executor) Close(_ context.Context, runID string) error {
	if e.backend.Shared && runID != "" {
		return nil
	}
	e.mu.Lock()
	c := e.runs[runID]
	delete(e.runs, runID)
	e.mu.Unlock()
	if c == nil {
		return nil
	}
	return c.close()
}

// Shutdown ends all connections, and the servers that were started.
func (e *Executor) Shutdown(context.Context) error {
	e.cancel()
	e.seeking.Wait()
	return e.closeAll()
}

func (e *Executor) closeAll() error {
	e.mu.Lock()
	var all []*connection
	for _, c := range e.runs {
		all = append(all, c)
	}
	e.runs = map[string]*connection{}
	e.mu.Unlock()
	var errs []error
	for _, c := range all {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}
