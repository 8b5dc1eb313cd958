package browser

import (
	"time"

	"toolsvc/executors/browser/match"
	gen "toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

// kind is what a call does.
type kind string

const (
	kindNavigate   kind = "navigate"
	kindSnapshot   kind = "snapshot"
	kindRead       kind = "read"
	kindClick      kind = "click"
	kindType       kind = "type"
	kindPress      kind = "press"
	kindSelect     kind = "select"
	kindCheck      kind = "check"
	kindWait       kind = "wait_for"
	kindScreenshot kind = "screenshot"
)

// action is a call's payload in one form for all tools.
type action struct {
	kind   kind
	target *gen.Target

	url       string
	text      string
	textGone  string
	append    bool
	submit    bool
	button    string
	modifiers []string
	key       string
	values    []string
	state     string
	limit     time.Duration
	maxChars  int
	fullPage  bool
}

// actionOf reads the payload of a call.
func actionOf(p tool.Payload) (action, error) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	switch p := p.(type) {
	case *gen.NavigatePayload:
		return action{kind: kindNavigate, url: p.URL, limit: ms(p.TimeoutMs)}, nil
	case *gen.SnapshotPayload:
		return action{kind: kindSnapshot, target: p.Target, maxChars: p.MaxChars}, nil
	case *gen.ReadPayload:
		return action{kind: kindRead, target: p.Target, maxChars: p.MaxChars}, nil
	case *gen.ClickPayload:
		return action{kind: kindClick, target: p.Target, button: p.Button, modifiers: p.Modifiers}, nil
	case *gen.TypePayload:
		return action{kind: kindType, target: p.Target, text: p.Text, append: p.Append, submit: p.Submit}, nil
	case *gen.PressPayload:
		return action{kind: kindPress, target: p.Target, key: p.Key}, nil
	case *gen.SelectPayload:
		return action{kind: kindSelect, target: p.Target, values: p.Values}, nil
	case *gen.CheckPayload:
		return action{kind: kindCheck, target: p.Target}, nil
	case *gen.WaitForPayload:
		return action{kind: kindWait, target: p.Target, text: str(p.Text), textGone: str(p.TextGone), state: p.State, limit: ms(p.TimeoutMs)}, nil
	case *gen.ScreenshotPayload:
		return action{kind: kindScreenshot, target: p.Target, fullPage: p.FullPage}, nil
	}
	return action{}, tool.Failf(tool.Internal, "the browser executor does not know the payload %T", p)
}

// acts reports whether the action changes something, or may.
func (a action) acts() bool {
	switch a.kind {
	case kindClick, kindType, kindPress, kindSelect, kindCheck:
		return true
	}
	return false
}

// roles are the roles that the action can be done to, when the target does not say.
func (a action) roles() []string {
	switch a.kind {
	case kindType:
		return []string{"textbox", "searchbox", "combobox", "spinbutton", "slider", "date", "datetime", "inputtime", "colorwell"}
	case kindSelect:
		return []string{"combobox", "listbox", "button"}
	case kindCheck:
		return []string{"checkbox", "radio", "switch", "menuitemcheckbox", "menuitemradio", "option"}
	}
	return nil
}

// query is what is wanted of the target.
func (a action) query() match.Query {
	t := a.target
	q := match.Query{Name: str(t.Name), Role: str(t.Role), Within: str(t.Within), Near: str(t.Near), Roles: a.roles(), Any: t.Name == nil && (t.Selector != nil || t.Ref != nil)}
	if t.Nth != nil {
		q.Nth = *t.Nth
	}
	return q
}

func str(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

// words names the target for people: button "Play" in "Now playing".
func words(t *gen.Target) string {
	if t == nil {
		return "the page"
	}
	s := str(t.Role)
	if s == "" {
		s = "element"
	}
	switch {
	case t.Name != nil:
		s += ` "` + *t.Name + `"`
	case t.Selector != nil:
		s += " " + *t.Selector
	case t.Ref != nil:
		s += " " + *t.Ref
	case t.Description != nil:
		s += " “" + *t.Description + "”"
	}
	if t.Within != nil {
		s += ` in "` + *t.Within + `"`
	}
	if t.Near != nil {
		s += ` beside "` + *t.Near + `"`
	}
	return s
}
