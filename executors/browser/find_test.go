package browser

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"toolsvc/tool"
)

const twins = `<section aria-label="Album"><button onclick="window.album=1;o.textContent='album'">Play</button></section>
	<section><h2>Radio</h2><button onclick="window.radio=1;o.textContent='radio'">Play</button></section><p id=o></p>`

func TestTwinsAreAmbiguous(t *testing.T) {
	t.Parallel()
	for _, src := range []tool.Source{tool.SourceAX, tool.SourceCDP} {
		t.Run(string(src), func(t *testing.T) {
			t.Parallel()
			f := open(t, twins).by(src, "click", clickOn("Play")).fails(t, tool.AmbiguousTarget)
			if len(f.Candidates) != 2 || f.Candidates[0].Within != "Album" || f.Candidates[1].Within != "Radio" || f.Candidates[0].Role != "button" {
				t.Errorf("candidates %+v", f.Candidates)
			}
		})
	}
}

func TestTwinsAreToldApartByWithin(t *testing.T) {
	t.Parallel()
	for _, src := range []tool.Source{tool.SourceAX, tool.SourceCDP} {
		for within, variable := range map[string]string{"Album": "album", "Radio": "radio"} {
			t.Run(string(src)+within, func(t *testing.T) {
				t.Parallel()
				p := open(t, twins)
				p.by(src, "click", clickOn("Play", "within", within)).must(t, tool.EffectConfirmed)
				if p.truth("[window.album,window.radio].filter(Boolean).length") != "1" || p.truth("window."+variable) != "1" {
					t.Errorf("the wrong twin was clicked")
				}
			})
		}
	}
}

func TestRowsAreToldApartByNear(t *testing.T) {
	t.Parallel()
	var rows strings.Builder
	for _, n := range []string{"1", "2", "3"} {
		rows.WriteString(`<tr><td>Track ` + n + `</td><td><button onclick="window.hit='` + n + `';this.textContent='x'">Play</button></td></tr>`)
	}
	for _, src := range []tool.Source{tool.SourceAX, tool.SourceCDP} {
		t.Run(string(src), func(t *testing.T) {
			t.Parallel()
			p := open(t, "<table>"+rows.String()+"</table>")
			p.by(src, "click", clickOn("Play", "near", "Track 2")).must(t, tool.EffectConfirmed)
			if got := p.truth("window.hit"); got != "2" {
				t.Errorf("clicked row %s", got)
			}
		})
	}
}

func TestCaseTellsTargetsApart(t *testing.T) {
	t.Parallel()
	p := open(t, `<button onclick="window.hit='upper';this.remove()">OK</button><button onclick="window.hit='lower';this.remove()">Ok</button>`)
	p.do("click", clickOn("Ok")).must(t, tool.EffectConfirmed)
	if got := p.truth("window.hit"); got != "lower" {
		t.Errorf("clicked %s", got)
	}
}

func TestLateElement(t *testing.T) {
	t.Parallel()
	p := open(t, `<p>Hello</p><script>setTimeout(()=>{const b=document.createElement('button');b.textContent='Play';b.onclick=()=>{window.n=(window.n||0)+1;b.textContent='Playing'};document.body.append(b)},900)</script>`)
	p.do("click", clickOn("Play", "role", "button")).must(t, tool.EffectConfirmed)
	if got := p.truth("window.n"); got != "1" {
		t.Errorf("clicked %s times", got)
	}
}

// Whoever asks for what is not there is told what there is that is like it; nothing of it is acted on.
func TestNotFoundTellsWhatIsAlike(t *testing.T) {
	t.Parallel()
	for _, src := range []tool.Source{tool.SourceAX, tool.SourceCDP} {
		p := open(t, `<button onclick="window.n=1">Add to basket</button><button>Search</button><button hidden>Add to car</button><iframe srcdoc="<a href='#'>Add to wishlist</a>"></iframe>`)
		f := p.by(src, "click", clickOn("Add to cart", "role", "button")).fails(t, tool.TargetNotFound)
		if len(f.Candidates) != 2 || f.Candidates[0].Name != "Add to basket" || f.Candidates[0].Role != "button" || f.Candidates[1].Name != "Add to wishlist" ||
			!strings.Contains(f.Message, `Alike on the page: button "Add to basket", link "Add to wishlist".`) {
			t.Errorf("%s: %s, %+v", src, f.Message, f.Candidates)
		}
		if got := p.truth("window.n"); got != "undefined" {
			t.Errorf("%s: something was clicked", src)
		}
	}
}

func TestNotFoundSaysSo(t *testing.T) {
	t.Parallel()
	p := open(t, counter)
	f := p.do("click", clickOn("Stop")).fails(t, tool.TargetNotFound)
	if !strings.Contains(f.Message, "Stop") {
		t.Error(f.Message)
	}
}

// TestOnlyTheDOMHasIt: what the accessibility tree does not show is found by the next source, and the first gives up at once.
func TestOnlyTheDOMHasIt(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"bare div":    `<div id=b style="cursor:pointer">Play</div><script>b.addEventListener('click',()=>{window.n=(window.n||0)+1;b.textContent='Playing'})</script>`,
		"aria-hidden": `<div aria-hidden=true><button onclick="window.n=(window.n||0)+1;this.textContent='Playing'">Play</button></div>`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, body)
			start := time.Now()
			p.by(tool.SourceAX, "click", clickOn("Play", "role", "button")).fails(t, tool.TargetNotFound)
			if d := time.Since(start); d > 2*time.Second {
				t.Errorf("gave up after %s", d)
			}
			p.plan(tool.Plan{Number: 2, Source: tool.SourceCDP, Input: tool.InputMouse}, "click", clickOn("Play", "role", "button")).must(t, tool.EffectConfirmed)
			if got := p.truth("window.n"); got != "1" {
				t.Errorf("clicked %s times", got)
			}
		})
	}
}

func TestShadowDOM(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"open", "closed"} {
		for _, src := range []tool.Source{tool.SourceAX, tool.SourceCDP} {
			if mode == "closed" && src == tool.SourceCDP {
				continue // a closed shadow tree is closed to scripts; the accessibility tree sees into it
			}
			t.Run(mode+string(src), func(t *testing.T) {
				t.Parallel()
				p := open(t, `<x-player></x-player><p id=out></p><script>customElements.define('x-player',class extends HTMLElement{connectedCallback(){
					const r=this.attachShadow({mode:'`+mode+`'});r.innerHTML='<button>Play</button>';r.querySelector('button').onclick=()=>{window.n=(window.n||0)+1;out.textContent='played'}}})</script>`)
				p.by(src, "click", clickOn("Play", "role", "button")).must(t, tool.EffectConfirmed)
				if got := p.truth("window.n"); got != "1" {
					t.Errorf("clicked %s times", got)
				}
			})
		}
	}
}

func TestSelectorAndNth(t *testing.T) {
	t.Parallel()
	p := open(t, `<button class=a onclick="window.hit=1;this.id='x'">A</button><button class=a onclick="window.hit=2;this.id='y'">A</button>`)
	p.by(tool.SourceCDP, "click", map[string]any{"target": map[string]any{"selector": ".a"}}).fails(t, tool.AmbiguousTarget)
	p.by(tool.SourceCDP, "click", map[string]any{"target": map[string]any{"selector": ".a", "nth": 2}}).must(t, tool.EffectConfirmed)
	if got := p.truth("window.hit"); got != "2" {
		t.Errorf("clicked %s", got)
	}
	p.by(tool.SourceCDP, "click", map[string]any{"target": map[string]any{"selector": "[["}}).fails(t, tool.InvalidArguments)
}

// frames serves a page whose iframe comes from another site, and so from another process.
func frames(t *testing.T, inner string) *visit {
	t.Helper()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(inner)(w, r) }))
	t.Cleanup(other.Close)
	src := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	return open(t, `<h1>Outer</h1><div style="height:150px"></div><iframe title="Player" src="`+src+`" style="width:400px;height:200px;border:7px solid;padding:5px"></iframe><button>Outside</button>`)
}

const inFrame = `<button onclick="window.n=(window.n||0)+1;document.getElementById('out').textContent='played '+n">Play</button><p id=out></p><input aria-label=Title>`

func TestFrames(t *testing.T) {
	t.Parallel()
	for _, src := range []tool.Source{tool.SourceAX, tool.SourceCDP} {
		for name, p := range map[string]func(*testing.T) *visit{
			"same process": func(t *testing.T) *visit {
				return open(t, `<h1>Outer</h1><iframe title="Player" style="width:400px;height:200px;border:7px solid" srcdoc="`+srcdoc(inFrame)+`"></iframe>`)
			},
			"other process": func(t *testing.T) *visit { return frames(t, inFrame) },
		} {
			t.Run(name+string(src), func(t *testing.T) {
				t.Parallel()
				p := p(t)
				d := p.by(src, "click", clickOn("Play", "role", "button", "within", "Player")).must(t, tool.EffectConfirmed)
				if text, _ := at(t, d.after, "page", "text").(string); !strings.Contains(text, "played 1") {
					t.Errorf("text %q", text)
				}
				if at(t, d.after, "effect", "delivered") != true {
					t.Error("not delivered")
				}
				d = p.by(src, "type", map[string]any{"target": named("Title"), "text": "Blue"}).must(t, tool.EffectConfirmed)
				if got := at(t, d.after, "target", "value"); got != "Blue" {
					t.Errorf("value %q", got)
				}
			})
		}
	}
}

func TestDevicePixelRatioTwo(t *testing.T) {
	t.Parallel()
	x, err := New(Options{Ephemeral: true, DeviceScaleFactor: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
	p := openIn(t, x, `<div style="height:1200px"></div>`+counter)
	if got := p.truth("devicePixelRatio"); got != "2" {
		t.Fatalf("ratio %s", got)
	}
	p.do("click", clickOn("Play")).must(t, tool.EffectConfirmed)
	if got := p.truth("window.n"); got != "1" {
		t.Errorf("clicked %s times", got)
	}
}
