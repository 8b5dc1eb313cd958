package browser

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

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

// fieldState is what a field says when it is readied for text.
type fieldState struct {
	Failure string `json:"failure"`
	Words   string `json:"words"`
	Kind    string `json:"kind"`
	Set     bool   `json:"set"`
	Value   string `json:"value"`
	Focused bool   `json:"focused"`
	// Had: it had the focus before. Plain: it is in the document itself, not in a shadow tree. Held is what it holds, beside the text that was
	// asked about.
	Had   bool      `json:"had"`
	Plain bool      `json:"plain"`
	Held  *heldText `json:"held"`
	// Editor: it belongs to an editor that draws its text itself, and knows its selection only by keys.
	Editor bool `json:"editor"`
}

// typeText puts the text into the field.
func (a *attempt) typeText(ctx context.Context) error {
	if a.loc.seen {
		return a.typeSeen(ctx)
	}
	asked := a.loc.frame.Start(ctx, "holds", a.loc.id, a.act.text)
	t, err := a.target(ctx)
	if err != nil {
		return err
	}
	a.work.types = []string{"input", "beforeinput"}
	a.work.value, a.work.hadValue = t.Value, true
	want := a.act.text
	if a.act.append {
		want = t.Value + a.act.text
		asked = a.loc.frame.Start(ctx, "holds", a.loc.id, want)
	}
	same, err := held(ctx, asked)
	if err != nil {
		return err
	}
	if same.Length > 0 && t.Value == "" {
		a.work.hadValue = false // a password: its value is never read
	}
	if same.Same && !a.act.append && !a.act.submit {
		a.skipped = "The field held the text already, so nothing was typed."
		return nil
	}
	s, err := a.beginTyping(ctx, want)
	if err != nil {
		return err
	}
	switch s.Failure {
	case "stale":
		return errStale
	case "readonly":
		a.dispatched = false
		return tool.Failf(tool.Disabled, "%s is read-only.", capital(s.Words))
	case "not_a_field":
		a.dispatched = false
		return tool.Failf(tool.TargetNotFound, "%s is not a field that takes text.", capital(s.Words))
	}
	if !same.Same || a.act.append {
		if err := a.enter(ctx, s, want); err != nil {
			return err
		}
	}
	if a.act.submit {
		key, err := page.ParseKey("Enter")
		if err != nil {
			return err
		}
		return a.tab.Press(ctx, a.loc.frame, key)
	}
	return nil
}

// beginTyping arms, and readies the field for text. Where the page has no other frames, both are one step.
func (a *attempt) beginTyping(ctx context.Context, want string) (s fieldState, err error) {
	if len(a.tab.Frames()) == 1 {
		a.records = nil
		a.sent, a.dispatched = a.tab.Mark(), true
		return s, a.loc.frame.Eval(ctx, &s, "beginArmed", map[string]any{"call": a.key, "mode": "type", "id": a.loc.id}, a.act.append, want)
	}
	if _, err := a.arm(ctx, "type", false); err != nil {
		return s, err
	}
	if a.loc.frame.Session() != a.tab.Session() { // a field in another process gets the keyboard by a click
		if err := a.tab.Click(ctx, a.loc.x, a.loc.y, "left", 0); err != nil {
			return s, err
		}
	}
	a.sent, a.dispatched = a.tab.Mark(), true
	return s, a.loc.frame.Eval(ctx, &s, "begin", a.loc.id, a.act.append, want)
}

// refocus is how often a field is given the focus again that it lost before anything was typed.
const refocus = 3

// enter fills the field: as an input method does; where the field takes nothing that way, key by key; where it cannot be typed into, by
// setting its value.
func (a *attempt) enter(ctx context.Context, s fieldState, want string) error {
	if s.Set {
		var ok bool
		return a.loc.frame.Eval(ctx, &ok, "put", a.loc.id, a.act.text)
	}
	if s.Editor {
		return a.enterEditor(ctx, s, want)
	}
	a.work.plain, a.work.focus = s.Plain && !a.loc.seen, !s.Had
	before, err := a.readied(ctx, s, want)
	if err != nil {
		return err
	}
	for again := 0; again < refocus && !before.Focused; again++ { // a page that is starting up may move the focus on
		a.work.focus = true
		if err := a.loc.frame.Eval(ctx, &s, "begin", a.loc.id, a.act.append, want); err != nil {
			return err
		}
		if before, err = a.readied(ctx, s, want); err != nil {
			return err
		}
	}
	text := a.act.text
	if text == "" {
		key, err := page.ParseKey("Delete")
		if err != nil {
			return err
		}
		return a.tab.Press(ctx, a.loc.frame, key)
	}
	// All but the last character go in at once; the last one is a real key, for fields that listen to keys only.
	body, key := lastKey(text)
	if s.Kind == "contenteditable" && strings.Contains(text, "\n") { // the caret is not where a key would go on, after paragraphs were put in
		body, key = text, ""
	}
	var after heldText
	for again := 0; ; again++ {
		if err := a.tab.TypeText(ctx, a.loc.frame, body, key); err != nil {
			return err
		}
		if after, err = held(ctx, a.loc.frame.Start(ctx, "typed", a.loc.id, want)); err != nil {
			if page.Moved(err) { // typing took the page away
				return nil
			}
			return err
		}
		if after.Strays == 0 || after.Took > 0 { // of what the field took something may have come already, such as the move of the focus
			break
		}
		if again == refocus {
			return a.kept()
		}
		if err := a.loc.frame.Eval(ctx, nil, "begin", a.loc.id, a.act.append); err != nil {
			return err
		}
	}
	refused := after.Hash == before.Hash
	if refused && before.Focused && !after.Focused {
		if after.Strays > 0 {
			return a.kept()
		}
		return &tool.Failed{Failure: tool.WrongTarget, Dispatched: true, What: a.loc.words,
			Message: fmt.Sprintf("While the text was typed, the focus went from %s to something else, which may have taken it.", a.loc.words)}
	}
	if !after.Same && body != "" && key != "" && !a.act.append { // only the real key was taken
		alone, err := a.holds(ctx, key)
		if err != nil {
			return err
		}
		refused = refused || alone.Same
	}
	if after.Same || !refused {
		return nil
	}
	var again fieldState // the field wants real keys
	if err := a.loc.frame.Eval(ctx, &again, "begin", a.loc.id, a.act.append); err != nil {
		return err
	}
	return a.tab.TypeText(ctx, a.loc.frame, "", text)
}

// kept says that what was typed was kept from something else that had taken the focus.
func (a *attempt) kept() error {
	return &tool.Failed{Failure: tool.WrongTarget, Dispatched: true, What: a.loc.words,
		Message: fmt.Sprintf("While the text was typed, the focus went from %s to something else. The text was kept from that.", a.loc.words)}
}

// readied is what a field holds, and whether it has the focus, before anything is typed. One that has just been given the focus is asked
// anew: a page may take it away at once.
func (a *attempt) readied(ctx context.Context, s fieldState, want string) (heldText, error) {
	if s.Had && s.Held != nil {
		return *s.Held, nil
	}
	return a.holds(ctx, want)
}

// enterEditor replaces the text of an editor, or adds to its end, by the keys that editors know. Where the editor made something else of what was
// typed, because it indents or closes brackets by itself, all of it is pasted instead, which editors leave as it is.
func (a *attempt) enterEditor(ctx context.Context, s fieldState, want string) error {
	keys := []string{"Control+a", "Delete"}
	if a.act.append {
		keys = []string{"Control+End"}
	} else if s.Value == "" {
		keys = nil
	}
	for again := 0; ; again++ {
		for _, k := range keys {
			key, err := page.ParseKey(k)
			if err != nil {
				return err
			}
			if err := a.tab.Press(ctx, a.loc.frame, key); err != nil {
				return err
			}
		}
		if a.act.text != "" {
			if err := a.tab.TypeText(ctx, a.loc.frame, a.act.text, ""); err != nil {
				return err
			}
		}
		var typed struct {
			Is     bool `json:"is"`
			Strays int  `json:"strays"`
			Text   int  `json:"text"`
		}
		if err := a.loc.frame.Eval(ctx, &typed, "editorTyped", a.loc.id, want, 300); err != nil || typed.Is {
			return err
		}
		if typed.Strays == 0 {
			break
		}
		if again == refocus || a.act.append && typed.Text > 0 { // text that is there would be added twice
			return a.kept()
		}
		if err := a.loc.frame.Eval(ctx, nil, "begin", a.loc.id, a.act.append); err != nil {
			return err
		}
	}
	if a.act.text == "" {
		return nil
	}
	all, err := page.ParseKey("Control+a")
	if err != nil {
		return err
	}
	if err := a.tab.Press(ctx, a.loc.frame, all); err != nil {
		return err
	}
	return a.loc.frame.Eval(ctx, nil, "pasteText", a.loc.id, want)
}

// lastKey splits off the last character where a keyboard has a key for it that types it.
func lastKey(text string) (body, key string) {
	r, n := utf8.DecodeLastRuneInString(text)
	if r < 0x21 || r > 0x7e {
		return text, ""
	}
	return text[:len(text)-n], text[len(text)-n:]
}

// typeSeen types into what a picture shows: a click gives it the focus, then the text goes to whatever has it.
func (a *attempt) typeSeen(ctx context.Context) error {
	if err := a.mouse(ctx, "left", 0); err != nil {
		return err
	}
	a.work.types = []string{"click", "keydown", "input"}
	var s fieldState
	if err := a.loc.frame.Eval(ctx, &s, "begin", a.loc.id, a.act.append, a.act.text); err == nil && s.Failure == "" {
		if err := a.enter(ctx, s, a.act.text); err != nil {
			return err
		}
	} else if err := a.tab.TypeText(ctx, a.loc.frame, "", a.act.text); err != nil {
		return err
	}
	if !a.act.submit {
		return nil
	}
	key, err := page.ParseKey("Enter")
	if err != nil {
		return err
	}
	return a.tab.Press(ctx, a.loc.frame, key)
}

// heldText is what a field says of its text without telling it.
type heldText struct {
	// Strays are the events that were kept from something else while the field was typed into, and Took those that it took.
	Strays int  `json:"strays"`
	Took   int  `json:"took"`
	Same   bool `json:"same"`
	Empty  bool `json:"empty"`
	Length int  `json:"length"`
	Hash   int  `json:"hash"`
	// Focused: the field has the focus.
	Focused bool `json:"focused"`
}

func (a *attempt) holds(ctx context.Context, text string) (heldText, error) {
	return held(ctx, a.loc.frame.Start(ctx, "holds", a.loc.id, text))
}

// held waits for what a field says that it holds.
func held(ctx context.Context, asked *page.Call) (heldText, error) {
	var h *heldText
	if err := asked.Into(ctx, &h); err != nil {
		return heldText{}, err
	}
	if h == nil {
		return heldText{}, errStale
	}
	return *h, nil
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

// choose selects options.
func (a *attempt) choose(ctx context.Context) error {
	var c struct {
		Failure string   `json:"failure"`
		Words   string   `json:"words"`
		List    bool     `json:"list"`
		Option  string   `json:"option"`
		Options []string `json:"options"`
		Pick    []int    `json:"pick"`
		Already bool     `json:"already"`
		Before  []int    `json:"before"`
	}
	if err := a.loc.frame.Eval(ctx, &c, "choose", a.loc.id, a.act.values); err != nil {
		return err
	}
	switch c.Failure {
	case "":
	case "stale":
		return errStale
	case "not_a_select":
		return a.chooseCustom(ctx, c.Words)
	case "single":
		return tool.Failf(tool.InvalidArguments, "%s takes one option, not %d.", capital(c.Words), len(a.act.values))
	case "no_option":
		return tool.Failf(tool.TargetNotFound, "%s has no option %q; it has %s.", capital(a.loc.words), c.Option, strings.Join(c.Options, ", "))
	case "ambiguous_option":
		f := tool.Failf(tool.AmbiguousTarget, "%s has several options %q: %s.", capital(a.loc.words), c.Option, strings.Join(c.Options, ", "))
		for _, o := range c.Options {
			f.Candidates = append(f.Candidates, tool.Candidate{Name: o, Role: "option", Within: a.loc.words})
		}
		return f
	case "option_disabled":
		return tool.Failf(tool.Disabled, "The option %q of %s is disabled.", c.Option, a.loc.words)
	}
	if c.Already {
		a.skipped = "The options were selected already, so nothing was changed."
		return nil
	}
	if _, err := a.arm(ctx, "set", false); err != nil {
		return err
	}
	a.work.pick, a.work.prior = c.Pick, c.Before
	a.sent, a.dispatched = a.tab.Mark(), true
	var ok bool
	err := a.loc.frame.Eval(ctx, &ok, "setOptions", a.loc.id, c.Pick)
	if page.Moved(err) { // the choice took the page away
		return nil
	}
	return err
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
