package browser

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"toolsvc/tool"
)

// The gate is begun at what the DOM search would choose, before the accessibility tree has told; only what the tree chooses is acted on, and
// nothing is scrolled for the other one.
func TestGateAheadDoesNotDecide(t *testing.T) {
	t.Parallel()
	p := open(t, `<button onclick="out.textContent='right'">Play!</button><p id=out></p><p style="height:300vh"></p>
		<button aria-hidden=true onclick="out.textContent='wrong'">Play</button>`)
	p.do("click", clickOn("Play", "role", "button")).must(t, tool.EffectConfirmed)
	if got := p.truth("out.textContent + scrollY"); got != "right0" {
		t.Errorf("clicked and scrolled: %s, want right0", got)
	}
}

// Where what the gate begun ahead saw is not as it must be, the gate begins anew: it scrolls, and waits.
func TestGateAheadIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`<p style="height:300vh"></p><button onclick="out.textContent='done'">Play</button><p id=out></p>`,
		`<button disabled id=b onclick="out.textContent='done'">Play</button><p id=out></p><script>setTimeout(() => b.disabled = false, 250)</script>`,
	} {
		p := open(t, body)
		p.do("click", clickOn("Play", "role", "button")).must(t, tool.EffectConfirmed)
		if got := p.truth("out.textContent"); got != "done" {
			t.Errorf("%s: %q", body, got)
		}
	}
}

// What selectors match is kept between looks only until it may have changed.
func TestKeptListsAreRenewed(t *testing.T) {
	t.Parallel()
	for what, body := range map[string]string{
		"attribute": `<button onclick="x.setAttribute('role','alert')">Go</button><p id=x>It failed</p>`,
		"element":   `<button onclick="x.innerHTML='<p role=alert>It failed</p>'">Go</button><div id=x></div>`,
		"shadow": `<button onclick="x.shadowRoot.querySelector('p').setAttribute('role','alert')">Go</button><div id=x></div>
			<script>x.attachShadow({mode:'open'}).innerHTML='<p>It failed</p>'</script>`,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := open(t, body)
			d := p.do("click", clickOn("Go", "role", "button")).must(t, tool.EffectConfirmed)
			if list := at(t, d.before, "page", "errors").([]any); len(list) != 0 {
				t.Errorf("errors before: %v", list)
			}
			if list := at(t, d.after, "page", "errors").([]any); len(list) != 1 {
				t.Errorf("errors after: %v, want one", list)
			}
		})
	}
}

// Listeners count only for events that there were.
func TestListenersOfTyping(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		listen  string
		again   bool // the field has the focus already
		listens bool
	}{
		"nothing":              {},
		"change":               {listen: "n.addEventListener('change', () => {})"},
		"input":                {listen: "n.addEventListener('input', () => {})", listens: true},
		"focus":                {listen: "n.addEventListener('focus', () => {})", listens: true},
		"focus, focused":       {listen: "n.addEventListener('focus', () => {})", again: true},
		"input, focused":       {listen: "n.addEventListener('input', () => {})", again: true, listens: true},
		"change, of the other": {listen: "document.addEventListener('change', () => {}); o.focus(); document.execCommand('insertText', false, 'x')", listens: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, `<label>Other <input id=o></label><label>Name <input id=n></label>`)
			if c.again {
				p.do("type", typing("Name", "Bob")).must(t, tool.EffectConfirmed)
			}
			p.truth("(() => {" + c.listen + "})()")
			d := p.do("type", typing("Name", "Ada")).must(t, tool.EffectConfirmed)
			if got := d.att.(*attempt).facts.Listens; got != c.listens {
				t.Errorf("listens is %t, want %t", got, c.listens)
			}
		})
	}
}

// A healthy click asks the page no more than it must: the count does not depend on how busy the machine is.
func TestCommandsOfAClick(t *testing.T) {
	t.Parallel()
	x, err := New(Options{Ephemeral: true}) // nobody else's commands on the connection
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := x.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	p := openIn(t, x, counter)
	p.do("click", clickOn("Play", "role", "button")).must(t, tool.EffectConfirmed)
	w := new(wire)
	x.pool.conn.Trace(w.hear)
	defer x.pool.conn.Trace(nil)
	var d done
	var asked map[string]int
	least := map[string]int{"surfaces": 0, "rested": 1, "find": 1, "gate": 0, "gateAhead": 1, "ready": 1, "observe": 2}
	for range 5 { // on a machine that starves, what was seen may be too old by the time that it is used, and is asked for again
		d = p.attempt(p.call("click", clickOn("Play", "role", "button")), tool.Plan{Number: 1, Source: tool.SourceAX, Input: tool.InputMouse}, tool.Needs{})
		d.must(t, tool.EffectConfirmed)
		all, _ := w.take()
		asked = map[string]int{}
		for what := range least {
			for _, e := range all {
				asked[what] += strings.Count(string(e.Params), "__toolsvc."+what+"(")
			}
		}
		if maps.Equal(asked, least) {
			break
		}
	}
	if !maps.Equal(asked, least) {
		t.Errorf("asked for %v, want %v", asked, least)
	}

	// The look with which the settling ended was the first evidence; every later one looks anew.
	p.truth("document.title = 'Changed'")
	e, err := d.att.Observe(context.Background(), tool.Needs{})
	if err != nil {
		t.Fatal(err)
	}
	if got := at(t, e, "page", "title"); got != "Changed" {
		t.Errorf("the second look says %q", got)
	}
}
