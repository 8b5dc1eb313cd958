package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// The bounds of a schema that is sent.
const (
	// maxSchemaNodes bounds a schema once its references are resolved.
	maxSchemaNodes = 4000
	// maxRecursion is how often a type may stand inside itself before it is left open.
	maxRecursion = 2
)

// Schema renders a JSON Schema 2020-12 document in the keywords that Gemini reads: type, title, description, enum, format (dates only),
// items, prefixItems, minItems, maxItems, minimum, maximum, anyOf, oneOf, properties, propertyOrdering, additionalProperties, required
// (from the API's reference of responseJsonSchema). All others would be ignored in silence, so they are said in words in the description:
// lengths, patterns, formats, defaults, "at least one of". References are resolved, because the service takes nothing beside a $ref.
// What cannot be said is left out: the generated decoder checks it all the same.
//
// The schema must describe an object; an error says that it does not, or that it is too large.
func Schema(schema json.RawMessage) (json.RawMessage, error) { return simplify(schema, true) }

// optional is Schema without any required: a model that has to fill a field in makes something up when it does not know it.
func optional(schema json.RawMessage) (json.RawMessage, error) { return simplify(schema, false) }

func simplify(schema json.RawMessage, required bool) (json.RawMessage, error) {
	root, ok := node(schema)
	if !ok {
		return nil, errors.New("the schema is not a JSON object")
	}
	s := simplifier{root: root, required: required, inside: map[string]int{}}
	out, err := s.simple(root)
	if err != nil {
		return nil, err
	}
	if out["type"] != "object" {
		return nil, errors.New("the schema does not describe an object")
	}
	return json.Marshal(out)
}

type schemaNode = map[string]json.RawMessage

// node reads a schema that is an object.
func node(raw json.RawMessage) (schemaNode, bool) {
	var n schemaNode
	return n, json.Unmarshal(raw, &n) == nil && n != nil
}

type simplifier struct {
	root     schemaNode
	required bool
	inside   map[string]int // how often each reference is being resolved
	nodes    int
}

// simple renders one schema.
func (s *simplifier) simple(n schemaNode) (map[string]any, error) {
	if s.nodes++; s.nodes > maxSchemaNodes {
		return nil, fmt.Errorf("the schema has more than %d parts", maxSchemaNodes)
	}
	if ref := text(n["$ref"]); ref != "" {
		return s.resolved(ref, n)
	}
	out := map[string]any{}
	var words []string
	for _, k := range []string{"type", "title", "minItems", "maxItems", "minimum", "maximum"} {
		if v := n[k]; v != nil {
			out[k] = value(v)
		}
	}
	if s.required && n["required"] != nil {
		out["required"] = value(n["required"])
	}
	if f := text(n["format"]); slices.Contains([]string{"date-time", "date", "time"}, f) {
		out["format"] = f
	}
	if err := s.enumerate(n, out, &words); err != nil {
		return nil, err
	}
	if err := s.members(n, out); err != nil {
		return nil, err
	}
	for _, k := range []string{"anyOf", "oneOf"} {
		if err := s.alternatives(n, out, k, &words); err != nil {
			return nil, err
		}
	}
	for _, part := range elements(n["allOf"]) {
		if err := s.join(part, out, &words); err != nil {
			return nil, err
		}
	}
	words = append(words, limits(n)...)
	describe(out, text(n["description"]), words)
	return out, nil
}

// resolved renders what a reference means. A type inside itself is left open after a few levels.
func (s *simplifier) resolved(ref string, n schemaNode) (map[string]any, error) {
	name, ok := strings.CutPrefix(ref, "#/$defs/")
	if !ok {
		if name, ok = strings.CutPrefix(ref, "#/definitions/"); !ok {
			return nil, fmt.Errorf("the schema refers to %q, which is outside of it", ref)
		}
	}
	defs, _ := node(s.root["$defs"])
	if older, ok := node(s.root["definitions"]); ok && defs[name] == nil {
		defs = older
	}
	target, ok := node(defs[name])
	if !ok {
		return nil, fmt.Errorf("the schema refers to %q, which it does not define", ref)
	}
	if s.inside[name] > maxRecursion {
		out := map[string]any{"description": "again a " + name}
		if t := n["type"]; t != nil {
			out["type"] = value(t)
		} else if t := target["type"]; t != nil {
			out["type"] = value(t)
		}
		return out, nil
	}
	s.inside[name]++
	defer func() { s.inside[name]-- }()
	out, err := s.simple(target)
	if err != nil {
		return nil, err
	}
	if d := text(n["description"]); d != "" { // what stands beside a reference is nearer to its use
		out["description"] = d
	}
	return out, nil
}

// enumerate renders enum and const. Gemini knows those of strings and numbers.
func (s *simplifier) enumerate(n schemaNode, out map[string]any, words *[]string) error {
	all := elements(n["enum"])
	if c := n["const"]; c != nil {
		all = []json.RawMessage{c}
	}
	if all == nil {
		return nil
	}
	for _, v := range all {
		if k := jsontext.Value(v).Kind(); k != '"' && k != '0' {
			*words = append(*words, "one of "+strings.Join(texts(all), ", "))
			return nil
		}
	}
	out["enum"] = all
	return nil
}

// members renders the schemas inside of a schema.
func (s *simplifier) members(n schemaNode, out map[string]any) error {
	if props, ok := node(n["properties"]); ok {
		all := map[string]any{}
		order := slices.DeleteFunc(keys(n["properties"]), func(k string) bool { _, ok := node(props[k]); return !ok })
		for _, k := range order {
			p, _ := node(props[k])
			v, err := s.simple(p)
			if err != nil {
				return err
			}
			all[k] = v
		}
		out["properties"] = all
		if len(order) > 1 {
			out["propertyOrdering"] = order
		}
	}
	for _, k := range []string{"items", "additionalProperties"} {
		inner, ok := node(n[k])
		if !ok {
			if b := string(n[k]); b == "false" || b == "true" && k != "items" {
				out[k] = b == "true"
			}
			continue
		}
		v, err := s.simple(inner)
		if err != nil {
			return err
		}
		out[k] = v
	}
	if ps := elements(n["prefixItems"]); ps != nil {
		var all []any
		for _, p := range ps {
			inner, _ := node(p)
			v, err := s.simple(inner)
			if err != nil {
				return err
			}
			all = append(all, v)
		}
		out["prefixItems"] = all
	}
	return nil
}

// alternatives renders anyOf and oneOf; those that only say which fields are needed are said in words, because Gemini wants a whole
// schema in each.
func (s *simplifier) alternatives(n schemaNode, out map[string]any, k string, words *[]string) error {
	options := elements(n[k])
	if options == nil {
		return nil
	}
	if fields, ok := needed(options); ok {
		much := map[string]string{"anyOf": "at least one of ", "oneOf": "exactly one of "}[k]
		*words = append(*words, much+strings.Join(fields, ", ")+" is needed")
		return nil
	}
	var all []any
	for _, o := range options {
		inner, ok := node(o)
		if !ok {
			continue
		}
		v, err := s.simple(inner)
		if err != nil {
			return err
		}
		all = append(all, v)
	}
	out[k] = all
	return nil
}

// needed reads alternatives of the form {"required": ["a"]}.
func needed(options []json.RawMessage) ([]string, bool) {
	var fields []string
	for _, o := range options {
		n, ok := node(o)
		if !ok || len(n) != 1 || n["required"] == nil {
			return nil, false
		}
		var names []string
		if json.Unmarshal(n["required"], &names) != nil || len(names) == 0 {
			return nil, false
		}
		fields = append(fields, strings.Join(names, " with "))
	}
	return fields, true
}

// join adds what a part of an allOf says.
func (s *simplifier) join(raw json.RawMessage, out map[string]any, words *[]string) error {
	n, ok := node(raw)
	if !ok {
		return nil
	}
	part, err := s.simple(n)
	if err != nil {
		return err
	}
	for k, v := range part {
		switch have := out[k]; {
		case k == "description":
			*words = append(*words, fmt.Sprint(v))
		case have == nil:
			out[k] = v
		case k == "properties":
			maps.Copy(have.(map[string]any), v.(map[string]any))
		case k == "required" || k == "propertyOrdering":
			out[k] = append(slices.Clone(anys(have)), anys(v)...)
		}
	}
	return nil
}

func anys(v any) []any {
	switch x := v.(type) {
	case []any:
		return x
	case []string:
		out := make([]any, len(x))
		for i := range x {
			out[i] = x[i]
		}
		return out
	}
	return nil
}

// limits says in words what Gemini has no keyword for.
func limits(n schemaNode) []string {
	var w []string
	between := func(least, most, unit string) {
		lo, hi := text(n[least]), text(n[most])
		switch {
		case lo != "" && hi != "":
			w = append(w, lo+" to "+hi+" "+unit)
		case lo != "":
			w = append(w, "at least "+lo+" "+unit)
		case hi != "":
			w = append(w, "at most "+hi+" "+unit)
		}
	}
	say := func(k, format string) {
		if v := text(n[k]); v != "" {
			w = append(w, fmt.Sprintf(format, v))
		}
	}
	between("minLength", "maxLength", "characters")
	between("minProperties", "maxProperties", "entries")
	say("exclusiveMinimum", "more than %s")
	say("exclusiveMaximum", "less than %s")
	say("multipleOf", "a multiple of %s")
	say("pattern", "matches %s")
	if f := text(n["format"]); f != "" && f != "date-time" && f != "date" && f != "time" {
		w = append(w, "format "+f)
	}
	if string(n["uniqueItems"]) == "true" {
		w = append(w, "no element twice")
	}
	if names, ok := node(n["propertyNames"]); ok {
		if of := limits(names); len(of) > 0 {
			w = append(w, "keys: "+strings.Join(of, ", "))
		}
	}
	if d := n["default"]; d != nil {
		w = append(w, "default "+string(d))
	}
	return w
}

// describe writes a description and the limits in words behind it.
func describe(out map[string]any, description string, words []string) {
	d := strings.TrimSuffix(description, ".")
	if len(words) > 0 {
		if d != "" {
			d += ": "
		}
		d += strings.Join(words, "; ")
	}
	if d != "" {
		out["description"] = d
	}
}

// text is a string without its quotes, another scalar as it is written, "" for nothing.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if k := jsontext.Value(raw).Kind(); k == '{' || k == '[' {
		return ""
	}
	return string(raw)
}

func texts(raw []json.RawMessage) []string {
	out := make([]string, len(raw))
	for i, r := range raw {
		out[i] = string(r)
	}
	return out
}

func elements(raw json.RawMessage) []json.RawMessage {
	var l []json.RawMessage
	if json.Unmarshal(raw, &l) != nil {
		return nil
	}
	return l
}

func value(raw json.RawMessage) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// keys lists the keys of an object in the order in which they stand.
func keys(raw json.RawMessage) []string {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil
	}
	var out []string
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return out
		}
		out = append(out, t.String())
		if d.SkipValue() != nil {
			return out
		}
	}
	return out
}
