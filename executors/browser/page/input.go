package page

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"unicode/utf8"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"

	"toolsvc/executors/browser/devtools"
)

// Modifiers are the bits of the keys that are held down.
type Modifiers int64

// modifierBits by their names in the design.
var modifierBits = map[string]Modifiers{"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}

// ParseModifiers adds up the named modifiers.
func ParseModifiers(names []string) Modifiers {
	var m Modifiers
	for _, n := range names {
		m |= modifierBits[n]
	}
	return m
}

// Hover moves the mouse without waiting for the page to draw.
func (t *Tab) Hover(x, y float64, m Modifiers) func(context.Context) error {
	p := devtools.Start(t.session, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: x, Y: y, Modifiers: int64(m)})
	return func(ctx context.Context) error { return ack(ctx, p) }
}

// Click sends a move, a press and a release at a point of the viewport, in one go, and waits until the page has taken them.
func (t *Tab) Click(ctx context.Context, x, y float64, button string, m Modifiers) error {
	bits := map[string]int64{"left": 1, "right": 2, "middle": 4}
	ev := input.DispatchMouseEventParams{X: x, Y: y, Modifiers: int64(m)}
	move, press, release := ev, ev, ev
	move.Type = input.DispatchMouseEventTypeMouseMoved
	press.Type, press.Button, press.Buttons, press.ClickCount = input.DispatchMouseEventTypeMousePressed, input.MouseButton(button), bits[button], 1
	release.Type, release.Button, release.ClickCount = input.DispatchMouseEventTypeMouseReleased, input.MouseButton(button), 1
	sent := []*devtools.Pending[empty]{devtools.Start(t.session, input.DispatchMouseEvent, move), devtools.Start(t.session, input.DispatchMouseEvent, press),
		devtools.Start(t.session, input.DispatchMouseEvent, release)}
	for _, p := range sent {
		if err := ack(ctx, p); err != nil {
			return fmt.Errorf("click at (%.0f, %.0f): %w", x, y, err)
		}
	}
	return nil
}

// DoubleClick sends two clicks in one go, as Click does.
func (t *Tab) DoubleClick(ctx context.Context, x, y float64, button string, m Modifiers) error {
	bits := map[string]int64{"left": 1, "right": 2, "middle": 4}
	ev := input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: x, Y: y, Modifiers: int64(m)}
	sent := []*devtools.Pending[empty]{devtools.Start(t.session, input.DispatchMouseEvent, ev)}
	for n := int64(1); n <= 2; n++ {
		press, release := ev, ev
		press.Type, press.Button, press.Buttons, press.ClickCount = input.DispatchMouseEventTypeMousePressed, input.MouseButton(button), bits[button], n
		release.Type, release.Button, release.ClickCount = input.DispatchMouseEventTypeMouseReleased, input.MouseButton(button), n
		sent = append(sent, devtools.Start(t.session, input.DispatchMouseEvent, press), devtools.Start(t.session, input.DispatchMouseEvent, release))
	}
	for _, p := range sent {
		if err := ack(ctx, p); err != nil {
			return fmt.Errorf("double-click at (%.0f, %.0f): %w", x, y, err)
		}
	}
	return nil
}

// Wheel turns the mouse wheel over a point.
func (t *Tab) Wheel(ctx context.Context, at Point, dx, dy float64) error {
	if err := ack(ctx, devtools.Start(t.session, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseWheel, X: at.X, Y: at.Y, DeltaX: dx, DeltaY: dy})); err != nil {
		return fmt.Errorf("scroll at (%.0f, %.0f): %w", at.X, at.Y, err)
	}
	return nil
}

// ack waits until an input event was taken. An event that took its own document away is as good as taken.
func ack(ctx context.Context, p *devtools.Pending[empty]) error {
	_, err := p.Wait(ctx)
	if moved(err) {
		return nil
	}
	return because(ctx, err)
}

// TypeText puts body in where the caret is, as an input method does, and then types keys one by one, all of it in one go: a page that saves
// while one types must not come between. Keyboard input goes to the process of the frame that has the focus.
func (t *Tab) TypeText(ctx context.Context, in *Frame, body, keys string) error {
	s := in.Session()
	var sent []*devtools.Pending[empty]
	if body != "" {
		sent = append(sent, devtools.Start(s, input.InsertText, input.InsertTextParams{Text: body}))
	}
	for _, r := range keys {
		for _, ev := range kb.Encode(r) {
			sent = append(sent, devtools.Start(s, input.DispatchKeyEvent, *ev))
		}
	}
	for _, p := range sent {
		if err := ack(ctx, p); err != nil {
			return fmt.Errorf("type %d characters: %w", utf8.RuneCountInString(body)+utf8.RuneCountInString(keys), err)
		}
	}
	return nil
}

// byName maps the DOM's names of keys to the runes of package kb.
var byName = func() map[string]rune {
	m := map[string]rune{}
	for r, k := range kb.Keys {
		if old, ok := m[k.Key]; !ok || r < old {
			m[k.Key] = r
		}
	}
	for alias, name := range map[string]string{"Space": " ", "Spacebar": " ", "Esc": "Escape", "Return": "Enter", "Del": "Delete", "Up": "ArrowUp", "Down": "ArrowDown", "Left": "ArrowLeft", "Right": "ArrowRight", "Ctrl": "Control"} {
		m[alias] = m[name]
	}
	return m
}()

// edits are the editing commands that a key combination stands for; Chromium takes them from the platform, which is absent here.
var edits = map[string]string{"Control+a": "selectAll", "Control+c": "copy", "Control+x": "cut", "Control+v": "paste", "Control+z": "undo", "Control+y": "redo"}

// Key is a key combination, ready to be sent.
type Key struct {
	name      string
	modifiers Modifiers
	events    []*input.DispatchKeyEventParams
}

// ParseKey reads "Enter", "a", "Control+Shift+Tab", "+".
func ParseKey(s string) (Key, error) {
	k := Key{name: s}
	rest := s
	for {
		mod, after, ok := strings.Cut(rest, "+")
		bit, known := modifierBits[mod]
		if !ok || !known || after == "" {
			break
		}
		k.modifiers |= bit
		rest = after
	}
	r, ok := byName[rest]
	if !ok && utf8.RuneCountInString(rest) == 1 {
		r, _ = utf8.DecodeRuneInString(rest)
		ok = true
	}
	if !ok {
		return k, fmt.Errorf("there is no key %q; examples are Enter, Escape, Tab, Backspace, ArrowDown, PageUp, F5, a, Control+a", rest)
	}
	k.events = kb.Encode(r)
	for _, ev := range k.events {
		ev.Modifiers |= int64(k.modifiers)
		if k.modifiers&^8 != 0 { // with Control, Alt or Meta a key types nothing
			ev.Text, ev.UnmodifiedText = "", ""
		}
	}
	if c := edits[strings.ToLower(rest)]; c != "" {
		k.events[0].Commands = []string{c}
	}
	if c := edits["Control+"+strings.ToLower(rest)]; c != "" && (k.modifiers == 2 || k.modifiers == 4 && runtime.GOOS == "darwin") {
		k.events[0].Commands = []string{c}
	}
	return k, nil
}

// Press sends a key combination to whatever has the focus: the modifiers down, the key, the modifiers up.
func (t *Tab) Press(ctx context.Context, in *Frame, k Key) error {
	s := in.Session()
	var sent []*devtools.Pending[empty]
	send := func(ev input.DispatchKeyEventParams) {
		sent = append(sent, devtools.Start(s, input.DispatchKeyEvent, ev))
	}
	held := Modifiers(0)
	for _, n := range []string{"Alt", "Control", "Meta", "Shift"} {
		if bit := modifierBits[n]; k.modifiers&bit != 0 {
			held |= bit
			down := *kb.Encode(byName[n])[0]
			down.Modifiers = int64(held)
			send(down)
		}
	}
	for _, ev := range k.events {
		if ev.Type == kb.KeyChar && ev.Text == "" {
			continue
		}
		send(*ev)
	}
	for _, n := range []string{"Shift", "Meta", "Control", "Alt"} {
		if bit := modifierBits[n]; k.modifiers&bit != 0 {
			held &^= bit
			evs := kb.Encode(byName[n])
			up := *evs[len(evs)-1]
			up.Modifiers = int64(held)
			send(up)
		}
	}
	for _, p := range sent {
		if err := ack(ctx, p); err != nil {
			return fmt.Errorf("press %s: %w", k.name, err)
		}
	}
	return nil
}
