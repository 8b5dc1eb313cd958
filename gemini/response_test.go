package gemini

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

// One result of each kind, as the model is told of it.
func TestResponse(t *testing.T) {
	t.Parallel()
	click := browser.ClickSpec
	payload := args(`{"target":{"name":"Pay"}}`)
	failedWith := func(f tool.Failure, phase tool.Phase, hint *tool.RetryHint, checks ...tool.Check) *tool.Result {
		r := &tool.Result{CallID: "c_1", Tool: click.ID, Error: tool.NewErrorWithCause(f, "It failed.", fmt.Errorf("because of that")), RetryHint: hint,
			Attempts: []tool.AttemptRecord{{Number: 1, Phase: phase}}}
		if checks != nil {
			r.Verification = &tool.Verification{Verdict: tool.VerdictFailure, Checks: checks}
		}
		return r
	}
	bad := tool.Check{Name: "no_new_error", Expected: "no error", Observed: "Card declined"}
	good := tool.Check{Name: "delivered", Passed: true}
	corrected := succeeded("browser.click", `{"changed":true}`)
	corrected.Repairs = []tool.Repair{{Path: "/timeout_ms", From: `"500"`, To: "500"}}
	for _, c := range []struct {
		name string
		in   *tool.Result
		want string
	}{
		{"success", corrected, `{"status":"success","result":{"changed":true},"verified":["page_ready"],"corrected":["/timeout_ms: 500 instead of \"500\""]}`},
		{"a result without a verdict is no success", &tool.Result{Result: args(`{}`)}, `{"status":"unknown","result":{}}`},
		{"missing fields", &tool.Result{Error: tool.NewError(tool.MissingFields, "Target is missing."), RetryHint: tool.HintArguments(click, tool.Issues{{Path: "/target", Constraint: "required", ExpectedType: "object", Message: "target is missing."}}, args(`{}`))},
			`{"status":"not_done","failure":{"code":"missing_fields","reason":"missing_fields","message":"Target is missing."},"todo":"browser.click needs target. Send the same call again with it.","only_this_function":true,` +
				`"missing_fields":["/target"],"issues":[{"path":"/target","message":"target is missing.","expected_type":"object"}],"example":{"target":{"name":"Play","role":"button","within":"Now playing"}},"you_sent":{},"question_for_the_user":"Which element should be clicked?"}`},
		{"ambiguous", failedWith(tool.AmbiguousTarget, tool.PhaseStarted, tool.HintTarget(click, tool.ReasonAmbiguousTarget, "Two fit.", []tool.Candidate{{Name: "Pay", Role: "button", Within: "A"}, {Name: "Pay", Role: "button", Within: "B"}}, payload)),
			`{"status":"not_done","failure":{"code":"ambiguous_target","reason":"ambiguous_target","message":"It failed.","causes":["because of that"]},"todo":"Two fit.","candidates":[{"name":"Pay","role":"button","within":"A"},{"name":"Pay","role":"button","within":"B"}],` +
				`"you_sent":{"target":{"name":"Pay"}},"question_for_the_user":"Which element should be clicked? The button \"Pay\" in \"A\" or the button \"Pay\" in \"B\"?"}`},
		{"rolled back", failedWith(tool.VerificationFailed, tool.PhaseSettled, tool.HintVerification(click, tool.ReasonVerificationFailed, "An error appeared.", tool.RollbackNotice{Performed: true, RestoredTo: "before attempt 1", FailedChecks: []string{"no_new_error"}}, payload), good, bad),
			`{"status":"failed","failure":{"code":"verification_failed","reason":"verification_failed","message":"It failed.","causes":["because of that"]},"todo":"An error appeared.","you_sent":{"target":{"name":"Pay"}},` +
				`"failed_checks":[{"check":"no_new_error","expected":"no error","observed":"Card declined"}],` +
				`"rollback":"1. A rollback was done: all that this call had changed is undone. 2. The state is as it was before this call (before attempt 1). Nothing of this call's work is there any more: do not take it for done. 3. These checks failed: no_new_error, expected no error, observed Card declined."}`},
		{"outcome unknown", failedWith(tool.OutcomeUnknown, tool.PhaseDispatched, tool.HintUnknown(click.ID, "Look first.", &tool.RollbackNotice{RestoredTo: "refused: a request was sent", FailedChecks: []string{"no_new_error"}})),
			`{"status":"unknown","failure":{"code":"outcome_unknown","reason":"outcome_unknown","message":"It failed.","causes":["because of that"]},"todo":"Look first.",` +
				`"rollback":"1. No rollback was done: what this call changed may still be there. (refused: a request was sent) 2. The state may not be as it was before this call: look at it before you go on. 3. These checks failed: no_new_error."}`},
		{"dispatched, and nobody says what came of it", failedWith(tool.Internal, tool.PhaseDispatched, nil), `{"status":"unknown","failure":{"code":"internal","message":"It failed.","causes":["because of that"]}}`},
		{"to be repeated later", failedWith(tool.RateLimited, tool.PhaseStarted, tool.HintWait(click.ID, tool.ReasonRateLimited, "It failed.", 2*time.Second)),
			`{"status":"not_done","failure":{"code":"rate_limited","reason":"rate_limited","message":"It failed.","causes":["because of that"]},"retry_after_ms":2000}`},
		{"an answer that is none", failedWith(tool.MalformedResponse, tool.PhaseStarted, tool.HintMalformedResponse(click.ID, nil)),
			`{"status":"unknown","failure":{"code":"malformed_response","reason":"malformed_response","message":"It failed.","causes":["because of that"]},"todo":"The tool answered with data that breaks its own contract, so the answer was not passed on. Check the state before calling it again; its owner has to mend it."}`},
	} {
		got := Response(c.in)
		if !same(got, []byte(c.want)) {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// A response stays within its bound, whatever the result holds, and says what was cut.
func TestResponseIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("päge ", 40_000)
	many, _ := json.Marshal(map[string]any{"lines": strings.Split(strings.Repeat("a line of the page\n", 20_000), "\n"), "title": "Shop"})
	text, _ := json.Marshal(map[string]any{"text": long, "truncated": false})
	deep := args(strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000))
	wide := map[string]any{}
	for i := range 5000 {
		wide[fmt.Sprint("key ", i)] = i
	}
	huge, _ := json.Marshal(wide)
	var checks []tool.Check
	var issues tool.Issues
	for i := range 60 {
		checks = append(checks, tool.Check{Name: fmt.Sprint("check ", i), Expected: long, Observed: long})
		issues = append(issues, tool.Issue{Path: fmt.Sprint("/", i), Message: long, Constraint: "type", Allowed: strings.Fields(long)[:10]})
	}
	failed := &tool.Result{Error: tool.NewErrorWithCause(tool.InvalidArguments, long, fmt.Errorf("%s", long)), Verification: &tool.Verification{Checks: checks}}
	failed.RetryHint = tool.HintArguments(browser.ClickSpec, issues, text)
	rolled := &tool.Result{Error: failed.Error, Verification: failed.Verification,
		RetryHint: tool.HintVerification(browser.ClickSpec, tool.ReasonVerificationFailed, long, tool.RollbackNotice{Performed: true, RestoredTo: long}, text)}
	for name, c := range map[string]struct {
		in   *tool.Result
		says string
	}{
		"text":     {succeeded("browser.read", string(text)), "(cut: 200000 characters in all)"},
		"list":     {succeeded("browser.read", string(many)), "(cut: 20001 elements in all)"},
		"deep":     {succeeded("browser.read", string(deep)), `"status":"success"`},
		"wide":     {succeeded("browser.read", string(huge)), "too long to show"},
		"failure":  {failed, `"status":"not_done"`},
		"rollback": {rolled, "A rollback was done"},
	} {
		got := Response(c.in)
		if len(got) > MaxResponse || !json.Valid(got) || !strings.Contains(string(got), c.says) {
			t.Errorf("%s: %d bytes, lacks %q: %.300s", name, len(got), c.says, got)
		}
	}
	if got := UserAnswer(text); len(got) > MaxResponse || !json.Valid(got) || !strings.Contains(string(got), "päge") {
		t.Errorf("an answer: %d bytes", len(got))
	}
}

func TestOtherResponses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		got  json.RawMessage
		want string
	}{
		{NotDone("Another call is first."), `{"status":"not_done","todo":"Another call is first."}`},
		{UserAnswer(args(`{"size":"M"}`)), `{"status":"success","answer":{"size":"M"}}`},
		{UserAnswer(args(`medium, please`)), `{"status":"success","answer":"medium, please"}`},
		{NoAnswer("It expired."), `{"status":"not_done","todo":"The user gave no answer. It expired."}`},
	} {
		if !same(c.got, []byte(c.want)) {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}
