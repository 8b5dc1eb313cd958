package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"toolsvc/executors/browser/devtools"
)

// worldWait is how long a new document may take until its world is there, before it is made by hand.
const worldWait = 400 * time.Millisecond

// Frame is a document's place: the page itself, or an iframe in it, in whichever process.
type Frame struct {
	ID  cdp.FrameID
	tab *Tab

	// The rest is guarded by the tab's lock.
	parent          cdp.FrameID
	session         *devtools.Session
	isRootOfSession bool
	url, name       string
	loader          cdp.LoaderID
	world           string // the unique id of the isolated world's context, "" while there is none
	worldID         runtime.ExecutionContextID
	document        runtime.RemoteObjectID // a handle on the document, of the world documentOf
	documentOf      string
	main            runtime.ExecutionContextID
	order           int
	loading         bool
	pace            pace // of an iframe
}

// Unrest is how long it is until the frame can be taken to keep its document: 0, unless it is an iframe whose document was replaced a
// moment ago, or is about to be.
func (f *Frame) Unrest() time.Duration {
	f.tab.mu.Lock()
	defer f.tab.mu.Unlock()
	return f.pace.unrest(time.Now())
}

// frameEvent takes in what happens to frames and their contexts. The caller holds the lock.
func (t *Tab) frameEvent(ev devtools.Event) bool {
	switch ev.Method {
	case runtime.ExecutionContextCreated.Method:
		e, ok := devtools.As(ev, runtime.ExecutionContextCreated)
		if !ok || e.Context == nil {
			return true
		}
		var aux struct {
			FrameID   cdp.FrameID `json:"frameId"`
			IsDefault bool        `json:"isDefault"`
		}
		if json.Unmarshal(e.Context.AuxData, &aux) != nil || aux.FrameID == "" {
			return true
		}
		f := t.frame(aux.FrameID)
		if f.session != ev.Session && f.isRootOfSession && ev.Session == t.session {
			return true // the place-holder in the parent's process
		}
		if e.Context.Name == worldName {
			f.world, f.worldID = e.Context.UniqueID, e.Context.ID
		} else if aux.IsDefault {
			f.main = e.Context.ID
		}
	case runtime.ExecutionContextDestroyed.Method:
		if e, ok := devtools.As(ev, runtime.ExecutionContextDestroyed); ok {
			for _, f := range t.frames {
				if f.world == e.ExecutionContextUniqueID {
					f.world = ""
				}
			}
		}
	case runtime.ExecutionContextsCleared.Method:
		for _, f := range t.frames {
			if f.session == ev.Session {
				f.world, f.main = "", 0
			}
		}
	case cdppage.FrameAttached.Method:
		if e, ok := devtools.As(ev, cdppage.FrameAttached); ok {
			f := t.frame(e.FrameID)
			f.parent = e.ParentFrameID
			if !f.isRootOfSession {
				f.session = ev.Session
			}
		}
	case cdppage.FrameNavigated.Method:
		if e, ok := devtools.As(ev, cdppage.FrameNavigated); ok && e.Frame != nil {
			f := t.frame(e.Frame.ID)
			if f.session != ev.Session && !f.isRootOfSession {
				f.session = ev.Session
			}
			f.url, f.name, f.loader = e.Frame.URL+e.Frame.URLFragment, e.Frame.Name, e.Frame.LoaderID
			if e.Frame.ParentID != "" {
				f.parent = e.Frame.ParentID
			}
			if e.Frame.ID == t.root {
				t.log.navigated(e.Frame.LoaderID)
			} else {
				f.pace.arrive(f.url, time.Now())
			}
		}
	case cdppage.NavigatedWithinDocument.Method:
		if e, ok := devtools.As(ev, cdppage.NavigatedWithinDocument); ok {
			t.frame(e.FrameID).url = e.URL
		}
	case cdppage.FrameDetached.Method:
		if e, ok := devtools.As(ev, cdppage.FrameDetached); ok && e.Reason != cdppage.FrameDetachedReasonSwap {
			t.uproot(e.FrameID)
		}
	case cdppage.FrameStartedLoading.Method:
		if e, ok := devtools.As(ev, cdppage.FrameStartedLoading); ok {
			t.frame(e.FrameID).loading = true
			if e.FrameID == t.root {
				t.log.starts++
			}
		}
	case cdppage.FrameStoppedLoading.Method:
		if e, ok := devtools.As(ev, cdppage.FrameStoppedLoading); ok {
			if f := t.frames[e.FrameID]; f != nil {
				f.loading, f.pace.underWay = false, time.Time{}
			}
		}
	case cdppage.FrameRequestedNavigation.Method:
		if e, ok := devtools.As(ev, cdppage.FrameRequestedNavigation); ok && e.FrameID != t.root && e.Disposition == cdppage.ClientNavigationDispositionCurrentTab {
			t.frame(e.FrameID).pace.ask(time.Now())
		}
	case cdppage.FrameStartedNavigating.Method:
		if e, ok := devtools.As(ev, cdppage.FrameStartedNavigating); ok && e.FrameID != t.root && !within(e.NavigationType) {
			t.frame(e.FrameID).pace.underWay = time.Now()
		}
	case cdppage.LoadEventFired.Method:
		if ev.Session == t.session {
			t.log.loads++
		}
	default:
		return false
	}
	return true
}

// within reports whether a navigation keeps its document.
func within(n cdppage.FrameStartedNavigatingNavigationType) bool {
	return n == cdppage.FrameStartedNavigatingNavigationTypeSameDocument || n == cdppage.FrameStartedNavigatingNavigationTypeHistorySameDocument
}

// uproot drops a frame and all in it. The caller holds the lock.
func (t *Tab) uproot(id cdp.FrameID) {
	if id == t.root {
		return
	}
	delete(t.frames, id)
	for c, f := range t.frames {
		if f.parent == id {
			t.uproot(c)
		}
	}
}

// Main is the page's own frame.
func (t *Tab) Main() *Frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.frame(t.root)
}

// Frames lists all frames, the page's own first, then as they came.
func (t *Tab) Frames() []*Frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	var fs []*Frame
	for _, f := range t.frames {
		if f.ID == t.root || f.parent != "" || f.isRootOfSession {
			fs = append(fs, f)
		}
	}
	slices.SortFunc(fs, func(a, b *Frame) int {
		if a.ID == t.root {
			return -1
		}
		if b.ID == t.root {
			return 1
		}
		return a.order - b.order
	})
	return fs
}

// IsMain reports whether the frame is the page itself.
func (f *Frame) IsMain() bool {
	f.tab.mu.Lock()
	defer f.tab.mu.Unlock()
	return f.ID == f.tab.root
}

// Parent is the frame that holds this one; nil for the page itself.
func (f *Frame) Parent() *Frame {
	f.tab.mu.Lock()
	defer f.tab.mu.Unlock()
	if f.ID == f.tab.root {
		return nil
	}
	if p := f.tab.frames[f.parent]; p != nil {
		return p
	}
	return f.tab.frames[f.tab.root]
}

// URL is the frame's address, as last told.
func (f *Frame) URL() string {
	f.tab.mu.Lock()
	defer f.tab.mu.Unlock()
	return f.url
}

// Loader names the frame's present document: another one has another name.
func (f *Frame) Loader() string {
	f.tab.mu.Lock()
	defer f.tab.mu.Unlock()
	return string(f.loader)
}

// Session is the session of the frame's process.
func (f *Frame) Session() *devtools.Session {
	f.tab.mu.Lock()
	defer f.tab.mu.Unlock()
	return f.session
}

// World returns the frame's isolated world, making it where the document began before anyone watched.
func (f *Frame) World(ctx context.Context) (string, error) {
	f.tab.mu.Lock()
	w, s, gone := f.world, f.session, f.tab.frames[f.ID] != f
	f.tab.mu.Unlock()
	if gone {
		return "", ErrNoFrame
	}
	if w != "" {
		return w, nil
	}
	r, err := devtools.Call(ctx, s, cdppage.CreateIsolatedWorld, cdppage.CreateIsolatedWorldParams{FrameID: f.ID, WorldName: worldName})
	if err != nil {
		if moved(err) || errors.Is(err, devtools.ErrDetached) {
			return "", fmt.Errorf("%w: %w", ErrNavigated, err)
		}
		return "", fmt.Errorf("make a world in the page: %w", because(ctx, err))
	}
	ex, err := devtools.Call(ctx, s, runtime.Evaluate, runtime.EvaluateParams{Expression: script, ContextID: r.ExecutionContextID})
	if err == nil && ex.ExceptionDetails != nil {
		err = exception(ex.ExceptionDetails)
	}
	if err != nil {
		if moved(err) {
			return "", fmt.Errorf("%w: %w", ErrNavigated, err)
		}
		return "", fmt.Errorf("watch the page: %w", because(ctx, err))
	}
	wctx, cancel := context.WithTimeout(ctx, worldWait)
	defer cancel()
	err = f.tab.await(wctx, func() bool { w = f.world; return w != "" })
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNavigated, because(ctx, err))
	}
	return w, nil
}

// Call is a call into a frame's world that is under way.
type Call struct {
	frame *Frame
	sent  *devtools.Pending[runtime.EvaluateResult]
	err   error
}

// Start calls a function of the world without waiting for its answer: fn is its name, args are passed as JSON. A promise is awaited by
// the browser.
func (f *Frame) Start(ctx context.Context, fn string, args ...any) *Call {
	w, err := f.World(ctx)
	if err != nil {
		return &Call{frame: f, err: err}
	}
	expr, err := expression(fn, args)
	if err != nil {
		return &Call{frame: f, err: err}
	}
	yes := true
	return &Call{frame: f, sent: devtools.Start(f.Session(), runtime.Evaluate, runtime.EvaluateParams{Expression: expr, UniqueContextID: w, ReturnByValue: &yes, AwaitPromise: &yes})}
}

// Into waits for the answer and decodes it.
func (c *Call) Into(ctx context.Context, out any) error {
	if c.err != nil {
		return c.err
	}
	r, err := c.sent.Wait(ctx)
	switch {
	case moved(err):
		return fmt.Errorf("%w: %w", ErrNavigated, err)
	case err != nil:
		return because(ctx, err)
	case r.ExceptionDetails != nil:
		if err := exception(r.ExceptionDetails); moved(err) {
			return fmt.Errorf("%w: %w", ErrNavigated, err)
		}
		return exception(r.ExceptionDetails)
	}
	if out == nil || r.Result == nil || len(r.Result.Value) == 0 {
		return nil
	}
	return json.Unmarshal(r.Result.Value, out)
}

// Eval calls a function of the world and decodes its answer.
func (f *Frame) Eval(ctx context.Context, out any, fn string, args ...any) error {
	return f.Start(ctx, fn, args...).Into(ctx, out)
}

// expression is a call of a function of the world.
func expression(fn string, args []any) (string, error) {
	var b strings.Builder
	b.WriteString("__toolsvc." + fn + "(")
	for i, a := range args {
		text, err := json.Marshal(a)
		if err != nil {
			return "", fmt.Errorf("encode an argument of %s: %w", fn, err)
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(text)
	}
	b.WriteByte(')')
	return b.String(), nil
}

// Document is a handle on the frame's document, for accessibility queries.
func (f *Frame) Document(ctx context.Context) (runtime.RemoteObjectID, error) {
	w, err := f.World(ctx)
	if err != nil {
		return "", err
	}
	f.tab.mu.Lock()
	doc, of := f.document, f.documentOf
	f.tab.mu.Unlock()
	if doc != "" && of == w {
		return doc, nil
	}
	r, err := devtools.Call(ctx, f.Session(), runtime.Evaluate, runtime.EvaluateParams{Expression: "document", UniqueContextID: w, ObjectGroup: "toolsvc"})
	if err != nil {
		if moved(err) {
			return "", fmt.Errorf("%w: %w", ErrNavigated, err)
		}
		return "", because(ctx, err)
	}
	if r.Result == nil || r.Result.ObjectID == "" {
		return "", ErrNavigated
	}
	f.tab.mu.Lock()
	defer f.tab.mu.Unlock()
	f.document, f.documentOf = r.Result.ObjectID, w
	return r.Result.ObjectID, nil
}

// Adopt brings nodes that the protocol named into the frame's world, and calls fn(query, ...nodes) there.
func (f *Frame) Adopt(ctx context.Context, out any, query any, nodes []cdp.BackendNodeID) error {
	w, err := f.contextID(ctx)
	if err != nil {
		return err
	}
	s := f.Session()
	sent := make([]*devtools.Pending[dom.ResolveNodeResult], len(nodes))
	for i, n := range nodes {
		sent[i] = devtools.Start(s, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: n, ExecutionContextID: w, ObjectGroup: "toolsvc"})
	}
	q, err := json.Marshal(query)
	if err != nil {
		return err
	}
	args := []*runtime.CallArgument{{Value: q}}
	for _, p := range sent {
		r, err := p.Wait(ctx)
		if err != nil || r.Object == nil { // the node went away since: it is no candidate any more
			if ctx.Err() != nil {
				return because(ctx, err)
			}
			continue
		}
		args = append(args, &runtime.CallArgument{ObjectID: r.Object.ObjectID})
	}
	if len(args) == 1 {
		return nil
	}
	yes := true
	r, err := devtools.Call(ctx, s, runtime.CallFunctionOn, runtime.CallFunctionOnParams{ExecutionContextID: w, ReturnByValue: &yes, Arguments: args,
		FunctionDeclaration: "function(...a) { return __toolsvc.adopt(...a); }"})
	if moved(err) {
		return fmt.Errorf("%w: %w", ErrNavigated, err)
	}
	if err != nil {
		return because(ctx, err)
	}
	if r.ExceptionDetails != nil {
		return exception(r.ExceptionDetails)
	}
	return json.Unmarshal(r.Result.Value, out)
}

// contextID is the numeric id of the world, which some commands want instead of the unique one.
func (f *Frame) contextID(ctx context.Context) (runtime.ExecutionContextID, error) {
	if _, err := f.World(ctx); err != nil {
		return 0, err
	}
	f.tab.mu.Lock()
	defer f.tab.mu.Unlock()
	if f.worldID == 0 {
		return 0, ErrNavigated
	}
	return f.worldID, nil
}

// Owner is the element that holds the frame, as a number in the parent's world.
func (f *Frame) Owner(ctx context.Context) (int, error) {
	p := f.Parent()
	if p == nil {
		return 0, errors.New("the page itself has no owner")
	}
	r, err := devtools.Call(ctx, p.Session(), dom.GetFrameOwner, dom.GetFrameOwnerParams{FrameID: f.ID})
	if err != nil {
		if moved(err) {
			return 0, fmt.Errorf("%w: %w", ErrNoFrame, err)
		}
		return 0, because(ctx, err)
	}
	var found []struct {
		ID int `json:"id"`
	}
	if err := p.Adopt(ctx, &found, nil, []cdp.BackendNodeID{r.BackendNodeID}); err != nil {
		return 0, err
	}
	if len(found) == 0 {
		return 0, ErrNoFrame
	}
	return found[0].ID, nil
}

// exception turns an exception of the page into an error.
func exception(d *runtime.ExceptionDetails) error {
	msg := d.Text
	if d.Exception != nil && d.Exception.Description != "" {
		msg += " " + d.Exception.Description
	}
	return fmt.Errorf("the page's world: %s", msg)
}
