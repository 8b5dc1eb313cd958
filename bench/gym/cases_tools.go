package gym

import "toolsvc/tool"

// pointing: what takes more of the mouse than a click, or of the keyboard than a field.
var pointing = []Case{
	{Name: "hover-menu", Path: "/c/hover-menu", About: "The menu opens 150 ms after the pointer has come, and closes when it has gone.",
		Failure: tool.TargetNotFound, Want: once, Steps: steps(
			Step{Tool: "browser.hover", Args: `{"target":{"name":"Account"}}`, Expect: []string{`element("Sign out", "menuitem").visible`}},
			click(`{"name":"Sign out","role":"menuitem"}`, `page.text.contains("Signed out")`))},
	{Name: "double-swallowed", Path: "/c/double-swallowed?eat=1", About: "The first double click is lost without a trace.",
		Failure: tool.NoEffect, Want: once, Steps: steps(
			Step{Tool: "browser.double_click", Args: `{"target":{"name":"Report","role":"option"}}`, Expect: []string{`page.text.contains("Report is open")`}})},
	{Name: "drag-swallowed", Path: "/c/drag-swallowed?eat=1", About: "The first drop is lost without a trace.",
		Failure: tool.NoEffect, Want: once, Steps: steps(
			Step{Tool: "browser.drag", Args: `{"from":{"name":"Tune the organ"},"to":{"name":"Done","role":"region"}}`, Expect: []string{`page.text.contains("Nothing to do")`}})},
	{Name: "drag-slider", Path: "/c/drag-slider", About: "A slider made of divs, which follows the pointer and answers to no key.",
		Failure: tool.VerificationFailed, Want: once, Steps: steps(
			Step{Tool: "browser.drag", Args: `{"from":{"name":"Volume","role":"slider"},"by_x":200}`, Expect: []string{`page.text.contains("Volume 50")`}})},
	{Name: "virtual-list", Path: "/c/virtual-list", About: "Of 1,200 rows only those in view exist.",
		Failure: tool.TargetNotFound, Want: once, Steps: steps(
			Step{Tool: "browser.scroll", Args: `{"target":{"name":"All songs","role":"list"},"until":{"name":"Play Harbor Lights","role":"button"}}`, Expect: []string{`element("Play Harbor Lights", "button").visible`}},
			click(`{"name":"Play Harbor Lights","role":"button"}`, playing))},
	{Name: "uncheck-swallowed", Path: "/c/uncheck-swallowed?eat=1", About: "The first click on the switch is lost without a trace; one click too many subscribes again.",
		Failure: tool.NoEffect, Want: once, Steps: steps(
			Step{Tool: "browser.uncheck", Args: `{"target":{"name":"Send me the newsletter","role":"switch"}}`, Expect: []string{`page.text.contains("No newsletter")`}})},
	{Name: "code-editor", Path: "/c/code-editor", About: "Text arrives in a field that nobody sees and that is emptied at once; the editor draws the lines itself.",
		Failure: tool.VerificationFailed, Want: once, Steps: steps(
			typeText(`{"name":"Editor content"}`, `package harbor\n\nfunc Lights() int {\n\treturn 12\n}`, `page.text.contains("5 lines")`))},
	{Name: "fill-form", Path: "/c/fill-form?delay=300", About: "One field of the form comes 300 ms after another one was filled in.",
		Failure: tool.TargetNotFound, Want: once, Steps: steps(
			Step{Tool: "browser.fill_form", Expect: []string{`page.text.contains("Delivery to Kyoto")`},
				Args: `{"fields":[{"target":{"name":"Name"},"value":"Ada Park"},{"target":{"name":"Country"},"value":"Japan"},{"target":{"name":"Prefecture"},"value":"Kyoto"},{"target":{"name":"I accept the terms"},"value":"true"}]}`})},
	{Name: "combobox-filter", Path: "/c/combobox-filter?delay=300", About: "The list has no options until something is typed; one is the beginning of another.",
		Failure: tool.TargetNotFound, Want: once, Steps: steps(choose(`{"name":"City","role":"combobox"}`, "Bergen", `page.text.contains("Concerts near Bergen")`))},
}

// around: what is not on the page itself.
var around = []Case{
	{Name: "confirm-wanted", Path: "/c/confirm-wanted", About: "The caller says that this one question is to be answered with OK; the page asks another one right after it.",
		Failure: tool.VerificationFailed, Want: once, Steps: steps(
			Step{Tool: "browser.dialog", Args: `{"accept":true,"message_contains":"Delete “Road trip”"}`},
			click(`{"name":"Delete Road trip","role":"button"}`, `page.text.contains("1 playlist")`))},
	{Name: "other-tab", Path: "/c/other-tab", About: "What has to be clicked is in a tab that the page opens.",
		Failure: tool.TargetNotFound, Want: once, Steps: steps(
			click(`{"name":"Read and agree","role":"link"}`),
			Step{Tool: "browser.tabs", Args: `{"action":"select","index":1}`},
			click(`{"name":"I agree","role":"button"}`, `page.text.contains("Thank you")`))},
	{Name: "order-reload", Path: "/c/order-form?delay=0", Ledger: true, About: "Loading the receipt anew is harmless, because the server redirected to it: nothing is ordered twice.",
		Failure: tool.OutcomeUnknown, Want: once, Steps: steps(
			click(`{"name":"Place order","role":"button"}`, `page.text.contains("Order H-")`),
			Step{Tool: "browser.reload", Args: `{}`})},
}
