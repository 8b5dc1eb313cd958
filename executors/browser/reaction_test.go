package browser

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"toolsvc/tool"
)

func TestSwallowedClickHasNoEffect(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"nobody listens yet":       `<button id=b>Play</button>`,
		"the first one is ignored": `<button id=b>Play</button><p id=out></p><script>let first=true;b.onclick=()=>{if(first){first=false;return}window.n=(window.n||0)+1;out.textContent='played '+n}</script>`,
		"focus style and ripple": `<style>button:focus{outline:5px solid red}button:hover{background:yellow}button:active{transform:scale(.9)}</style><button id=b>Play</button><script>
			b.addEventListener('mousedown',()=>{b.classList.add('is-focused');const s=document.createElement('span');s.className='ripple';b.append(s);setTimeout(()=>s.remove(),100)})</script>`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t, body).do("click", clickOn("Play")).must(t, tool.EffectNone)
			if at(t, d.after, "effect", "delivered") != true || at(t, d.after, "effect", "changed") != false {
				t.Errorf("effect %v", d.after.Values["effect"])
			}
			t.Logf("%s after %s", d.out.Proof, d.took)
		})
	}
}

// TestSwallowedThenByKeyboard is what healing makes of it: the second attempt, by another source and the keyboard, has the effect once.
func TestSwallowedThenByKeyboard(t *testing.T) {
	t.Parallel()
	p := open(t, `<button id=b>Play</button><p id=out></p><script>let seen=0;b.addEventListener('click',()=>{if(seen++){window.n=(window.n||0)+1;out.textContent='played '+n}})</script>`)
	p.do("click", clickOn("Play")).must(t, tool.EffectNone)
	p.plan(tool.Plan{Number: 2, Source: tool.SourceCDP, Input: tool.InputKeyboard}, "click", clickOn("Play")).must(t, tool.EffectConfirmed)
	if got := p.truth("window.n"); got != "1" {
		t.Errorf("played %s times", got)
	}
}

func TestDebouncedHandlerIsAwaited(t *testing.T) {
	t.Parallel()
	for _, delay := range []string{"150", "400", "900"} {
		t.Run(delay, func(t *testing.T) {
			t.Parallel()
			p := open(t, `<button id=b>Play</button><p id=out>-</p><script>let h;b.onclick=()=>{clearTimeout(h);h=setTimeout(()=>{window.n=(window.n||0)+1;out.textContent='played'},`+delay+`)}</script>`)
			p.do("click", clickOn("Play")).must(t, tool.EffectConfirmed)
			if got := p.truth("window.n"); got != "1" {
				t.Errorf("played %s times", got)
			}
		})
	}
}

const clock = `<p id=clock>0</p><script>let s=0;setInterval(()=>clock.textContent='12:00:'+String(++s%60).padStart(2,'0'),PERIOD)</script>`

// TestBackgroundNoiseIsNoReaction: what the page does by itself must not make a swallowed click look like one that worked.
func TestBackgroundNoiseIsNoReaction(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"fast clock":      strings.Replace(clock, "PERIOD", "100", 1),
		"clock":           strings.Replace(clock, "PERIOD", "500", 1),
		"spinner":         `<div id=sp style="width:20px;height:20px;background:red">x</div><script>let a=0;(function f(){sp.style.transform='rotate('+(a+=5)+'deg)';requestAnimationFrame(f)})()</script>`,
		"polling":         `<script>setInterval(()=>fetch('/poll?t='+Date.now()),150)</script>`,
		"re-rendering":    `<ul id=l></ul><script>setInterval(()=>{l.innerHTML='<li>one</li><li>two</li>'},60)</script>`,
		"css animation":   `<style>@keyframes k{to{transform:rotate(360deg)}}i{display:inline-block;animation:k 1s linear infinite}</style><i>*</i>`,
		"carousel":        `<div id=c>slide A</div><script>let k=0;setInterval(()=>c.textContent='slide '+'ABC'[++k%3],250)</script>`,
		"storage traffic": `<p>quiet</p>`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, `<button id=b>Play</button><script>b.onclick=()=>{}</script>`+body, func(m *http.ServeMux) {
				m.HandleFunc("/poll", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
			})
			p.by(tool.SourceSystem, "wait_for", map[string]any{"text": "never there", "timeout_ms": 1200})
			d := p.do("click", clickOn("Play"))
			if d.err != nil || d.out.Effect == tool.EffectConfirmed {
				t.Fatalf("%v %s: %s", d.err, d.out.Effect, d.out.Proof)
			}
			t.Logf("%s: %s (%s)", d.out.Effect, d.out.Proof, d.took)
		})
	}
}

// TestReactionAmidNoise: a reaction is seen although the page never rests.
func TestReactionAmidNoise(t *testing.T) {
	t.Parallel()
	for _, handler := range []string{`out.textContent='played'`, `setTimeout(()=>out.textContent='played',300)`, `fetch('/save',{method:'POST'})`} {
		t.Run(handler[:5], func(t *testing.T) {
			t.Parallel()
			p := open(t, `<button onclick="`+handler+`">Play</button><p id=out></p>`+strings.Replace(clock, "PERIOD", "100", 1), func(m *http.ServeMux) {
				m.HandleFunc("POST /save", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })
			})
			d := p.do("click", clickOn("Play")).must(t, tool.EffectConfirmed)
			t.Logf("%s (%s)", d.out.Proof, d.took)
		})
	}
}

func TestRequestsAreEvidence(t *testing.T) {
	t.Parallel()
	p := open(t, `<button onclick="fetch('/orders',{method:'POST'}).then(r=>r.text()).then(x=>out.textContent=x)">Order</button><p id=out></p>`, func(m *http.ServeMux) {
		m.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(300 * time.Millisecond): // a slow server
			case <-r.Context().Done():
			}
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte("order placed"))
		})
	})
	d := p.do("click", clickOn("Order")).must(t, tool.EffectConfirmed)
	rs, _ := at(t, d.after, "page", "requests").([]any)
	found := false
	for _, r := range rs {
		m := r.(map[string]any)
		found = found || m["method"] == "POST" && m["status"] == 201 && strings.HasSuffix(m["url"].(string), "/orders")
	}
	if !found {
		t.Errorf("requests %v", rs)
	}
	if text := at(t, d.after, "page", "text").(string); !strings.Contains(text, "order placed") {
		t.Errorf("settled before the answer was shown: %q", text)
	}
	rb, err := d.att.Rollback(t.Context())
	if err != nil || rb.Performed || !strings.Contains(rb.Refused, "POST") {
		t.Errorf("rollback %+v, %v", rb, err)
	}
}

func TestNavigationOnClick(t *testing.T) {
	t.Parallel()
	p := open(t, `<a href="/next">Next page</a>`, func(m *http.ServeMux) { m.HandleFunc("/next", serve(`<h1>Second</h1>`)) })
	d := p.do("click", clickOn("Next page", "role", "link")).must(t, tool.EffectConfirmed)
	if at(t, d.after, "effect", "navigated") != true || at(t, d.after, "effect", "delivered") != true || at(t, d.after, "page", "ready") != true || at(t, d.after, "target", "exists") != false {
		t.Errorf("effect %v page %v target %v", d.after.Values["effect"], d.after.Values["page"], d.after.Values["target"])
	}
	if url := at(t, d.after, "page", "url").(string); !strings.HasSuffix(url, "/next") {
		t.Errorf("url %s", url)
	}
	if rb, err := d.att.Rollback(t.Context()); err != nil || rb.Performed {
		t.Errorf("rollback %+v, %v", rb, err)
	}
}

func TestJavaScriptDialogsNeverBlock(t *testing.T) {
	t.Parallel()
	p := open(t, `<button onclick="alert('Saved');this.textContent='done'">Save</button><button onclick="window.answer=confirm('Delete all?');this.id='d'">Delete</button>
		<button onclick="window.word=prompt('Word?','x');this.id='e'">Ask</button>`)
	d := p.do("click", clickOn("Save")).must(t, tool.EffectConfirmed)
	ds := at(t, d.after, "page", "dialogs").([]any)
	if len(ds) != 1 || ds[0].(map[string]any)["type"] != "alert" || ds[0].(map[string]any)["message"] != "Saved" {
		t.Errorf("dialogs %v", ds)
	}
	p.do("click", clickOn("Delete")).must(t, tool.EffectConfirmed)
	p.do("click", clickOn("Ask")).must(t, tool.EffectConfirmed)
	if p.truth("window.answer") != "false" || p.truth("window.word") != "null" {
		t.Errorf("confirm %s, prompt %s", p.truth("window.answer"), p.truth("window.word"))
	}
}

func TestMediaIsEvidence(t *testing.T) {
	t.Parallel()
	p := open(t, `<video id=v muted></video><button id=b>Play</button><script>
		const c=document.createElement('canvas');c.width=c.height=16;c.style.display='none';const g=c.getContext('2d');setInterval(()=>g.fillRect(0,0,Math.random()*16,16),30);
		v.srcObject=c.captureStream(30);b.onclick=()=>v.play()</script>`)
	d := p.do("click", clickOn("Play")).must(t, tool.EffectConfirmed)
	m := at(t, d.after, "page", "media").([]any)
	if len(m) != 1 || m[0].(map[string]any)["paused"] != false || at(t, d.before, "page", "media").([]any)[0].(map[string]any)["paused"] != true {
		t.Errorf("media %v", m)
	}
}

func TestUncaughtErrorIsEvidence(t *testing.T) {
	t.Parallel()
	p := open(t, `<button onclick="this.id='x';throw new Error('it broke')">Save</button>`)
	d := p.do("click", clickOn("Save")).must(t, tool.EffectConfirmed)
	if es := at(t, d.after, "page", "errors").([]any); len(es) != 1 || !strings.Contains(es[0].(string), "it broke") {
		t.Errorf("errors %v", es)
	}
}

// TestErrorThatIsShownIsFinal: an error that was shown is not waited out, nothing else is taken for the end.
func TestErrorThatIsShownIsFinal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		page  string
		final bool
	}{
		"an alert":            {`<button onclick="e.hidden=false">Pay</button><div id=e role=alert hidden>Card declined</div>`, true},
		"an error dialog":     {`<button onclick="e.showModal()">Pay</button><dialog id=e role=alertdialog>Payment failed</dialog>`, true},
		"an exception":        {`<button onclick="e.textContent='Paying';throw new Error('boom')">Pay</button><p id=e></p>`, true},
		"an old alert":        {`<button onclick="e.textContent='Paying'">Pay</button><p id=e></p><div role=alert>Card declined</div>`, false},
		"nothing of the kind": {`<button onclick="e.textContent='Paying'">Pay</button><p id=e></p>`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t, c.page).do("click", clickOn("Pay")).must(t, tool.EffectConfirmed)
			if d.out.Final != c.final {
				t.Errorf("final: %v; errors %v", d.out.Final, at(t, d.after, "page", "errors"))
			}
		})
	}
}

// An animation is the only reaction, and the page is so busy that the event comes long after it was sent. Missing it would have the click made
// again, which undoes it.
func TestAnimationOfALateEventIsAReaction(t *testing.T) {
	t.Parallel()
	p := open(t, `<style>#p{opacity:0}</style><button id=b>Lyrics</button><p id=p>Harbor lights</p><script>
		b.onpointerdown=()=>{const end=performance.now()+700;while(performance.now()<end);};
		b.onclick=()=>{window.n=(window.n||0)+1;p.animate({opacity:[0,1]},{duration:1,fill:'forwards'})}</script>`)
	p.do("click", clickOn("Lyrics")).must(t, tool.EffectConfirmed)
	if got := p.truth("window.n"); got != "1" {
		t.Errorf("clicked %s times", got)
	}
}
