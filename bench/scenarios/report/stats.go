// Package report makes of the log of the scenarios what people read: figures with confidence intervals, a table, a chart.
package report

import (
	"math"
	"slices"
)

// Run is one line of the log.
type Run struct {
	Scenario string `json:"scenario"`
	// Healing is false for a run with one attempt a step.
	Healing bool   `json:"healing"`
	Seed    uint64 `json:"seed"`
	Number  int    `json:"number"`
	// Faults are what was to go wrong, action → kind; Landed is what did, as the page, the server or the shell noted it.
	Faults map[string]string `json:"faults,omitempty"`
	Landed []string          `json:"landed,omitempty"`
	// Missed are faults of actions that were reached and did not land: the run proves nothing.
	Missed []string `json:"missed,omitempty"`
	// Said is toolsvc's verdict: the run succeeded, verified. Failure and Message are those of the step that did not.
	Said    bool   `json:"said"`
	Failure string `json:"failure,omitempty"`
	Message string `json:"message,omitempty"`
	// Rollback says what became of the rollback of that step.
	Rollback string `json:"rollback,omitempty"`
	// Goal counts how often the wanted effect really happened, Wrong unwanted effects.
	Goal  int `json:"goal"`
	Wrong int `json:"wrong"`
	// Attempts is how many the step with the most of them had. Sources are those of all attempts, in order.
	Attempts int      `json:"attempts"`
	Sources  []string `json:"sources,omitempty"`
	MS       int64    `json:"ms"`
	// Broken says why the run could not be measured.
	Broken string `json:"broken,omitempty"`
}

// Success reports whether the run did what it was for, once and nothing else, and said so.
func (r Run) Success() bool { return r.Said && r.Goal == 1 && r.Wrong == 0 }

// FalseSuccess reports whether success was said of a run that did not reach its goal.
func (r Run) FalseSuccess() bool { return r.Said && r.Goal == 0 }

// Figures sum up the runs of one scenario in one mode.
type Figures struct {
	Runs, Success, FalseSuccess, Wrong, Double int
	// Invalid counts runs that could not be measured, or whose faults did not land.
	Invalid int
	// Faulty counts the runs in which a fault landed.
	Faulty int
	// Attempts counts runs by their attempts, 1 to 3.
	Attempts [4]int
	// Median and P95 are times in milliseconds.
	Median, P95 int64
}

// Sum makes the figures of runs.
func Sum(runs []Run) (f Figures) {
	var ms []int64
	for _, r := range runs {
		f.Runs++
		if r.Broken != "" || len(r.Missed) > 0 {
			f.Invalid++
		}
		if r.Success() {
			f.Success++
		}
		if r.FalseSuccess() {
			f.FalseSuccess++
		}
		if r.Wrong > 0 {
			f.Wrong++
		}
		if r.Goal > 1 {
			f.Double++
		}
		if len(r.Landed) > 0 {
			f.Faulty++
		}
		f.Attempts[min(max(r.Attempts, 0), 3)]++
		ms = append(ms, r.MS)
	}
	slices.Sort(ms)
	f.Median, f.P95 = quantile(ms, 0.5), quantile(ms, 0.95)
	return f
}

// quantile is the smallest value that is not below the share q of the sorted values (nearest rank); 0 of none.
func quantile(sorted []int64, q float64) int64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, max(0, int(math.Ceil(q*float64(len(sorted))))-1))]
}

// Wilson is the 95 % confidence interval of a share of k in n, from 0 to 1, by Wilson's score (1927), which also holds for shares of 0 and 1.
func Wilson(k, n int) (low, high float64) {
	if n == 0 {
		return 0, 1
	}
	const z = 1.959963984540054
	p, m := float64(k)/float64(n), float64(n)
	middle, half := p+z*z/(2*m), z*math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	d := 1 + z*z/m
	return max(0, (middle-half)/d), min(1, (middle+half)/d)
}
