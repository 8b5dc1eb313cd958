package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// member is one member of an object. Schemas are edited as lists of members, so that properties keep the order of the design, in which
// models read them.
type member struct {
	name  string
	value jsontext.Value
}

// members reads an object; ok is false for any other value.
func members(v []byte) (ms []member, ok bool) {
	d := jsontext.NewDecoder(bytes.NewReader(v))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, false
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, false
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil, false
		}
		ms = append(ms, member{key, value.Clone()})
	}
	return ms, d.PeekKind() == '}'
}

func elements(v []byte) (es []jsontext.Value, ok bool) {
	d := jsontext.NewDecoder(bytes.NewReader(v))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '[' {
		return nil, false
	}
	for d.PeekKind() != ']' {
		value, err := d.ReadValue()
		if err != nil {
			return nil, false
		}
		es = append(es, value.Clone())
	}
	return es, true
}

func objectOf(ms []member) jsontext.Value {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range ms {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quote(m.name))
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

func arrayOf(es []jsontext.Value) jsontext.Value {
	parts := make([][]byte, len(es))
	for i, e := range es {
		parts[i] = e
	}
	return slices.Concat([]byte("["), bytes.Join(parts, []byte(",")), []byte("]"))
}

func quote(s string) []byte {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil { // invalid UTF-8
		b, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "�"))
	}
	return b
}

// maxSchemaDepth bounds how deep schemas are edited; deeper parts stay as they are.
const maxSchemaDepth = 32

// editSchema applies edit to a schema and to all schemas in it, from the inside out.
func editSchema(schema []byte, depth int, edit func([]member) []member) jsontext.Value {
	ms, ok := members(schema)
	if !ok || depth > maxSchemaDepth {
		return schema // true and false are schemas too
	}
	for i, m := range ms {
		switch m.name {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			if inner, ok := members(m.value); ok {
				for j := range inner {
					inner[j].value = editSchema(inner[j].value, depth+1, edit)
				}
				ms[i].value = objectOf(inner)
			}
		case "allOf", "anyOf", "oneOf", "prefixItems":
			if inner, ok := elements(m.value); ok {
				for j := range inner {
					inner[j] = editSchema(inner[j], depth+1, edit)
				}
				ms[i].value = arrayOf(inner)
			}
		case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedProperties":
			ms[i].value = editSchema(m.value, depth+1, edit)
		}
	}
	return objectOf(edit(ms))
}

// advertised is the payload schema as clients get it. What toolsvc can ask for, or correct, is not refused by clients that validate:
// required fields become optional and say so in their descriptions, and objects are open. The decoder enforces the schema as designed.
func advertised(schema json.RawMessage, run bool) json.RawMessage {
	out := editSchema(schema, 0, relax)
	if ms, ok := members(out); run && ok {
		out = objectOf(withRun(ms))
	}
	return json.RawMessage(out)
}

func relax(ms []member) []member {
	var required []string
	for _, m := range ms {
		if m.name == "required" && json.Unmarshal(m.value, &required) != nil {
			required = nil
		}
	}
	var out []member
	for _, m := range ms {
		switch {
		case m.name == "$schema", m.name == "required":
			continue
		case m.name == "additionalProperties" && string(m.value) == "false":
			continue
		case (m.name == "anyOf" || m.name == "oneOf" || m.name == "allOf") && onlyEmpty(m.value): // held nothing but lists of required fields
			continue
		case m.name == "properties":
			m.value = markRequired(m.value, required)
		}
		out = append(out, m)
	}
	return out
}

// onlyEmpty reports whether every schema of a list says nothing.
func onlyEmpty(list []byte) bool {
	es, ok := elements(list)
	return ok && !slices.ContainsFunc(es, func(e jsontext.Value) bool { return string(e) != "{}" })
}

// markRequired says in the descriptions which properties are required.
func markRequired(properties []byte, required []string) jsontext.Value {
	ps, ok := members(properties)
	if !ok {
		return properties
	}
	for i, p := range ps {
		ms, ok := members(p.value)
		if !ok || !slices.Contains(required, p.name) {
			continue
		}
		at := slices.IndexFunc(ms, func(m member) bool { return m.name == "description" })
		var text string
		if at < 0 {
			ms, at = slices.Insert(ms, 0, member{name: "description"}), 0
		} else if json.Unmarshal(ms[at].value, &text) != nil {
			continue
		}
		ms[at].value = quote(strings.TrimSpace("Required. " + text))
		ps[i].value = objectOf(ms)
	}
	return objectOf(ps)
}

// runProperty is the argument that names the run to work in. It belongs to this surface, not to the tool.
const runProperty = "run"

var runSchema = jsontext.Value(`{"type":"string","description":"Run to go on in (r_…), as an earlier result named it. Leave out to stay in the current one."}`)

// hasProperty reports whether the tool itself has a property of that name at the top.
func hasProperty(schema []byte, name string) bool {
	ms, _ := members(schema)
	for _, m := range ms {
		if m.name != "properties" {
			continue
		}
		ps, _ := members(m.value)
		return slices.ContainsFunc(ps, func(p member) bool { return p.name == name })
	}
	return false
}

func withRun(ms []member) []member {
	run := member{runProperty, runSchema}
	for i, m := range ms {
		if m.name == "properties" {
			ps, _ := members(m.value)
			ms[i].value = objectOf(append(ps, run))
			return ms
		}
	}
	return append(ms, member{"properties", objectOf([]member{run})})
}

// cutRun takes the run out of the arguments of a tool that does not have such an argument itself. What is no string stays, so that the
// decoder names it as an issue.
func cutRun(args json.RawMessage) (run string, rest json.RawMessage) {
	if !bytes.Contains(args, []byte(`"`+runProperty+`"`)) {
		return "", args
	}
	ms, ok := members(args)
	if !ok {
		return "", args
	}
	at := slices.IndexFunc(ms, func(m member) bool { return m.name == runProperty })
	if at < 0 || json.Unmarshal(ms[at].value, &run) != nil || len(run) > maxRunID {
		return "", args
	}
	return run, json.RawMessage(objectOf(slices.Delete(ms, at, at+1)))
}

// maxRunID bounds a run's identifier, in bytes.
const maxRunID = 200

// outputSchema describes the structured content: a ToolResult whose result is the tool's own. It is open, because fields may be added.
func outputSchema(result json.RawMessage) json.RawMessage {
	if len(result) == 0 {
		result = json.RawMessage(`{}`)
	}
	inner := editSchema(result, 0, func(ms []member) []member {
		ms = slices.DeleteFunc(ms, func(m member) bool { return m.name == "$schema" || m.name == "$id" })
		for i, m := range ms {
			var ref string
			if m.name == "$ref" && json.Unmarshal(m.value, &ref) == nil && strings.HasPrefix(ref, "#") {
				ms[i].value = quote("#/properties/result" + strings.TrimPrefix(ref, "#"))
			}
		}
		return ms
	})
	return json.RawMessage(fmt.Sprintf(resultSchema, inner))
}

// resultSchema is the schema of a ToolResult (contract.md), with a place for that of the result.
const resultSchema = `{"type":"object","properties":{` +
	`"call_id":{"type":"string"},"run_id":{"type":"string"},"tool":{"type":"string"},` +
	`"status":{"type":"string","description":"needs_input while the call waits for an answer; absent when it has ended"},` +
	`"result":%s,` +
	`"error":{"type":"object","properties":{"code":{"type":"string"},"message":{"type":"string"}},"required":["message"]},` +
	`"retry_hint":{"type":"object","description":"What to do next","properties":{"reason":{"type":"string"},"message":{"type":"string"}}},` +
	`"question":{"type":"object","description":"What the call waits for"},` +
	`"verification":{"type":"object","properties":{"verdict":{"type":"string","enum":["success","failure","uncertain"]},"confidence":{"type":"number"}}},` +
	`"attempts":{"type":"array","items":{"type":"object"}},"repairs":{"type":"array","items":{"type":"object"}}` +
	`},"required":["tool"]}`
