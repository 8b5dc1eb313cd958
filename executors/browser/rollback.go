package browser

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"toolsvc/executors/browser/page"
	"toolsvc/tool"
)

// undoLimit bounds the wait for one step of a rollback to show.
const undoLimit = 2 * time.Second

// Rollback implements tool.Attempt. It undoes what can be undone (a dialog that opened, a field's value, a selection, a tick), and compares
// the page with the evidence from before: only when nothing differs does it say that it was performed.
func (a *attempt) Rollback(ctx context.Context) (rb tool.Rollback, err error) {
	err = a.guard(ctx, func(ctx context.Context) error {
		rb, err = a.undo(ctx)
		return err
	})
	return rb, err
}

func refused(format string, args ...any) (tool.Rollback, error) {
	return tool.Rollback{Refused: fmt.Sprintf(format, args...)}, nil
}

func (a *attempt) undo(ctx context.Context) (tool.Rollback, error) {
	if a.before == nil {
		return refused("there is no evidence from before the action to go back to")
	}
	switch {
	case a.act.travels():
		return refused("a navigation cannot be undone")
	case a.act.kind == kindTabs:
		return refused("opening and closing tabs cannot be undone")
	case a.act.kind == kindScroll:
		return a.scrollBack(ctx)
	}
	news := a.tab.Since(a.sent)
	if news.Navigations > 0 {
		return refused("the page was left")
	}
	caused, _ := a.tab.Caused(a.sent)
	for _, r := range caused {
		if r.Method != "GET" && r.Method != "HEAD" && r.Method != "OPTIONS" {
			return refused("a request was sent (%s %s), and what it did elsewhere cannot be undone", r.Method, r.URL)
		}
	}
	if news.Popups+news.Downloads > 0 {
		return refused("a window or a download was opened")
	}
	var did []string
	if err := a.closeDialogs(ctx, &did); err != nil {
		return tool.Rollback{}, err
	}
	restore := a.restoreTarget
	switch a.act.kind {
	case kindFillForm:
		restore = a.emptyForm
	case kindUpload:
		restore = a.takeBack
	}
	if err := restore(ctx, &did); err != nil {
		return tool.Rollback{}, err
	}
	if err := a.closeDialogs(ctx, &did); err != nil { // restoring a field may have made the page complain again
		return tool.Rollback{}, err
	}
	return a.prove(ctx, did)
}

// closeDialogs closes the dialogs that are there now and were not before: by Escape, or by the control that closes them without agreeing
// to anything.
func (a *attempt) closeDialogs(ctx context.Context, did *[]string) error {
	for range 3 {
		o, err := a.look(ctx, tool.Needs{})
		if err != nil {
			return err
		}
		i := slices.IndexFunc(o.modals, func(m modal) bool {
			return !slices.ContainsFunc(a.before.modals, func(b modal) bool { return b.ID == m.ID && b.Name == m.Name })
		})
		if i < 0 {
			return nil
		}
		m, frame := o.modals[i], o.modalIn[i]
		key, err := page.ParseKey("Escape")
		if err != nil {
			return err
		}
		if err := a.tab.Press(ctx, frame, key); err != nil {
			return err
		}
		gone, err := a.dialogGone(ctx, frame, m.ID, 150*time.Millisecond)
		if err != nil {
			return err
		}
		if gone {
			*did = append(*did, fmt.Sprintf("closed the dialog %q by Escape", m.Name))
			continue
		}
		var c struct {
			Gone  bool   `json:"gone"`
			Close int    `json:"close"`
			Words string `json:"words"`
		}
		if err := frame.Eval(ctx, &c, "closer", m.ID); err != nil {
			return err
		}
		if c.Gone {
			continue
		}
		if c.Close == 0 {
			return nil // what cannot be closed shows in the comparison
		}
		sub := &located{frame: frame, id: c.Close, words: c.Words, notes: []string{"", "", ""}}
		if err := a.gate(ctx, sub, true); err != nil {
			return nil //nolint:nilerr // the same
		}
		if err := a.tab.Click(ctx, sub.x, sub.y, "left", 0); err != nil {
			return err
		}
		if gone, err = a.dialogGone(ctx, frame, m.ID, undoLimit); err != nil {
			return err
		}
		if !gone {
			return nil
		}
		*did = append(*did, fmt.Sprintf("closed the dialog %q by its %s", m.Name, c.Words))
	}
	return nil
}

func (a *attempt) dialogGone(ctx context.Context, f *page.Frame, id int, max time.Duration) (bool, error) {
	var gone bool
	err := f.Eval(ctx, &gone, "hiddenSoon", id, max.Milliseconds())
	if page.Moved(err) {
		return true, nil
	}
	return gone, err
}

// restoreTarget gives a field, a list or a box the state that it had.
func (a *attempt) restoreTarget(ctx context.Context, did *[]string) error {
	if a.loc == nil || a.skipped != "" || !a.dispatched {
		return nil
	}
	now, err := a.target(ctx)
	if err != nil {
		return err
	}
	was := a.before.target
	switch {
	case !now.Exists:
		return nil // shows in the comparison
	case a.act.enters() && (a.work.hadValue || was.Value == ""):
		var ok bool
		value := a.work.value
		if !a.work.hadValue {
			return nil // a password that held something: it cannot be given back, because it was never read
		}
		if err := a.loc.frame.Eval(ctx, &ok, "put", a.loc.id, value); err != nil {
			return err
		}
		if ok {
			*did = append(*did, "restored the field's value")
		}
	case a.act.kind == kindSelect && a.work.picked == "":
		var ok bool
		if err := a.loc.frame.Eval(ctx, &ok, "setOptions", a.loc.id, orEmpty(a.work.prior)); err != nil {
			return err
		}
		if ok {
			*did = append(*did, "restored the selection")
		}
	case (a.act.ticks() || a.act.kind == kindClick) && now.Checked != was.Checked && (now.Role == "checkbox" || now.Role == "switch"):
		sub := *a.loc
		if err := a.gate(ctx, &sub, true); err != nil {
			return nil //nolint:nilerr // shows in the comparison
		}
		if err := a.tab.Click(ctx, sub.x, sub.y, "left", 0); err != nil {
			return err
		}
		var ok bool
		if err := a.loc.frame.Eval(ctx, &ok, "checkedSoon", a.loc.id, was.Checked, undoLimit.Milliseconds()); err != nil && !page.Moved(err) {
			return err
		}
		if ok {
			*did = append(*did, "set the box back")
		}
	}
	return nil
}

func orEmpty(s []int) []int {
	if s == nil {
		return []int{}
	}
	return s
}

// prove compares the page with how it was. What is compared: the address, the target's whole state but for the focus, the dialogs and errors
// that are shown, the media, the DOM as its record tells of it, fields, storage and layers.
func (a *attempt) prove(ctx context.Context, did []string) (tool.Rollback, error) {
	var differs []string
	for end := time.Now().Add(undoLimit); ; {
		o, err := a.look(ctx, tool.Needs{})
		if err != nil {
			return tool.Rollback{}, err
		}
		if differs = a.differences(ctx, o); len(differs) == 0 {
			break
		}
		if time.Now().After(end) {
			return refused("the page is not as it was: %s", strings.Join(differs, "; "))
		}
		if err := a.awaitChange(ctx, 100*time.Millisecond); err != nil {
			return tool.Rollback{}, err
		}
	}
	caused, _ := a.tab.Caused(a.sent)
	for _, r := range caused {
		if r.Method != "GET" && r.Method != "HEAD" && r.Method != "OPTIONS" {
			return refused("a request was sent (%s %s), and what it did elsewhere cannot be undone", r.Method, r.URL)
		}
	}
	what := "the page is as before it"
	if len(did) > 0 {
		what = strings.Join(did, ", ") + "; " + what
	}
	return tool.Rollback{Performed: true, RestoredTo: what}, nil
}

// differences names what is not as it was before the action.
func (a *attempt) differences(ctx context.Context, o *sight) []string {
	b := a.before
	var d []string
	add := func(differs bool, what string) {
		if differs {
			d = append(d, what)
		}
	}
	add(o.url != b.url, "the address is "+o.url)
	was, is := b.target, o.target
	add(is.Exists != was.Exists, "the target is gone")
	add(is.Value != was.Value || is.Text != was.Text, "the target's text differs")
	add(is.Checked != was.Checked || is.Pressed != was.Pressed || is.Expanded != was.Expanded || is.Enabled != was.Enabled, "the target's state differs")
	add(!slices.Equal(is.Selected, was.Selected), "the selection differs")
	names := func(ms []modal) (ns []string) {
		for _, m := range ms {
			ns = append(ns, m.Name)
		}
		return ns
	}
	add(!slices.Equal(names(o.modals), names(b.modals)), "another dialog is shown: "+strings.Join(names(o.modals), ", "))
	add(!slices.Equal(o.errors, b.errors), "another error is shown: "+strings.Join(o.errors, ", "))
	add(fmt.Sprint(paused(o.media)) != fmt.Sprint(paused(b.media)), "media play or stopped")
	if a.act.kind == kindFillForm { // each field has a record of its own, of which only the last is kept
		return append(d, a.formDiffers(ctx)...)
	}
	if a.dispatched {
		for _, r := range o.reports {
			left := r.rep.Mutations - r.rep.Passed // a dialog that came and was closed leaves nothing behind
			add(left > 0, fmt.Sprintf("%d changes of the DOM stand", left))
			for _, c := range r.rep.Changes {
				add(c == "storage" || c == "form" || c == "layer" || c == "url", c+" differs")
			}
		}
	}
	return d
}

func paused(media []any) (p []any) {
	for _, m := range media {
		p = append(p, m.(map[string]any)["paused"])
	}
	return p
}
