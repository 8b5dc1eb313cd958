package geminitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// keywords are those of JSON Schema that the service reads, by the reference of responseJsonSchema; all others it accepts and ignores.
var keywords = []string{"$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems", "minItems",
	"maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties", "required", "propertyOrdering"}

// ignored lists the keywords of the request's schemas that the service would not read, each with its place.
func ignored(w *wireRequest) []string {
	var out []string
	for _, t := range w.Tools {
		for _, f := range t.FunctionDeclarations {
			out = append(out, unread(f.Name, f.ParametersJSONSchema)...)
		}
	}
	if w.GenerationConfig != nil {
		out = append(out, unread("response", w.GenerationConfig.ResponseJSONSchema)...)
	}
	return out
}

func unread(at string, schema json.RawMessage) []string {
	var s map[string]json.RawMessage
	if json.Unmarshal(schema, &s) != nil {
		return nil // true, false, or no schema at all
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(s)) {
		if !slices.Contains(keywords, k) {
			out = append(out, at+": "+k)
		}
		if _, ref := s["$ref"]; ref && k[0] != '$' {
			out = append(out, at+": "+k+" beside $ref")
		}
		switch k {
		case "properties", "$defs":
			var m map[string]json.RawMessage
			if json.Unmarshal(s[k], &m) == nil {
				for _, name := range slices.Sorted(maps.Keys(m)) {
					out = append(out, unread(at+"."+name, m[name])...)
				}
			}
		case "items", "additionalProperties":
			out = append(out, unread(at+"."+k, s[k])...)
		case "anyOf", "oneOf", "prefixItems":
			var list []json.RawMessage
			if json.Unmarshal(s[k], &list) == nil {
				for i, x := range list {
					out = append(out, unread(fmt.Sprintf("%s.%s[%d]", at, k, i), x)...)
				}
			}
		}
	}
	return out
}

// topFields lists the properties of a schema of an object.
func topFields(schema json.RawMessage) []string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.Properties))
}
