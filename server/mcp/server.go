package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/tool"
)

// pageSize bounds a page of a list. Few clients follow cursors, so everything that toolsvc has by itself fits on one.
const pageSize = 200

// Surface serves MCP.
type Surface struct {
	o       Options
	log     *slog.Logger
	server  *sdk.Server
	runs    *runTable
	seen    cursors
	levels  logLevels
	subs    subscriptions
	listens listenings

	cancels cancellations
	asked   askedOf

	mu    sync.RWMutex
	tools map[string]*tool.Spec // by MCP name
	live  map[string]*live      // by call
}

// New makes a Surface. It fails when an option is missing, or when tools of the registry cannot be named in MCP.
func New(o Options) (*Surface, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s := &Surface{o: o, log: o.Logger, runs: newRunTable(o.Key, o.Run), tools: map[string]*tool.Spec{}}
	s.server = sdk.NewServer(
		&sdk.Implementation{Name: "toolsvc", Title: "toolsvc", Version: o.Version, Icons: icons("")},
		&sdk.ServerOptions{
			Instructions:       instructions,
			PageSize:           pageSize,
			CompletionHandler:  s.complete,
			SubscribeHandler:   s.subscribe,
			UnsubscribeHandler: s.unsubscribe,
			Logger:             slog.New(slog.DiscardHandler), // it logs every session; what goes wrong reaches the caller anyway
			Capabilities: &sdk.ServerCapabilities{
				//lint:ignore SA1019 logging is deprecated since MCP 2026-07-28, and still what older clients show
				Logging: &sdk.LoggingCapabilities{}, Completions: &sdk.CompletionCapabilities{},
				Tools: &sdk.ToolCapabilities{ListChanged: true}, Prompts: &sdk.PromptCapabilities{ListChanged: true},
				Resources: &sdk.ResourceCapabilities{ListChanged: true, Subscribe: true}, Extensions: map[string]any{tasksExtension: map[string]any{}},
			},
		})
	s.server.AddReceivingMiddleware(s.levels.note, s.cancels.note, s.warm, s.listen, s.suggest)
	s.server.AddSendingMiddleware(s.acknowledge)
	if err := s.addTasks(); err != nil {
		return nil, err
	}
	s.addRunTools()
	s.addResources()
	s.addPrompts()
	if err := s.SetRegistry(o.Registry); err != nil {
		return nil, err
	}
	if o.Extend != nil {
		o.Extend(s.server, s)
	}
	return s, nil
}

// SetRegistry serves another catalogue from now on, and tells connected clients that the list has changed: a backend came or went. On an
// error the catalogue stays as it is.
func (s *Surface) SetRegistry(reg *tool.Registry) error {
	tools, err := named(reg)
	if err != nil {
		return err
	}
	for name := range tools {
		if runTools[name] {
			return fmt.Errorf("the tool %s has the name of a tool of the MCP surface itself; rename it, or give its backend another prefix", tools[name].ID)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var gone []string
	for name := range s.tools {
		if tools[name] == nil {
			gone = append(gone, name)
		}
	}
	if len(gone) > 0 {
		s.server.RemoveTools(gone...)
	}
	for name, spec := range tools {
		if s.tools[name] != spec {
			s.server.AddTool(toolOf(spec), s.callTool(spec))
		}
	}
	s.tools = tools
	return nil
}

// warm is middleware that tells when calls are near.
func (s *Surface) warm(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if s.o.Warm != nil && (method == "notifications/initialized" || method == "tools/list") {
			s.o.Warm()
		}
		return next(ctx, method, r)
	}
}

// suggest is middleware that names the nearest tools where there is none of the name that was called.
func (s *Surface) suggest(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, r)
		var rpc *jsonrpc.Error
		params, ok := r.GetParams().(*sdk.CallToolParamsRaw)
		if !ok || method != "tools/call" || !errors.As(err, &rpc) || rpc.Code != jsonrpc.CodeInvalidParams || !strings.HasPrefix(rpc.Message, "unknown tool") {
			return res, err
		}
		s.mu.RLock()
		names := slices.Concat(slices.Sorted(maps.Keys(s.tools)), slices.Sorted(maps.Keys(runTools)))
		s.mu.RUnlock()
		message := fmt.Sprintf("There is no tool %s. Nothing was called. ", clipText(params.Name, maxName))
		if near := tool.Nearest(strings.ReplaceAll(params.Name, ".", "_"), names); near != "" {
			message += "Did you mean " + near + "?"
		} else {
			message += "tools/list names those that there are."
		}
		return nil, &jsonrpc.Error{Code: rpc.Code, Message: message, Data: rpc.Data}
	}
}

// Connect serves one client on a transport.
func (s *Surface) Connect(ctx context.Context, t sdk.Transport) (*sdk.ServerSession, error) {
	return s.server.Connect(ctx, t, nil)
}

// ServeStdio serves one client on a pair of streams until it goes away or ctx ends. Nothing else may write to out.
func (s *Surface) ServeStdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	w := &lineWriter{WriteCloser: out}
	r := newLineReader(in, func(line []byte) []byte {
		marked, key := s.markListen(line, w.send)
		if key != "" {
			marked = append(marked, '\n')
		}
		return marked
	})
	if err := s.server.Run(ctx, &sdk.IOTransport{Reader: r, Writer: w}); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve MCP on stdio: %w", err)
	}
	return nil
}

// instructions are what a client may give to its model about this server.
const instructions = `toolsvc tools repair, verify and heal. Every call answers with a ToolResult.
- A result means that the action was done AND verified. An error says what failed; nothing is ever reported as done without evidence.
- retry_hint says what to do next: its message, all issues of the arguments at once, what is missing, a valid example. Correct the arguments and call the same tool again. When the reason is outcome_unknown, look (browser_snapshot, browser_read, run_get) before doing anything else: the action may have happened.
- Failed attempts were already repeated in other ways where that was safe. Do not repeat an identical call.
- status "needs_input" means that the call waits for an answer, for days if need be: ask the user, then call run_answer, or run_approve for an approval. Never approve by yourself.
- Calls of one client work in one run, one after the other, in one browser tab. "expect" takes conditions that must hold afterwards, such as page.url.contains("/done").
- Name targets as people see them: {"name": "Play", "role": "button", "within": "Now playing"}.`
