package browser

import (
	"net/http"
	"testing"

	gen "toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

func TestDoubleClick(t *testing.T) {
	t.Parallel()
	p := open(t, `<ul><li id=f tabindex=0 onclick="window.n=(window.n||0)+1" ondblclick="window.d=(window.d||0)+1;this.textContent='opened'">report.txt</li></ul>`)
	d := p.by(tool.SourceCDP, "double_click", map[string]any{"target": named("report.txt")}).must(t, tool.EffectConfirmed)
	if p.truth("window.n") != "2" || p.truth("window.d") != "1" || at(t, d.after, "effect", "delivered") != true {
		t.Errorf("clicks %s, double clicks %s: %s", p.truth("window.n"), p.truth("window.d"), d.out.Proof)
	}
}

// The first click brings another element under the pointer; the second one must not reach it, and the action is not called undone.
func TestDoubleClickIsStoppedAtAnotherElement(t *testing.T) {
	t.Parallel()
	p := open(t, `<button id=b onclick="window.n=(window.n||0)+1;w.style.display='block'">Play</button>
		<button id=w style="position:fixed;inset:0;width:100%;height:100%;display:none" onclick="window.wrong=1">Delete</button>`)
	d := p.do("double_click", clickOn("Play"))
	if d.err != nil {
		t.Fatal(d.err)
	}
	if p.truth("window.wrong") != "undefined" || p.truth("window.n") != "1" || d.out.Effect == tool.EffectNone {
		t.Errorf("wrong %s, right %s, %s", p.truth("window.wrong"), p.truth("window.n"), d.out.Effect)
	}
}

// A menu that only a style sheet opens, and one that a script opens: both stay open for the next call.
func TestHoverMenus(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"style":  `<style>#m{display:none}#a:hover #m{display:block}</style><div id=a style="width:200px"><span>Account</span><div id=m><button onclick="window.out=1;this.textContent='Bye'">Sign out</button></div></div>`,
		"script": `<div id=a style="width:200px" onmouseenter="m.hidden=false" onmouseleave="m.hidden=true"><span>Account</span><div id=m hidden><button onclick="window.out=1;this.textContent='Bye'">Sign out</button></div></div>`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, body)
			p.by(tool.SourceCDP, "click", clickOn("Sign out")).fails(t, tool.TargetNotFound)
			d := p.by(tool.SourceCDP, "hover", map[string]any{"target": named("Account")})
			if d.err != nil || at(t, d.after, "effect", "delivered") != true {
				t.Fatal(d.err, d.out)
			}
			p.do("hover", map[string]any{"target": named("Sign out")}) // a menu is walked through
			p.do("click", clickOn("Sign out")).must(t, tool.EffectConfirmed)
			if p.truth("window.out") != "1" {
				t.Error("not signed out")
			}
		})
	}
}

const board = `<style>section{display:inline-block;width:200px;height:200px;border:1px solid}</style>
	<section aria-label="To do" id=a><p id=card draggable=true>Write the report</p></section><section aria-label="Done" id=b></section>
	<script>card.ondragstart=e=>e.dataTransfer.setData('text','card');b.ondragover=e=>e.preventDefault();
	b.ondrop=e=>{e.preventDefault();window.n=(window.n||0)+1;b.append(document.getElementById(e.dataTransfer.getData('text')))};card.ondragend=()=>window.ended=1</script>`

func dragTo(from, to string) map[string]any {
	return map[string]any{"from": named(from), "to": named(to)}
}

func TestDragOfHTML(t *testing.T) {
	t.Parallel()
	p := open(t, board)
	d := p.by(tool.SourceCDP, "drag", dragTo("Write the report", "Done")).must(t, tool.EffectConfirmed)
	if p.truth("window.n") != "1" || p.truth("card.parentNode.id") != "b" || p.truth("window.ended") != "1" || at(t, d.after, "effect", "delivered") != true {
		t.Errorf("%s drops into %s: %s", p.truth("window.n"), p.truth("card.parentNode.id"), d.out.Proof)
	}
	p.do("click", map[string]any{"target": named("Write the report")}) // the mouse is free again
}

// What is dropped where nothing takes it has not been delivered.
func TestDragOntoNothing(t *testing.T) {
	t.Parallel()
	p := open(t, board+`<section aria-label="Elsewhere"></section>`)
	d := p.by(tool.SourceCDP, "drag", dragTo("Write the report", "Elsewhere"))
	if d.err != nil {
		t.Fatal(d.err, tool.AsFailed(d.err).Candidates)
	}
	if d.out.Effect == tool.EffectConfirmed || at(t, d.after, "effect", "delivered") == true {
		t.Errorf("%s %v", d.out.Proof, d.after.Values["effect"])
	}
}

const slider = `<div style="width:400px;height:20px;background:#ccc;position:relative" id=rail><div id=thumb role=slider aria-label=Volume tabindex=0 aria-valuenow=0 style="position:absolute;left:0;width:20px;height:20px;background:#00f;touch-action:none"></div></div>
	<script>let on=false,x0=0;thumb.onpointerdown=e=>{on=true;x0=e.clientX-thumb.offsetLeft;thumb.setPointerCapture(e.pointerId)};
	thumb.onpointermove=e=>{if(!on)return;const x=Math.max(0,Math.min(380,e.clientX-x0));thumb.style.left=x+'px';thumb.setAttribute('aria-valuenow',Math.round(x))};thumb.onpointerup=()=>{on=false;window.up=1}</script>`

func TestDragThatFollowsThePointer(t *testing.T) {
	t.Parallel()
	p := open(t, slider)
	d := p.do("drag", map[string]any{"from": named("Volume", "role", "slider"), "by_x": 150}).must(t, tool.EffectConfirmed)
	if got := p.truth("thumb.getAttribute('aria-valuenow')"); got != "150" || p.truth("window.up") != "1" {
		t.Errorf("stands at %s: %s", got, d.out.Proof)
	}
}

// Both ends are far apart: the page is scrolled so that both can be seen, or the call says that they cannot.
func TestDragAcrossTheFold(t *testing.T) {
	t.Parallel()
	p := open(t, `<div style="height:500px"></div>`+board+`<div style="height:3000px"></div>`)
	p.by(tool.SourceCDP, "drag", dragTo("Write the report", "Done")).must(t, tool.EffectConfirmed)
	if p.truth("card.parentNode.id") != "b" {
		t.Error("not dropped")
	}
	far := open(t, `<p id=card draggable=true>Write the report</p><div style="height:5000px"></div><section aria-label="Done" style="height:50px"></section>`)
	far.by(tool.SourceCDP, "drag", dragTo("Write the report", "Done")).fails(t, tool.Covered)
}

// Downloads are kept, with what they hold; one that is too large is cancelled and said to be.
func TestDownloads(t *testing.T) {
	t.Parallel()
	file := func(n int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Disposition", `attachment; filename="receipt.txt"`)
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write(make([]byte, n))
		}
	}
	p := open(t, `<a href=/small>Small</a> <a href=/large>Large</a> <a href=/small target=_blank>Window</a>`, func(m *http.ServeMux) {
		m.HandleFunc("GET /small", file(1000))
		m.HandleFunc("GET /large", file(3<<20))
	})
	for _, name := range []string{"Small", "Window"} {
		d := p.do("click", clickOn(name)).must(t, tool.EffectConfirmed)
		r := d.out.Result.(*gen.ClickResult)
		if len(r.Downloads) != 1 || r.Downloads[0].Artifact == nil || len(store.get(*r.Downloads[0].Artifact)) != 1000 || r.Downloads[0].Name != "receipt.txt" || r.Downloads[0].Bytes != 1000 {
			t.Errorf("%s: %+v", name, r.Downloads)
		}
	}
	d := p.do("click", clickOn("Large")).must(t, tool.EffectConfirmed)
	r := d.out.Result.(*gen.ClickResult)
	if len(r.Downloads) != 1 || r.Downloads[0].Artifact != nil || r.Downloads[0].Problem == nil {
		t.Errorf("%+v", r.Downloads)
	}
}
