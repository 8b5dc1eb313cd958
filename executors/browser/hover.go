package browser

import (
	"context"

	"toolsvc/executors/browser/page"
)

// hover points the mouse at the target, and leaves it there.
func (a *attempt) hover(ctx context.Context) error {
	a.work.types = []string{"mouseover", "mousemove", "pointerover"}
	for range maxStale {
		ok, err := a.arm(ctx, "hover", true)
		if err != nil && !page.Moved(err) {
			return err
		}
		if ok && err == nil {
			if err := a.picture(ctx, true); err != nil {
				return err
			}
			a.sent, a.dispatched = a.tab.Mark(), true
			// Two moves: one to where the pointer is already would tell the page nothing.
			beside := a.tab.Hover(a.loc.x-1, a.loc.y-1, 0)
			onto := a.tab.Hover(a.loc.x, a.loc.y, 0)
			if err := beside(ctx); err != nil {
				return err
			}
			return onto(ctx)
		}
		if err := a.resolve(ctx, a.source(a.act.target)); err != nil {
			return err
		}
	}
	return errStale
}
