package browser

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"toolsvc/executors/browser/chromium"
	"toolsvc/executors/browser/devtools"
	"toolsvc/executors/browser/guard"
	"toolsvc/tool"
)

// Executor acts in a browser. It implements tool.Executor and tool.Reconciler.
type Executor struct {
	opts Options
	pool *pool
	seen struct {
		mu sync.Mutex
		at time.Time
		ok bool
	}
	temporary string
}

var (
	_ tool.Executor   = (*Executor)(nil)
	_ tool.Reconciler = (*Executor)(nil)
	_ tool.Attempt    = (*attempt)(nil)
)

// New makes an executor. The browser is started by the first call that needs it.
func New(o Options) (*Executor, error) {
	o = o.withDefaults()
	x := &Executor{}
	switch {
	case o.StateDir == "" && !o.Ephemeral:
		return nil, errors.New("the browser executor needs a state directory")
	case o.StateDir == "":
		endOrphans()
		dir, err := newTemporary()
		if err != nil {
			return nil, err
		}
		o.StateDir, x.temporary = dir, dir
	}
	rules, err := guard.New(o.Navigation)
	if err != nil {
		return nil, fmt.Errorf("the browser's navigation policy: %w", err)
	}
	x.opts = o
	x.pool = &pool{opts: o, rules: rules, marks: checkpoints{filepath.Join(o.StateDir, "sessions")}, starting: make(chan struct{}, 1), sessions: map[string]*session{}}
	return x, nil
}

// Applies implements tool.Executor. The accessibility tree and pictures know names, not selectors and references; a picture can also be
// searched by a description.
func (x *Executor) Applies(call *tool.Call, source tool.Source) bool {
	a, err := actionOf(call.Args)
	if err != nil || call.Spec != nil && len(call.Spec.Sources) > 0 && !slices.Contains(call.Spec.Sources, source) {
		return false
	}
	t := a.target
	switch source {
	case tool.SourceSystem:
		return true
	case tool.SourceAX:
		return t == nil || t.Name != nil && t.Selector == nil && t.Ref == nil
	case tool.SourceCDP:
		return t == nil || t.Name != nil || t.Selector != nil || t.Ref != nil
	case tool.SourceVision:
		return t != nil && (t.Name != nil || t.Description != nil) && t.Selector == nil && t.Ref == nil && x.seeing()
	}
	return false
}

// Begin implements tool.Executor.
func (x *Executor) Begin(ctx context.Context, call *tool.Call, plan tool.Plan) (tool.Attempt, error) {
	return x.begin(ctx, call, plan)
}

func (x *Executor) begin(ctx context.Context, call *tool.Call, plan tool.Plan) (*attempt, error) {
	act, err := actionOf(call.Args)
	if err != nil {
		return nil, err
	}
	s, release, err := x.pool.acquire(ctx, call.RunID)
	if err != nil {
		var f *tool.Failed
		switch {
		case errors.As(err, &f):
			return nil, err
		case errors.Is(err, devtools.ErrLost):
			return nil, tool.Failf(tool.BrowserCrashed, "The browser ended while the run's session was made ready: %w", err)
		}
		return nil, tool.Failf(tool.FrameGone, "The run's tab could not be made ready: %w", err)
	}
	return &attempt{x: x, s: s, tab: s.tab, call: call, plan: plan, act: act, key: fmt.Sprintf("%s/%d", call.ID, plan.Number), release: release, begun: s.begun(call.ID)}, nil
}

// DebugURL is the debugging endpoint of the run's tab, for a second observer (a benchmark reads the truth of its page by it).
func (x *Executor) DebugURL(runID string) (string, error) {
	x.pool.mu.Lock()
	defer x.pool.mu.Unlock()
	s := x.pool.sessions[runID]
	if s == nil || x.pool.proc == nil {
		return "", fmt.Errorf("run %s has no tab", runID)
	}
	return fmt.Sprintf("ws://%s/devtools/page/%s", x.pool.proc.Address(), s.tab.ID), nil
}

// Close ends a run's session, and forgets its checkpoint.
func (x *Executor) Close(ctx context.Context, runID string) error {
	x.pool.mu.Lock()
	s := x.pool.sessions[runID]
	x.pool.mu.Unlock()
	var err error
	if s != nil {
		x.pool.saving.Wait()
		err = x.pool.shut(ctx, s)
	}
	return errors.Join(err, x.pool.marks.remove(runID), os.RemoveAll(x.uploads(runID)))
}

// Shutdown ends the connection to the browser. The browser itself is left running, with the tabs of the runs, unless the executor is
// ephemeral or was told to end it.
func (x *Executor) Shutdown(ctx context.Context) error {
	x.pool.starting <- struct{}{} // a start that is under way ends by its own limits, and would leave a browser
	defer func() { <-x.pool.starting }()
	x.pool.saving.Wait()
	x.pool.mu.Lock()
	x.pool.closed = true
	conn, proc, keeper, sessions := x.pool.conn, x.pool.proc, x.pool.keeper, maps.Clone(x.pool.sessions)
	x.pool.mu.Unlock()
	var errs []error
	end := x.opts.Ephemeral || x.opts.EndBrowser
	if conn != nil {
		for _, s := range sessions {
			s.tab.End()
			for _, t := range s.others {
				t.End()
			}
		}
		_ = conn.Close() // it may be gone already; its end detaches from all tabs
	}
	switch {
	case end && proc != nil:
		errs = append(errs, proc.End())
		if keeper != nil {
			errs = append(errs, keeper.End())
		}
	case end: // a process that was killed may have left one that this process never used; its guard ends with it
		errs = append(errs, chromium.EndRecorded(filepath.Join(x.pool.opts.StateDir, "browser")))
	}
	if x.temporary != "" {
		errs = append(errs, removeAll(x.temporary))
	}
	return errors.Join(errs...)
}

// removeAll removes a profile that the children of a browser that has just ended may still be writing to.
func removeAll(dir string) error {
	var err error
	for range 50 {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// Warm starts the browser before the first call needs it.
func (x *Executor) Warm(ctx context.Context) error {
	done, err := x.pool.start(ctx)
	if err != nil {
		return err
	}
	defer done()
	return x.pool.browser(ctx)
}
