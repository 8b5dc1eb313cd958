package browser

import (
	"context"
	"fmt"
	"strings"
	"time"

	"toolsvc/executors/browser/match"
	"toolsvc/executors/browser/page"
	"toolsvc/tool"
)

const (
	gateLimit     = 3 * time.Second        // until the target is still
	gatePatience  = 400 * time.Millisecond // until it is enabled and uncovered
	maxDismissals = 3                      // covers that are cleared away for one action
	maxStale      = 5                      // targets that went away between finding and acting, in one attempt
)

// gateAnswer is what the page's gate says.
type gateAnswer struct {
	Failure string   `json:"failure"`
	ID      int      `json:"id"`
	X       float64  `json:"x"`
	Y       float64  `json:"y"`
	Box     box      `json:"box"`
	Words   string   `json:"words"`
	Lacking []string `json:"lacking"`
	Cover   *cover   `json:"cover"`
}

// cover is what takes the click instead of the target.
type cover struct {
	Words string `json:"words"`
	// Kind is "" when it is of no kind that is known to be harmless; Close the number of the control that closes it.
	Kind    string `json:"kind"`
	Close   int    `json:"close"`
	Control string `json:"control"`
	// Blur: it is a field's suggestions, which close when the field loses the focus.
	Blur bool `json:"blur"`
}

// frameOwner is a frame's element, seen from the page that holds it.
type frameOwner struct {
	ID     int      `json:"id"`
	X      float64  `json:"x"`
	Y      float64  `json:"y"`
	OK     bool     `json:"ok"`
	Inside bool     `json:"inside"`
	Cover  *cover   `json:"cover"`
	Within []holder `json:"within"`
	Name   string   `json:"name"`
}

// ahead is a gate that was begun while it was not yet certain that its element is the target. It only looks.
type ahead struct {
	frame *page.Frame
	id    int
	began time.Time
	call  *page.Call
}

// aheadFresh is how long after its beginning the answer of such a gate is still taken: one that lay there for longer says too little of now.
const aheadFresh = 100 * time.Millisecond

// lookAhead begins the gate at the element that the DOM search would choose, while the source is still looking: two frames pass either way.
// Whether it is the target the source alone decides; if it is another one, or if anything is in the way, the gate begins anew.
func (a *attempt) lookAhead(ctx context.Context, dom []found) {
	a.ahead = nil
	if !a.act.gated() {
		return
	}
	ch := a.decide(dom, false)
	if ch.Verdict != match.Found || !dom[ch.Index].frame.IsMain() {
		return
	}
	x := dom[ch.Index]
	in := map[string]any{"id": x.ID, "pointer": true, "max": gateLimit.Milliseconds(), "ahead": true}
	a.ahead = &ahead{frame: x.frame, id: x.ID, began: time.Now(), call: x.frame.Start(ctx, "gateAhead", in)}
}

// begunGate is the gate at the target that was begun ahead, nil when there is none whose answer can be taken.
func (a *attempt) begunGate(loc *located, pointer bool) *page.Call {
	h := a.ahead
	a.ahead = nil
	if h == nil || !pointer || h.frame != loc.frame || h.id != loc.id || time.Since(h.began) > aheadFresh {
		return nil
	}
	return h.call
}

// gate waits until the target can be acted on: in view, still, enabled, uncovered. errStale means that it must be found again.
func (a *attempt) gate(ctx context.Context, loc *located, pointer bool) error {
	for range maxDismissals + 1 {
		var g gateAnswer
		in := map[string]any{"id": loc.id, "pointer": pointer, "max": gateLimit.Milliseconds(), "patience": gatePatience.Milliseconds()}
		if loc.known != nil {
			in["known"] = loc.known
		}
		begun := a.begunGate(loc, pointer)
		if begun == nil {
			begun = loc.frame.Start(ctx, "gate", in)
		}
		err := begun.Into(ctx, &g)
		if err == nil && g.Failure == "later" {
			g = gateAnswer{}
			err = loc.frame.Eval(ctx, &g, "gate", in)
		}
		if err != nil {
			if page.Moved(err) {
				return errStale
			}
			return err
		}
		switch g.Failure {
		case "":
		case "stale", "hidden":
			if g.Failure == "hidden" {
				return tool.Failf(tool.TargetNotFound, "%s is in the page, but it cannot be seen.", capital(g.Words))
			}
			return errStale
		case "disabled":
			msg := capital(g.Words) + " is disabled"
			if len(g.Lacking) > 0 {
				msg += ": " + strings.Join(g.Lacking, "; ")
			}
			return tool.Failf(tool.Disabled, "%s.", msg)
		case "moving":
			return tool.Failf(tool.Moving, "%s did not come to rest within %s.", capital(g.Words), gateLimit)
		case "covered":
			cleared, err := a.uncover(ctx, loc, loc.frame, g.Cover, g.Words)
			if err != nil {
				return err
			}
			if cleared {
				loc.known = nil
				continue
			}
		}
		loc.id, loc.fx, loc.fy, loc.box = g.ID, g.X, g.Y, g.Box
		if !pointer {
			return nil
		}
		again, err := a.lift(ctx, loc)
		if err != nil {
			return err
		}
		if !again {
			return nil
		}
	}
	return tool.Failf(tool.Covered, "%s is covered by one thing after another.", capital(loc.words))
}

// lift turns the point in the target's frame into one of the viewport, and makes the hit test in every frame on the way. again asks for
// another look, because something was cleared away or had to be scrolled.
func (a *attempt) lift(ctx context.Context, loc *located) (again bool, err error) {
	x, y := loc.fx, loc.fy
	for f, p := loc.frame, loc.frame.Parent(); p != nil; f, p = p, p.Parent() {
		id, err := f.Owner(ctx)
		if page.Moved(err) {
			return false, errStale
		}
		if err != nil {
			return false, err
		}
		var o *frameOwner
		if err := p.Eval(ctx, &o, "owner", id, x, y); page.Moved(err) {
			return false, errStale
		} else if err != nil {
			return false, err
		}
		if o == nil {
			return false, errStale
		}
		if !o.Inside {
			if loc.scrolled {
				return false, tool.Failf(tool.Covered, "%s lies outside of what can be scrolled to in its frame.", capital(loc.words))
			}
			loc.scrolled = true
			var g gateAnswer
			if err := p.Eval(ctx, &g, "gate", map[string]any{"id": id, "pointer": false, "max": gateLimit.Milliseconds(), "patience": 0}); err != nil && !page.Moved(err) {
				return false, err
			}
			return true, nil
		}
		if !o.OK {
			c := o.Cover
			if c == nil {
				c = &cover{Words: "something in the page that holds its frame"}
			}
			cleared, err := a.uncover(ctx, loc, p, c, loc.words)
			if err != nil {
				return false, err
			}
			return cleared, nil
		}
		x, y = o.X, o.Y
	}
	loc.x, loc.y = x, y
	return false, nil
}

// uncover clears a cover away when that is harmless: a cookie banner or a newsletter popup, by the control that refuses or closes it.
// Everything else is reported.
func (a *attempt) uncover(ctx context.Context, loc *located, f *page.Frame, c *cover, what string) (bool, error) {
	if c == nil {
		c = &cover{Words: "something that cannot be named"}
	}
	if c.Kind == "" || c.Close == 0 || len(loc.notes) >= maxDismissals {
		msg := fmt.Sprintf("%s is covered by %s", capital(what), c.Words)
		if c.Kind != "" {
			msg += fmt.Sprintf(", a %s without a control that refuses or closes it", c.Kind)
		}
		return false, tool.Failf(tool.Covered, "%s.", msg)
	}
	if c.Blur {
		return a.closeSuggestions(ctx, loc, f, c, what)
	}
	sub := &located{frame: f, id: c.Close, words: c.Control, notes: []string{"", "", ""}} // no clearing away for the sake of clearing away
	if err := a.gate(ctx, sub, true); err != nil {
		return false, tool.Failf(tool.Covered, "%s is covered by %s, and its %s cannot be clicked: %w", capital(what), c.Words, c.Control, err)
	}
	if err := a.tab.Click(ctx, sub.x, sub.y, "left", 0); err != nil {
		return false, err
	}
	var gone bool
	if err := f.Eval(ctx, &gone, "gone", c.Close, 2000); err != nil && !page.Moved(err) {
		return false, err
	}
	if !gone {
		return false, tool.Failf(tool.Covered, "%s is covered by %s, which stayed although its %s was clicked.", capital(what), c.Words, c.Control)
	}
	note := fmt.Sprintf("dismissed a %s by its %s", c.Kind, c.Control)
	loc.notes = append(loc.notes, note)
	a.notes = append(a.notes, note)
	return true, nil
}

// closeSuggestions takes the focus off the field whose suggestions are in the way, or presses Escape in it. The field must keep its text.
func (a *attempt) closeSuggestions(ctx context.Context, loc *located, f *page.Frame, c *cover, what string) (bool, error) {
	var r struct {
		OK    bool `json:"ok"`
		Same  bool `json:"same"`
		Field int  `json:"field"`
	}
	if err := f.Eval(ctx, &r, "blurAway", c.Close, 400); err != nil {
		return false, err
	}
	if !r.OK && r.Field != 0 {
		key, err := page.ParseKey("Escape")
		if err != nil {
			return false, err
		}
		if err := f.Eval(ctx, nil, "restoreFocus", r.Field); err != nil {
			return false, err
		}
		if err := a.tab.Press(ctx, f, key); err != nil {
			return false, err
		}
		if r.OK, err = a.dialogGone(ctx, f, c.Close, 600*time.Millisecond); err != nil {
			return false, err
		}
	}
	if !r.OK || !r.Same {
		return false, tool.Failf(tool.Covered, "%s is covered by %s, which cannot be closed without choosing one.", capital(what), c.Words)
	}
	note := "closed " + c.Words
	loc.notes, a.notes = append(loc.notes, note), append(a.notes, note)
	return true, nil
}

func capital(s string) string {
	if s == "" {
		return "The target"
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
