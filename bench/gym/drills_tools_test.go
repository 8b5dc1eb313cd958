package gym_test

import (
	"net/url"
	"strings"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

func init() {
	for name, d := range toolDrills {
		drills[name] = d
	}
}

// toolDrills prove the cases of the tools beyond click and type.
var toolDrills = map[string]drill{
	"hover-menu": {fault: unseen("menuitem", "Sign out"), solve: func(p *tab) {
		x, y := p.at(`$("account")`)
		p.move(x, y)
		p.until(`!$("items").hidden`)
		p.clickOn(`$("out")`)
	}},
	"double-swallowed": {fault: func(p *tab) { p.doubleClickOn(`$("report")`); p.noted("double click ignored"); p.wants(0, 0, 0) },
		solve: func(p *tab) { p.doubleClickOn(`$("report")`); p.doubleClickOn(`$("report")`) }},
	"drag-swallowed": {fault: func(p *tab) { p.dropOn(`$("task")`, `$("done")`); p.noted("drop ignored"); p.wants(0, 0, 0) },
		solve: func(p *tab) {
			p.dropOn(`$("task")`, `$("done")`)
			p.noted("drop ignored")
			p.dropOn(`$("task")`, `$("done")`)
		}},
	"drag-slider": {fault: func(p *tab) { p.clickOn(`$("thumb")`); p.noted("released where it was"); p.wants(0, 0, 0) },
		solve: func(p *tab) {
			x, y := p.at(`$("thumb")`)
			p.move(x, y)
			p.mouse(chromedp.MousePressed, x, y)
			for _, dx := range []float64{10, 100, 200} {
				p.held(x+dx, y)
			}
			p.mouse(chromedp.MouseReleased, x+200, y)
		}},
	"virtual-list": {fault: unseen("button", "Play Harbor Lights"), solve: func(p *tab) {
		p.eval(`$("view").scrollTop = 873 * 44 - 100`, nil)
		row := `[...document.querySelectorAll(".song button")].find((b) => b.textContent === "Play Harbor Lights")`
		p.until(row)
		p.clickOn(row)
	}},
	"uncheck-swallowed": {fault: lost(`$("toggle")`, "click ignored"), solve: all(clicks(`$("toggle")`), clicks(`$("toggle")`))},
	"code-editor": {fault: func(p *tab) {
		p.eval(`$("input").focus()`, nil)
		p.insert("x")
		p.eval(`if ($("input").value) throw Error("the field keeps what was written")`, nil)
		p.wants(0, 0, 0)
	}, solve: func(p *tab) {
		p.clickOn(`$("editor")`)
		p.combine("a", 2)
		p.press("Delete")
		p.insert("package harbor\n\nfunc Lights() int {\n\treturn 12\n}")
	}},
	"fill-form": {faultAt: "/c/fill-form?delay=30000", fault: func(p *tab) {
		p.eval(`$("country").value = "Japan"; $("country").dispatchEvent(new Event("change", { bubbles: true }))`, nil)
		p.eval(`if ($("prefecture")) throw Error("it is there at once")`, nil)
	}, solve: func(p *tab) {
		p.typeInto(`$("name")`, "Ada Park")
		p.eval(`$("country").focus()`, nil)
		p.write("J")
		p.until(`$("prefecture")`)
		p.typeInto(`$("prefecture")`, "Kyoto")
		p.clickOn(`$("terms")`)
	}},
	"combobox-filter": {fault: func(p *tab) { p.clickOn(`$("city")`); unseen("option", "Bergen")(p) }, solve: func(p *tab) {
		p.typeInto(`$("city")`, "Bergen")
		p.until(`document.querySelector("#list [role=option]")`)
		p.clickOn(`document.querySelector("#list [role=option]")`)
	}},
	"confirm-wanted": {fault: func(p *tab) {
		p.clickOn(`$("remove")`)
		p.until("__truth.wrong === 1") // both questions were answered with OK
	}, accept: true, solve: func(p *tab) {
		// Whoever answers everything alike does the wrong thing, or nothing: the second question is answered here by the page's own means.
		p.eval(`{ const ask = window.confirm; window.confirm = (text) => ask(text) && text.startsWith("Delete “Road trip”") }`, nil)
		p.clickOn(`$("remove")`)
	}},
	"other-tab": {fault: unseen("button", "I agree"), solve: func(p *tab) {
		p.clickOn(`$("open")`)
		p.inWindow("/c/other-tab/agree", func(w *tab) { w.clickOn(`$("agree")`); w.until("__truth.goal === 1") })
	}},
	"order-reload": {faultAt: "/c/order-form?delay=600", fault: func(p *tab) { drills["order-form"].fault(p) }, solve: func(p *tab) {
		p.clickOn(`$("order")`)
		p.until(`document.body.innerText.includes("Order H-")`)
		p.eval(`location.reload()`, nil)
		p.until(`performance.getEntriesByType("navigation")[0].type === "reload" && document.body.innerText.includes("Order H-")`)
	}},
}

// doubleClickOn double-clicks the centre of an element.
func (p *tab) doubleClickOn(element string) {
	p.Helper()
	x, y := p.at(element)
	p.move(x, y)
	for n := int64(1); n <= 2; n++ {
		for _, kind := range []input.DispatchMouseEventType{chromedp.MousePressed, chromedp.MouseReleased} {
			params := input.DispatchMouseEventParams{Type: kind, X: x, Y: y, Button: input.MouseButtonLeft, ClickCount: n}
			if _, err := chromedp.Call(p.ctx, input.DispatchMouseEvent, params); err != nil {
				p.Fatalf("double-click: %v", err)
			}
		}
	}
}

// held moves the mouse while its left button is held.
func (p *tab) held(x, y float64) {
	p.Helper()
	params := input.DispatchMouseEventParams{Type: chromedp.MouseMoved, X: x, Y: y, Button: input.MouseButtonLeft, Buttons: 1}
	if _, err := chromedp.Call(p.ctx, input.DispatchMouseEvent, params); err != nil {
		p.Fatalf("move to %v,%v: %v", x, y, err)
	}
}

// dropOn drops on an element what a drag of another one would carry.
func (p *tab) dropOn(from, to string) {
	p.Helper()
	x, y := p.at(to)
	data := &input.DragData{Items: []*input.DragDataItem{{MimeType: "text/plain", Data: "task"}}, DragOperationsMask: 1}
	for _, kind := range []input.DispatchDragEventType{input.DispatchDragEventTypeDragEnter, input.DispatchDragEventTypeDragOver, input.DispatchDragEventTypeDrop} {
		if _, err := chromedp.Call(p.ctx, input.DispatchDragEvent, input.DispatchDragEventParams{Type: kind, X: x, Y: y, Data: data}); err != nil {
			p.Fatalf("drop %s: %v", from, err)
		}
	}
}

// combine presses a letter with modifiers held (2: Control).
func (p *tab) combine(key string, modifiers int64) {
	p.Helper()
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
		params := input.DispatchKeyEventParams{Type: kind, Key: key, Modifiers: modifiers, WindowsVirtualKeyCode: int64(key[0] - 32)}
		if _, err := chromedp.Call(p.ctx, input.DispatchKeyEvent, params); err != nil {
			p.Fatalf("press %s: %v", key, err)
		}
	}
}

// inWindow does something in the window of this tab's context that shows the path.
func (p *tab) inWindow(path string, f func(w *tab)) {
	p.Helper()
	for start := time.Now(); time.Since(start) < 20*time.Second; time.Sleep(20 * time.Millisecond) {
		all, err := chromedp.Targets(p.ctx)
		if err != nil {
			p.Fatalf("list the windows: %v", err)
		}
		for _, t := range all {
			if strings.Contains(t.URL, path) && strings.Contains(t.URL, url.QueryEscape(p.session)) {
				ctx, cancel := chromedp.NewContext(p.ctx, chromedp.WithTargetID(t.TargetID))
				defer cancel()
				w := &tab{T: p.T, ctx: ctx, session: p.session}
				w.until(`document.readyState === "complete"`)
				f(w)
				return
			}
		}
	}
	p.Fatalf("no window shows %s", path)
}
