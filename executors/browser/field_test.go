package browser

import (
	"fmt"
	"strings"
	"testing"

	gen "toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

func typing(name, text string, more ...any) map[string]any {
	m := map[string]any{"target": named(name), "text": text}
	for i := 0; i+1 < len(more); i += 2 {
		m[more[i].(string)] = more[i+1]
	}
	return m
}

func TestTypeReplacesAppendsAndSkips(t *testing.T) {
	t.Parallel()
	p := open(t, `<label>E-mail <input id=e value=old></label><p id=out></p><script>e.oninput=()=>window.inputs=(window.inputs||0)+1</script>`)
	d := p.do("type", typing("E-mail", "ada@example.com")).must(t, tool.EffectConfirmed)
	if at(t, d.before, "target", "value") != "old" || at(t, d.after, "target", "value") != "ada@example.com" || at(t, d.after, "target", "focused") != true {
		t.Errorf("target %v", d.after.Values["target"])
	}
	if v := d.out.Result.(*gen.TypeResult).Value; v == nil || *v != "ada@example.com" {
		t.Error("no value in the result")
	}
	n := p.truth("window.inputs")
	p.do("type", typing("E-mail", "ada@example.com")).must(t, tool.EffectNone)
	if p.truth("window.inputs") != n {
		t.Error("what was there was typed again")
	}
	p.do("type", typing("E-mail", ".uk", "append", true)).must(t, tool.EffectConfirmed)
	if got := p.truth("e.value"); got != "ada@example.com.uk" {
		t.Errorf("value %q", got)
	}
	p.do("type", typing("E-mail", "")).must(t, tool.EffectConfirmed)
	if got := p.truth("e.value"); got != "" {
		t.Errorf("value %q", got)
	}
}

func TestTypeIntoAllKindsOfFields(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ html, text, want, read string }{
		"textarea":        {`<textarea id=f aria-label=F></textarea>`, "two\nlines", "two\nlines", "f.value"},
		"contenteditable": {`<div id=f contenteditable role=textbox aria-label=F>old</div>`, "new text", "new text", "f.innerText"},
		"number":          {`<input id=f type=number aria-label=F>`, "42", "42", "f.value"},
		"date":            {`<input id=f type=date aria-label=F>`, "2026-11-21", "2026-11-21", "f.value"},
		"keys only":       {`<div id=f tabindex=0></div><input id=g aria-label=F><script>g.addEventListener('beforeinput',e=>{if(!window.k)e.preventDefault()});g.addEventListener('keydown',e=>{window.k=1})</script>`, "abc", "abc", "g.value"},
		"search":          {`<input id=f type=search aria-label=F>`, "abc", "abc", "f.value"},
		"many characters": {`<textarea id=f aria-label=F></textarea>`, strings.Repeat("0123456789", 500), "5000", "f.value.length"},
		"hangul":          {`<input id=f aria-label=F>`, "안녕하세요 日本語", "안녕하세요 日本語", "f.value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, c.html)
			p.do("type", typing("F", c.text)).must(t, tool.EffectConfirmed)
			if got := p.truth(c.read); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestTypeSubmits(t *testing.T) {
	t.Parallel()
	p := open(t, `<form onsubmit="event.preventDefault();window.sent=(window.sent||0)+1;out.textContent='sent'"><input aria-label=Query></form><p id=out></p>`)
	p.do("type", typing("Query", "cats", "submit", true)).must(t, tool.EffectConfirmed)
	if got := p.truth("window.sent"); got != "1" {
		t.Errorf("sent %s times", got)
	}
}

func TestPasswordsAreNeverShown(t *testing.T) {
	t.Parallel()
	p := open(t, `<input type=password aria-label=Password id=f>`)
	d := p.do("type", typing("Password", "hunter2-secret")).must(t, tool.EffectConfirmed)
	text, _, err := d.after.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "hunter2") || strings.Contains(p.do("snapshot", map[string]any{}).out.Result.(*gen.SnapshotResult).Snapshot, "hunter2") {
		t.Error("the password is shown")
	}
	if p.truth("f.value") != "hunter2-secret" {
		t.Error("not typed")
	}
}

func TestReadOnlyField(t *testing.T) {
	t.Parallel()
	open(t, `<input aria-label=F readonly value=x>`).do("type", typing("F", "y")).fails(t, tool.Disabled)
}

// TestTypingErrorIsRolledBack: typing opens an error dialog; the rollback closes it and gives the field its value back.
func TestTypingErrorIsRolledBack(t *testing.T) {
	t.Parallel()
	p := open(t, `<input id=f aria-label=Name value=Ada><dialog id=d aria-label="Save failed"><p>Error: the server said no.</p><button onclick="d.close()">Close</button></dialog>
		<script>f.oninput=()=>{if(!window.told){window.told=1;d.showModal()}}</script>`)
	d := p.do("type", typing("Name", "Grace"))
	if d.err != nil {
		t.Fatal(d.err)
	}
	if es := at(t, d.after, "page", "errors").([]any); len(es) != 1 || !strings.Contains(es[0].(string), "the server said no") {
		t.Errorf("errors %v", es)
	}
	if ds := at(t, d.after, "page", "dialogs").([]any); len(ds) != 1 || ds[0].(map[string]any)["type"] != "modal" || ds[0].(map[string]any)["message"] != "Save failed" {
		t.Errorf("dialogs %v", ds)
	}
	rb, err := d.att.Rollback(t.Context())
	if err != nil || !rb.Performed {
		t.Fatalf("rollback %+v, %v", rb, err)
	}
	if p.truth("f.value") != "Ada" || p.truth("d.open") != "false" {
		t.Errorf("value %s, dialog open %s", p.truth("f.value"), p.truth("d.open"))
	}
}

func TestRollbackRefusesWhatStands(t *testing.T) {
	t.Parallel()
	p := open(t, `<button onclick="log.append('x');d.showModal()">Go</button><div id=log></div><dialog id=d>Error!<button onclick="d.close()">Close</button></dialog>`)
	d := p.do("click", clickOn("Go")).must(t, tool.EffectConfirmed)
	rb, err := d.att.Rollback(t.Context())
	if err != nil || rb.Performed || rb.Refused == "" {
		t.Errorf("rollback %+v, %v", rb, err)
	}
}

func TestClickOpenedErrorDialogIsRolledBack(t *testing.T) {
	t.Parallel()
	p := open(t, `<button onclick="d.showModal()">Go</button><dialog id=d>Error: no.<button onclick="d.close()">Close</button></dialog>`)
	d := p.do("click", clickOn("Go")).must(t, tool.EffectConfirmed)
	rb, err := d.att.Rollback(t.Context())
	if err != nil || !rb.Performed {
		t.Errorf("rollback %+v, %v", rb, err)
	}
}

// A page of its own making puts its dialog into the document and takes it out again; what else it changed stands, and is no secret.
func TestInsertedErrorDialogIsRolledBack(t *testing.T) {
	t.Parallel()
	const page = `<button onclick="say()">Go</button><p id=s>Ready</p><script>function say() { %s
		const d = document.createElement('div'); d.setAttribute('role', 'alertdialog'); d.setAttribute('aria-modal', 'true'); d.setAttribute('aria-label', 'Not saved');
		d.innerHTML = '<h2>Not saved</h2><p>The connection was lost.</p><button>Close</button>';
		d.style.cssText = 'position:fixed;inset:100px;background:#fff';
		d.querySelector('button').onclick = () => d.remove(); document.body.append(d); }</script>`
	for also, performed := range map[string]bool{"": true, "s.textContent = 'Changed';": false} {
		p := open(t, fmt.Sprintf(page, also))
		d := p.do("click", clickOn("Go")).must(t, tool.EffectConfirmed)
		rb, err := d.att.Rollback(t.Context())
		if err != nil || rb.Performed != performed || p.truth("document.querySelectorAll('[role=alertdialog]').length") != "0" {
			t.Errorf("with %q: rollback %+v, %v", also, rb, err)
		}
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	p := open(t, `<label>Country <select id=s onchange="window.n=(window.n||0)+1"><option value=kr>Korea</option><option value=jp>Japan</option><option value=x disabled>Nowhere</option></select></label>`)
	sel := func(v string) map[string]any {
		return map[string]any{"target": named("Country"), "values": []string{v}}
	}
	d := p.do("select", sel("Japan")).must(t, tool.EffectConfirmed)
	if p.truth("s.value") != "jp" || p.truth("window.n") != "1" || d.out.Result.(*gen.SelectResult).Selected[0] != "Japan" || at(t, d.after, "target", "selected").([]any)[0] != "jp" {
		t.Errorf("value %s, changes %s, evidence %v", p.truth("s.value"), p.truth("window.n"), d.after.Values["target"])
	}
	rb, err := d.att.Rollback(t.Context())
	if err != nil || !rb.Performed || p.truth("s.value") != "kr" {
		t.Errorf("rollback %+v, %v: value %s", rb, err, p.truth("s.value"))
	}
	p.do("select", sel("kr")).must(t, tool.EffectNone)
	f := p.do("select", sel("France")).fails(t, tool.TargetNotFound)
	if !strings.Contains(f.Message, "Korea") {
		t.Error(f.Message)
	}
	p.do("select", sel("Nowhere")).fails(t, tool.Disabled)
}

func TestSelectInAListOfThePagesOwn(t *testing.T) {
	t.Parallel()
	p := open(t, `<div id=c role=combobox tabindex=0 aria-label=Colour aria-expanded=false aria-controls=l style="width:100px;border:1px solid">Red</div>
		<ul id=l role=listbox hidden><li role=option>Red</li><li role=option>Blue</li></ul><script>
		c.onclick=()=>{l.hidden=false;c.setAttribute('aria-expanded','true')};
		l.onclick=e=>{c.textContent=e.target.textContent;window.n=(window.n||0)+1;l.hidden=true;c.setAttribute('aria-expanded','false')}</script>`)
	d := p.do("select", map[string]any{"target": named("Colour"), "values": []string{"Blue"}}).must(t, tool.EffectConfirmed)
	if p.truth("c.textContent") != "Blue" || p.truth("window.n") != "1" || at(t, d.after, "target", "selected_labels").([]any)[0] != "Blue" {
		t.Errorf("text %s, evidence %v", p.truth("c.textContent"), d.after.Values["target"])
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, html := range map[string]string{
		"box":        `<label><input type=checkbox id=c onclick="window.n=(window.n||0)+1"> I accept</label>`,
		"hidden box": `<style>#c{position:absolute;opacity:0;width:0;height:0}</style><label><input type=checkbox id=c onclick="window.n=(window.n||0)+1"><span style="padding:5px;border:1px solid">I accept</span></label>`,
		"no box":     `<style>#c{display:none}</style><input type=checkbox id=c onclick="window.n=(window.n||0)+1"><label for=c>I accept</label>`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, html)
			src := tool.SourceAX
			if name == "no box" {
				src = tool.SourceCDP
			}
			d := p.by(src, "check", map[string]any{"target": named("I accept")}).must(t, tool.EffectConfirmed)
			if at(t, d.after, "target", "checked") != true || !d.out.Result.(*gen.CheckResult).Checked || p.truth("window.n") != "1" {
				t.Errorf("evidence %v, clicks %s", d.after.Values["target"], p.truth("window.n"))
			}
			p.by(src, "check", map[string]any{"target": named("I accept")}).must(t, tool.EffectNone)
			if p.truth("c.checked") != "true" || p.truth("window.n") != "1" {
				t.Error("a ticked box was clicked")
			}
		})
	}
}

func TestPress(t *testing.T) {
	t.Parallel()
	p := open(t, `<input id=a aria-label=A><input id=b aria-label=B value=text><p id=out></p><script>addEventListener('keydown',e=>{if(e.key==='Escape')out.textContent='escaped';if(e.ctrlKey&&e.key==='k')out.textContent='palette'})</script>`)
	p.do("press", map[string]any{"key": "Escape"}).must(t, tool.EffectConfirmed)
	if p.truth("out.textContent") != "escaped" {
		t.Error("Escape did nothing")
	}
	p.do("press", map[string]any{"key": "Control+k"}).must(t, tool.EffectConfirmed)
	if p.truth("out.textContent") != "palette" {
		t.Error("Control+k did nothing")
	}
	p.do("press", map[string]any{"key": "x", "target": named("A")}).must(t, tool.EffectConfirmed)
	p.do("press", map[string]any{"key": "Tab"}).must(t, tool.EffectConfirmed)
	if p.truth("a.value") != "x" || p.truth("document.activeElement.id") != "b" {
		t.Errorf("a is %q, focus on %s", p.truth("a.value"), p.truth("document.activeElement.id"))
	}
	p.do("press", map[string]any{"key": "Control+a", "target": named("B")})
	p.do("press", map[string]any{"key": "Delete"}).must(t, tool.EffectConfirmed)
	if p.truth("b.value") != "" {
		t.Errorf("b is %q", p.truth("b.value"))
	}
	p.do("press", map[string]any{"key": "NoSuchKey"}).fails(t, tool.InvalidArguments)
}

// A page that moves the focus on when a field is first focused gets the text into the field all the same, and nowhere else.
func TestStolenFocusIsTakenBack(t *testing.T) {
	t.Parallel()
	p := open(t, `<label>Search <input id=q></label><label>Name <input id=n></label>
		<script>n.addEventListener('focus', () => setTimeout(() => q.focus()), {once: true})</script>`)
	p.do("type", typing("Name", "Ada Park")).must(t, tool.EffectConfirmed)
	if p.truth("n.value") != "Ada Park" || p.truth("q.value") != "" {
		t.Errorf("the field holds %q, the other one %q", p.truth("n.value"), p.truth("q.value"))
	}
}

// TestTextIsKeptFromWhatTakesTheFocus: the page moves the focus on after the last look at it, and before the first key. What is typed into
// the wrong field cannot be taken back, so no key reaches it.
func TestTextIsKeptFromWhatTakesTheFocus(t *testing.T) {
	t.Parallel()
	const other = `<label>Note <input id=a value=old></label><input id=other aria-label=Search oninput="window.stray=1" onkeydown="window.stray=1">`
	p := open(t, other+`<script>let once=true;a.focus();a.addEventListener('select',()=>{if(once){once=false;other.focus()}})</script>`)
	p.do("type", typing("Note", "new")).must(t, tool.EffectConfirmed)
	if got := p.truth("a.value+'/'+other.value+'/'+window.stray"); got != "new//undefined" {
		t.Errorf("the fields hold %q", got)
	}
	p = open(t, other+`<script>a.addEventListener('focus',()=>Promise.resolve().then(()=>other.focus()))</script>`)
	d := p.do("type", typing("Note", "new"))
	if got := p.truth("a.value+'/'+other.value+'/'+window.stray"); got != "old//undefined" || d.err == nil || tool.AsFailed(d.err).Failure != tool.WrongTarget {
		t.Errorf("%v; the fields hold %q", d.err, got)
	}
}

// TestTextIsNotTypedAgainAfterAReaction: what the field took moved the focus on. The last key, which goes to what has it then, is kept from that;
// and nothing is typed a second time.
func TestTextIsNotTypedAgainAfterAReaction(t *testing.T) {
	t.Parallel()
	p := open(t, `<input id=a aria-label=Note><input id=other aria-label=Search onkeydown="window.stray=1"><script>
		window.inputs=0;a.oninput=()=>{inputs++;other.focus()}</script>`)
	p.do("type", typing("Note", "new"))
	if got := p.truth("inputs+'/'+other.value+'/'+window.stray"); got != "1//undefined" {
		t.Errorf("inputs, other field, keys in it: %q", got)
	}
}
