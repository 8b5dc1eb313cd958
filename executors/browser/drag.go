package browser

import (
	"context"

	"toolsvc/executors/browser/page"
	"toolsvc/tool"
)

// resolveDrop finds where a drag ends, and brings both ends into view.
func (a *attempt) resolveDrop(ctx context.Context) error {
	a.work.drop = a.sub(action{kind: kindDrag, target: a.act.to})
	if err := a.work.drop.resolve(ctx, a.source(a.act.to)); err != nil {
		return err
	}
	return a.resolve(ctx, a.source(a.act.target)) // the way to the one may have scrolled the other
}

// dropPoint is where the drag ends, in the viewport.
func (a *attempt) dropPoint(ctx context.Context) (page.Point, error) {
	if a.work.drop == nil {
		return page.Point{X: a.loc.x + a.act.by.X, Y: a.loc.y + a.act.by.Y}, nil
	}
	d := a.work.drop.loc
	for try := range 2 {
		var p *struct{ X, Y float64 }
		if err := d.frame.Eval(ctx, &p, "middle", d.id); err != nil {
			return page.Point{}, err
		}
		if p != nil {
			d.fx, d.fy = p.X, p.Y
			again, err := a.lift(ctx, d)
			if err != nil {
				return page.Point{}, err
			}
			if !again {
				return page.Point{X: d.x, Y: d.y}, nil
			}
		}
		if try == 0 && d.frame == a.loc.frame {
			if err := d.frame.Eval(ctx, nil, "together", a.loc.id, d.id); err != nil {
				return page.Point{}, err
			}
		}
	}
	return page.Point{}, tool.Failf(tool.Covered, "%s and %s cannot be seen at the same time, so that one cannot be dragged onto the other.", capital(a.loc.words), d.words)
}

// drag takes the target with the mouse, and drops it. What the page makes of it, a drag in the way of HTML or one that follows the pointer,
// shows only when it begins.
func (a *attempt) drag(ctx context.Context) error {
	for range maxStale {
		_, err := a.dropPoint(ctx)
		if err != nil && !page.Moved(err) {
			return err
		}
		ok := err == nil
		if ok {
			if ok, err = a.arm(ctx, "drag", true); err != nil && !page.Moved(err) {
				return err
			}
		}
		if ok && err == nil {
			to, err := a.dropPoint(ctx) // again: arming may have moved the element into view
			if err != nil {
				return err
			}
			done, err := a.carry(ctx, page.Point{X: a.loc.x, Y: a.loc.y}, to)
			if done || err != nil {
				return err
			}
		}
		for _, f := range a.tab.Frames() {
			f.Start(ctx, "disarm")
		}
		if err := a.resolve(ctx, a.source(a.act.target)); err != nil {
			return err
		}
	}
	return errStale
}

// carry makes the drag; false when the press was stopped before the page saw it.
func (a *attempt) carry(ctx context.Context, from, to page.Point) (bool, error) {
	if err := a.picture(ctx, true); err != nil {
		return false, err
	}
	if err := a.tab.InterceptDrags(ctx, true); err != nil {
		return false, err
	}
	defer a.tab.InterceptDrags(ctx, false) //nolint:errcheck // a tab that is gone intercepts nothing
	a.sent, a.dispatched = a.tab.Mark(), true
	a.work.types = []string{"pointerup", "mouseup"}
	if err := a.tab.Hold(ctx, from); err != nil {
		return false, err
	}
	if a.stopped(ctx) {
		a.dispatched = false
		return false, a.tab.Release(ctx, from)
	}
	if err := a.tab.Pull(ctx, from, to); err != nil {
		return false, err
	}
	html := false
	for _, r := range a.collect(ctx) {
		html = html || r.rep.Heard["dragstart"] > 0
	}
	if html {
		if data := a.tab.Dragged(ctx); data != nil {
			a.work.types = []string{"drop"}
			return true, a.tab.Drop(ctx, from, to, data)
		}
	}
	if err := a.tab.Carry(ctx, from, to); err != nil {
		return false, err
	}
	return true, a.tab.Release(ctx, to)
}
