package browser

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"

	"toolsvc/executors/browser/devtools"
	"toolsvc/tool"
)

// A crash takes the tab; the run goes on in another one, at the same address and with what the page had stored.
func TestStorageSurvivesACrash(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, x *Executor, p *visit){
		"tab": func(t *testing.T, x *Executor, p *visit) {
			tab := x.pool.sessions[p.run].tab
			devtools.Start(tab.Session(), cdppage.Crash, cdp.Empty{})
			p.truthOf("the crash", func() bool { return tab.Dead() != nil })
		},
		"browser": func(t *testing.T, x *Executor, p *visit) {
			if err := x.pool.proc.End(); err != nil {
				t.Fatal(err)
			}
			<-x.pool.conn.Lost()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := durable(t, tempDir(t))
			p := openIn(t, x, counter+`<script>if(!localStorage.who)localStorage.who='nobody';if(!sessionStorage.step)sessionStorage.step='one'</script>`)
			p.do("evaluate", map[string]any{"function": "() => { localStorage.who = 'ada'; sessionStorage.step = 'two' }"}).att.Close()
			x.pool.saving.Wait()
			end(t, x, p)
			p.do("click", clickOn("Play")).must(t, tool.EffectConfirmed)
			if got := p.truth("[localStorage.who,sessionStorage.step,window.n]"); got != "ada,two,1" {
				t.Error(got)
			}
		})
	}
}

// The browser is gone when the run's tab is asked for, which shows only by the first command's answer: another one is started, for nothing was done.
func TestBrowserLostWhileTheTabIsMade(t *testing.T) {
	t.Parallel()
	x := durable(t, tempDir(t))
	p := openIn(t, x, counter)
	conn, err := devtools.Dial(t.Context(), strings.Replace(x.pool.proc.URL(), x.pool.proc.Address(), endsAtTheFirstCommand(t, x.pool.proc.Address()), 1))
	if err != nil {
		t.Fatal(err)
	}
	x.pool.mu.Lock()
	x.pool.conn = conn
	delete(x.pool.sessions, p.run)
	x.pool.mu.Unlock()
	p.do("click", clickOn("Play")).must(t, tool.EffectConfirmed)
	select {
	case <-conn.Lost():
	default:
		t.Error("the connection that fails was not used")
	}
}

// endsAtTheFirstCommand leads to a browser until something is asked of it.
func endsAtTheFirstCommand(t *testing.T, browser string) (address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // it took its one connection
	go func() {
		client, err := l.Accept()
		if err != nil {
			return
		}
		defer client.Close() //nolint:errcheck // that is what it is here for
		server, err := net.Dial("tcp", browser)
		if err != nil {
			t.Error(err)
			return
		}
		defer server.Close()       //nolint:errcheck // nothing was asked of it
		go io.Copy(client, server) //nolint:errcheck // ends with either side
		text := make([]byte, 4096)
		n, err := client.Read(text) // the handshake
		if err == nil {
			_, err = server.Write(text[:n])
		}
		if err == nil {
			_, err = client.Read(text)
		}
		if err != nil {
			t.Error(err)
		}
	}()
	return l.Addr().String()
}

// The tab dies after the dispatch: what the action did is not known, and looking at the page that was opened again does not tell.
func TestCrashAfterTheDispatch(t *testing.T) {
	t.Parallel()
	p := open(t, counter)
	ctx := t.Context()
	call := p.call("click", clickOn("Play"))
	att, err := p.x.Begin(ctx, call, tool.Plan{Number: 1, Source: tool.SourceCDP, Input: tool.InputMouse})
	if err != nil {
		t.Fatal(err)
	}
	if err := att.Resolve(ctx); err != nil {
		t.Fatal(err)
	}
	before, err := att.Observe(ctx, tool.Needs{})
	if err != nil {
		t.Fatal(err)
	}
	if err := att.Dispatch(ctx); err != nil {
		t.Fatal(err)
	}
	devtools.Start(att.(*attempt).tab.Session(), cdppage.Crash, cdp.Empty{})
	_, err = att.Settle(ctx)
	if f := tool.AsFailed(err); err == nil || f.Failure != tool.FrameGone || !f.Dispatched {
		t.Fatalf("%v", err)
	}
	_ = att.Close()
	again, out, err := p.x.Reconcile(ctx, call, before)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if out.Effect != tool.EffectUnknown || !strings.Contains(out.Proof, "opened again") {
		t.Errorf("%s: %s", out.Effect, out.Proof)
	}
}

// A page that takes all memory is a page that crashes. It runs in a browser of its own, in which little is all.
func TestPageOutOfMemory(t *testing.T) {
	t.Parallel()
	x, err := New(Options{Ephemeral: true, Flags: []string{"--js-flags=--max-old-space-size=64"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	p := openIn(t, x, `<button onclick="const a=[];for(;;)a.push(new Array(100000).fill({}).map((_,i)=>({i})))">Load all</button><button onclick="this.textContent='Done'">Play</button>`)
	d := p.do("click", clickOn("Load all"))
	if f := tool.AsFailed(d.err); d.err == nil || f.Failure != tool.FrameGone || !f.Dispatched {
		t.Fatalf("%v, %s", d.err, d.out.Proof)
	}
	p.do("click", clickOn("Play")).must(t, tool.EffectConfirmed)
}

// The page is replaced while it is acted on: the action is done on the page that stays, once.
func TestNavigationDuringAnAction(t *testing.T) {
	t.Parallel()
	p := open(t, `<script>let left=+(sessionStorage.left??4);if(left>0){sessionStorage.left=left-1;setTimeout(()=>location.reload(),60)}</script>`+
		`<button onclick="fetch('/count',{method:'POST'});this.textContent='Done'">Play</button>`, func(m *http.ServeMux) {
		m.HandleFunc("POST /count", func(w http.ResponseWriter, _ *http.Request) {})
	})
	d := p.by(tool.SourceCDP, "click", clickOn("Play"))
	if d.err != nil {
		if f := tool.AsFailed(d.err); f.Dispatched {
			return // told as such, for a reconciliation
		}
		t.Fatal(d.err)
	}
	if d.out.Effect == tool.EffectNone {
		t.Errorf("%s", d.out.Proof)
	}
}
