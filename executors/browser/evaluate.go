package browser

import (
	"context"
	"errors"

	"toolsvc/executors/browser/page"
	"toolsvc/tool"
)

// maxReturned bounds what a function may return, in characters of JSON.
const maxReturned = 100_000

// evaluate runs the caller's function in the page.
func (a *attempt) evaluate(ctx context.Context) error {
	frame, id := a.tab.Main(), 0
	if a.loc != nil {
		frame, id = a.loc.frame, a.loc.id
	}
	if _, err := a.arm(ctx, "set", false); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, a.act.limit)
	defer cancel()
	a.sent, a.dispatched, a.work.sure = a.tab.Mark(), true, true
	var bad *page.ScriptError
	value, cut, err := frame.Run(limited, a.act.function, id, maxReturned)
	switch {
	case err == nil:
		a.work.returned, a.work.cut = value, cut
	case errors.As(err, &bad) && bad.Unread:
		return tool.Failf(tool.InvalidArguments, "The function cannot be run: %s. It has to be a function, such as () => document.title.", bad.Message)
	case errors.As(err, &bad):
		return &tool.Failed{Failure: tool.VerificationFailed, Message: "The function threw: " + bad.Message + ".", Dispatched: true, Cause: err}
	case page.Moved(err) && a.tab.Dead() == nil: // the function took the page away; there is nobody left to return anything
		a.work.returned = "null"
	case errors.Is(limited.Err(), context.DeadlineExceeded) && ctx.Err() == nil:
		return &tool.Failed{Failure: tool.Timeout, Message: "The function did not return within " + a.act.limit.String() + "; it was ended.", Dispatched: true, Cause: err}
	default:
		return err
	}
	return nil
}
