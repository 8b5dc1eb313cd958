package main

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// schema is a JSON Schema as package toolset/shape writes it, with its properties in design order. A keyword that is not among these fields is
// an error, so that the reference never leaves out a rule that the decoder enforces.
type schema struct {
	Dialect          string          `json:"$schema"`
	Ref              string          `json:"$ref"`
	Defs             properties      `json:"$defs"`
	Description      string          `json:"description"`
	Type             string          `json:"type"`
	Properties       properties      `json:"properties"`
	Required         []string        `json:"required"`
	Additional       json.RawMessage `json:"additionalProperties"`
	PropertyNames    *schema         `json:"propertyNames"`
	Items            *schema         `json:"items"`
	AnyOf            []schema        `json:"anyOf"`
	OneOf            []schema        `json:"oneOf"`
	AllOf            []schema        `json:"allOf"`
	Enum             []any           `json:"enum"`
	Default          json.RawMessage `json:"default"`
	Pattern          string          `json:"pattern"`
	Format           string          `json:"format"`
	ContentEncoding  string          `json:"contentEncoding"`
	WriteOnly        bool            `json:"writeOnly"`
	Minimum          json.Number     `json:"minimum"`
	Maximum          json.Number     `json:"maximum"`
	ExclusiveMinimum json.Number     `json:"exclusiveMinimum"`
	ExclusiveMaximum json.Number     `json:"exclusiveMaximum"`
	MinLength        json.Number     `json:"minLength"`
	MaxLength        json.Number     `json:"maxLength"`
	MinItems         json.Number     `json:"minItems"`
	MaxItems         json.Number     `json:"maxItems"`
	MinProperties    json.Number     `json:"minProperties"`
	MaxProperties    json.Number     `json:"maxProperties"`
}

// UnmarshalJSON decodes a schema and refuses keywords that the reference cannot put into words.
func (s *schema) UnmarshalJSON(text []byte) error {
	type plain schema
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	d.UseNumber()
	return d.Decode((*plain)(s))
}

// property is one named value of an object.
type property struct {
	name   string
	schema schema
}

// properties keep the order in which they are written.
type properties []property

// UnmarshalJSON decodes the members of an object one by one.
func (p *properties) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("expected an object of schemas, got %.40s (%v)", text, err)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		name := key.(string) // the decoder knows that a key follows
		var s schema
		if err := d.Decode(&s); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		*p = append(*p, property{name, s})
	}
	return nil
}

// parse decodes a whole schema document.
func parse(text []byte) (*schema, error) {
	var s schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	return &s, nil
}

// elements is the schema of a map's values; nil when the object is no map.
func (s *schema) elements() (*schema, error) {
	if a := string(s.Additional); s.Type != "object" || a == "" || a == "false" || a == "true" {
		return nil, nil
	}
	return parse(s.Additional)
}

// body is what tells an object type from others: all of it but its description and its default, which belong to the place where it stands.
func (s *schema) body() (string, error) {
	bare := *s
	bare.Description, bare.Default = "", nil
	text, err := json.Marshal(bare)
	return string(text), err
}

// MarshalJSON renders properties in their order.
func (p properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, x := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		text, err := json.Marshal([]any{x.name, x.schema})
		if err != nil {
			return nil, err
		}
		b.Write(text)
	}
	b.WriteByte(']')
	return b.Bytes(), nil
}
