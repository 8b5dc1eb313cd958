package gym_test

import (
	"context"
	"strconv"
	"strings"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// drill proves what a case says of itself. Each function gets a fresh page.
type drill struct {
	// fault shows that the fault lands: what a naive visitor meets.
	fault func(p *tab)
	// solve does what is right, with trusted events only; the truth must then be as the case wants it. Where the case must end as a
	// failure, it does what an honest tool may do before it says so.
	solve func(p *tab)
	// accept answers native dialogs with OK.
	accept bool
	// faultAt opens the same page with its fault held open for long, so that it is still there when a slow machine looks.
	faultAt string
}

const play = `$("play")`

// nothing is the right thing to do where the target cannot be acted upon.
func nothing(*tab) {}

func clicks(element string) func(*tab) { return func(p *tab) { p.clickOn(element) } }

// afterwards waits for a condition, then clicks.
func afterwards(condition, element string) func(*tab) {
	return func(p *tab) { p.until(condition); p.clickOn(element) }
}

// unseen: the accessibility tree has no such thing.
func unseen(role, name string) func(*tab) {
	return func(p *tab) {
		if n := len(p.seen(role, name)); n != 0 {
			p.Fatalf("the accessibility tree has %d of role %q and name %q, so the fault does not land", n, role, name)
		}
	}
}

// takenBy: a click on the element would be taken by another one.
func takenBy(element, other string) func(*tab) {
	return func(p *tab) {
		if got := p.over(element); got != other {
			p.Fatalf("a click on %s would land on %q, wanted %q", element, got, other)
		}
		p.clickOn(element)
		if t := p.truth(); t.Goal != 0 {
			p.Fatalf("a click on %s had the wanted effect although it is covered", element)
		}
	}
}

// lost: a click is taken note of, and has no effect.
func lost(element, note string) func(*tab) {
	return func(p *tab) { p.clickOn(element); p.noted(note); p.wants(0, 0, 0) }
}

// same says how many things of that role and name a tool can choose from.
func same(role, name string, n int) func(*tab) {
	return func(p *tab) {
		if got := len(p.seen(role, name)); got != n {
			p.Fatalf("the accessibility tree has %d of role %q and name %q, wanted %d", got, role, name, n)
		}
	}
}

// wrongly: clicking the element is a wrong effect.
func wrongly(element string) func(*tab) {
	return func(p *tab) { p.clickOn(element); p.until("__truth.wrong === 1"); p.wants(0, 1, 1) }
}

// settled holds once the button has been the same one for 300 ms.
const settled = `(() => { const b = document.querySelector("#slot button"), now = performance.now(); if (b !== window.held) { window.held = b; window.since = now } return now - since > 300 })()`

// untilHeard clicks until a click is no longer lost. Each click leaves a trace in the log, so that none is repeated in vain.
func untilHeard(element string) func(*tab) {
	return func(p *tab) {
		for range 100 {
			n := len(p.truth().Log)
			p.clickOn(element)
			p.until("__truth.log.length > " + strconv.Itoa(n))
			if p.truth().Effects > 0 {
				return
			}
		}
		p.Fatalf("%s never heard a click", element)
	}
}

func all(fs ...func(*tab)) func(*tab) {
	return func(p *tab) {
		for _, f := range fs {
			f(p)
		}
	}
}

// onCanvas clicks a point of the canvas.
func onCanvas(x, y float64) func(*tab) {
	return func(p *tab) {
		var at [2]float64
		p.eval(`(() => { const r = document.querySelector("canvas").getBoundingClientRect(); return [r.x, r.y] })()`, &at)
		p.click(at[0]+x, at[1]+y)
	}
}

// inFrame clicks the player's button in the frame that is nested as deep as the case says. Documents of another site cannot be
// measured from here; they have the same layout, so the button is where it is in the frame of this site.
func inFrame(p *tab) {
	p.noted("player ready")
	var at [2]float64
	p.eval(`(async () => {
		const probe = Object.assign(document.createElement("iframe"), { src: "/c/frame.inner" });
		let outer = document.querySelector("iframe"), x = 0, y = 0;
		for (let inner = outer; inner; inner = inner.contentDocument && inner.contentDocument.querySelector("iframe")) {
			const r = inner.getBoundingClientRect();
			x += r.x + inner.clientLeft; y += r.y + inner.clientTop; outer = inner;
		}
		probe.style.cssText = "position:fixed;left:0;top:0;border:0;visibility:hidden;width:" + outer.clientWidth + "px;height:" + outer.clientHeight + "px";
		document.body.append(probe);
		await new Promise((done) => probe.onload = done);
		const b = probe.contentDocument.querySelector("button").getBoundingClientRect();
		probe.remove();
		return [x + b.x + b.width / 2, y + b.y + b.height / 2];
	})()`, &at)
	p.click(at[0], at[1])
	p.until("__truth.effects === 1")
}

// unreachable: the button is not in the top document.
func unreachable(p *tab) {
	p.noted("player ready")
	var n int
	p.eval(`[...document.querySelectorAll("*")].filter((e) => e.textContent.trim() === "Play").length`, &n)
	if n != 0 || len(p.seen("button", "Play")) != 0 {
		p.Fatal("the button can be found in the top document")
	}
}

var drills = map[string]drill{
	// What applications do.
	"longer-near":        {fault: all(same("button", "Delete", 3), wrongly(`document.querySelector("button")`)), solve: nothing},
	"longer-number":      {fault: all(unseen("button", "Open draft 1"), wrongly(`document.querySelector(".row button")`)), solve: nothing},
	"recycled-names":     {fault: recycled, solve: atRest(`[...document.querySelectorAll("#named button")].find((b) => b.textContent === "Close T-13")`)},
	"optimistic":         {fault: takenBack, solve: takenBack},
	"optimistic-slow":    {fault: takenBack, solve: takenBack},
	"optimistic-unasked": {fault: takenBack, solve: takenBack},
	"refused-silently":   {fault: all(clicks(`$("like")`), func(p *tab) { p.noted("taken back"); p.wants(0, 0, 0) }), solve: all(clicks(`$("like")`), func(p *tab) { p.noted("taken back") })},
	"form-bubble":        {fault: lost(`$("send")`, "refused"), solve: clicks(`$("send")`)},
	"form-inline":        {fault: lost(`$("send")`, "refused"), solve: clicks(`$("send")`)},
	"service-error": {fault: func(p *tab) {
		p.clickOn(`$("open")`)
		p.until(`document.title.startsWith("Service unavailable") && performance.getEntriesByType("navigation")[0].responseStatus === 200`)
	}, solve: nothing},
	"covered-toast": {fault: takenBy(`$("save")`, "toast"), solve: all(clicks(`$("x")`), clicks(`$("save")`))},
	"enter-shortcut": {fault: func(p *tab) {
		p.clickOn(`$("attach")`)
		p.noted("click ignored")
		p.press("Enter")
		p.until("__truth.wrong === 1")
	}, solve: all(clicks(`$("attach")`), clicks(`$("attach")`))},
	"print": {fault: unchanged(`$("print")`), solve: clicks(`$("print")`)},
	"listbox-labelled": {fault: func(p *tab) {
		p.clickOn(`$("genre")`)
		p.clickOn(`document.querySelector("[role=option]")`)
		p.until(`$("genre").textContent === "Genre: Jazz fusion" && __truth.wrong === 1`)
	},
		solve: func(p *tab) { p.clickOn(`$("genre")`); p.clickOn(`document.querySelectorAll("[role=option]")[1]`) }},
	"soft-hyphen": {fault: func(p *tab) {
		p.eval(`if ($("publish").textContent === "Veröffentlichen") throw Error("the label is as it looks")`, nil)
	}, solve: clicks(`$("publish")`)},
	"capitals": {fault: func(p *tab) { p.typeInto(`$("code")`, "save10"); p.until(`$("code").value === "SAVE10"`) }, solve: func(p *tab) { p.typeInto(`$("code")`, "save10") }},
	"cents":    {fault: func(p *tab) { p.typeInto(`$("amount")`, "12345"); p.until(`$("amount").value === "123.45"`) }, solve: nothing},
	"order-patient": {faultAt: "/c/order?mode=slow&delay=20000", fault: func(p *tab) {
		p.clickOn(`$("order")`)
		p.booked(1)
		p.eval(`if (document.body.innerText.includes("placed")) throw Error("confirmed at once")`, nil)
	}, solve: ordered},

	// Not found at first.
	"late":          {faultAt: "/c/late?delay=30000", fault: unseen("button", "Play"), solve: afterwards(`document.querySelector("#slot button")`, `document.querySelector("#slot button")`)},
	"late-never":    {fault: all(func(p *tab) { p.until("performance.now() > 1500") }, unseen("button", "Play")), solve: nothing},
	"slow-network":  {faultAt: "/c/slow-network?delay=30000", fault: unseen("button", "Play Harbor Lights"), solve: afterwards(`document.querySelectorAll("#list button").length === 4`, `document.querySelectorAll("#list button")[2]`)},
	"not-ready":     {fault: notReady, solve: ready},
	"canvas":        {fault: unseen("button", "Play"), solve: onCanvas(325, 146)},
	"canvas-silent": {fault: all(unseen("button", "Play"), onlyPixels), solve: onCanvas(325, 146)},
	"canvas-hidpi":  {fault: all(unseen("button", "Play"), hidpi), solve: onCanvas(325, 146)},
	"webgl":         {fault: unseen("button", "Play"), solve: onCanvas(125, 177)},
	"image-button":  {fault: all(unseen("", "Play"), unsaid("Play")), solve: clicks(play)},
	"aria-hidden":   {fault: unseen("button", "Play"), solve: clicks(play)},
	"bare-div":      {fault: unseen("button", "Play"), solve: clicks(play)},
	"svg-button":    {fault: unseen("", "Centre"), solve: clicks(`document.querySelector("[data-block=Centre]")`)},

	// Another one of that name.
	"twin":           {fault: all(same("button", "Play", 2), wrongly(`document.querySelector("button")`)), solve: clicks(play)},
	"twin-ambiguous": {fault: same("button", "Play", 2), solve: nothing},
	"twin-near":      {fault: all(same("button", "Play", 5), wrongly(`document.querySelector("button")`)), solve: clicks(`document.querySelectorAll("#list button")[2]`)},
	"wrong-target":   {fault: hiddenTwins, solve: clicks(play)},
	"wrong-field": {fault: func(p *tab) {
		same("textbox", "Search", 2)(p)
		p.typeInto(`document.querySelector("input")`, "ferry")
		p.wants(0, 1, 1)
	}, solve: func(p *tab) { p.typeInto(`$("playlist")`, "ferry") }},
	"wrong-label":    {fault: unseen("button", "Save"), solve: clicks(`$("save")`)},
	"crossed-labels": {fault: crossed, solve: nothing},
	"near-names":     {fault: wrongly(`document.querySelector("button")`), solve: clicks(`$("ask")`)},
	"uppercase":      {fault: capitals, solve: clicks(`$("all")`)},

	// Covered.
	"covered-cookie":    {fault: all(takenBy(`$("add")`, "accept"), func(p *tab) { p.wants(0, 1, 1) }), solve: all(clicks(`$("necessary")`), clicks(`$("add")`))},
	"covered-delete":    {fault: all(takenBy(`$("export")`, "veil"), wrongly(`$("cancel")`)), solve: nothing},
	"covered-paywall":   {fault: all(takenBy(`$("save")`, "veil"), func(p *tab) { p.press("Escape"); p.wants(0, 0, 0) }, takenBy(`$("save")`, "veil")), solve: nothing},
	"covered-spinner":   {faultAt: "/c/covered-spinner?delay=30000", fault: takenBy(`$("ship")`, "veil"), solve: afterwards(`!$("veil")`, `$("ship")`)},
	"covered-invisible": {fault: all(takenBy(`$("export")`, "leftover"), func(p *tab) { p.noted("click on the invisible backdrop") }, takenBy(`$("export")`, "leftover")), solve: nothing},
	"overlay-passthrough": {fault: func(p *tab) {
		p.eval(`(() => { if (!document.querySelector("body > [aria-hidden]")) throw Error("nothing lies over the page") })()`, nil)
	}, solve: clicks(play)},
	"sticky-header": {fault: all(inViewport(`$("return")`), takenBy(`$("return")`, "HEADER")), solve: func(p *tab) {
		p.eval(`$("return").scrollIntoView({ block: "center" })`, nil)
		p.clickOn(`$("return")`)
	}},

	// Moving, disabled, replaced.
	"moving": {fault: overtaken, solve: afterwards(`document.getAnimations().every((a) => a.playState === "finished")`, play)},
	"moving-forever": {fault: func(p *tab) {
		x, _ := p.at(play)
		p.until(`document.getAnimations()[0].currentTime > 2000`)
		p.until(`Math.abs(` + play + `.getBoundingClientRect().x + 110 - ` + number(x) + `) > 40`)
	}, solve: nothing},
	"shift-on-hover": {fault: func(p *tab) {
		x, y := p.at(`$("confirm")`)
		p.click(x, y)
		p.wants(0, 1, 1)
	}, solve: func(p *tab) {
		x, y := p.at(`$("confirm")`)
		p.move(x, y)
		p.clickOn(`$("confirm")`)
	}},
	"disabled":       {fault: func(p *tab) { p.clickOn(`$("order")`); p.wants(0, 0, 0) }, solve: nothing},
	"disabled-fixed": {fault: func(p *tab) { p.clickOn(`$("order")`); p.wants(0, 0, 0) }, solve: all(clicks(`$("terms")`), clicks(`$("order")`))},
	"disabled-late": {faultAt: "/c/disabled-late?delay=30000", fault: func(p *tab) {
		p.clickOn(play)
		p.eval(`if (!$("play").disabled) throw Error("enabled at once")`, nil)
		p.wants(0, 0, 0)
	}, solve: afterwards(`!$("play").disabled`, play)},
	"stale": {faultAt: "/c/stale?every=30&for=30000", fault: func(p *tab) {
		p.eval(`window.held = document.querySelector("#slot button")`, nil)
		p.until(`!held.isConnected`)
	}, solve: afterwards(settled, `document.querySelector("#slot button")`)},
	"stale-on-hover": {fault: func(p *tab) {
		p.eval(`window.held = document.querySelector("#slot button")`, nil)
		x, y := p.at(`held`)
		p.move(x, y)
		p.noted("button replaced")
		p.until(`!held.isConnected`)
		p.wants(0, 0, 0)
	}, solve: clicks(`document.querySelector("#slot button")`)},

	// Nothing seems to happen.
	"debounced":       {fault: impatient, solve: all(clicks(`$("add")`), func(p *tab) { p.until("__truth.effects === 1") })},
	"debounced-long":  {fault: impatient, solve: all(clicks(`$("add")`), func(p *tab) { p.until("__truth.effects === 1") })},
	"swallowed":       {fault: lost(play, "click ignored"), solve: all(clicks(play), clicks(play))},
	"swallowed-twice": {fault: all(lost(play, "click ignored"), lost(play, "click ignored")), solve: all(clicks(play), clicks(play), clicks(play))},
	"swallowed-late":  {faultAt: "/c/swallowed-late?delay=30000", fault: lost(play, "click before the handler was there"), solve: untilHeard(play)},
	"keyboard-only":   {fault: lost(play, "mouse click ignored"), solve: func(p *tab) { p.eval(`$("play").focus()`, nil); p.press("Enter") }},
	"no-op-forever":   {fault: lost(`$("sync")`, "click ignored"), solve: all(clicks(`$("sync")`), clicks(`$("sync")`), func(p *tab) { p.eval(`$("sync").focus()`, nil); p.press("Enter") })},
	"beacon":          {fault: unchanged(`$("like")`), solve: clicks(`$("like")`)},
	"download":        {fault: unchanged(`$("get")`), solve: clicks(`$("get")`)},
	"clipboard":       {fault: unchanged(`$("copy")`), solve: clicks(`$("copy")`)},
	"websocket":       {fault: all(func(p *tab) { p.noted("connected") }, unchanged(`$("wave")`)), solve: func(p *tab) { p.noted("connected"); p.clickOn(`$("wave")`) }},
	"storage-only": {fault: func(p *tab) {
		unchanged(`$("never")`)(p)
		p.eval(`if (localStorage.getItem("tips") !== "never") throw Error("nothing was stored")`, nil)
	}, solve: clicks(`$("never")`)},
	"animate-only": {fault: func(p *tab) {
		unchanged(`$("show")`)(p)
		p.until(`getComputedStyle($("lyrics")).opacity === "1"`)
	}, solve: clicks(`$("show")`)},
	"file-chooser": {fault: unchanged(`$("choose")`), solve: clicks(`$("choose")`)},
	"noise-canvas": {fault: all(restless, unseen("button", "Tune in")), solve: onCanvas(80, 32)},
	"noise-swallowed": {fault: all(restless, lost(`document.querySelector("#slot button")`, "click ignored")),
		solve: all(clicks(`document.querySelector("#slot button")`), clicks(`document.querySelector("#slot button")`))},
	"noise-no-op": {fault: all(restless, lost(`document.querySelector("#slot button")`, "click ignored")), solve: clicks(`document.querySelector("#slot button")`)},

	// Done, but not right.
	"error-dialog": {fault: typeName, solve: func(p *tab) {
		typeName(p)
		p.clickOn(`$("close")`)
		p.typeInto(`$("name")`, "Ada of the Harbor")
		p.until("__truth.goal === 1")
	}},
	"error-dialog-always": {fault: typeName, solve: func(p *tab) {
		typeName(p)
		p.clickOn(`$("close")`)
		p.typeInto(`$("name")`, "")
		p.typeInto(`$("name")`, "Ada of the Harbor")
		p.until(`__truth.log.length === 2`)
	}},
	"alert": {fault: asked(`$("sync")`, "14 songs were copied to the kitchen speaker."), accept: true, solve: all(clicks(`$("sync")`), func(p *tab) { p.until("__truth.goal === 1") })},
	"confirm": {fault: func(p *tab) {
		asked(`$("remove")`, "Delete “Road trip” with 48 songs? This cannot be undone.")(p)
		p.until("__truth.wrong === 1") // it was answered with OK
	}, accept: true, solve: nothing},
	"prompt": {fault: func(p *tab) {
		asked(`$("add")`, "Name of the playlist?")(p)
		p.until("__truth.wrong === 1") // it was answered with OK
	}, accept: true, solve: nothing},
	"unsaved": {fault: func(p *tab) {
		p.typeInto(`$("text")`, "Doors at seven")
		p.clickOn(`document.querySelector("a")`)
		p.until(`location.pathname.endsWith("/list") && __truth.wrong === 1`) // it was answered with OK
	}, accept: true, solve: func(p *tab) { p.typeInto(`$("text")`, "Doors at seven") }},
	"toast-error":     {fault: lost(`$("add")`, "refused: sold out"), solve: clicks(`$("add")`)},
	"session-expired": {fault: lost(`$("send")`, "session expired"), solve: clicks(`$("send")`)},

	// Elsewhere on the page.
	"frame-same":   {fault: unreachable, solve: inFrame},
	"frame-cross":  {fault: all(unreachable, anotherSite(`document`)), solve: inFrame},
	"frame-nested": {fault: all(unreachable, anotherSite(`document.querySelector("iframe").contentDocument`)), solve: inFrame},
	"frame-late": {faultAt: "/c/frame?site=same&delay=30000", fault: func(p *tab) {
		p.eval(`if (document.querySelector("iframe")) throw Error("the frame is there at once")`, nil)
	}, solve: inFrame},
	"frame-stale": {faultAt: "/c/frame?site=same&reloads=90", fault: func(p *tab) {
		p.eval(`window.held = document.querySelector("iframe").contentDocument`, nil)
		p.until(`document.querySelector("iframe").contentDocument !== held && __truth.log.length > 1`)
	}, solve: func(p *tab) {
		p.until(`(() => { const f = document.querySelector("iframe").contentDocument, now = performance.now(); if (f !== window.held) { window.held = f; window.since = now } return now - since > 900 })()`)
		inFrame(p)
	}},
	"shadow-open":   {fault: hiddenFromSelectors(true), solve: clicks(`document.querySelector("harbor-player").shadowRoot.querySelector("button")`)},
	"shadow-closed": {fault: hiddenFromSelectors(false), solve: inClosedShadow},
	"shadow-closed-silent": {fault: func(p *tab) {
		hiddenFromSelectors(false)(p)
		p.eval(`window.changes = 0; new MutationObserver((list) => { changes += list.length }).observe(document, { subtree: true, childList: true, attributes: true, characterData: true })`, nil)
		inClosedShadow(p)
		p.eval(`if (__truth.goal !== 1 || changes !== 0) throw Error("an observer of the page sees " + changes + " changes")`, nil)
	}, solve: inClosedShadow},
	"scroll-container": {fault: outOfSight(`document.querySelectorAll("#list button")[46]`), solve: scrolled(`document.querySelectorAll("#list button")[46]`)},
	"offscreen":        {fault: outOfSight(`$("join")`), solve: scrolled(`$("join")`)},
	"zoom": {fault: func(p *tab) {
		p.eval(`if (Math.abs($("play").offsetWidth - $("play").getBoundingClientRect().width) < 10) throw Error("nothing is scaled")`, nil)
	}, solve: clicks(play)},
	"arabic":   {fault: wrongly(`$("list")`), solve: clicks(play)},
	"korean":   {fault: wrongly(`$("list")`), solve: clicks(play)},
	"japanese": {fault: wrongly(`$("list")`), solve: clicks(play)},

	// Fields.
	"checkbox": {fault: func(p *tab) {
		p.eval(`(() => { const r = $("crossfade").getBoundingClientRect(); const e = document.elementFromPoint(r.x, r.y); if (e === $("crossfade")) throw Error("the box itself can be clicked") })()`, nil)
	}, solve: clicks(`document.querySelector(".switch i")`)},
	"checkbox-ticked": {fault: func(p *tab) { p.clickOn(`document.querySelector(".switch i")`); p.wants(0, 1, 1) }, solve: nothing},
	"switch":          {fault: same("checkbox", "Only over Wi-Fi", 0), solve: func(p *tab) { p.clickOn(`$("toggle")`); p.until("__truth.goal === 1") }},
	"switch-lag": {fault: func(p *tab) {
		p.clickOn(`$("toggle")`)
		p.clickOn(`$("toggle")`)
		p.until("__truth.effects === 2")
		p.wants(1, 1, 2)
	}, solve: func(p *tab) { p.clickOn(`$("toggle")`); p.until("__truth.effects === 1") }},
	"select": {fault: func(p *tab) { p.wants(0, 0, 0) }, solve: func(p *tab) {
		p.eval(`$("country").focus()`, nil)
		p.write("J")
		p.until("__truth.goal === 1")
	}},
	"listbox": {fault: unseen("option", "Jazz"), solve: jazz},
	"listbox-select": {fault: func(p *tab) {
		p.eval(`if (document.querySelector("select")) throw Error("it is an ordinary list")`, nil)
	}, solve: jazz},
	"contenteditable": {fault: func(p *tab) { p.eval(`if ($("note").value !== undefined) throw Error("it is an ordinary field")`, nil) },
		solve: func(p *tab) { p.typeInto(`$("note")`, "The hall reopens on Friday.") }},
	"date-field": {fault: func(p *tab) {
		p.eval(`$("date").focus()`, nil)
		for _, c := range "2026-11-24" { // in the order in which it is written down, the parts get something else
			p.write(string(c))
		}
		p.wants(0, 0, 0)
	}, solve: func(p *tab) {
		p.eval(`$("date").focus()`, nil)
		for _, c := range "11242026" {
			p.write(string(c))
		}
	}},
	"keyup-only": {fault: func(p *tab) {
		p.typeInto(`$("nick")`, "Ada")
		p.until(`$("nick").value === "Ada"`)
		p.wants(0, 0, 0)
	}, solve: func(p *tab) {
		p.clickOn(`$("nick")`)
		for _, c := range "Ada" {
			p.write(string(c))
		}
	}},
	"phone-mask": {fault: func(p *tab) {
		p.typeInto(`$("phone")`, "5551234567")
		p.until(`$("phone").value === "(555) 123-4567"`)
	}, solve: func(p *tab) { p.typeInto(`$("phone")`, "5551234567") }},
	"phone-mask-formatted": {fault: func(p *tab) { p.wants(0, 0, 0) }, solve: func(p *tab) {
		p.typeInto(`$("phone")`, "(555) 123-4567")
		p.until(`$("phone").value === "(555) 123-4567"`)
	}},
	"autocomplete": {fault: func(p *tab) {
		p.typeInto(`$("artist")`, "The Low Tide")
		takenBy(`$("find")`, "LI")(p)
		p.wants(0, 1, 1)
	}, solve: func(p *tab) {
		p.typeInto(`$("artist")`, "The Low Tide")
		p.until(`!$("hints").hidden`)
		p.press("Escape")
		p.clickOn(`$("find")`)
	}},

	// Leading elsewhere.
	"nav-spa":    {fault: empty(`$("open")`), solve: all(clicks(`$("open")`), func(p *tab) { p.until("__truth.goal === 1") })},
	"nav-full":   {fault: nothing, solve: all(clicks(`document.querySelector("a.btn")`), func(p *tab) { p.until(`location.pathname.endsWith("/record") && __truth.goal === 1`) })},
	"nav-window": {fault: unchanged(`$("open")`), solve: all(clicks(`$("open")`), func(p *tab) { p.until("__truth.goal === 1") })},

	// Orders.
	"order": {fault: ordersTwice, solve: ordered},
	"order-slow": {faultAt: "/c/order?mode=slow&delay=30000", fault: func(p *tab) {
		p.clickOn(`$("order")`)
		p.booked(1)
		p.eval(`if ($("status").textContent) throw Error("the page shows something at once")`, nil)
	}, solve: ordered},
	"order-lost": {fault: func(p *tab) {
		p.clickOn(`$("order")`)
		p.until(`document.body.innerText.includes("Please try again")`)
		p.clickOn(`$("order")`)
		p.booked(2)
		p.wants(1, 1, 2)
	}, solve: func(p *tab) {
		p.clickOn(`$("order")`)
		p.until(`document.body.innerText.includes("Please try again")`)
	}},
	"order-error": {fault: func(p *tab) {
		p.clickOn(`$("order")`)
		p.until(`document.body.innerText.includes("Please try again")`)
		p.booked(0)
	}, solve: clicks(`$("order")`)},
	"order-swallowed": {fault: all(lost(`$("order")`, "click ignored"), func(p *tab) { p.booked(0) }), solve: all(clicks(`$("order")`), ordered)},
	"order-form": {fault: func(p *tab) {
		// By the page's own hand: while a form is under way, the browser holds back whatever is sent from here.
		p.eval(`$("form").action = $("form").action.replace("delay=600", "delay=3000"); $("order").click(); setTimeout(() => $("order").click(), 1000)`, nil)
		p.booked(2)
	}, solve: func(p *tab) {
		p.clickOn(`$("order")`)
		p.until(`location.pathname.endsWith("/receipt") && __truth.goal === 1`)
	}},

	// The player scenario.
	"player-none":        {fault: same("button", "Play", 1), solve: clicks(play)},
	"player-late":        {faultAt: "/c/player?fault=late&delay=30000", fault: unseen("button", "Play"), solve: afterwards(play, play)},
	"player-canvas":      {fault: all(unseen("button", "Play"), unsaid("Play")), solve: onCanvas(100, 30)},
	"player-aria-hidden": {fault: unseen("button", "Play"), solve: clicks(play)},
	"player-div":         {fault: unseen("button", "Play"), solve: clicks(play)},
	"player-image":       {fault: all(unseen("", "Play"), unsaid("Play")), solve: clicks(play)},
	"player-slow":        {faultAt: "/c/player?fault=slow&delay=30000", fault: unseen("button", "Play"), solve: afterwards(play, play)},
	"player-twin":        {fault: all(same("button", "Play", 3), wrongly(`document.querySelector("button")`)), solve: clicks(play)},
	"player-swallowed":   {fault: lost(play, "click ignored"), solve: all(clicks(play), clicks(play))},
	"player-hydrating":   {faultAt: "/c/player?fault=hydrating&delay=30000", fault: lost(play, "click before the handler was there"), solve: untilHeard(play)},
	"player-debounced": {fault: func(p *tab) {
		p.clickOn(play)
		p.clickOn(play)
		p.until("__truth.effects === 2")
		p.wants(1, 1, 2)
	}, solve: all(clicks(play), func(p *tab) { p.until("__truth.goal === 1") })},
	"player-error": {fault: lost(play, "playback failed"), solve: all(lost(play, "playback failed"), clicks(`$("close")`), clicks(play))},
}

func notReady(p *tab) {
	p.eval(`location.assign("/c/not-ready/library?delay=20000")`, nil) // without waiting until it is loaded
	p.until(`location.pathname.endsWith("/library") && document.querySelector("script[src*=player]")`)
	p.clickOn(play)
	p.noted("click before the script arrived")
	p.wants(0, 0, 0)
}

func ready(p *tab) {
	p.clickOn(`$("library")`)
	p.until(`location.pathname.endsWith("/library") && document.readyState === "complete"`)
	p.clickOn(play)
}

// onlyPixels: a click changes nothing but the picture.
func onlyPixels(p *tab) {
	var before, after string
	p.eval("document.documentElement.outerHTML", &before)
	onCanvas(325, 146)(p)
	p.wants(1, 0, 1)
	p.eval("document.documentElement.outerHTML", &after)
	if strings.ReplaceAll(before, " ", "") != strings.ReplaceAll(after, " ", "") {
		p.Fatalf("more than the picture changed: %s", after)
	}
}

func hidpi(p *tab) {
	var ratio float64
	p.eval("devicePixelRatio", &ratio)
	if ratio != 2 {
		p.Fatalf("the device pixel ratio is %v, wanted 2", ratio)
	}
}

// unsaid: no text of the document says it.
func unsaid(text string) func(*tab) {
	return func(p *tab) {
		var n int
		p.eval(`[...document.querySelectorAll("body *:not(script)")].filter((e) => e.textContent.trim() === "`+text+`" || e.getAttribute("alt") || e.getAttribute("aria-label") === "`+text+`").length`, &n)
		if n != 0 {
			p.Fatalf("%d elements say %q", n, text)
		}
	}
}

// hiddenTwins: what comes first in the document is one that nobody can see.
func hiddenTwins(p *tab) {
	p.eval(`(() => {
		const first = [...document.querySelectorAll("button")].filter((b) => b.textContent === "Play");
		if (first.length !== 4 || first[3] !== $("play")) throw Error("the visible button is not the last of four");
		first[0].click();
	})()`, nil)
	p.wants(0, 1, 1)
	same("button", "Play", 2)(p) // the drawer off the screen is in the tree
}

// crossed: by accessible name it is another button than by visible text.
func crossed(p *tab) {
	same("button", "Save", 1)(p)
	p.eval(`if ($("publish").getAttribute("aria-label") !== $("save").textContent.replace("Publish", "Save")) throw Error("the labels are not crossed")`, nil)
	wrongly(`$("publish")`)(p)
}

// capitals: the accessible name is in capitals, and the source has a line break in it.
func capitals(p *tab) {
	nodes := p.seen("button", "Play all")
	if len(nodes) != 1 || !strings.HasPrefix(strings.TrimSpace(words(nodes[0].Name)), "PLAY") {
		p.Fatalf("the accessibility tree has %v", nodes)
	}
	wrongly(`$("next")`)(p)
}

func inViewport(element string) func(*tab) {
	return func(p *tab) {
		if x, y := p.at(element); x < 0 || y < 0 || x > 1280 || y > 800 {
			p.Fatalf("%s is at %v,%v", element, x, y)
		}
	}
}

func outOfSight(element string) func(*tab) {
	return func(p *tab) {
		p.eval(`(() => { const e = `+element+`, r = e.getBoundingClientRect(), top = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2); if (top === e) throw Error("it can be clicked without scrolling") })()`, nil)
	}
}

func scrolled(element string) func(*tab) {
	return func(p *tab) {
		p.eval(`(`+element+`).scrollIntoView({ block: "center" })`, nil)
		p.clickOn(element)
	}
}

// overtaken: where the target was when the page opened, another button has come to rest.
func overtaken(p *tab) {
	p.eval(`(() => { const a = document.getAnimations()[0]; a.pause(); a.currentTime = 0 })()`, nil)
	x, y := p.at(play)
	p.eval(`document.getAnimations()[0].finish()`, nil)
	p.click(x, y)
	p.wants(0, 1, 1)
}

// impatient: two clicks are two effects.
func impatient(p *tab) {
	p.clickOn(`$("add")`)
	p.clickOn(`$("add")`)
	p.until("__truth.effects === 2")
	p.wants(1, 1, 2)
}

// unchanged: the click has its effect, and the page's document is the same afterwards.
func unchanged(element string) func(*tab) {
	return func(p *tab) {
		var before, after, address string
		p.eval("document.documentElement.outerHTML", &before)
		p.clickOn(element)
		p.until("__truth.goal === 1")
		p.eval("document.documentElement.outerHTML", &after)
		p.eval("location.pathname", &address)
		if before != after {
			p.Fatalf("the page changed: %s", after)
		}
	}
}

// restless: something changes without anybody's doing.
func restless(p *tab) {
	p.eval(`window.clockWas = $("clock").textContent; performance.clearResourceTimings()`, nil)
	p.until(`$("clock").textContent !== clockWas && performance.getEntriesByType("resource").some((r) => r.name.endsWith("/api/listeners")) && document.getAnimations().length > 0`)
}

func typeName(p *tab) {
	p.typeInto(`$("name")`, "Ada of the Harbor")
	p.until(`$("veil")`)
	p.wants(0, 0, 0)
	if len(p.seen("alertdialog", "Could not save")) != 1 {
		p.Fatal("the accessibility tree has no alert dialog")
	}
}

// asked: the click opens a native dialog with this text.
func asked(element, text string) func(*tab) {
	return func(p *tab) {
		p.clickOn(element)
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.dialogs) != 1 || p.dialogs[0] != text {
			p.Fatalf("native dialogs: %q, wanted %q", p.dialogs, text)
		}
	}
}

// anotherSite: the frame in this document cannot be looked into.
func anotherSite(document string) func(*tab) {
	return func(p *tab) {
		p.eval(`if (`+document+`.querySelector("iframe").contentDocument) throw Error("the frame is of this site")`, nil)
		infos, err := chromedp.Run(p.ctx, chromedp.Action[[]*target.Info](func(ctx context.Context, _ *chromedp.Target) ([]*target.Info, error) { return chromedp.Targets(ctx) }))
		if err != nil {
			p.Fatalf("list the targets: %v", err)
		}
		for _, i := range infos {
			if i.Type == "iframe" && strings.HasPrefix(i.URL, server.Other) {
				return
			}
		}
		p.Fatal("no frame runs in a process of its own")
	}
}

func hiddenFromSelectors(open bool) func(*tab) {
	return func(p *tab) {
		var state []bool
		p.eval(`[document.querySelector("button") !== null, document.querySelector("harbor-player").shadowRoot !== null]`, &state)
		if state[0] || state[1] != open {
			p.Fatalf("found by selector: %v, shadow root open: %v", state[0], state[1])
		}
		same("button", "Play", 1)(p)
	}
}

// inClosedShadow clicks where the button is: at the right end of the player.
func inClosedShadow(p *tab) {
	var at [2]float64
	p.eval(`(() => { const r = document.querySelector("harbor-player").getBoundingClientRect(); return [r.right - 20, r.top + 42] })()`, &at)
	p.click(at[0], at[1])
}

func jazz(p *tab) {
	p.clickOn(`$("combo")`)
	p.clickOn(`document.querySelectorAll("[role=option]")[2]`)
}

// empty: right after the click the new content is not there yet.
func empty(element string) func(*tab) {
	return func(p *tab) {
		p.clickOn(element)
		p.until(`location.pathname.endsWith("/album")`)
		p.until("__truth.goal === 1")
	}
}

func ordered(p *tab) {
	p.clickOn(`$("order")`)
	p.until(`document.body.innerText.includes("placed")`)
}

// ordersTwice: two clicks in one breath are two orders.
func ordersTwice(p *tab) {
	p.eval(`$("order").click(); $("order").click()`, nil)
	p.booked(2)
	p.until("__truth.effects === 2")
	p.wants(1, 1, 2)
}
