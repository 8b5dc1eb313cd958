package page

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"toolsvc/executors/browser/devtools"
)

// maxLogged bounds each list of a tab's log; the oldest half goes when it is full.
const maxLogged = 4000

// Request is a network request of the page or of one of its frames.
type Request struct {
	Method string
	URL    string
	// Status is 0 while there is no answer.
	Status int
	// Document reports the request for the page itself.
	Document bool
	// Open reports that its answer is not complete yet.
	Open bool
	// Stream reports a connection that stays open by its nature: a WebSocket, an event source.
	Stream bool
	At     time.Time
	// Type is document, fetch, xhr, script, …
	Type string
	// Took is from the request to the end of the answer, 0 while it is open.
	Took time.Duration
	// Problem is why there was no answer.
	Problem string

	id     network.RequestID
	loader cdp.LoaderID
	frame  cdp.FrameID
}

// key is what makes requests of a poll the same.
func (r *Request) key() string {
	u, _, _ := strings.Cut(r.URL, "?")
	return r.Method + " " + u
}

// reads reports whether the request is made to change nothing on the server.
func (r *Request) reads() bool {
	return r.Method == "GET" || r.Method == "HEAD" || r.Method == "OPTIONS"
}

// log keeps what happened in a tab, with positions that only grow.
type log struct {
	requests   []*Request
	open       map[network.RequestID]*Request
	dialogs    []Dialog
	exceptions []string
	dropped    Mark // what was dropped from the front of each list

	starts, loads, navigations int
	loader                     cdp.LoaderID
	arrived                    time.Time // when the present document began
	choosers, popups           int
	windows                    []target.ID
	downloads                  int
	files                      []*File
	console                    []Message
	consoleCut                 bool
}

// Mark is a moment in a tab's log.
type Mark struct {
	Requests, Dialogs, Exceptions int
	Starts, Loads, Navigations    int
	Choosers, Popups, Downloads   int
	At                            time.Time
}

func (l *log) init() { l.open = map[network.RequestID]*Request{} }

func (l *log) navigated(id cdp.LoaderID) {
	l.navigations++
	l.loader = id
	l.arrived = time.Now()
	l.console, l.consoleCut = nil, false
}

func (l *log) dialog(d Dialog) {
	l.dialogs = append(l.dialogs, d)
	if len(l.dialogs) > maxLogged {
		l.dropped.Dialogs += maxLogged / 2
		l.dialogs = append([]Dialog(nil), l.dialogs[maxLogged/2:]...)
	}
}

func (l *log) event(ev devtools.Event) bool {
	switch ev.Method {
	case network.RequestWillBeSent.Method:
		if e, ok := devtools.As(ev, network.RequestWillBeSent); ok {
			l.request(e)
		}
	case network.ResponseReceived.Method:
		if e, ok := devtools.As(ev, network.ResponseReceived); ok && e.Response != nil {
			if r := l.open[e.RequestID]; r != nil {
				r.Status = int(e.Response.Status)
			}
		}
	case network.LoadingFinished.Method:
		if e, ok := devtools.As(ev, network.LoadingFinished); ok {
			l.finish(e.RequestID)
		}
	case network.LoadingFailed.Method:
		if e, ok := devtools.As(ev, network.LoadingFailed); ok {
			if r := l.open[e.RequestID]; r != nil && r.Status == 0 { // an answer whose body nobody reads is broken off, and was an answer
				r.Problem = e.ErrorText
			}
			l.finish(e.RequestID)
		}
	case network.WebSocketFrameSent.Method:
		if e, ok := devtools.As(ev, network.WebSocketFrameSent); ok {
			l.add(&Request{Method: "WS", URL: "websocket:" + string(e.RequestID), At: time.Now(), Stream: true})
		}
	case runtime.ExceptionThrown.Method:
		if e, ok := devtools.As(ev, runtime.ExceptionThrown); ok && e.ExceptionDetails != nil {
			d := e.ExceptionDetails
			msg := d.Text
			if d.Exception != nil && d.Exception.Description != "" {
				msg, _, _ = strings.Cut(d.Exception.Description, "\n")
			}
			l.exceptions = append(l.exceptions, msg)
			l.say(Message{Level: "error", Text: "Uncaught " + msg, Location: where(d.StackTrace)})
			if len(l.exceptions) > maxLogged {
				l.dropped.Exceptions += maxLogged / 2
				l.exceptions = append([]string(nil), l.exceptions[maxLogged/2:]...)
			}
		}
	default:
		return l.consoleEvent(ev)
	}
	return true
}

func (l *log) request(e network.EventRequestWillBeSent) {
	if e.Request == nil || ignored(e.Request.URL) {
		return
	}
	if old := l.open[e.RequestID]; old != nil { // a redirect
		if e.RedirectResponse != nil {
			old.Status = int(e.RedirectResponse.Status)
		}
		l.finish(e.RequestID)
	}
	r := &Request{Method: e.Request.Method, URL: e.Request.URL, At: time.Now(), Open: true, Type: strings.ToLower(string(e.Type)), id: e.RequestID, loader: e.LoaderID, frame: e.FrameID,
		Document: e.Type == network.ResourceTypeDocument, Stream: e.Type == network.ResourceTypeEventSource || e.Type == network.ResourceTypeWebSocket || e.Type == network.ResourceTypeMedia}
	l.open[e.RequestID] = r
	l.add(r)
}

func (l *log) add(r *Request) {
	l.requests = append(l.requests, r)
	if len(l.requests) > maxLogged {
		l.dropped.Requests += maxLogged / 2
		l.requests = append([]*Request(nil), l.requests[maxLogged/2:]...)
	}
}

func (l *log) finish(id network.RequestID) {
	if r := l.open[id]; r != nil {
		r.Open, r.Took = false, max(time.Since(r.At), time.Millisecond)
		delete(l.open, id)
	}
}

// ignored are addresses whose requests say nothing about an action.
func ignored(address string) bool {
	if strings.HasPrefix(address, "data:") || strings.HasPrefix(address, "blob:") || strings.HasPrefix(address, "chrome") {
		return true
	}
	u, err := url.Parse(address)
	return err == nil && strings.HasSuffix(u.Path, "/favicon.ico")
}

// Mark returns this moment.
func (t *Tab) Mark() Mark {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mark()
}

func (t *Tab) mark() Mark {
	l := &t.log
	return Mark{Requests: l.dropped.Requests + len(l.requests), Dialogs: l.dropped.Dialogs + len(l.dialogs), Exceptions: l.dropped.Exceptions + len(l.exceptions),
		Starts: l.starts, Loads: l.loads, Navigations: l.navigations, Choosers: l.choosers, Popups: l.popups, Downloads: l.downloads, At: time.Now()}
}

// News is what happened since a mark.
type News struct {
	Requests []Request
	Dialogs  []Dialog
	// Exceptions are uncaught ones that had not been thrown before.
	Exceptions []string
	// Started counts loads that began, Navigations documents that replaced the page's own.
	Started, Navigations        int
	Choosers, Popups, Downloads int
}

// Since lists what happened after a mark.
func (t *Tab) Since(m Mark) News {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.since(m)
}

func (t *Tab) since(m Mark) News {
	l := &t.log
	n := News{Started: l.starts - m.Starts, Navigations: l.navigations - m.Navigations, Choosers: l.choosers - m.Choosers, Popups: l.popups - m.Popups, Downloads: l.downloads - m.Downloads}
	for _, r := range l.requests[min(len(l.requests), max(0, m.Requests-l.dropped.Requests)):] {
		n.Requests = append(n.Requests, *r)
	}
	n.Dialogs = append(n.Dialogs, l.dialogs[min(len(l.dialogs), max(0, m.Dialogs-l.dropped.Dialogs)):]...)
	at := min(len(l.exceptions), max(0, m.Exceptions-l.dropped.Exceptions))
	for _, e := range l.exceptions[at:] {
		if !slices.Contains(l.exceptions[:at], e) { // one that was thrown before as well is the page's own
			n.Exceptions = append(n.Exceptions, e)
		}
	}
	return n
}

// Requests are all requests that are remembered, the latest last.
func (t *Tab) Requests() []Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.since(Mark{}).Requests
}

// youngPage is the age up to which a page may not have shown yet what it does by itself.
const youngPage = 1500 * time.Millisecond

// Caused are the requests since a mark that the page does not send by itself. What it had sent twice or more before, and what it reads
// three times or more afterwards, is its own. sure is false when all of them may be the page's own: they only read, and were seen once
// before, or the page is too young to have shown its habits.
func (t *Tab) Caused(m Mark) (rs []Request, sure bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.caused(m)
}

func (t *Tab) caused(m Mark) (rs []Request, sure bool) {
	l := &t.log
	from := min(len(l.requests), max(0, m.Requests-l.dropped.Requests))
	before, after := map[string]int{}, map[string]int{}
	for _, r := range l.requests[:from] {
		if m.At.Sub(r.At) < time.Minute {
			before[r.key()]++
		}
	}
	for _, r := range l.requests[from:] {
		after[r.key()]++
	}
	young := m.At.Sub(l.arrived) < youngPage
	for _, r := range l.requests[from:] {
		n, reads := before[r.key()], r.reads()
		switch {
		case r.Document:
		case n >= 2, reads && after[r.key()] >= 3, r.Method == "WS" && n >= 1:
			continue // it comes again and again by itself
		}
		if r.Document || !reads || n == 0 && !young {
			sure = true
		}
		rs = append(rs, *r)
	}
	return rs, sure
}

// Refused counts the requests that were answered by an error, and those that were to change something and got no answer.
func Refused(rs []Request) (n int) {
	for _, r := range rs {
		if r.Status >= 400 || r.Problem != "" && !r.reads() && r.Type != "ping" {
			n++
		}
	}
	return n
}

// Sending counts the requests since a mark that may change something on the server, that the page does not send by itself, and that are not
// answered yet. A beacon is sent for no answer.
func (t *Tab) Sending(m Mark) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sending(m)
}

func (t *Tab) sending(m Mark) (n int) {
	rs, _ := t.caused(m)
	for _, r := range rs {
		if r.Open && r.Status == 0 && !r.Stream && !r.reads() && r.Type != "ping" {
			n++
		}
	}
	return n
}

// AwaitAnswers waits until what was sent since the mark is answered, or another page is being loaded, at most max.
func (t *Tab) AwaitAnswers(ctx context.Context, m Mark, max time.Duration) error {
	wait, cancel := context.WithTimeout(ctx, max)
	defer cancel()
	if err := t.await(wait, func() bool { return t.sending(m) == 0 || t.frame(t.root).loading }); err != nil && ctx.Err() != nil {
		return because(ctx, err)
	}
	return nil
}

// Answered is the HTTP status of the page that was opened since the mark; 0 when none was, or it came without one.
func (t *Tab) Answered(m Mark) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.log.navigations == m.Navigations {
		return 0
	}
	for _, r := range slices.Backward(t.log.requests[min(len(t.log.requests), max(0, m.Requests-t.log.dropped.Requests)):]) {
		if r.Document && r.frame == t.root && r.loader == t.log.loader {
			return r.Status
		}
	}
	return 0
}

// Popup takes note of a window that the page opened.
func (t *Tab) Popup(id target.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.log.popups++
	t.log.windows = append(t.log.windows[max(0, len(t.log.windows)-maxWindows+1):], id)
	t.tell()
}

// maxWindows bounds the windows that are remembered.
const maxWindows = 20

// Windows are the windows that the page opened since the mark, at most the latest 20 of them.
func (t *Tab) Windows(m Mark) []target.ID {
	t.mu.Lock()
	defer t.mu.Unlock()
	opened := min(t.log.popups-m.Popups, len(t.log.windows))
	return slices.Clone(t.log.windows[len(t.log.windows)-opened:])
}

// Opened reports whether the page opened that window.
func (t *Tab) Opened(id target.ID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Contains(t.log.windows, id)
}

// AwaitWindows waits until the windows that the page opened since the mark are loaded, or gone, at most max.
func (t *Tab) AwaitWindows(ctx context.Context, m Mark, max time.Duration) {
	ids := t.Windows(m)
	ctx, cancel := context.WithTimeout(ctx, max)
	defer cancel()
	conn := t.session.Conn()
	for _, id := range ids {
		s, err := conn.Attach(ctx, id)
		if err != nil {
			continue
		}
		yes := true
		for ctx.Err() == nil {
			r, err := devtools.Call(ctx, s, runtime.Evaluate, runtime.EvaluateParams{AwaitPromise: &yes, ReturnByValue: &yes,
				Expression: "location.href === 'about:blank' ? new Promise(() => {}) : document.readyState === 'complete' || new Promise(r => addEventListener('load', () => r(true)))"})
			if err == nil && r.ExceptionDetails == nil || errors.Is(err, devtools.ErrDetached) {
				break // loaded, or gone; any other error means that its document was just replaced
			}
		}
		devtools.Start(conn.Browser(), target.DetachFromTarget, target.DetachFromTargetParams{SessionID: s.ID})
	}
}
