package page

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"toolsvc/executors/browser/devtools"
)

// View is the size of the viewport, in CSS pixels, and the number of device pixels in one.
type View struct {
	Width, Height int
	Scale         float64
}

// Tab is one tab. Its methods are safe for concurrent use, but input belongs to one caller at a time.
type Tab struct {
	ID      target.ID
	session *devtools.Session
	life    context.Context
	kill    context.CancelCauseFunc

	mu      sync.Mutex
	frames  map[cdp.FrameID]*Frame
	order   int // of frames, as they came
	root    cdp.FrameID
	news    chan struct{} // closed and replaced when something happened
	log     log
	told    []told
	leaving bool // whether beforeunload may be answered with leaving
	reply   *Reply
	chooser *Chooser // the latest file chooser, since AwaitChooser was armed
	dragged *input.DragData
}

// told is a word from the script of a frame's world.
type told struct {
	Heard string `json:"heard"`
	Call  string `json:"call"`
}

// Open attaches to a tab, and readies all of its frames. On an error nothing waits for the tab any more; the tab itself stays.
func Open(ctx context.Context, conn *devtools.Conn, id target.ID, v View) (_ *Tab, err error) {
	s, err := conn.Attach(ctx, id)
	if err != nil {
		return nil, err
	}
	t := &Tab{ID: id, session: s, frames: map[cdp.FrameID]*Frame{}, news: make(chan struct{}), root: cdp.FrameID(id)}
	t.log.init()
	t.life, t.kill = context.WithCancelCause(context.Background())
	defer func() {
		if err != nil {
			t.kill(err)
			conn.Drop(s)
		}
	}()
	go func() {
		select {
		case <-s.Gone():
			select {
			case <-conn.Lost():
				t.kill(devtools.ErrLost)
			default:
				t.kill(devtools.ErrDetached)
			}
		case <-t.life.Done():
		}
	}()
	s.Listen(t.event)
	if err := t.setUp(ctx, s, false); err != nil {
		return nil, fmt.Errorf("ready the tab: %w", err)
	}
	mobile := emulation.SetDeviceMetricsOverrideParams{Width: int64(v.Width), Height: int64(v.Height), DeviceScaleFactor: v.Scale}
	a := devtools.Start(s, emulation.SetDeviceMetricsOverride, mobile)
	b := devtools.Start(s, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	if _, err := a.Wait(ctx); err != nil {
		return nil, fmt.Errorf("set the viewport: %w", err)
	}
	if _, err := b.Wait(ctx); err != nil {
		return nil, fmt.Errorf("keep the tab focused: %w", err)
	}
	return t, nil
}

// setUp readies a session, of the tab or of an out-of-process frame.
func (t *Tab) setUp(ctx context.Context, s *devtools.Session, paused bool) error {
	yes := true
	waits := []func() error{
		wait(ctx, devtools.Start(s, cdppage.Enable, cdppage.EnableParams{})),
		wait(ctx, devtools.Start(s, runtime.AddBinding, runtime.AddBindingParams{Name: binding, ExecutionContextName: worldName})),
		wait(ctx, devtools.Start(s, runtime.Enable, cdp.Empty{})),
		wait(ctx, devtools.Start(s, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: script, WorldName: worldName})),
		wait(ctx, devtools.Start(s, network.Enable, network.EnableParams{})),
		wait(ctx, devtools.Start(s, cdplog.Enable, cdp.Empty{})),
		wait(ctx, devtools.Start(s, target.SetAutoAttach, target.SetAutoAttachParams{AutoAttach: true, WaitForDebuggerOnStart: true, Flatten: &yes,
			Filter: target.Filter{{Type: "iframe"}}})),
	}
	tree := devtools.Start(s, cdppage.GetFrameTree, cdp.Empty{})
	if !paused {
		waits = append(waits, wait(ctx, devtools.Start(s, cdppage.SetInterceptFileChooserDialog, cdppage.SetInterceptFileChooserDialogParams{Enabled: true, Cancel: &yes})))
	} else {
		waits = append(waits, wait(ctx, devtools.Start(s, runtime.RunIfWaitingForDebugger, cdp.Empty{})))
	}
	for _, w := range waits {
		if err := w(); err != nil {
			return err
		}
	}
	r, err := tree.Wait(ctx)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.plant(s, r.FrameTree)
	return nil
}

func wait[R any](ctx context.Context, p *devtools.Pending[R]) func() error {
	return func() error { _, err := p.Wait(ctx); return err }
}

// plant takes a tree of frames in. The caller holds the lock.
func (t *Tab) plant(s *devtools.Session, tree *cdppage.FrameTree) {
	if tree == nil || tree.Frame == nil {
		return
	}
	f := t.frame(tree.Frame.ID)
	f.session, f.url, f.name = s, tree.Frame.URL+tree.Frame.URLFragment, tree.Frame.Name
	if tree.Frame.ParentID != "" {
		f.parent = tree.Frame.ParentID
	} else if s == t.session {
		t.root = tree.Frame.ID
	}
	f.loader = tree.Frame.LoaderID
	for _, c := range tree.ChildFrames {
		t.plant(s, c)
	}
}

// frame returns the record of a frame, made when it is new. The caller holds the lock.
func (t *Tab) frame(id cdp.FrameID) *Frame {
	f := t.frames[id]
	if f == nil {
		t.order++
		f = &Frame{ID: id, tab: t, session: t.session, order: t.order}
		t.frames[id] = f
	}
	return f
}

// event takes in what the browser tells. It runs on the goroutine that reads, so it must not wait.
func (t *Tab) event(ev devtools.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.tell()
	if t.frameEvent(ev) || t.log.event(ev) {
		return
	}
	switch ev.Method {
	case cdppage.JavascriptDialogOpening.Method:
		if e, ok := devtools.As(ev, cdppage.JavascriptDialogOpening); ok {
			accept, text := t.decide(e)
			t.log.dialog(Dialog{Type: string(e.Type), Message: e.Message, Accepted: accept})
			go t.answer(ev.Session, accept, text)
		}
	case cdppage.FileChooserOpened.Method:
		if e, ok := devtools.As(ev, cdppage.FileChooserOpened); ok {
			t.log.choosers++
			t.chooser = &Chooser{session: ev.Session, node: e.BackendNodeID, Multiple: e.Mode == cdppage.FileChooserOpenedModeSelectMultiple}
		}
	case input.DragIntercepted.Method:
		if e, ok := devtools.As(ev, input.DragIntercepted); ok {
			t.dragged = e.Data
		}
	case runtime.BindingCalled.Method:
		if e, ok := devtools.As(ev, runtime.BindingCalled); ok && e.Name == binding {
			var w told
			if json.Unmarshal([]byte(e.Payload), &w) == nil && len(t.told) < 10_000 {
				t.told = append(t.told, w)
			}
		}
	case target.AttachedToTarget.Method:
		if e, ok := devtools.As(ev, target.AttachedToTarget); ok {
			if child := ev.Session.Conn().Session(e.SessionID); child != nil {
				go t.adopt(child, cdp.FrameID(e.TargetInfo.TargetID))
			}
		}
	case target.DetachedFromTarget.Method:
		if e, ok := devtools.As(ev, target.DetachedFromTarget); ok {
			for id, f := range t.frames {
				if f.session.ID == e.SessionID && id != t.root {
					if f.isRootOfSession {
						f.session, f.isRootOfSession, f.world = t.parentSession(f), false, ""
					} else {
						delete(t.frames, id)
					}
				}
			}
		}
	}
}

// parentSession is the session that a frame falls back to when its own process is given up. The caller holds the lock.
func (t *Tab) parentSession(f *Frame) *devtools.Session {
	if p := t.frames[f.parent]; p != nil {
		return p.session
	}
	return t.session
}

// adopt readies an out-of-process frame.
func (t *Tab) adopt(s *devtools.Session, id cdp.FrameID) {
	ctx, cancel := context.WithTimeout(t.life, 10*time.Second)
	defer cancel()
	t.mu.Lock()
	f := t.frame(id)
	f.session, f.isRootOfSession, f.world, f.pace.underWay = s, true, "", time.Time{}
	t.tell()
	t.mu.Unlock()
	s.Listen(t.event)
	if err := t.setUp(ctx, s, true); err != nil {
		// The frame went away while it was made ready, or its process did: either is told by its own event.
		return
	}
	t.mu.Lock()
	t.tell()
	t.mu.Unlock()
}

// tell wakes who waits for news. The caller holds the lock.
func (t *Tab) tell() {
	close(t.news)
	t.news = make(chan struct{})
}

// Await waits until cond holds; it is tried after every event. cond runs with the tab's lock held.
func (t *Tab) await(ctx context.Context, cond func() bool) error {
	for {
		t.mu.Lock()
		ok, news := cond(), t.news
		t.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return because(ctx, ctx.Err())
		}
	}
}

// Bind returns a context that also ends when the tab dies, with the reason as its cause.
func (t *Tab) Bind(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(t.life, func() { cancel(context.Cause(t.life)) })
	return ctx, func() { stop(); cancel(nil) }
}

// Crash records that the tab's renderer died, and ends everything that waits for it.
func (t *Tab) Crash() { t.kill(ErrCrashed) }

// Lose records that the renderer of an out-of-process frame died. The frame holds nothing any more; its tab goes on.
func (t *Tab) Lose(id cdp.FrameID) {
	t.mu.Lock()
	f := t.frames[id]
	if f == nil || !f.isRootOfSession || id == t.root {
		t.mu.Unlock()
		return
	}
	s := f.session
	for c, g := range t.frames {
		if g.session == s {
			delete(t.frames, c)
		}
	}
	t.tell()
	t.mu.Unlock()
	s.Conn().Drop(s)
}

// End ends everything that waits for the tab, because it is about to be closed.
func (t *Tab) End() { t.kill(devtools.ErrDetached) }

// Dead is why the tab cannot be used any more, nil while it can.
func (t *Tab) Dead() error { return context.Cause(t.life) }

// Leaving says whether a page that asks to be stayed on (beforeunload) is left all the same.
func (t *Tab) Leaving(yes bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leaving = yes
}

// Session is the tab's own session, for commands that this package has no word for.
func (t *Tab) Session() *devtools.Session { return t.session }

// Heard reports whether the script of a frame told that the page received an event of that type for the call.
func (t *Tab) Heard(call string, types ...string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range t.told {
		if w.Call == call {
			for _, typ := range types {
				if w.Heard == typ {
					return true
				}
			}
		}
	}
	return false
}

// Forget drops what was told about earlier calls.
func (t *Tab) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.told = nil
}

// Has reports whether the frame is one of the tab's.
func (t *Tab) Has(id cdp.FrameID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.frames[id] != nil
}
