package shape

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Dialect is the JSON Schema dialect of the schemas.
const Dialect = "https://json-schema.org/draft/2020-12/schema"

// Schema renders t as a closed JSON Schema document, with keys in design order. Types that can hold themselves stand in $defs, all
// others in their place. What a schema cannot say is left to the decoder: duplicate keys, the depth, and the bounds of float64.
//
// The length of Bytes is given in characters of base64 text, which is exact for lengths that fill whole groups of three bytes and
// otherwise up to two bytes too wide.
func Schema(t *Type) json.RawMessage {
	s := &schema{defined: map[*Named]bool{}}
	o := append(object{{"$schema", Dialect}}, s.value(t)...)
	if len(s.defs) > 0 {
		o = append(o, member{"$defs", s.defs})
	}
	return o.json()
}

// object is a JSON object with ordered members.
type (
	object []member
	member struct {
		name  string
		value any // a string, bool, number, []string, []any, json.RawMessage, object or []object
	}
)

func (o object) json() []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(text(m.name))
		b.WriteByte(':')
		switch x := m.value.(type) {
		case object:
			b.Write(x.json())
		case []object:
			b.WriteByte('[')
			for i, e := range x {
				if i > 0 {
					b.WriteByte(',')
				}
				b.Write(e.json())
			}
			b.WriteByte(']')
		default:
			b.Write(text(x))
		}
	}
	b.WriteByte('}')
	return b.Bytes()
}

// text renders a plain value. Everything that is passed here has a JSON form.
func text(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("shape: render %v: %v", v, err))
	}
	return bytes.TrimSpace(b.Bytes())
}

type schema struct {
	defs    object
	defined map[*Named]bool
}

func (s *schema) value(t *Type) object {
	var o object
	if t.Description != "" {
		o = append(o, member{"description", t.Description})
	}
	if n := t.Named; n != nil && (t.Kind == Object || t.Kind == Union) {
		if t.Secret {
			o = append(o, member{"writeOnly", true})
		}
		if !n.Recursive {
			return append(o, s.fields(n)...)
		}
		if !s.defined[n] {
			s.defined[n] = true
			i := len(s.defs)
			s.defs = append(s.defs, member{n.Name, nil}) // in its place before those that it refers to
			def := s.fields(n)
			if n.Description != "" {
				def = append(object{{"description", n.Description}}, def...)
			}
			s.defs[i].value = def
		}
		if t.Description == n.Description {
			o = nil
		}
		return append(o, member{"$ref", "#/$defs/" + n.Name})
	}
	if j := t.Kind.JSONType(); j != "" {
		o = append(o, member{"type", j})
	}
	minLength, maxLength := "minLength", "maxLength"
	if t.Secret {
		o = append(o, member{"writeOnly", true})
	}
	lengths := [2]*int{t.MinLength, t.MaxLength}
	switch t.Kind {
	case Array:
		minLength, maxLength = "minItems", "maxItems"
		o = append(o, member{"items", s.value(t.Elem)})
	case Map:
		minLength, maxLength = "minProperties", "maxProperties"
		if names := s.value(t.Key); len(names) > 1 { // more than its type
			o = append(o, member{"propertyNames", names})
		}
		o = append(o, member{"additionalProperties", s.value(t.Elem)})
	case Bytes:
		o = append(o, member{"contentEncoding", "base64"})
		for i, n := range lengths {
			if n != nil {
				lengths[i] = new((*n + 2) / 3 * 4)
			}
		}
	}
	return append(o, s.rules(t, minLength, maxLength, lengths)...)
}

func (s *schema) rules(t *Type, minLength, maxLength string, lengths [2]*int) (o object) {
	add := func(name string, v any) {
		if v != nil {
			o = append(o, member{name, v})
		}
	}
	if len(t.Enum) > 0 {
		add("enum", t.Enum)
	}
	if t.Pattern != "" {
		add("pattern", t.Pattern)
	}
	if t.Format != "" {
		add("format", t.Format)
	}
	switch t.Kind {
	case Integer, Unsigned, Number:
		if t.Kind != Number || t.Native == "float32" {
			t = t.Bounded()
		}
		add("minimum", t.Min)
		add("maximum", t.Max)
		add("exclusiveMinimum", t.ExclusiveMin)
		add("exclusiveMaximum", t.ExclusiveMax)
	}
	if lengths[0] != nil {
		add(minLength, *lengths[0])
	}
	if lengths[1] != nil {
		add(maxLength, *lengths[1])
	}
	return o
}

// fields renders an object or union without its description.
func (s *schema) fields(n *Named) object {
	properties := object{}
	required := []string{}
	for _, f := range n.Fields {
		p := s.value(f.Type)
		if f.Default != nil {
			p = append(p, member{"default", json.RawMessage(f.Default)})
		}
		properties = append(properties, member{f.Name, p})
		if f.Required {
			required = append(required, f.Name)
		}
	}
	o := object{{"type", "object"}, {"properties", properties}}
	if len(required) > 0 {
		o = append(o, member{"required", required})
	}
	o = append(o, member{"additionalProperties", false})
	alternatives := func(names []string) (list []object) {
		for _, name := range names {
			list = append(list, object{{"required", []string{name}}})
		}
		return list
	}
	if n.Kind == Union {
		return append(o, member{"oneOf", alternatives(n.CodecFields().Names)})
	}
	switch len(n.AtLeastOne) {
	case 0:
		return o
	case 1:
		return append(o, member{"anyOf", alternatives(n.AtLeastOne[0])})
	}
	var all []object
	for _, group := range n.AtLeastOne {
		all = append(all, object{{"anyOf", alternatives(group)}})
	}
	return append(o, member{"allOf", all})
}

// Conforms validates a JSON text against a schema with an independent engine.
func Conforms(schema, instance []byte) error {
	c := jsonschema.NewCompiler()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return fmt.Errorf("read the schema: %w", err)
	}
	const name = "mem:schema"
	if err := c.AddResource(name, doc); err != nil {
		return fmt.Errorf("load the schema: %w", err)
	}
	compiled, err := c.Compile(name)
	if err != nil {
		return fmt.Errorf("compile the schema: %w", err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(instance))
	if err != nil {
		return fmt.Errorf("read the instance: %w", err)
	}
	return compiled.Validate(v)
}
