package browser

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"toolsvc/executors/browser/guard"
	"toolsvc/executors/browser/page"
	"toolsvc/tool"
)

// allow applies the navigation policy to an address that is asked for. What it resolves to is checked where the connection is made.
func (x *Executor) allow(address string) error {
	if err := x.pool.rules.CheckURL(address); err != nil {
		if bareHost.MatchString(address) { // forbidding it would be no help: what is meant is plain
			return tool.Failf(tool.InvalidArguments, "%s has no scheme: write http://%s or https://%s.", shown(address), shown(address), shown(address))
		}
		return denied(address, err)
	}
	return nil
}

// bareHost is what people write of an address when they leave its scheme out: a host with a dot in it, or localhost, maybe with a port and a path.
var bareHost = regexp.MustCompile(`^(localhost|[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+)(:[0-9]{1,5})?([/?#].*)?$`)

func denied(address string, err error) *tool.Failed {
	return &tool.Failed{Failure: tool.PolicyDenied, Message: fmt.Sprintf("%s may not be opened: %v.", shown(address), err), What: shown(address), Cause: err}
}

// shown is an address without a password, and not too long.
func shown(address string) string {
	if u, err := url.Parse(address); err == nil {
		address = u.Redacted()
	}
	return clip(address, 500)
}

// schemes of documents that a page may lead to: those that connect are checked by the guard, the others hold what a page has made.
var schemes = []string{"http:", "https:", "about:", "data:", "blob:", "chrome-error:"}

// strayed is the error of a tab that is at an address of another kind, which Chromium does not let pages lead to.
func strayed(address string) error {
	if address == "" || slices.ContainsFunc(schemes, func(s string) bool { return strings.HasPrefix(address, s) }) {
		return nil
	}
	scheme, _, _ := strings.Cut(address, ":")
	return denied(address, &guard.Denied{What: scheme + ":", Why: "is no kind of address that is opened"})
}

// refused names the error of an attempt whose page was led to where it may not go, by a link, a script or a redirect. Nothing was loaded.
func (a *attempt) refused(ctx context.Context) error {
	if err := strayed(a.tab.Main().URL()); err != nil {
		_, _ = a.tab.Navigate(ctx, "about:blank")
		return dispatchedAs(err, a.dispatched)
	}
	address := a.tab.Unconnected(a.sent)
	if address == "" {
		return nil
	}
	var d *guard.Denied
	if err := a.x.pool.rules.Why(ctx, address); !errors.As(err, &d) {
		return nil // the page shows what it could not reach, as to anyone
	}
	return dispatchedAs(&tool.Failed{Failure: tool.PolicyDenied, What: shown(address), Cause: d,
		Message: fmt.Sprintf("The page was led to %s, which may not be opened: %v. Nothing was loaded from there.", shown(address), d)}, a.dispatched)
}

// unopened is the failure of an address that could not be opened, with the reason that the guard's proxy cannot tell the browser.
func (a *attempt) unopened(ctx context.Context, e *page.NavigationError) *tool.Failed {
	if e.Reason != page.NoConnection {
		return &tool.Failed{Failure: tool.NotReady, Message: capital(e.Error()) + ".", Dispatched: true, Cause: e}
	}
	address := e.URL
	if led := a.tab.Unconnected(a.sent); led != "" { // by a redirect, perhaps
		address = led
	}
	err := a.x.pool.rules.Why(ctx, address)
	var d *guard.Denied
	if errors.As(err, &d) {
		f := denied(address, d)
		f.Dispatched = true
		return f
	}
	why := *e
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		why.Reason = "net::ERR_NAME_NOT_RESOLVED"
	case errors.Is(err, syscall.ECONNREFUSED):
		why.Reason = "net::ERR_CONNECTION_REFUSED"
	case errors.Is(err, context.DeadlineExceeded):
		why.Reason = "net::ERR_TIMED_OUT"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		why.Reason = "net::ERR_ADDRESS_UNREACHABLE"
	}
	return &tool.Failed{Failure: tool.NotReady, Message: capital(why.Error()) + ".", Dispatched: true, Cause: &why}
}
