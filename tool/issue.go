package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Constraints of an Issue that are not JSON Schema keywords.
const (
	// ConstraintSyntax: the text is not JSON. It is the last issue, because nothing after it can be read.
	ConstraintSyntax = "syntax"
	// ConstraintDuplicate: a key stands twice in one object.
	ConstraintDuplicate = "duplicate"
	// ConstraintMaxBytes: the payload is larger than [MaxPayload].
	ConstraintMaxBytes = "maxBytes"
	// ConstraintCondition: a CEL condition does not compile; Offset counts from the start of the expression.
	ConstraintCondition = "condition"
	// ConstraintTool: the payload keeps its schema, but the tool, or the service behind it, does not accept the value.
	ConstraintTool = "tool"
)

// Issue is one violation found in a payload.
type Issue struct {
	// Path is the RFC 6901 pointer to the value; "" is the whole payload.
	Path string `json:"path"`
	// Constraint is a JSON Schema 2020-12 keyword, or one of the Constraint constants.
	Constraint string `json:"constraint"`
	// Limit is the bound, pattern or format that was not kept; nil when the constraint has none.
	Limit any `json:"limit,omitempty"`
	// Allowed lists the allowed values, or the known names of fields.
	Allowed []string `json:"allowed,omitempty"`
	// ExpectedType is the JSON type that was expected: object, array, string, integer, number or boolean.
	ExpectedType string `json:"expected_type,omitempty"`
	// Got is the value found, as JSON text, clipped to 128 bytes; a secret's is "[redacted]".
	Got string `json:"got,omitempty"`
	// Offset is the byte position in the payload, counted from 0.
	Offset int64 `json:"offset"`
	// Suggestion is the nearest known name or allowed value, if one is near.
	Suggestion string `json:"suggestion,omitempty"`
	// Message says it in one plain sentence.
	Message string `json:"message"`
}

// UnmarshalJSON keeps a numeric Limit exact, as a json.Number: a float64, which it would be otherwise, does not hold integers beyond 2^53.
func (i *Issue) UnmarshalJSON(b []byte) error {
	type plain Issue
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return d.Decode((*plain)(i))
}

// Issues are all violations of one payload, in a stable order.
type Issues []Issue

func (is Issues) Error() string {
	s := make([]string, len(is))
	for i, x := range is {
		s[i] = x.Message
		if s[i] == "" {
			s[i] = fmt.Sprintf("%s: %s", x.Path, x.Constraint)
		}
	}
	return strings.Join(s, " ")
}

// Err returns is as an error, nil when there are none.
func (is Issues) Err() error {
	if len(is) == 0 {
		return nil
	}
	return is
}

// Missing lists the pointers of the required fields that are absent.
func (is Issues) Missing() []string {
	var m []string
	for _, i := range is {
		if i.Constraint == "required" {
			m = append(m, i.Path)
		}
	}
	return m
}
