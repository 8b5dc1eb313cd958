package planner

import (
	"encoding/json"
	"testing"

	"toolsvc/tool"
)

func TestMerge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ payload, answer, want string }{
		{`{}`, `{"a":1}`, `{"a":1}`},
		{`{"a":1,"b":2}`, `{"a":3}`, `{"a":3,"b":2}`},
		{`{"t":{"name":"x"}}`, `{"t":{"role":"button"}}`, `{"t":{"name":"x","role":"button"}}`},
		{`{"a":1,"b":2}`, `{"b":null}`, `{"a":1}`},
		{`{"a":[1,2]}`, `{"a":[3]}`, `{"a":[3]}`},
		{`{"a":"x"}`, `{"a":{"b":1,"c":null}}`, `{"a":{"b":1}}`},
		{`{broken`, `{"a":1}`, `{"a":1}`},
		{`{"n":9007199254740993}`, `{"a":9007199254740995}`, `{"a":9007199254740995,"n":9007199254740993}`},
	} {
		got, err := merge([]byte(c.payload), []byte(c.answer))
		if err != nil || string(got) != c.want {
			t.Errorf("%s + %s = %s (%v), want %s", c.payload, c.answer, got, err, c.want)
		}
	}
}

func TestParseAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind   tool.QuestionKind
		answer string
		want   Reply
		path   string // of the issue
		bad    bool
	}{
		{tool.AskApproval, `{"approved":true,"digest":"sha256:d"}`, Reply{Approved: true}, "", false},
		{tool.AskApproval, `{"approved":false}`, Reply{}, "", false},
		{tool.AskApproval, `{"approved":true}`, Reply{}, "/digest", true},
		{tool.AskApproval, `{"approved":true,"digest":"sha256:other"}`, Reply{}, "/digest", true},
		{tool.AskApproval, `{}`, Reply{}, "/approved", true},
		{tool.AskApproval, `{"approved":"yes"}`, Reply{}, "", true},
		{tool.AskApproval, `{"approve":true}`, Reply{}, "", true},
		{tool.AskOutcome, `{"happened":true}`, Reply{Happened: true}, "", false},
		{tool.AskOutcome, `{}`, Reply{}, "/happened", true},
		{tool.AskFreely, `{"text":"blue"}`, Reply{Text: "blue"}, "", false},
		{tool.AskFreely, `{"text":"  "}`, Reply{}, "/text", true},
		{tool.AskFreely, `yes`, Reply{}, "", true},
		{tool.AskFreely, `{"text":"a"} {"text":"b"}`, Reply{}, "", true},
	} {
		got, issues := parseAnswer(c.kind, []byte(c.answer), "sha256:d")
		if c.bad != (len(issues) > 0) || c.bad && issues[0].Path != c.path || !c.bad && got != c.want {
			t.Errorf("%s %s: %+v, %+v", c.kind, c.answer, got, issues)
		}
	}
}

func TestQuestionIDs(t *testing.T) {
	t.Parallel()
	a, again, other, approval := questionID(tool.AskArguments, "r_1", 1), questionID(tool.AskArguments, "r_1", 1), questionID(tool.AskArguments, "r_1", 2), questionID(tool.AskApproval, "r_1", 1)
	if a != again || a == other || a[:2] != "q_" || approval[:2] != "a_" {
		t.Error(a, again, other, approval)
	}
}

func TestPersonRepairsHideSecrets(t *testing.T) {
	t.Parallel()
	spec := &tool.Spec{ID: "x.y", Secrets: []string{"/password"}}
	rs := personRepairs(spec, []byte(`{"a":1}`), []byte(`{"password":"hunter22","a":2}`))
	text, err := json.Marshal(rs)
	if err != nil || len(rs) != 2 || rs[0].From != "1" || rs[0].To != "2" {
		t.Errorf("%s %v", text, err)
	}
	if got := rs[1].To; got != `"[redacted]"` {
		t.Errorf("the secret is shown: %s", got)
	}
}
