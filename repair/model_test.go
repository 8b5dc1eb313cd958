package repair_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"toolsvc/repair"
	"toolsvc/tool"
)

// script answers with one reply after the other, and keeps what it was asked.
type script struct {
	replies []string
	asked   []repair.RepairRequest
}

func (s *script) Repair(_ context.Context, in repair.RepairRequest) (repair.RepairReply, error) {
	s.asked = append(s.asked, in)
	if len(s.replies) < len(s.asked) {
		return repair.RepairReply{}, errors.New("the model is gone")
	}
	return repair.RepairReply{Payload: []byte(s.replies[len(s.asked)-1]), Model: "scripted", InputTokens: 100, OutputTokens: 20}, nil
}

func correct(t *testing.T, m repair.Model, spec *tool.Spec, payload string) (repair.ModelOutcome, error) {
	t.Helper()
	out := repair.Payload(spec, []byte(payload), repair.Lossless)
	if out.OK() {
		t.Fatalf("%s needs no model", payload)
	}
	return m.Correct(t.Context(), spec, out)
}

// A model's answer is accepted only when it is valid and keeps all that was stated.
func TestModel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		tool    tool.ID
		payload string
		replies []string
		want    string // "" when nothing was accepted
		repairs string // path rule, …
		refused string // a part of the last refusal
	}{
		{name: "a bad value is replaced", tool: "browser.click", payload: `{"target":{"name":"Play","nth":"first"}}`, replies: []string{`{"target":{"name":"Play","nth":1}}`},
			want: `{"target":{"name":"Play","nth":1}}`, repairs: "/target/nth value_changed"},
		{name: "after what was corrected without it", tool: "browser.click", payload: `{"target":{"name":"Play","nth":"first"},"button":"LEFT"}`, replies: []string{"```json\n{\"button\":\"left\",\"target\":{\"name\":\"Play\",\"nth\":1}}\n```"},
			want: `{"button":"left","target":{"name":"Play","nth":1}}`, repairs: "/button enum_spelling, /target/nth value_changed"},
		{name: "a missing field is added", tool: "browser.navigate", payload: `{"timeout_ms":500}`, replies: []string{`{"timeout_ms":500,"url":"http://localhost/"}`},
			want: `{"timeout_ms":500,"url":"http://localhost/"}`, repairs: "/url value_added"},
		{name: "an unknown field becomes a known one", tool: "browser.click", payload: `{"element":"Play","button":"left"}`, replies: []string{`{"target":{"name":"Play"},"button":"left"}`},
			want: `{"target":{"name":"Play"},"button":"left"}`, repairs: "/element value_removed, /target value_added"},
		{name: "an unknown field becomes an optional one", tool: "browser.navigate", payload: `{"url":"http://localhost/","timeout":5}`, replies: []string{`{"url":"http://localhost/","timeout_ms":5000}`},
			want: `{"url":"http://localhost/","timeout_ms":5000}`, repairs: "/timeout value_removed, /timeout_ms value_added"},
		{name: "one of a group is added", tool: "browser.click", payload: `{"target":{"role":"button"}}`, replies: []string{`{"target":{"role":"button","name":"Play"}}`},
			want: `{"target":{"role":"button","name":"Play"}}`, repairs: "/target/name value_added"},
		{name: "a text that breaks off goes on", tool: "browser.click", payload: `{"target":{"name":"Play","nth":2},"button":"le`, replies: []string{`{"target":{"name":"Play","nth":2},"button":"left"}`},
			want: `{"target":{"name":"Play","nth":2},"button":"left"}`, repairs: "/button value_added"},
		{name: "quotes inside a string", tool: "browser.click", payload: `{"button":"left","target":{"name":"Say "hi" now","nth":1}}`, replies: []string{`{"button":"left","target":{"name":"Say \"hi\" now","nth":1}}`},
			want: `{"button":"left","target":{"name":"Say \"hi\" now","nth":1}}`, repairs: "/target/name value_added, /target/nth value_added"},
		{name: "a union gets its one alternative", tool: "kitchen.objects", payload: `{"left":"l","choice":{"pick":{}}}`, replies: []string{`{"left":"l","choice":{"pick":{"word":"yes"}}}`},
			want: `{"left":"l","choice":{"pick":{"word":"yes"}}}`, repairs: "/choice/pick/word value_added"},
		{name: "numbers are the same in any spelling", tool: "browser.navigate", payload: `{"url":5.5,"timeout_ms":5e2}`, replies: []string{`{"url":"http://localhost/","timeout_ms":500}`},
			want: `{"url":"http://localhost/","timeout_ms":500}`, repairs: "/url value_changed"},

		{name: "what was valid may not change", tool: "browser.click", payload: `{"target":{"name":"Play","nth":"first"}}`, replies: []string{`{"target":{"name":"Pause","nth":1}}`, `{"target":{"name":"Play","nth":1}}`},
			want: `{"target":{"name":"Play","nth":1}}`, repairs: "/target/nth value_changed"},
		{name: "nor be dropped", tool: "browser.click", payload: `{"target":{"name":"Play","nth":"first"},"button":"right"}`, replies: []string{`{"target":{"name":"Play","nth":1}}`, `{"target":{"name":"Play"},"button":"left"}`},
			refused: "The model changed /button"},
		{name: "nor anything be added", tool: "browser.click", payload: `{"target":{"name":"Play","nth":"first"}}`, replies: []string{`{"target":{"name":"Play","nth":1},"button":"right"}`, `{"target":{"name":"Play","nth":1,"role":"button"}}`},
			refused: "The model changed /target/role"},
		{name: "one unknown field makes room for one", tool: "browser.click", payload: `{"target":{"name":"Play"},"hold":"shift"}`, replies: []string{`{"target":{"name":"Play"},"modifiers":["Shift"],"button":"right"}`, `{"target":{"name":"Play"},"modifiers":["Shift"]}`},
			want: `{"target":{"name":"Play"},"modifiers":["Shift"]}`, repairs: "/hold value_removed, /modifiers value_added"},
		{name: "nothing may change before the break", tool: "browser.click", payload: `{"target":{"name":"Play","nth":2},"button":"le`, replies: []string{`{"target":{"name":"Play","nth":3},"button":"left"}`, `{"target":{"name":"Play"},"button":"left"}`},
			refused: "The model changed /target/nth"},
		{name: "an invalid reply is told what is wrong", tool: "browser.click", payload: `{"target":{"name":"Play","nth":"first"}}`, replies: []string{`{"target":{"name":"Play","nth":0}}`, `{"target":{"name":"Play","nth":1}}`},
			want: `{"target":{"name":"Play","nth":1}}`, repairs: "/target/nth value_changed"},
		{name: "twice invalid is enough", tool: "browser.click", payload: `{"target":{"name":"Play","nth":"first"}}`, replies: []string{`{"target":{"name":"Play","nth":0}}`, `{"target":{"name":"Play","nth":-1}}`, `{"target":{"name":"Play","nth":1}}`},
			refused: "not valid either: target.nth must be at least 1"},
		{name: "no change", tool: "browser.click", payload: `{"target":{"name":"Play","nth":"first"}}`, replies: []string{`{"target": {"name": "Play", "nth": "first"}}`, `{"target":{"nth":"first","name":"Play"}}`},
			refused: "changed nothing"},
		{name: "no object", tool: "browser.click", payload: `{"target":{"name":"Play","nth":"first"}}`, replies: []string{`I cannot do that.`, `["first"]`}, refused: "not a JSON object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &script{replies: c.replies}
			got, err := correct(t, repair.Model{Repairer: s}, specOf(t, c.tool), c.payload)
			if err != nil {
				t.Fatal(err)
			}
			if got.OK() != (c.want != "") || got.OK() && (string(got.Payload) != c.want || got.Value == nil) {
				t.Fatalf("became %s, refused %v", got.Payload, got.Refusals)
			}
			var made []string
			for _, r := range got.Repairs {
				made = append(made, r.Path+" "+r.Rule)
			}
			if got.OK() && strings.Join(made, ", ") != c.repairs {
				t.Errorf("repairs %v", got.Repairs)
			}
			if got.OK() != (len(got.Refusals) == got.Attempts-1) || len(s.asked) > repair.MaxModelAttempts {
				t.Errorf("asked %d times, refused %v", len(s.asked), got.Refusals)
			}
			if !got.OK() && !strings.Contains(got.Refusals[len(got.Refusals)-1], c.refused) {
				t.Errorf("refused %v", got.Refusals)
			}
			if got.Model != "scripted" || got.InputTokens != int64(100*len(s.asked)) || got.OutputTokens != int64(20*len(s.asked)) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Which of two calls is meant no model can know.
func TestModelIsNotAskedToChoose(t *testing.T) {
	t.Parallel()
	s := &script{}
	got, err := correct(t, repair.Model{Repairer: s}, specOf(t, "browser.click"), `{"target":{"name":"a"}} {"target":{"name":"b"}}`)
	if err != nil || got.OK() || len(s.asked) > 0 || len(got.Refusals) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// A second attempt starts from the first one's reply, if that kept what has to be kept.
func TestLatestAttemptOnly(t *testing.T) {
	t.Parallel()
	s := &script{replies: []string{`{"target":{"name":"Play","nth":0}}`, `{"target":{"name":"Pause","nth":0}}`}}
	if _, err := correct(t, repair.Model{Repairer: s, MaxTokens: 500}, specOf(t, "browser.click"), `{"target":{"name":"Play","nth":"first"}}`); err != nil {
		t.Fatal(err)
	}
	first, second := s.asked[0], s.asked[1]
	if string(first.Payload) != `{"target":{"name":"Play","nth":"first"}}` || first.Refusal != "" || first.Attempt != 1 || first.MaxTokens != 500 || first.Issues[0].Constraint != "type" {
		t.Errorf("%+v", first)
	}
	if string(second.Payload) != `{"target":{"name":"Play","nth":0}}` || second.Refusal == "" || second.Attempt != 2 || second.MaxTokens != 380 || second.Issues[0].Constraint != "minimum" {
		t.Errorf("%+v", second)
	}
}

func TestModelBudget(t *testing.T) {
	t.Parallel()
	s := &script{replies: []string{`{}`, `{}`}}
	got, err := correct(t, repair.Model{Repairer: s, MaxTokens: 120}, specOf(t, "browser.click"), `{"target":{"name":"Play","nth":"first"}}`)
	if err != nil || got.OK() || got.Attempts != 1 || !strings.Contains(got.Refusals[1], "budget of 120 tokens") {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestModelFails(t *testing.T) {
	t.Parallel()
	got, err := correct(t, repair.Model{Repairer: &script{}}, specOf(t, "browser.click"), `{"target":{}}`)
	if err == nil || !strings.Contains(err.Error(), "browser.click: the model is gone") || got.OK() || len(got.Issues) == 0 {
		t.Errorf("%+v, %v", got, err)
	}
	valid := repair.Payload(specOf(t, "browser.click"), []byte(`{"target":{"ref":"e1"}}`), repair.Lossless)
	if got, err := (repair.Model{}).Correct(t.Context(), specOf(t, "browser.click"), valid); err != nil || !got.OK() || got.Attempts != 0 {
		t.Errorf("a model was asked about a valid payload: %+v, %v", got, err)
	}
}

// What the decoder cannot know is checked as well.
func TestModelCheck(t *testing.T) {
	t.Parallel()
	s := &script{replies: []string{`{"target":{"name":"Play","nth":1}}`, `{"target":{"name":"Play","nth":2}}`}}
	check := func(text json.RawMessage, _ tool.Payload) tool.Issues {
		if strings.Contains(string(text), `"nth":1`) {
			return tool.Issues{{Path: "/target/nth", Constraint: tool.ConstraintCondition, Message: "It is not the first."}}
		}
		return nil
	}
	got, err := correct(t, repair.Model{Repairer: s, Check: check}, specOf(t, "browser.click"), `{"target":{"name":"Play","nth":"first"}}`)
	if err != nil || !got.OK() || string(got.Payload) != s.replies[1] || s.asked[1].Issues[0].Message != "It is not the first." {
		t.Errorf("%+v, %v", got, err)
	}
}

// Secrets do not leave the service, and come back to where they were.
func TestModelSecrets(t *testing.T) {
	t.Parallel()
	spec := specOf(t, "kitchen.secrets")
	for _, c := range []struct {
		name, payload, sent string
		replies             []string
		want                string
	}{
		{"kept", `{"user":true,"password":"correct horse","keys":{"a":"YQ=="}}`, `{"user":true,"password":"[redacted]","keys":{"a":"[redacted]"}}`,
			[]string{`{"user":"ada","password":"[redacted]","keys":{"a":"[redacted]"}}`}, `{"user":"ada","password":"correct horse","keys":{"a":"YQ=="}}`},
		{"moved", `{"user":"ada","pass":"correct horse"}`, `{"user":"ada","pass":"[redacted]"}`, nil, ""}, // password is missing: only its owner knows it
		{"unknown field", `{"user":true,"password":"correct horse","inner":"deep secret"}`, `{"user":true,"password":"[redacted]","inner":"[redacted]"}`,
			[]string{`{"user":"ada","password":"[redacted]","vault":{"inner":"[redacted]"}}`}, `{"user":"ada","password":"correct horse","vault":{"inner":"deep secret"}}`},
		{"made up", `{"user":true,"password":"correct horse"}`, `{"user":true,"password":"[redacted]"}`, []string{`{"user":"ada","password":"hunter22"}`, `{"user":"ada","password":"hunter22"}`}, ""},
		{"placeholder elsewhere", `{"user":true,"password":"correct horse"}`, `{"user":true,"password":"[redacted]"}`, []string{`{"user":"[redacted]","password":"[redacted]"}`, `{"user":"[redacted]","password":"[redacted]"}`}, ""},
		{"wrong itself", `{"user":"ada","password":"short"}`, "", nil, ""},
		{"somewhere in a broken text", `{"user":"ada","password":"correct h`, "", nil, ""},
	} {
		s := &script{replies: c.replies}
		got, err := correct(t, repair.Model{Repairer: s}, spec, c.payload)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got.OK() != (c.want != "") || got.OK() && string(got.Payload) != c.want || len(got.Refusals) == 0 && !got.OK() {
			t.Errorf("%s: became %s, refused %v", c.name, got.Payload, got.Refusals)
		}
		if len(c.replies) == 0 && len(s.asked) > 0 {
			t.Errorf("%s: a model was asked", c.name)
		}
		for _, in := range s.asked[:min(1, len(s.asked))] {
			if string(in.Payload) != c.sent {
				t.Errorf("%s: sent %s", c.name, in.Payload)
			}
		}
		var asked []any
		for _, in := range s.asked {
			asked = append(asked, in.Payload, in.Issues, in.Refusal)
		}
		told, err := json.Marshal([]any{asked, got.Repairs, got.Refusals, got.Issues})
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"correct h", "YQ==", "deep secret"} {
			if strings.Contains(string(told), secret) {
				t.Errorf("%s: %q was told: %s", c.name, secret, told)
			}
		}
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	got := repair.Changes(specOf(t, "browser.click"), []byte(`{"target":{"name":"a"},"button":"left","expect":["x","y"]}`), []byte(`{"target":{"name":"b"},"expect":["x"],"modifiers":[]}`), repair.TierPerson)
	want := []tool.Repair{
		{Path: "/target/name", Rule: "value_changed", Tier: "person", From: `"a"`, To: `"b"`},
		{Path: "/button", Rule: "value_removed", Tier: "person", From: `"left"`},
		{Path: "/expect/1", Rule: "value_removed", Tier: "person", From: `"y"`},
		{Path: "/modifiers", Rule: "value_added", Tier: "person", To: `[]`},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}
