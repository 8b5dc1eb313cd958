package page

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"

	"toolsvc/executors/browser/devtools"
)

// AXNode is a node of the accessibility tree that has a name and a DOM node.
type AXNode struct {
	// Role in lower case, as Chromium computes it.
	Role, Name string
	Node       cdp.BackendNodeID
}

// AXQuery is an accessibility query that is under way in one frame.
type AXQuery struct {
	frame *Frame
	world string // of the document that was asked
	sent  []*devtools.Pending[accessibility.QueryAXTreeResult]
	err   error
}

// axLimit bounds the wait for one query. Chromium answers when the document's tree is ready, which is never, where the document was replaced
// before; an answer takes milliseconds, on the largest page that is asked as a whole a fifth of a second.
const axLimit = 5 * time.Second

// errAXLate: the accessibility tree was not told in time.
var errAXLate = fmt.Errorf("%w: its accessibility tree was not told within %s", ErrNavigated, axLimit)

// axRoles are Chromium's names of ARIA roles, where they differ or are several.
var axRoles = map[string][]string{
	"img": {"image", "img"}, "button": {"button", "DisclosureTriangle"}, "textbox": {"textbox", "searchbox", "spinbutton"}, "checkbox": {"checkbox", "switch", "menuitemcheckbox"},
	"combobox": {"combobox", "listbox"}, "listbox": {"listbox", "combobox"}, "switch": {"switch", "checkbox"}, "dialog": {"dialog", "alertdialog"}, "radio": {"radio", "menuitemradio"},
	"searchbox": {"searchbox", "textbox"},
}

// QueryAX asks for all nodes of some roles under the frame's document (of every role when none is given). Names are to be matched by the
// caller: the browser's own matching is exact, after style, with hidden text joined in.
func (f *Frame) QueryAX(ctx context.Context, role string) *AXQuery {
	q, err := f.axQuery(ctx)
	if err != nil {
		return &AXQuery{err: err}
	}
	doc, err := f.Document(ctx)
	if err != nil {
		return &AXQuery{err: err}
	}
	roles := axRoles[role]
	if roles == nil {
		roles = []string{role}
	}
	for _, r := range roles {
		q.sent = append(q.sent, devtools.Start(f.Session(), accessibility.QueryAXTree, accessibility.QueryAXTreeParams{ObjectID: doc, Role: r}))
	}
	return q
}

// axQuery is a query of the frame's present document, with nothing asked yet.
func (f *Frame) axQuery(ctx context.Context) (*AXQuery, error) {
	w, err := f.World(ctx)
	if err != nil {
		return nil, err
	}
	return &AXQuery{frame: f, world: w}, nil
}

// QueryAXIn asks for all nodes under some elements of the frame, given by their numbers. On a large page that is many times faster than
// asking under the document.
func (f *Frame) QueryAXIn(ctx context.Context, ids []int) *AXQuery {
	q, err := f.axQuery(ctx)
	if err != nil {
		return &AXQuery{err: err}
	}
	objects, err := f.objects(ctx, fmt.Sprintf("%s.map(__toolsvc.element).filter(Boolean)", list(ids)))
	if err != nil {
		return &AXQuery{err: err}
	}
	for _, o := range objects {
		q.sent = append(q.sent, devtools.Start(f.Session(), accessibility.QueryAXTree, accessibility.QueryAXTreeParams{ObjectID: o}))
	}
	return q
}

// list renders numbers as a JavaScript array.
func list(ids []int) string {
	text, err := json.Marshal(ids)
	if err != nil || ids == nil {
		return "[]"
	}
	return string(text)
}

// objects evaluates an expression for an array of nodes in the frame's world, and returns handles on them.
func (f *Frame) objects(ctx context.Context, expr string) ([]runtime.RemoteObjectID, error) {
	w, err := f.World(ctx)
	if err != nil {
		return nil, err
	}
	s := f.Session()
	r, err := devtools.Call(ctx, s, runtime.Evaluate, runtime.EvaluateParams{Expression: expr, UniqueContextID: w, ObjectGroup: "toolsvc"})
	switch {
	case moved(err):
		return nil, fmt.Errorf("%w: %w", ErrNavigated, err)
	case err != nil:
		return nil, because(ctx, err)
	case r.ExceptionDetails != nil:
		return nil, exception(r.ExceptionDetails)
	case r.Result == nil || r.Result.ObjectID == "":
		return nil, ErrNavigated
	}
	own := true
	props, err := devtools.Call(ctx, s, runtime.GetProperties, runtime.GetPropertiesParams{ObjectID: r.Result.ObjectID, OwnProperties: &own})
	if err != nil {
		return nil, because(ctx, err)
	}
	var out []runtime.RemoteObjectID
	for _, p := range props.Result {
		if p.Value != nil && p.Value.ObjectID != "" && p.Value.Subtype == "node" {
			out = append(out, p.Value.ObjectID)
		}
	}
	return out, nil
}

// silent roles carry no target of their own.
var silent = map[string]bool{"statictext": true, "inlinetextbox": true, "rootwebarea": true, "none": true, "presentation": true, "labeltext": true, "linebreak": true, "listmarker": true}

// Wait returns the nodes found. It fails with ErrNavigated as soon as the document that was asked is replaced: the browser would never answer.
func (q *AXQuery) Wait(ctx context.Context) ([]AXNode, error) {
	if q.err != nil || len(q.sent) == 0 {
		return nil, q.err
	}
	ctx, done := q.while(ctx)
	defer done()
	var out []AXNode
	for _, p := range q.sent {
		r, err := p.Wait(ctx)
		if err != nil {
			if moved(err) || strings.Contains(err.Error(), "Could not find") {
				return nil, fmt.Errorf("%w: %w", ErrNavigated, err)
			}
			return nil, because(ctx, err)
		}
		for _, n := range r.Nodes {
			x := AXNode{Role: strings.ToLower(text(n.Role)), Name: text(n.Name), Node: n.BackendDOMNodeID}
			if !n.Ignored && x.Name != "" && x.Node != 0 && !silent[x.Role] {
				out = append(out, x)
			}
		}
	}
	return out, nil
}

// while returns a context that also ends when the document that was asked goes, or when the answer takes too long.
func (q *AXQuery) while(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, expire := context.WithTimeoutCause(ctx, axLimit, errAXLate)
	ctx, cancel := context.WithCancelCause(ctx)
	f := q.frame
	go func() {
		if f.tab.await(ctx, func() bool { return f.world != q.world || f.tab.frames[f.ID] != f }) == nil {
			cancel(ErrNavigated)
		}
	}()
	return ctx, func() { cancel(nil); expire() }
}

func text(v *accessibility.Value) string {
	var s string
	if v == nil || json.Unmarshal(v.Value, &s) != nil {
		return ""
	}
	return s
}
