package match

import (
	"slices"
)

// Query is what is wanted of a target, without how it is looked for.
type Query struct {
	Name, Role, Within, Near string
	// Nth chooses among equals, from 1 in document order; 0 does not.
	Nth int
	// Roles are the roles that the action can be done to; empty means any.
	Roles []string
	// Any takes elements whatever they are called: the query names them by a selector or a reference.
	Any bool
}

// Candidate is an element that may be meant.
type Candidate struct {
	// Names by which it may be called, the accessible name first.
	Names []string
	Role  string
	// Within are the names of what holds it, nearest first.
	Within []string
	// Beside tells how near the text of Query.Near is: with how many rivals it is shared, and how far away it is. Rivals 0 means that
	// it is not near at all.
	Rivals, Distance int
	// BesideExact: it is that text itself, not a longer one that holds it.
	BesideExact bool
	// Interactive: a control by its nature. Clickable: it looks as if it took clicks. Visible: it can be seen.
	Interactive, Clickable, Visible bool
}

// Verdict is what a choice came to.
type Verdict int

// The verdicts.
const (
	// NotFound: nothing fits.
	NotFound Verdict = iota
	// Found: one fits best.
	Found
	// Ambiguous: several fit equally well.
	Ambiguous
)

// Choice is the outcome: the chosen candidate, or those that fit equally well, as indexes.
type Choice struct {
	Verdict Verdict
	Index   int
	Equals  []int
	// Lacking says what ruled the last candidates out: "name", "role", "within", "near", "nth".
	Lacking string
	// Rank of what was chosen.
	Rank Rank
}

// twins are roles that are the same thing in another dress: they count as the wanted role where nothing has that.
var twins = map[string][]string{
	"textbox":   {"searchbox", "spinbutton", "textfield"},
	"searchbox": {"textbox"},
	"checkbox":  {"switch", "menuitemcheckbox"},
	"radio":     {"menuitemradio"},
	"switch":    {"checkbox"},
	"combobox":  {"listbox", "comboboxselect", "comboboxmenubutton"},
	"listbox":   {"combobox"},
	"dialog":    {"alertdialog"},
	"img":       {"canvas", "figure"},
}

// kin are roles that people call by one another's names. They count only where nothing has the wanted role, and not when the role is
// taken strictly.
var kin = map[string][]string{
	"textbox":  {"combobox"},
	"combobox": {"textbox", "searchbox", "button"},
	"checkbox": {"radio"},
	"switch":   {"button"},
	"radio":    {"checkbox", "option"},
	"button":   {"link", "menuitem", "tab", "switch", "option", "disclosuretriangle", "generic", "img", "checkbox", "combobox"},
	"link":     {"button", "menuitem", "tab", "generic"},
	"menuitem": {"button", "link", "option", "menuitemcheckbox", "menuitemradio"},
	"tab":      {"button", "link"},
	"option":   {"menuitem", "listitem", "button"},
	"text":     {"paragraph", "generic", "heading", "status", "cell", "listitem"},
}

// RoleFits ranks a role: 3 the wanted one (or none is wanted), 2 a twin of it, 1 a kin, 0 another.
func RoleFits(wanted, has string) int {
	alias := map[string]string{"image": "img", "summary": "button", "disclosuretriangle": "button", "popupbutton": "combobox"}
	if a := alias[has]; a != "" {
		has = a
	}
	if a := alias[wanted]; a != "" {
		wanted = a
	}
	switch {
	case wanted == "" || wanted == has:
		return 3
	case slices.Contains(twins[wanted], has):
		return 2
	case slices.Contains(kin[wanted], has):
		return 1
	}
	return 0
}

// Choose applies the rules. strictRole leaves kin roles out.
func Choose(q Query, cs []Candidate, strictRole bool) Choice {
	all := make([]int, len(cs))
	for i := range cs {
		all[i] = i
	}
	left := all
	lacking := func(what string) Choice { return Choice{Verdict: NotFound, Lacking: what} }
	rank := Exact
	if len(left) == 0 {
		return lacking("name")
	}
	if !q.Any {
		left, rank = best(left, func(i int) Rank { return Best(q.Name, cs[i].Names) })
		if rank == None {
			return lacking("name")
		}
	}
	if vis := filter(left, func(i int) bool { return cs[i].Visible }); len(vis) > 0 {
		left = vis
	}
	if q.Role != "" {
		ranked, fit := best(left, func(i int) int { return RoleFits(q.Role, cs[i].Role) })
		if fit == 0 || strictRole && fit < 2 {
			return lacking("role")
		}
		left = ranked
	} else if len(q.Roles) > 0 {
		if able := filter(left, func(i int) bool { return slices.Contains(q.Roles, cs[i].Role) }); len(able) > 0 {
			left = able
		} else if strictRole {
			return lacking("role")
		}
	}
	if q.Within != "" {
		inside, fit := best(left, func(i int) Rank {
			r := None
			for _, w := range cs[i].Within {
				r = max(r, Place(q.Within, w))
			}
			return r
		})
		if fit == None {
			return lacking("within")
		}
		left = inside
	}
	if q.Near != "" {
		beside := filter(left, func(i int) bool { return cs[i].Rivals > 0 })
		if len(beside) == 0 {
			return lacking("near")
		}
		if exact := filter(beside, func(i int) bool { return cs[i].BesideExact }); len(exact) > 0 {
			beside = exact
		}
		left = nearest(beside, cs)
	}
	if len(left) > 1 && q.Role == "" && !q.Any { // a control rather than a heading of the same name
		if fit := filter(left, func(i int) bool { return cs[i].Interactive }); len(fit) > 0 {
			left = fit
		} else if fit := filter(left, func(i int) bool { return cs[i].Clickable }); len(fit) > 0 {
			left = fit
		}
	}
	if len(left) > 1 && !q.Any { // one that is called so rather than one that also has that name
		if primary, fit := best(left, func(i int) Rank { return Best(q.Name, cs[i].Names[:min(1, len(cs[i].Names))]) }); fit == rank {
			left = primary
		}
	}
	if q.Nth > 0 {
		if q.Nth > len(left) {
			return lacking("nth")
		}
		return Choice{Verdict: Found, Index: left[q.Nth-1], Rank: rank}
	}
	if len(left) > 1 {
		return Choice{Verdict: Ambiguous, Equals: left, Rank: rank}
	}
	return Choice{Verdict: Found, Index: left[0], Rank: rank}
}

// nearest keeps those that share the text with the fewest rivals and, among equals, are clearly the closest to it.
func nearest(left []int, cs []Candidate) []int {
	few, _ := best(left, func(i int) int { return -cs[i].Rivals })
	closest := slices.MinFunc(few, func(a, b int) int { return cs[a].Distance - cs[b].Distance })
	d := cs[closest].Distance
	return filter(few, func(i int) bool { return cs[i].Distance <= d+d/2+4 })
}

func filter(in []int, keep func(int) bool) []int {
	var out []int
	for _, i := range in {
		if keep(i) {
			out = append(out, i)
		}
	}
	return out
}

// best keeps those of the highest rank.
func best[R ~int](in []int, rank func(int) R) ([]int, R) {
	var out []int
	var top R
	for k, i := range in {
		r := rank(i)
		switch {
		case k == 0 || r > top:
			top, out = r, []int{i}
		case r == top:
			out = append(out, i)
		}
	}
	return out, top
}
