package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"toolsvc/executors/browser/page"
	gen "toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

func TestConsole(t *testing.T) {
	t.Parallel()
	p := open(t, `<button onclick="console.error('could not save',{id:7});this.textContent='x'">Save</button><script>console.log('ready',1,true);console.debug('fine');console.warn('old')</script>`)
	p.do("click", clickOn("Save")).must(t, tool.EffectConfirmed)
	said := func(args map[string]any) string {
		var b strings.Builder
		for _, m := range p.do("console", args).must(t, tool.EffectNone).out.Result.(*gen.ConsoleResult).Messages {
			fmt.Fprintf(&b, "%s: %s\n", m.Level, m.Text)
		}
		return b.String()
	}
	if got := said(map[string]any{}); got != "info: ready 1 true\nwarning: old\nerror: could not save {id: 7}\n" {
		t.Errorf("%q", got)
	}
	if got := said(map[string]any{"level": "error"}); strings.Count(got, "\n") != 1 {
		t.Errorf("%q", got)
	}
	if got := said(map[string]any{"level": "debug", "limit": 2}); !strings.HasPrefix(got, "warning: old") {
		t.Errorf("%q", got)
	}
	p.truth("setTimeout(() => { throw new Error('too late') })")
	p.truthOf("an error that nobody caught is told", func() bool {
		return strings.Contains(said(map[string]any{"level": "error"}), "error: Uncaught Error: too late\n")
	})
	p.do("reload", map[string]any{}).must(t, tool.EffectConfirmed)
	if got := said(map[string]any{}); strings.Contains(got, "could not save") {
		t.Errorf("of the document before: %q", got)
	}
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	p := open(t, `<button onclick="this.textContent='…';fetch('/api/orders',{method:'POST'}).then(()=>fetch('/api/missing')).then(()=>this.textContent='Done')">Order</button>`, func(m *http.ServeMux) {
		m.HandleFunc("POST /api/orders", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201) })
	})
	d := p.do("click", clickOn("Order")).must(t, tool.EffectConfirmed)
	p.do("wait_for", map[string]any{"text": "Done"}).must(t, tool.EffectNone)
	posts := 0
	for _, r := range at(t, d.after, "page", "requests").([]any) {
		if r := r.(map[string]any); r["method"] == "POST" && strings.HasSuffix(r["url"].(string), "/api/orders") && r["status"] == 201 {
			posts++
		}
	}
	if posts != 1 {
		t.Errorf("evidence tells of %d orders: %v", posts, at(t, d.after, "page", "requests"))
	}
	r := p.do("network", map[string]any{"method": "POST"}).must(t, tool.EffectNone).out.Result.(*gen.NetworkResult).Requests
	if len(r) != 1 || r[0].Status != 201 || r[0].Type != "fetch" || r[0].DurationMs == nil {
		t.Errorf("%+v", r)
	}
	r = p.do("network", map[string]any{"failed": true, "url_contains": "/api/"}).must(t, tool.EffectNone).out.Result.(*gen.NetworkResult).Requests
	if len(r) != 1 || r[0].Status != 404 {
		for _, x := range r {
			t.Errorf("%+v", *x)
		}
	}
}

// A condition such as "the order was sent once" speaks of the call, whichever attempt sent it.
func TestRequestsAreThoseOfTheCall(t *testing.T) {
	t.Parallel()
	p := open(t, `<button onclick="fetch('/api/orders',{method:'POST'});this.textContent='Order again'">Order</button>`, func(m *http.ServeMux) {
		m.HandleFunc("POST /api/orders", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(201) })
	})
	count := func(d done) int {
		if d.err != nil {
			t.Fatal(d.err)
		}
		return len(at(t, d.after, "page", "requests").([]any))
	}
	call := p.call("click", map[string]any{"target": map[string]any{"selector": "button"}})
	one := p.attempt(call, tool.Plan{Number: 1, Source: tool.SourceCDP, Input: tool.InputMouse}, tool.Needs{})
	two := p.attempt(call, tool.Plan{Number: 2, Source: tool.SourceCDP, Input: tool.InputMouse}, tool.Needs{})
	if count(one) != 1 || count(two) != 2 {
		t.Errorf("%d, then %d", count(one), count(two))
	}
	if next := p.do("click", map[string]any{"target": map[string]any{"selector": "button"}}); count(next) != 1 {
		t.Errorf("the next call tells of %d", count(next))
	}
}

func TestFilterRequests(t *testing.T) {
	t.Parallel()
	all := []page.Request{{Method: "GET", URL: "http://a/x", Status: 200, Type: "document", Took: time.Second}, {Method: "POST", URL: "http://a/api", Status: 500}, {Method: "GET", URL: "http://a/api", Open: true}, {Method: "GET", URL: "http://a/gone", Problem: "net::ERR_FAILED"}}
	for _, c := range []struct {
		want action
		n    int
		cut  bool
	}{
		{action{most: 10}, 4, false},
		{action{most: 2}, 2, true},
		{action{most: 10, contains: "/api"}, 2, false},
		{action{most: 10, method: "POST"}, 1, false},
		{action{most: 10, failed: true}, 2, false},
	} {
		if got, cut := filterRequests(all, c.want); len(got) != c.n || cut != c.cut {
			t.Errorf("%+v: %d, %t", c.want, len(got), cut)
		}
	}
}

// A function that never comes back is ended. It may have done what no page shows, so that it is not run again unasked.
func TestEvaluateWithoutAnEnd(t *testing.T) {
	t.Parallel()
	p := open(t, counter)
	call := p.call("evaluate", map[string]any{"function": "() => { window.n = 7; for (;;); }", "timeout_ms": 300})
	d := p.attempt(call, tool.Plan{Number: 1, Source: tool.SourceAX}, tool.Needs{})
	if f := tool.AsFailed(d.err); d.err == nil || f.Failure != tool.Timeout || !f.Dispatched || !strings.Contains(f.Message, "did not return within 300ms") {
		t.Fatalf("%v, %s", d.err, d.out.Proof)
	}
	_ = d.att.Close()
	again, out, err := p.x.Reconcile(t.Context(), call, d.before)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if out.Effect != tool.EffectUnknown {
		t.Errorf("%s: %s", out.Effect, out.Proof)
	}
	if got := p.truth("window.n"); got != "7" {
		t.Errorf("the page does not answer, or the function had no effect: %s", got)
	}
}

func TestEvaluate(t *testing.T) {
	t.Parallel()
	p := open(t, `<ul><li>One</li><li id=two>Two</li></ul><script>window.secret=42</script>`)
	value := func(args map[string]any) string {
		d := p.by(tool.SourceCDP, "evaluate", args)
		if d.err != nil {
			t.Fatal(d.err)
		}
		return d.out.Result.(*gen.EvaluateResult).Value
	}
	for fn, want := range map[string]string{
		"() => document.querySelectorAll('li').length": "2",
		"async () => ({n: window.secret})":             `{"n":42}`,
		"() => {}":                                     "null",
		"function () { return 'ü' } // a comment":      `"ü"`,
	} {
		if got := value(map[string]any{"function": fn}); got != want {
			t.Errorf("%s: %s, want %s", fn, got, want)
		}
	}
	if got := value(map[string]any{"function": "e => e.id", "target": named("Two")}); got != `"two"` {
		t.Errorf("of an element: %s", got)
	}
	d := p.do("evaluate", map[string]any{"function": "() => { document.body.append('more'); return 1 }"}).must(t, tool.EffectConfirmed)
	if !d.out.Result.(*gen.EvaluateResult).Changed {
		t.Error("the change was not seen")
	}
	if d := p.do("evaluate", map[string]any{"function": "() => 1"}); d.err != nil || d.out.Effect == tool.EffectNone {
		t.Errorf("nobody can prove that a function did nothing: %s", d.out.Proof)
	}
	p.do("evaluate", map[string]any{"function": "document.title"}).fails(t, tool.InvalidArguments)
	p.do("evaluate", map[string]any{"function": "() => { return ("}).fails(t, tool.InvalidArguments)
	if d := p.do("evaluate", map[string]any{"function": "() => { throw new Error('not today') }"}); d.err == nil || tool.AsFailed(d.err).Failure != tool.VerificationFailed || !strings.Contains(d.err.Error(), "not today") {
		t.Errorf("%v", d.err)
	}
	if d := p.do("evaluate", map[string]any{"function": "() => { for (;;); }", "timeout_ms": 300}); d.err == nil || tool.AsFailed(d.err).Failure != tool.Timeout {
		t.Errorf("%v", d.err)
	}
	if got := value(map[string]any{"function": "() => 'alive'"}); got != `"alive"` {
		t.Errorf("after an endless one: %s", got)
	}
}
