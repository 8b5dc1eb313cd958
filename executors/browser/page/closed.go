package page

import (
	"context"

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
	hosts, err := f.objects(ctx, "__toolsvc.closedHosts()")
	if err != nil {
		return err
	}
	defer devtools.Start(s, runtime.ReleaseObjectGroup, runtime.ReleaseObjectGroupParams{ObjectGroup: group})
	var asked []*devtools.Pending[dom.DescribeNodeResult]
	for _, h := range hosts {
		asked = append(asked, devtools.Start(s, dom.DescribeNode, dom.DescribeNodeParams{ObjectID: h}))
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
