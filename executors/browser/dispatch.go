package browser

import (
	"context"
	"errors"
	"fmt"
	"time"

	"toolsvc/executors/browser/page"
	"toolsvc/tool"
)

// arm starts the record of the action in every frame. In the target's frame it takes the last look at the point as well, where the
// target is an element; elsewhere it lets no mouse event through. false means that the target is not there, or covered, any more.
func (a *attempt) arm(ctx context.Context, mode string, guard bool) (bool, error) {
	a.records, a.opaque = nil, nil
	var others []*page.Call
	var opaque struct {
		Opaque int `json:"opaque"`
	}
	for _, f := range a.tab.Frames() {
		if a.loc == nil || f != a.loc.frame {
			others = append(others, f.Start(ctx, "arm", map[string]any{"call": a.key, "mode": mode, "guard": guard, "block": guard && a.loc != nil}))
		}
	}
	defer func() {
		sum := opaque.Opaque
		for _, c := range others {
			opaque.Opaque = 0
			_ = c.Into(ctx, &opaque) // a frame that went away needs no record
			sum += opaque.Opaque
		}
		only := sum > 0
		a.opaque = &only
	}()
	if a.loc == nil {
		return true, nil
	}
	in := map[string]any{"call": a.key, "mode": mode, "guard": guard, "id": a.loc.id}
	if !guard {
		return true, a.loc.frame.Eval(ctx, &opaque, "arm", in)
	}
	if a.loc.seen {
		var e *struct {
			ID int `json:"id"`
		}
		if err := a.loc.frame.Eval(ctx, &e, "at", a.loc.fx, a.loc.fy); err != nil || e == nil || e.ID != a.loc.id {
			return false, err
		}
		return true, a.loc.frame.Eval(ctx, &opaque, "arm", in)
	}
	var p *struct {
		ID     int     `json:"id"`
		X      float64 `json:"x"`
		Y      float64 `json:"y"`
		Opaque int     `json:"opaque"`
	}
	if err := a.loc.frame.Eval(ctx, &p, "ready", in); err != nil || p == nil {
		return false, err
	}
	a.loc.id, a.loc.fx, a.loc.fy, opaque.Opaque = p.ID, p.X, p.Y, p.Opaque
	again, err := a.lift(ctx, a.loc)
	if again || errors.Is(err, errStale) {
		return false, nil
	}
	return err == nil, err
}

// click presses the mouse on the target, or the key that activates it.
func (a *attempt) click(ctx context.Context) error {
	if a.act.kind == kindClick && a.plan.Input == tool.InputKeyboard && !a.loc.seen && a.act.button != "right" && a.act.button != "middle" && len(a.act.modifiers) == 0 {
		done, err := a.activate(ctx)
		if done || err != nil {
			return err
		}
	}
	return a.mouse(ctx, a.act.button, page.ParseModifiers(a.act.modifiers))
}

// activate focuses the target and presses the key that activates it; false when none does.
func (a *attempt) activate(ctx context.Context) (bool, error) {
	var k struct {
		Failure string `json:"failure"`
		Key     string `json:"key"`
	}
	if err := a.loc.frame.Eval(ctx, &k, "keyFor", a.loc.id, false); err != nil {
		return false, err
	}
	if k.Failure != "" {
		return false, errStale
	}
	if k.Key == "" {
		return false, nil
	}
	key, err := page.ParseKey(k.Key)
	if err != nil {
		return false, err
	}
	if _, err := a.arm(ctx, "mouse", false); err != nil {
		return false, err
	}
	a.work.types, a.work.byKey = []string{"click"}, true
	if err := a.picture(ctx, false); err != nil {
		return false, err
	}
	// Something above the target listens to keys, for a shortcut maybe: Enter may send a message there. So no key is pressed.
	above, err := a.loc.frame.ListensAbove(ctx, keyTypes)
	if err != nil || above {
		var did bool
		a.sent, a.dispatched = a.tab.Mark(), true
		if err := a.loc.frame.Eval(ctx, &did, "activate", a.loc.id); err != nil && !page.Moved(err) {
			return true, err
		}
		a.work.sure = did
		return true, nil
	}
	a.sent, a.dispatched = a.tab.Mark(), true
	defer func() { a.taken = time.Now() }()
	return true, a.tab.Press(ctx, a.loc.frame, key)
}

// keyTypes are the events of keys.
var keyTypes = set("keydown", "keypress", "keyup")

// mouse clicks at the target. An event that met another element was stopped before the page saw it; then the target is found again.
func (a *attempt) mouse(ctx context.Context, button string, m page.Modifiers) error {
	if button == "" {
		button = "left"
	}
	a.work.types = map[string][]string{"left": {"click"}, "middle": {"auxclick", "mouseup"}, "right": {"contextmenu", "mouseup"}}[button]
	mode, send := "mouse", a.tab.Click
	if a.act.kind == kindDoubleClick {
		mode, send = "double", a.tab.DoubleClick
		a.work.types = map[string][]string{"left": {"dblclick"}, "middle": {"auxclick", "mouseup"}, "right": {"contextmenu", "mouseup"}}[button]
	}
	for range maxStale {
		ok, err := a.arm(ctx, mode, true)
		if err != nil && !page.Moved(err) && !errors.Is(err, errStale) {
			return err
		}
		if ok && err == nil {
			if err := a.picture(ctx, true); err != nil {
				return err
			}
			if a.loc.seen && a.rest.moved || a.loc.frame.Unrest() > 0 {
				ok = false
			}
		}
		if ok && err == nil {
			a.sent, a.dispatched = a.tab.Mark(), true
			if err := send(ctx, a.loc.x, a.loc.y, button, m); err != nil {
				return err
			}
			a.taken = time.Now()
			if !a.stopped(ctx) {
				return nil
			}
			a.dispatched = false // the guard's word: the page saw nothing of it
		}
		for _, f := range a.tab.Frames() {
			f.Start(ctx, "disarm")
		}
		if err := a.resolve(ctx, a.source(a.act.target)); err != nil {
			return err
		}
	}
	return errStale
}

// stopped reports whether the guard stopped the click. One that the target told of was not stopped.
func (a *attempt) stopped(ctx context.Context) bool {
	if a.tab.Heard(a.key, "click") {
		return false
	}
	r := a.collect(ctx)
	for _, x := range r {
		if x.rep.Blocked > 0 && x.rep.Heard["click"] == 0 {
			return true
		}
	}
	return false
}

// press presses a key, in the target or in whatever has the focus.
func (a *attempt) press(ctx context.Context) error {
	key, err := page.ParseKey(a.act.key)
	if err != nil {
		return tool.Failf(tool.InvalidArguments, "%w", err)
	}
	frame := a.tab.Main()
	if a.loc != nil {
		frame = a.loc.frame
		if a.loc.seen || frame.Session() != a.tab.Session() {
			if err := a.mouse(ctx, "left", 0); err != nil {
				return err
			}
		}
		var k struct {
			Failure string `json:"failure"`
			Focused bool   `json:"focused"`
		}
		if err := frame.Eval(ctx, &k, "keyFor", a.loc.id, true); err != nil {
			return err
		}
		if k.Failure != "" {
			return errStale
		}
		if !k.Focused && !a.loc.seen {
			return tool.Failf(tool.TargetNotFound, "%s cannot take the focus, so it takes no keys.", capital(a.loc.words))
		}
	} else if f := a.focused(ctx); f != nil {
		frame = f
	}
	if _, err := a.arm(ctx, "key", false); err != nil {
		return err
	}
	a.work.types, a.work.byKey = []string{"keydown"}, true
	if err := a.picture(ctx, false); err != nil {
		return err
	}
	a.sent, a.dispatched = a.tab.Mark(), true
	defer func() { a.taken = time.Now() }()
	return a.tab.Press(ctx, frame, key)
}

// focused is the innermost frame that has the focus.
func (a *attempt) focused(ctx context.Context) *page.Frame {
	var in *page.Frame
	for _, f := range a.tab.Frames() {
		var has bool
		if err := f.Eval(ctx, &has, "hasFocus"); err == nil && has {
			in = f
		}
	}
	return in
}

// dispatchedAs carries into a failure that something had been sent before it.
func dispatchedAs(err error, dispatched bool) error {
	f := new(tool.Failed)
	if dispatched && errors.As(err, &f) {
		c := *f
		c.Dispatched = true
		return &c
	}
	return err
}

// check ticks or unticks a box, unless it is so already.
func (a *attempt) check(ctx context.Context) error {
	t, err := a.target(ctx)
	if err != nil {
		return err
	}
	want := a.act.kind == kindCheck
	switch {
	case t.Exists && !t.Tickable && !a.loc.canvas: // a click on a button would do something else, and no box could tell of it afterwards
		return tool.Failf(tool.InvalidArguments, "%s is no checkbox, radio button or switch, so it cannot be ticked or unticked; browser.click clicks it.", capital(a.loc.words))
	case t.Checked == want && want:
		a.skipped = "The box was ticked already, so it was left alone."
		return nil
	case t.Checked == want:
		a.skipped = "The box was not ticked, so it was left alone."
		return nil
	case !want && (t.Role == "radio" || t.Role == "menuitemradio"):
		return tool.Failf(tool.InvalidArguments, "%s is a radio button, which cannot be unticked: tick another one of its group.", capital(a.loc.words))
	}
	if a.plan.Input == tool.InputKeyboard && !a.loc.seen {
		if done, err := a.activate(ctx); done || err != nil {
			return err
		}
	}
	return a.mouse(ctx, "left", 0)
}

// navigate opens the address.
func (a *attempt) navigate(ctx context.Context) error {
	a.tab.Leaving(true)
	a.sent, a.dispatched = a.tab.Mark(), true
	ctx, cancel := context.WithTimeout(ctx, a.act.limit)
	defer cancel()
	loader, err := a.tab.Navigate(ctx, a.act.url)
	var refused *page.NavigationError
	switch {
	case errors.As(err, &refused):
		return a.unopened(ctx, refused)
	case errors.Is(err, context.DeadlineExceeded):
		return &tool.Failed{Failure: tool.NotReady, Message: fmt.Sprintf("%s did not answer within %s.", a.act.url, a.act.limit), Dispatched: true, Cause: err}
	}
	a.work.loader = loader
	return err
}
