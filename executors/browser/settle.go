package browser

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"toolsvc/executors/browser/page"
	gen "toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

// How long is watched after a dispatch.
const (
	firstLook    = 80 * time.Millisecond   // for a reaction, before it is asked whether anything listens
	typeLook     = 30 * time.Millisecond   // the same for text, whose own effect is seen at once
	hoverListen  = 300 * time.Millisecond  // for pointing, where something listens
	typeListen   = 150 * time.Millisecond  // for text, where something listens
	quietAfter   = 16 * time.Millisecond   // a frame without a change, before a reaction counts as complete
	restLimit    = 5 * time.Second         // for everything to come to rest
	netLimit     = 3 * time.Second         // for the requests of a reaction
	recurs       = 1300 * time.Millisecond // to see whether a doubtful change comes again by itself
	recursSlowly = 2600 * time.Millisecond // the same where all there is came late
	sendLimit    = 12 * time.Second        // for the answers to what the action sent to the server
	loadLimit    = 20 * time.Second        // for a page that the action opened
)

// report is what the page's record says of an action.
type report struct {
	Call      string         `json:"call"`
	Heard     map[string]int `json:"heard"`
	Elsewhere map[string]int `json:"elsewhere"` // heard by other elements than the target
	Blocked   int            `json:"blocked"`
	BlockedBy string         `json:"blockedBy"`
	Mutations int            `json:"mutations"`
	Passed    int            `json:"passed"`
	Changes   []string       `json:"changes"`
	Signs     []string       `json:"signs"`
	Unsure    bool           `json:"unsure"`
	Doubtful  bool           `json:"doubtful"`
	Since     float64        `json:"since"`
	Age       float64        `json:"age"`
	Changed   bool           `json:"changed"`
	// Files are the names of files that the page was given: chosen, or dropped.
	Files []string `json:"files"`
}

// framed is a report with the frame that gave it.
type framed struct {
	frame *page.Frame
	rep   report
}

// collect asks all frames for their records of this action.
func (a *attempt) collect(ctx context.Context) []framed {
	frames := a.tab.Frames()
	calls := make([]*page.Call, len(frames))
	for i, f := range frames {
		calls[i] = f.Start(ctx, "report")
	}
	var out []framed
	for i, c := range calls {
		var r *report
		if c.Into(ctx, &r) == nil && r != nil && r.Call == a.key {
			out = append(out, framed{frames[i], *r})
		}
	}
	return a.remember(out)
}

// ask weighs the records that were given while waiting, or asks for them when none were.
func (a *attempt) ask(ctx context.Context, reports []framed) facts {
	if reports == nil {
		reports = a.collect(ctx)
	}
	return a.weigh(reports)
}

// remember keeps the latest record of each frame, and adds those of frames whose document, with the record in it, has been replaced since.
func (a *attempt) remember(reports []framed) []framed {
	if a.records == nil {
		a.records = map[*page.Frame]report{}
	}
	have := map[*page.Frame]bool{}
	for _, r := range reports {
		a.records[r.frame], have[r.frame] = r.rep, true
	}
	for f, r := range a.records {
		if !have[f] {
			reports = append(reports, framed{f, r})
		}
	}
	return reports
}

// weigh puts what is known into facts.
func (a *attempt) weigh(reports []framed) facts {
	f := a.facts // what the watching found out: listeners, pictures
	f.Mutations, f.Passed, f.Changes, f.Signs, f.Unsure, f.Delivered, f.Blocked = 0, 0, nil, nil, false, false, false
	news := a.tab.Since(a.sent)
	caused, sure := a.tab.Caused(a.sent)
	f.Requests, f.Refused, f.Navigated, f.Dialogs = len(caused), page.Refused(caused), news.Navigations > 0, len(news.Dialogs)
	f.Unanswered = a.watched && a.tab.Sending(a.sent) > 0
	f.Popups, f.Choosers, f.Downloads = news.Popups, news.Choosers, news.Downloads
	mine, unsure, doubtful := false, false, false
	for _, r := range reports {
		f.Mutations += r.rep.Mutations
		f.Passed += r.rep.Passed
		f.Changes = append(f.Changes, r.rep.Changes...)
		f.Signs = append(f.Signs, r.rep.Signs...)
		unsure = unsure || r.rep.Unsure || r.rep.Doubtful && len(caused) == 0
		doubtful = doubtful || r.rep.Doubtful
		f.Blocked = f.Blocked || r.rep.Blocked > 0 && r.rep.Heard["click"] == 0
		if a.loc == nil || r.frame == a.loc.frame {
			mine = true
		}
		if a.loc == nil || r.frame == a.loc.frame {
			for _, t := range a.work.types {
				f.Delivered = f.Delivered || r.rep.Heard[t] > 0
			}
		}
	}
	slices.Sort(f.Changes)
	f.Changes = slices.Compact(f.Changes)
	slices.Sort(f.Signs)
	f.Signs = slices.Compact(f.Signs)
	f.Delivered = f.Delivered || a.tab.Heard(a.key, a.work.types...) || f.Navigated || a.work.sure || a.act.kind == kindSelect && a.dispatched && a.work.picked == "" ||
		a.act.enters() && slices.Contains(f.Changes, "form")
	f.Blind = !mine && !f.Navigated
	if a.work.given {
		f.Changes = append(f.Changes, "form") // of a field that may be no part of the document
	}
	if a.act.kind == kindUpload && f.Listens && slices.ContainsFunc(reports, func(r framed) bool { return len(r.rep.Files) > 0 }) {
		f.Changes = append(f.Changes, "files") // they are with what listens, which may read them whenever it likes: given again, they would be there twice
	}
	a.doubtful = doubtful
	if !f.reacted() && a.otherTab {
		f.Changes, unsure = []string{"another tab"}, true
	}
	certain := sure && len(caused) > 0 || f.Navigated || f.Dialogs+f.Popups+f.Choosers+f.Downloads > 0 || f.Pixels > 0
	f.Unsure = !certain && (unsure || len(caused) > 0 && !sure && f.Mutations == 0 && len(f.Changes) == 0 && len(f.Signs) == 0)
	return f
}

// settleAction watches until the page has come to rest, and says what the action did.
func (a *attempt) settleAction(ctx context.Context) (tool.Outcome, error) {
	if a.skipped != "" {
		a.facts = facts{Delivered: true}
		return a.outcome(ctx, tool.EffectNone, false, a.skipped)
	}
	if err := a.watch(ctx); err != nil {
		return tool.Outcome{}, err
	}
	effect, changed, proof := a.facts.decide()
	for _, n := range a.told() {
		proof += " Before it, the attempt " + n + "."
	}
	return a.outcome(ctx, effect, changed, proof)
}

// since is how long ago the page took what was dispatched: a busy machine delivers it late, and a reaction has its time from then.
func (a *attempt) since() time.Duration {
	if a.taken.After(a.sent.At) {
		return time.Since(a.taken)
	}
	return time.Since(a.sent.At)
}

// watch fills in the facts.
func (a *attempt) watch(ctx context.Context) error {
	first := firstLook
	quick := a.act.enters() || a.act.kind == kindSelect || a.act.kind == kindEvaluate // whose own effect is seen at once
	if quick {
		first = typeLook
	}
	type answer struct {
		types map[string]bool
		known bool
	}
	listens := make(chan answer, 1)
	go func() { types, known := a.listeners(ctx); listens <- answer{types, known} }()
	reports, err := a.await(ctx, first)
	if err != nil {
		return err
	}
	a.facts.Watched = a.since()
	a.facts = a.ask(ctx, reports)
	if err := a.compare(ctx); err != nil {
		return err
	}
	l := <-listens
	a.facts.Listens = !l.known || a.concerned(l.types)
	if a.act.kind == kindUpload {
		a.facts = a.weigh(a.collect(ctx))
	}
	longer := time.Duration(0)
	switch {
	case !a.facts.Listens, a.facts.Blocked, !a.facts.Delivered && !a.act.enters(), a.act.kind == kindEvaluate:
	case a.act.kind == kindHover:
		if !a.facts.reacted() {
			longer = hoverListen
		}
	case quick:
		if a.facts.Mutations == 0 && a.facts.Requests == 0 && !a.facts.Navigated && a.facts.Dialogs == 0 {
			longer = typeListen
		}
	case !a.facts.reacted():
		longer = patience + 10*time.Millisecond
	}
	if longer > 0 {
		if err := a.watchLonger(ctx, longer); err != nil {
			return err
		}
	}
	reports = nil // what was told before is weighed already
	if a.facts.reacted() {
		if reports, err = a.comeToRest(ctx); err != nil {
			return err
		}
	} else {
		a.otherTab = a.changedElsewhere(ctx)
	}
	a.watched = true
	a.facts = a.ask(ctx, reports)
	if a.facts.Unsure { // does it come again by itself?
		wait := recurs
		if a.doubtful && len(a.call.Args.Expectations()) == 0 { // nothing else will tell
			wait = recursSlowly
		}
		if err := a.hold(ctx, wait); err != nil {
			return err
		}
		was := a.facts
		a.facts = a.weigh(a.collect(ctx))
		if a.facts.Unsure && a.facts.Mutations <= was.Mutations && a.facts.Requests <= was.Requests {
			a.facts.Unsure = false // it did not: it was the reaction
		} else if !a.facts.reacted() {
			a.facts.Watched = a.since()
		}
	}
	return nil
}

// watchLonger goes on watching until the given time after the dispatch, or until the page reacts. Pictures tell of nothing by themselves, so
// where only they can show a reaction they are taken again and again.
func (a *attempt) watchLonger(ctx context.Context, until time.Duration) error {
	for {
		step := until
		if a.facts.Opaque {
			step = min(until, a.since()+120*time.Millisecond)
		}
		reports, err := a.await(ctx, step)
		if err != nil {
			return err
		}
		a.facts.Watched = a.since()
		a.facts = a.ask(ctx, reports)
		if !a.facts.reacted() {
			if err := a.compare(ctx); err != nil {
				return err
			}
		}
		if a.facts.reacted() && !a.act.enters() && a.act.kind != kindSelect || a.facts.Watched >= until {
			return nil
		}
	}
}

// await waits for a reaction until first has passed since the dispatch, and then until it is at rest; or until something outside of
// the page's own record tells of one. The record is returned where the page is a single frame and waited to the end; otherwise it is to be
// asked for.
func (a *attempt) await(ctx context.Context, first time.Duration) ([]framed, error) {
	ctx2, cancel := context.WithTimeout(ctx, restLimit+first)
	defer cancel()
	frame := a.tab.Main()
	if a.loc != nil {
		frame = a.loc.frame
	}
	wait := map[string]any{"first": max(0, first-a.since()).Milliseconds(), "quiet": quietAfter.Milliseconds(), "max": restLimit.Milliseconds()}
	frames := a.tab.Frames()
	done, news := make(chan error, len(frames)), make(chan error, 1)
	started := 0
	var only *report
	for _, f := range frames {
		if f == frame || len(frames) <= 3 {
			started++
			var into *report // each its own
			go func() {
				err := f.Eval(ctx2, &into, "settle", wait)
				if len(frames) == 1 {
					only = into
				}
				done <- err
			}()
		}
	}
	if started == 0 { // the target's frame is gone
		return nil, nil
	}
	go func() {
		news <- a.tab.AwaitNews(ctx2, a.sent, func(n page.News, rs []page.Request) bool {
			return n.Navigations > 0 || n.Started > 0 || len(rs) > 0 || n.Popups+n.Choosers+n.Downloads > 0
		})
	}()
	var err error
	for range started {
		select {
		case err = <-done:
		case err = <-news:
			if err == nil {
				return nil, nil
			}
		}
		if err != nil {
			break
		}
	}
	switch {
	case err == nil && len(frames) == 1 && only != nil && only.Call == a.key && len(a.tab.Frames()) == 1:
		return a.remember([]framed{{frames[0], *only}}), nil
	case err == nil, page.Moved(err) && a.tab.Dead() == nil:
		return nil, nil
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil: // a page that is busy with itself; the facts so far stand
		return nil, nil
	}
	return nil, err
}

// hold goes on watching for the given time, whatever happens.
func (a *attempt) hold(ctx context.Context, d time.Duration) error {
	frame := a.tab.Main()
	if a.loc != nil {
		frame = a.loc.frame
	}
	err := frame.Eval(ctx, nil, "settle", map[string]any{"first": d.Milliseconds(), "quiet": 0, "max": 2 * d.Milliseconds(), "least": d.Milliseconds()})
	if page.Moved(err) && a.tab.Dead() == nil {
		return nil
	}
	return err
}

// comeToRest waits until the reaction is complete: its requests answered, what it opened loaded, the DOM still. It returns the page's record
// as await does.
func (a *attempt) comeToRest(ctx context.Context) ([]framed, error) {
	end := time.Now().Add(restLimit)
	if a.tab.Since(a.sent).Popups > 0 {
		a.tab.AwaitWindows(ctx, a.sent, netLimit)
	}
	for time.Now().Before(end) {
		news := a.tab.Since(a.sent)
		if news.Navigations > 0 || a.tab.Loading() {
			load, cancel := context.WithTimeout(ctx, loadLimit)
			err := a.tab.AwaitLoad(load, "", a.sent)
			cancel()
			if err != nil && ctx.Err() != nil {
				return nil, err
			}
			_, err = a.tab.Ready(ctx, quietAfter, restLimit)
			return nil, err
		}
		if left := sendLimit - time.Since(a.sent.At); left > 0 && a.tab.Sending(a.sent) > 0 { // until it is answered, nothing that the page shows is final
			if err := a.tab.AwaitAnswers(ctx, a.sent, left); err != nil {
				return nil, err
			}
			// What the answer changes comes with the next task.
			if _, err := a.await(ctx, time.Since(a.sent.At)+30*time.Millisecond); err != nil {
				return nil, err
			}
			end = time.Now().Add(restLimit)
			continue
		}
		if a.tab.Busy(a.sent) == 0 {
			return a.await(ctx, 0)
		}
		if err := a.tab.AwaitQuiet(ctx, a.sent, min(netLimit, time.Until(end))); err != nil {
			return nil, err
		}
		// The answer is there; what it changes comes with the next task.
		if _, err := a.await(ctx, a.since()+30*time.Millisecond); err != nil {
			return nil, err
		}
		if a.tab.Busy(a.sent) > 0 && time.Until(end) < restLimit-netLimit {
			return nil, nil
		}
	}
	return nil, nil
}

// listened are the event types through which a page can react to an action.
var listened = map[kind]map[string]bool{
	kindClick: set("pointerdown", "mousedown", "pointerup", "mouseup", "click", "auxclick", "contextmenu", "dblclick", "submit", "change", "input", "toggle", "touchstart", "touchend"),
	kindHover: set("pointerenter", "mouseenter", "pointerover", "mouseover", "pointermove", "mousemove"),
	kindDrag:  set("pointerdown", "mousedown", "pointermove", "mousemove", "pointerup", "mouseup", "touchstart", "touchmove", "touchend", "dragstart", "dragover", "drop", "dragend"),
	kindPress: set("keydown", "keypress", "keyup", "input", "beforeinput", "change", "submit", "click", "focusin", "focus", "blur", "scroll"),
	kindType:  set("input", "beforeinput", "change", "keydown", "keyup", "keypress", "compositionend", "focus", "focusin", "blur", "focusout", "submit"),
}

func set(names ...string) map[string]bool {
	m := map[string]bool{}
	for _, n := range names {
		m[n] = true
	}
	return m
}

// concerned reports whether what listens to these types can have been told by what was done. Keyboard input into a field fires no event of the
// focus where the field had it already; and no change or submission that the page's record does not have.
func (a *attempt) concerned(types map[string]bool) bool {
	if !a.work.plain || a.act.submit {
		return len(types) > 0
	}
	for t := range types {
		switch t {
		case "focus", "focusin", "blur", "focusout":
			if a.work.focus {
				return true
			}
		case "change", "submit":
			for _, r := range a.records {
				if r.Heard[t]+r.Elsewhere[t] > 0 {
					return true
				}
			}
		default:
			return true
		}
	}
	return false
}

// listeners are the event types of the action that something of the page's listens to; known is false when that cannot be told.
func (a *attempt) listeners(ctx context.Context) (found map[string]bool, known bool) {
	types := listened[a.act.kind]
	switch {
	case a.act.ticks() || a.act.kind == kindDoubleClick:
		types = listened[kindClick]
	case a.act.kind == kindSelect || a.act.enters():
		types = listened[kindType]
	case a.act.kind == kindEvaluate || a.act.kind == kindUpload:
		return nil, false // it may have started anything
	}
	frame, x, y := a.tab.Main(), -1.0, -1.0
	if a.loc != nil {
		frame, x, y = a.loc.frame, a.loc.fx, a.loc.fy
	}
	if a.work.byKey || a.act.enters() {
		x, y = -1, -1
	}
	found, err := frame.Listeners(ctx, x, y, types)
	return found, err == nil
}

// outcome makes the result of an action.
func (a *attempt) outcome(ctx context.Context, effect tool.Effect, changed bool, proof string) (tool.Outcome, error) {
	o, err := a.look(ctx, a.needs)
	if err != nil {
		return tool.Outcome{}, err
	}
	a.latest = &latest{sight: o, at: time.Now()}
	on := a.acted()
	t := o.target
	tabs, files, dialogs := a.openedTabs(ctx), a.saved(ctx), a.dialogsSince()
	switch a.act.kind {
	case kindClick:
		a.result = &gen.ClickResult{URL: o.url, Title: o.title, ActedOn: on, Changed: changed, OpenedTabs: tabs, Downloads: files, Dialogs: dialogs}
	case kindDoubleClick:
		a.result = &gen.DoubleClickResult{URL: o.url, Title: o.title, ActedOn: on, Changed: changed, OpenedTabs: tabs, Downloads: files, Dialogs: dialogs}
	case kindHover:
		a.result = &gen.HoverResult{URL: o.url, Title: o.title, ActedOn: on, Changed: changed, OpenedTabs: tabs, Downloads: files, Dialogs: dialogs}
	case kindDrag:
		a.result = &gen.DragResult{URL: o.url, Title: o.title, ActedOn: on, Changed: changed, OpenedTabs: tabs, Downloads: files, Dialogs: dialogs}
	case kindPress:
		a.result = &gen.PressResult{URL: o.url, Title: o.title, ActedOn: on, Changed: changed, OpenedTabs: tabs, Downloads: files, Dialogs: dialogs}
	case kindType:
		r := &gen.TypeResult{URL: o.url, Title: o.title, ActedOn: on, Changed: changed, OpenedTabs: tabs, Downloads: files, Dialogs: dialogs}
		if t.Exists && a.work.hadValue {
			r.Value = &t.Value
		}
		a.result = r
	case kindClear:
		r := &gen.ClearResult{URL: o.url, Title: o.title, ActedOn: on, Changed: changed, OpenedTabs: tabs, Downloads: files, Dialogs: dialogs}
		if h, err := a.holds(ctx, ""); err == nil { // a field that is gone is not empty
			r.Empty = h.Empty
		}
		a.result = r
	case kindSelect:
		r := &gen.SelectResult{URL: o.url, Title: o.title, ActedOn: on, Changed: changed, OpenedTabs: tabs, Downloads: files, Dialogs: dialogs, Selected: t.SelectedLabels}
		if a.work.picked != "" && len(r.Selected) == 0 {
			r.Selected = []string{}
		}
		a.result = r
	case kindCheck:
		a.result = &gen.CheckResult{URL: o.url, Title: o.title, ActedOn: on, Changed: changed, OpenedTabs: tabs, Downloads: files, Dialogs: dialogs, Checked: t.Checked}
	case kindUncheck:
		a.result = &gen.UncheckResult{URL: o.url, Title: o.title, ActedOn: on, Changed: changed, OpenedTabs: tabs, Downloads: files, Dialogs: dialogs, Checked: t.Checked}
	case kindUpload:
		a.result = &gen.UploadResult{URL: o.url, Title: o.title, ActedOn: on, Changed: changed, OpenedTabs: tabs, Downloads: files, Dialogs: dialogs, Files: a.filesTaken(ctx)}
	case kindEvaluate:
		a.result = &gen.EvaluateResult{Value: a.work.returned, Truncated: a.work.cut, Changed: changed}
	}
	return tool.Outcome{Result: a.result, Effect: effect, Proof: proof, Final: a.refuted(o)}, nil
}

// noNewError is the condition of the design that no error appeared.
const noNewError = "no_new_error"

// refuted reports whether an error is shown, or was, that the tool promises not to appear: an error that was shown stays in the evidence, so
// no later look could find otherwise.
func (a *attempt) refuted(o *sight) bool {
	promised := slices.ContainsFunc(a.call.Spec.Postconditions, func(c tool.Condition) bool { return c.Name == noNewError })
	return promised && a.dispatched && !a.fixed && slices.ContainsFunc(a.errorsSoFar(o), func(e string) bool { return !slices.Contains(a.knownErrors, e) })
}

// acted names what was acted on.
func (a *attempt) acted() string {
	s := "the page"
	if a.loc != nil {
		s = a.loc.words
	} else if a.act.kind == kindPress {
		s = "what had the focus"
	}
	for _, n := range a.told() {
		s += fmt.Sprintf(" (%s before)", n)
	}
	return s
}

// changedElsewhere reports whether something changed in another tab of the run since the dispatch: a window may act on the one that opened it.
func (a *attempt) changedElsewhere(ctx context.Context) bool {
	a.x.pool.mu.Lock()
	var others []*page.Tab
	for _, t := range a.s.others {
		others = append(others, t)
	}
	a.x.pool.mu.Unlock()
	for _, t := range others {
		if t.Dead() != nil {
			continue
		}
		for _, f := range t.Frames() {
			var ago float64
			if err := f.Eval(ctx, &ago, "sinceChange"); err == nil && ago < float64(time.Since(a.sent.At).Milliseconds()) {
				return true
			}
		}
	}
	return false
}

// dialogsSince are the JavaScript dialogs since the dispatch, and how they were answered.
func (a *attempt) dialogsSince() []*gen.AnsweredDialog {
	ds := a.tab.Since(a.sent).Dialogs
	if len(ds) == 0 {
		return nil
	}
	return answered(ds)
}
