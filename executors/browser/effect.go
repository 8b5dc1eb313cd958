package browser

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"toolsvc/tool"
)

// facts are all that is known of what a dispatch did. The decision over them is pure.
//
// What counts as a reaction of the page:
//   - a change of the DOM that stands: not one that was undone, that replaced a node by an equal one, or that the place of the change
//     shows by itself (a clock, an animation), measured before the dispatch;
//   - a request that the page does not send by itself;
//   - a changed field, storage, cookie, style sheet, address, scroll position or layer (popover, full screen); media that began or ended;
//   - a navigation, a JavaScript dialog, a window, a download, a file chooser;
//   - on pages with canvases and the like, changed pixels.
//
// What does not count: what pointing and focusing do by themselves, namely hover, press and focus styles (classes of such names, ripples),
// tabindex, and the focus itself, unless a field took it (a click into a field is done when the field has the focus) or a key was meant
// to move it. So a swallowed click that merely focuses a button has no effect.
type facts struct {
	// Delivered: the target received the event. Blocked: the event went elsewhere, and was stopped before the page saw it.
	Delivered, Blocked bool
	// Mutations are those that stand, and those that came and went again (Passed).
	Mutations, Passed int
	// Requests that the page does not send by itself; Refused of them were answered by an error, or not at all.
	Requests, Refused int
	// Unanswered: what the action sent to the server was not answered for as long as it was waited for.
	Unanswered bool
	Navigated  bool
	// Changes are kinds of state that changed without a mutation; Signs are events that tell of a change.
	Changes, Signs                       []string
	Dialogs, Popups, Choosers, Downloads int
	// Unsure: all there is may as well be the page's own doing.
	Unsure bool
	// Opaque: part of the page can only be judged by its pixels. Compared: it was; Pixels is the share that changed, between 0 and 1.
	// Restless: the pixels change by themselves.
	Opaque, Compared, Restless bool
	Pixels                     float64
	// Blind: the page's record of the action was lost, and nothing else tells.
	Blind bool
	// Listens: something listens to the event, so that a late reaction is possible. Watched is how long nothing happened.
	Listens bool
	Watched time.Duration
}

// patience is how long a reaction may take where something listens.
const patience = 1200 * time.Millisecond

// reacted reports whether the page reacted.
func (f facts) reacted() bool {
	return f.Mutations > 0 || f.Requests > 0 || f.Navigated || len(f.Changes) > 0 || len(f.Signs) > 0 || f.Dialogs > 0 || f.Popups > 0 || f.Choosers > 0 ||
		f.Downloads > 0 || f.Pixels > 0
}

// onlyRefused reports whether all there was are requests that failed, and what the page took back.
func (f facts) onlyRefused() bool {
	return f.Refused > 0 && f.Refused == f.Requests && f.Mutations == f.Passed && !f.Navigated && len(f.Changes)+len(f.Signs) == 0 &&
		f.Dialogs+f.Popups+f.Choosers+f.Downloads == 0 && f.Pixels == 0
}

// decide says what is known of the effect, and why, in one sentence.
func (f facts) decide() (effect tool.Effect, changed bool, proof string) {
	switch {
	case f.Blocked && !f.reacted():
		return tool.EffectNone, false, "The event met another element and was stopped before the page saw it."
	case f.Unanswered:
		return tool.EffectUnknown, false, fmt.Sprintf("The page sent a request that was not answered within %d s (%s).", int(sendLimit.Seconds()), f.list())
	case f.onlyRefused():
		return tool.EffectUnknown, false, "What the page sent was refused, and nothing else came of it: " + f.list() + "."
	case f.reacted() && !f.Unsure:
		return tool.EffectConfirmed, true, "The page reacted: " + f.list() + "."
	case f.reacted():
		return tool.EffectUnknown, true, "Something changed (" + f.list() + "), but the page may have done that by itself."
	case f.Blind:
		return tool.EffectUnknown, false, "The page's record of the action is gone, and nothing else tells whether it had an effect."
	case f.Opaque && !f.Compared:
		return tool.EffectUnknown, false, "Part of the page can only be judged by its picture, and no two pictures could be compared."
	case f.Opaque && f.Restless:
		return tool.EffectUnknown, false, "The picture of the target changes by itself, so it does not tell whether the action had an effect."
	case !f.Delivered:
		return tool.EffectNone, false, "The event did not reach the target, and nothing changed."
	case f.Listens && f.Watched < patience:
		return tool.EffectUnknown, false, fmt.Sprintf("The event was delivered and nothing changed within %d ms, but something listens and may yet react.", f.Watched.Milliseconds())
	}
	why := "nothing listens to it"
	if f.Listens {
		why = fmt.Sprintf("what listens to it did nothing for %d ms", f.Watched.Milliseconds())
	}
	pixels := ""
	if f.Compared {
		pixels = ", 0 pixels"
	}
	return tool.EffectNone, false, fmt.Sprintf("The event was delivered and %s: 0 changes of the DOM, 0 requests, fields, storage and media as before%s.", why, pixels)
}

// list names what happened.
func (f facts) list() string {
	var w []string
	count := func(n int, one, many string) {
		switch {
		case n == 1:
			w = append(w, "1 "+one)
		case n > 1:
			w = append(w, fmt.Sprintf("%d %s", n, many))
		}
	}
	if f.Navigated {
		w = append(w, "another page was opened")
	}
	count(f.Mutations, "change of the DOM", "changes of the DOM")
	count(f.Requests, "request", "requests")
	if f.Refused > 0 {
		w = append(w, fmt.Sprintf("%d of them refused", f.Refused))
	}
	names := map[string]string{"form": "a field changed", "storage": "storage changed", "style": "a style sheet changed", "media": "media began or ended",
		"url": "the address changed", "layer": "a layer opened or closed", "scroll": "the page scrolled", "animation": "an animation began", "focus": "the focus moved to a field", "another tab": "something changed in another tab",
		"tabs": "tabs changed", "files": "the page took the files"}
	for _, c := range f.Changes {
		if n := names[c]; n != "" {
			c = n
		}
		w = append(w, c)
	}
	w = append(w, slices.Sorted(slices.Values(f.Signs))...)
	count(f.Dialogs, "dialog", "dialogs")
	count(f.Popups, "window opened", "windows opened")
	count(f.Choosers, "file chooser", "file choosers")
	count(f.Downloads, "download", "downloads")
	if f.Pixels > 0 {
		w = append(w, fmt.Sprintf("%.3f %% of the picture changed", 100*f.Pixels))
	}
	return strings.Join(w, ", ")
}
