package browser

import (
	"context"
	"strings"

	"toolsvc/executors/browser/page"
	"toolsvc/tool"
)

// choose selects options.
func (a *attempt) choose(ctx context.Context) error {
	var c struct {
		Failure string   `json:"failure"`
		Words   string   `json:"words"`
		List    bool     `json:"list"`
		Option  string   `json:"option"`
		Options []string `json:"options"`
		Pick    []int    `json:"pick"`
		Already bool     `json:"already"`
		Before  []int    `json:"before"`
	}
	if err := a.loc.frame.Eval(ctx, &c, "choose", a.loc.id, a.act.values); err != nil {
		return err
	}
	switch c.Failure {
	case "":
	case "stale":
		return errStale
	case "not_a_select":
		return a.chooseCustom(ctx, c.Words)
	case "single":
		return tool.Failf(tool.InvalidArguments, "%s takes one option, not %d.", capital(c.Words), len(a.act.values))
	case "no_option":
		return tool.Failf(tool.TargetNotFound, "%s has no option %q; it has %s.", capital(a.loc.words), c.Option, strings.Join(c.Options, ", "))
	case "ambiguous_option":
		f := tool.Failf(tool.AmbiguousTarget, "%s has several options %q: %s.", capital(a.loc.words), c.Option, strings.Join(c.Options, ", "))
		for _, o := range c.Options {
			f.Candidates = append(f.Candidates, tool.Candidate{Name: o, Role: "option", Within: a.loc.words})
		}
		return f
	case "option_disabled":
		return tool.Failf(tool.Disabled, "The option %q of %s is disabled.", c.Option, a.loc.words)
	}
	if c.Already {
		a.skipped = "The options were selected already, so nothing was changed."
		return nil
	}
	if _, err := a.arm(ctx, "set", false); err != nil {
		return err
	}
	a.work.pick, a.work.prior = c.Pick, c.Before
	a.sent, a.dispatched = a.tab.Mark(), true
	var ok bool
	err := a.loc.frame.Eval(ctx, &ok, "setOptions", a.loc.id, c.Pick)
	if page.Moved(err) { // the choice took the page away
		return nil
	}
	return err
}
