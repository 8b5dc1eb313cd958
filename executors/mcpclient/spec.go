package mcpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/tool"
)

// The arguments that every tool of toolsvc takes beside its own.
const (
	argExpect = "expect"
	argIntent = "intent"
)

// Payload is the payload of a tool that is known only at run time.
type Payload struct {
	// Arguments is what the server gets.
	Arguments json.RawMessage
	expect    []string
	intent    string
	whole     json.RawMessage
}

// Expectations are the caller's conditions.
func (p *Payload) Expectations() []string { return p.expect }

// Purpose is the caller's reason.
func (p *Payload) Purpose() string { return p.intent }

// MarshalJSON renders the payload with what belongs to toolsvc.
func (p *Payload) MarshalJSON() ([]byte, error) { return p.whole, nil }

// Result is what a tool of a server answered.
type Result struct {
	// Text is what the server says in words.
	Text string `json:"text,omitempty"`
	// Structured is its structured content, which meets its output schema.
	Structured json.RawMessage `json:"structured,omitempty"`
	// Images are the digests of pictures, kept as artifacts.
	Images []string `json:"images,omitempty"`
	// Resources are what the server refers to or encloses.
	Resources []Resource `json:"resources,omitempty"`
}

// Resource is a resource that a result refers to or encloses.
type Resource struct {
	URI  string `json:"uri"`
	Name string `json:"name,omitempty"`
	Text string `json:"text,omitempty"`
}

// maxDescription bounds a description, in bytes.
const maxDescription = 4 << 10

// SpecOf makes the spec of a server's tool. backend is the toolset's name.
func SpecOf(backend string, b Backend, t *sdk.Tool) (*tool.Spec, error) {
	id := tool.ID(backend + "." + nameOf(strings.TrimPrefix(t.Name, b.Prefix)))
	in, err := json.Marshal(t.InputSchema)
	if err != nil {
		return nil, fmt.Errorf("%s: its input schema cannot be read: %w", t.Name, err)
	}
	payload, own, err := payloadSchema(in, b.Open)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	strict, err := NewSchema(payload, "payload")
	if err != nil {
		return nil, fmt.Errorf("%s: its input schema: %w", t.Name, err)
	}
	var out []byte
	if t.OutputSchema != nil {
		if out, err = json.Marshal(t.OutputSchema); err != nil {
			return nil, fmt.Errorf("%s: its output schema cannot be read: %w", t.Name, err)
		}
	}
	result := resultSchema(out)
	strictResult, err := NewSchema(result, "result")
	if err != nil {
		return nil, fmt.Errorf("%s: its output schema: %w", t.Name, err)
	}
	title := t.Title
	if title == "" && t.Annotations != nil {
		title = t.Annotations.Title
	}
	if title == "" {
		title = strings.ReplaceAll(id.Name(), "_", " ")
	}
	limit := b.TimeLimit
	if limit == 0 {
		limit = DefaultTimeLimit
	}
	class := effectOf(b, t)
	spec := &tool.Spec{ID: id, Title: title, Description: clip(t.Description, maxDescription), Effect: class,
		Sources: []tool.Source{tool.SourceSystem}, TimeLimit: limit, PayloadSchema: payload, ResultSchema: result, Secrets: b.Secrets[t.Name],
		Postconditions: []tool.Condition{{Name: "answered", Expression: `effect.delivered`, Message: "the server answered without an error"}},
		Decode:         func(text []byte) (tool.Payload, tool.Issues) { return decode(strict, own, text) },
		EncodeResult:   func(v any) ([]byte, error) { return encodeResult(strictResult, v) },
		DecodeResult: func(text []byte) (any, tool.Issues) {
			if _, issues := strictResult.Decode(text); issues != nil {
				return nil, issues
			}
			var r Result
			if err := json.Unmarshal(text, &r); err != nil {
				return nil, tool.Issues{{Constraint: tool.ConstraintSyntax, Message: "The result cannot be read: " + err.Error() + "."}}
			}
			return &r, nil
		},
	}
	if class == tool.Irreversible {
		spec.Confirm = fmt.Sprintf("%s cannot be undone. May it be called with exactly these arguments?", spec.Title)
	}
	spec.Example = exampleOf(payload, strict)
	return spec, nil
}

// nameOf makes a tool's name of toolsvc of any name: lower case, with underscores.
func nameOf(name string) string {
	var b strings.Builder
	for i, r := range name {
		switch {
		case r < unicode.MaxASCII && (unicode.IsLower(r) || unicode.IsDigit(r)):
			b.WriteRune(r)
		case r < unicode.MaxASCII && unicode.IsUpper(r):
			if i > 0 && !strings.HasSuffix(b.String(), "_") {
				b.WriteByte('_')
			}
			b.WriteRune(unicode.ToLower(r))
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	n := strings.Trim(b.String(), "_")
	if n == "" {
		return "tool"
	}
	return n
}

// effectOf is the effect class: by the configuration, else by the annotations, where what a server does not say counts as grave.
func effectOf(b Backend, t *sdk.Tool) tool.EffectClass {
	longest := ""
	for p := range b.Effects {
		if ok, err := path.Match(p, t.Name); err == nil && ok && len(p) >= len(longest) {
			longest = p
		}
	}
	if longest != "" {
		return b.Effects[longest]
	}
	a := t.Annotations
	switch {
	case a == nil:
		return tool.Reversible // never repeated without proof, and not asked about
	case a.ReadOnlyHint:
		return tool.ReadOnly
	case a.IdempotentHint:
		return tool.Idempotent
	case a.DestructiveHint != nil && *a.DestructiveHint:
		return tool.Irreversible
	}
	return tool.Reversible
}

// payloadSchema is the server's schema, closed, with the arguments of toolsvc. own lists those that were added.
func payloadSchema(in []byte, open bool) (schema json.RawMessage, own []string, err error) {
	var s map[string]any
	d := json.NewDecoder(bytes.NewReader(in))
	d.UseNumber()
	if err := d.Decode(&s); err != nil || s["type"] != "object" {
		return nil, nil, errors.New("its input schema does not describe an object")
	}
	props, ok := s["properties"].(map[string]any)
	if !ok {
		if s["properties"] != nil {
			return nil, nil, errors.New("its input schema has no readable properties")
		}
		props = map[string]any{}
	}
	for name, p := range map[string]any{
		argExpect: map[string]any{"description": "Conditions (CEL) that must hold afterwards", "type": "array", "items": map[string]any{"type": "string", "maxLength": 2000}, "maxItems": 32},
		argIntent: map[string]any{"description": "Why the call is made, in one sentence", "type": "string", "maxLength": 300},
	} {
		if _, taken := props[name]; !taken {
			props[name] = p
			own = append(own, name)
		}
	}
	slices.Sort(own)
	s["properties"] = props
	composed := slices.ContainsFunc([]string{"additionalProperties", "unevaluatedProperties", "patternProperties", "allOf", "anyOf", "oneOf", "$ref", "if"}, func(k string) bool { return s[k] != nil })
	if !open && !composed {
		s["additionalProperties"] = false
	}
	if s["$schema"] == nil {
		s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	}
	text, err := json.Marshal(s)
	return text, own, err
}

// resultSchema is the schema of a Result whose structured content meets the server's output schema.
func resultSchema(out []byte) json.RawMessage {
	structured, required := "", ""
	if len(out) > 0 {
		structured = `"structured":` + string(below(out, "/properties/structured")) + `,`
		required = `,"required":["structured"]`
	} else {
		structured = `"structured":{"description":"What the server answers as data"},`
	}
	return json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{` + structured +
		`"text":{"type":"string","description":"What the server says in words"},` +
		`"images":{"type":"array","items":{"type":"string"},"description":"Content digests of pictures"},` +
		`"resources":{"type":"array","items":{"type":"object","properties":{"uri":{"type":"string"},"name":{"type":"string"},"text":{"type":"string"}},"required":["uri"]}}}` +
		required + `,"additionalProperties":false}`)
}

// below moves a schema to a place inside of another document: its references lead there.
func below(schema []byte, at string) []byte {
	var v any
	d := json.NewDecoder(bytes.NewReader(schema))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return schema
	}
	var move func(any)
	move = func(v any) {
		switch x := v.(type) {
		case map[string]any:
			delete(x, "$schema")
			delete(x, "$id")
			if ref, ok := x["$ref"].(string); ok && strings.HasPrefix(ref, "#") {
				x["$ref"] = "#" + at + strings.TrimPrefix(ref, "#")
			}
			for _, inner := range x {
				move(inner)
			}
		case []any:
			for _, inner := range x {
				move(inner)
			}
		}
	}
	move(v)
	out, err := json.Marshal(v)
	if err != nil {
		return schema
	}
	return out
}

// decode validates a payload, and tells the server's part from that of toolsvc.
func decode(s *Schema, own []string, text []byte) (tool.Payload, tool.Issues) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte(`{}`)
	}
	if _, issues := s.Decode(text); issues != nil {
		return nil, issues
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, tool.Issues{{Constraint: tool.ConstraintSyntax, Message: "The payload cannot be read: " + err.Error() + "."}}
	}
	p := &Payload{whole: slices.Clone(text)}
	for _, name := range own {
		raw, given := fields[name]
		if !given {
			continue
		}
		var err error
		if name == argExpect {
			err = json.Unmarshal(raw, &p.expect)
		} else {
			err = json.Unmarshal(raw, &p.intent)
		}
		if err != nil {
			return nil, tool.Issues{{Path: "/" + name, Constraint: "type", Message: name + " cannot be read."}}
		}
		delete(fields, name)
	}
	args, err := json.Marshal(fields)
	if err != nil {
		return nil, tool.Issues{{Constraint: tool.ConstraintSyntax, Message: "The payload cannot be rendered: " + err.Error() + "."}}
	}
	p.Arguments = args
	return p, nil
}

// encodeResult renders a result; one that breaks the server's own schema is an Issues error.
func encodeResult(s *Schema, v any) ([]byte, error) {
	r, ok := v.(*Result)
	if !ok {
		return nil, fmt.Errorf("a result of an MCP server is a *mcpclient.Result, not a %T", v)
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if _, issues := s.Decode(text); issues != nil {
		return nil, issues
	}
	return text, nil
}

// exampleOf makes a valid payload from what the schema gives away: defaults, examples, first choices. Nil where that is not valid.
func exampleOf(schema json.RawMessage, s *Schema) json.RawMessage {
	var doc struct {
		Properties map[string]struct {
			Type     any   `json:"type"`
			Default  any   `json:"default"`
			Const    any   `json:"const"`
			Enum     []any `json:"enum"`
			Examples []any `json:"examples"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if json.Unmarshal(schema, &doc) != nil {
		return nil
	}
	example := map[string]any{}
	for _, name := range doc.Required {
		p := doc.Properties[name]
		switch {
		case len(p.Examples) > 0:
			example[name] = p.Examples[0]
		case p.Default != nil:
			example[name] = p.Default
		case p.Const != nil:
			example[name] = p.Const
		case len(p.Enum) > 0:
			example[name] = p.Enum[0]
		case p.Type == "string":
			example[name] = "…"
		case p.Type == "integer", p.Type == "number":
			example[name] = 1
		case p.Type == "boolean":
			example[name] = true
		case p.Type == "array":
			example[name] = []any{}
		case p.Type == "object":
			example[name] = map[string]any{}
		}
	}
	text, err := json.Marshal(example)
	if err != nil {
		return nil
	}
	if _, issues := s.Decode(text); issues != nil {
		return nil
	}
	return text
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
