package gym_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	ax "github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"toolsvc/bench/gym"
)

// One gym and one browser serve all tests of this binary; each test has a browser context of its own.
var (
	server  *gym.Server
	browser context.Context
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if server, err = gym.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		profile, err := os.MkdirTemp("", "gym-browser-")
		if err != nil {
			fmt.Fprintln(os.Stderr, "make a profile for the browser:", err)
			return 1
		}
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.UserDataDir(profile),
			chromedp.WindowSize(1280, 800), chromedp.Flag("hide-scrollbars", true), chromedp.Flag("site-per-process", true))
		allocator, stopBrowser := chromedp.NewExecAllocator(context.Background(), options...)
		tab, closeTab := chromedp.NewContext(allocator)
		browser = tab
		if err := chromedp.Do(tab); err != nil { // without a deadline: the first run decides how long the browser lives
			fmt.Fprintln(os.Stderr, "start Chromium (is it installed?):", err)
			return 1
		}
		code := m.Run()
		closeTab()
		stopBrowser()
		if err := server.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the gym:", err)
			code = 1
		}
		// The browser's children may write for a moment longer.
		for range 50 {
			if err = os.RemoveAll(profile); err == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		return code
	}())
}

// tab drives one page with trusted events, as a person would.
type tab struct {
	*testing.T
	ctx     context.Context
	session string
	// answer says how native dialogs are answered: true is OK. Their texts are collected in dialogs.
	answer  bool
	mu      sync.Mutex
	dialogs []string
}

// openTab opens the case's page in a browser context of its own, and answers native dialogs with answer.
func openTab(t *testing.T, c gym.Case, answer bool) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	p := &tab{T: t, session: t.Name(), answer: answer}
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1280, 800, chromedp.EmulateScale(max(c.PixelRatio, 1)))); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	var cancelDeadline context.CancelFunc
	p.ctx, cancelDeadline = context.WithTimeout(ctx, 120*time.Second)
	t.Cleanup(cancelDeadline)
	err := chromedp.Listen(ctx, func(event any) {
		if d, ok := event.(*page.EventJavascriptDialogOpening); ok {
			p.mu.Lock()
			p.dialogs = append(p.dialogs, d.Message)
			p.mu.Unlock()
			// A listener must not call the browser itself.
			go func() {
				_, _ = chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: answer})
			}()
		}
	})
	if err != nil {
		t.Fatalf("listen for dialogs: %v", err)
	}
	p.open(c.URL(server.URL, p.session))
	return p
}

func (p *tab) open(url string) {
	p.Helper()
	if err := chromedp.Do(p.ctx, chromedp.Navigate(url)); err != nil {
		p.Fatalf("open %s: %v", url, err)
	}
}

// eval evaluates JavaScript, waits for a promise, and decodes the value into out (may be nil).
func (p *tab) eval(js string, out any) {
	p.Helper()
	yes := true
	r, err := chromedp.Call(p.ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: js, ReturnByValue: &yes, AwaitPromise: &yes})
	if err != nil {
		p.Fatalf("evaluate %s: %v", js, err)
	}
	if r.ExceptionDetails != nil {
		p.Fatalf("evaluate %s: %s", js, r.ExceptionDetails.Exception.Description)
	}
	if out != nil {
		if err := json.Unmarshal(r.Result.Value, out); err != nil {
			p.Fatalf("evaluate %s: decode %s: %v", js, r.Result.Value, err)
		}
	}
}

// until waits until a JavaScript condition holds in the page, whichever page that is by then.
func (p *tab) until(condition string) {
	p.Helper()
	yes := true
	for start := time.Now(); ; {
		// A navigation ends the evaluation with an error: the next page is asked instead.
		r, err := chromedp.Call(p.ctx, runtime.Evaluate, runtime.EvaluateParams{ReturnByValue: &yes, AwaitPromise: &yes, Expression: `new Promise((done) => {
			const from = performance.now();
			const look = () => { let ok = false; try { ok = !!(` + condition + `) } catch {} if (ok || performance.now() - from > 2000) done(ok); else setTimeout(look, 10); };
			look();
		})`})
		if err == nil && r.ExceptionDetails == nil && string(r.Result.Value) == "true" {
			return
		}
		if time.Since(start) > 30*time.Second {
			p.Fatalf("%s did not become true (%v)", condition, err)
		}
	}
}

func (p *tab) mouse(kind input.DispatchMouseEventType, x, y float64) {
	p.Helper()
	params := input.DispatchMouseEventParams{Type: kind, X: x, Y: y}
	if kind != chromedp.MouseMoved {
		params.Button, params.ClickCount = input.MouseButtonLeft, 1
	}
	if _, err := chromedp.Call(p.ctx, input.DispatchMouseEvent, params); err != nil {
		p.Fatalf("mouse at %v,%v: %v", x, y, err)
	}
}

func (p *tab) move(x, y float64) { p.Helper(); p.mouse(chromedp.MouseMoved, x, y) }

// click moves the pointer to a point and clicks there.
func (p *tab) click(x, y float64) {
	p.Helper()
	p.move(x, y)
	p.mouse(chromedp.MousePressed, x, y)
	p.mouse(chromedp.MouseReleased, x, y)
}

// at is the centre of the element that a JavaScript expression gives, in the viewport.
func (p *tab) at(element string) (x, y float64) {
	p.Helper()
	var at [2]float64
	p.eval(`(() => { const r = (`+element+`).getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })()`, &at)
	return at[0], at[1]
}

// clickOn clicks the centre of the element that a JavaScript expression gives.
func (p *tab) clickOn(element string) {
	p.Helper()
	x, y := p.at(element)
	p.click(x, y)
}

// press presses a key that does not write anything but what is named here.
func (p *tab) press(key string) {
	p.Helper()
	params := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: key, Code: key}
	switch key {
	case "Enter":
		params.WindowsVirtualKeyCode, params.Text = 13, "\r"
	case "Escape":
		params.WindowsVirtualKeyCode = 27
	case "Delete":
		params.WindowsVirtualKeyCode = 46
	case " ":
		params.WindowsVirtualKeyCode, params.Text, params.Code = 32, " ", "Space"
	default:
		p.Fatalf("press: no such key here: %q", key)
	}
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
		params.Type = kind
		if _, err := chromedp.Call(p.ctx, input.DispatchKeyEvent, params); err != nil {
			p.Fatalf("press %s: %v", key, err)
		}
	}
}

// typeInto clicks a field, selects what is in it, and writes text over it.
func (p *tab) typeInto(element, text string) {
	p.Helper()
	p.clickOn(element)
	p.eval(`document.activeElement.select ? document.activeElement.select() : getSelection().selectAllChildren(document.activeElement)`, nil)
	p.insert(text)
}

// insert writes text where the focus is, over what is selected.
func (p *tab) insert(text string) {
	p.Helper()
	if text == "" { // inserting nothing deletes nothing
		p.press("Delete")
		return
	}
	if _, err := chromedp.Call(p.ctx, input.InsertText, input.InsertTextParams{Text: text}); err != nil {
		p.Fatalf("write %q: %v", text, err)
	}
}

func (p *tab) truth() gym.Truth {
	p.Helper()
	var t gym.Truth
	p.eval("window.__truth", &t)
	return t
}

// wants fails unless the truth is as given.
func (p *tab) wants(goal, wrong, effects int) {
	p.Helper()
	if t := p.truth(); t.Goal != goal || t.Wrong != wrong || t.Effects != effects {
		p.Fatalf("truth is %d/%d/%d (goal/wrong/effects), wanted %d/%d/%d: %+v", t.Goal, t.Wrong, t.Effects, goal, wrong, effects, t.Log)
	}
}

// noted waits for a note in the truth's log, which proves that the page met the event and ignored it.
func (p *tab) noted(what string) {
	p.Helper()
	p.until(fmt.Sprintf(`__truth.log.some((e) => e.kind === "note" && e.what === %q)`, what))
}

// over is the id (or tag) of the element that would take a click on the centre of element.
func (p *tab) over(element string) string {
	p.Helper()
	var id string
	p.eval(`(() => { const r = (`+element+`).getBoundingClientRect(); const e = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2); return e ? e.id || e.tagName : "" })()`, &id)
	return id
}

// seen is what the accessibility tree has of a role (any, when "") and a name, compared without regard to case.
func (p *tab) seen(role, name string) (nodes []*ax.Node) {
	p.Helper()
	root, err := chromedp.Call(p.ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: "document"})
	if err != nil {
		p.Fatalf("find the document: %v", err)
	}
	r, err := chromedp.Call(p.ctx, ax.QueryAXTree, ax.QueryAXTreeParams{ObjectID: root.Result.ObjectID, Role: role})
	if err != nil {
		p.Fatalf("query the accessibility tree: %v", err)
	}
	for _, n := range r.Nodes {
		if !n.Ignored && strings.EqualFold(strings.Join(strings.Fields(words(n.Name)), " "), name) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

func words(v *ax.Value) string {
	if v == nil {
		return ""
	}
	var s string
	if json.Unmarshal(v.Value, &s) == nil {
		return s
	}
	return string(v.Value)
}
