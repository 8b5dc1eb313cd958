package planner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"toolsvc/tool"
)

// Bounds of the loop guard.
const (
	// maxSame is how often the same call may fail with the same observation; the next one is refused.
	maxSame = 2
	// maxIdentical is how often the same call may fail in a row, whatever is observed.
	maxIdentical = 5
	// keepPast bounds what is remembered of calls that have ended.
	keepPast = 50
)

// Ended is what the guard knows of a call that has ended.
type Ended struct {
	// Digest is that of the tool and its arguments.
	Digest string `json:"digest"`
	// Failure is "" when the call was verified.
	Failure tool.Failure `json:"failure,omitempty"`
	// Observed is a digest of what was observed.
	Observed string `json:"observed,omitempty"`
	// Changed: the call changed something, so that what failed before may succeed now.
	Changed bool `json:"changed,omitempty"`
}

// refusal is why a call is not made at all.
type refusal struct {
	Failure tool.Failure
	Message string
}

// guard decides whether a call may be made, by the run's policy and by what its calls came to so far. elapsed is the time the run has
// worked, waiting for people excepted.
func guard(p tool.Policy, past []Ended, calls int, elapsed time.Duration, id tool.ID, digest string) *refusal {
	if ok, rule := p.Permits(id); !ok {
		return &refusal{tool.PolicyDenied, fmt.Sprintf("%s may not be called in this run: %s.", id, rule)}
	}
	if calls > p.Calls() {
		return &refusal{tool.PolicyDenied, fmt.Sprintf("The run has made its %d calls; start another run, or allow more by max_calls.", p.Calls())}
	}
	if p.TimeBudgetMS > 0 && elapsed > time.Duration(p.TimeBudgetMS)*time.Millisecond {
		return &refusal{tool.PolicyDenied, fmt.Sprintf("The run has used its time budget of %d ms; start another run, or allow more by time_budget_ms.", p.TimeBudgetMS)}
	}
	if n := failuresInARow(past); n >= p.Failures() {
		return &refusal{tool.PolicyDenied, fmt.Sprintf("%d calls failed one after the other, so the run makes no more; look at their errors, then start another run, or allow more by max_failures.", n)}
	}
	return loop(past, digest)
}

// failuresInARow counts the failed calls since the last verified one.
func failuresInARow(past []Ended) int {
	n := 0
	for _, e := range slices.Backward(past) {
		if e.Failure == "" {
			break
		}
		n++
	}
	return n
}

// loop refuses a call that has failed in the same way before, when nothing that could help has happened since.
func loop(past []Ended, digest string) *refusal {
	if digest == "" {
		return nil
	}
	same, identical := 0, 0
	var last *Ended
	for i := range slices.Backward(past) {
		e := &past[i]
		if e.Digest != digest {
			if e.Changed {
				break // the world is another one now
			}
			continue
		}
		if e.Failure == "" {
			break
		}
		if e.Failure == tool.LoopDetected || e.Failure == tool.PolicyDenied {
			continue
		}
		if last == nil {
			last = e
		}
		identical++
		if e.Failure == last.Failure && e.Observed == last.Observed {
			same++
		}
	}
	switch {
	case same >= maxSame:
		return &refusal{tool.LoopDetected, fmt.Sprintf("The same call failed %d times with %s and the same observation, so it is not made again. Send other arguments, call another tool, or change the state first.", same, last.Failure)}
	case identical >= maxIdentical:
		return &refusal{tool.LoopDetected, fmt.Sprintf("The same call failed %d times in a row, so it is not made again. Send other arguments, call another tool, or change the state first.", identical)}
	}
	return nil
}

// remember adds a call that has ended.
func remember(past []Ended, digest string, res *tool.Result, class tool.EffectClass) []Ended {
	e := Ended{Digest: digest}
	if res.Error != nil {
		e.Failure = res.Error.Code
		h := sha256.New()
		fmt.Fprintf(h, "%s\n%s\n", res.Error.Code, res.Error.Message) //nolint:errcheck // a hash takes everything
		if v := res.Verification; v != nil {
			for _, c := range v.Checks {
				fmt.Fprintf(h, "%s %t %s\n", c.Name, c.Passed, c.Observed) //nolint:errcheck // as above
			}
		}
		e.Observed = hex.EncodeToString(h.Sum(nil)[:8])
	}
	for _, a := range res.Attempts {
		e.Changed = e.Changed || class != tool.ReadOnly && a.Effect != tool.EffectNone && !a.RolledBack
	}
	past = append(past, e)
	return past[max(0, len(past)-keepPast):]
}

// CallDigest identifies a tool and its exact arguments, as they were accepted: "sha256:…".
func CallDigest(id tool.ID, args []byte) string {
	return tool.Digest(fmt.Appendf(nil, "%s\n%s", id, args))
}
