package browser

import (
	"context"
	"crypto/sha1" //nolint:gosec // the WebSocket handshake has it
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"toolsvc/executors/browser/guard"
	"toolsvc/executors/browser/guard/guardtest"
	gen "toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

// fortress is a browser of its own, in a world where names are what a test says, and a vault that may not be reached.
type fortress struct {
	x     *Executor
	dns   *guardtest.DNS
	vault *guardtest.Vault
	site  *httptest.Server
	mux   *http.ServeMux
	// host is the site's by name.
	host string
}

func newFortress(t *testing.T) *fortress {
	t.Helper()
	f := &fortress{dns: guardtest.StartDNS(t), vault: guardtest.StartVault(t), mux: http.NewServeMux()}
	f.site = httptest.NewServer(f.mux)
	t.Cleanup(f.site.Close)
	f.dns.Set("site.test", "127.0.0.1")
	f.dns.Set("vault.test", guardtest.VaultAddr)
	f.host = "site.test:" + strconv.Itoa(f.site.Listener.Addr().(*net.TCPAddr).Port)
	var err error
	f.x, err = New(Options{Ephemeral: true, MaxSessions: 64, Flags: []string{"--ignore-certificate-errors"},
		Navigation: guard.Policy{DNS: f.dns.Addr, Deny: []string{guardtest.VaultAddr, "denied.test"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := f.x.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	return f
}

// visit is a run in the fortress, with nothing open yet.
func (f *fortress) visit(t *testing.T, n int) *visit {
	return &visit{t: t, x: f.x, run: fmt.Sprintf("r_fortress_%d", n)}
}

// in is the vault's address in a URL, by the name that resolves to it.
func (f *fortress) byName() string { return "vault.test:" + strconv.Itoa(f.vault.Port) }

// promised is what a promise of the page comes to.
func (p *visit) promised(expr string) (got string) {
	p.t.Helper()
	p.truth("(window.came = '', " + expr + ".then(v => { window.came = 'it: ' + v }), '')")
	p.truthOf(expr, func() bool { got = p.truth("window.came"); return got != "" })
	return strings.TrimPrefix(got, "it: ")
}

// TestNavigationPolicy attacks the policy by every way on which a browser gets somewhere.
func TestNavigationPolicy(t *testing.T) {
	t.Parallel()
	f := newFortress(t)
	addr, name := f.vault.Addr, f.byName()
	page := func(path, body string) {
		f.mux.HandleFunc("GET "+path, serve(body))
	}
	redirect := func(path, to string) {
		f.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
	}
	redirect("/redirect", "http://"+addr+"/")
	redirect("/redirect-name", "http://"+name+"/")
	redirect("/twice", "/redirect-name")
	page("/meta", `<meta http-equiv=refresh content="0;url=http://`+name+`/">Wait`)
	page("/script", `<script>location.href='http://`+name+`/'</script>`)
	page("/links", `<a href="http://`+addr+`/">By address</a> <a href="http://`+name+`/">By name</a> <a href="/redirect">By redirect</a> <a target=_blank href="http://`+name+`/">In a tab</a>
		<button onclick="location.href='http://`+name+`/'">By script</button> <button onclick="window.open('http://`+name+`/')">In a window</button>
		<form method=post action="http://`+name+`/"><button>Send</button></form> <button onclick="location.href='file:///etc/passwd'">By file</button>`)
	p := f.visit(t, 1)
	for _, c := range []struct {
		what string
		open string
		// then is done after open, when it is set: a tool and its arguments.
		then string
		args map[string]any
		// quiet: what happens is not the page's own navigation, so the call does not fail by it.
		quiet bool
	}{
		{what: "by address", open: "http://" + addr + "/"},
		{what: "by the number of an address", open: "http://" + strconv.Itoa(127<<24|66) + ":" + strconv.Itoa(f.vault.Port) + "/"},
		{what: "by IPv6", open: "http://[::ffff:7f00:42]:" + strconv.Itoa(f.vault.Port) + "/"},
		{what: "by a name that resolves to it", open: "http://" + name + "/"},
		{what: "by TLS", open: "https://" + name + "/"},
		{what: "by a denied name", open: "http://denied.test/"},
		{what: "to a metadata service", open: "http://169.254.169.254/latest/meta-data/"},
		{what: "to a metadata service by name", open: "http://metadata.google.internal/"},
		{what: "to a file", open: "file:///etc/passwd"},
		{what: "to the browser's own pages", open: "chrome://version"},
		{what: "to a source", open: "view-source:http://" + f.host + "/links"},
		{what: "to a script", open: "javascript:1"},
		{what: "by a redirect to an address", open: "http://" + f.host + "/redirect"},
		{what: "by a redirect to a name", open: "http://" + f.host + "/redirect-name"},
		{what: "by two redirects", open: "http://" + f.host + "/twice"},
		{what: "by a refresh", open: "http://" + f.host + "/meta"},
		{what: "by a script at once", open: "http://" + f.host + "/script"},
		{what: "by a link to an address", open: "/links", then: "click", args: clickOn("By address")},
		{what: "by a link to a name", open: "/links", then: "click", args: clickOn("By name")},
		{what: "by a link that is redirected", open: "/links", then: "click", args: clickOn("By redirect")},
		{what: "by a script", open: "/links", then: "click", args: clickOn("By script")},
		{what: "by a form", open: "/links", then: "click", args: clickOn("Send")},
		{what: "by evaluate", open: "/links", then: "evaluate", args: map[string]any{"function": "() => { location.href = 'http://" + name + "/'; return new Promise(r => setTimeout(r, 300)) }"}},
		{what: "by a new tab", open: "/links", then: "tabs", args: map[string]any{"action": "new", "url": "http://" + name + "/"}},
		{what: "by a link in a tab", open: "/links", then: "click", args: clickOn("In a tab"), quiet: true},
		{what: "by a window", open: "/links", then: "click", args: clickOn("In a window"), quiet: true},
		{what: "to a file by a script", open: "/links", then: "click", args: clickOn("By file"), quiet: true},
	} {
		to := c.open
		if strings.HasPrefix(to, "/") {
			to = "http://" + f.host + to
		}
		d := p.do("navigate", map[string]any{"url": to})
		if c.then != "" {
			if d.err != nil {
				t.Fatalf("%s: %v", c.what, d.err)
			}
			d = p.do(c.then, c.args)
		}
		switch {
		case c.quiet && d.err != nil:
			t.Errorf("%s: %v", c.what, d.err)
		case !c.quiet && d.err == nil:
			t.Errorf("%s: it succeeded (%s)", c.what, d.out.Proof)
		case !c.quiet:
			if got := tool.AsFailed(d.err); got.Failure != tool.PolicyDenied || !strings.Contains(got.Message, "may not be opened") {
				t.Errorf("%s: %v", c.what, got)
			}
		}
		if at := p.truth("location.href"); strings.HasPrefix(at, "file:") || strings.HasPrefix(at, "chrome:") {
			t.Errorf("%s: the page is %s", c.what, at)
		}
	}
	if n := f.vault.Reached(); n != 0 {
		t.Errorf("the vault was reached %d times", n)
	}
}

// TestNavigationPolicyOfParts attacks it by what a page loads, opens and sends by itself.
func TestNavigationPolicyOfParts(t *testing.T) {
	t.Parallel()
	f := newFortress(t)
	addr, name := f.vault.Addr, f.byName()
	f.mux.HandleFunc("GET /redirect-name", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+name+"/", http.StatusFound)
	})
	f.mux.HandleFunc("GET /parts", serve(`<img src="http://`+addr+`/i"><img src="http://`+name+`/i"><iframe src="http://`+name+`/f"></iframe><link rel=stylesheet href="http://`+name+`/c"><link rel=prefetch href="http://`+name+`/p">
		<link rel=dns-prefetch href="//prefetched.test"><link rel=preconnect href="//`+name+`"><script src="http://`+name+`/s"></script><video src="http://`+name+`/v"></video><object data="http://`+name+`/o"></object>
		<style>@import "http://`+name+`/imported";</style><p id=got>Waiting</p><script>
		const ask = u => fetch(u).then(r => r.text(), e => 'refused');
		const socket = new Promise(r => { const s = new WebSocket('ws://`+name+`/'); s.onerror = () => r('refused'); s.onopen = () => r('open'); });
		const stream = new Promise(r => { const s = new EventSource('http://`+name+`/'); s.onerror = () => r('refused'); s.onopen = () => r('open'); });
		new Worker(URL.createObjectURL(new Blob(["importScripts('http://`+name+`/w')"]))); navigator.serviceWorker?.register('/redirect-name').catch(() => {});
		navigator.sendBeacon('http://`+name+`/b', 'x');
		Promise.all([ask('http://`+name+`/'), ask('http://`+addr+`/'), ask('/redirect-name'), socket, stream].map(x => Promise.race([x, new Promise(r => setTimeout(r, 8000, 'silent'))]))).then(all => got.textContent = all.join(' '));
		</script>`))
	p := f.visit(t, 1)
	if d := p.do("navigate", map[string]any{"url": "http://" + f.host + "/parts"}); d.err != nil {
		t.Fatal(d.err)
	}
	p.truthOf("what became of the page's requests", func() bool { return p.truth("got.textContent") != "Waiting" })
	if got := p.truth("got.textContent"); got != strings.TrimSpace(strings.Repeat("refused ", 5)) {
		t.Errorf("the page's own requests: %s", got)
	}
	failed := p.do("network", map[string]any{"failed": true, "url_contains": name}).must(t, tool.EffectNone).out.Result.(*gen.NetworkResult)
	if len(failed.Requests) == 0 || failed.Requests[0].Problem == nil || !strings.Contains(*failed.Requests[0].Problem, "policy") {
		t.Errorf("the list of requests does not tell: %+v", failed.Requests)
	}
	if n := f.vault.Reached(); n != 0 {
		t.Errorf("the vault was reached %d times", n)
	}
	if n := f.dns.Asked("prefetched.test"); n != 0 {
		t.Errorf("the browser resolves names by itself: %d questions", n)
	}
}

// A page whose name resolves to another address after it was loaded (DNS rebinding) does not get there as its own origin.
func TestNavigationRebinding(t *testing.T) {
	t.Parallel()
	f := newFortress(t)
	var loads atomic.Int64
	own, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(f.vault.Port)) // the page is served at the vault's port
	if err != nil {
		t.Skipf("the vault's port is not free on another address: %v", err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		loads.Add(1)
		w.Header().Set("Connection", "close")
		serve(`<p>Hello</p>`)(w, r)
	})}
	go func() { _ = srv.Serve(own) }()
	t.Cleanup(func() { _ = srv.Close() })
	f.dns.Set("rebind.test", "127.0.0.1", guardtest.VaultAddr)
	p := f.visit(t, 1)
	if d := p.do("navigate", map[string]any{"url": "http://rebind.test:" + strconv.Itoa(f.vault.Port) + "/"}); d.err != nil {
		t.Fatal(d.err)
	}
	got := p.promised("fetch('/secret', {cache: 'no-store'}).then(r => r.text(), () => 'refused')")
	for i := 0; got != "refused" && i < 5; i++ { // a connection that was opened ahead may have been left
		got = p.promised("fetch('/secret', {cache: 'no-store'}).then(r => r.text(), () => 'refused')")
	}
	if got != "refused" || f.vault.Reached() != 0 || loads.Load() == 0 {
		t.Errorf("the page got %q, the vault was reached %d times", got, f.vault.Reached())
	}
	if d := p.do("reload", map[string]any{}); d.err == nil || tool.AsFailed(d.err).Failure != tool.PolicyDenied {
		t.Errorf("reloaded: %v", d.err)
	}
}

// What may be reached works through the guard as without it: names, TLS, WebSockets, streams, and the words for what does not answer.
func TestGuardedConnectionsWork(t *testing.T) {
	t.Parallel()
	f := newFortress(t)
	secure := httptest.NewTLSServer(serve(`<p>Safe</p>`))
	t.Cleanup(secure.Close)
	f.mux.HandleFunc("GET /{$}", serve(`<p>Hello</p>`))
	f.mux.HandleFunc("GET /stream", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, "data: one\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	f.mux.HandleFunc("GET /socket", func(w http.ResponseWriter, r *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close() //nolint:errcheck // of no interest
		sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		_, _ = fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n\x81\x05hello", base64.StdEncoding.EncodeToString(sum[:]))
		_ = rw.Flush()
		<-r.Context().Done()
	})
	p := f.visit(t, 1)
	if d := p.do("navigate", map[string]any{"url": strings.Replace(secure.URL, "127.0.0.1", "site.test", 1)}); d.err != nil {
		t.Fatal(d.err)
	}
	if d := p.do("navigate", map[string]any{"url": "http://" + f.host + "/"}); d.err != nil {
		t.Fatal(d.err)
	}
	if got := p.promised("new Promise(r => { const s = new WebSocket('ws://" + f.host + "/socket'); s.onmessage = e => r(e.data); s.onerror = () => r('broken') })"); got != "hello" {
		t.Errorf("the WebSocket says %q", got)
	}
	if got := p.promised("new Promise(r => { const s = new EventSource('/stream'); s.onmessage = e => { s.close(); r(e.data) }; s.onerror = () => r('broken') })"); got != "one" {
		t.Errorf("the stream says %q", got)
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().String()
	_ = closed.Close()
	for url, want := range map[string]string{"http://" + nobody + "/": "nothing listens at that address", "http://unknown.test/": "that host name is not known"} {
		if d := p.do("navigate", map[string]any{"url": url}); d.err == nil || !strings.Contains(d.err.Error(), want) || tool.AsFailed(d.err).Failure != tool.NotReady {
			t.Errorf("%s: %v", url, d.err)
		}
	}
}

// A browser whose guard was killed reaches nothing, until the next call has started the guard again.
func TestGuardKilled(t *testing.T) {
	t.Parallel()
	f := newFortress(t)
	f.mux.HandleFunc("GET /{$}", serve(`<p>Hello</p>`))
	p := f.visit(t, 1)
	if d := p.do("navigate", map[string]any{"url": "http://" + f.host + "/"}); d.err != nil {
		t.Fatal(d.err)
	}
	f.x.pool.mu.Lock()
	keeper, browser := f.x.pool.keeper, f.x.pool.proc.PID
	f.x.pool.mu.Unlock()
	if err := syscall.Kill(keeper.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.truthOf("the end of the guard", func() bool { return !keeper.Running() })
	if got := p.promised("fetch('/?again', {cache: 'no-store'}).then(r => r.text(), () => 'refused')"); got != "refused" {
		t.Errorf("without its guard the browser reached %q", got)
	}
	if d := p.do("navigate", map[string]any{"url": "http://" + f.host + "/"}); d.err != nil {
		t.Fatal(d.err)
	}
	if d := p.do("navigate", map[string]any{"url": "http://" + f.byName() + "/"}); d.err == nil {
		t.Error("the new guard does not know the policy")
	}
	f.x.pool.mu.Lock()
	defer f.x.pool.mu.Unlock()
	if f.x.pool.keeper.PID == keeper.PID || f.x.pool.proc.PID != browser || f.vault.Reached() != 0 {
		t.Errorf("guard %d after %d, browser %d after %d", f.x.pool.keeper.PID, keeper.PID, f.x.pool.proc.PID, browser)
	}
}

// An address without its scheme is a mistake in the arguments that names its remedy, not something that a policy forbids; nothing is opened.
func TestAddressWithoutAScheme(t *testing.T) {
	t.Parallel()
	p := open(t, ``)
	for _, address := range []string{"localhost:8080", "example.com:80/a?b"} {
		if f := p.do("navigate", map[string]any{"url": address}).fails(t, tool.InvalidArguments); f != nil && !strings.Contains(f.Message, "http://"+address) {
			t.Errorf("%s: %s", address, f.Message)
		}
	}
	for _, address := range []string{"javascript:1", "file:///etc/passwd", "data:text/html,x", "about:config"} {
		p.do("navigate", map[string]any{"url": address}).fails(t, tool.PolicyDenied)
	}
}
