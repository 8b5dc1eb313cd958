package browser

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	gen "toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

func pages(m *http.ServeMux) {
	m.HandleFunc("GET /two", serve(`<title>Two</title><a href="/three">On</a>`))
	m.HandleFunc("GET /three", serve(`<title>Three</title><p>The end</p>`))
}

func TestBackAndForward(t *testing.T) {
	t.Parallel()
	p := open(t, `<a href="/two">Next</a>`, pages)
	p.do("click", clickOn("Next")).must(t, tool.EffectConfirmed)
	d := p.do("back", map[string]any{}).must(t, tool.EffectConfirmed)
	if r := d.out.Result.(*gen.BackResult); r.URL != p.url+"/" || r.Title != "Test" || at(t, d.after, "effect", "changed") != true || at(t, d.after, "page", "ready") != true {
		t.Errorf("%+v %v", r, d.after.Values["effect"])
	}
	d = p.do("forward", map[string]any{}).must(t, tool.EffectConfirmed)
	if r := d.out.Result.(*gen.ForwardResult); r.URL != p.url+"/two" {
		t.Errorf("%+v", r)
	}
	f := p.do("forward", map[string]any{}).fails(t, tool.PreconditionFailed)
	if !strings.Contains(f.Message, "no later page") {
		t.Error(f.Message)
	}
}

// The tab's own blank beginning is no page to go back to.
func TestBackAtTheBeginning(t *testing.T) {
	t.Parallel()
	p := open(t, `<p>Start</p>`)
	p.do("back", map[string]any{}).fails(t, tool.PreconditionFailed)
}

func TestBackWithinAnApplication(t *testing.T) {
	t.Parallel()
	p := open(t, `<h1 id=h>List</h1><button onclick="history.pushState({},'','/album');h.textContent='Album'">Open</button><script>onpopstate=()=>h.textContent='List'</script>`)
	p.do("click", clickOn("Open")).must(t, tool.EffectConfirmed)
	d := p.do("back", map[string]any{}).must(t, tool.EffectConfirmed)
	if d.after.Values["page"].(map[string]any)["url"] != p.url+"/" || p.truth("h.textContent") != "List" {
		t.Errorf("%v, %s", at(t, d.after, "page", "url"), p.truth("h.textContent"))
	}
}

func TestReload(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	p := open(t, `<script>location.replace('/counted')</script>`, func(m *http.ServeMux) {
		m.HandleFunc("GET /counted", func(w http.ResponseWriter, r *http.Request) { serve(fmt.Sprintf("<p>Visit %d</p>", n.Add(1)))(w, r) })
	})
	p.do("wait_for", map[string]any{"text": "Visit 1"}).must(t, tool.EffectNone)
	d := p.do("reload", map[string]any{}).must(t, tool.EffectConfirmed)
	if r := d.out.Result.(*gen.ReloadResult); r.Status != 200 || p.truth("document.body.innerText") != "Visit 2" {
		t.Errorf("%+v, %s", r, p.truth("document.body.innerText"))
	}
}

// Loading the answer to a form anew would send the form a second time.
func TestReloadDoesNotSendAFormAgain(t *testing.T) {
	t.Parallel()
	var orders atomic.Int64
	p := open(t, `<form method=post action=/order><button>Order</button></form>`, func(m *http.ServeMux) {
		m.HandleFunc("POST /order", func(w http.ResponseWriter, r *http.Request) { orders.Add(1); serve("<p>Ordered</p>")(w, r) })
	})
	p.do("click", clickOn("Order")).must(t, tool.EffectConfirmed)
	p.do("reload", map[string]any{}).fails(t, tool.PreconditionFailed)
	if orders.Load() != 1 {
		t.Errorf("ordered %d times", orders.Load())
	}
}

const unsaved = `<label>Text <input></label><script>onbeforeunload=e=>{e.preventDefault()}</script>`

// A page that asks to be stayed on is stayed on, unless somebody said otherwise.
func TestReloadOfUnsavedText(t *testing.T) {
	t.Parallel()
	p := open(t, unsaved)
	p.do("type", typing("Text", "Doors at seven")).must(t, tool.EffectConfirmed)
	d := p.do("reload", map[string]any{}).must(t, tool.EffectNone)
	r := d.out.Result.(*gen.ReloadResult)
	if p.truth("document.querySelector('input').value") != "Doors at seven" || len(r.Dialogs) != 1 || r.Dialogs[0].Accepted || !strings.Contains(d.out.Proof, "browser.dialog") {
		t.Errorf("%+v %s", r, d.out.Proof)
	}
	p.do("dialog", map[string]any{"accept": true}).must(t, tool.EffectNone)
	p.do("reload", map[string]any{}).must(t, tool.EffectConfirmed)
	if p.truth("document.querySelector('input').value") != "" {
		t.Error("it was not loaded anew")
	}
}
