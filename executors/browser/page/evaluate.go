package page

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"

	"toolsvc/executors/browser/devtools"
)

// ScriptError is what a function of the caller's threw, or why it is none.
type ScriptError struct {
	// Message is the exception in the page's own words.
	Message string
	// Unread: it could not even be read, so nothing ran.
	Unread bool
}

func (e *ScriptError) Error() string { return e.Message }

// Run calls a function of the caller's in the page's own world, with an element (by number; 0 for none), and returns its value as JSON, cut
// to max characters.
func (f *Frame) Run(ctx context.Context, function string, id, max int) (value string, cut bool, err error) {
	f.tab.mu.Lock()
	world, s := f.main, f.session
	f.tab.mu.Unlock()
	if world == 0 {
		return "", false, ErrNavigated
	}
	args := []*runtime.CallArgument{}
	if id != 0 {
		objects, err := f.objects(ctx, fmt.Sprintf("[__toolsvc.element(%d)].filter(Boolean)", id))
		if err != nil {
			return "", false, err
		}
		if len(objects) == 0 {
			return "", false, ErrNavigated
		}
		node, err := devtools.Call(ctx, s, dom.DescribeNode, dom.DescribeNodeParams{ObjectID: objects[0]})
		if err != nil {
			return "", false, because(ctx, err)
		}
		r, err := devtools.Call(ctx, s, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: node.Node.BackendNodeID, ExecutionContextID: world, ObjectGroup: "toolsvc-run"})
		if err != nil {
			return "", false, because(ctx, err)
		}
		args = append(args, &runtime.CallArgument{ObjectID: r.Object.ObjectID})
		defer devtools.Start(s, runtime.ReleaseObjectGroup, runtime.ReleaseObjectGroupParams{ObjectGroup: "toolsvc-run"})
	}
	yes := true
	probe, err := devtools.Call(ctx, s, runtime.CompileScript, runtime.CompileScriptParams{Expression: "(" + function + "\n)", SourceURL: "", PersistScript: false, ExecutionContextID: world})
	if err == nil && probe.ExceptionDetails != nil {
		return "", false, &ScriptError{Message: thrown(probe.ExceptionDetails), Unread: true}
	}
	wrapped := fmt.Sprintf(`async function(...a) { const f = (%s
); if (typeof f !== 'function') return {none: typeof f}; const r = await f(...a); const s = JSON.stringify(r === undefined ? null : r) ?? 'null'; return {text: s.slice(0, %d), cut: s.length > %d}; }`, function, max, max)
	r, err := devtools.Call(ctx, s, runtime.CallFunctionOn, runtime.CallFunctionOnParams{FunctionDeclaration: wrapped, ExecutionContextID: world, Arguments: args,
		AwaitPromise: &yes, ReturnByValue: &yes, UserGesture: &yes})
	switch {
	case moved(err):
		return "", false, fmt.Errorf("%w: %w", ErrNavigated, err)
	case err != nil:
		if ctx.Err() != nil {
			devtools.Start(s, runtime.TerminateExecution, cdp.Empty{})
		}
		return "", false, because(ctx, err)
	case r.ExceptionDetails != nil:
		return "", false, &ScriptError{Message: thrown(r.ExceptionDetails)}
	}
	var out struct {
		Text string `json:"text"`
		Cut  bool   `json:"cut"`
		None string `json:"none"`
	}
	if err := json.Unmarshal(r.Result.Value, &out); err != nil {
		return "", false, fmt.Errorf("read the value: %w", err)
	}
	if out.None != "" {
		return "", false, &ScriptError{Message: "it is no function but of type " + out.None, Unread: true}
	}
	return out.Text, out.Cut, nil
}

// thrown is an exception in words, without the stack.
func thrown(d *runtime.ExceptionDetails) string {
	if d.Exception != nil && d.Exception.Description != "" {
		return clipped(firstLine(d.Exception.Description), 500)
	}
	if d.Exception != nil && len(d.Exception.Value) > 0 {
		return clipped(string(d.Exception.Value), 500)
	}
	return clipped(d.Text, 500)
}

func firstLine(s string) string {
	for i := range s {
		if s[i] == '\n' {
			return s[:i]
		}
	}
	return s
}
