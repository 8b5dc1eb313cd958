// Package faults says what goes wrong in a run of a published scenario: which kinds of fault there are, how often each comes, and, by seed,
// which come in a given run.
//
// The rates are the published ones (docs/reference/failures.md): of the first attempts at an action, 15 % do not find the target and 10 %
// have no effect on the pages that were measured in a browser, 5 % find the wrong target and 3 % leave an error or an unexpected state
// everywhere. A slow network or a slow start (6 % of runs, what was left unhealed of the published player) comes on top of them.
//
// The same seed, scenario and number always give the same faults, so a run with healing can be compared with one without, and a benchmark
// can be made in pieces.
package faults

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"toolsvc/tool"
)

// Kind is one way in which an action goes wrong.
type Kind struct {
	// Name is what the page or the shell calls it.
	Name string
	// Row is the row of the failure catalogue that it belongs to.
	Row tool.Failure
	// About says in one sentence what happens.
	About string
}

// Rate is how often a row of the catalogue comes: in Percent of the attempts, each of the kinds equally often.
type Rate struct {
	Row     tool.Failure
	Percent float64
	Kinds   []Kind
}

// Action is something that a run does, and what may go wrong with it. At most one kind comes.
type Action struct {
	Name  string
	Rates []Rate
}

// Scenario is one of the published scenarios.
type Scenario struct {
	// Name is a word: player, comment, terminal. Title is for people.
	Name, Title string
	// Actions are what the published rates apply to, in the order in which they are reached. The one called "readiness" is the run as a whole.
	Actions []Action
	// PublishedSingle and PublishedHealing are the published shares of runs that succeeded, in percent.
	PublishedSingle, PublishedHealing float64
}

// Readiness is the name of the action that stands for the run as a whole.
const Readiness = "readiness"

// The published rates, in percent.
const (
	rateNotFound    = 15
	rateWrongTarget = 5
	rateNoEffect    = 10
	rateUnexpected  = 3
	rateSlow        = 6
)

func rate(row tool.Failure, percent float64, kinds ...Kind) Rate {
	for i := range kinds {
		kinds[i].Row = row
	}
	return Rate{Row: row, Percent: percent, Kinds: kinds}
}

// inBrowser is what may go wrong with a click on the player's page.
func inBrowser(name string) Action {
	return Action{Name: name, Rates: []Rate{
		rate(tool.TargetNotFound, rateNotFound,
			Kind{Name: "canvas", About: "The button is painted on a canvas."},
			Kind{Name: "aria-hidden", About: "The button is hidden from the accessibility tree."},
			Kind{Name: "div", About: "The button is a div without a role."},
			Kind{Name: "image", About: "The button is a picture without a text alternative."},
			Kind{Name: "late", About: "The button is rendered 700 ms later."}),
		rate(tool.WrongTarget, rateWrongTarget,
			Kind{Name: "twin", About: "Another panel has a button of the same name, and comes first."},
			Kind{Name: "drawer", About: "A drawer off the screen and an invisible panel have a button of the same name, and come first."}),
		rate(tool.NoEffect, rateNoEffect,
			Kind{Name: "swallowed", About: "The first click is lost without a trace."},
			Kind{Name: "hydrating", About: "The handler is attached 700 ms after the button is there."},
			Kind{Name: "debounced", About: "The handler acts 300 ms later, and a second click undoes the first."}),
		rate(tool.VerificationFailed, rateUnexpected,
			Kind{Name: "error", About: "The first click opens an error dialog instead."}),
	}}
}

// All are the three published scenarios.
func All() []Scenario {
	return []Scenario{
		{Name: "player", Title: "Play a named track", PublishedSingle: 62, PublishedHealing: 94, Actions: []Action{
			{Name: Readiness, Rates: []Rate{rate(tool.NotReady, rateSlow,
				Kind{Name: "slow", About: "Every answer of the server takes 1.2 to 2.8 s."})}},
			inBrowser("open"), inBrowser("play"),
		}},
		{Name: "comment", Title: "Improve a code comment", PublishedSingle: 88, PublishedHealing: 100, Actions: []Action{
			{Name: Readiness, Rates: []Rate{rate(tool.NotReady, rateSlow,
				Kind{Name: "late", About: "The editor is mounted 1.2 s late."},
				Kind{Name: "overlay", About: "A veil lies over the editor for 1.2 s."},
				Kind{Name: "stale", About: "The editor and its lines are replaced by new ones as soon as it is first focused."})}},
			{Name: "edit", Rates: []Rate{
				rate(tool.WrongTarget, rateWrongTarget,
					Kind{Name: "late-focus", About: "The first time, the page moves the focus on to another field."},
					Kind{Name: "twin", About: "Another pane has an editor of the same name, and comes first."}),
				rate(tool.VerificationFailed, rateUnexpected,
					Kind{Name: "lost-keystroke", About: "The editor loses a character of what is first typed."}),
			}},
			{Name: "save", Rates: []Rate{
				rate(tool.WrongTarget, rateWrongTarget,
					Kind{Name: "silent", About: "The first click reaches a handler of an editor that is gone: nothing is sent, nothing is shown."},
					Kind{Name: "twin", About: "Another pane has a button of the same name, and comes first."}),
				rate(tool.VerificationFailed, rateUnexpected,
					Kind{Name: "error", About: "The first click opens an error dialog, and nothing is sent."}),
			}},
		}},
		{Name: "terminal", Title: "go vet in a terminal", PublishedSingle: 91, PublishedHealing: 100, Actions: []Action{
			{Name: Readiness, Rates: []Rate{rate(tool.NotReady, rateSlow,
				Kind{Name: "slow-start", About: "The shell takes 1.5 s until its first prompt."})}},
			{Name: "session", Rates: []Rate{
				rate(tool.WrongTarget, rateWrongTarget,
					Kind{Name: "swallowed", About: "The command is typed, and is gone from the line when Enter is pressed."},
					Kind{Name: "elsewhere", About: "The shell's start file changes to the directory of another module."},
					Kind{Name: "gone", About: "The shell is killed when the command is entered."}),
				rate(tool.VerificationFailed, rateUnexpected,
					Kind{Name: "pager", About: "The output goes to a pager, which waits for a key."},
					Kind{Name: "toolchain", About: "The command ends with an error of the tool chain instead of an answer."}),
			}},
		}},
	}
}

// Lookup finds a scenario by name.
func Lookup(name string) (Scenario, error) {
	all := All()
	if i := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name }); i >= 0 {
		return all[i], nil
	}
	return Scenario{}, fmt.Errorf("there is no scenario %q; there are player, comment and terminal", name)
}

// Plan says which kind comes with which action in a run: action → kind. Actions that nothing goes wrong with are left out.
func (s Scenario) Plan(seed uint64, number int) map[string]Kind {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", s.Name, number) //nolint:errcheck // a hash takes everything
	r := rand.New(rand.NewPCG(seed, h.Sum64()))
	plan := map[string]Kind{}
	for _, a := range s.Actions {
		at, which := r.Float64()*100, r.Float64() // both are always drawn, so that an action's faults do not depend on those before it
		for _, rate := range a.Rates {
			if at < rate.Percent {
				plan[a.Name] = rate.Kinds[int(which*float64(len(rate.Kinds)))]
				break
			}
			at -= rate.Percent
		}
	}
	return plan
}
