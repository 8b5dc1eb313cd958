package gym

import "toolsvc/tool"

// covered: something lies over the target.
var covered = []Case{
	{Name: "covered-cookie", Path: "/c/covered-cookie", About: "A cookie banner lies over the button; refusing is harmless, accepting is not ours to do.",
		Failure: tool.Covered, Steps: steps(click(`{"name":"Add to cart","role":"button"}`, `page.text.contains("1 in the cart")`)),
		Want: Want{Success: true, Goal: exactly(1), Effects: Bounds{1, 2}}},
	{Name: "covered-delete", Path: "/c/covered-delete", About: "A dialog asks “Delete everything?”; neither answer is ours to give.",
		Failure: tool.Covered, Steps: steps(click(`{"name":"Export list","role":"button"}`, `page.text.contains("List exported")`)), Want: untouched(tool.Covered)},
	{Name: "covered-paywall", Path: "/c/covered-paywall", About: "A paywall lies over the page, with no way around it but a purchase.",
		Failure: tool.Covered, Steps: steps(click(`{"name":"Save for later","role":"button"}`, `page.text.contains("Saved for later")`)), Want: untouched(tool.Covered)},
	{Name: "covered-spinner", Path: "/c/covered-spinner?delay=900", About: "A loading veil lies over the page for 900 ms and goes by itself.",
		Failure: tool.Covered, Steps: steps(click(`{"name":"Mark as shipped","role":"button"}`, `page.text.contains("All shipped")`)), Want: once},
	{Name: "covered-invisible", Path: "/c/covered-invisible", About: "The backdrop of a closed menu was left over, invisible, and takes each click.",
		Failure: tool.Covered, Steps: steps(click(`{"name":"Export list","role":"button"}`, `page.text.contains("List exported")`)), Want: untouched(tool.Covered)},
	{Name: "overlay-passthrough", Path: "/c/overlay-passthrough", About: "Decoration lies over everything but lets clicks through: nothing is covered.",
		Failure: tool.Covered, Steps: steps(click(playButton, playing)), Want: once},
	{Name: "sticky-header", Path: "/c/sticky-header", About: "The button is in the viewport, but under a sticky header, until the page is scrolled.",
		Failure: tool.Covered, Steps: steps(click(`{"name":"Start a return","role":"button"}`, `page.text.contains("Return started")`)), Want: once},
}

// unstable: the target moves, is disabled, or is replaced.
var unstable = []Case{
	{Name: "moving", Path: "/c/moving?duration=900", About: "The buttons slide in for 900 ms; where the target was, another button comes to rest.",
		Failure: tool.Moving, Steps: steps(click(`{"name":"Listen","role":"button"}`, `page.text.contains("Playing a preview")`)), Want: once},
	{Name: "moving-forever", Path: "/c/moving?forever=1", About: "The buttons never come to rest.",
		Failure: tool.Moving, Steps: steps(click(`{"name":"Listen","role":"button"}`, `page.text.contains("Playing a preview")`)), Want: untouched(tool.Moving)},
	{Name: "shift-on-hover", Path: "/c/shift-on-hover", About: "The first movement of the pointer loads an advertisement that puts Cancel where Confirm was.",
		Failure: tool.Moving, Steps: steps(click(`{"name":"Confirm booking","role":"button"}`, `page.text.contains("Booking confirmed")`)), Want: once},
	{Name: "disabled", Path: "/c/disabled", About: "The order cannot be placed until the terms are accepted.",
		Failure: tool.Disabled, Steps: steps(click(`{"name":"Place order","role":"button"}`, `page.text.contains("Order placed")`)), Want: untouched(tool.Disabled)},
	{Name: "disabled-fixed", Path: "/c/disabled", About: "The caller accepts the terms first, as the failure told it to.",
		Failure: tool.Disabled, Want: once, Steps: steps(
			check(`{"name":"I accept the terms of sale","role":"checkbox"}`, `element("Place order", "button").enabled == true`),
			click(`{"name":"Place order","role":"button"}`, `page.text.contains("Order placed")`))},
	{Name: "disabled-late", Path: "/c/disabled-late?delay=600", About: "The button is enabled 600 ms later by the page itself: a bounded wait is right, since nothing is missing.",
		Failure: tool.Disabled, Steps: steps(click(playButton, playing)), Want: once},
	{Name: "stale", Path: "/c/stale?every=30&for=1000", About: "The component replaces its button every 30 ms for a second.",
		Failure: tool.Stale, Steps: steps(click(`{"name":"Tune in","role":"button"}`, `page.text.contains("Listening to Harbor Radio")`)), Want: once},
	{Name: "stale-on-hover", Path: "/c/stale-on-hover", About: "The pointer's first touch replaces the button by an equal one.",
		Failure: tool.Stale, Steps: steps(click(`{"name":"Tune in","role":"button"}`, `page.text.contains("Listening to Harbor Radio")`)), Want: once},
}

// noEffect: the click lands, and nothing is seen to happen.
var noEffect = []Case{
	{Name: "debounced", Path: "/c/debounced?delay=300", About: "The handler acts 300 ms later, in silence; a second click would act twice.",
		Failure: tool.NoEffect, Steps: steps(click(`{"name":"Add “Harbor Lights”","role":"button"}`, `page.text.contains("3 songs")`)), Want: once},
	{Name: "debounced-long", Path: "/c/debounced?delay=900", About: "The handler acts 900 ms later, in silence; a second click would act twice.",
		Failure: tool.NoEffect, Steps: steps(click(`{"name":"Add “Harbor Lights”","role":"button"}`, `page.text.contains("3 songs")`)), Want: once},
	{Name: "swallowed", Path: "/c/swallowed?eat=1", About: "The first click is lost without a trace.",
		Failure: tool.NoEffect, Steps: steps(click(playButton, playing)), Want: once},
	{Name: "swallowed-twice", Path: "/c/swallowed?eat=2", About: "The first two clicks are lost without a trace; the third and last attempt works.",
		Failure: tool.NoEffect, Steps: steps(click(playButton, playing)), Want: once},
	{Name: "swallowed-late", Path: "/c/swallowed-late?delay=700", About: "The handler is attached 700 ms after the page was loaded, and nothing shows when.",
		Failure: tool.NoEffect, Steps: steps(click(playButton, playing)), Want: once},
	{Name: "keyboard-only", Path: "/c/keyboard-only", About: "The button ignores the mouse and answers to the keyboard.",
		Failure: tool.NoEffect, Steps: steps(click(playButton, playing)), Want: once},
	{Name: "no-op-forever", Path: "/c/no-op-forever", About: "The button never does anything.",
		Failure: tool.NoEffect, Steps: steps(click(`{"name":"Sync now","role":"button"}`, `page.text.contains("Synced")`)), Want: untouched(tool.NoEffect)},
	{Name: "beacon", Path: "/c/beacon", Ledger: true, About: "The effect is one message to the server, and the page stays as it is; each click is one more vote.",
		Failure: tool.NoEffect, Steps: steps(click(`{"name":"I like it","role":"button"}`)), Want: once},
	{Name: "download", Path: "/c/download", Ledger: true, About: "The effect is a file on the disk, and the page stays as it is.",
		Failure: tool.NoEffect, Steps: steps(click(`{"name":"Download receipt","role":"link"}`)), Want: once},
	{Name: "websocket", Path: "/c/websocket", Ledger: true, About: "The effect is one frame on a connection that was open before: no request, and the page stays as it is.",
		Failure: tool.NoEffect, Steps: steps(click(`{"name":"Wave","role":"button"}`)), Want: once},
	{Name: "storage-only", Path: "/c/storage-only", About: "The effect is an entry in the browser's storage, and the page stays as it is.",
		Failure: tool.NoEffect, Steps: steps(click(`{"name":"Don't show tips again","role":"button"}`)), Want: once},
	{Name: "animate-only", Path: "/c/animate-only", About: "The effect is an animation that makes a text visible: no element, attribute or style sheet changes; a second click undoes it.",
		Failure: tool.NoEffect, Steps: steps(click(`{"name":"Lyrics","role":"button"}`, `effect.changed`)), Want: once},
	{Name: "file-chooser", Path: "/c/file-chooser", About: "The click opens the system's file chooser, which is no part of the page.",
		Failure: tool.NoEffect, Steps: steps(click(`{"name":"Choose a picture","role":"button"}`)), Want: once},
	{Name: "clipboard", Path: "/c/clipboard", About: "The effect lies in the clipboard, where no evidence of the page shows it: a limit, met without a claim of success.",
		Failure: tool.NoEffect, Steps: steps(click(`{"name":"Copy link","role":"button"}`)),
		Want: Want{Failure: tool.NoEffect, Goal: Bounds{1, 3}, Effects: Bounds{1, 3}}},
	{Name: "noise-canvas", Path: "/c/noise?with=canvas", About: "A clock ticks, a record turns, a number is polled; the button is painted on a canvas.",
		Failure: tool.TargetNotFound, Steps: steps(click(`{"name":"Tune in","role":"button"}`, playing)), Want: once},
	{Name: "noise-swallowed", Path: "/c/noise?with=swallowed", About: "The page never rests, and the first click is lost.",
		Failure: tool.NoEffect, Steps: steps(click(`{"name":"Tune in","role":"button"}`, playing)), Want: once},
	{Name: "noise-no-op", Path: "/c/noise?with=noop", About: "The page never rests, and the button never does anything: its changes are not the click's.",
		Failure: tool.NoEffect, Steps: steps(click(`{"name":"Tune in","role":"button"}`, playing)), Want: untouched(tool.NoEffect)},
}

// verification: the action was done, and the page is not as it should be.
var verification = []Case{
	{Name: "error-dialog", Path: "/c/error-dialog?delay=150", About: "Saving what was typed fails once, with an error dialog; the next try works.",
		Failure: tool.VerificationFailed, Steps: steps(typeText(`{"name":"Display name","role":"textbox"}`, "Ada of the Harbor",
			`page.text.contains("Saved: Ada of the Harbor")`, `!element("Could not save", "alertdialog").exists`)), Want: once},
	{Name: "error-dialog-always", Path: "/c/error-dialog?delay=150&always=1", About: "Saving what was typed always fails, with an error dialog.",
		Failure: tool.VerificationFailed, Steps: steps(typeText(`{"name":"Display name","role":"textbox"}`, "Ada of the Harbor",
			`page.text.contains("Saved: Ada of the Harbor")`, `!element("Could not save", "alertdialog").exists`)), Want: untouched(tool.VerificationFailed)},
	{Name: "alert", Path: "/c/alert", About: "A native alert stops the page until it is answered.",
		Failure: tool.VerificationFailed, Steps: steps(click(`{"name":"Sync now","role":"button"}`, `page.text.contains("Synced just now")`)), Want: once},
	{Name: "confirm", Path: "/c/confirm", About: "A native question asks before a deletion; only the user may say yes, so it is refused and reported.",
		Failure: tool.VerificationFailed, Steps: steps(click(`{"name":"Delete Road trip","role":"button"}`, `page.text.contains("1 playlist")`)), Want: untouched(tool.VerificationFailed)},
	{Name: "prompt", Path: "/c/prompt", About: "A native prompt asks for a name that only the user can know: it is refused and reported, never answered with what stands in it.",
		Failure: tool.VerificationFailed, Steps: steps(click(`{"name":"New playlist","role":"button"}`, `page.text.contains("Untitled")`)), Want: untouched(tool.VerificationFailed)},
	{Name: "unsaved", Path: "/c/unsaved", About: "The browser asks before it gives up unsaved text; only the user may, so it is refused and reported.",
		Failure: tool.VerificationFailed, Want: untouched(tool.VerificationFailed), Steps: steps(
			typeText(`{"name":"Text","role":"textbox"}`, "Doors at seven", `page.text.contains("Not saved")`),
			click(`{"name":"All notes","role":"link"}`, `page.title.contains("All notes")`))},
	{Name: "toast-error", Path: "/c/toast-error", About: "The page reacts, with an error: nothing is in the cart.",
		Failure: tool.VerificationFailed, Steps: steps(click(`{"name":"Add to cart","role":"button"}`)), Want: untouched(tool.VerificationFailed)},
	{Name: "session-expired", Path: "/c/session-expired", About: "The page changes a great deal, only not as wanted: the sign-in has expired.",
		Failure: tool.VerificationFailed, Steps: steps(click(`{"name":"Send to all members","role":"button"}`, `page.text.contains("Sent to")`)), Want: untouched(tool.VerificationFailed)},
}
