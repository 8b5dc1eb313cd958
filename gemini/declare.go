package gemini

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/genai"

	"toolsvc/tool"
)

// AskUser is the function by which the model asks the user; no tool may have its name.
const AskUser = "ask_user"

// FunctionName is how a tool is called in Gemini's function calling: "browser_click" for browser.click. Gemini knows dots too, but other
// surfaces spell it so, and one spelling is enough for a model.
func FunctionName(id tool.ID) string { return strings.ReplaceAll(string(id), ".", "_") }

// validName is what the service accepts (its reference of FunctionDeclaration; we have no colons, dots and dashes).
var validName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

// maxDescription bounds the description of a function, in bytes.
const maxDescription = 4000

// Declare renders the declarations of tools, in order. Two tools of one function name, or a schema that cannot be sent, are an error.
func Declare(specs []*tool.Spec) ([]*genai.FunctionDeclaration, error) {
	names := map[string]tool.ID{AskUser: "the model's own way to ask"}
	var out []*genai.FunctionDeclaration
	for _, s := range specs {
		name := FunctionName(s.ID)
		if !validName.MatchString(name) {
			return nil, fmt.Errorf("declare %s to Gemini: %q is no name for a function", s.ID, name)
		}
		if other, ok := names[name]; ok {
			return nil, fmt.Errorf("declare %s to Gemini: its name %s is that of %s", s.ID, name, other)
		}
		names[name] = s.ID
		schema, err := Schema(s.PayloadSchema)
		if err != nil {
			return nil, fmt.Errorf("declare %s to Gemini: %w", s.ID, err)
		}
		out = append(out, &genai.FunctionDeclaration{Name: name, Description: clip(description(s), maxDescription), ParametersJsonSchema: schema})
	}
	return out, nil
}

// description says what a tool does, what it may do to the world, and what is checked.
func description(s *tool.Spec) string {
	var b strings.Builder
	b.WriteString(s.Description)
	switch s.Effect {
	case tool.ReadOnly:
		b.WriteString(" Changes nothing.")
	case tool.Idempotent:
		b.WriteString(" May be repeated: it leads to the same state.")
	case tool.Reversible:
		b.WriteString(" Changes something: call it once, and again only when the answer says that nothing is left of it.")
	case tool.Irreversible:
		b.WriteString(" Cannot be undone: call it once, when you are sure. A person has to approve it.")
	}
	if s.Confirm != "" {
		fmt.Fprintf(&b, " A person is asked first: %s", s.Confirm)
	}
	sentences(&b, " It needs: ", s.Preconditions)
	sentences(&b, " Afterwards it is checked that: ", s.Postconditions)
	if s.Rollback != "" {
		fmt.Fprintf(&b, " When a check fails: %s", s.Rollback)
	}
	return b.String()
}

func sentences(b *strings.Builder, before string, cs []tool.Condition) {
	var words []string
	for _, c := range cs {
		w := c.Message
		if w == "" {
			w = c.Expression
		}
		words = append(words, w)
	}
	if len(words) > 0 {
		b.WriteString(before + strings.Join(words, "; ") + ".")
	}
}

// askUser declares the function by which the model asks.
func askUser() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{Name: AskUser,
		Description: "Ask the user one question, and wait for the answer. Use it when something is missing that only the user can know, or when several things fit equally well. Do not use it for what a tool can find out. Make no other call in the same turn.",
		ParametersJsonSchema: json.RawMessage(`{"type":"object","properties":{` +
			`"question":{"type":"string","description":"The question, in the user's language, whole and understandable by itself"},` +
			`"missing_fields":{"type":"array","items":{"type":"string"},"description":"The fields of the call that the answer is for, as JSON Pointers: /target/name"},` +
			`"tool":{"type":"string","description":"The function that the answer is for"}},` +
			`"required":["question"],"propertyOrdering":["question","missing_fields","tool"],"additionalProperties":false}`)}
}
