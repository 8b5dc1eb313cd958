package browser

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cdppage "github.com/chromedp/cdproto/page"

	"github.com/chromedp/cdproto/cdp"

	"toolsvc/executors/browser/chromium"
	"toolsvc/executors/browser/devtools"
	gen "toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

// durable makes an executor whose browser outlives it, and ends that browser with the test.
func durable(t *testing.T, dir string) *Executor {
	t.Helper()
	x, err := New(Options{StateDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		x.opts.EndBrowser = true
		if err := x.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := removeAll(dir); err != nil { // its children may write a moment longer
			t.Error(err)
		}
	})
	return x
}

// tempDir is a directory that durable removes.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "toolsvc-test-")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestRestartFindsTheTab: another process (here another executor on the same state directory) goes on in the run's tab.
func TestRestartFindsTheTab(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	one, err := New(Options{StateDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	p := openIn(t, one, counter)
	p.do("click", clickOn("Play")).must(t, tool.EffectConfirmed)
	pid := one.pool.proc.PID
	if err := one.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	two := durable(t, dir)
	p.x = two
	d := p.do("click", clickOn("Play")).must(t, tool.EffectConfirmed)
	if two.pool.proc.PID != pid {
		t.Error("another browser was started")
	}
	if got := p.truth("window.n"); got != "2" {
		t.Errorf("the page counts %s clicks: %s", got, d.out.Proof)
	}
}

// TestBrowserGoneIsRebuilt: the browser is killed; the next call starts another one, on the run's last page, with its cookies.
func TestBrowserGoneIsRebuilt(t *testing.T) {
	t.Parallel()
	x := durable(t, tempDir(t))
	p := openIn(t, x, counter+`<script>document.cookie='who=ada;max-age=1000'</script>`)
	p.do("click", clickOn("Play")).must(t, tool.EffectConfirmed).att.Close()
	x.pool.saving.Wait()
	old := x.pool.proc
	if err := old.End(); err != nil {
		t.Fatal(err)
	}
	<-x.pool.conn.Lost()
	p.do("click", clickOn("Play")).must(t, tool.EffectConfirmed)
	if x.pool.proc.PID == old.PID || p.truth("window.n") != "1" || !strings.Contains(p.truth("document.cookie"), "who=ada") {
		t.Errorf("clicks %s, cookies %s", p.truth("window.n"), p.truth("document.cookie"))
	}
}

func TestBrowserKilledDuringAnAttempt(t *testing.T) {
	t.Parallel()
	x := durable(t, tempDir(t))
	p := openIn(t, x, counter)
	att, err := x.Begin(t.Context(), p.call("wait_for", map[string]any{"text": "never", "timeout_ms": 20000}), tool.Plan{Number: 1, Source: tool.SourceSystem})
	if err != nil {
		t.Fatal(err)
	}
	defer att.Close()
	if err := att.Resolve(t.Context()); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() { _, err := att.Settle(t.Context()); failed <- err }()
	if err := x.pool.proc.End(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-failed:
		if f := tool.AsFailed(err); f.Failure != tool.BrowserCrashed {
			t.Errorf("failed with %v", f)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the attempt hangs")
	}
}

// TestTabCrash: the renderer dies in the middle of a wait; the attempt says so, and the next call finds the page again.
func TestTabCrash(t *testing.T) {
	t.Parallel()
	p := open(t, counter)
	att, err := p.x.Begin(t.Context(), p.call("wait_for", map[string]any{"text": "never", "timeout_ms": 20000}), tool.Plan{Number: 1, Source: tool.SourceSystem})
	if err != nil {
		t.Fatal(err)
	}
	defer att.Close()
	if err := att.Resolve(t.Context()); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() { _, err := att.Settle(t.Context()); failed <- err }()
	devtools.Start(att.(*attempt).tab.Session(), cdppage.Crash, cdp.Empty{})
	select {
	case err := <-failed:
		if f := tool.AsFailed(err); f.Failure != tool.FrameGone {
			t.Errorf("failed with %v", f)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the attempt hangs")
	}
	p.do("click", clickOn("Play")).must(t, tool.EffectConfirmed)
}

// TestFrameCrash: the process of an iframe dies; the page around it can still be acted on.
func TestFrameCrash(t *testing.T) {
	t.Parallel()
	p := frames(t, inFrame)
	p.do("click", clickOn("Play", "role", "button")).must(t, tool.EffectConfirmed)
	tab := p.x.pool.sessions[p.run].tab
	inner := tab.Frames()[1]
	devtools.Start(inner.Session(), cdppage.Crash, cdp.Empty{})
	select {
	case <-inner.Session().Gone():
	case <-time.After(10 * time.Second):
		t.Fatal("the crash is not noticed")
	}
	d := p.do("read", map[string]any{})
	if d.err != nil || !strings.Contains(d.out.Result.(*gen.ReadResult).Text, "Outer") {
		t.Errorf("%v", d.err)
	}
	p.do("click", clickOn("Play", "role", "button")).fails(t, tool.TargetNotFound)
}

func TestMissingChromium(t *testing.T) {
	t.Parallel()
	x, err := New(Options{Ephemeral: true, ChromiumPath: filepath.Join(t.TempDir(), "no-such-browser")})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Shutdown(t.Context())
	p := &visit{t: t, x: x, run: "r_missing"}
	f := p.do("navigate", map[string]any{"url": "http://127.0.0.1:1/"}).fails(t, tool.ToolUnavailable)
	if !strings.Contains(f.Message, "apt-get install chromium") {
		t.Error(f.Message)
	}
}

func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	x, err := New(Options{Ephemeral: true, MaxSessions: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Shutdown(context.Background()) })
	p := openIn(t, x, counter)
	q := &visit{t: t, x: x, run: "r_second"}
	f := q.do("navigate", map[string]any{"url": p.url}).fails(t, tool.RateLimited)
	if f.RetryAfter <= 0 {
		t.Error("no retry-after")
	}
	if err := x.Close(t.Context(), p.run); err != nil {
		t.Fatal(err)
	}
	if d := q.do("navigate", map[string]any{"url": p.url}); d.err != nil {
		t.Error(d.err)
	}
}

// A tab in which a page was only opened makes room for another run after a while, and is opened again when its run goes on; one that was acted
// on is kept, however long ago the other was used.
func TestRoomIsMadeWhereNothingIsLost(t *testing.T) {
	t.Parallel()
	x, err := New(Options{Ephemeral: true, MaxSessions: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Shutdown(context.Background()) })
	site := httptest.NewServer(serve(counter))
	t.Cleanup(site.Close)
	acted, read, third := &visit{t: t, x: x, run: "r_acted"}, &visit{t: t, x: x, run: "r_read"}, &visit{t: t, x: x, run: "r_third"}
	do := func(p *visit, name string, args map[string]any) {
		t.Helper()
		d := p.do(name, args)
		if d.err != nil {
			t.Fatal(d.err)
		}
		if err := d.att.Close(); err != nil {
			t.Fatal(err)
		}
	}
	navigate := map[string]any{"url": site.URL}
	ago := func(p *visit, d time.Duration) {
		x.pool.mu.Lock()
		defer x.pool.mu.Unlock()
		x.pool.sessions[p.run].used = time.Now().Add(-d)
	}
	do(acted, "navigate", navigate)
	do(acted, "click", clickOn("Play"))
	do(read, "navigate", navigate)
	do(read, "snapshot", map[string]any{})
	ago(acted, 14*time.Minute)
	third.do("navigate", navigate).fails(t, tool.RateLimited) // read was used just now
	ago(read, time.Minute)
	do(third, "navigate", navigate)
	ago(third, time.Minute)
	do(read, "click", clickOn("Play")) // on the page that is opened again
	if got := acted.truth("window.n") + " " + read.truth("window.n"); got != "1 1" {
		t.Errorf("the pages count %s clicks", got)
	}
	ago(read, 14*time.Minute)
	third.do("navigate", navigate).fails(t, tool.RateLimited)
}

func TestShutdownEndsOnlyItsOwnBrowser(t *testing.T) {
	t.Parallel()
	x, err := New(Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	proc := *x.pool.proc
	other := chromium.Process{PID: proc.PID, Started: "1"} // the same id, but another process: an id that was used again
	if other.Running() {
		t.Error("a process is taken for another one that had its id")
	}
	dir := x.opts.StateDir
	if err := x.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if proc.Running() {
		t.Error("the browser still runs")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Error("the temporary directory is left behind")
	}
}

func TestNavigate(t *testing.T) {
	t.Parallel()
	p := open(t, counter, func(m *http.ServeMux) {
		m.HandleFunc("/from", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/to", http.StatusFound) })
		m.HandleFunc("/to", serve(`<title>There</title>`))
		m.HandleFunc("/missing", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte("gone"))
		})
	})
	d := p.do("navigate", map[string]any{"url": p.url + "/from"}).must(t, tool.EffectConfirmed)
	if r := d.out.Result.(*gen.NavigateResult); r.URL != p.url+"/to" || r.Title != "Test" && r.Title != "There" || r.Status != 200 || at(t, d.after, "page", "ready") != true {
		t.Errorf("%+v", r)
	}
	if r := p.do("navigate", map[string]any{"url": p.url + "/missing"}).must(t, tool.EffectConfirmed).out.Result.(*gen.NavigateResult); r.Status != 404 {
		t.Errorf("%+v", r)
	}
	if f := tool.AsFailed(p.do("navigate", map[string]any{"url": "http://127.0.0.1:1/"}).err); f.Failure != tool.NotReady {
		t.Errorf("%v", f)
	}
	p.do("navigate", map[string]any{"url": "file:///etc/passwd"}).fails(t, tool.PolicyDenied)
}

// TestPageThatIsStillLoadedIsAwaited: the server holds back a script that the page waits for; what comes after it is not there yet.
func TestPageThatIsStillLoadedIsAwaited(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	p := open(t, `<p>Home</p>`, func(m *http.ServeMux) {
		m.HandleFunc("GET /slow", serve(`<p>Loading</p><script src=/held.js></script>`+counter))
		m.HandleFunc("GET /held.js", func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		})
	})
	p.truth(`(location.href='/slow')`)
	p.truthOf("the page", func() bool { return p.truth("document.readyState+location.pathname") == "loading/slow" })
	time.AfterFunc(700*time.Millisecond, func() { close(release) })
	p.do("click", clickOn("Play")).must(t, tool.EffectConfirmed)
	if got := p.truth("window.n"); got != "1" {
		t.Errorf("clicked %s times", got)
	}
}

// TestPageThatIsLoadedWithoutEndIsReported: the script never comes.
func TestPageThatIsLoadedWithoutEndIsReported(t *testing.T) {
	t.Parallel()
	p := open(t, `<p>Home</p>`, func(m *http.ServeMux) {
		m.HandleFunc("GET /slow", serve(`<p>Loading</p><script src=/held.js></script>`+counter))
		m.HandleFunc("GET /held.js", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	})
	p.truth(`(location.href='/slow')`)
	p.truthOf("the page", func() bool { return p.truth("document.readyState+location.pathname") == "loading/slow" })
	p.do("click", clickOn("Play")).fails(t, tool.NotReady)
}

func TestReconcile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		body   string
		until  string // the stage after which the process dies
		effect tool.Effect
	}{
		{"died before the dispatch", counter, "observe", tool.EffectNone},
		{"died after the dispatch", counter, "dispatch", tool.EffectConfirmed},
		// A request that is under way is not in the page's record, so silence proves nothing: cmd/toolsvc's TestStoppedServerHandsOver.
		{"died after a swallowed click", `<button>Play</button>`, "dispatch", tool.EffectUnknown},
		{"died after a click that left the page", `<a href="/next">Play</a>`, "dispatch", tool.EffectConfirmed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := tempDir(t)
			one, err := New(Options{StateDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			p := openIn(t, one, c.body, func(m *http.ServeMux) { m.HandleFunc("/next", serve("<h1>Next</h1>")) })
			call := p.call("click", clickOn("Play"))
			att, err := one.Begin(t.Context(), call, tool.Plan{Number: 1, Source: tool.SourceAX, Input: tool.InputMouse})
			if err != nil {
				t.Fatal(err)
			}
			if err := att.Resolve(t.Context()); err != nil {
				t.Fatal(err)
			}
			before, err := att.Observe(t.Context(), tool.Needs{})
			if err != nil {
				t.Fatal(err)
			}
			if c.until == "dispatch" {
				if err := att.Dispatch(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if err := one.Shutdown(t.Context()); err != nil { // the connection is lost, as when the process is killed
				t.Fatal(err)
			}
			two := durable(t, dir)
			p.x = two
			again, out, err := two.Reconcile(t.Context(), call, before)
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			if out.Effect != c.effect {
				t.Errorf("effect %s (%s), want %s", out.Effect, out.Proof, c.effect)
			}
			if _, err := again.Observe(t.Context(), tool.Needs{}); err != nil {
				t.Error(err)
			}
			if strings.Contains(c.body, "window.n") && c.until == "observe" && p.truth("window.n") != "undefined" {
				t.Error("the reconciliation clicked")
			}
		})
	}
}
