package browser

import (
	"time"

	"toolsvc/executors/browser/match"
	"toolsvc/executors/browser/page"
	gen "toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

// kind is what a call does.
type kind string

const (
	kindNavigate    kind = "navigate"
	kindBack        kind = "back"
	kindForward     kind = "forward"
	kindReload      kind = "reload"
	kindSnapshot    kind = "snapshot"
	kindRead        kind = "read"
	kindClick       kind = "click"
	kindDoubleClick kind = "double_click"
	kindHover       kind = "hover"
	kindDrag        kind = "drag"
	kindType        kind = "type"
	kindClear       kind = "clear"
	kindPress       kind = "press"
	kindSelect      kind = "select"
	kindCheck       kind = "check"
	kindUncheck     kind = "uncheck"
	kindUpload      kind = "upload"
	kindScroll      kind = "scroll"
	kindFillForm    kind = "fill_form"
	kindDialog      kind = "dialog"
	kindTabs        kind = "tabs"
	kindConsole     kind = "console"
	kindNetwork     kind = "network"
	kindEvaluate    kind = "evaluate"
	kindWait        kind = "wait_for"
	kindScreenshot  kind = "screenshot"
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
	changes   bool // of a snapshot: only what changed

	to        *gen.Target // of a drag
	by        page.Point
	paths     []string
	direction string
	amount    int
	until     *gen.Target
	fields    []*gen.FormField
	reply     page.Reply
	tabs      string // what to do with tabs
	index     *int
	level     string
	most      int // entries of a list
	contains  string
	method    string
	failed    bool
	function  string
}

// actionOf reads the payload of a call.
func actionOf(p tool.Payload) (action, error) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	num := func(n *int) int {
		if n == nil {
			return 0
		}
		return *n
	}
	switch p := p.(type) {
	case *gen.NavigatePayload:
		return action{kind: kindNavigate, url: p.URL, limit: ms(p.TimeoutMs)}, nil
	case *gen.BackPayload:
		return action{kind: kindBack, limit: historyLimit}, nil
	case *gen.ForwardPayload:
		return action{kind: kindForward, limit: historyLimit}, nil
	case *gen.ReloadPayload:
		return action{kind: kindReload, limit: historyLimit}, nil
	case *gen.SnapshotPayload:
		return action{kind: kindSnapshot, target: p.Target, maxChars: p.MaxChars, changes: p.OnlyChanges}, nil
	case *gen.ReadPayload:
		return action{kind: kindRead, target: p.Target, maxChars: p.MaxChars}, nil
	case *gen.ClickPayload:
		return action{kind: kindClick, target: p.Target, button: p.Button, modifiers: p.Modifiers}, nil
	case *gen.DoubleClickPayload:
		return action{kind: kindDoubleClick, target: p.Target, button: p.Button, modifiers: p.Modifiers}, nil
	case *gen.HoverPayload:
		return action{kind: kindHover, target: p.Target}, nil
	case *gen.DragPayload:
		return action{kind: kindDrag, target: p.From, to: p.To, by: page.Point{X: float64(num(p.ByX)), Y: float64(num(p.ByY))}}, nil
	case *gen.TypePayload:
		return action{kind: kindType, target: p.Target, text: p.Text, append: p.Append, submit: p.Submit}, nil
	case *gen.ClearPayload:
		return action{kind: kindClear, target: p.Target}, nil
	case *gen.PressPayload:
		return action{kind: kindPress, target: p.Target, key: p.Key}, nil
	case *gen.SelectPayload:
		return action{kind: kindSelect, target: p.Target, values: p.Values}, nil
	case *gen.CheckPayload:
		return action{kind: kindCheck, target: p.Target}, nil
	case *gen.UncheckPayload:
		return action{kind: kindUncheck, target: p.Target}, nil
	case *gen.UploadPayload:
		return action{kind: kindUpload, target: p.Target, paths: p.Paths}, nil
	case *gen.ScrollPayload:
		return action{kind: kindScroll, target: p.Target, direction: str(p.Direction), amount: num(p.Amount), until: p.Until}, nil
	case *gen.FillFormPayload:
		return action{kind: kindFillForm, fields: p.Fields}, nil
	case *gen.DialogPayload:
		return action{kind: kindDialog, reply: page.Reply{Accept: p.Accept, Text: str(p.PromptText), Contains: str(p.MessageContains)}}, nil
	case *gen.TabsPayload:
		return action{kind: kindTabs, tabs: p.Action, index: p.Index, url: str(p.URL), limit: historyLimit}, nil
	case *gen.ConsolePayload:
		return action{kind: kindConsole, level: p.Level, most: p.Limit}, nil
	case *gen.NetworkPayload:
		return action{kind: kindNetwork, contains: str(p.URLContains), method: str(p.Method), failed: p.Failed, most: p.Limit}, nil
	case *gen.EvaluatePayload:
		return action{kind: kindEvaluate, target: p.Target, function: p.Function, limit: ms(p.TimeoutMs)}, nil
	case *gen.WaitForPayload:
		return action{kind: kindWait, target: p.Target, text: str(p.Text), textGone: str(p.TextGone), state: p.State, limit: ms(p.TimeoutMs)}, nil
	case *gen.ScreenshotPayload:
		return action{kind: kindScreenshot, target: p.Target, fullPage: p.FullPage}, nil
	}
	return action{}, tool.Failf(tool.Internal, "the browser executor does not know the payload %T", p)
}

// acts reports whether the action changes something in the page, or may.
func (a action) acts() bool {
	switch a.kind {
	case kindUpload, kindScroll, kindFillForm, kindEvaluate:
		return true
	}
	return a.gated()
}

// gated reports whether the target must pass the gate: be in view, still, enabled and uncovered.
func (a action) gated() bool {
	switch a.kind {
	case kindClick, kindDoubleClick, kindHover, kindDrag, kindType, kindClear, kindPress, kindSelect, kindCheck, kindUncheck:
		return true
	}
	return false
}

// travels reports whether the action leads to another document.
func (a action) travels() bool {
	switch a.kind {
	case kindNavigate, kindBack, kindForward, kindReload:
		return true
	}
	return false
}

// enters reports whether the action is one of text into a field.
func (a action) enters() bool { return a.kind == kindType || a.kind == kindClear }

// ticks reports whether the action is one of a box.
func (a action) ticks() bool { return a.kind == kindCheck || a.kind == kindUncheck }

// roles are the roles that the action can be done to, when the target does not say.
func (a action) roles() []string {
	switch a.kind {
	case kindType, kindClear:
		return []string{"textbox", "searchbox", "combobox", "spinbutton", "slider", "date", "datetime", "inputtime", "colorwell"}
	case kindSelect:
		return []string{"combobox", "listbox", "radiogroup", "button"}
	case kindCheck, kindUncheck:
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
