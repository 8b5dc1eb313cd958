package browser

import (
	"fmt"
	"strings"
	"testing"

	gen "toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

// The pointer's tools reach into frames, of the same process and of another one.
func TestPointerInFrames(t *testing.T) {
	t.Parallel()
	inner := board + `<p ondblclick="window.d=1;this.textContent='opened'">file.txt</p><span onmouseover="window.h=1;this.title='seen'">Account</span>`
	for name, open := range map[string]func(*testing.T) *visit{
		"same process": func(t *testing.T) *visit {
			return open(t, `<div style="height:120px"></div><iframe title=Player style="width:600px;height:420px;border:9px solid" srcdoc="`+srcdoc(inner)+`"></iframe>`)
		},
		"other process": func(t *testing.T) *visit {
			p := frames(t, inner)
			p.truth("document.querySelector('iframe').style.cssText='width:600px;height:420px;border:9px solid'")
			return p
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t)
			p.by(tool.SourceCDP, "double_click", map[string]any{"target": named("file.txt")}).must(t, tool.EffectConfirmed)
			d := p.by(tool.SourceCDP, "hover", map[string]any{"target": named("Account")})
			if d.err != nil || at(t, d.after, "effect", "delivered") != true {
				t.Errorf("hover: %v", d.err)
			}
			p.by(tool.SourceCDP, "drag", dragTo("Write the report", "Done")).must(t, tool.EffectConfirmed)
			d = p.by(tool.SourceSystem, "snapshot", map[string]any{"target": named("Player", "role", "iframe")}).must(t, tool.EffectNone)
			if s := d.out.Result.(*gen.SnapshotResult).Snapshot; !strings.Contains(s, "Write the report") || !strings.Contains(s, "[ref=f1e") {
				t.Errorf("the frame: %s", s)
			}
		})
	}
}

// hidden is an editor of the kind that takes text through a field of one pixel, empties that at once, and draws the lines itself.
const hidden = `<style>.ed{position:relative;width:500px;height:160px;border:1px solid;font:16px monospace;white-space:pre}.ed textarea{position:absolute;left:0;top:0;width:1px;height:1px;opacity:0;border:0;padding:0}</style>
	<div class=ed data-code-editor id=ed onmousedown="setTimeout(()=>ta.focus())"><textarea id=ta aria-label="Code" autocapitalize=off></textarea><div id=lines></div></div><p id=len role=status></p>
	<script>let doc='let a = 1\nlet b = 2',all=false;const draw=()=>{lines.innerHTML='';for(const l of doc.split('\n')){const d=document.createElement('div');d.className='view-line';d.style.height='20px';d.textContent=l.replace(/ /g,'\u00a0');lines.append(d)}len.textContent=doc.length+' characters'};draw();
	ta.addEventListener('keydown',e=>{if(e.ctrlKey&&e.key==='a'){all=true;e.preventDefault()}else if(e.ctrlKey&&e.key==='End'){all=false;e.preventDefault()}else if(e.key==='Delete'&&all){doc='';all=false;e.preventDefault();draw()}});
	ta.addEventListener('input',()=>{doc=all?ta.value:doc+ta.value;all=false;ta.value='';draw()})</script>`

func TestEditors(t *testing.T) {
	t.Parallel()
	text := "// greets\nfunction hi() {\n  return 1\n}"
	p := open(t, hidden)
	d := p.by(tool.SourceCDP, "type", typing("Code", text)).must(t, tool.EffectConfirmed)
	if p.truth("doc") != text || at(t, d.after, "target", "value") != text {
		t.Errorf("%q, evidence %q", p.truth("doc"), at(t, d.after, "target", "value"))
	}
	p.by(tool.SourceCDP, "type", typing("Code", text)).must(t, tool.EffectNone) // it is there already
	p.by(tool.SourceCDP, "type", typing("Code", "\nhi()", "append", true)).must(t, tool.EffectConfirmed)
	if p.truth("doc") != text+"\nhi()" {
		t.Errorf("%q", p.truth("doc"))
	}
	p.by(tool.SourceCDP, "clear", map[string]any{"target": named("Code")}).must(t, tool.EffectConfirmed)
	if p.truth("doc") != "" {
		t.Errorf("%q", p.truth("doc"))
	}
	rich := open(t, `<div id=r contenteditable role=textbox aria-label=Note aria-multiline=true><p>Old <b>text</b></p></div>`)
	d = rich.do("type", typing("Note", "First line\nSecond line")).must(t, tool.EffectConfirmed)
	if at(t, d.after, "target", "value") != "First line\nSecond line" {
		t.Errorf("%q, %s", at(t, d.after, "target", "value"), rich.truth("r.innerHTML"))
	}
}

// Zoomed, scaled and transformed parts are hit where they are drawn.
func TestZoomedPages(t *testing.T) {
	t.Parallel()
	for name, style := range map[string]string{"zoom": "zoom:1.6", "small": "zoom:0.5", "scale": "transform:scale(1.4);transform-origin:0 0", "rotated": "transform:rotate(8deg);transform-origin:0 0;margin-left:80px"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, `<div style="`+style+`">`+board+counter+`</div>`)
			p.do("click", clickOn("Play")).must(t, tool.EffectConfirmed)
			p.by(tool.SourceCDP, "drag", dragTo("Write the report", "Done")).must(t, tool.EffectConfirmed)
			if p.truth("card.parentNode.id") != "b" {
				t.Error("not dropped")
			}
		})
	}
}

// Right-to-left and East Asian texts name targets like any other.
func TestOtherScripts(t *testing.T) {
	t.Parallel()
	p := open(t, `<div dir=rtl><label>الاسم <input id=a></label><div id=s role=group aria-label="الصور" style="width:300px;overflow-x:auto;white-space:nowrap"><span style="display:inline-block;width:2000px">صور</span></div></div>
		<label>国 <select id=c><option>韓国<option>日本</select></label><label><input type=checkbox id=k checked> 알림 받기</label>`)
	p.do("fill_form", map[string]any{"fields": []any{field("الاسم", "آدا"), field("国", "日本"), field("알림 받기", "false")}}).must(t, tool.EffectConfirmed)
	if got := p.truth("[a.value,c.value,k.checked]"); got != "آدا,日本,false" {
		t.Error(got)
	}
	r := scrollOf(t, p.by(tool.SourceCDP, "scroll", map[string]any{"target": named("الصور"), "direction": "left", "amount": 400}))
	if p.truth("s.scrollLeft") != "-400" || r.ScrolledX != -400 || r.AtEnd {
		t.Errorf("%s, %+v", p.truth("s.scrollLeft"), r)
	}
}

// A screen with two device pixels in a CSS pixel.
func TestTwoDevicePixels(t *testing.T) {
	t.Parallel()
	x, err := New(Options{Ephemeral: true, DeviceScaleFactor: 2, Artifacts: &memory{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Shutdown(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	p := openIn(t, x, board+slider+`<canvas id=k width=200 height=80 aria-label=Map onmousemove="window.at=[event.offsetX,event.offsetY]"></canvas>`)
	if p.truth("devicePixelRatio") != "2" {
		t.Fatal("not of two device pixels")
	}
	p.by(tool.SourceCDP, "drag", dragTo("Write the report", "Done")).must(t, tool.EffectConfirmed)
	p.do("drag", map[string]any{"from": named("Volume", "role", "slider"), "by_x": 100}).must(t, tool.EffectConfirmed)
	if p.truth("card.parentNode.id") != "b" || p.truth("thumb.getAttribute('aria-valuenow')") != "100" {
		t.Errorf("%s, %s", p.truth("card.parentNode.id"), p.truth("thumb.getAttribute('aria-valuenow')"))
	}
	p.by(tool.SourceCDP, "hover", map[string]any{"target": map[string]any{"selector": "#k"}})
	if got := p.truth("window.at"); got != "100,40" {
		t.Errorf("pointed at %s", got)
	}
	shot := p.do("screenshot", map[string]any{}).must(t, tool.EffectNone).out.Result.(*gen.ScreenshotResult)
	if shot.Width != 2560 {
		t.Errorf("the picture is %d wide", shot.Width)
	}
}

// Shadow trees, open and closed, hold what the new tools act on.
func TestShadowTrees(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"open", "closed"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := open(t, fmt.Sprintf(`<x-form></x-form><script>customElements.define('x-form',class extends HTMLElement{constructor(){super();const r=this.attachShadow({mode:'%s'});
				r.innerHTML='<label>Name <input id=n value=old></label><label><input type=checkbox id=c checked> News</label><input type=file aria-label=Photo>';window.r=r}})</script>`, mode))
			inWorkspace(t, "shadow.txt", "x")
			p.do("clear", map[string]any{"target": named("Name")}).must(t, tool.EffectConfirmed)
			p.do("uncheck", map[string]any{"target": named("News")}).must(t, tool.EffectConfirmed)
			p.by(tool.SourceCDP, "upload", map[string]any{"target": named("Photo"), "paths": []string{"shadow.txt"}}).must(t, tool.EffectConfirmed)
			if got := p.truth("[r.getElementById('n').value,r.getElementById('c').checked,r.querySelector('[type=file]').files.length]"); got != ",false,1" {
				t.Error(got)
			}
		})
	}
}

// A WebGL surface takes drags like any element; what they did shows in its picture.
func TestDragOnAWebGLSurface(t *testing.T) {
	t.Parallel()
	p := open(t, `<canvas id=g width=300 height=200 role=img aria-label=Globe></canvas><script>const gl=g.getContext('webgl',{preserveDrawingBuffer:true});let on=false,turn=0;
		const draw=()=>{gl.clearColor((turn%256)/255,.3,.6,1);gl.clear(gl.COLOR_BUFFER_BIT)};draw();g.onpointerdown=()=>on=true;g.onpointermove=e=>{if(on){turn+=Math.round(e.offsetX);draw()}};g.onpointerup=()=>on=false</script>`)
	p.do("drag", map[string]any{"from": named("Globe"), "by_x": 100}).must(t, tool.EffectConfirmed)
	if got := p.truth("turn"); got == "0" {
		t.Error("not turned")
	}
}
