package mcpclient

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"toolsvc/gen/toolsets"
	"toolsvc/tool"
)

// What a schema says at run time has to read as what a generated decoder says: the same places, constraints and suggestions.
func TestIssuesAgreeWithTheGeneratedDecoder(t *testing.T) {
	t.Parallel()
	spec := toolsets.Registry().Lookup("browser.click")
	s, err := NewSchema(spec.PayloadSchema, "payload")
	if err != nil {
		t.Fatal(err)
	}
	for _, payload := range []string{
		`{"target":{"name":"Play"}}`,
		`{}`,
		`{"target":{}}`,
		`{"targt":{"name":"Play"}}`,
		`{"target":{"name":""}}`,
		`{"target":{"name":5,"nth":0}}`,
		`{"target":"Play"}`,
		`{"target":{"name":"Play","roel":"button"},"button":"lefft"}`,
		`{"target":{"name":"Play"},"modifiers":["Alt","Alt","Alt","Alt","Shft"]}`,
		`{"target":{"name":"Play"},"expect":"page.url"}`,
		`[]`,
		`{"target":{"name":"Play"},"target":{"name":"Stop"}}`,
		`{"target":{"name":"Play"}`,
	} {
		_, want := spec.Decode([]byte(payload))
		_, got := s.Decode([]byte(payload))
		if a, b := keys(got), keys(want); !slices.Equal(a, b) {
			t.Errorf("%s:\n got  %q\n want %q", payload, a, b)
		}
	}
}

func keys(is tool.Issues) []string {
	var ks []string
	for _, i := range is {
		ks = append(ks, strings.Join([]string{i.Path, i.Constraint, i.Suggestion}, " "))
	}
	slices.Sort(ks)
	return ks
}

func TestMessagesSayWhatToDo(t *testing.T) {
	t.Parallel()
	s, err := NewSchema(json.RawMessage(`{"type":"object","properties":{"count":{"type":"integer","minimum":1},"mode":{"enum":["fast","slow"]},
		"when":{"oneOf":[{"type":"string","format":"date"},{"type":"object","properties":{"day":{"type":"integer"}},"required":["day"]}]}},
		"required":["count"],"additionalProperties":false}`), "payload")
	if err != nil {
		t.Fatal(err)
	}
	for payload, want := range map[string]string{
		`{"count":0}`:                "count must be at least 1, not 0.",
		`{"count":1,"mode":"fst"}`:   `mode must be "fast" or "slow", not "fst"; did you mean fast?`,
		`{"cuont":1}`:                "cuont is not a known field; did you mean count?",
		`{"count":1,"when":{}}`:      "when.day is missing.",
		`{"count":1,"when":"later"}`: `when must have the format date, not "later".`,
		`{"count":1,"when":3}`:       "when has none of the forms that are allowed.",
		`{"count":"1"}`:              `count must be an integer, not "1".`,
	} {
		_, issues := s.Decode([]byte(payload))
		if !slices.ContainsFunc(issues, func(i tool.Issue) bool { return i.Message == want }) {
			t.Errorf("%s: %q, want %q", payload, issues.Error(), want)
		}
	}
}

// A bound that is no integer reads as it was written, and is passed on as the number that it is.
func TestFractionsOfBounds(t *testing.T) {
	t.Parallel()
	s, err := NewSchema(json.RawMessage(`{"type":"number","minimum":0.5,"multipleOf":0.0000001}`), "payload")
	if err != nil {
		t.Fatal(err)
	}
	_, issues := s.Decode([]byte(`0.00000015`))
	want := map[string]tool.Issue{
		"minimum":    {Limit: 0.5, Message: "The payload must be at least 0.5, not 1.5e-7."},
		"multipleOf": {Limit: 1e-7, Message: "The payload must be a multiple of 0.0000001, not 1.5e-7."},
	}
	for _, i := range issues {
		if w := want[i.Constraint]; i.Limit != w.Limit || i.Message != w.Message {
			t.Errorf("%s: %v, %q", i.Constraint, i.Limit, i.Message)
		}
		delete(want, i.Constraint)
	}
	if len(want) > 0 {
		t.Errorf("not reported: %v", want)
	}
}

func TestSchemasAreBoundedAndLoadNothing(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"$ref":"http://127.0.0.1/other.json"}`: "nothing is loaded",
		`{"type":"nonsense"}`:                    "not valid",
		`{`:                                      "not JSON",
		`"` + strings.Repeat("x", MaxSchema):     "more than",
	} {
		if _, err := NewSchema(json.RawMessage(text), "payload"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %q", text, err, want)
		}
	}
}
