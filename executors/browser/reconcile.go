package browser

import (
	"context"
	"fmt"
	"strings"

	"toolsvc/executors/browser/page"
	"toolsvc/tool"
)

// recalled is what a frame still knows of a call whose attempt died.
type recalled struct {
	Known    bool     `json:"known"`
	Armed    *report  `json:"armed"`
	Target   int      `json:"target"`
	Moved    []string `json:"moved"`
	Input    bool     `json:"input"`
	Changed  bool     `json:"changed"`
	Requests int      `json:"requests"`
}

// Reconcile implements tool.Reconciler. It asks the page's own record, which outlives the process that made the attempt: whether the event was
// delivered, and whether anything changed since. It changes nothing.
func (x *Executor) Reconcile(ctx context.Context, call *tool.Call, before *tool.Evidence) (tool.Attempt, tool.Outcome, error) {
	x.pool.mu.Lock()
	known := x.pool.sessions[call.RunID]
	x.pool.mu.Unlock()
	var lost *page.Tab
	if known != nil {
		lost = known.tab
	}
	a, err := x.begin(ctx, call, tool.Plan{Number: 0, Source: tool.SourceSystem})
	if err != nil {
		return nil, tool.Outcome{}, err
	}
	var out tool.Outcome
	err = a.guard(ctx, func(ctx context.Context) error {
		var err error
		out, err = a.reconcile(ctx, before, lost != nil && lost != a.tab)
		return err
	})
	if err != nil {
		_ = a.Close()
		return nil, tool.Outcome{}, err
	}
	a.settled = true
	return a, out, nil
}

func (a *attempt) reconcile(ctx context.Context, before *tool.Evidence, rebuilt bool) (tool.Outcome, error) {
	a.fixed = true
	if _, err := a.tab.Ready(ctx, quietAfter, restLimit); err != nil {
		return tool.Outcome{}, err
	}
	o, err := a.look(ctx, tool.Needs{})
	if err != nil {
		return tool.Outcome{}, err
	}
	was := value(before, "page", "url")
	seen := recalled{}
	anyKnown := false
	for _, f := range a.tab.Frames() {
		var r recalled
		if err := f.Eval(ctx, &r, "recall", a.call.ID); err != nil {
			continue
		}
		anyKnown = anyKnown || r.Known
		if r.Target != 0 {
			a.loc = &located{frame: f, id: r.Target, words: words(a.act.target)}
			seen.Target = r.Target
		}
		seen.Input, seen.Changed, seen.Requests = seen.Input || r.Input, seen.Changed || r.Changed, seen.Requests+r.Requests
		seen.Moved = append(seen.Moved, r.Moved...)
		if r.Armed != nil {
			if seen.Armed == nil {
				seen.Armed = &report{Heard: map[string]int{}}
			}
			a.key = r.Armed.Call
			seen.Armed.Mutations += r.Armed.Mutations
			seen.Armed.Blocked += r.Armed.Blocked
			seen.Armed.Changes = append(seen.Armed.Changes, r.Armed.Changes...)
			seen.Armed.Signs = append(seen.Armed.Signs, r.Armed.Signs...)
			for t, n := range r.Armed.Heard {
				seen.Armed.Heard[t] += n
			}
		}
	}
	a.work.types = map[kind][]string{kindClick: {"click", "auxclick", "contextmenu"}, kindCheck: {"click"}, kindUncheck: {"click"}, kindDoubleClick: {"dblclick"}, kindHover: {"mouseover", "mousemove"}, kindDrag: {"drop", "pointerup"}, kindClear: {"input", "keydown"}, kindUpload: {"change", "drop"}, kindPress: {"keydown"}, kindType: {"input", "keydown"}, kindSelect: {"click"}}[a.act.kind]
	a.facts = judge(a.work.types, was, o.url, anyKnown, seen)
	// The page's record is older than this process, so that later looks weigh the same record; what only the protocol told is lost.
	effect, changed, proof := a.facts.decide()
	proof = "As seen afterwards: " + proof
	if a.act.kind == kindEvaluate && effect == tool.EffectNone && seen.Armed != nil {
		effect, proof = tool.EffectUnknown, "Nothing shows on the page; but what a function does need not show there."
	}
	if a.act.kind == kindNavigate {
		if o.url == a.act.url || strings.TrimSuffix(o.url, "/") == strings.TrimSuffix(a.act.url, "/") {
			a.facts = facts{Delivered: true, Navigated: true}
			effect, changed, proof = tool.EffectConfirmed, true, "The page at "+o.url+" is open."
		}
		a.result = nil
		return tool.Outcome{Effect: effect, Proof: proof}, nil
	}
	if rebuilt && !anyKnown && o.url == was {
		proof = fmt.Sprintf("The browser was lost with the process; the page at %s was opened again, and it does not tell whether the action had an effect.", o.url)
		effect = tool.EffectUnknown
	}
	a.dispatched = true
	a.sent = a.tab.Mark()
	switch a.act.kind {
	case kindBack, kindForward, kindReload, kindTabs, kindScroll, kindFillForm, kindDialog, kindEvaluate: // whose results cannot be read off the page afterwards
		return tool.Outcome{Effect: effect, Proof: proof}, nil
	}
	return a.outcome(ctx, effect, changed, proof)
}

// judge makes facts of what is recalled. It is pure.
func judge(types []string, was, is string, known bool, r recalled) facts {
	f := facts{Watched: patience, Listens: true}
	switch {
	case was != "" && was != is:
		f.Navigated, f.Delivered = true, true
	case !known:
		f.Blind = true
	case r.Armed == nil: // the attempt died before its record began, and so before its dispatch
		f.Delivered = r.Input
		f.Changes, f.Requests = r.Moved, r.Requests
		if r.Input && len(r.Moved) == 0 && r.Requests == 0 && r.Changed {
			f.Blind = true // something was entered and something changed, but by whom is not recorded
		}
	default:
		f.Mutations, f.Changes, f.Signs, f.Requests = r.Armed.Mutations, r.Armed.Changes, r.Armed.Signs, r.Requests
		f.Blocked = r.Armed.Blocked > 0
		for _, t := range types {
			f.Delivered = f.Delivered || r.Armed.Heard[t] > 0
		}
		// A page records requests when they have ended. One that is under way was told only to the process that is gone, so silence after a
		// delivered event proves nothing.
		f.Blind = f.Delivered && !f.reacted()
	}
	return f
}

// value reads a text from evidence.
func value(e *tool.Evidence, path ...string) string {
	if e == nil {
		return ""
	}
	var v any = e.Values
	for _, p := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return ""
		}
		v = m[p]
	}
	s, _ := v.(string)
	return s
}
