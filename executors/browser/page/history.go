package page

import (
	"context"
	"errors"
	"fmt"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"

	"toolsvc/executors/browser/devtools"
)

// ErrNoEntry: the tab's history has no entry in that direction.
var ErrNoEntry = errors.New("the history has no such entry")

// Travel goes back (by -1) or forward (by 1) in the tab's history, and returns the address that it asked for. It does not wait for the page.
func (t *Tab) Travel(ctx context.Context, by int) (address string, err error) {
	h, err := devtools.Call(ctx, t.session, cdppage.GetNavigationHistory, cdp.Empty{})
	if err != nil {
		return "", fmt.Errorf("read the history: %w", because(ctx, err))
	}
	i := int(h.CurrentIndex) + by
	if i < 0 || i >= len(h.Entries) || i == 0 && h.Entries[0].URL == "about:blank" { // the blank page is the tab's own beginning
		return "", ErrNoEntry
	}
	e := h.Entries[i]
	if _, err := devtools.Call(ctx, t.session, cdppage.NavigateToHistoryEntry, cdppage.NavigateToHistoryEntryParams{EntryID: e.ID}); err != nil {
		return "", fmt.Errorf("go to %s: %w", e.URL, because(ctx, err))
	}
	return e.URL, nil
}

// Entry is the number of the present entry in the tab's history.
func (t *Tab) Entry(ctx context.Context) (int, error) {
	h, err := devtools.Call(ctx, t.session, cdppage.GetNavigationHistory, cdp.Empty{})
	if err != nil {
		return 0, fmt.Errorf("read the history: %w", because(ctx, err))
	}
	return int(h.CurrentIndex), nil
}

// CameByPost reports whether the present document is the answer to something that was sent. Where the request itself was not watched,
// a form that was submitted, by whatever method, counts as one.
func (t *Tab) CameByPost(ctx context.Context) (bool, error) {
	t.mu.Lock()
	loader := t.log.loader
	for i := len(t.log.requests) - 1; i >= 0; i-- {
		if r := t.log.requests[i]; r.Document && loader != "" && r.loader == loader {
			t.mu.Unlock()
			return r.Method != "GET" && r.Method != "HEAD", nil
		}
	}
	t.mu.Unlock()
	h, err := devtools.Call(ctx, t.session, cdppage.GetNavigationHistory, cdp.Empty{})
	if err != nil {
		return false, fmt.Errorf("read the history: %w", because(ctx, err))
	}
	i := int(h.CurrentIndex)
	return i < len(h.Entries) && h.Entries[i].TransitionType == cdppage.TransitionTypeFormSubmit, nil
}

// Reload loads the page anew. It does not wait for it.
func (t *Tab) Reload(ctx context.Context) error {
	if _, err := devtools.Call(ctx, t.session, cdppage.Reload, cdppage.ReloadParams{}); err != nil {
		return fmt.Errorf("load the page anew: %w", because(ctx, err))
	}
	return nil
}

// AwaitJourney waits until a journey shows: a load that began, another document, another address than from, or a dialog that asks to stay. When
// ctx ends before, it returns nil all the same: then nothing happened.
func (t *Tab) AwaitJourney(ctx context.Context, m Mark, from string) error {
	err := t.await(ctx, func() bool {
		n := t.since(m)
		return n.Started > 0 || n.Navigations > 0 || len(n.Dialogs) > 0 || t.frame(t.root).url != from
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}
