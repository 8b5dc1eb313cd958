package gym

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"toolsvc/tool"
)

// Case is one way of failing: a page, what to do on it, and how that must end.
type Case struct {
	// Name is unique; a folder-like prefix is not used: "covered-cookie".
	Name string
	// Path is the page's address below the server's root, with its parameters.
	Path string
	// About says in one sentence what is wrong with the page.
	About string
	// Failure is what the page injects; "" when nothing is wrong.
	Failure tool.Failure
	// Steps are taken in order, after the page was opened at Path. All but the last have to succeed; Want is about the last.
	Steps []Step
	Want  Want
	// Ledger says that the effect is on the server: its truth is [Gym.Truth] of the session that the page was opened with ([Case.URL]).
	// window.__truth agrees with it as long as no request is repeated behind the page's back.
	Ledger bool
	// PixelRatio is the device pixel ratio that the page is to be shown with; 0 is whatever the browser has.
	PixelRatio float64
}

// Step is one call.
type Step struct {
	Tool tool.ID
	// Args is the payload without expectations, as JSON.
	Args string
	// Expect holds what the caller expects afterwards: CEL over page, element(name, role), target, effect, result. Each is false before
	// the step.
	Expect []string
}

// Want is how the last step of a case must end.
type Want struct {
	// Success: the step succeeds, verified. Otherwise it must end as Failure.
	Success bool
	Failure tool.Failure
	// Goal, Wrong and Effects bound the truth afterwards, over all steps.
	Goal, Wrong, Effects Bounds
}

// Bounds are inclusive.
type Bounds struct{ Min, Max int }

// Holds reports whether n lies within the bounds.
func (b Bounds) Holds(n int) bool { return b.Min <= n && n <= b.Max }

func (b Bounds) contradiction(name string, count int) string {
	if b.Min == b.Max {
		return fmt.Sprintf("%s is %d, wanted %d", name, count, b.Min)
	}
	return fmt.Sprintf("%s is %d, wanted %d to %d", name, count, b.Min, b.Max)
}

// Met lists, in words, what of the truth contradicts what was wanted; nothing when all is well.
func (w Want) Met(t Truth) (contradictions []string) {
	for _, c := range []struct {
		name   string
		count  int
		bounds Bounds
	}{{"goal", t.Goal, w.Goal}, {"wrong", t.Wrong, w.Wrong}, {"effects", t.Effects, w.Effects}} {
		if !c.bounds.Holds(c.count) {
			contradictions = append(contradictions, c.bounds.contradiction(c.name, c.count))
		}
	}
	return contradictions
}

// URL is the case's address at a gym's origin. session names the visit in the server's books; a new one for each run of a case.
func (c Case) URL(origin, session string) string {
	joint := "?"
	if strings.Contains(c.Path, "?") {
		joint = "&"
	}
	return origin + c.Path + joint + "session=" + url.QueryEscape(session)
}

// Cases lists all cases, in the order of the failure catalogue. The slice is the caller's own.
func Cases() []Case {
	return slices.Concat(notFound, wrongTarget, covered, unstable, noEffect, verification, places, forms, pointing, navigation, around, orders, apps)
}

// Lookup finds a case by name, among Cases and PlayerCases.
func Lookup(name string) (Case, bool) {
	for _, c := range append(Cases(), player...) {
		if c.Name == name {
			return c, true
		}
	}
	return Case{}, false
}
