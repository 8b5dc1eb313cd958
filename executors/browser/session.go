package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/cdproto/target"

	"toolsvc/executors/browser/chromium"
	"toolsvc/executors/browser/devtools"
	"toolsvc/executors/browser/guard"
	"toolsvc/executors/browser/page"
	"toolsvc/tool"
)

// session is a run's place in the browser: a browser context of its own (cookies, storage) with one tab.
type session struct {
	run  string
	tab  *page.Tab  // that calls act on; guarded by the pool, but attempts of one run come one after the other
	mu   sync.Mutex // guards cp, reply, seen and since
	cp   checkpoint
	busy int       // attempts under way; guarded by the pool
	used time.Time // guarded by the pool
	keep bool      // the page is more than what its address shows to anyone who opens it; guarded by the pool

	others map[target.ID]*page.Tab // further tabs that were attached to; guarded by the pool
	order  []target.ID             // of all tabs, as they were first seen; guarded by the pool
	reply  *reply
	seen   map[string][]string // the latest snapshots, by what they are of
	since  struct {            // when the latest call began
		call string
		tab  *page.Tab
		mark page.Mark
	}
}

// begun is when the call began, by the log of the current tab: all attempts at one call count from the first, so that "sent once" can be
// said of the call.
func (s *session) begun(call string) page.Mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.call != call || s.since.tab != s.tab {
		s.since.call, s.since.tab, s.since.mark = call, s.tab, s.tab.Mark()
	}
	return s.since.mark
}

// newSession is a session with one tab.
func newSession(run string, tab *page.Tab, cp checkpoint) *session {
	return &session{run: run, tab: tab, cp: cp, used: time.Now(), others: map[target.ID]*page.Tab{}, order: []target.ID{tab.ID}, seen: map[string][]string{}}
}

// pool is the browser and the sessions in it.
type pool struct {
	opts  Options
	marks checkpoints
	rules *guard.Guard

	starting chan struct{} // holds one while a browser or a session is started: one at a time
	mu       sync.Mutex
	proc     *chromium.Process
	keeper   *guard.Process // through which the browser connects; nil when it is unguarded
	conn     *devtools.Conn
	sessions map[string]*session
	saving   saves
	closed   bool
	counts   counts
}

// acquire returns the run's session, starting or rebuilding what is missing. release must be called when it is not used any more. A browser that
// ends meanwhile is started again, once: nothing was done in it for the call that waits.
func (p *pool) acquire(ctx context.Context, run string) (s *session, release func(), err error) {
	done, err := p.start(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	s, err = p.session(ctx, run)
	if errors.Is(err, devtools.ErrLost) && ctx.Err() == nil {
		s, err = p.session(ctx, run)
	}
	if err != nil {
		return nil, nil, err
	}
	p.mu.Lock()
	p.sessions[run] = s
	s.busy++
	p.mu.Unlock()
	p.closeIdle(ctx)
	return s, func() {
		p.mu.Lock()
		s.busy--
		s.used = time.Now()
		p.mu.Unlock()
		p.marks.touch(run)
	}, nil
}

// start waits for the turn to start a browser or a session; done ends it.
func (p *pool) start(ctx context.Context) (done func(), err error) {
	select {
	case p.starting <- struct{}{}:
		return func() { <-p.starting }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait until another session is ready: %w", context.Cause(ctx))
	}
}

// session returns the run's session. The caller has the turn to start one.
func (p *pool) session(ctx context.Context, run string) (*session, error) {
	if err := p.browser(ctx); err != nil {
		return nil, err
	}
	p.mu.Lock()
	s := p.sessions[run]
	p.mu.Unlock()
	if s != nil && s.tab.Dead() != nil && !p.fallBack(ctx, s) {
		p.drop(ctx, s)
		s = nil
	}
	if s != nil {
		return s, nil
	}
	return p.open(ctx, run)
}

// does notes what is about to be done in a session. A page that was opened, and in which nothing was done, can be opened again; one that was
// reached from another has a way back, which would be lost.
func (p *pool) does(s *session, a action) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch url := s.tab.Main().URL(); {
	case a.kind == kindNavigate && (url == "" || url == "about:blank"):
	case a.acts(), a.travels(), a.kind == kindTabs, a.kind == kindDialog:
		s.keep = true
	}
}

// closeIdle gives up the sessions that were not used for long. Their runs find their pages again by their checkpoints.
func (p *pool) closeIdle(ctx context.Context) {
	p.mu.Lock()
	var idle []*session
	for _, s := range p.sessions {
		if s.busy == 0 && time.Since(s.used) > p.opts.IdleTimeout {
			idle = append(idle, s)
		}
	}
	p.mu.Unlock()
	for _, s := range idle {
		p.save(ctx, s)
		_ = p.shut(ctx, s) // a context that cannot be closed is closed with the browser
	}
}

// drop forgets a session whose tab is dead. A crashed tab is closed: nobody can attach to it any more.
func (p *pool) drop(ctx context.Context, s *session) {
	p.mu.Lock()
	delete(p.sessions, s.run)
	conn := p.conn
	p.mu.Unlock()
	s.mu.Lock()
	if url := s.tab.Main().URL(); url != "" && url != s.cp.URL {
		next := s.cp
		next.URL = url
		if p.marks.save(&next) == nil { // otherwise the session is rebuilt from the older one
			s.cp = next
		}
	}
	s.mu.Unlock()
	if errors.Is(s.tab.Dead(), page.ErrCrashed) {
		_, _ = devtools.Call(ctx, conn.Browser(), target.CloseTarget, target.CloseTargetParams{TargetID: s.tab.ID})
	}
}

// browser connects to the recorded browser, or starts one. The caller has the turn to do so.
func (p *pool) browser(ctx context.Context) error {
	p.mu.Lock()
	conn, keeper, closed := p.conn, p.keeper, p.closed
	p.mu.Unlock()
	if closed {
		return tool.Failf(tool.ToolUnavailable, "the browser executor is shut down")
	}
	if conn != nil {
		select {
		case <-conn.Lost():
			p.counts.lost(conn)
		default:
			if keeper == nil || keeper.Running() {
				return nil
			}
		}
	}
	unlock, err := lock(p.opts.StateDir)
	if err != nil {
		return err
	}
	defer unlock()
	dir, flags := filepath.Join(p.opts.StateDir, "browser"), p.opts.Flags
	if !p.opts.Unguarded {
		if keeper, err = guard.Acquire(ctx, dir, chromium.RecordFile(dir), p.opts.Navigation); err != nil {
			return &tool.Failed{Failure: tool.ToolUnavailable, Message: "The browser cannot be used without what guards its connections: " + err.Error(), Cause: err}
		}
		flags = append(keeper.Flags(), flags...)
	}
	p.mu.Lock()
	p.keeper = keeper
	same := conn != nil && p.proc.Guarded(flags)
	p.mu.Unlock()
	if same {
		select {
		case <-conn.Lost():
		default:
			return nil // only the guard had to be started again
		}
	}
	proc, conn, fresh, err := chromium.Acquire(ctx, chromium.Options{Path: p.opts.ChromiumPath, StateDir: dir, Width: p.opts.Width,
		Height: p.opts.Height, SitePerProcess: p.opts.SitePerProcess, ExtraFlags: flags})
	if err != nil {
		return &tool.Failed{Failure: tool.ToolUnavailable, Message: "The browser cannot be used: " + err.Error(), Cause: err}
	}
	conn.Browser().Listen(p.event)
	if _, err := devtools.Call(ctx, conn.Browser(), target.SetDiscoverTargets, target.SetDiscoverTargetsParams{Discover: true, Filter: target.Filter{{Type: "page"}, {Type: "iframe"}}}); err != nil {
		return fmt.Errorf("watch the browser's tabs: %w", err)
	}
	p.mu.Lock()
	p.proc, p.conn, p.sessions = proc, conn, map[string]*session{}
	p.mu.Unlock()
	if fresh {
		p.counts.starts.Add(1)
	} else {
		p.sweep(ctx, conn, proc.Path)
	}
	return nil
}

// sweep closes what earlier processes left open in the browser and no run has used for long. What it cannot close is no harm but memory.
func (p *pool) sweep(ctx context.Context, conn *devtools.Conn, browser string) {
	r, err := devtools.Call(ctx, conn.Browser(), target.GetBrowserContexts, cdp.Empty{})
	if err != nil {
		return
	}
	used, err := p.marks.recent(browser, p.opts.IdleTimeout)
	if err != nil {
		return // nobody knows which of them are used
	}
	for _, id := range r.BrowserContextIDs {
		if !used[id] {
			devtools.Start(conn.Browser(), target.DisposeBrowserContext, target.DisposeBrowserContextParams{BrowserContextID: id})
		}
	}
}

// lock keeps two processes of one state directory from starting two browsers.
func lock(dir string) (func(), error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the browser's state directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the browser's state directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock the browser's state directory: %w", err), f.Close())
	}
	return func() { _ = f.Close() }, nil // closing gives the lock up
}

// event takes in what happens to tabs as a whole.
func (p *pool) event(ev devtools.Event) {
	if e, ok := devtools.As(ev, target.TargetCrashed); ok {
		if t, _ := p.byTarget(e.TargetID); t != nil {
			p.counts.tabs.Add(1)
			t.Crash()
		} else {
			for _, t := range p.tabs() {
				t.Lose(cdp.FrameID(e.TargetID))
			}
		}
	}
	if e, ok := devtools.As(ev, target.TargetCreated); ok && e.TargetInfo != nil && e.TargetInfo.OpenerID != "" {
		if t, s := p.byTarget(e.TargetInfo.OpenerID); t != nil {
			t.Popup(e.TargetInfo.TargetID)
			p.mu.Lock()
			if len(s.order) < 1000 {
				s.order = append(s.order, e.TargetInfo.TargetID)
			}
			p.mu.Unlock()
		}
	}
	p.downloadEvent(ev)
}

// tabs are all tabs that are attached to.
func (p *pool) tabs() []*page.Tab {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ts []*page.Tab
	for _, s := range p.sessions {
		ts = append(ts, s.tab)
		for _, t := range s.others {
			ts = append(ts, t)
		}
	}
	return ts
}

// byTarget finds an attached tab, and its session.
func (p *pool) byTarget(id target.ID) (*page.Tab, *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.sessions {
		if s.tab.ID == id {
			return s.tab, s
		}
		if t := s.others[id]; t != nil {
			return t, s
		}
	}
	return nil, nil
}

// view is how tabs are shown.
func (p *pool) view() page.View {
	return page.View{Width: p.opts.Width, Height: p.opts.Height, Scale: p.opts.DeviceScaleFactor}
}

// attachLimit bounds the attaching to a tab that an earlier process used. A tab that crashed meanwhile never answers.
const attachLimit = 6 * time.Second

// open finds the run's tab again, or makes a new one and brings it to where the old one was.
func (p *pool) open(ctx context.Context, run string) (*session, error) {
	cp, err := p.marks.load(run)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	conn, browser := p.conn, p.proc.Path
	p.mu.Unlock()
	view := p.view()
	if cp != nil && cp.Browser == browser {
		attach, cancel := context.WithTimeout(ctx, attachLimit)
		tab, err := page.Open(attach, conn, cp.Target, view)
		cancel()
		if err == nil {
			if alive(ctx, tab) {
				p.watchDownloads(conn, cp.Context)
				s := newSession(run, tab, *cp)
				s.keep = true // what an earlier process did in it is not known
				return s, nil
			}
			tab.End()
		}
		if ctx.Err() != nil { // it is the call that has no time left; the tab may be well
			return nil, fmt.Errorf("find the tab of run %s again: %w", run, context.Cause(ctx))
		}
		devtools.Start(conn.Browser(), target.CloseTarget, target.CloseTargetParams{TargetID: cp.Target})
	}
	if err := p.makeRoom(ctx); err != nil {
		return nil, err
	}
	fresh := checkpoint{RunID: run, Browser: browser}
	if cp != nil {
		fresh.URL, fresh.Cookies, fresh.Storage = cp.URL, cp.Cookies, cp.Storage
		if cp.Browser == browser { // the tab crashed; its context, with all it stored, lives
			fresh.Context = cp.Context
		}
	}
	s, err := p.make(ctx, conn, fresh, view)
	if err != nil && fresh.Context != "" { // the context is gone too
		fresh.Context = ""
		s, err = p.make(ctx, conn, fresh, view)
	}
	return s, err
}

// alive reports whether a tab answers.
func alive(ctx context.Context, tab *page.Tab) bool {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	ctx, stop := tab.Bind(ctx)
	defer stop()
	var s page.Surfaces
	return tab.Main().Eval(ctx, &s, "surfaces") == nil
}

// make makes a context (unless it is given) and a tab, and goes to the checkpoint's address. Where that fails, nothing of it
// is left in the browser.
func (p *pool) make(ctx context.Context, conn *devtools.Conn, cp checkpoint, view page.View) (s *session, err error) {
	b := conn.Browser()
	rebuild := cp.Context == ""
	if rebuild {
		r, err := devtools.Call(ctx, b, target.CreateBrowserContext, target.CreateBrowserContextParams{})
		if err != nil {
			return nil, fmt.Errorf("make a browser context: %w", err)
		}
		cp.Context = r.BrowserContextID
	}
	onItsWay := false // to its page: the next call finds it by its checkpoint
	defer func() {
		switch {
		case err == nil, onItsWay:
		case rebuild:
			devtools.Start(b, target.DisposeBrowserContext, target.DisposeBrowserContextParams{BrowserContextID: cp.Context})
		case cp.Target != "":
			devtools.Start(b, target.CloseTarget, target.CloseTargetParams{TargetID: cp.Target})
		}
	}()
	p.watchDownloads(conn, cp.Context)
	in := target.CreateTargetParams{URL: "about:blank", BrowserContextID: cp.Context}
	if rebuild { // only a new window has a size of its own
		in.Width, in.Height = int64(view.Width), int64(view.Height)
	}
	r, err := devtools.Call(ctx, b, target.CreateTarget, in)
	if err != nil {
		return nil, fmt.Errorf("open a tab: %w", err)
	}
	cp.Target = r.TargetID
	tab, err := page.Open(ctx, conn, r.TargetID, view)
	if err != nil {
		return nil, err
	}
	s = newSession(cp.RunID, tab, cp)
	if err := p.marks.save(&cp); err != nil {
		return nil, err
	}
	if cp.URL == "" || cp.URL == "about:blank" {
		return s, nil
	}
	if rebuild && len(cp.Cookies) > 0 {
		if _, err := devtools.Call(ctx, b, storage.SetCookies, storage.SetCookiesParams{Cookies: params(cp.Cookies), BrowserContextID: cp.Context}); err != nil {
			return nil, fmt.Errorf("restore the cookies of run %s: %w", cp.RunID, err)
		}
	}
	if !cp.Storage.empty() {
		done, err := tab.Restore(ctx, cp.Storage)
		if err != nil {
			return nil, fmt.Errorf("restore the storage of run %s: %w", cp.RunID, err)
		}
		defer done()
	}
	mark := tab.Mark()
	loader, err := tab.Navigate(ctx, cp.URL)
	if err != nil {
		return s, nil //nolint:nilerr // the page is as unreachable as it would be for anyone; the evidence says so
	}
	onItsWay = true
	load, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := tab.AwaitLoad(load, loader, mark); err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("rebuild the page of run %s: %w", cp.RunID, err)
	}
	return s, nil
}

// params turns cookies that were read into cookies that can be set.
func params(cs []*network.Cookie) []*network.CookieParam {
	var out []*network.CookieParam
	for _, c := range cs {
		cp := &network.CookieParam{Name: c.Name, Value: c.Value, Domain: c.Domain, Path: c.Path, Secure: c.Secure, HTTPOnly: c.HTTPOnly, SameSite: c.SameSite,
			PartitionKey: c.PartitionKey}
		if !c.Session {
			cp.Expires = cdp.TimeSinceEpoch(c.Expires)
		}
		out = append(out, cp)
	}
	return out
}

// unkept is how long a tab is not given up in which a page was only opened and read: an agent that is about to act on it thinks meanwhile.
const unkept = 30 * time.Second

// makeRoom gives up a session when there are as many as may be: of those that are not in use the one whose last call is longest ago, among
// those first whose pages can be opened again as they are.
func (p *pool) makeRoom(ctx context.Context) error {
	p.mu.Lock()
	if len(p.sessions) < p.opts.MaxSessions {
		p.mu.Unlock()
		return nil
	}
	var spare *session
	for _, s := range p.sessions {
		if since := time.Since(s.used); s.busy > 0 || since < p.opts.IdleTimeout && (s.keep || since < unkept) {
			continue
		}
		if spare == nil || spare.keep && !s.keep || spare.keep == s.keep && s.used.Before(spare.used) {
			spare = s
		}
	}
	p.mu.Unlock()
	if spare == nil {
		return &tool.Failed{Failure: tool.RateLimited, RetryAfter: 5 * time.Second, Message: fmt.Sprintf("All %d browser sessions are in use; "+
			"a session is given up when its run ends, after %s without a call, or, when a page was only opened and read in it, after %s.", p.opts.MaxSessions, p.opts.IdleTimeout, unkept)}
	}
	p.save(ctx, spare)
	return p.shut(ctx, spare)
}

// shut closes a session's tab and context. Its checkpoint stays.
func (p *pool) shut(ctx context.Context, s *session) error {
	p.mu.Lock()
	conn := p.conn
	if p.sessions[s.run] == s {
		delete(p.sessions, s.run)
	}
	p.mu.Unlock()
	s.tab.End() // whatever still waits for it, ends too
	p.mu.Lock()
	for _, t := range s.others {
		t.End()
	}
	p.mu.Unlock()
	if _, err := devtools.Call(ctx, conn.Browser(), target.DisposeBrowserContext, target.DisposeBrowserContextParams{BrowserContextID: s.cp.Context}); err != nil && !errors.Is(err, devtools.ErrLost) {
		return fmt.Errorf("close the session of run %s: %w", s.run, err)
	}
	return nil
}

// save takes a checkpoint of the session: where it is, and its cookies.
func (p *pool) save(ctx context.Context, s *session) {
	p.mu.Lock()
	conn := p.conn
	p.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	p.mu.Lock()
	tab := s.tab
	p.mu.Unlock()
	next := s.cp
	next.URL = tab.Main().URL()
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if r, err := devtools.Call(ctx, conn.Browser(), storage.GetCookies, storage.GetCookiesParams{BrowserContextID: next.Context}); err == nil {
		next.Cookies = r.Cookies
	}
	if tab.Dead() == nil && next.URL != "" && next.URL != "about:blank" {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		var kept *stored
		if err := tab.Main().Eval(ctx, &kept, "storageNow"); err == nil {
			next.Storage = kept
		}
		cancel()
	}
	if sameCheckpoint(next, s.cp) {
		return
	}
	if err := p.marks.save(&next); err == nil { // a checkpoint that cannot be written costs no more than an older one being used
		s.cp = next
	}
}

func sameCheckpoint(a, b checkpoint) bool {
	if a.URL != b.URL || !a.Storage.same(b.Storage) || len(a.Cookies) != len(b.Cookies) {
		return false
	}
	for i := range a.Cookies {
		if a.Cookies[i].Name != b.Cookies[i].Name || a.Cookies[i].Value != b.Cookies[i].Value || a.Cookies[i].Domain != b.Cookies[i].Domain {
			return false
		}
	}
	return true
}

// saves are the checkpoints that are being taken. Other than with a WaitGroup, one may begin while somebody waits: it begins after that.
type saves struct{ mu sync.RWMutex }

// Wait waits for those that have begun.
func (s *saves) Wait() {
	s.mu.Lock()
	defer s.mu.Unlock()
}

// saveSoon takes a checkpoint without anyone waiting for it.
func (p *pool) saveSoon(s *session) {
	p.saving.mu.RLock()
	go func() {
		defer p.saving.mu.RUnlock()
		p.save(context.Background(), s)
	}()
}
