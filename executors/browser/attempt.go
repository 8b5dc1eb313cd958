package browser

import (
	"context"
	"errors"
	"time"

	"toolsvc/executors/browser/devtools"
	"toolsvc/executors/browser/page"
	gen "toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

// errStale: the target went away between finding it and acting on it. It never leaves this package.
var errStale = errors.New("the target was replaced meanwhile")

// readyLimit bounds the wait for the page before a target is looked for.
const readyLimit = 10 * time.Second

// attempt is one attempt at a call.
type attempt struct {
	x       *Executor
	s       *session
	tab     *page.Tab
	call    *tool.Call
	plan    tool.Plan
	act     action
	key     string // names the attempt in the page's world: CALL/NUMBER
	release func()

	begun       page.Mark
	surfaces    *page.Surfaces // what the page told when it came to rest, until it is used
	elements    int            // of the page, when the target was last looked for
	ahead       *ahead         // a gate that is under way before the target is certain
	loc         *located
	recalled    *recollection
	calmBy      time.Time // until when calm frames are waited for; zero while none was
	notes       []string
	shot        []byte // the latest picture from before the dispatch
	shots       shots
	rest        rest // what the pictures showed to be restless
	before      *sight
	needs       tool.Needs // of the evidence from before the dispatch
	latest      *latest    // the look with which the settling ended
	opaque      *bool      // whether only a picture can show a part of the page, as told when the action was armed
	knownErrors []string   // those of the evidence from before the dispatch
	resolved    bool
	dispatched  bool
	sent        page.Mark // immediately before the dispatch
	taken       time.Time // when the browser said that the page has taken it; zero where it does not say so
	skipped     string    // why nothing had to be dispatched
	work        work
	facts       facts
	shown       []string               // errors that were visible at any look since the dispatch, gone again or not
	records     map[*page.Frame]report // the latest record of each frame: a document that is replaced takes its own with it
	otherTab    bool                   // something changed in another tab of the run since the dispatch
	doubtful    bool                   // all that changed came late, and the page changes by itself
	watched     bool                   // the answers to what was sent were waited for
	settled     bool
	concealed   bool // what the target holds is a secret
	fixed       bool // the facts come from a reconciliation, and are not weighed again
	result      any
	closed      bool
}

// work is what the dispatch of one kind of action leaves for its settling and its rollback.
type work struct {
	loader   string   // of a navigation
	pick     []int    // options chosen
	prior    []int    // options that were selected
	value    string   // the field's value before; never a password's
	hadValue bool     // whether value is known
	types    []string // event types whose arrival is the delivery
	byKey    bool
	picked   string // the option that was clicked in a list of the page's own making
	sure     bool   // the browser itself said that the action was delivered
	plain    bool   // a field of the document itself was filled by nothing but keyboard input
	focus    bool   // it got the focus for that

	entry    int      // of the history, before it was travelled
	staged   []string // files that may be chosen, at places that only this process writes to
	input    int      // the file field that was given files, in the target's frame
	given    bool     // files were handed to a chooser
	drop     *attempt // what a drag ends at
	scrolled scrolled
	fields   []*filling
	returned string // by a function
	cut      bool
}

// guard runs one stage: it ends with the tab, and names its failures.
func (a *attempt) guard(ctx context.Context, f func(ctx context.Context) error) error {
	if a.act.kind == kindTabs { // the tab may be closed on purpose
		return a.fail(ctx, f(ctx))
	}
	ctx, stop := a.tab.Bind(ctx)
	defer stop()
	return a.fail(ctx, f(ctx))
}

// fail names an error after the failure catalogue.
func (a *attempt) fail(ctx context.Context, err error) error {
	f := new(tool.Failed)
	switch cause := context.Cause(ctx); {
	case err == nil:
		return nil
	case errors.As(err, &f):
		return err
	case errors.Is(err, devtools.ErrLost) || errors.Is(cause, devtools.ErrLost) || errors.Is(a.tab.Dead(), devtools.ErrLost):
		f = tool.Failf(tool.BrowserCrashed, "The browser ended during the attempt: %w", err)
	case errors.Is(err, page.ErrCrashed) || errors.Is(a.tab.Dead(), page.ErrCrashed):
		f = tool.Failf(tool.FrameGone, "The tab crashed during the attempt: %w", err)
	case a.tab.Dead() != nil:
		f = tool.Failf(tool.FrameGone, "The tab was closed during the attempt: %w", err)
	case errors.Is(err, errStale) || page.Moved(err):
		f = tool.Failf(tool.Stale, "%s was replaced again and again while it was acted on: %w", capital(words(a.act.target)), err)
	case errors.Is(err, context.DeadlineExceeded):
		f = tool.Failf(tool.Timeout, "%s took too long: %w", a.act.kind, err)
	case errors.Is(err, context.Canceled):
		f = tool.Failf(tool.Cancelled, "%s was cancelled: %w", a.act.kind, err)
	default:
		f = tool.Failf(tool.Internal, "%s: %w", a.act.kind, err)
	}
	f.Dispatched = a.dispatched
	return f
}

// Resolve implements tool.Attempt.
func (a *attempt) Resolve(ctx context.Context) error {
	err := a.resolveAll(ctx)
	a.resolved = err == nil
	return err
}

func (a *attempt) resolveAll(ctx context.Context) error {
	return a.guard(ctx, func(ctx context.Context) error {
		switch a.act.kind {
		case kindNavigate:
			return a.x.allow(a.act.url)
		case kindWait, kindTabs, kindDialog, kindConsole, kindNetwork:
			return nil
		case kindReload:
			return a.reloadable(ctx)
		case kindUpload:
			if err := a.stage(); err != nil {
				return err
			}
		}
		ready, err := a.tab.Ready(ctx, quietBefore, readyLimit)
		if err != nil {
			return err
		}
		if ready.Ready == "loading" {
			return tool.Failf(tool.NotReady, "The page at %s was still being loaded after %s.", a.tab.Main().URL(), readyLimit)
		}
		a.surfaces = &ready
		a.shoot(ctx)
		switch {
		case a.act.kind == kindFillForm:
			return a.resolveFields(ctx)
		case a.act.target == nil:
			return nil
		}
		if err := a.resolve(ctx, a.source(a.act.target)); err != nil {
			return err
		}
		if a.act.to != nil {
			return a.resolveDrop(ctx)
		}
		return nil
	})
}

// source is the one by which a target is looked for in this attempt: the plan's, where it knows what names the target.
func (a *attempt) source(t *gen.Target) tool.Source {
	s := a.plan.Source
	if s == tool.SourceSystem || s == "" || s == tool.SourceAX && (t.Name == nil || t.Selector != nil || t.Ref != nil) {
		return tool.SourceCDP
	}
	return s
}

// sub is an attempt at a part of this one's action: another target, the same record.
func (a *attempt) sub(act action) *attempt {
	return &attempt{x: a.x, s: a.s, tab: a.tab, call: a.call, key: a.key, begun: a.begun, act: act,
		plan: tool.Plan{Number: a.plan.Number, Source: a.plan.Source, Input: tool.InputMouse}}
}

// quietBefore is how long a page must have been at rest before a target is looked for.
const quietBefore = 20 * time.Millisecond

// resolve finds the target and passes the gate, again where it was replaced in between.
func (a *attempt) resolve(ctx context.Context, source tool.Source) error {
	for range maxStale {
		loc, err := a.find(ctx, source)
		if errors.Is(err, errStale) || page.Moved(err) && a.tab.Dead() == nil {
			continue
		}
		if err != nil {
			return err
		}
		if calm, err := a.calmFrame(ctx, loc.frame); err != nil {
			return err
		} else if !calm {
			continue // its document was replaced since
		}
		loc.notes = a.notes
		a.loc = loc
		if !a.act.gated() || loc.seen {
			return nil
		}
		err = a.gate(ctx, loc, true)
		if errors.Is(err, errStale) {
			continue
		}
		if f := new(tool.Failed); errors.As(err, &f) && f.Failure == tool.Covered && a.plan.Input == tool.InputKeyboard {
			err = a.gate(ctx, loc, false)
		}
		return err
	}
	return errStale
}

// calmLimit bounds the waiting of an attempt for iframes that are loaded again and again.
const calmLimit = 4 * time.Second

// calmFrame waits, bounded, while the target's iframe is being loaded again and again: an action would be lost with the document that got
// it. It reports whether the document is still the one in which the target was found.
func (a *attempt) calmFrame(ctx context.Context, f *page.Frame) (bool, error) {
	for calm := true; ; calm = false {
		wait := f.Unrest()
		if wait == 0 {
			return calm, nil
		}
		if a.calmBy.IsZero() {
			a.calmBy = time.Now().Add(calmLimit)
		}
		if time.Now().After(a.calmBy) {
			return false, tool.Failf(tool.Stale, "%s is in a frame that was loaded again and again for %s: an action on it would be lost.", capital(words(a.act.target)), calmLimit)
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return false, ctx.Err()
		}
	}
}

// calmAgain looks once more, immediately before the dispatch, whether the target's frame is about to lose its document, and finds the
// target anew in the one that stays.
func (a *attempt) calmAgain(ctx context.Context) error {
	if a.loc == nil || a.act.to != nil || !a.act.gated() || a.loc.frame.Unrest() == 0 {
		return nil
	}
	return a.resolve(ctx, a.source(a.act.target))
}

// Dispatch implements tool.Attempt.
func (a *attempt) Dispatch(ctx context.Context) error {
	return a.guard(ctx, func(ctx context.Context) error {
		if err := a.calmAgain(ctx); err != nil {
			return err
		}
		a.x.pool.does(a.s, a.act)
		a.tab.Forget()
		a.sent = a.tab.Mark()
		if a.act.acts() || a.act.travels() {
			a.tab.Reply(a.s.replyFor(a.call.ID))
		}
		switch a.act.kind {
		case kindNavigate:
			return a.navigate(ctx)
		case kindBack, kindForward, kindReload:
			return a.travel(ctx)
		case kindClick, kindDoubleClick:
			return a.click(ctx)
		case kindHover:
			return a.hover(ctx)
		case kindDrag:
			return a.drag(ctx)
		case kindType, kindClear:
			return a.typeText(ctx)
		case kindPress:
			return a.press(ctx)
		case kindSelect:
			return a.choose(ctx)
		case kindCheck, kindUncheck:
			return a.check(ctx)
		case kindUpload:
			return a.upload(ctx)
		case kindScroll:
			return a.scroll(ctx)
		case kindFillForm:
			return a.fill(ctx)
		case kindEvaluate:
			return a.evaluate(ctx)
		case kindTabs:
			return a.doTabs(ctx)
		case kindDialog:
			a.s.armReply(a.act.reply)
		}
		return nil // the others only look, and do that when they settle
	})
}

// Settle implements tool.Attempt.
func (a *attempt) Settle(ctx context.Context) (out tool.Outcome, err error) {
	err = a.guard(ctx, func(ctx context.Context) error {
		a.shoot(ctx)
		switch a.act.kind {
		case kindNavigate, kindBack, kindForward, kindReload:
			out, err = a.settleNavigation(ctx)
		case kindTabs:
			out, err = a.settleTabs(ctx)
		case kindDialog:
			out = a.dialogs()
		case kindConsole:
			out = a.console()
		case kindNetwork:
			out = a.network()
		case kindScroll:
			out, err = a.settleScroll(ctx)
		case kindFillForm:
			out, err = a.settleForm(ctx)
		case kindSnapshot:
			out, err = a.snapshot(ctx)
		case kindRead:
			out, err = a.read(ctx)
		case kindWait:
			out, err = a.waitFor(ctx)
		case kindScreenshot:
			out, err = a.screenshot(ctx)
		default:
			out, err = a.settleAction(ctx)
		}
		if err == nil && (a.act.acts() || a.act.travels()) {
			err = a.refused(ctx)
		}
		return err
	})
	a.settled = true
	return out, err
}

// Close implements tool.Attempt.
func (a *attempt) Close() error {
	if a.closed {
		return nil
	}
	a.closed = true
	a.tab.Leaving(false)
	a.tab.Reply(nil)
	a.shots.wait.Wait()
	if a.dispatched && a.tab.Dead() == nil {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		ctx, stop := a.tab.Bind(ctx)
		defer stop()
		for _, f := range a.tab.Frames() {
			f.Start(ctx, "disarm")
		}
		a.x.pool.saveSoon(a.s)
	}
	a.release()
	return nil
}

// historyLimit bounds the wait for a page of the history, or of a new tab.
const historyLimit = 30 * time.Second
