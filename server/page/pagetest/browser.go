package pagetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience bounds the wait for a condition on the page; the machines of tests are busy.
const patience = 60 * time.Second

// Browser is a Chromium for looking at the page.
type Browser struct {
	ctx     context.Context
	stop    func()
	profile string
}

// StartBrowser starts Chromium.
func StartBrowser() (*Browser, error) {
	profile, err := os.MkdirTemp("", "live-page-browser-")
	if err != nil {
		return nil, fmt.Errorf("make a profile for the browser: %w", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.UserDataDir(profile), chromedp.WindowSize(1280, 900),
		chromedp.Flag("hide-scrollbars", true), chromedp.Flag("lang", "en-US"))
	allocator, stopBrowser := chromedp.NewExecAllocator(context.Background(), options...)
	tab, closeTab := chromedp.NewContext(allocator)
	b := &Browser{ctx: tab, profile: profile, stop: func() { closeTab(); stopBrowser() }}
	if err := chromedp.Do(tab); err != nil {
		return nil, errors.Join(fmt.Errorf("start Chromium (is it installed?): %w", err), b.Close())
	}
	return b, nil
}

// Close ends the browser.
func (b *Browser) Close() (err error) {
	b.stop()
	for range 50 { // its children may write for a moment longer
		if err = os.RemoveAll(b.profile); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// View is how a tab is looked at.
type View struct {
	Width, Height int64
	Dark          bool
}

// The usual views.
var (
	Wide  = View{Width: 1280, Height: 900}
	Phone = View{Width: 390, Height: 844}
)

// Tab is one tab, in a browser context of its own: nothing is stored in it yet.
type Tab struct {
	ctx    context.Context
	cancel func()
	mu     sync.Mutex
	faults []string
}

// Open opens an address.
func (b *Browser) Open(url string, v View) (*Tab, error) {
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	limited, stop := context.WithTimeout(ctx, 5*time.Minute)
	t := &Tab{ctx: limited, cancel: func() { stop(); cancel() }}
	err := chromedp.Listen(ctx, func(event any) {
		t.mu.Lock()
		defer t.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			text := e.ExceptionDetails.Text
			if e.ExceptionDetails.Exception != nil {
				text += " " + e.ExceptionDetails.Exception.Description
			}
			t.faults = append(t.faults, text)
		case *log.EventEntryAdded:
			if e.Entry.Level == "error" && e.Entry.Source != "network" { // such as a violation of the policy
				t.faults = append(t.faults, e.Entry.Text)
			}
		}
	})
	if err != nil {
		t.Close()
		return nil, fmt.Errorf("listen to the page: %w", err)
	}
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	err = chromedp.Do(limited, chromedp.EmulateViewport(v.Width, v.Height))
	if err == nil {
		_, err = chromedp.Call(limited, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}})
	}
	if err == nil {
		err = chromedp.Do(limited, chromedp.Navigate(url))
	}
	if err != nil {
		t.Close()
		return nil, fmt.Errorf("open %s: %w", url, err)
	}
	return t, nil
}

// Close closes the tab.
func (t *Tab) Close() { t.cancel() }

// Faults are the errors that the page met: exceptions, and what its policy refused.
func (t *Tab) Faults() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.faults...)
}

// Go opens another address in the tab.
func (t *Tab) Go(url string) error { return chromedp.Do(t.ctx, chromedp.Navigate(url)) }

// Eval evaluates JavaScript, waits for a promise, and decodes the value into out, which may be nil.
func (t *Tab) Eval(js string, out any) error {
	yes := true
	r, err := chromedp.Call(t.ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: js, ReturnByValue: &yes, AwaitPromise: &yes})
	if err != nil {
		return fmt.Errorf("evaluate %s: %w", js, err)
	}
	if r.ExceptionDetails != nil {
		return fmt.Errorf("evaluate %s: %s", js, r.ExceptionDetails.Exception.Description)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(r.Result.Value, out); err != nil {
		return fmt.Errorf("evaluate %s: decode %s: %w", js, r.Result.Value, err)
	}
	return nil
}

// Measure begins to count what CPU tells. It is called once.
func (t *Tab) Measure() error {
	_, err := chromedp.Call(t.ctx, performance.Enable, performance.EnableParams{TimeDomain: "threadTicks"})
	if err != nil {
		return fmt.Errorf("measure the page: %w", err)
	}
	return nil
}

// CPU is the processor's time that the page's main thread has taken since Measure. Unlike what the page can measure itself, it does not depend on
// what else the machine does.
func (t *Tab) CPU() (time.Duration, error) {
	r, err := chromedp.Call(t.ctx, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		return 0, fmt.Errorf("measure the page: %w", err)
	}
	for _, m := range r.Metrics {
		if m.Name == "TaskDuration" {
			return time.Duration(m.Value * float64(time.Second)), nil
		}
	}
	return 0, errors.New("measure the page: Chromium tells no TaskDuration")
}

// Until waits until a JavaScript condition holds.
func (t *Tab) Until(condition string) error {
	for start := time.Now(); ; {
		var ok bool
		err := t.Eval(`new Promise((done) => {
			const from = performance.now();
			const look = () => { let ok = false; try { ok = !!(`+condition+`) } catch {} if (ok || performance.now() - from > 2000) done(ok); else setTimeout(look, 10); };
			look();
		})`, &ok) // a navigation ends the evaluation with an error: the next page is asked instead
		if err == nil && ok {
			return nil
		}
		if time.Since(start) > patience {
			var shown string
			_ = t.Eval(`document.body.innerText.slice(0, 3000)`, &shown) //nolint:errcheck // it only helps to understand
			return fmt.Errorf("%s did not become true (%v); the page shows:\n%s\nfaults: %q", condition, err, shown, t.Faults())
		}
	}
}

// Click clicks the middle of the element that a JavaScript expression gives, with the mouse.
func (t *Tab) Click(element string) error {
	var at [2]float64
	err := t.Eval(`(async () => { const e = (`+element+`); e.scrollIntoView({ block: 'center' }); await new Promise((f) => requestAnimationFrame(() => requestAnimationFrame(f)));
		const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })()`, &at)
	if err != nil {
		return err
	}
	for _, kind := range []input.DispatchMouseEventType{chromedp.MouseMoved, chromedp.MousePressed, chromedp.MouseReleased} {
		p := input.DispatchMouseEventParams{Type: kind, X: at[0], Y: at[1]}
		if kind != chromedp.MouseMoved {
			p.Button, p.ClickCount = input.MouseButtonLeft, 1
		}
		if _, err := chromedp.Call(t.ctx, input.DispatchMouseEvent, p); err != nil {
			return fmt.Errorf("click %s: %w", element, err)
		}
	}
	return nil
}

// Type writes into what has the focus.
func (t *Tab) Type(text string) error {
	_, err := chromedp.Call(t.ctx, input.InsertText, input.InsertTextParams{Text: text})
	return err
}

// Press presses a key: Tab, Enter or Escape.
func (t *Tab) Press(key string) error {
	p := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: key, Code: key}
	switch key {
	case "Tab":
		p.WindowsVirtualKeyCode = 9
	case "Enter":
		p.WindowsVirtualKeyCode, p.Text = 13, "\r"
	case "Escape":
		p.WindowsVirtualKeyCode = 27
	}
	if _, err := chromedp.Call(t.ctx, input.DispatchKeyEvent, p); err != nil {
		return err
	}
	p.Type, p.Text = input.DispatchKeyEventTypeKeyUp, ""
	_, err := chromedp.Call(t.ctx, input.DispatchKeyEvent, p)
	return err
}

// Picture takes a PNG picture of what is in view.
func (t *Tab) Picture() ([]byte, error) { return chromedp.Run(t.ctx, chromedp.CaptureScreenshot()) }
