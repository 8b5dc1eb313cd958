package tool

import (
	"encoding/json"
	"strings"
	"testing"
)

// success is a result that keeps the contract.
func success() *Result {
	return &Result{CallID: "c_1", RunID: "r_1", Tool: "shop.pay", Result: json.RawMessage(`{}`),
		Verification: &Verification{Verdict: VerdictSuccess, Confidence: 1, Threshold: 0.7, Checks: []Check{{Name: "paid", Passed: true}}, Evidence: EvidenceRefs{After: "sha256:x"}},
		Attempts:     []AttemptRecord{{Number: 1}, {Number: 2}}}
}

func failure() *Result {
	return &Result{CallID: "c_1", Tool: "shop.pay", Error: NewError(NoEffect, "nothing happened"), RetryHint: HintUnknown("shop.pay", "look", nil)}
}

func TestResultValidate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make   func() *Result
		change func(*Result)
		want   string // "" for a result that keeps the contract
	}{
		"success":                     {success, func(*Result) {}, ""},
		"failure":                     {failure, func(*Result) {}, ""},
		"failure, verdict failure":    {failure, func(r *Result) { r.Verification = &Verification{Verdict: VerdictFailure} }, ""},
		"failure, uncertain":          {failure, func(r *Result) { r.Verification = &Verification{Verdict: VerdictUncertain} }, ""},
		"confidence at the threshold": {success, func(r *Result) { r.Verification.Confidence = 0.7 }, ""},
		"no call":                     {success, func(r *Result) { r.CallID = "" }, "names its call and its tool"},
		"no tool":                     {failure, func(r *Result) { r.Tool = "" }, "names its call and its tool"},
		"neither":                     {success, func(r *Result) { r.Result = nil }, "holds a result or an error"},
		"both":                        {success, func(r *Result) { r.Error = NewError(Internal, "x") }, "exclude each other"},
		"no verdict":                  {success, func(r *Result) { r.Verification = nil }, "needs a verdict of success"},
		"uncertain":                   {success, func(r *Result) { r.Verification.Verdict = VerdictUncertain }, "needs a verdict of success"},
		"failed":                      {success, func(r *Result) { r.Verification.Verdict = VerdictFailure }, "needs a verdict of success"},
		"error with success":          {failure, func(r *Result) { r.Verification = success().Verification }, "contradicts a verdict of success"},
		"below the threshold":         {success, func(r *Result) { r.Verification.Confidence = 0.69 }, "a confidence of at least the threshold"},
		"no evidence":                 {success, func(r *Result) { r.Verification.Evidence.After = "" }, "evidence from after the action"},
		"a check that failed":         {success, func(r *Result) { r.Verification.Checks[0].Passed = false }, `although check "paid" did not pass`},
		"a hint without an error":     {success, func(r *Result) { r.RetryHint = failure().RetryHint }, "a hint without an error"},
		"attempts out of order":       {success, func(r *Result) { r.Attempts[1].Number = 3 }, "attempt 3 stands in place 2"},
	} {
		r := c.make()
		c.change(r)
		err := r.Validate()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if err := (&Result{}).Validate(); err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("not all that is wrong: %v", err)
	}
}

func TestResultSurvivesJSON(t *testing.T) {
	t.Parallel()
	for _, r := range []*Result{success(), failure()} {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var again Result
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(err)
		}
		once, _ := json.Marshal(&again)
		if string(once) != string(text) || again.Validate() != nil || again.OK() != r.OK() {
			t.Errorf("%s\nbecame %s", text, once)
		}
	}
}

func TestVerificationFailed(t *testing.T) {
	t.Parallel()
	v := Verification{Checks: []Check{{Name: "a", Passed: true}, {Name: "b"}, {Name: "c", Undecided: true}}}
	if got := strings.Join(v.Failed(), " "); got != "b c" {
		t.Error(got)
	}
}
