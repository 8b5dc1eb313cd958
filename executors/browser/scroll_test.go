package browser

import (
	"fmt"
	"testing"

	gen "toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

func scrollOf(t *testing.T, d done) *gen.ScrollResult {
	t.Helper()
	if d.err != nil {
		t.Fatal(d.err)
	}
	return d.out.Result.(*gen.ScrollResult)
}

const panel = `<p>Top</p><ul id=l aria-label=Birds style="height:200px;overflow:auto;border:1px solid">` +
	`<script>for(let i=0;i<100;i++)document.write('<li style="height:30px">Bird '+i+'</li>')</script></ul><div style="height:3000px"></div><p>Bottom</p>`

func TestScroll(t *testing.T) {
	t.Parallel()
	p := open(t, panel)
	r := scrollOf(t, p.by(tool.SourceCDP, "scroll", map[string]any{"target": named("Bottom")}).must(t, tool.EffectConfirmed))
	if !r.InView || r.ScrolledY < 2000 {
		t.Errorf("into view: %+v", r)
	}
	p.by(tool.SourceCDP, "scroll", map[string]any{"target": named("Bottom")}).must(t, tool.EffectNone)
	r = scrollOf(t, p.do("scroll", map[string]any{"direction": "up", "amount": 100000}))
	if p.truth("scrollY") != "0" || !r.AtEnd {
		t.Errorf("up: %s, %+v", p.truth("scrollY"), r)
	}
	r = scrollOf(t, p.do("scroll", map[string]any{"direction": "down", "amount": 300}))
	if p.truth("scrollY") != "300" || r.ScrolledY != 300 || r.AtEnd {
		t.Errorf("down: %+v", r)
	}
	d := p.do("scroll", map[string]any{"target": named("Birds"), "direction": "down", "amount": 90})
	if r := scrollOf(t, d); p.truth("l.scrollTop") != "90" || r.ScrolledY != 90 {
		t.Errorf("the list: %+v", r)
	}
	rb, err := d.att.Rollback(t.Context())
	if err != nil || !rb.Performed || p.truth("l.scrollTop") != "0" {
		t.Errorf("%+v, %v, %s", rb, err, p.truth("l.scrollTop"))
	}
}

// A page whose body does not scroll, only a part of it does.
func TestScrollOfAnApplication(t *testing.T) {
	t.Parallel()
	p := open(t, `<style>html,body{height:100%;margin:0;overflow:hidden}main{height:100vh;overflow:auto}</style><main id=m><div style="height:5000px">Long</div></main>`)
	r := scrollOf(t, p.do("scroll", map[string]any{"direction": "down"}))
	if r.ScrolledY < 400 || p.truth("m.scrollTop") == "0" {
		t.Errorf("%+v", r)
	}
}

// virtual draws only the rows that can be seen, of a list of 2,000.
const virtual = `<div id=l role=list aria-label=Birds style="height:300px;overflow:auto;position:relative"><div id=s style="height:60000px"></div></div><script>
	const draw=()=>{const from=Math.floor(l.scrollTop/30);for(const r of [...l.querySelectorAll('[role=listitem]')])r.remove();
	for(let i=from;i<Math.min(2000,from+12);i++){const d=document.createElement('div');d.setAttribute('role','listitem');d.style.cssText='position:absolute;left:0;height:30px;top:'+i*30+'px';
	d.innerHTML='<button onclick="window.picked=(window.picked||[]).concat('+i+');this.textContent=\'ok\'">Bird '+i+'</button>';l.append(d)}};let q;l.onscroll=()=>{cancelAnimationFrame(q);q=requestAnimationFrame(draw)};draw()</script>`

func TestScrollUntilARowIsDrawn(t *testing.T) {
	t.Parallel()
	p := open(t, virtual)
	for _, n := range []int{700, 20} { // onward, then from the other end
		name := fmt.Sprintf("Bird %d", n)
		r := scrollOf(t, p.do("scroll", map[string]any{"target": named("Birds"), "until": named(name, "role", "button")}))
		if !r.InView {
			t.Fatalf("%s: %+v", name, r)
		}
		p.do("click", clickOn(name, "role", "button")).must(t, tool.EffectConfirmed)
	}
	if got := p.truth("window.picked"); got != "700,20" {
		t.Errorf("picked %s", got)
	}
	if d := p.do("scroll", map[string]any{"target": named("Birds"), "until": named("Dodo")}); d.err == nil || tool.AsFailed(d.err).Failure != tool.TargetNotFound {
		t.Errorf("%v", d.err)
	}
}

// A list that loads more when its end is reached.
func TestScrollUntilMoreIsLoaded(t *testing.T) {
	t.Parallel()
	p := open(t, `<ul id=l></ul><script>let n=0;const more=()=>{for(let i=0;i<20;i++){const x=document.createElement('li');x.style.height='60px';x.textContent='Song '+(++n);l.append(x)}};more();
		let busy=false;addEventListener('scroll',()=>{if(!busy&&n<100&&scrollY+innerHeight>document.documentElement.scrollHeight-5){busy=true;setTimeout(()=>{more();busy=false},250)}})</script>`)
	r := scrollOf(t, p.do("scroll", map[string]any{"until": named("Song 93")}))
	if !r.InView {
		t.Errorf("%+v", r)
	}
}
