package gemini

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"toolsvc/gemini/geminitest"
	"toolsvc/gen/toolsets"
	"toolsvc/tool"
)

// Every tool of ours can be declared, with nothing that Gemini ignores, and its example is still valid.
func TestAllToolsCanBeDeclared(t *testing.T) {
	t.Parallel()
	r := toolsets.Registry()
	var all []*tool.Spec
	for _, id := range r.IDs() {
		all = append(all, r.Lookup(id))
	}
	c, s := client(t, reply(geminitest.Text("ok")))
	if _, err := c.PlanTurn(t.Context(), PlanRequest{Goal: "x", Tools: all}); err != nil {
		t.Fatal(err)
	}
	q := s.Requests()[0]
	if len(q.Ignored) > 0 {
		t.Errorf("ignored: %v", q.Ignored)
	}
	for _, spec := range all {
		f := q.Function(FunctionName(spec.ID))
		if f == nil || !strings.HasPrefix(f.Description, spec.Description) {
			t.Errorf("%s is not declared, or not described: %+v", spec.ID, f)
			continue
		}
		if err := valid(f.Parameters, spec.Example); err != nil {
			t.Errorf("%s: its example does not fit the declaration: %v", spec.ID, err)
		}
		if err := valid(f.Parameters, []byte(`{"no such field":1}`)); err == nil {
			t.Errorf("%s: the declaration is open", spec.ID)
		}
	}
}

func valid(schema, doc []byte) error {
	s, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("s.json", s); err != nil {
		return err
	}
	compiled, err := c.Compile("s.json")
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return err
	}
	return compiled.Validate(v)
}

func TestSchema(t *testing.T) {
	t.Parallel()
	field := func(s string) string { return `{"type":"object","properties":{"a":` + s + `}}` }
	for _, c := range []struct{ name, in, want string }{
		{"what is known stays", field(`{"type":"integer","minimum":1,"maximum":9,"description":"How many."}`), field(`{"description":"How many","maximum":9,"minimum":1,"type":"integer"}`)},
		{"closed", `{"type":"object","additionalProperties":false}`, `{"additionalProperties":false,"type":"object"}`},
		{"order of fields", `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}},"required":["z"]}`,
			`{"properties":{"a":{"type":"string"},"z":{"type":"string"}},"propertyOrdering":["z","a"],"required":["z"],"type":"object"}`},
		{"lengths, pattern, default", field(`{"type":"string","description":"Name","minLength":1,"maxLength":5,"pattern":"^a","default":"ab"}`),
			field(`{"description":"Name: 1 to 5 characters; matches ^a; default \"ab\"","type":"string"}`)},
		{"only the most", field(`{"type":"string","maxLength":5}`), field(`{"description":"at most 5 characters","type":"string"}`)},
		{"formats", `{"type":"object","properties":{"u":{"type":"string","format":"uri"},"d":{"type":"string","format":"date-time"}}}`,
			`{"properties":{"d":{"format":"date-time","type":"string"},"u":{"description":"format uri","type":"string"}},"propertyOrdering":["u","d"],"type":"object"}`},
		{"other numbers", field(`{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1.50,"multipleOf":0.25}`), field(`{"description":"more than 0; less than 1.50; a multiple of 0.25","type":"number"}`)},
		{"digits", field(`{"type":"integer","maximum":9007199254740993}`), field(`{"maximum":9007199254740993,"type":"integer"}`)},
		{"enum", field(`{"enum":["a","b"]}`), field(`{"enum":["a","b"]}`)},
		{"enum of others", field(`{"enum":[true,null]}`), field(`{"description":"one of true, null"}`)},
		{"const", field(`{"const":"a"}`), field(`{"enum":["a"]}`)},
		{"lists", field(`{"type":"array","minItems":1,"maxItems":3,"uniqueItems":true,"items":{"type":"string","maxLength":2}}`),
			field(`{"description":"no element twice","items":{"description":"at most 2 characters","type":"string"},"maxItems":3,"minItems":1,"type":"array"}`)},
		{"tuples", field(`{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":false}`), field(`{"items":false,"prefixItems":[{"type":"string"},{"type":"integer"}],"type":"array"}`)},
		{"maps", field(`{"type":"object","minProperties":1,"maxProperties":2,"propertyNames":{"pattern":"^k"},"additionalProperties":{"type":"string","pattern":"x"}}`),
			field(`{"additionalProperties":{"description":"matches x","type":"string"},"description":"1 to 2 entries; keys: matches ^k","type":"object"}`)},
		{"at least one of", `{"type":"object","description":"A target.","anyOf":[{"required":["a"]},{"required":["b","c"]}]}`, `{"description":"A target: at least one of a, b with c is needed","type":"object"}`},
		{"exactly one of", `{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"description":"exactly one of a, b is needed","type":"object"}`},
		{"groups in an allOf", `{"type":"object","allOf":[{"anyOf":[{"required":["a"]},{"required":["b"]}]},{"oneOf":[{"required":["c"]},{"required":["d"]}]}]}`,
			`{"description":"at least one of a, b is needed; exactly one of c, d is needed","type":"object"}`},
		{"alternatives", field(`{"anyOf":[{"type":"string","minLength":2},{"type":"null"}]}`), field(`{"anyOf":[{"description":"at least 2 characters","type":"string"},{"type":"null"}]}`)},
		{"allOf", `{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"}},"required":["b"]}]}`,
			`{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a","b"],"type":"object"}`},
		{"references", `{"type":"object","$defs":{"T":{"type":"string","description":"A T.","maxLength":3}},"properties":{"a":{"$ref":"#/$defs/T"},"b":{"$ref":"#/$defs/T","description":"Mine"}}}`,
			`{"properties":{"a":{"description":"A T: at most 3 characters","type":"string"},"b":{"description":"Mine","type":"string"}},"propertyOrdering":["a","b"],"type":"object"}`},
		{"older references", `{"type":"object","definitions":{"T":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/T"}}}`, field(`{"type":"string"}`)},
		{"what is not known goes", `{"$schema":"x","$id":"y","$comment":"z","type":"object","examples":[{}],"unevaluatedProperties":false,"not":{},"if":{}}`, `{"type":"object"}`},
		{"schemas that are none", `{"type":"object","properties":{"a":true,"b":false,"c":{}}}`, `{"properties":{"c":{}},"type":"object"}`},
	} {
		got, err := Schema(json.RawMessage(c.in))
		if err != nil || !same(got, []byte(c.want)) {
			t.Errorf("%s:\n got %s, %v\nwant %s", c.name, got, err, c.want)
		}
	}
}

// A type inside itself is followed a few levels, and then left open; the whole stays small.
func TestRecursiveSchema(t *testing.T) {
	t.Parallel()
	got, err := Schema(json.RawMessage(`{"type":"object","$defs":{"Node":{"type":"object","properties":{"next":{"$ref":"#/$defs/Node"},"all":{"type":"array","items":{"$ref":"#/$defs/Node"}}}}},"properties":{"root":{"$ref":"#/$defs/Node"}}}`))
	if err != nil || strings.Contains(string(got), "$ref") || !strings.Contains(string(got), "again a Node") || len(got) > 10_000 {
		t.Errorf("%d bytes, %v: %s", len(got), err, got)
	}
}

func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	wide := `{"type":"object","$defs":{"A":{"type":"object","properties":{` + strings.TrimSuffix(strings.Repeat(`"p%":{"$ref":"#/$defs/B"},`, 80), ",") + `}},"B":{"type":"object","properties":{` + strings.TrimSuffix(strings.Repeat(`"q%":{"type":"string"},`, 80), ",") + `}}},"properties":{"a":{"$ref":"#/$defs/A"}}}`
	for i := 0; strings.Contains(wide, "%"); i++ {
		wide = strings.Replace(wide, "%", strings.Repeat("x", i), 1)
	}
	for name, c := range map[string]struct{ in, want string }{
		"no JSON":            {`{`, "not a JSON object"},
		"no schema":          {`true`, "not a JSON object"},
		"no object":          {`{"type":"string"}`, "does not describe an object"},
		"elsewhere":          {`{"type":"object","properties":{"a":{"$ref":"http://x/y"}}}`, "outside"},
		"nowhere":            {`{"type":"object","properties":{"a":{"$ref":"#/$defs/T"}}}`, "does not define"},
		"too large resolved": {wide, "more than"},
	} {
		if _, err := Schema(json.RawMessage(c.in)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
