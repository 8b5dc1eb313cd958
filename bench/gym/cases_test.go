package gym_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"toolsvc/bench/gym"
	"toolsvc/tool"
)

func everyCase() []gym.Case { return append(gym.Cases(), gym.PlayerCases()...) }

func TestCatalogue(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range everyCase() {
		if seen[c.Name] {
			t.Errorf("two cases are called %s", c.Name)
		}
		seen[c.Name] = true
		if found, ok := gym.Lookup(c.Name); !ok || found.Path != c.Path {
			t.Errorf("%s cannot be looked up", c.Name)
		}
		if c.About == "" || len(c.Steps) == 0 || c.Name != "player-none" && !slices.Contains(tool.Failures, c.Failure) {
			t.Errorf("%s is incomplete: %+v", c.Name, c)
		}
		if c.Want.Success == (c.Want.Failure != "") {
			t.Errorf("%s must want success or a failure, and not both", c.Name)
		}
		if c.Want.Failure != "" && !slices.Contains(tool.Failures, c.Want.Failure) {
			t.Errorf("%s must end as %q, which is not in the catalogue of failures", c.Name, c.Want.Failure)
		}
		if c.Want.Wrong != (gym.Bounds{}) {
			t.Errorf("%s allows wrong effects", c.Name)
		}
		for _, s := range c.Steps {
			if s.Tool.Toolset() != "browser" || !json.Valid([]byte(s.Args)) {
				t.Errorf("%s: the step %+v is no call", c.Name, s)
			}
		}
		if d := drills[c.Name]; d.fault == nil || d.solve == nil {
			t.Errorf("%s is not proven: it needs a drill", c.Name)
		}
	}
	for name := range drills {
		if !seen[name] {
			t.Errorf("the drill %s belongs to no case", name)
		}
	}
}

// Every page belongs to a case, or is reached from one.
func TestNoPageIsForgotten(t *testing.T) {
	t.Parallel()
	pages, err := fs.Glob(os.DirFS("."), "pages/*.html")
	if err != nil || len(pages) == 0 {
		t.Fatalf("list the pages: %v", err)
	}
	used := map[string]bool{}
	for _, c := range everyCase() {
		name, _, _ := strings.Cut(strings.TrimPrefix(c.Path, "/c/"), "?")
		used[name] = true
	}
	for _, p := range pages {
		name := strings.TrimSuffix(strings.TrimPrefix(p, "pages/"), ".html")
		parent, _, _ := strings.Cut(name, ".")
		if !used[parent] {
			t.Errorf("%s belongs to no case", p)
		}
	}
}

// Pages load nothing from anywhere else.
func TestPagesStandAlone(t *testing.T) {
	t.Parallel()
	outside := regexp.MustCompile(`(?:src|href|url\(|fetch\(|import\s)[^>]{0,20}https?://`)
	for _, pattern := range []string{"pages/*.html", "static/*", "demo/*"} {
		names, err := fs.Glob(os.DirFS("."), pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if at := outside.Find(text); at != nil {
				t.Errorf("%s loads from outside: %s", name, at)
			}
		}
	}
}

// TestFaults proves for each case that its fault lands.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range everyCase() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			d := drills[c.Name]
			if d.faultAt != "" {
				page, _, _ := strings.Cut(c.Path, "?")
				if !strings.HasPrefix(d.faultAt, page+"?") {
					t.Fatalf("%s is not the case's page", d.faultAt)
				}
				c.Path = d.faultAt
			}
			d.fault(openTab(t, c, d.accept))
		})
	}
}

// TestSolutions proves for each case that it can end as it must: the truth is as wanted, agrees with the server's books, and the
// caller's expectations tell the state before from the state after.
func TestSolutions(t *testing.T) {
	t.Parallel()
	for _, c := range everyCase() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			d := drills[c.Name]
			p := openTab(t, c, d.accept)
			last := c.Steps[len(c.Steps)-1]
			if last.Expect != nil && c.Name != "checkbox-ticked" && p.holds(last.Expect, false) {
				t.Errorf("all expectations hold before anything was done: %q", last.Expect)
			}
			d.solve(p)
			if c.Ledger {
				p.booked(c.Want.Effects.Max)
			}
			if wrong := c.Want.Met(p.truth()); wrong != nil {
				t.Errorf("the truth is not as wanted: %s: %+v", strings.Join(wrong, "; "), p.truth().Log)
			}
			if c.Ledger {
				if books, page := server.Truth(p.session), p.truth(); books.Goal != page.Goal || books.Effects != page.Effects {
					t.Errorf("the server counted %+v, the page %+v", books, page)
				}
			}
			if c.Want.Success && !p.eventually(last.Expect) {
				t.Errorf("the expectations do not hold after the right thing was done: %q", last.Expect)
			}
			if !c.Want.Success && last.Expect != nil && p.holds(last.Expect, false) {
				t.Errorf("the expectations hold although the case cannot succeed: %q", last.Expect)
			}
		})
	}
}

// Opening a case by its address starts its truth at zero, whatever happened in the same window before.
func TestTruthStartsAtZero(t *testing.T) {
	t.Parallel()
	c, _ := gym.Lookup("nav-full")
	p := openTab(t, c, false)
	drills["nav-full"].solve(p)
	p.wants(1, 0, 1)
	p.eval("location.reload()", nil)
	p.until(`performance.getEntriesByType("navigation")[0].type === "reload" && __truth.goal === 2`)
	p.open(c.URL(server.URL, p.session))
	p.wants(0, 0, 0)
}

// Going back keeps what happened.
func TestTruthSurvivesTheWayBack(t *testing.T) {
	t.Parallel()
	c, _ := gym.Lookup("nav-full")
	p := openTab(t, c, false)
	drills["nav-full"].solve(p)
	p.eval("history.back()", nil)
	p.until(`location.pathname === "/c/nav-full" && __truth.goal === 1`)
	p.wants(1, 0, 1)
}

// A window that is opened twice is two effects, in each of the windows.
func TestTruthIsSharedByWindows(t *testing.T) {
	t.Parallel()
	c, _ := gym.Lookup("nav-window")
	p := openTab(t, c, false)
	p.clickOn(`$("open")`)
	p.until("__truth.goal === 1")
	if _, err := chromedp.Call(p.ctx, page.BringToFront, cdp.Empty{}); err != nil {
		t.Fatalf("come back to the first window: %v", err)
	}
	p.clickOn(`$("open")`)
	p.until("__truth.goal === 2")
	p.wants(2, 0, 2)
}

// Keeping the truth changes nothing that could be taken for evidence.
func TestTruthIsInvisible(t *testing.T) {
	t.Parallel()
	c, _ := gym.Lookup("no-op-forever")
	p := openTab(t, c, false)
	p.eval(`window.changes = 0; new MutationObserver((list) => { changes += list.length }).observe(document, { subtree: true, childList: true, attributes: true, characterData: true }); performance.clearResourceTimings()`, nil)
	p.clickOn(`$("sync")`)
	p.noted("click ignored")
	p.eval(`gym.goal("by hand"); gym.wrong("by hand"); gym.effect("by hand")`, nil)
	p.wants(1, 1, 3)
	var seen [3]int
	p.eval(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done([changes, performance.getEntriesByType("resource").length, localStorage.length + sessionStorage.length + document.cookie.length]))))`, &seen)
	if seen != [3]int{} {
		t.Errorf("recording made %d changes of the document and %d requests, and left %d things in storage", seen[0], seen[1], seen[2])
	}
}

// booked waits until the server's books hold that many effects of this visit.
func (p *tab) booked(effects int) {
	p.Helper()
	for start := time.Now(); server.Truth(p.session).Effects != effects; {
		if time.Since(start) > 10*time.Second {
			p.Fatalf("the server's books hold %+v, wanted %d effects", server.Truth(p.session), effects)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// write types one character with a key event.
func (p *tab) write(key string) {
	p.Helper()
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
		params := input.DispatchKeyEventParams{Type: kind, Key: key, Text: key, WindowsVirtualKeyCode: int64(strings.ToUpper(key)[0])}
		if kind == input.DispatchKeyEventTypeKeyUp {
			params.Text = ""
		}
		if _, err := chromedp.Call(p.ctx, input.DispatchKeyEvent, params); err != nil {
			p.Fatalf("press %s: %v", key, err)
		}
	}
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', 3, 64) }

// eventually reports whether the conditions come to hold within some seconds.
func (p *tab) eventually(conditions []string) bool {
	p.Helper()
	for start := time.Now(); time.Since(start) < 5*time.Second; time.Sleep(20 * time.Millisecond) {
		if p.holds(conditions, true) {
			return true
		}
	}
	return false
}

// holds evaluates conditions over what the page shows now. changed stands for effect.changed, which this small evaluator does not measure.
func (p *tab) holds(conditions []string, changed bool) bool {
	p.Helper()
	env, err := cel.NewEnv(
		cel.Variable("page", cel.DynType), cel.Variable("effect", cel.DynType),
		cel.Function("element", cel.Overload("element", []*cel.Type{cel.StringType, cel.StringType}, cel.DynType,
			cel.BinaryBinding(func(name, role ref.Val) ref.Val {
				return types.NewDynamicMap(types.DefaultTypeAdapter, p.state(string(name.(types.String)), string(role.(types.String))))
			}))))
	if err != nil {
		p.Fatal(err)
	}
	shown := map[string]any{}
	p.eval(`({ url: location.href, title: document.title, text: document.body.innerText, media: [...document.querySelectorAll("audio")].map((a) => ({ paused: a.paused })) })`, &shown)
	for _, condition := range conditions {
		ast, issues := env.Compile(condition)
		if issues.Err() != nil {
			p.Fatalf("%s: %v", condition, issues.Err())
		}
		program, err := env.Program(ast)
		if err != nil {
			p.Fatalf("%s: %v", condition, err)
		}
		value, _, err := program.Eval(map[string]any{"page": shown, "effect": map[string]any{"changed": changed}})
		if err != nil {
			p.Fatalf("%s: %v", condition, err)
		}
		if value != types.True {
			return false
		}
	}
	return true
}

// state is what the accessibility tree says of an element.
func (p *tab) state(name, role string) map[string]any {
	nodes := p.seen(role, name)
	s := map[string]any{"exists": len(nodes) > 0, "visible": len(nodes) > 0, "count": len(nodes), "enabled": false, "checked": false, "value": ""}
	if len(nodes) == 0 {
		return s
	}
	s["enabled"], s["value"] = true, words(nodes[0].Value)
	for _, property := range nodes[0].Properties {
		switch fmt.Sprint(property.Name) {
		case "disabled":
			s["enabled"] = words(property.Value) != "true"
		case "checked":
			s["checked"] = words(property.Value) == "true"
		}
	}
	return s
}
