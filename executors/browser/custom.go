package browser

import (
	"context"
	"errors"
	"fmt"
	"time"

	"toolsvc/executors/browser/page"
	gen "toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

// optionWait bounds the wait for the options of a list that the page made itself, once after it was opened, and once after its field was
// typed into.
const optionWait = 1500 * time.Millisecond

// choices are what the page says of a list of its own making.
type choices struct {
	// Role of what can be chosen in it.
	Role string `json:"role"`
	// Open: its options can be seen already. Many: several can be chosen. Types: it filters its options by what is typed.
	Open  bool `json:"open"`
	Many  bool `json:"many"`
	Types bool `json:"types"`
	// Chosen are the labels of the chosen options.
	Chosen []string `json:"chosen"`
}

// chooseCustom chooses in a list that the page made itself: it opens the list, and clicks the options. Options that are chosen and not
// wanted are clicked away where several can be chosen.
func (a *attempt) chooseCustom(ctx context.Context, what string) error {
	var c choices
	if err := a.loc.frame.Eval(ctx, &c, "choices", a.loc.id); err != nil {
		return err
	}
	if len(a.act.values) != 1 && !c.Many {
		return tool.Failf(tool.InvalidArguments, "%s takes one option, not %d.", capital(what), len(a.act.values))
	}
	list := a.loc
	if !c.Open {
		if err := a.mouse(ctx, "left", 0); err != nil {
			return err
		}
	}
	want := map[string]bool{}
	for _, v := range a.act.values {
		want[squeeze(v)] = true
	}
	for _, v := range a.act.values {
		if c.Many && contains(c.Chosen, v) {
			continue
		}
		if err := a.pickOption(ctx, list, c, v); err != nil {
			return err
		}
	}
	if c.Many {
		for _, v := range c.Chosen {
			if !want[squeeze(v)] {
				if err := a.pickOption(ctx, list, c, v); err != nil {
					return err
				}
			}
		}
	}
	if !a.dispatched {
		a.skipped = "The options were chosen already, so nothing was changed."
	}
	return nil
}

func contains(list []string, v string) bool {
	for _, x := range list {
		if squeeze(x) == squeeze(v) {
			return true
		}
	}
	return false
}

// pickOption finds an option of the opened list, and clicks it.
func (a *attempt) pickOption(ctx context.Context, list *located, c choices, value string) error {
	typed := false
	for end := time.Now().Add(optionWait); ; {
		inner := a.sub(action{kind: kindClick, target: &gen.Target{Name: &value, Role: &c.Role}, button: "left"})
		inner.plan.Number = 2 // no waiting: that is done here
		err := inner.resolve(ctx, tool.SourceCDP)
		if f := new(tool.Failed); errors.As(err, &f) && f.Failure == tool.AmbiguousTarget { // the same option in several lists: the one that this list owns
			if id := a.ownOption(ctx, list, value); id != 0 {
				ref := fmt.Sprintf("e%d", id)
				if list.frame.IsMain() {
					inner.act.target = &gen.Target{Ref: &ref}
					err = inner.resolve(ctx, tool.SourceCDP)
				}
			}
		}
		if err == nil {
			if err := inner.mouse(ctx, "left", 0); err != nil {
				return fmt.Errorf("choose %q in %s: %w", value, list.words, dispatchedAs(err, a.dispatched || inner.dispatched))
			}
			a.work.picked, a.work.types = value, []string{"click"}
			if !a.dispatched || a.sent.At.IsZero() {
				a.sent = inner.sent
			}
			a.dispatched = true
			return a.tabQuiet(ctx)
		}
		f := new(tool.Failed)
		if !errors.As(err, &f) || f.Failure != tool.TargetNotFound {
			return fmt.Errorf("choose %q in %s: %w", value, list.words, dispatchedAs(err, a.dispatched))
		}
		if time.Now().After(end) {
			if !c.Types || typed {
				f.Message = fmt.Sprintf("%s has no option %q.", capital(list.words), value)
				return dispatchedAs(f, a.dispatched)
			}
			typed = true
			if err := a.filter(ctx, list, value); err != nil {
				return err
			}
			end = time.Now().Add(optionWait)
		}
		if err := a.awaitChange(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// ownOption is the number of the one option of that label in the list that the field controls; 0 when there is none, or several.
func (a *attempt) ownOption(ctx context.Context, list *located, value string) int {
	var id int
	if err := list.frame.Eval(ctx, &id, "ownOption", list.id, value); err != nil {
		return 0
	}
	return id
}

// filter types the wanted option's label into the field of the list.
func (a *attempt) filter(ctx context.Context, list *located, value string) error {
	var s fieldState
	if err := list.frame.Eval(ctx, &s, "begin", list.id, false); err != nil || s.Failure != "" {
		return err
	}
	if a.sent.At.IsZero() {
		a.sent = a.tab.Mark()
	}
	a.dispatched = true
	return a.tab.TypeText(ctx, list.frame, value, "")
}

// tabQuiet lets the page take in a choice before the next one.
func (a *attempt) tabQuiet(ctx context.Context) error {
	var rested bool
	err := a.tab.Main().Eval(ctx, &rested, "rest", quietAfter.Milliseconds(), 200)
	if page.Moved(err) {
		return nil
	}
	return err
}
