package planner

import (
	"encoding/json"
	"strings"
	"testing"

	"toolsvc/tool"
)

// concealing is an attempt that knows its text to be a secret.
type concealing struct{ tool.Attempt }

func (concealing) Secrets() []string { return []string{"/text"} }

func TestReportsHoldNoSecrets(t *testing.T) {
	t.Parallel()
	const secret = "hunter2!x"
	rep := Report{
		Record:       tool.AttemptRecord{Message: "it is " + secret},
		Proof:        secret,
		What:         secret,
		Result:       json.RawMessage(`{"value": "` + secret + `", "size": 9007199254740993}`),
		Error:        &tool.Error{Message: secret, Cause: &tool.Error{Message: secret}},
		Candidates:   []tool.Candidate{{Name: secret}},
		Issues:       tool.Issues{{Got: secret, Message: secret}},
		Rollback:     &tool.RollbackNotice{RestoredTo: secret},
		Verification: &tool.Verification{Explanation: secret, Checks: []tool.Check{{Condition: secret, Expected: secret, Observed: `args.text = "` + secret + `"`}}, Opinion: &tool.Opinion{Explanation: secret}},
	}.conceal(concealing{}, json.RawMessage(`{"text": "`+secret+`"}`))
	text, err := json.Marshal(rep)
	if err != nil || strings.Contains(string(text), secret) {
		t.Errorf("%s, %v", text, err)
	}
	if !strings.Contains(string(rep.Result), "9007199254740993") {
		t.Errorf("a number was changed: %s", rep.Result)
	}
	step := Step{Concealed: []string{"/text"}, Repairs: []tool.Repair{{Path: "/text", From: "1234", To: `"1234"`}, {Path: "/append", From: `"true"`, To: "true"}}}
	if shown := shownRepairs(step); shown[0].From != tool.Redacted || shown[0].To != tool.Redacted || shown[1].To != "true" || step.Repairs[0].From != "1234" {
		t.Errorf("%+v of %+v", shown, step.Repairs)
	}
}
