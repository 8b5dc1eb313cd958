package browser

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"toolsvc/executors/browser/page"
	gen "toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

// filling is one field of a form that is being filled in.
type filling struct {
	want *gen.FormField
	at   *attempt // at the field
	was  targetState
	err  error
}

// fieldWait lets the page take a field in before the next one.
const fieldWait = 30 * time.Millisecond

// resolveFields finds the fields. One that is not there yet may come when an earlier one is filled in, so only the first has to be there.
func (a *attempt) resolveFields(ctx context.Context) error {
	a.work.fields = nil
	for i, f := range a.act.fields {
		in := a.sub(action{kind: kindFillForm, target: f.Target})
		if i > 0 {
			in.plan.Number = 2 // no waiting
		}
		x := &filling{want: f, at: in}
		a.work.fields = append(a.work.fields, x)
		x.err = in.resolve(ctx, in.source(f.Target))
		if e := new(tool.Failed); x.err != nil && (i == 0 || !errors.As(x.err, &e) || e.Failure != tool.TargetNotFound) {
			return fmt.Errorf("field %d of %d: %w", i+1, len(a.act.fields), x.err)
		}
	}
	return nil
}

// fill fills the fields in, one after the other.
func (a *attempt) fill(ctx context.Context) error {
	for i, x := range a.work.fields {
		if err := a.fillOne(ctx, x); err != nil {
			return dispatchedAs(fmt.Errorf("field %d of %d: %w", i+1, len(a.work.fields), err), a.dispatched)
		}
	}
	if !a.dispatched {
		a.skipped = "All fields held what they shall already, so nothing was changed."
	}
	return nil
}

// fillOne fills in one field.
func (a *attempt) fillOne(ctx context.Context, x *filling) error {
	in := x.at
	for try := 0; ; try++ {
		err := x.err
		if err == nil {
			err = a.enterField(ctx, x)
			a.dispatched = a.dispatched || in.dispatched
			if a.sent.At.IsZero() || a.sent.At.After(in.sent.At) && in.dispatched {
				a.sent = in.sent
			}
			a.notes = append(a.notes, in.notes...)
			if err == nil {
				return nil
			}
		}
		f := new(tool.Failed)
		gone := errors.Is(err, errStale) || page.Moved(err) && a.tab.Dead() == nil || errors.As(err, &f) && f.Failure == tool.TargetNotFound && in.loc == nil
		if !gone || try == 2 {
			return err
		}
		in.loc, in.plan.Number = nil, 1 // with waiting, this time
		if x.err = in.resolve(ctx, in.source(x.want.Target)); x.err != nil {
			return x.err
		}
	}
}

// enterField does to a field what its kind takes.
func (a *attempt) enterField(ctx context.Context, x *filling) error {
	in := x.at
	t, err := in.target(ctx)
	if err != nil {
		return err
	}
	x.was = t
	in.before = &sight{target: t}
	in.act = fieldAction(x.want, t)
	if in.act.kind == "" {
		return tool.Failf(tool.InvalidArguments, "%s is a %s, and %q is not what it takes: true or false.", capital(in.loc.words), t.Role, x.want.Value)
	}
	if err := in.gate(ctx, in.loc, true); err != nil {
		return err
	}
	switch in.act.kind {
	case kindType:
		err = in.typeText(ctx)
	case kindSelect:
		err = in.choose(ctx)
	default:
		err = in.check(ctx)
	}
	if err != nil || !in.dispatched {
		return err
	}
	_, err = in.await(ctx, fieldWait)
	return err
}

// fieldAction is what to do to a field of that state so that it holds the value; of no kind when the value is nothing that it takes. It is
// pure.
func fieldAction(want *gen.FormField, t targetState) action {
	act := action{target: want.Target, button: "left"}
	switch t.Role {
	case "checkbox", "switch", "menuitemcheckbox", "radio", "menuitemradio":
		on, known := map[string]bool{"true": true, "on": true, "yes": true, "checked": true, "1": true, "false": false, "off": false, "no": false, "unchecked": false, "0": false}[strings.ToLower(strings.TrimSpace(want.Value))]
		switch {
		case !known:
			return action{}
		case on:
			act.kind = kindCheck
		default:
			act.kind = kindUncheck
		}
	case "listbox", "radiogroup":
		act.kind, act.values = kindSelect, []string{want.Value}
	case "combobox":
		if t.Editable {
			act.kind, act.text = kindType, want.Value
		} else {
			act.kind, act.values = kindSelect, []string{want.Value}
		}
	default:
		act.kind, act.text = kindType, want.Value
	}
	return act
}

// settleForm reads the fields back.
func (a *attempt) settleForm(ctx context.Context) (tool.Outcome, error) {
	a.facts = facts{Delivered: true}
	effect, proof := tool.EffectNone, a.skipped
	if a.skipped == "" {
		if _, err := a.comeToRest(ctx); err != nil {
			return tool.Outcome{}, err
		}
		effect, proof = tool.EffectConfirmed, "The fields were filled in and read back."
		a.facts.Changes = []string{"form"}
	}
	a.fixed = true
	out := &gen.FillFormResult{Fields: []*gen.FilledField{}}
	var on []string
	for _, x := range a.work.fields {
		r, err := a.readBack(ctx, x)
		if err != nil {
			return tool.Outcome{}, err
		}
		out.Fields = append(out.Fields, r)
		on = append(on, r.Field)
	}
	o, err := a.look(ctx, tool.Needs{})
	if err != nil {
		return tool.Outcome{}, err
	}
	a.result = out
	out.URL, out.Title, out.Changed, out.ActedOn = o.url, o.title, effect == tool.EffectConfirmed, clip(strings.Join(on, ", "), 1000)
	out.Dialogs = a.dialogsSince()
	return tool.Outcome{Result: out, Effect: effect, Proof: proof}, nil
}

// readBack says what a field holds now.
func (a *attempt) readBack(ctx context.Context, x *filling) (*gen.FilledField, error) {
	in := x.at
	r := &gen.FilledField{Field: in.loc.words}
	t, err := in.target(ctx)
	if page.Moved(err) && a.tab.Dead() == nil {
		t, err = targetState{}, nil
	}
	if err != nil {
		return nil, err
	}
	problem := ""
	switch {
	case !t.Exists:
		problem = "the field is not there any more"
	case in.act.kind == kindType:
		h, err := in.holds(ctx, x.want.Value)
		if err != nil {
			return nil, err
		}
		r.OK = h.Same
		if t.Value != "" || h.Empty {
			r.Value = &t.Value
		}
		if !r.OK {
			problem = "it holds something else"
		}
	case in.act.kind == kindSelect:
		v := strings.Join(t.SelectedLabels, ", ")
		r.Value = &v
		r.OK = slices.Contains(t.Selected, x.want.Value) || contains(t.SelectedLabels, x.want.Value)
		if !r.OK {
			problem = "another option is selected"
		}
	default:
		v := fmt.Sprint(t.Checked)
		r.Value = &v
		r.OK = t.Checked == (in.act.kind == kindCheck)
		if !r.OK {
			problem = "the box did not take it"
		}
	}
	if problem != "" {
		r.Problem = &problem
	}
	return r, nil
}

// emptyForm gives the fields what they held, the last one first.
func (a *attempt) emptyForm(ctx context.Context, did *[]string) error {
	for _, x := range slices.Backward(a.work.fields) {
		if x.at.dispatched {
			if err := x.at.restoreTarget(ctx, did); err != nil {
				return err
			}
		}
	}
	return nil
}

// formDiffers names the fields that do not hold what they held before the form was filled in.
func (a *attempt) formDiffers(ctx context.Context) []string {
	var d []string
	for _, x := range a.work.fields {
		if !x.at.dispatched {
			continue
		}
		t, err := x.at.target(ctx)
		if err != nil || t.Value != x.was.Value || t.Checked != x.was.Checked || !slices.Equal(t.Selected, x.was.Selected) || t.Value == "" && x.at.act.kind == kindType && !x.at.work.hadValue {
			d = append(d, x.at.loc.words+" holds something else")
		}
	}
	return d
}
