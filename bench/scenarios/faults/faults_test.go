package faults

import (
	"maps"
	"math"
	"slices"
	"testing"

	"toolsvc/tool"
)

func TestPlanIsDecidedBySeedAndNumber(t *testing.T) {
	t.Parallel()
	for _, s := range All() {
		other, another := 0, 0
		for n := range 500 {
			if !maps.Equal(s.Plan(7, n), s.Plan(7, n)) {
				t.Fatalf("%s: run %d has other faults the second time", s.Name, n)
			}
			if !maps.Equal(s.Plan(7, n), s.Plan(8, n)) {
				other++
			}
			if !maps.Equal(s.Plan(7, n), s.Plan(7, n+1)) {
				another++
			}
		}
		if other == 0 || another == 0 {
			t.Errorf("%s: the faults depend on neither the seed (%d) nor the run (%d)", s.Name, other, another)
		}
	}
}

// Over many runs every row comes as often as it should, and every kind of a row as often as the others.
func TestRates(t *testing.T) {
	t.Parallel()
	const runs = 40000
	for _, s := range All() {
		rows, kinds := map[string]int{}, map[string]int{}
		for n := range runs {
			for action, k := range s.Plan(1, n) {
				rows[action+"/"+string(k.Row)]++
				kinds[action+"/"+k.Name]++
			}
		}
		for _, a := range s.Actions {
			for _, r := range a.Rates {
				if got := 100 * float64(rows[a.Name+"/"+string(r.Row)]) / runs; math.Abs(got-r.Percent) > 0.7 {
					t.Errorf("%s, %s: %s comes in %.1f %% of the runs, wanted %g", s.Name, a.Name, r.Row, got, r.Percent)
				}
				for _, k := range r.Kinds {
					if got, want := 100*float64(kinds[a.Name+"/"+k.Name])/runs, r.Percent/float64(len(r.Kinds)); math.Abs(got-want) > 0.5 {
						t.Errorf("%s, %s: %s comes in %.1f %% of the runs, wanted %.1f", s.Name, a.Name, k.Name, got, want)
					}
				}
			}
		}
	}
}

func TestKindsAreWhole(t *testing.T) {
	t.Parallel()
	for _, s := range All() {
		if s.Actions[0].Name != Readiness {
			t.Errorf("%s: its first action is %s", s.Name, s.Actions[0].Name)
		}
		for _, a := range s.Actions {
			seen := map[string]bool{}
			for _, r := range a.Rates {
				for _, k := range r.Kinds {
					if k.Name == "" || k.About == "" || k.Row != r.Row || !slices.Contains(tool.Failures, k.Row) || seen[k.Name] {
						t.Errorf("%s, %s: %+v", s.Name, a.Name, k)
					}
					seen[k.Name] = true
				}
			}
		}
	}
	if _, err := Lookup("nothing"); err == nil {
		t.Error("an unknown scenario was found")
	}
}
