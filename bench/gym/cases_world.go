package gym

import "toolsvc/tool"

// places: the target is in another document, a shadow tree, or out of sight.
var places = []Case{
	{Name: "frame-same", Path: "/c/frame?site=same", About: "The player is a frame of this site.",
		Failure: tool.TargetNotFound, Steps: steps(click(playButton)), Want: once},
	{Name: "frame-cross", Path: "/c/frame?site=cross", About: "The player is a frame of another site, in another process.",
		Failure: tool.TargetNotFound, Steps: steps(click(playButton)), Want: once},
	{Name: "frame-nested", Path: "/c/frame?site=nested", About: "The player is a frame of another site in a frame of this one.",
		Failure: tool.TargetNotFound, Steps: steps(click(playButton)), Want: once},
	{Name: "frame-late", Path: "/c/frame?site=same&delay=800", About: "The player's frame is inserted 800 ms after loading.",
		Failure: tool.TargetNotFound, Steps: steps(click(`{"name":"Play","role":"button","within":"Player"}`)), Want: once},
	{Name: "frame-stale", Path: "/c/frame?site=same&reloads=4", About: "The player's frame loads itself anew four times, every 300 ms.",
		Failure: tool.Stale, Steps: steps(click(playButton)), Want: once},
	{Name: "shadow-open", Path: "/c/shadow?mode=open", About: "The button is in an open shadow tree.",
		Failure: tool.TargetNotFound, Steps: steps(click(playButton, playing)), Want: once},
	{Name: "shadow-closed", Path: "/c/shadow?mode=closed", About: "The button is in a closed shadow tree, which only the accessibility tree sees.",
		Failure: tool.TargetNotFound, Steps: steps(click(playButton, playing)), Want: once},
	{Name: "shadow-closed-silent", Path: "/c/shadow?mode=closed&inside=1", About: "The button and its outcome are in a closed shadow tree, where no observer of the page sees a change; a second click undoes it.",
		Failure: tool.NoEffect, Steps: steps(click(playButton, `element("Stop", "button").exists`)), Want: once},
	{Name: "scroll-container", Path: "/c/scroll-container", About: "The button is far down in a list that scrolls by itself.",
		Failure: tool.TargetNotFound, Steps: steps(click(`{"name":"Play Harbor Lights","role":"button"}`, playing)), Want: once},
	{Name: "offscreen", Path: "/c/offscreen", About: "The button is three screens below.",
		Failure: tool.TargetNotFound, Steps: steps(click(`{"name":"Subscribe","role":"button"}`, `page.text.contains("Subscribed")`)), Want: once},
	{Name: "zoom", Path: "/c/zoom", About: "The content is zoomed, scaled and turned: layout coordinates are not screen coordinates.",
		Failure: tool.WrongTarget, Steps: steps(click(playButton, playing)), Want: once},
	{Name: "arabic", Path: "/c/arabic", About: "The page runs from right to left.",
		Failure: tool.WrongTarget, Steps: steps(click(`{"name":"تشغيل","role":"button"}`, `page.text.contains("يتم تشغيل أضواء الميناء")`)), Want: once},
	{Name: "korean", Path: "/c/korean", About: "A Korean label that is the beginning of another one.",
		Failure: tool.WrongTarget, Steps: steps(click(`{"name":"재생","role":"button"}`, `page.text.contains("항구의 불빛을 듣고 있습니다")`)), Want: once},
	{Name: "japanese", Path: "/c/japanese", About: "A Japanese label that is the beginning of another one.",
		Failure: tool.WrongTarget, Steps: steps(click(`{"name":"再生","role":"button"}`, `page.text.contains("「港の灯」を聴いています")`)), Want: once},
}

// forms: fields that are not what they look like.
var forms = []Case{
	{Name: "checkbox", Path: "/c/checkbox", About: "The real box is one invisible pixel; people click a drawing beside it.",
		Failure: tool.Covered, Steps: steps(check(`{"name":"Crossfade between songs","role":"checkbox"}`, `page.text.contains("Crossfade is on")`)), Want: once},
	{Name: "checkbox-ticked", Path: "/c/checkbox?ticked=1", About: "The box is ticked already: it is left alone.",
		Failure: tool.WrongTarget, Steps: steps(check(`{"name":"Crossfade between songs","role":"checkbox"}`, `page.text.contains("Crossfade is on")`)), Want: Want{Success: true}},
	{Name: "switch", Path: "/c/switch", About: "A switch made of a div.",
		Failure: tool.TargetNotFound, Steps: steps(check(`{"name":"Only over Wi-Fi","role":"switch"}`, `page.text.contains("Downloads wait for Wi-Fi")`)), Want: once},
	{Name: "switch-lag", Path: "/c/switch?lag=400", About: "A switch that shows its new state 400 ms later: ticking twice unticks it.",
		Failure: tool.NoEffect, Steps: steps(check(`{"name":"Only over Wi-Fi","role":"switch"}`, `page.text.contains("Downloads wait for Wi-Fi")`)), Want: once},
	{Name: "select", Path: "/c/select", About: "An ordinary list.",
		Failure: tool.WrongTarget, Steps: steps(choose(`{"name":"Country","role":"combobox"}`, "Japan", `page.text.contains("Shipping to Japan")`)), Want: once},
	{Name: "listbox", Path: "/c/listbox", About: "A list made of divs, opened and chosen from by clicks; one option is the beginning of another.",
		Failure: tool.TargetNotFound, Want: once, Steps: steps(
			click(`{"name":"Genre","role":"combobox"}`, `element("Jazz", "option").exists`),
			click(`{"name":"Jazz","role":"option"}`, `page.text.contains("Showing Jazz") && !page.text.contains("Showing Jazz fusion")`))},
	{Name: "listbox-select", Path: "/c/listbox", About: "The same list, chosen from in one call.",
		Failure: tool.TargetNotFound, Want: once, Steps: steps(
			choose(`{"name":"Genre","role":"combobox"}`, "Jazz", `page.text.contains("Showing Jazz") && !page.text.contains("Showing Jazz fusion")`))},
	{Name: "contenteditable", Path: "/c/contenteditable", About: "The field is an editable region with paragraphs, and has old text in it.",
		Failure: tool.TargetNotFound, Steps: steps(typeText(`{"name":"Note text","role":"textbox"}`, "The hall reopens on Friday.", `page.text.contains("27 characters")`)), Want: once},
	{Name: "date-field", Path: "/c/date-field", About: "The field has parts for day, month and year in the order of the browser's language.",
		Failure: tool.VerificationFailed, Steps: steps(typeText(`{"name":"Delivery date"}`, "2026-11-24", `page.text.contains("Delivery on 2026-11-24")`)), Want: once},
	{Name: "keyup-only", Path: "/c/keyup-only", About: "The page listens to keys only: text that arrives in another way stands in the field, and the page knows nothing of it.",
		Failure: tool.VerificationFailed, Steps: steps(typeText(`{"name":"Nickname","role":"textbox"}`, "Ada", `page.text.contains("Hello, Ada")`)),
		Want: Want{Success: true, Goal: Bounds{1, 3}, Effects: Bounds{1, 3}}},
	{Name: "phone-mask", Path: "/c/phone-mask", About: "The field rewrites the digits to (555) 123-4567: it holds what was asked for, in its own form.",
		Failure: tool.VerificationFailed, Steps: steps(typeText(`{"name":"Phone","role":"textbox"}`, "5551234567")), Want: Want{Success: true, Goal: Bounds{1, 3}, Effects: Bounds{1, 3}}},
	{Name: "phone-mask-formatted", Path: "/c/phone-mask", About: "The caller types the number in the field's own form.",
		Failure: tool.VerificationFailed, Steps: steps(typeText(`{"name":"Phone","role":"textbox"}`, "(555) 123-4567", `page.text.contains("The driver will call (555) 123-4567")`)), Want: once},
	{Name: "autocomplete", Path: "/c/autocomplete", About: "Suggestions drop over the next button; choosing one would search for something else.",
		Failure: tool.Covered, Want: once, Steps: steps(
			typeText(`{"name":"Artist"}`, "The Low Tide", `element("The Low Tide Orchestra", "option").exists`),
			click(`{"name":"Find","role":"button"}`, `page.text.contains("Results for The Low Tide") && element("Artist", "combobox").value == "The Low Tide"`))},
}

// navigation: the click leads elsewhere.
var navigation = []Case{
	{Name: "nav-spa", Path: "/c/nav-spa?delay=300", About: "The link changes the address in place; the content arrives 300 ms later.",
		Failure: tool.NotReady, Steps: steps(click(`{"name":"Open album","role":"link"}`, `page.url.endsWith("/c/nav-spa/album")`, `page.text.contains("Slack Water")`)), Want: once},
	{Name: "nav-full", Path: "/c/nav-full", About: "The link loads another page.",
		Failure: tool.NotReady, Steps: steps(click(`{"name":"See details","role":"link"}`, `page.title.contains("Low Tide Sessions")`)), Want: once},
	{Name: "nav-window", Path: "/c/nav-window", About: "The link opens another window; on this page nothing changes at all.",
		Failure: tool.NoEffect, Steps: steps(click(`{"name":"Read the terms","role":"link"}`)), Want: once},
}

// orders: the effect is on the server.
var orders = []Case{
	{Name: "order", Path: "/c/order?mode=normal", Ledger: true, About: "The order is taken and confirmed.",
		Failure: tool.OutcomeUnknown, Steps: steps(click(`{"name":"Place order","role":"button"}`, `page.text.contains("placed")`)), Want: once},
	{Name: "order-slow", Path: "/c/order?mode=slow&delay=1500", Ledger: true, About: "The order is taken at once and confirmed 1.5 s later; meanwhile nothing is seen but a request under way.",
		Failure: tool.NoEffect, Steps: steps(click(`{"name":"Place order","role":"button"}`, `page.text.contains("placed")`)), Want: once},
	{Name: "order-lost", Path: "/c/order?mode=lost", Ledger: true, About: "The order is taken, but the answer is lost, and the page says “Please try again”.",
		Failure: tool.OutcomeUnknown, Steps: steps(click(`{"name":"Place order","role":"button"}`, `page.text.contains("placed")`)),
		Want: Want{Failure: tool.VerificationFailed, Goal: exactly(1), Effects: exactly(1)}},
	{Name: "order-error", Path: "/c/order?mode=error", Ledger: true, About: "The server refuses with an error, and the page says “Please try again”: whether it is safe to, nobody here can know.",
		Failure: tool.VerificationFailed, Steps: steps(click(`{"name":"Place order","role":"button"}`, `page.text.contains("placed")`)), Want: untouched(tool.VerificationFailed)},
	{Name: "order-swallowed", Path: "/c/order?mode=normal&eat=1", Ledger: true, About: "The first click is lost before anything was sent.",
		Failure: tool.NoEffect, Steps: steps(click(`{"name":"Place order","role":"button"}`, `page.text.contains("placed")`)), Want: once},
	{Name: "order-form", Path: "/c/order-form?delay=600", Ledger: true, About: "A form of the old kind, answered after 600 ms by a redirection to the receipt.",
		Failure: tool.NotReady, Steps: steps(click(`{"name":"Place order","role":"button"}`, `page.text.contains("Order H-")`)), Want: once},
}
