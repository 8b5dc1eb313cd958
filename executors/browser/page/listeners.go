package page

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/domdebugger"
	"github.com/chromedp/cdproto/runtime"

	"toolsvc/executors/browser/devtools"
)

// maxAncestors bounds how far up listeners are looked for.
const maxAncestors = 40

// Listeners are those of the event types that the page listens to on the node, on anything above it, or on the window. Our own
// listeners live in another world and are not counted. The node is the one at the point (in the frame's own viewport); a negative point means
// the one that has the focus.
func (f *Frame) Listeners(ctx context.Context, x, y float64, types map[string]bool) (map[string]bool, error) {
	return f.listeners(ctx, chain(x, y), types)
}

// ListensAbove reports whether anything above the element that has the focus listens to one of the event types, but not the element itself.
// Not knowing counts as yes.
func (f *Frame) ListensAbove(ctx context.Context, types map[string]bool) (bool, error) {
	found, err := f.listeners(ctx, chain(-1, -1)+".slice(1)", types)
	return len(found) > 0 || err != nil, err
}

func (f *Frame) listeners(ctx context.Context, chain string, types map[string]bool) (map[string]bool, error) {
	f.tab.mu.Lock()
	main, s := f.main, f.session
	f.tab.mu.Unlock()
	// The chain is collected without touching anything of the page's: a function of our own text, run in the page's world because
	// listeners are only told to the world that they belong to.
	r, err := devtools.Call(ctx, s, runtime.Evaluate, runtime.EvaluateParams{ContextID: main, ObjectGroup: "toolsvc-listeners", Expression: chain})
	if err != nil {
		return nil, err
	}
	if r.Result == nil || r.Result.ObjectID == "" {
		return nil, ErrNavigated
	}
	defer devtools.Start(s, runtime.ReleaseObjectGroup, runtime.ReleaseObjectGroupParams{ObjectGroup: "toolsvc-listeners"})
	own := true
	props, err := devtools.Call(ctx, s, runtime.GetProperties, runtime.GetPropertiesParams{ObjectID: r.Result.ObjectID, OwnProperties: &own})
	if err != nil {
		return nil, err
	}
	var sent []*devtools.Pending[domdebugger.GetEventListenersResult]
	for _, p := range props.Result {
		if p.Value != nil && p.Value.ObjectID != "" && len(sent) < maxAncestors && (p.Value.Subtype == "node" || p.Value.ClassName == "Window") {
			sent = append(sent, devtools.Start(s, domdebugger.GetEventListeners, domdebugger.GetEventListenersParams{ObjectID: p.Value.ObjectID}))
		}
	}
	found := map[string]bool{}
	for _, p := range sent {
		r, err := p.Wait(ctx)
		if err != nil {
			return nil, err
		}
		for _, l := range r.Listeners {
			if types[l.Type] {
				found[l.Type] = true
			}
		}
	}
	return found, nil
}

// chain is an expression for the elements from a point upwards, the document and the window.
func chain(x, y float64) string {
	if x < 0 {
		return fmt.Sprintf(`(() => { const out = []; let e = document.activeElement;
		while (e && e.shadowRoot && e.shadowRoot.activeElement) e = e.shadowRoot.activeElement;
		for (; e && out.length < %d; e = e.parentNode || e.host) out.push(e);
		if (!out.includes(document)) out.push(document); out.push(window); return out; })()`, maxAncestors-2)
	}
	return fmt.Sprintf(`(() => { const out = []; let e = document.elementFromPoint(%f, %f);
		while (e && e.shadowRoot) { const i = e.shadowRoot.elementFromPoint(%[1]f, %[2]f); if (!i || i === e) break; e = i; }
		for (; e && out.length < %d; e = e.parentNode || e.host) out.push(e);
		if (!out.includes(document)) out.push(document); out.push(window); return out; })()`, x, y, maxAncestors-2)
}
