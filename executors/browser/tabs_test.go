package browser

import (
	"net/http"
	"slices"
	"testing"

	gen "toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

// titled serves a page with a title of its own.
func titled(title, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!doctype html><meta charset=utf-8><title>" + title + "</title>" + body))
	}
}

func tabsOf(t *testing.T, d done) (titles []string, current int) {
	t.Helper()
	if d.err != nil {
		t.Fatal(d.err)
	}
	current = -1
	for i, x := range d.out.Result.(*gen.TabsResult).Tabs {
		titles = append(titles, x.Title)
		if x.Current {
			current = i
		}
	}
	return titles, current
}

func TestTabs(t *testing.T) {
	t.Parallel()
	p := open(t, `<a href="/terms" target=_blank>Terms</a><p>Shop</p>`, func(m *http.ServeMux) {
		m.HandleFunc("GET /terms", titled("Terms", `<button onclick="this.textContent='Agreed';window.agreed=1">Agree</button>`))
		m.HandleFunc("GET /help", titled("Help", `<p>Help</p>`))
	})
	d := p.do("click", clickOn("Terms")).must(t, tool.EffectConfirmed)
	if r := d.out.Result.(*gen.ClickResult); !slices.Equal(r.OpenedTabs, []string{p.url + "/terms"}) {
		t.Errorf("opened %q", r.OpenedTabs)
	}
	if titles, current := tabsOf(t, p.do("tabs", map[string]any{})); !slices.Equal(titles, []string{"Test", "Terms"}) || current != 0 {
		t.Fatalf("%q, %d is current", titles, current)
	}
	d = p.do("tabs", map[string]any{"action": "select", "index": 1})
	if _, current := tabsOf(t, d); current != 1 || at(t, d.after, "page", "title") != "Terms" {
		t.Fatalf("%d is current, %v", current, at(t, d.after, "page", "title"))
	}
	p.do("click", clickOn("Agree")).must(t, tool.EffectConfirmed)
	if p.truth("window.agreed") != "1" {
		t.Error("the other tab was not acted on")
	}
	d = p.do("tabs", map[string]any{"action": "new", "url": p.url + "/help"}).must(t, tool.EffectConfirmed)
	if titles, current := tabsOf(t, d); !slices.Equal(titles, []string{"Test", "Terms", "Help"}) || current != 2 {
		t.Fatalf("%q, %d is current", titles, current)
	}
	d = p.do("tabs", map[string]any{"action": "close"}).must(t, tool.EffectConfirmed)
	if titles, current := tabsOf(t, d); !slices.Equal(titles, []string{"Test", "Terms"}) || current != 1 {
		t.Fatalf("%q, %d is current", titles, current)
	}
	p.do("tabs", map[string]any{"action": "close", "index": 0}).must(t, tool.EffectConfirmed)
	p.do("tabs", map[string]any{"action": "select", "index": 1}).fails(t, tool.InvalidArguments)
	d = p.do("tabs", map[string]any{"action": "close"}).must(t, tool.EffectConfirmed)
	if titles, current := tabsOf(t, d); len(titles) != 1 || current != 0 || at(t, d.after, "page", "url") != "about:blank" {
		t.Fatalf("%q, %d is current", titles, current)
	}
}

// A tab that its page closed leads back to the one before it.
func TestTabThatClosesItself(t *testing.T) {
	t.Parallel()
	p := open(t, `<button onclick="window.open('/login')">Sign in</button><p id=who>Nobody</p>`, func(m *http.ServeMux) {
		m.HandleFunc("GET /login", titled("Login", `<button onclick="opener.who.textContent='Ada';setTimeout(()=>window.close(),100)">Allow</button>`))
	})
	p.do("click", clickOn("Sign in")).must(t, tool.EffectConfirmed)
	p.do("tabs", map[string]any{"action": "select", "index": 1}).must(t, tool.EffectConfirmed)
	_ = p.do("click", clickOn("Allow")) // its tab goes away meanwhile, or just afterwards
	p.truthOf("the first tab", func() bool {
		d := p.do("read", map[string]any{"target": map[string]any{"selector": "#who"}})
		return d.err == nil && d.out.Result.(*gen.ReadResult).Text == "Ada"
	})
}

func TestTabOfAForbiddenAddress(t *testing.T) {
	t.Parallel()
	p := open(t, `<p>Shop</p>`)
	p.do("tabs", map[string]any{"action": "new", "url": "file:///etc/passwd"}).fails(t, tool.PolicyDenied)
	if titles, _ := tabsOf(t, p.do("tabs", map[string]any{})); len(titles) != 1 {
		t.Errorf("%q", titles)
	}
}

// A click whose effect is in another tab had an effect.
func TestEffectInAnotherTab(t *testing.T) {
	t.Parallel()
	p := open(t, `<button onclick="window.open('/form')">Edit</button><p id=who>Nobody</p>`, func(m *http.ServeMux) {
		m.HandleFunc("GET /form", titled("Form", `<button onclick="opener.who.textContent='Ada'">Apply</button><button onclick="window.n=1">Nothing</button>`))
	})
	p.do("click", clickOn("Edit")).must(t, tool.EffectConfirmed)
	p.do("tabs", map[string]any{"action": "select", "index": 1}).must(t, tool.EffectConfirmed)
	if d := p.do("click", clickOn("Apply")); d.err != nil || d.out.Effect == tool.EffectNone {
		t.Errorf("%v %s", d.err, d.out.Proof)
	}
	p.do("click", clickOn("Nothing")).must(t, tool.EffectNone)
}
