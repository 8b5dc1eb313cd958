package browser

import (
	"slices"
	"testing"

	gen "toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

func TestClear(t *testing.T) {
	t.Parallel()
	p := open(t, `<label>Search <input id=s value="low tide" oninput="window.n=(window.n||0)+1"></label><label>Password <input id=w type=password value=hunter22></label><label>Day <input id=d type=date value=2026-11-21></label>`)
	for _, c := range []struct{ name, id string }{{"Search", "s"}, {"Password", "w"}, {"Day", "d"}} {
		d := p.do("clear", map[string]any{"target": named(c.name)})
		if d.err != nil || !d.out.Result.(*gen.ClearResult).Empty || p.truth(c.id+".value") != "" {
			t.Errorf("%s: %v %q", c.name, d.err, p.truth(c.id+".value"))
		}
	}
	if p.truth("window.n") != "1" {
		t.Errorf("%s input events", p.truth("window.n"))
	}
	p.do("clear", map[string]any{"target": named("Search")}).must(t, tool.EffectNone)
}

func TestUncheck(t *testing.T) {
	t.Parallel()
	p := open(t, `<label><input type=checkbox id=c checked> Newsletter</label><div role=switch aria-checked=true tabindex=0 id=s onclick="this.setAttribute('aria-checked',this.getAttribute('aria-checked')!=='true')">Dark mode</div>
		<label><input type=radio name=r id=r checked> Card</label>`)
	for _, n := range []string{"Newsletter", "Dark mode"} {
		d := p.do("uncheck", map[string]any{"target": named(n)}).must(t, tool.EffectConfirmed)
		if d.out.Result.(*gen.UncheckResult).Checked || at(t, d.after, "target", "checked") != false {
			t.Errorf("%s is still ticked", n)
		}
		p.do("uncheck", map[string]any{"target": named(n)}).must(t, tool.EffectNone)
	}
	if p.truth("c.checked") != "false" || p.truth("s.getAttribute('aria-checked')") != "false" {
		t.Error("not unticked")
	}
	p.do("uncheck", map[string]any{"target": named("Card")}).fails(t, tool.InvalidArguments)
}

const form = `<form><label>E-mail <input id=e type=email value=old></label><label>Password <input id=w type=password></label><label>Country <select id=c onchange="state.hidden=false"><option>Korea<option>Japan</select></label>
	<label id=state hidden>Prefecture <input id=f></label><label><input id=t type=checkbox> Terms</label>
	<fieldset><legend>Payment</legend><label><input type=radio name=p value=card> Card</label><label><input type=radio name=p value=bank> Bank</label></fieldset>
	<label>Volume <input id=v type=range min=0 max=100 value=10></label><label>Day <input id=d type=date></label><label>Time <input id=h type=time></label><label>Number <input id=n type=number></label></form>`

func field(name, value string) map[string]any {
	return map[string]any{"target": named(name), "value": value}
}

func TestFillForm(t *testing.T) {
	t.Parallel()
	p := open(t, form)
	fields := map[string]any{"fields": []any{field("E-mail", "ada@example.com"), field("Password", "hunter22"), field("Country", "Japan"), field("Prefecture", "Kyoto"), field("Terms", "true"),
		field("Bank", "true"), field("Volume", "70"), field("Day", "2026-11-24"), field("Time", "19:30"), field("Number", "12")}}
	d := p.do("fill_form", fields).must(t, tool.EffectConfirmed)
	for _, f := range d.out.Result.(*gen.FillFormResult).Fields {
		if !f.OK {
			t.Errorf("%s: %v", f.Field, *f.Problem)
		}
		if f.Value != nil && *f.Value == "hunter22" {
			t.Error("the password is shown")
		}
	}
	if got := p.truth("[e.value,w.value,c.value,f.value,t.checked,document.querySelector('[name=p]:checked').value,v.value,d.value,h.value,n.value]"); got != "ada@example.com,hunter22,Japan,Kyoto,true,bank,70,2026-11-24,19:30,12" {
		t.Error(got)
	}
	p.do("fill_form", fields).must(t, tool.EffectNone)
}

func TestFillFormIsUndone(t *testing.T) {
	t.Parallel()
	p := open(t, form)
	d := p.do("fill_form", map[string]any{"fields": []any{field("E-mail", "ada@example.com"), field("Country", "Japan"), field("Terms", "true"), field("Volume", "70")}}).must(t, tool.EffectConfirmed)
	rb, err := d.att.Rollback(t.Context())
	if err != nil || !rb.Performed || p.truth("[e.value,c.value,t.checked,v.value]") != "old,Korea,false,10" {
		t.Errorf("%+v, %v, %s", rb, err, p.truth("[e.value,c.value,t.checked,v.value]"))
	}
}

// What the page does not take is told, field by field.
func TestFillFormTellsWhatWasNotTaken(t *testing.T) {
	t.Parallel()
	p := open(t, `<label>Name <input id=a></label><label>Code <input id=b oninput="this.value=this.value.slice(0,3)"></label>`)
	d := p.do("fill_form", map[string]any{"fields": []any{field("Name", "Ada"), field("Code", "12345")}})
	if d.err != nil {
		t.Fatal(d.err)
	}
	r := d.out.Result.(*gen.FillFormResult).Fields
	if !r[0].OK || r[1].OK || *r[1].Value != "123" {
		t.Errorf("%+v %+v", r[0], r[1])
	}
	p.do("fill_form", map[string]any{"fields": []any{field("Name", "Ada"), field("Nowhere", "x")}})
}

// Lists that pages make of divs: a button with a list, a field that filters, several choices, radio buttons that are none.
func TestSelectInCustomLists(t *testing.T) {
	t.Parallel()
	p := open(t, `<div id=a role=combobox tabindex=0 aria-haspopup=listbox aria-controls=al aria-expanded=false aria-label=Country onclick="al.hidden=!al.hidden">Korea</div>
		<div id=al role=listbox hidden><div role=option onclick="pick(this)">Korea</div><div role=option onclick="pick(this)">Japan</div></div>
		<input id=b role=combobox aria-label=City aria-controls=bl aria-expanded=false oninput="filter()"><div id=bl role=listbox hidden></div>
		<div id=c role=listbox aria-label=Genres aria-multiselectable=true><div role=option aria-selected=true>Jazz</div><div role=option aria-selected=false>Folk</div><div role=option aria-selected=false>Rock</div></div>
		<div id=r role=radiogroup aria-label=Size><div role=radio aria-checked=false>Small</div><div role=radio aria-checked=false>Large</div></div>
		<script>const pick=o=>{a.textContent=o.textContent;al.hidden=true};
		const filter=()=>setTimeout(()=>{bl.innerHTML='';for(const x of ['Kyoto','Kyiv','Kassel'])if(b.value&&x.startsWith(b.value.slice(0,5))){const o=document.createElement('div');o.setAttribute('role','option');o.textContent=x;o.onclick=()=>{b.value=x;bl.hidden=true};bl.append(o)}bl.hidden=false},200);
		c.onclick=e=>e.target.setAttribute('aria-selected',e.target.getAttribute('aria-selected')!=='true');r.onclick=e=>{for(const x of r.children)x.setAttribute('aria-checked',x===e.target)}</script>`)
	for _, c := range []struct {
		name string
		vals []string
		now  string
		want string
	}{
		{"Country", []string{"Japan"}, "a.textContent", "Japan"},
		{"City", []string{"Kyoto"}, "b.value", "Kyoto"},
		{"Genres", []string{"Folk", "Rock"}, "[...c.children].filter(x=>x.getAttribute('aria-selected')==='true').map(x=>x.textContent)", "Folk,Rock"},
		{"Size", []string{"Large"}, "r.querySelector('[aria-checked=true]').textContent", "Large"},
	} {
		d := p.by(tool.SourceCDP, "select", map[string]any{"target": named(c.name), "values": c.vals}).must(t, tool.EffectConfirmed)
		if p.truth(c.now) != c.want {
			t.Errorf("%s: %s", c.name, p.truth(c.now))
		}
		for _, v := range c.vals {
			found := false
			for _, l := range at(t, d.after, "target", "selected_labels").([]any) {
				found = found || l == v
			}
			if !found {
				t.Errorf("%s: evidence tells of %v", c.name, at(t, d.after, "target", "selected_labels"))
			}
		}
	}
	if d := p.by(tool.SourceCDP, "select", map[string]any{"target": named("Country"), "values": []string{"Chile"}}); d.err == nil {
		t.Error("chose what is not there")
	}
}

// What is no box is not clicked by check and uncheck: the click would do something else, and again with the next source.
func TestCheckNeedsABox(t *testing.T) {
	t.Parallel()
	p := open(t, `<button onclick="window.n=(window.n||0)+1;this.after('.')">Save</button><label>Name <input></label><label><span>Terms</span><input type=checkbox id=c></label><div role=option aria-selected=false>Row</div>`)
	for _, action := range []string{"check", "uncheck"} {
		p.by(tool.SourceCDP, action, map[string]any{"target": named("Save")}).fails(t, tool.InvalidArguments)
	}
	if n := p.truth("String(window.n)"); n != "undefined" {
		t.Errorf("clicked %s times", n)
	}
	p.do("check", map[string]any{"target": map[string]any{"selector": "label:has(span)"}}).must(t, tool.EffectConfirmed)
	if p.truth("c.checked") != "true" {
		t.Error("the label of a box does not tick it")
	}
}

// Options that were written in other letters are selected, and that counts.
func TestSelectInOtherLetters(t *testing.T) {
	t.Parallel()
	p := open(t, `<label>Color <select id=s><option>Red<option>Green</select></label>`)
	d := p.do("select", map[string]any{"target": named("Color"), "values": []string{"green"}}).must(t, tool.EffectConfirmed)
	if p.truth("s.value") != "Green" {
		t.Errorf("%s is selected", p.truth("s.value"))
	}
	if at(t, d.after, "target", "entered") != true {
		t.Error("the page does not say that it is selected")
	}
	if got := d.out.Result.(*gen.SelectResult).Selected; !slices.Equal(got, []string{"Green"}) {
		t.Errorf("selected: %q", got)
	}
}
