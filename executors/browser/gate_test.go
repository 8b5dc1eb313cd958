package browser

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"toolsvc/executors/browser/page"
	"toolsvc/tool"
)

func TestCoveredByUnknownOverlayIsReported(t *testing.T) {
	t.Parallel()
	p := open(t, counter+`<div id=veil aria-label="Loading shield" style="position:fixed;inset:0;background:#0008">Please hold</div>`)
	f := p.do("click", clickOn("Play")).fails(t, tool.Covered)
	if !strings.Contains(f.Message, "Loading shield") && !strings.Contains(f.Message, "Please hold") {
		t.Errorf("the message does not name the cover: %s", f.Message)
	}
	if got := p.truth("window.n"); got != "undefined" {
		t.Errorf("clicked %s times", got)
	}
}

func TestCookieBannerIsDismissedByRefusing(t *testing.T) {
	t.Parallel()
	p := open(t, counter+`<div id=cookie-banner style="position:fixed;inset:0;background:#fff">We use cookies to improve your experience.
		<button onclick="window.agreed=1;this.parentNode.remove()">Accept all</button><button onclick="window.refused=1;this.parentNode.remove()">Reject all</button></div>`)
	d := p.do("click", clickOn("Play")).must(t, tool.EffectConfirmed)
	if p.truth("window.agreed") != "undefined" || p.truth("window.refused") != "1" || p.truth("window.n") != "1" {
		t.Errorf("agreed %s, refused %s, played %s", p.truth("window.agreed"), p.truth("window.refused"), p.truth("window.n"))
	}
	if !strings.Contains(d.out.Proof, "cookie banner") || !strings.Contains(d.out.Proof, "Reject all") {
		t.Errorf("the proof does not tell of the banner: %s", d.out.Proof)
	}
}

func TestCookieBannerWithOnlyAcceptIsReported(t *testing.T) {
	t.Parallel()
	p := open(t, counter+`<div style="position:fixed;inset:0;background:#fff">This site uses cookies. <button onclick="window.agreed=1;this.parentNode.remove()">OK</button></div>`)
	p.do("click", clickOn("Play")).fails(t, tool.Covered)
	if p.truth("window.agreed") != "undefined" {
		t.Error("agreed to cookies")
	}
}

func TestMovingButtonIsAwaited(t *testing.T) {
	t.Parallel()
	p := open(t, `<style>#b{position:absolute;left:20px;top:20px;animation:m .7s linear 1 both}@keyframes m{to{left:500px;top:300px}}</style>
		<button id=b onclick="window.n=(window.n||0)+1;this.textContent='Done'">Play</button>`)
	p.do("click", clickOn("Play")).must(t, tool.EffectConfirmed)
	if got := p.truth("window.n"); got != "1" {
		t.Errorf("clicked %s times", got)
	}
}

func TestEndlesslyMovingButtonIsReported(t *testing.T) {
	t.Parallel()
	p := open(t, `<style>#b{position:absolute;top:20px;animation:m 1s linear infinite alternate}@keyframes m{from{left:0}to{left:600px}}</style><button id=b onclick="window.n=1">Play</button>`)
	p.do("click", clickOn("Play")).fails(t, tool.Moving)
}

func TestDisabledSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	p := open(t, `<form><label><input type=checkbox id=c required onchange="b.disabled=!this.checked"> I accept the terms</label><input aria-label="E-mail" required>
		<button id=b disabled>Order</button></form>`)
	f := p.do("click", clickOn("Order")).fails(t, tool.Disabled)
	for _, want := range []string{"I accept the terms", "not ticked", "E-mail", "empty"} {
		if !strings.Contains(f.Message, want) {
			t.Errorf("%q lacks %q", f.Message, want)
		}
	}
}

func TestScrollsIntoView(t *testing.T) {
	t.Parallel()
	p := open(t, `<div style="height:4000px"></div>`+counter+`<div style="height:2000px"></div>`)
	p.do("click", clickOn("Play")).must(t, tool.EffectConfirmed)
	if got := p.truth("window.n"); got != "1" {
		t.Errorf("clicked %s times", got)
	}
}

// TestGuardStopsAWrongClick: between the last look and the event another element slides under the point. The page must not see the click.
func TestGuardStopsAWrongClick(t *testing.T) {
	t.Parallel()
	p := open(t, `<button id=b onclick="window.right=(window.right||0)+1;this.textContent='ok'">Play</button>
		<button id=w style="position:fixed;left:0;top:0;width:100%;height:100%;display:none" onclick="window.wrong=1">Delete</button>
		<script>let once=0;document.addEventListener('mousemove',()=>{if(once++)return;w.style.display='block';setTimeout(()=>w.remove(),150)})</script>`)
	d := p.do("click", clickOn("Play"))
	if got := p.truth("window.wrong"); got != "undefined" {
		t.Fatal("the wrong element was clicked")
	}
	if d.err == nil && d.out.Effect == tool.EffectConfirmed && p.truth("window.right") != "1" {
		t.Errorf("right clicks: %s (%s)", p.truth("window.right"), d.out.Proof)
	}
	if d.err != nil {
		f := tool.AsFailed(d.err)
		if f.Failure != tool.Covered && f.Failure != tool.Stale || f.Dispatched {
			t.Errorf("%v", f)
		}
	}
}

func TestStaleElementIsFoundAgain(t *testing.T) {
	t.Parallel()
	p := open(t, `<div id=box></div><p id=out></p><script>
		const render=()=>{box.innerHTML='<button class=go>Play</button>'};render();setInterval(render,20);
		box.addEventListener('click',()=>{window.n=(window.n||0)+1;out.textContent='played '+n})</script>`)
	p.do("click", clickOn("Play")).must(t, tool.EffectConfirmed)
	if got := p.truth("window.n"); got != "1" {
		t.Errorf("clicked %s times", got)
	}
}

// TestMovingButtonOnAStarvedPageIsReported: the page is so busy that hardly a frame is drawn, and between two of them a moving box looks
// still.
func TestMovingButtonOnAStarvedPageIsReported(t *testing.T) {
	t.Parallel()
	p := open(t, `<style>#b{position:absolute;top:20px;animation:m 1s linear infinite alternate}@keyframes m{from{left:0}to{left:600px}}</style><button id=b onclick="window.n=1">Play</button>
		<script>setInterval(()=>{const end=performance.now()+250;while(performance.now()<end);},260)</script>`)
	p.do("click", clickOn("Play")).fails(t, tool.Moving)
}

// TestAnimationThatHoldsStillIsNoMovement: an animation is under way, but the button has been at its place for long.
func TestAnimationThatHoldsStillIsNoMovement(t *testing.T) {
	t.Parallel()
	p := open(t, `<style>#b{animation:m 60s linear infinite}@keyframes m{0%,99%{transform:none}100%{transform:scale(1.1)}}</style>`+
		`<button id=b onclick="window.n=(window.n||0)+1;this.textContent='Done'">Play</button>`)
	p.do("click", clickOn("Play")).must(t, tool.EffectConfirmed)
}

// TestFrameThatIsLoadedAgainAndAgain: a click would be lost with the document that gets it, so the frame is awaited, and the click counts.
func TestFrameThatIsLoadedAgainAndAgain(t *testing.T) {
	t.Parallel()
	p := open(t, `<iframe id=f src="/in" title=Player></iframe><script>let left=6;const again=setInterval(()=>{f.src=f.src;if(--left===0)clearInterval(again)},250)</script>`,
		func(m *http.ServeMux) {
			m.HandleFunc("GET /in", serve(`<button onclick="this.textContent='Stop';top.n=(top.n||0)+1">Play</button>`))
		})
	p.truth(`new Promise(r=>{const w=setInterval(()=>{if(left<4){clearInterval(w);r()}},5)})`)
	d := p.do("click", clickOn("Play")).must(t, tool.EffectConfirmed)
	if got := p.truth("window.n"); got != "1" || at(t, d.after, "effect", "delivered") != true {
		t.Errorf("clicked %s times: %s", got, d.out.Proof)
	}
}

// TestFrameThatNeverRestsIsLeftAlone: an action in it would be lost, so nothing is dispatched, and that is said in time.
func TestFrameThatNeverRestsIsLeftAlone(t *testing.T) {
	t.Parallel()
	p := open(t, `<iframe id=f src="/in" title=Player></iframe><script>let loads=0;f.onload=()=>loads++;setInterval(()=>{f.src=f.src},150)</script>`, func(m *http.ServeMux) {
		m.HandleFunc("GET /in", serve(`<button onclick="top.n=(top.n||0)+1">Play</button>`))
	})
	p.truth(`new Promise(r=>{const w=setInterval(()=>{if(loads>2){clearInterval(w);r()}},5)})`) // before, nobody can know
	d := p.do("click", clickOn("Play"))
	if d.err == nil {
		t.Fatalf("%+v, clicked %s times", d.out, p.truth("window.n"))
	}
	f := tool.AsFailed(d.err)
	if f.Dispatched || f.Failure != tool.Stale && f.Failure != tool.NotReady && f.Failure != tool.TargetNotFound || p.truth("window.n") != "undefined" {
		t.Errorf("%+v (%v), clicked %s times", d.out, d.err, p.truth("window.n"))
	}
}

// TestQueryOfADocumentThatIsReplaced: Chromium holds an accessibility query back while the document cannot be drawn, and never answers it
// when the document is replaced. The query ends when that happens.
func TestQueryOfADocumentThatIsReplaced(t *testing.T) {
	t.Parallel()
	never, asked := make(chan struct{}), make(chan struct{}, 10)
	p := open(t, `<iframe id=f src="about:blank"></iframe>`, func(m *http.ServeMux) {
		m.HandleFunc("GET /in", serve(`<link rel=stylesheet href=/never.css><button>Play</button>`))
		m.HandleFunc("GET /other", serve(`<button>Pause</button>`))
		m.HandleFunc("GET /never.css", func(http.ResponseWriter, *http.Request) { asked <- struct{}{}; <-never })
	})
	t.Cleanup(func() { close(never) })
	p.truth(`(f.src='/in')`)
	<-asked // now the document waits for its style
	tab := p.x.pool.sessions[p.run].tab
	p.truthOf("the frame", func() bool { fs := tab.Frames(); return len(fs) == 2 && strings.HasSuffix(fs[1].URL(), "/in") })
	answer := make(chan error, 1)
	q := tab.Frames()[1].QueryAX(t.Context(), "button")
	go func() { _, err := q.Wait(t.Context()); answer <- err }()
	p.truth(`new Promise(r=>{f.onload=r;f.src='/other'})`)
	start := time.Now()
	if err := <-answer; !page.Moved(err) {
		t.Errorf("%v", err)
	} else if took := time.Since(start); took > 3*time.Second {
		t.Errorf("it took %s", took)
	}
}

// TestRecordIsKeptWhenTheFrameGoes: the document that got the click replaces itself afterwards; what its record told stays known.
func TestRecordIsKeptWhenTheFrameGoes(t *testing.T) {
	t.Parallel()
	p := open(t, `<iframe id=f src="/in" title=Player></iframe>`, func(m *http.ServeMux) {
		m.HandleFunc("GET /in", serve(`<button onclick="this.textContent='Stop';top.n=(top.n||0)+1;setTimeout(()=>location.replace('/in'),60)">Play</button>`))
	})
	d := p.do("click", clickOn("Play")).must(t, tool.EffectConfirmed)
	if p.truth("window.n") != "1" || at(t, d.after, "effect", "delivered") != true || at(t, d.after, "effect", "changed") != true {
		t.Errorf("%v", d.after.Values["effect"])
	}
}

// TestLostRecordIsNoProof: nobody knows whether an event was delivered whose record went with its document. Conditions that read it are
// undecided then.
func TestLostRecordIsNoProof(t *testing.T) {
	t.Parallel()
	p := open(t, `<iframe id=f src="/in" title=Player></iframe>`, func(m *http.ServeMux) {
		m.HandleFunc("GET /in", serve(`<button onclick="top.n=(top.n||0)+1">Play</button>`))
	})
	ctx := t.Context()
	att, err := p.x.Begin(ctx, p.call("click", clickOn("Play")), tool.Plan{Number: 1, Source: tool.SourceCDP, Input: tool.InputMouse})
	if err != nil {
		t.Fatal(err)
	}
	defer att.Close()
	a := att.(*attempt)
	if err := att.Resolve(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := att.Observe(ctx, tool.Needs{}); err != nil {
		t.Fatal(err)
	}
	p.truth(`new Promise(r=>{f.onload=r;f.contentWindow.location.replace('/in?again')})`)
	a.dispatched, a.sent = true, a.tab.Mark()
	a.work.types = []string{"click"}
	out, err := att.Settle(ctx)
	if err != nil || out.Effect != tool.EffectUnknown {
		t.Fatalf("%+v, %v", out, err)
	}
	after, err := att.Observe(ctx, tool.Needs{})
	if err != nil || at(t, after, "effect", "delivered") != nil || at(t, after, "effect", "changed") != nil {
		t.Errorf("%v, %v", after.Values["effect"], err)
	}
}

// A veil that holds nothing to act on may pass by itself, so it is waited for longer than a layer that asks for something.
func TestPassingVeilIsWaitedFor(t *testing.T) {
	t.Parallel()
	p := open(t, `<button onclick="window.n=(window.n||0)+1;out.textContent='done'">Go</button><p id=out></p>
		<div id=veil style="position:fixed;inset:0;background:rgb(255 255 255/.8)">Checking…</div>
		<script>document.getElementById('veil').addEventListener('mousedown', () => { window.hit = 1; }); setTimeout(() => veil.remove(), 1200)</script>`)
	p.do("click", clickOn("Go")).must(t, tool.EffectConfirmed)
	if p.truth("window.n") != "1" || p.truth("String(window.hit)") != "undefined" {
		t.Errorf("clicks %s, on the veil %s", p.truth("window.n"), p.truth("String(window.hit)"))
	}
}
