package tool

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var testSpec = &Spec{ID: "shop.pay", Example: json.RawMessage(`{"amount":1}`), Question: "How much?"}

// hints are one of each constructor with each reason that it takes, and with one that it does not.
func hints() map[string]*RetryHint {
	missing := Issues{{Path: "/amount", Constraint: "required", Message: "amount is missing."}}
	wrong := Issues{{Path: "/amount", Constraint: "type", Message: "amount must be an integer."}}
	m := map[string]*RetryHint{
		"missing":    HintArguments(testSpec, missing, []byte(`{}`)),
		"invalid":    HintArguments(testSpec, wrong, []byte(`{"amount":"x"}`)),
		"both":       HintArguments(testSpec, append(slices.Clone(wrong), missing...), []byte(`{"amount":"x"}`)),
		"not JSON":   HintArguments(testSpec, wrong, []byte(`{"amount`)),
		"no payload": HintArguments(testSpec, missing, nil),
		"malformed":  HintMalformedResponse("shop.pay", wrong),
		"unknown":    HintUnknown("shop.pay", "nobody knows", nil),
		"not undone": HintUnknown("shop.pay", "nobody knows", &RollbackNotice{FailedChecks: []string{"paid"}}),
		"no wait":    HintWait("shop.pay", ReasonTimeout, "slow", -time.Second),
	}
	for _, r := range append(Reasons(), "nonsense", "") {
		m["target "+string(r)] = HintTarget(testSpec, r, "not there", []Candidate{{Name: "Play", Role: "button"}}, []byte(`{}`))
		m["verification "+string(r)] = HintVerification(testSpec, r, "wrong", RollbackNotice{Performed: true, RestoredTo: "before attempt 1"}, []byte(`{}`))
		m["wait "+string(r)] = HintWait("shop.pay", r, "busy", time.Second)
		m["stop "+string(r)] = HintStop("shop.pay", r, "no")
	}
	return m
}

func TestEveryHintIsLegal(t *testing.T) {
	t.Parallel()
	reasons := map[Reason]bool{}
	for name, h := range hints() {
		if err := h.f.validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		reasons[h.Reason()] = true
		text, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		var again RetryHint
		if err := json.Unmarshal(text, &again); err != nil {
			t.Errorf("%s: does not survive JSON: %v\n%s", name, err, text)
		}
		once, _ := json.Marshal(&again)
		if string(once) != string(text) {
			t.Errorf("%s: %s became %s", name, text, once)
		}
	}
	for _, r := range Reasons() {
		if !reasons[r] {
			t.Errorf("no constructor makes a hint with the reason %s", r)
		}
	}
}

// TestUnknownOutcomesAreNeverRepeated holds the thesis: where an effect may have happened, nothing in the hint helps to send the call
// again.
func TestUnknownOutcomesAreNeverRepeated(t *testing.T) {
	t.Parallel()
	for name, h := range hints() {
		f := h.Fields()
		if adviceOf[f.Reason] != observe {
			continue
		}
		if f.RestrictToTool || f.ExampleInput != nil || f.PriorInput != nil || f.RetryAfterMS != 0 || f.MissingFields != nil {
			t.Errorf("%s: a %s hint invites a repetition: %+v", name, f.Reason, f)
		}
	}
}

func TestHintContents(t *testing.T) {
	t.Parallel()
	m := hints()
	f := m["missing"].Fields()
	if f.Reason != ReasonMissingFields || !f.RestrictToTool || !slices.Equal(f.MissingFields, []string{"/amount"}) || f.ClarifyingQuestion != "How much?" ||
		string(f.ExampleInput) != `{"amount":1}` || string(f.PriorInput) != `{}` || f.Message != "shop.pay needs amount. Send the same call again with it." {
		t.Errorf("%+v", f)
	}
	f = m["invalid"].Fields()
	if f.Reason != ReasonInvalidArguments || f.MissingFields != nil || f.ClarifyingQuestion != "" || string(f.PriorInput) != `{"amount":"x"}` ||
		f.Message != "The payload of shop.pay breaks one rule: amount must be an integer. Correct it and call the same tool again." {
		t.Errorf("%+v", f)
	}
	f = m["both"].Fields()
	if f.Reason != ReasonInvalidArguments || len(f.MissingFields) != 1 || !strings.Contains(f.Message, "breaks 2 rules") {
		t.Errorf("%+v", f)
	}
	if f = m["not JSON"].Fields(); string(f.PriorInput) != `"{\"amount"` {
		t.Errorf("%s", f.PriorInput)
	}
	if f = m["target ambiguous_target"].Fields(); len(f.Candidates) != 1 || f.ClarifyingQuestion != `How much? The button "Play"?` {
		t.Errorf("%+v", f)
	}
	if f = m["target no_effect"].Fields(); f.Candidates != nil || f.Reason != ReasonNoEffect {
		t.Errorf("%+v", f)
	}
	if f = m["target timeout"].Fields(); f.Reason != ReasonTargetNotFound {
		t.Errorf("%+v", f)
	}
	if f = m["wait rate_limited"].Fields(); f.RetryAfterMS != 1000 {
		t.Errorf("%+v", f)
	}
	if f = m["no wait"].Fields(); f.RetryAfterMS != 0 {
		t.Errorf("%+v", f)
	}
	if f = m["verification postcondition_failed"].Fields(); f.Rollback == nil || !f.Rollback.Performed || f.Reason != ReasonPostconditionFailed {
		t.Errorf("%+v", f)
	}
}

func TestIllegalHintsCannotBeDecoded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{`{`, "unexpected end"},
		{`{"reason":"nonsense","tool":"a.b","message":"m"}`, `unknown reason "nonsense"`},
		{`{"reason":"no_effect","message":"m"}`, "names its tool"},
		{`{"reason":"no_effect","tool":"a.b"}`, "has a message"},
		{`{"reason":"outcome_unknown","tool":"a.b","message":"m","prior_input":{}}`, "the prior input, which would invite a repetition"},
		{`{"reason":"outcome_unknown","tool":"a.b","message":"m","example_input":{}}`, "an example, which would invite a repetition"},
		{`{"reason":"outcome_unknown","tool":"a.b","message":"m","restrict_to_tool":true}`, "restrict_to_tool, which would invite a repetition"},
		{`{"reason":"outcome_unknown","tool":"a.b","message":"m","retry_after_ms":5}`, "a wait"},
		{`{"reason":"loop_detected","tool":"a.b","message":"m","issues":[{"path":"","constraint":"type","message":"m"}]}`, "issues of the payload"},
		{`{"reason":"timeout","tool":"a.b","message":"m","prior_input":{}}`, "the prior input"},
		{`{"reason":"timeout","tool":"a.b","message":"m","retry_after_ms":-1}`, "a negative wait"},
		{`{"reason":"no_effect","tool":"a.b","message":"m","retry_after_ms":1}`, "a wait"},
		{`{"reason":"no_effect","tool":"a.b","message":"m","missing_fields":["/a"]}`, "missing fields"},
		{`{"reason":"missing_fields","tool":"a.b","message":"m"}`, "no missing field"},
		{`{"reason":"invalid_arguments","tool":"a.b","message":"m"}`, "no issue"},
		{`{"reason":"no_effect","tool":"a.b","message":"m","candidates":[{"name":"x"}]}`, "candidates"},
	} {
		h := RetryHint{HintFields{Reason: ReasonCancelled, Tool: "x.y", Message: "as before"}}
		before := h.f
		err := json.Unmarshal([]byte(c.text), &h)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
		if !reflect.DeepEqual(h.f, before) {
			t.Errorf("%s: the hint changed", c.text)
		}
	}
}

func TestReasons(t *testing.T) {
	t.Parallel()
	rs := Reasons()
	if len(rs) != 18 || !slices.IsSorted(rs) {
		t.Errorf("%d reasons: %q", len(rs), rs)
	}
}

// A notice has a list of checks on every surface, also when none failed: events are written by encoding/json, answers by generated types.
func TestRollbackNoticeHasAList(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(HintUnknown("shop.pay", "nobody knows", &RollbackNotice{RestoredTo: "unknown"}))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `"failed_checks":[]`) {
		t.Error(string(text))
	}
}

// What was taken back is told beside any reason, and never in the place of what is told already.
func TestHintWithRollback(t *testing.T) {
	t.Parallel()
	done, other := &RollbackNotice{Performed: true, RestoredTo: "before attempt 1"}, &RollbackNotice{RestoredTo: "nothing"}
	plain := HintWait("shop.pay", ReasonTimeout, "late", 0)
	told := plain.WithRollback(done)
	if r := told.Fields().Rollback; r == nil || !r.Performed || r.FailedChecks == nil {
		t.Errorf("%+v", r)
	}
	if plain.Fields().Rollback != nil {
		t.Error("the hint that it was made of has changed")
	}
	if !told.WithRollback(other).Fields().Rollback.Performed || told.WithRollback(nil) != told {
		t.Error("what was told already is lost")
	}
}
