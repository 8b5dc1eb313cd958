package browser

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"toolsvc/executors/browser/page"
	"toolsvc/tool"
)

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
