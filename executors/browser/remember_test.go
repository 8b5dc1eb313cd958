package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	mem "toolsvc/executors/browser/memory"
	keep "toolsvc/store"
	"toolsvc/tool"
)

// site is a page that is redesigned, in a run of an executor with a memory of its own.
type site struct {
	*visit
	memory *mem.Memory
	body   atomic.Value
}

// remembering serves the page at /shop/17, and opens it.
func remembering(t *testing.T, body string) *site {
	t.Helper()
	kept, err := keep.Open(t.Context(), t.TempDir(), keep.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &site{memory: mem.New(kept, nil)}
	s.body.Store(body)
	x := &Executor{opts: shared.opts, pool: shared.pool}
	x.opts.Memory = s.memory
	s.visit = openIn(t, x, "", func(mux *http.ServeMux) { mux.HandleFunc("GET /shop/{id}", s.serve) })
	s.open("/shop/17")
	return s
}

func (s *site) serve(w http.ResponseWriter, r *http.Request) {
	serve(`<script>addEventListener('click',e=>{const b=e.target.closest('button,a,[role=button],input');if(b){e.preventDefault();window.hits=(window.hits||'')+b.dataset.truth+' ';document.title=window.hits}},true)</script>`+s.body.Load().(string))(w, r)
}

func (s *site) open(path string) {
	s.t.Helper()
	if d := s.do("navigate", map[string]any{"url": s.url + path}); d.err != nil {
		s.t.Fatal(d.err)
	}
}

// redesign serves another page from now on, and opens it at another identifier of the same pattern.
func (s *site) redesign(body string) {
	s.t.Helper()
	s.body.Store(body)
	s.open("/shop/4711")
}

// learn makes a call and tells its attempt the verdict.
func (s *site) learn(verdict tool.Verdict, name string, args any) done {
	s.t.Helper()
	d := s.do(name, args)
	if d.err != nil {
		s.t.Fatal(d.err)
	}
	if err := d.att.(tool.Learner).Learn(s.t.Context(), verdict); err != nil {
		s.t.Fatal(err)
	}
	_ = d.att.Close()
	return d
}

func (s *site) entries() []mem.Entry {
	s.t.Helper()
	list, err := s.memory.List(s.t.Context(), mem.Filter{})
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

func (s *site) hits() string { return strings.TrimSpace(s.truth("window.hits||''")) }

const (
	shopBefore = `<main><h2>Your order</h2><div class=row><button id=save-order class="btn green" data-truth=right>Save order</button><button id=drop class=btn data-truth=wrong>Cancel</button></div></main>`
	shopAfter  = `<main><section><h2>Your order</h2><div><div class=actions><button class=ghost data-truth=wrong>Cancel</button><a role=button tabindex=0 class=cta data-testid=x data-truth=right>Save this order now</a></div></div></section></main>`
)

func TestRelocated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		src  tool.Source
		args map[string]any
	}{
		"by name":     {tool.SourceAX, clickOn("Save order", "role", "button")},
		"by selector": {tool.SourceCDP, map[string]any{"target": map[string]any{"selector": "#save-order"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := remembering(t, shopBefore)
			call := func() done { return s.by(c.src, "click", c.args) }
			d := call().must(t, tool.EffectConfirmed)
			if err := d.att.(tool.Learner).Learn(t.Context(), tool.VerdictSuccess); err != nil {
				t.Fatal(err)
			}
			s.redesign(shopAfter)
			d = call().must(t, tool.EffectConfirmed)
			if got := s.hits(); got != "right" {
				t.Fatalf("clicked %q", got)
			}
			if !strings.Contains(d.out.Proof, "relocated") || !strings.Contains(fmt.Sprint(d.out.Result), "relocated") {
				t.Errorf("nothing says that it was relocated: %s", d.out.Proof)
			}
			if err := d.att.(tool.Learner).Learn(t.Context(), tool.VerdictSuccess); err != nil {
				t.Fatal(err)
			}
			list := s.entries()
			if len(list) != 1 || !list[0].Relocated || list[0].Element.Name != "Save this order now" || list[0].Times != 2 || list[0].Pattern != "/shop/*" {
				t.Errorf("remembered %+v", list)
			}
			s.open("/shop/5") // and now nothing is waited for
			d = call().must(t, tool.EffectConfirmed)
			if got := s.hits(); got != "right" {
				t.Fatalf("clicked %q", got)
			}
			if d.took > waitQuiet {
				t.Errorf("took %s", d.took)
			}
		})
	}
}

// Without a verdict nothing is learnt: finding is not yet having been right.
func TestNothingIsLearntUnverified(t *testing.T) {
	t.Parallel()
	s := remembering(t, shopBefore)
	s.do("click", clickOn("Save order")).must(t, tool.EffectConfirmed)
	s.learn(tool.VerdictUncertain, "click", clickOn("Cancel"))
	if list := s.entries(); len(list) != 0 {
		t.Fatalf("remembered %+v", list)
	}
	s.redesign(shopAfter)
	s.do("click", clickOn("Save order")).fails(t, tool.TargetNotFound)
}

func TestTwinIsNotChosen(t *testing.T) {
	t.Parallel()
	s := remembering(t, `<main><div class=card><p>Plan</p><button class=buy id=p1 data-truth=right>Choose plan</button></div></main>`)
	s.learn(tool.VerdictSuccess, "click", clickOn("Choose plan"))
	s.redesign(`<main><div class=tile><p>Plan</p><button class=pick data-truth=right>Pick this plan</button></div><div class=tile><p>Plan</p><button class=pick data-truth=wrong>Pick this plan</button></div></main>`)
	f := s.do("click", clickOn("Choose plan")).fails(t, tool.AmbiguousTarget)
	if s.hits() != "" || len(f.Candidates) != 2 {
		t.Errorf("clicked %q; candidates %+v", s.hits(), f.Candidates)
	}
	s.redesign(`<main><div class=tile><p>Plan</p><button class=pick data-truth=right>Choose your plan now</button></div><div class=tile><p>Plan</p><button class=pick data-truth=wrong>Choose your plan now</button></div></main>`)
	f = s.do("click", clickOn("Choose plan")).fails(t, tool.AmbiguousTarget)
	if s.hits() != "" || len(f.Candidates) != 2 {
		t.Errorf("clicked %q; candidates %+v", s.hits(), f.Candidates)
	}
}

func TestContraryVerdictForgets(t *testing.T) {
	t.Parallel()
	s := remembering(t, shopBefore)
	s.learn(tool.VerdictSuccess, "click", clickOn("Save order"))
	s.redesign(shopAfter)
	s.learn(tool.VerdictFailure, "click", clickOn("Save order"))
	if list := s.entries(); len(list) != 0 {
		t.Fatalf("still remembered: %+v", list)
	}
	s.open("/shop/18")
	s.do("click", clickOn("Save order")).fails(t, tool.TargetNotFound)
}

func TestErasedIsForgotten(t *testing.T) {
	t.Parallel()
	s := remembering(t, shopBefore)
	s.learn(tool.VerdictSuccess, "click", clickOn("Save order"))
	s.learn(tool.VerdictSuccess, "click", clickOn("Cancel"))
	if n, err := s.memory.Erase(t.Context(), mem.Filter{Contains: "save"}); err != nil || n != 1 || len(s.entries()) != 1 {
		t.Fatalf("erased %d, %v", n, err)
	}
	s.redesign(shopAfter)
	s.do("click", clickOn("Save order")).fails(t, tool.TargetNotFound)
}

func TestOtherOriginIsNotHelped(t *testing.T) {
	t.Parallel()
	s := remembering(t, shopBefore)
	s.learn(tool.VerdictSuccess, "click", clickOn("Save order"))
	s.body.Store(shopAfter)
	other := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(other.Close)
	s.url = other.URL
	s.open("/shop/17")
	s.do("click", clickOn("Save order")).fails(t, tool.TargetNotFound)
	if s.hits() != "" {
		t.Error("something was clicked")
	}
}

func TestRemovedIsNotReplacedByItsNeighbour(t *testing.T) {
	t.Parallel()
	s := remembering(t, shopBefore)
	s.learn(tool.VerdictSuccess, "click", clickOn("Save order"))
	s.redesign(`<main><h2>Your order</h2><div class=row><button id=print class="btn green" data-truth=wrong>Print invoice</button><button id=drop class=btn data-truth=wrong>Cancel</button></div></main>`)
	f := s.do("click", clickOn("Save order")).fails(t, tool.TargetNotFound)
	if s.hits() != "" || !strings.Contains(f.Message, `"Save order"`) || !strings.Contains(f.Message, "last verified") {
		t.Errorf("clicked %q: %s", s.hits(), f.Message)
	}
}

// The description leads somewhere, but to another element than the one that was verified, which is still there: neither is clicked.
func TestDescriptionThatCameToMeanAnotherElement(t *testing.T) {
	t.Parallel()
	s := remembering(t, `<main><section aria-label=Draft><h2>Draft</h2><p>Letter to Ann</p><button id=delete-draft data-testid=delete-draft class=danger data-truth=right>Delete</button><p>Last saved today</p></section></main>`)
	s.learn(tool.VerdictSuccess, "click", clickOn("Delete"))
	s.redesign(`<nav><a href=/account/remove data-truth=wrong>Delete</a></nav><main><section aria-label=Draft><h2>Draft</h2><p>Letter to Ann</p><button id=delete-draft data-testid=delete-draft class=danger data-truth=right>Remove</button><p>Last saved today</p></section></main>`)
	f := s.do("click", clickOn("Delete")).fails(t, tool.AmbiguousTarget)
	if s.hits() != "" || len(f.Candidates) != 2 {
		t.Errorf("clicked %q: %s %+v", s.hits(), f.Message, f.Candidates)
	}
}

// A selector that leads to the opposite of what was verified is asked about; one whose element changes its name when it is acted on is not.
func TestSelectorThatLeadsToTheOpposite(t *testing.T) {
	t.Parallel()
	s := remembering(t, `<main><button id=action-1 data-truth=right>Approve</button></main>`)
	args := map[string]any{"target": map[string]any{"selector": "#action-1"}}
	s.learn(tool.VerdictSuccess, "click", args)
	s.redesign(`<main><button id=action-1 data-truth=wrong>Reject</button></main>`)
	f := s.by(tool.SourceCDP, "click", args).fails(t, tool.AmbiguousTarget)
	if s.hits() != "" || len(f.Candidates) != 1 || !strings.Contains(f.Message, "Approve") {
		t.Errorf("clicked %q: %s", s.hits(), f.Message)
	}
	s.redesign(`<main><button id=action-1 data-truth=x onclick="this.textContent=this.textContent=='Play'?'Pause':'Play'">Play</button></main>`)
	if _, err := s.memory.Erase(t.Context(), mem.Filter{}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		s.learn(tool.VerdictSuccess, "click", args)
	}
	if got := s.hits(); got != "x x x" {
		t.Errorf("clicked %q", got)
	}
}

// A description that has become ambiguous is told apart when the element is as it was and the other one clearly is not.
func TestTwinThatCameLater(t *testing.T) {
	t.Parallel()
	const card = `<section aria-label="Now playing"><h2>Now playing</h2><p>Blue in Green</p><button id=play-main data-testid=play-main class=big data-truth=right>Play</button></section>`
	s := remembering(t, card)
	s.learn(tool.VerdictSuccess, "click", clickOn("Play"))
	s.redesign(card + `<aside><h2>Radio</h2><p>Jazz FM</p><a href=/radio data-truth=wrong role=button>Play</a></aside>`)
	d := s.do("click", clickOn("Play")).must(t, tool.EffectConfirmed)
	if got := s.hits(); got != "right" || !strings.Contains(d.out.Proof, "equals") {
		t.Errorf("clicked %q: %s", got, d.out.Proof)
	}
}

// A relocated target passes the same gate as any.
func TestRelocatedPassesTheGate(t *testing.T) {
	t.Parallel()
	s := remembering(t, shopBefore)
	s.learn(tool.VerdictSuccess, "click", clickOn("Save order"))
	s.redesign(strings.Replace(shopAfter, "<a role=button", "<a role=button aria-disabled=true", 1))
	s.do("click", clickOn("Save order")).fails(t, tool.Disabled)
	if len(s.entries()) != 1 {
		t.Error("what the gate stops is no verdict on what is remembered")
	}
}

// What is typed, and what stands in fields, is not remembered.
func TestFieldsAreNotRemembered(t *testing.T) {
	t.Parallel()
	s := remembering(t, `<form><label>Password <input type=password id=pw value=hunter2></label><label>Card <input id=card value="4111 1111 1111 1111"></label><p>Account 12345678</p>
		<button type=button data-truth=right>Pay <input value=secret99 aria-label=x></button><button type=button data-truth=right>Pay now</button></form>`)
	s.learn(tool.VerdictSuccess, "type", map[string]any{"target": named("Password"), "text": "correct horse"})
	s.learn(tool.VerdictSuccess, "type", map[string]any{"target": named("Card"), "text": "4222 2222 2222 2222"})
	s.learn(tool.VerdictSuccess, "click", clickOn("Pay now"))
	list := s.entries()
	if len(list) != 3 {
		t.Fatalf("remembered %+v", list)
	}
	for _, secret := range []string{"hunter2", "4111", "4222", "correct", "12345678", "secret99"} {
		if strings.Contains(fmt.Sprintf("%+v", list), secret) {
			t.Errorf("%s is remembered: %+v", secret, list)
		}
	}
}

// Fields of a form are remembered one by one.
func TestFieldsOfAFormAreRelocated(t *testing.T) {
	t.Parallel()
	s := remembering(t, `<form><label>E-mail <input name=email></label><label>Phone <input name=phone></label></form>`)
	fill := map[string]any{"fields": []any{map[string]any{"target": named("E-mail"), "value": "a@b.example"}, map[string]any{"target": named("Phone"), "value": "123"}}}
	s.learn(tool.VerdictSuccess, "fill_form", fill)
	if list := s.entries(); len(list) != 2 {
		t.Fatalf("remembered %+v", list)
	}
	s.redesign(`<form><div><label for=f1>Telephone number</label><input id=f1 name=tel></div><div><label for=f2>Your email address</label><input id=f2 name=mail type=email></div></form>`)
	if d := s.do("fill_form", fill); d.err != nil {
		t.Fatal(d.err)
	}
	if got := s.truth("f2.value+' '+f1.value"); got != "a@b.example 123" {
		t.Errorf("the fields hold %s", got)
	}
}
