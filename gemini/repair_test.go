package gemini

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"toolsvc/gemini/geminitest"
	"toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
)

func repairOf(s *tool.Spec, payload string) RepairRequest {
	_, issues := s.Decode([]byte(payload))
	return RepairRequest{Spec: s, Payload: []byte(payload), Issues: issues}
}

// A payload comes back corrected; the model was shown the schema, the example, the issues and the payload as data, and is not forced to
// fill anything in.
func TestRepair(t *testing.T) {
	t.Parallel()
	const bad = `{"element":{"name":"Pay"},"buton":"links"}`
	c, s := client(t, reply(geminitest.JSON("```json\n"+`{"target":{"name":"Pay"},"button":"left"}`+"\n```").Tokens(50, 20, 2)))
	r := repairOf(browser.ClickSpec, bad)
	r.Refusal = "It lost the name."
	got, err := c.Repair(t.Context(), r)
	if err != nil || string(got.Payload) != `{"target":{"name":"Pay"},"button":"left"}` || got.Usage != (Usage{1, 50, 22}) || got.Model != DefaultModel {
		t.Errorf("%s, %+v, %v", got.Payload, got, err)
	}
	if _, issues := browser.ClickSpec.Decode(got.Payload); issues != nil {
		t.Errorf("it is not valid: %v", issues)
	}
	q := s.Requests()[0]
	for _, want := range []string{bad, `"Example of a valid payload`, `"suggestion":"button"`, `"maxLength":500`, "browser.click", "was refused: It lost the name."} {
		if !strings.Contains(q.Text(), strings.Trim(want, `"`)) {
			t.Errorf("the question lacks %s: %s", want, q.Text())
		}
	}
	if strings.Contains(string(q.ResponseSchema), "required\":[") || !strings.Contains(string(q.ResponseSchema), `"enum":["left","right","middle"]`) || len(q.Ignored) > 0 {
		t.Errorf("schema %s, ignored %v", q.ResponseSchema, q.Ignored)
	}
}

func TestRepairRefuses(t *testing.T) {
	t.Parallel()
	const bad = `{"target":{"name":"Pay"},"button":"links","n":12345678901234567890}`
	for _, c := range []struct {
		name  string
		reply geminitest.Reply
		want  tool.Failure
		is    error
	}{
		{"unchanged", geminitest.JSON(` {"n":12345678901234567890,"button":"links", "target":{"name":"Pay"}}`), tool.MalformedResponse, ErrUnchanged},
		{"words", geminitest.Text("I would use left."), tool.MalformedResponse, ErrMalformed},
		{"a list", geminitest.JSON(`[{"target":{}}]`), tool.MalformedResponse, ErrMalformed},
		{"half", geminitest.JSON(`{"target":{`), tool.MalformedResponse, ErrMalformed},
		{"two", geminitest.JSON(`{"target":{}} {}`), tool.MalformedResponse, ErrMalformed},
		{"cut", geminitest.Finish("MAX_TOKENS", `{"target":{}}`), tool.MalformedResponse, ErrTruncated},
		{"refused", geminitest.Finish("SAFETY", ""), tool.PolicyDenied, ErrRefused},
		{"a call", geminitest.Calls(geminitest.Call("f", nil)), tool.MalformedResponse, ErrMalformed},
	} {
		g, _ := client(t, reply(c.reply))
		got, err := g.Repair(t.Context(), repairOf(browser.ClickSpec, bad))
		if tool.AsFailed(err).Failure != c.want || !errors.Is(err, c.is) || got.Payload != nil || got.Usage.Requests != 1 {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}

// The budget bounds the answer, and forbids a question that is too long for it.
func TestRepairBudget(t *testing.T) {
	t.Parallel()
	c, s := client(t, reply(geminitest.JSON(`{"target":{"name":"Pay"}}`)))
	r := repairOf(browser.ClickSpec, `{"element":{"name":"Pay"}}`)
	r.MaxTokens = 20
	if _, err := c.Repair(t.Context(), r); !errors.Is(err, ErrBudget) || len(s.Requests()) != 0 {
		t.Errorf("%v, %d requests", err, len(s.Requests()))
	}
	r.MaxTokens = 5000
	if _, err := c.Repair(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if n := s.Requests()[0].MaxOutputTokens; n < 500 || n >= 5000 {
		t.Errorf("the answer may have %d tokens", n)
	}
}

// A tool with secrets, as the generator makes them.
var login = &tool.Spec{ID: "shop.login", Description: "Log in.", Secrets: []string{"/password", "/keys/*"},
	PayloadSchema: json.RawMessage(`{"type":"object","properties":{"user":{"type":"string"},"password":{"type":"string"},"keys":{"type":"array","items":{"type":"string"}}},"required":["user","password"],"additionalProperties":false}`)}

// Secrets are not sent, wherever the payload has them, and come back in their places.
func TestRepairKeepsSecrets(t *testing.T) {
	t.Parallel()
	misspelt := tool.Issues{{Path: "/pasword", Constraint: "additionalProperties", Got: tool.Redacted, Suggestion: "password", Message: "pasword is unknown."}}
	for _, c := range []struct {
		name, payload string
		issues        tool.Issues
		answer        string
		want          string // "" when it is refused after the answer
	}{
		{"in place", `{"usr":"ada","password":"hunter2","keys":["k-hunter2",7]}`, nil, `{"user":"ada","password":"[secret 1]","keys":["[secret 2]","[secret 3]"]}`, `{"user":"ada","password":"hunter2","keys":["k-hunter2",7]}`},
		{"misspelt", `{"user":"ada","pasword":"hunter2"}`, misspelt, `{"user":"ada","password":"[secret 1]"}`, `{"user":"ada","password":"hunter2"}`},
		{"a number", `{"usr":"ada","password":9007199254740993}`, nil, `{"user":"ada","password":"[secret 1]"}`, `{"user":"ada","password":9007199254740993}`},
		{"changed by the model", `{"usr":"ada","password":"hunter2"}`, nil, `{"user":"ada","password":"x[secret 1]"}`, ""},
		{"made up by the model", `{"usr":"ada","password":"hunter2"}`, nil, `{"user":"ada","password":"[secret 2]"}`, ""},
	} {
		g, s := client(t, reply(geminitest.JSON(c.answer)))
		got, err := g.Repair(t.Context(), RepairRequest{Spec: login, Payload: []byte(c.payload), Issues: c.issues})
		if sent := string(s.Requests()[0].Raw); strings.Contains(sent, "hunter2") || strings.Contains(sent, "9007199254740993") {
			t.Errorf("%s: was sent %s", c.name, sent)
		}
		if c.want == "" && !errors.Is(err, ErrMalformed) || c.want != "" && (err != nil || !same(got.Payload, []byte(c.want))) {
			t.Errorf("%s: %s, %v", c.name, got.Payload, err)
		}
	}
}

// A payload in which secrets cannot be told is not sent at all.
func TestRepairDoesNotSendWhatMayBeSecret(t *testing.T) {
	t.Parallel()
	many := make(tool.Issues, tool.MaxIssues)
	c, s := client(t)
	for name, r := range map[string]RepairRequest{
		"broken JSON":      {Payload: []byte(`{"password":"hunter2`)},
		"syntax":           {Payload: []byte(`{"password":"hunter2"}`), Issues: tool.Issues{{Constraint: tool.ConstraintSyntax}}},
		"a key twice":      {Payload: []byte(`{"password":"hunter2"}`), Issues: tool.Issues{{Constraint: tool.ConstraintDuplicate, Path: "/password"}}},
		"the whole":        {Payload: []byte(`"hunter2"`), Issues: tool.Issues{{Constraint: "type", Got: tool.Redacted}}},
		"too many to tell": {Payload: []byte(`{"password":"hunter2"}`), Issues: many},
	} {
		r.Spec = login
		if _, err := c.Repair(t.Context(), r); tool.AsFailed(err).Failure != tool.PolicyDenied || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(s.Requests()); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}
