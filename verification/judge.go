package verification

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/interpreter"

	"toolsvc/tool"
)

// Judge evaluates all conditions over the evidence from before and after an action and the tool's result, and gives each a receipt.
// The result is JSON text (json.RawMessage), a decoded JSON value, or the typed result that the tool's spec encodes; nil when there
// is none. A condition whose evidence is missing or malformed is undecided and does not pass. Any failed condition makes the verdict
// a failure; otherwise any undecided one, or having none at all, makes it uncertain; otherwise it is a success. The digests of the
// evidence are left for the caller to fill in.
func (c *Conditions) Judge(before, after *tool.Evidence, result any) tool.Verification {
	v := c.verify(c.post, newFacts(c.spec, c.args, before, after, result))
	if v.Verdict == tool.VerdictUncertain && c.cameTrue(before, v) {
		for i, check := range v.Checks {
			if check.Undecided && c.post[i].Expression == reacted {
				check.Undecided, check.Passed = false, true
				check.Observed += "; what the caller expects was not so before the action, and is so now"
				v.Checks[i] = check
			}
		}
		if v.Verdict, v.Explanation = conclude(v.Checks); v.Verdict != tool.VerdictUncertain {
			v.Confidence = 1
		}
	}
	return v
}

// reacted is the condition that something changed. On a page that changes by itself the evidence may leave it undecided.
const reacted = "effect.changed"

// cameTrue reports whether something that the caller expects, and that holds now, did not hold before the action: it came about since. That
// decides whether something changed where a page that changes by itself cannot tell.
func (c *Conditions) cameTrue(before *tool.Evidence, v tool.Verification) bool {
	if before == nil {
		return false
	}
	earlier := newFacts(c.spec, c.args, nil, before, nil)
	for i := c.own; i < len(c.post); i++ {
		if !v.Checks[i].Passed || c.post[i].Expression == reacted {
			continue
		}
		if held, err := c.post[i].holds(earlier); err == nil && !held {
			return true
		}
	}
	return false
}

// CheckPreconditions evaluates all preconditions over fresh evidence, likewise. Unless the verdict is success, nothing may run. It is
// success when there are no preconditions.
func (c *Conditions) CheckPreconditions(evidence *tool.Evidence) tool.Verification {
	v := c.verify(c.pre, newFacts(c.spec, c.args, nil, evidence, nil))
	if len(c.pre) == 0 {
		v.Verdict, v.Confidence, v.Explanation = tool.VerdictSuccess, 1, "There are no preconditions."
	}
	return v
}

// verify evaluates every condition, none is skipped because another failed, and draws the verdict.
func (c *Conditions) verify(list []*condition, f *facts) tool.Verification {
	v := tool.Verification{Threshold: c.Threshold, Checks: make([]tool.Check, len(list))}
	for i, one := range list {
		v.Checks[i] = one.check(f)
	}
	v.Verdict, v.Explanation = conclude(v.Checks)
	if v.Verdict != tool.VerdictUncertain {
		v.Confidence = 1
	}
	return v
}

// check evaluates one condition and writes its receipt.
func (c *condition) check(f *facts) tool.Check {
	check := tool.Check{Name: c.Name, Condition: c.Expression, Expected: c.expected, Observed: f.observe(c)}
	passed, err := c.holds(f)
	if err == nil {
		check.Passed = passed
		return check
	}
	check.Undecided = true
	if check.Observed != "" {
		check.Observed += "; "
	}
	check.Observed += "undecided: " + clip(err.Error(), maxShown)
	return check
}

// holds evaluates the condition; an error means that the evidence does not decide.
func (c *condition) holds(f *facts) (bool, error) {
	out, _, err := c.program.Eval(f)
	if err != nil {
		return false, undecided(err)
	}
	b, ok := out.(types.Bool)
	if !ok {
		return false, fmt.Errorf("the condition is a %s, not true or false", out.Type().TypeName())
	}
	return bool(b), nil
}

// undecided puts an evaluation error into words.
func undecided(err error) error {
	var cancelled interpreter.EvalCancelledError
	switch message := err.Error(); {
	case errors.As(err, &cancelled):
		return errors.New("the condition became too expensive to evaluate")
	case strings.HasPrefix(message, "internal error"):
		return errors.New("the condition could not be evaluated")
	case strings.HasPrefix(message, "no such overload"):
		return errors.New("the values are of types that the condition cannot combine")
	case strings.HasPrefix(message, "no such key: "):
		return fmt.Errorf("there is no %q", strings.TrimPrefix(message, "no such key: "))
	}
	return err
}

// conclude draws the verdict from the checks and explains it in one or two sentences.
func conclude(checks []tool.Check) (tool.Verdict, string) {
	var failed, undecided []tool.Check
	for _, c := range checks {
		switch {
		case c.Undecided:
			undecided = append(undecided, c)
		case !c.Passed:
			failed = append(failed, c)
		}
	}
	switch {
	case len(checks) == 0:
		return tool.VerdictUncertain, "There was no condition to check, so nothing is verified."
	case len(failed) > 0:
		return tool.VerdictFailure, fmt.Sprintf("%s failed: %s.", share("The", len(failed), len(checks)), firstThree(failed))
	case len(undecided) > 0:
		return tool.VerdictUncertain, fmt.Sprintf("The evidence does not decide %s: %s.", share("the", len(undecided), len(checks)), firstThree(undecided))
	case len(checks) == 1:
		return tool.VerdictSuccess, "The condition holds: " + checks[0].Expected + "."
	}
	return tool.VerdictSuccess, fmt.Sprintf("All %d conditions hold.", len(checks))
}

func share(the string, n, of int) string {
	if of == 1 {
		return the + " only condition"
	}
	return fmt.Sprintf("%d of %d conditions", n, of)
}

// firstThree names up to three checks with what was expected and observed.
func firstThree(checks []tool.Check) string {
	var s []string
	for i, c := range checks {
		if i == 3 {
			s = append(s, count(len(checks)-3, "more"))
			break
		}
		one := c.Name + ": expected " + c.Expected
		if c.Observed != "" {
			one += ", observed " + c.Observed
		}
		s = append(s, clip(one, maxShown))
	}
	return strings.Join(s, "; ")
}
