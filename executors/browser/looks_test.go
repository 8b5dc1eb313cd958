package browser

import (
	"strings"
	"testing"

	gen "toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

const shop = `<header><h1>Shop</h1><nav aria-label="Main"><a href="#a">Home</a> <a href="#b">Cart</a></nav></header>
	<main><form aria-label="Order"><label>Amount <input value=3></label><label><input type=checkbox checked> Gift</label>
	<select aria-label=Size><option>S</option><option selected>M</option></select><button disabled>Order</button></form>
	<p>Some <b>text</b> here.</p><div role=status>Ready</div><img alt="A cat" width=10 height=10 src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">
	<div style="display:none">secret</div></main>`

func TestSnapshot(t *testing.T) {
	t.Parallel()
	p := open(t, shop+`<iframe title="Inside" srcdoc="`+srcdoc(`<button onclick="this.textContent='pressed'">Inner</button>`)+`"></iframe>`)
	d := p.by(tool.SourceSystem, "snapshot", map[string]any{})
	if d.err != nil {
		t.Fatal(d.err)
	}
	s := d.out.Result.(*gen.SnapshotResult)
	for _, want := range []string{`heading "Shop" [level=1]`, `navigation "Main"`, `link "Home"`, `textbox "Amount"`, `: 3`, `checkbox "Gift" [checked]`, `combobox "Size"`, `option "M" [selected]`,
		`button "Order" [disabled]`, `status`, "Ready", `img "A cat"`, `iframe "Inside"`, `button "Inner" [ref=f1e`} {
		if !strings.Contains(s.Snapshot, want) {
			t.Errorf("no %q in\n%s", want, s.Snapshot)
		}
	}
	if strings.Contains(s.Snapshot, "secret") || s.Truncated {
		t.Errorf("hidden text, or cut:\n%s", s.Snapshot)
	}
	again := p.by(tool.SourceSystem, "snapshot", map[string]any{}).out.Result.(*gen.SnapshotResult).Snapshot
	if again != s.Snapshot {
		t.Error("the references changed although nothing did")
	}
	line := s.Snapshot[strings.Index(s.Snapshot, `button "Inner" [ref=`)+len(`button "Inner" [ref=`):]
	ref := line[:strings.Index(line, "]")]
	p.by(tool.SourceCDP, "click", map[string]any{"target": map[string]any{"ref": ref}}).must(t, tool.EffectConfirmed)
	if got := p.by(tool.SourceSystem, "snapshot", map[string]any{"max_chars": 200}).out.Result.(*gen.SnapshotResult); !got.Truncated || len(got.Snapshot) > 200 {
		t.Errorf("%d characters, truncated %t", len(got.Snapshot), got.Truncated)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	p := open(t, shop+`<x-y></x-y><script>document.querySelector('x-y').attachShadow({mode:'open'}).innerHTML='<p>in the shadow</p>'</script>`)
	whole := p.do("read", map[string]any{}).out.Result.(*gen.ReadResult).Text
	for _, want := range []string{"Some text here.", "Ready", "in the shadow"} {
		if !strings.Contains(whole, want) {
			t.Errorf("no %q in %q", want, whole)
		}
	}
	if strings.Contains(whole, "secret") {
		t.Error("hidden text is read")
	}
	for _, src := range []tool.Source{tool.SourceAX, tool.SourceCDP} {
		d := p.by(src, "read", map[string]any{"target": named("Amount", "role", "textbox")})
		if d.err != nil {
			t.Fatal(d.err)
		}
		if r := d.out.Result.(*gen.ReadResult); r.Value == nil || *r.Value != "3" {
			t.Errorf("%+v", r)
		}
	}
	if r := p.do("read", map[string]any{"max_chars": 4}).out.Result.(*gen.ReadResult); r.Text != "Shop" || !r.Truncated {
		t.Errorf("%+v", r)
	}
}

func TestWaitFor(t *testing.T) {
	t.Parallel()
	p := open(t, `<p id=a>Loading</p><button id=b disabled>Go</button><script>setTimeout(()=>{a.textContent='Order placed';b.disabled=false},500)</script>`)
	for _, c := range []struct {
		args map[string]any
		want bool
	}{
		{map[string]any{"text": "Order placed"}, true},
		{map[string]any{"text_gone": "Loading"}, true},
		{map[string]any{"target": named("Go"), "state": "enabled"}, true},
		{map[string]any{"target": named("Nowhere"), "timeout_ms": 100}, false},
		{map[string]any{"target": named("Nowhere"), "state": "hidden"}, true},
		{map[string]any{"text": "Nowhere", "timeout_ms": 100}, false},
	} {
		d := p.by(tool.SourceSystem, "wait_for", c.args)
		if d.err != nil {
			t.Fatal(d.err)
		}
		if r := d.out.Result.(*gen.WaitForResult); r.Satisfied != c.want {
			t.Errorf("%v: %+v", c.args, r)
		}
	}
}

func TestScreenshot(t *testing.T) {
	t.Parallel()
	p := open(t, `<div id=d style="width:120px;height:60px;background:red" aria-label=Box role=img></div><div style="height:3000px"></div>`)
	for _, c := range []struct {
		args map[string]any
		w, h int
	}{
		{map[string]any{}, 1280, 800},
		{map[string]any{"target": named("Box")}, 120, 60},
	} {
		d := p.by(tool.SourceSystem, "screenshot", c.args)
		if d.err != nil {
			t.Fatal(d.err)
		}
		if r := d.out.Result.(*gen.ScreenshotResult); r.Width != c.w || r.Height != c.h || !strings.HasPrefix(r.Artifact, "sha256:") {
			t.Errorf("%v: %+v", c.args, r)
		}
	}
	if r := p.by(tool.SourceSystem, "screenshot", map[string]any{"full_page": true}).out.Result.(*gen.ScreenshotResult); r.Height < 3000 {
		t.Errorf("%+v", r)
	}
}

func TestElementsInEvidence(t *testing.T) {
	t.Parallel()
	p := open(t, shop+`<iframe title="Inside" srcdoc="`+srcdoc(`<button>Inner</button>`)+`"></iframe>`)
	q := []tool.ElementQuery{{Name: "Amount", Role: "textbox"}, {Name: "Gift", Role: "checkbox"}, {Name: "Order", Role: "button"}, {Name: "Inner"}, {Name: "Nothing"}, {Name: "order", Role: "button"}}
	d := p.attempt(p.call("read", map[string]any{}), tool.Plan{Number: 1, Source: tool.SourceAX}, tool.Needs{Elements: q})
	if d.err != nil {
		t.Fatal(d.err)
	}
	es := d.after.Elements
	if es[0].State["value"] != "3" || es[1].State["checked"] != true || es[2].State["enabled"] != false || es[3].State["visible"] != true || es[4].State["exists"] != false || es[5].State["exists"] != true {
		t.Errorf("%+v", es)
	}
	if _, has := es[4].State["value"]; has {
		t.Error("an absent element has a value")
	}
}
