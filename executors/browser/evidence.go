package browser

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"toolsvc/executors/browser/page"
	"toolsvc/tool"
)

// targetState is the state of the element that is acted on.
type targetState struct {
	// Concealed: what it holds is a secret, so Value is "". Entered: it holds the text that the action was to leave there.
	Concealed      bool     `json:"concealed"`
	Entered        bool     `json:"entered"`
	Exists         bool     `json:"exists"`
	Visible        bool     `json:"visible"`
	Enabled        bool     `json:"enabled"`
	Focused        bool     `json:"focused"`
	Checked        bool     `json:"checked"`
	Selected       []string `json:"selected"`
	SelectedLabels []string `json:"selected_labels"`
	Expanded       bool     `json:"expanded"`
	Pressed        bool     `json:"pressed"`
	Value          string   `json:"value"`
	Text           string   `json:"text"`
	Name           string   `json:"name"`
	Role           string   `json:"role"`
	// Editable: it takes text. No condition reads it.
	Editable bool `json:"editable"`
	// Tickable: it is, stands for, or holds a box whose tick can be read. No condition reads it.
	Tickable bool `json:"tickable"`
}

// modal is a dialog of the page's own making.
type modal struct {
	Name  string `json:"name"`
	Text  string `json:"text"`
	Error bool   `json:"error"`
	ID    int    `json:"id"`
}

// sight is one look at the whole page, all frames together.
type sight struct {
	url, title string
	ready      bool
	modals     []modal
	modalIn    []*page.Frame
	errors     []string
	media      []any
	text       string
	target     targetState
	elements   []tool.Element
	reports    []framed
	secret     bool // a secret is shown in plain
	stamps     map[*page.Frame]stamp
}

// seenFrame is what one frame answers.
type seenFrame struct {
	URL    string   `json:"url"`
	Title  string   `json:"title"`
	Ready  bool     `json:"ready"`
	Modals []modal  `json:"modals"`
	Errors []string `json:"errors"`
	Media  []struct {
		Paused      bool    `json:"paused"`
		CurrentTime float64 `json:"current_time"`
		Ended       bool    `json:"ended"`
	} `json:"media"`
	Text     string       `json:"text"`
	Target   *targetState `json:"target"`
	Elements []struct {
		Rank  int            `json:"rank"`
		State map[string]any `json:"state"`
	} `json:"elements"`
	Effect *report `json:"effect"`
	Secret bool    `json:"secret"`
	Stamp  stamp   `json:"stamp"`
}

// lookLimit bounds the looking while documents replace one another.
const lookLimit = 5 * time.Second

// maxText bounds the text of a page, in bytes.
const maxText = 200_000

// look observes the page in one call per frame.
func (a *attempt) look(ctx context.Context, needs tool.Needs) (*sight, error) {
	end := time.Now().Add(lookLimit)
	for {
		o, err := a.lookOnce(ctx, needs)
		if err == nil || !page.Moved(err) || a.tab.Dead() != nil || time.Now().After(end) || ctx.Err() != nil {
			return o, err
		}
		if err := a.tab.AwaitQuiet(ctx, a.tab.Mark(), 50*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

func (a *attempt) lookOnce(ctx context.Context, needs tool.Needs) (*sight, error) {
	frames := a.tab.Frames()
	calls := make([]*page.Call, len(frames))
	for i, f := range frames {
		in := map[string]any{"text": needs.Text, "elements": needs.Elements, "picture": a.x.opts.Screenshots}
		if a.loc != nil && a.loc.frame == f {
			in["target"] = a.loc.id
			switch a.act.kind {
			case kindType:
				in["wanted"], in["append"] = a.act.text, a.act.append
			case kindSelect:
				in["wanted"] = a.act.values
			}
		}
		if !a.dispatched && !a.fixed {
			in["mark"] = a.key
		}
		calls[i] = f.Start(ctx, "observe", in)
	}
	o := &sight{media: []any{}, stamps: map[*page.Frame]stamp{}}
	ranks := make([]int, len(needs.Elements))
	for _, q := range needs.Elements {
		o.elements = append(o.elements, tool.Element{Query: q, State: map[string]any{"exists": false, "visible": false, "count": 0}})
	}
	var text []string
	for i, c := range calls {
		var s seenFrame
		if err := c.Into(ctx, &s); err != nil {
			if i > 0 && page.Moved(err) {
				continue
			}
			return nil, err
		}
		if i == 0 {
			o.url, o.title, o.ready = s.URL, s.Title, s.Ready && !a.tab.Loading()
		}
		for _, m := range s.Modals {
			o.modals, o.modalIn = append(o.modals, m), append(o.modalIn, frames[i])
		}
		for _, e := range s.Errors {
			if !slices.Contains(o.errors, e) {
				o.errors = append(o.errors, e)
			}
		}
		for _, m := range s.Media {
			o.media = append(o.media, map[string]any{"paused": m.Paused, "current_time": m.CurrentTime, "ended": m.Ended})
		}
		o.secret, o.stamps[frames[i]] = o.secret || s.Secret, s.Stamp
		if s.Text != "" {
			text = append(text, s.Text)
		}
		if s.Target != nil {
			o.target = *s.Target
		}
		for k, e := range s.Elements {
			if k >= len(ranks) || e.Rank == 0 {
				continue
			}
			switch {
			case e.Rank > ranks[k]:
				ranks[k], o.elements[k].State = e.Rank, e.State
			case e.Rank == ranks[k]:
				o.elements[k].State["count"] = number(o.elements[k].State["count"]) + number(e.State["count"])
			}
		}
		if s.Effect != nil && s.Effect.Call == a.key {
			o.reports = append(o.reports, framed{frames[i], *s.Effect})
		}
	}
	o.text = clip(strings.Join(text, "\n"), maxText)
	return o, nil
}

func number(v any) int {
	switch n := v.(type) {
	case float64:
		return int(n)
	case int:
		return n
	}
	return 0
}

// clip cuts s to at most n bytes, at the border of a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

// target looks at the target alone.
func (a *attempt) target(ctx context.Context) (targetState, error) {
	var t targetState
	err := a.loc.frame.Eval(ctx, &t, "target", a.loc.id)
	return t, err
}

// latest is the look with which an action's settling ended.
type latest struct {
	*sight
	at time.Time
}

// latestLimit is how old that look may be to serve as the first evidence from after the action: the page came to rest immediately before it.
const latestLimit = 50 * time.Millisecond

// lookNow looks at the page, unless that has just been done.
func (a *attempt) lookNow(ctx context.Context, needs tool.Needs) (*sight, error) {
	l := a.latest
	a.latest = nil
	if l != nil && a.settled && time.Since(l.at) < latestLimit && reflect.DeepEqual(needs, a.needs) {
		return l.sight, nil
	}
	return a.look(ctx, needs)
}

// Observe implements tool.Attempt.
func (a *attempt) Observe(ctx context.Context, needs tool.Needs) (ev *tool.Evidence, err error) {
	err = a.guard(ctx, func(ctx context.Context) error {
		o, err := a.lookNow(ctx, needs)
		if err != nil {
			return err
		}
		a.concealed = a.concealed || o.target.Concealed
		if !a.dispatched && !a.settled {
			a.before, a.needs, a.knownErrors = o, needs, a.errorsSoFar(o)
		}
		ev = a.evidence(o)
		if art := a.picturedIn(ctx, o); art != nil {
			ev.Artifacts = append(ev.Artifacts, *art)
		}
		return nil
	})
	return ev, err
}

// maxListed bounds the requests, dialogs and errors in evidence; the latest are kept.
const maxListed = 100

// evidence turns a look into the variables that conditions read.
func (a *attempt) evidence(o *sight) *tool.Evidence {
	news := a.tab.Since(a.begun)
	dialogs, errs, requests := []any{}, []any{}, []any{}
	for _, d := range news.Dialogs {
		dialogs = append(dialogs, map[string]any{"type": d.Type, "message": d.Message})
	}
	for _, m := range o.modals {
		dialogs = append(dialogs, map[string]any{"type": "modal", "message": m.Name})
	}
	for _, e := range a.errorsSoFar(o) {
		errs = append(errs, e)
	}
	for _, r := range news.Requests {
		requests = append(requests, map[string]any{"method": r.Method, "url": r.URL, "status": r.Status})
	}
	effect := map[string]any{"delivered": false, "changed": false, "mutations": 0, "requests": 0, "navigated": false, "pixels": 0.0, "proof": ""}
	if a.settled && (a.act.acts() || a.act.travels() || a.act.kind == kindTabs) {
		f := a.facts
		if a.act.acts() && a.skipped == "" && a.dispatched && !a.fixed {
			f = a.weigh(a.remember(o.reports))
		}
		_, changed, proof := f.decide()
		if a.skipped != "" {
			proof = a.skipped
		}
		effect = map[string]any{"delivered": f.Delivered, "changed": changed, "mutations": f.Mutations, "requests": f.Requests, "navigated": f.Navigated,
			"pixels": f.Pixels, "proof": proof}
		if f.Blind && !f.Delivered { // nobody knows: a condition that reads it is undecided, not false
			effect["delivered"] = nil
		}
		if f.Blind && !changed || f.Unsure && f.reacted() && !f.Unanswered && !f.onlyRefused() {
			effect["changed"] = nil
		}
	}
	return &tool.Evidence{
		Values: map[string]any{
			"page": map[string]any{"url": o.url, "title": o.title, "ready": o.ready, "dialogs": last(dialogs), "errors": last(errs), "requests": last(requests),
				"media": o.media, "text": o.text},
			"target": o.target.values(),
			"effect": effect,
		},
		Elements: o.elements,
	}
}

// errorsSoFar are the errors that were visible, and the exceptions that were thrown.
func (a *attempt) errorsSoFar(o *sight) []string {
	es := slices.Concat(a.errorsShown(o), a.tab.Since(a.begun).Exceptions)
	if a.dispatched && a.act.acts() {
		if status := a.tab.Answered(a.sent); status >= 400 {
			es = append(es, fmt.Sprintf("The server answered the page that was opened with status %d.", status))
		}
	}
	return es
}

// errorsShown are the errors that are visible now and, after the dispatch, those that were visible at an earlier look: an error that was
// shown for a moment was an error, and looking again until it is gone must not make a success of it.
func (a *attempt) errorsShown(o *sight) []string {
	if !a.dispatched {
		return o.errors
	}
	for _, e := range o.errors {
		if !slices.Contains(a.shown, e) && len(a.shown) < maxListed {
			a.shown = append(a.shown, e)
		}
	}
	return a.shown
}

func last(list []any) []any { return list[max(0, len(list)-maxListed):] }

// values are the state as plain JSON; every field has a value.
func (t targetState) values() map[string]any {
	list := func(ss []string) []any {
		out := []any{}
		for _, s := range ss {
			out = append(out, s)
		}
		return out
	}
	return map[string]any{"concealed": t.Concealed, "entered": t.Entered, "exists": t.Exists, "visible": t.Visible, "enabled": t.Enabled, "focused": t.Focused, "checked": t.Checked, "selected": list(t.Selected),
		"selected_labels": list(t.SelectedLabels), "expanded": t.Expanded, "pressed": t.Pressed, "value": t.Value, "text": t.Text, "name": t.Name, "role": t.Role}
}
