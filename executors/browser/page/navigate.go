package page

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"

	"toolsvc/executors/browser/devtools"
)

type empty = cdp.Empty

// Navigate asks the tab to open an address, and returns when its document has begun, with the document's loader id ("" when only the
// fragment changed), or with the browser's own reason why not.
func (t *Tab) Navigate(ctx context.Context, address string) (loader string, err error) {
	r, err := devtools.Call(ctx, t.session, cdppage.Navigate, cdppage.NavigateParams{URL: address})
	if err != nil {
		return "", fmt.Errorf("open %s: %w", address, because(ctx, err))
	}
	if r.ErrorText != "" {
		return "", &NavigationError{URL: address, Reason: r.ErrorText}
	}
	return string(r.LoaderID), nil
}

// NoConnection is the browser's reason when the proxy that guards its connections did not make one: because nothing answers there, or because
// the policy refuses it.
const NoConnection = "net::ERR_SOCKS_CONNECTION_FAILED"

// Unconnected is the address of the latest document of the page itself, since the mark, to which no connection was made; "" when there is
// none, or when another document came after it.
func (t *Tab) Unconnected(since Mark) string {
	address, root := "", t.Main().ID
	for _, r := range t.Since(since).Requests {
		if r.Document && r.frame == root {
			if address = ""; r.Problem == NoConnection {
				address = r.URL
			}
		}
	}
	return address
}

// NavigationError is the browser's reason why an address could not be opened.
type NavigationError struct{ URL, Reason string }

func (e *NavigationError) Error() string {
	why := map[string]string{
		"net::ERR_CONNECTION_REFUSED": "nothing listens at that address", "net::ERR_NAME_NOT_RESOLVED": "that host name is not known",
		"net::ERR_ABORTED":          "the navigation was aborted: a download, an empty answer, or a page that asks to be stayed on",
		"net::ERR_CONNECTION_RESET": "the server broke the connection", "net::ERR_EMPTY_RESPONSE": "the server answered with nothing",
		"net::ERR_INTERNET_DISCONNECTED": "this machine has no network",
		NoConnection:                     "no connection was made", "net::ERR_PROXY_CONNECTION_FAILED": "what guards the browser's connections had ended; it is started again with the next call",
	}[e.Reason]
	if why == "" {
		why = strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(e.Reason, "net::ERR_"), "_", " "))
	}
	return fmt.Sprintf("open %s: %s (%s)", e.URL, why, e.Reason)
}

// AwaitLoad waits until the document of this loader has fired its load event; without a loader, until no load is under way.
func (t *Tab) AwaitLoad(ctx context.Context, loader string, since Mark) error {
	return t.await(ctx, func() bool {
		if loader == "" {
			return !t.frame(t.root).loading
		}
		return string(t.log.loader) == loader && t.log.loads > since.Loads && !t.frame(t.root).loading
	})
}

// DocumentStatus is the HTTP status of the latest document of the page, 0 when it has none.
func (t *Tab) DocumentStatus(since Mark) int {
	status := 0
	for _, r := range t.Since(since).Requests {
		if r.Document && r.loader != "" && r.loader == t.loader() {
			status = r.Status
		}
	}
	return status
}

func (t *Tab) loader() cdp.LoaderID {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.log.loader != "" {
		return t.log.loader
	}
	return t.frame(t.root).loader
}

// Loading reports whether the page itself is being loaded.
func (t *Tab) Loading() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.frame(t.root).loading
}

// streamAge is the age from which an open request counts as one that may never end.
const streamAge = 3 * time.Second

// busy counts requests since a mark that are open and not streams, nor so old that they look like one. The caller holds the lock.
func (t *Tab) busy(m Mark) int {
	n := 0
	for _, r := range t.log.requests[min(len(t.log.requests), max(0, m.Requests-t.log.dropped.Requests)):] {
		if r.Open && !r.Stream && time.Since(r.At) < streamAge {
			n++
		}
	}
	return n
}

// Busy counts the open requests since a mark, without streams.
func (t *Tab) Busy(m Mark) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.busy(m)
}

// AwaitQuiet waits until no request since the mark is open and the page itself does not load, at most max.
func (t *Tab) AwaitQuiet(ctx context.Context, m Mark, max time.Duration) error {
	wait, cancel := context.WithTimeout(ctx, max)
	defer cancel()
	if err := t.await(wait, func() bool { return t.busy(m) == 0 && !t.frame(t.root).loading }); err != nil && ctx.Err() != nil {
		return because(ctx, err)
	}
	return nil
}

// AwaitNews waits until cond is true of what happened since the mark.
func (t *Tab) AwaitNews(ctx context.Context, m Mark, cond func(News, []Request) bool) error {
	return t.await(ctx, func() bool { rs, _ := t.caused(m); return cond(t.since(m), rs) })
}

// Ready waits until the page can be acted on: loaded, its requests answered, its DOM at rest. It is bounded by max. The page had not even been
// parsed by then where the surfaces' Ready is "loading".
func (t *Tab) Ready(ctx context.Context, quiet, max time.Duration) (Surfaces, error) {
	end := time.Now().Add(max)
	for {
		left := time.Until(end)
		if left <= 0 {
			left = time.Millisecond
		}
		// A page whose last picture never comes is not waited for to the end: the requests of a load get a part of the time only.
		if err := t.AwaitQuiet(ctx, Mark{}, min(left, max/2)); err != nil {
			return Surfaces{}, err
		}
		var s Surfaces
		err := t.Main().Eval(ctx, &s, "rested", quiet.Milliseconds(), max.Milliseconds()/4)
		if Moved(err) && time.Now().Before(end) && t.Dead() == nil && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return Surfaces{}, err
		}
		if s.Ready != "loading" || time.Now().After(end) {
			return s, nil
		}
	}
}

// Surfaces is what a search of the DOM cannot see into, and how busy the page is.
type Surfaces struct {
	// Opaque counts canvases, plug-ins and closed widgets, Pictures images without a text alternative, of a size that could hold a target.
	Opaque, Pictures int
	// Hosts counts elements that may hold a closed shadow tree and were not looked into yet.
	Hosts int
	// Elements counts the elements of the document.
	Elements int
	Busy     bool
	Ready    string
	// Age of the document, in milliseconds.
	Age float64
}
