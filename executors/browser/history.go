package browser

import (
	"context"
	"errors"
	"time"

	"toolsvc/executors/browser/page"
	"toolsvc/tool"
)

// travelStart bounds the wait for a step in the history, or a reload, to begin.
const travelStart = 3 * time.Second

// reloadable refuses to load anew what would be sent anew.
func (a *attempt) reloadable(ctx context.Context) error {
	posted, err := a.tab.CameByPost(ctx)
	if err != nil {
		return err
	}
	if posted {
		return tool.Failf(tool.PreconditionFailed, "The page at %s is the answer to a form that was sent; loading it anew would send the form again. Navigate to an address instead.", a.tab.Main().URL())
	}
	return nil
}

// travel goes back or forward in the history, or loads the page anew.
func (a *attempt) travel(ctx context.Context) error {
	entry, err := a.tab.Entry(ctx)
	if err != nil {
		return err
	}
	a.work.entry = entry
	a.tab.Leaving(false)
	a.sent = a.tab.Mark()
	if a.act.kind == kindReload {
		a.dispatched = true
		return a.underWay(ctx, a.tab.Reload(ctx))
	}
	by, where := -1, "earlier"
	if a.act.kind == kindForward {
		by, where = 1, "later"
	}
	address, err := a.tab.Travel(ctx, by)
	if errors.Is(err, page.ErrNoEntry) {
		return tool.Failf(tool.PreconditionFailed, "There is no %s page in the tab's history.", where)
	}
	if err == nil {
		a.act.url = address
	}
	a.dispatched = true
	return a.underWay(ctx, err)
}

// underWay waits until something of the journey shows: another document, another address, or a dialog that asks to stay.
func (a *attempt) underWay(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, travelStart)
	defer cancel()
	from := a.tab.Main().URL()
	return a.tab.AwaitJourney(ctx, a.sent, from)
}

// journeyed reports whether the history, or the document, is not where it was before the journey.
func (a *attempt) journeyed(ctx context.Context, o *sight) (bool, error) {
	if a.act.kind == kindNavigate || a.tab.Since(a.sent).Navigations > 0 || a.before != nil && o.url != a.before.url {
		return true, nil
	}
	entry, err := a.tab.Entry(ctx)
	return entry != a.work.entry, err
}
