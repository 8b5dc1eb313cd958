package page

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"

	"toolsvc/executors/browser/devtools"
)

// Enter looks for closed shadow trees in the frame and hands them to its world, so that it watches and searches them like open ones.
// Each element is asked once.
func (f *Frame) Enter(ctx context.Context) error {
	w, err := f.contextID(ctx)
	if err != nil {
		return err
	}
	s := f.Session()
	const group = "toolsvc-hosts"
	list, err := devtools.Call(ctx, s, runtime.Evaluate, runtime.EvaluateParams{Expression: "__toolsvc.closedHosts()", ContextID: w, ObjectGroup: group})
	if err != nil || list.Result == nil || list.Result.ObjectID == "" {
		if moved(err) {
			return fmt.Errorf("%w: %w", ErrNavigated, err)
		}
		return because(ctx, err)
	}
	defer devtools.Start(s, runtime.ReleaseObjectGroup, runtime.ReleaseObjectGroupParams{ObjectGroup: group})
	own := true
	props, err := devtools.Call(ctx, s, runtime.GetProperties, runtime.GetPropertiesParams{ObjectID: list.Result.ObjectID, OwnProperties: &own})
	if err != nil {
		return because(ctx, err)
	}
	var asked []*devtools.Pending[dom.DescribeNodeResult]
	for _, p := range props.Result {
		if p.Value != nil && p.Value.ObjectID != "" && p.Value.Subtype == "node" {
			asked = append(asked, devtools.Start(s, dom.DescribeNode, dom.DescribeNodeParams{ObjectID: p.Value.ObjectID}))
		}
	}
	var roots []*devtools.Pending[dom.ResolveNodeResult]
	for _, p := range asked {
		r, err := p.Wait(ctx)
		if err != nil || r.Node == nil { // gone since
			continue
		}
		for _, root := range r.Node.ShadowRoots {
			roots = append(roots, devtools.Start(s, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: root.BackendNodeID, ExecutionContextID: w, ObjectGroup: group}))
		}
	}
	for _, p := range roots {
		r, err := p.Wait(ctx)
		if err != nil || r.Object == nil {
			continue
		}
		if _, err := devtools.Call(ctx, s, runtime.CallFunctionOn, runtime.CallFunctionOnParams{ObjectID: r.Object.ObjectID, FunctionDeclaration: "function() { __toolsvc.addRoot(this); }"}); err != nil {
			return because(ctx, err)
		}
	}
	return nil
}
