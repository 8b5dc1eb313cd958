package browser

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"toolsvc/tool"
)

// The beginning of a longer text, or of a longer number, is not that text.
func TestNearMeansWholeWords(t *testing.T) {
	t.Parallel()
	row := func(text string) string {
		return `<tr><td>` + text + `</td><td><button onclick="window.hit='` + text + `';this.title='x'">Delete</button></td></tr>`
	}
	for _, c := range []struct{ name, body, near, hit string }{
		{"longer number", row("INV-1041") + row("INV-2104"), "INV-104", ""},
		{"number that goes on", row("Draft 1.25") + row("Draft 3"), "Draft 1", ""},
		{"longer word", row("Adam") + row("Berta"), "Ada", ""},
		{"the text itself beside longer ones", row("INV-1041") + row("INV-104"), "INV-104", "INV-104"},
		{"a word of several", row("Ada Park") + row("Adam Smith"), "Ada", "Ada Park"},
		{"without spaces between words", row("港の灯を聴く") + row("霧笛"), "港の灯", "港の灯を聴く"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := open(t, `<table>`+c.body+`</table>`)
			d := p.by(tool.SourceCDP, "click", clickOn("Delete", "near", c.near))
			if c.hit == "" {
				d.fails(t, tool.TargetNotFound)
			}
			if got := p.truth("window.hit || ''"); got != c.hit {
				t.Errorf("%v, deleted %q, wanted %q", d.err, got, c.hit)
			}
		})
	}
}

// Rows and buttons that are there come to say something else between the finding and the click: the pointer's first touch sorts them anew.
func TestTextsThatAreWrittenAnew(t *testing.T) {
	t.Parallel()
	const script = `<script>const all=['T-11','T-12','T-13'],rows=[...document.querySelectorAll('tr')];
		const draw=()=>rows.forEach((r,i)=>{r.cells[0].textContent=all[i];r.querySelector('.n').textContent='Close '+all[i]});
		rows.forEach(r=>{for(const b of r.querySelectorAll('button'))b.onclick=()=>{window.hit=(window.hit||'')+r.cells[0].textContent;r.title='x'}});
		draw();addEventListener('EVENT',()=>{all.push(all.shift());draw()},{once:true})</script>`
	rows := `<table>` + strings.Repeat(`<tr><td></td><td><button>Close</button><button class=n></button></td></tr>`, 3) + `</table>`
	for _, event := range []string{"pointerover", "mousemove"} {
		for name, args := range map[string]map[string]any{
			"near": clickOn("Close", "near", "T-12"), "within": clickOn("Close", "within", "T-12"), "name": clickOn("Close T-12"),
		} {
			t.Run(event+" "+name, func(t *testing.T) {
				t.Parallel()
				p := open(t, rows+strings.ReplaceAll(script, "EVENT", event))
				d := p.do("click", args)
				if got := p.truth("window.hit || ''"); got != "T-12" {
					t.Errorf("%v, closed %q, wanted T-12", d.err, got)
				}
			})
		}
	}
}

// A form that is not accepted shows an error, whoever says so: the browser in a bubble, or the page below the field.
func TestRefusedFormIsAnError(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]string{
		"by the browser": `<form onsubmit="window.sent=1;return false"><input aria-label=E-mail required><button>Send</button></form>`,
		"by the page":    `<form novalidate onsubmit="m.setAttribute('aria-invalid','true');h.textContent='Please enter your e-mail';return false"><input id=m aria-label=E-mail aria-describedby=h><p id=h></p><button>Send</button></form>`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t, form).do("click", clickOn("Send"))
			errors, _ := at(t, d.after, "page", "errors").([]any)
			if d.err != nil || !slices.ContainsFunc(errors, func(e any) bool { return strings.Contains(e.(string), "E-mail") }) || !d.out.Final {
				t.Errorf("%v, errors %v, final %t", d.err, errors, d.out.Final)
			}
		})
	}
	t.Run("asked without telling", func(t *testing.T) { // pages ask all the time whether a form is valid
		t.Parallel()
		d := open(t, `<form><input required><button type=button onclick="this.form.checkValidity();o.textContent='added'">Add</button></form><p id=o></p>`).do("click", clickOn("Add")).must(t, tool.EffectConfirmed)
		if errors, _ := at(t, d.after, "page", "errors").([]any); len(errors) > 0 {
			t.Errorf("errors %v", errors)
		}
	})
}

// A request that the server refuses, and nothing else, is no change.
func TestOnlyARefusedRequest(t *testing.T) {
	t.Parallel()
	refuse := func(mux *http.ServeMux) {
		mux.HandleFunc("POST /like", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	}
	for name, show := range map[string]string{"silently": `''`, "taken back": `o.textContent='liked'`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t, `<button onclick="`+show+`;fetch('/like',{method:'POST'}).then(()=>o.textContent='211')">Like</button><p id=o>211</p>`, refuse).do("click", clickOn("Like")).must(t, tool.EffectUnknown)
			if changed := at(t, d.after, "effect", "changed"); changed != false {
				t.Errorf("changed is %v: %s", changed, d.out.Proof)
			}
		})
	}
}

// What the page shows before the server has answered is not final.
func TestAnswerIsAwaited(t *testing.T) {
	t.Parallel()
	slow := func(mux *http.ServeMux) {
		mux.HandleFunc("POST /like", func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(4 * time.Second):
			case <-r.Context().Done():
			}
		})
	}
	p := open(t, `<button onclick="o.textContent='liked';fetch('/like',{method:'POST'}).then(()=>o.textContent='answered')">Like</button><p id=o>-</p>`, slow)
	p.do("click", clickOn("Like")).must(t, tool.EffectConfirmed)
	if got := p.truth("o.textContent"); got != "answered" {
		t.Errorf("settled while the page showed %q", got)
	}
}

// A field holds what was typed in its own form; never another value that looks like it.
func TestFieldsOwnForm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, form, text string
		entered          bool
	}{
		{"capitals", "v.toUpperCase()", "save10", true},
		{"spaces around", "v.trim()", " Ada ", true},
		{"telephone", "v.replace(/\\D/g,'').replace(/^(\\d{3})(\\d{3})(\\d{4})$/,'($1) $2-$3')", "5551234567", true},
		{"currency", "v==='1234.50'?'$1,234.50':v", "1234.50", true},
		{"cents", "v==='12345'?'123.45':v", "12345", false},
		{"a sign lost", "v.replace('-','')", "-12", false},
		{"a point lost", "v.replace('.','')", "1.5", false},
		{"cut off", "v.slice(0,4)", "123456", false},
		{"figures added", "v==='1234.5'?'$1,234.50':v", "1234.5", false},
		{"some letters changed", "v.replace('Mc','MC')", "Ada McPark", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := open(t, `<input aria-label=Field oninput="const v=this.value,f=`+strings.ReplaceAll(c.form, `"`, "'")+`;if(f!==v)this.value=f">`)
			d := p.do("type", map[string]any{"target": named("Field"), "text": c.text})
			if d.err != nil {
				t.Fatal(d.err)
			}
			if got := at(t, d.after, "target", "entered"); got != c.entered {
				t.Errorf("the field holds %v: entered is %v", at(t, d.after, "target", "value"), got)
			}
		})
	}
}

// Where something above the target listens to keys, none is pressed.
func TestActivationWithoutShortcuts(t *testing.T) {
	t.Parallel()
	p := open(t, `<button id=b>Attach</button><p id=o>-</p><script>b.onclick=()=>o.textContent='attached';document.onkeydown=e=>{window.keys=(window.keys||'')+e.key}</script>`)
	p.plan(tool.Plan{Number: 2, Source: tool.SourceCDP, Input: tool.InputKeyboard}, "click", clickOn("Attach")).must(t, tool.EffectConfirmed)
	if got := p.truth("o.textContent+(window.keys||'')"); got != "attached" {
		t.Errorf("the page shows %q", got)
	}
}

func TestNoticeIsDismissed(t *testing.T) {
	t.Parallel()
	p := open(t, `<button style="position:fixed;right:9px;bottom:9px" onclick="o.textContent='saved'">Save</button><p id=o>-</p>
		<div class=toast id=n style="position:fixed;right:0;bottom:0;width:300px;height:80px;background:#222">Draft restored <button onclick="n.remove()">Dismiss</button></div>`)
	p.do("click", clickOn("Save")).must(t, tool.EffectConfirmed)
	if got := p.truth("o.textContent"); got != "saved" {
		t.Errorf("the page shows %q", got)
	}
}

// A page that says nothing but that the service is down is an error, whatever its status; one that has an error's status is, too.
func TestErrorPageIsAnError(t *testing.T) {
	t.Parallel()
	serveAs := func(status int, body string) func(*http.ServeMux) {
		return func(mux *http.ServeMux) {
			mux.HandleFunc("GET /next", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(status)
				_, _ = w.Write([]byte(body))
			})
		}
	}
	for _, c := range []struct {
		name, body string
		status     int
		wrong      bool
	}{
		{"down", `<title>Service unavailable</title><h1>Sorry</h1>`, 200, true},
		{"down, in the heading", `<title>Shop</title><h1>Something went wrong.</h1>`, 200, true},
		{"status", `<title>Shop</title><h1>Nothing here</h1>`, 404, true},
		{"well", `<title>Invoices</title><h1>Error reports</h1><p>Something went wrong twice in May.</p>`, 200, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := open(t, `<a href="/next">Next</a>`, serveAs(c.status, c.body)).do("click", clickOn("Next")).must(t, tool.EffectConfirmed)
			if errors, _ := at(t, d.after, "page", "errors").([]any); (len(errors) > 0) != c.wrong {
				t.Errorf("errors %v", errors)
			}
		})
	}
}
