package browser

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/chromedp/cdproto/target"

	"toolsvc/executors/browser/devtools"
	"toolsvc/executors/browser/page"
	gen "toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

// maxTabs bounds the tabs that a run can open by itself.
const maxTabs = 20

// doTabs does what is asked for with the run's tabs.
func (a *attempt) doTabs(ctx context.Context) error {
	if a.act.tabs == "list" {
		return nil
	}
	all, err := a.x.pool.listTabs(ctx, a.s)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(t *target.Info) bool { return t.TargetID == a.tab.ID })
	if a.act.index != nil && a.act.tabs != "new" {
		at = *a.act.index
	} else if a.act.tabs == "select" {
		return tool.Failf(tool.MissingFields, "Which tab? Give its index; there are %d.", len(all))
	}
	if at < 0 || at >= len(all) {
		return tool.Failf(tool.InvalidArguments, "There is no tab %d; there are %d, counted from 0.", at, len(all))
	}
	switch a.act.tabs {
	case "select":
		return a.turnTo(ctx, all[at].TargetID)
	case "close":
		return a.closeTab(ctx, all, at)
	}
	if a.act.url != "" {
		if err := a.x.allow(a.act.url); err != nil {
			return err
		}
	}
	if len(all) >= maxTabs {
		return tool.Failf(tool.RateLimited, "The run has %d tabs; close one first.", len(all))
	}
	return a.newTab(ctx)
}

// turnTo makes another tab the one that calls act on.
func (a *attempt) turnTo(ctx context.Context, id target.ID) error {
	a.dispatched = true
	t, err := a.x.pool.turn(ctx, a.s, id)
	if err != nil {
		return err
	}
	a.tab, a.begun, a.sent = t, t.Mark(), t.Mark()
	return nil
}

// newTab opens a tab, and an address in it.
func (a *attempt) newTab(ctx context.Context) error {
	p := a.x.pool
	p.mu.Lock()
	conn := p.conn
	p.mu.Unlock()
	a.dispatched = true
	r, err := devtools.Call(ctx, conn.Browser(), target.CreateTarget, target.CreateTargetParams{URL: "about:blank", BrowserContextID: a.s.cp.Context})
	if err != nil {
		return fmt.Errorf("open a tab: %w", err)
	}
	if err := a.turnTo(ctx, r.TargetID); err != nil {
		return err
	}
	if a.act.url == "" {
		return nil
	}
	return a.navigate(ctx)
}

// closeTab closes a tab. When it is the current one, the one before it is current then; when it is the last, a blank one is opened first.
func (a *attempt) closeTab(ctx context.Context, all []*target.Info, at int) error {
	id := all[at].TargetID
	if len(all) == 1 {
		if err := a.newTab(ctx); err != nil {
			return err
		}
	} else if id == a.tab.ID {
		next := at - 1
		if at == 0 {
			next = 1
		}
		if err := a.turnTo(ctx, all[next].TargetID); err != nil {
			return err
		}
	}
	a.dispatched = true
	p := a.x.pool
	p.forget(a.s, id)
	p.mu.Lock()
	conn := p.conn
	p.mu.Unlock()
	if _, err := devtools.Call(ctx, conn.Browser(), target.CloseTarget, target.CloseTargetParams{TargetID: id}); err != nil {
		return fmt.Errorf("close the tab: %w", err)
	}
	return a.awaitClosed(ctx, id)
}

// closeLimit bounds the wait until a tab that is being closed is gone.
const closeLimit = 3 * time.Second

// awaitClosed waits until the browser does not list the tab any more: it answers before.
func (a *attempt) awaitClosed(ctx context.Context, id target.ID) error {
	for end := time.Now().Add(closeLimit); ; {
		all, err := a.x.pool.listTabs(ctx, a.s)
		if err != nil || !slices.ContainsFunc(all, func(t *target.Info) bool { return t.TargetID == id }) {
			return err
		}
		if time.Now().After(end) {
			return &tool.Failed{Failure: tool.NoEffect, Dispatched: true, Message: fmt.Sprintf("The tab was told to close, and is still there after %s.", closeLimit)}
		}
		t := time.NewTimer(5 * time.Millisecond)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
	}
}

// settleTabs waits for the page of a tab that was opened, and lists all tabs.
func (a *attempt) settleTabs(ctx context.Context) (tool.Outcome, error) {
	if a.dispatched {
		ctx, stop := a.tab.Bind(ctx)
		defer stop()
		if a.work.loader != "" {
			if _, err := a.settleNavigation(ctx); err != nil {
				return tool.Outcome{}, err
			}
		} else if _, err := a.tab.Ready(ctx, quietAfter, restLimit); err != nil {
			return tool.Outcome{}, err
		}
	}
	all, err := a.x.pool.listTabs(ctx, a.s)
	if err != nil {
		return tool.Outcome{}, err
	}
	out := &gen.TabsResult{Tabs: []*gen.BrowserTab{}}
	for i, t := range all {
		out.Tabs = append(out.Tabs, &gen.BrowserTab{Index: i, Title: clip(t.Title, 500), URL: clip(t.URL, 4000), Current: t.TargetID == a.tab.ID})
	}
	effect, proof := tool.EffectNone, "Nothing was done but looking."
	if a.dispatched {
		effect, proof = tool.EffectConfirmed, map[string]string{"new": "A tab was opened.", "select": "Calls act on another tab now.", "close": "The tab was closed."}[a.act.tabs]
		a.facts = facts{Delivered: true, Changes: []string{"tabs"}}
	}
	a.fixed = true
	return tool.Outcome{Result: out, Effect: effect, Proof: proof}, nil
}

// listTabs lists the tabs of a session, in the order in which they were first seen.
func (p *pool) listTabs(ctx context.Context, s *session) ([]*target.Info, error) {
	p.mu.Lock()
	conn := p.conn
	p.mu.Unlock()
	r, err := devtools.Call(ctx, conn.Browser(), target.GetTargets, target.GetTargetsParams{Filter: target.Filter{{Type: "page"}}})
	if err != nil {
		return nil, fmt.Errorf("list the tabs: %w", err)
	}
	var mine []*target.Info
	for _, t := range r.TargetInfos {
		if t.BrowserContextID == s.cp.Context && t.Type == "page" {
			mine = append(mine, t)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	there := func(id target.ID) bool {
		return slices.ContainsFunc(mine, func(t *target.Info) bool { return t.TargetID == id })
	}
	s.order = slices.DeleteFunc(s.order, func(id target.ID) bool { return !there(id) })
	if len(s.order) == 0 && there(s.tab.ID) { // nothing is known of the order but that
		s.order = append(s.order, s.tab.ID)
	}
	slices.Reverse(mine) // the browser tells the latest first
	for _, t := range mine {
		if !slices.Contains(s.order, t.TargetID) {
			s.order = append(s.order, t.TargetID)
		}
	}
	slices.SortStableFunc(mine, func(x, y *target.Info) int {
		return slices.Index(s.order, x.TargetID) - slices.Index(s.order, y.TargetID)
	})
	return mine, nil
}

// turn makes a tab of the session its current one, attaching to it where that was not done yet.
func (p *pool) turn(ctx context.Context, s *session, id target.ID) (*page.Tab, error) {
	p.mu.Lock()
	conn := p.conn
	t := s.others[id]
	if s.tab.ID == id {
		t = s.tab
	}
	p.mu.Unlock()
	if t == nil || t.Dead() != nil {
		attach, cancel := context.WithTimeout(ctx, attachLimit)
		defer cancel()
		var err error
		if t, err = page.Open(attach, conn, id, p.view()); err != nil {
			return nil, tool.Failf(tool.FrameGone, "The tab cannot be reached: %w", err)
		}
	}
	// A tab in the background draws nothing, so that nothing in it comes to rest.
	if _, err := devtools.Call(ctx, conn.Browser(), target.ActivateTarget, target.ActivateTargetParams{TargetID: id}); err != nil {
		return nil, tool.Failf(tool.FrameGone, "The tab cannot be brought to the front: %w", err)
	}
	p.mu.Lock()
	if s.tab != t {
		if s.tab.Dead() == nil {
			s.others[s.tab.ID] = s.tab
		}
		delete(s.others, id)
		s.tab = t
	}
	p.mu.Unlock()
	s.mu.Lock()
	next := s.cp
	next.Target, next.URL = id, t.Main().URL()
	if p.marks.save(&next) == nil { // otherwise a later process finds the earlier tab
		s.cp = next
	}
	s.mu.Unlock()
	return t, nil
}

// forget drops a tab that is about to be closed.
func (p *pool) forget(s *session, id target.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := s.others[id]; t != nil {
		t.End()
		delete(s.others, id)
	}
	s.order = slices.DeleteFunc(s.order, func(x target.ID) bool { return x == id })
}

// fallBack turns a session whose current tab was closed by its page to another tab of it; false when there is none.
func (p *pool) fallBack(ctx context.Context, s *session) bool {
	if errors.Is(s.tab.Dead(), page.ErrCrashed) || errors.Is(s.tab.Dead(), devtools.ErrLost) {
		return false
	}
	all, err := p.listTabs(ctx, s)
	if err != nil {
		return false
	}
	for _, t := range slices.Backward(all) {
		if t.TargetID == s.tab.ID {
			continue
		}
		if _, err := p.turn(ctx, s, t.TargetID); err == nil {
			return true
		}
	}
	return false
}

// openedTabs are the addresses of the windows that the action opened.
func (a *attempt) openedTabs(ctx context.Context) []string {
	ids := a.tab.Windows(a.sent)
	if len(ids) == 0 {
		return nil
	}
	all, err := a.x.pool.listTabs(ctx, a.s)
	if err != nil {
		return nil // they are listed by the tabs tool
	}
	var out []string
	for _, t := range all {
		if slices.Contains(ids, t.TargetID) {
			out = append(out, clip(t.URL, 4000))
		}
	}
	return out
}
