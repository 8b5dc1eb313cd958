package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"toolsvc/gen/toolsets"
	"toolsvc/tool"
)

// described is the description that a server serves, as plain values and as schemas.
type described struct {
	doc      object
	compiler *jsonschema.Compiler
}

func describedBy(t *testing.T, reg *tool.Registry) described {
	t.Helper()
	w := start(t, Options{Registry: reg})
	a := w.do(t, "GET", "/openapi.json", nil)
	if a.status != 200 || a.header.Get("Content-Type") != "application/json" {
		t.Fatalf("answer %d %v", a.status, a.header)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("openapi.json", v); err != nil {
		t.Fatal(err)
	}
	return described{v.(object), c}
}

// schema compiles the schema at a pointer into the description; every reference in it must lead somewhere.
func (d described) schema(t *testing.T, pointer string) *jsonschema.Schema {
	t.Helper()
	s, err := d.compiler.Compile("openapi.json#" + pointer)
	if err != nil {
		t.Fatalf("%s: %v", pointer, err)
	}
	return s
}

func escape(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(key)
}

func TestDescription(t *testing.T) {
	t.Parallel()
	d := describedBy(t, toolsets.Registry())
	if d.doc["openapi"] != "3.1.1" {
		t.Errorf("openapi %v", d.doc["openapi"])
	}
	components := dig(d.doc, "components", "schemas").(object)
	for name := range components {
		d.schema(t, "/components/schemas/"+name)
		if numberedProblem.MatchString(name) {
			t.Errorf("%s is a copy of Problem", name)
		}
	}
	for _, path := range []string{"/v1/tools", "/v1/tools/{tool}"} {
		if dig(d.doc, "paths", path, "get") == nil {
			t.Errorf("no GET %s", path)
		}
	}
	ids := map[any]bool{}
	for path, item := range d.doc["paths"].(object) {
		for method, op := range item.(object) {
			id := dig(op, "operationId")
			if id == nil || ids[id] {
				t.Errorf("%s %s: operation id %v is missing or not the only one", method, path, id)
			}
			ids[id] = true
		}
	}
	text, err := json.Marshal(d.doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, foreign := range []string{`"binary"`, "allowEmptyValue", "$defs", "json.RawMessage", "127.0.0.1:7070"} {
		if bytes.Contains(text, []byte(foreign)) {
			t.Errorf("the description holds %s", foreign)
		}
	}
}

// Each tool is an operation whose schemas judge like the tool's own.
func TestEachToolIsDescribed(t *testing.T) {
	t.Parallel()
	d := describedBy(t, toolsets.Registry())
	for _, id := range toolsets.Registry().IDs() {
		spec := toolsets.Registry().Lookup(id)
		pointer := "/paths/" + escape("/v1/tools/"+string(id)) + "/post"
		media, _ := dig(d.doc, "paths", "/v1/tools/"+string(id), "post", "requestBody", "content", "application/json").(object)
		if media == nil {
			t.Errorf("%s is not described", id)
			continue
		}
		payload := d.schema(t, pointer+"/requestBody/content/application~1json/schema")
		if err := payload.Validate(media["example"]); err != nil {
			t.Errorf("%s: the example is not valid: %v", id, err)
		}
		if err := payload.Validate(object{"no_such_field": 1}); err == nil {
			t.Errorf("%s: the schema is not closed", id)
		}
		description, _ := dig(d.doc, "paths", "/v1/tools/"+string(id), "post", "description").(string)
		if !strings.Contains(description, spec.Description) || !strings.Contains(description, "Effect: `"+string(spec.Effect)) {
			t.Errorf("%s: description %q", id, description)
		}
		if len(spec.EffectRules) > 0 && !strings.Contains(description, spec.EffectRules[0].When) {
			t.Errorf("%s: the effect rule is not described: %q", id, description)
		}
		for _, status := range []string{"200", "422", "404", "409", "413", "429", "500", "503"} {
			if dig(d.doc, "paths", "/v1/tools/"+string(id), "post", "responses", status) == nil {
				t.Errorf("%s: no response %s", id, status)
			}
		}
		d.schema(t, pointer+"/responses/200/content/application~1json/schema")
	}
}

// What the server sends is what the description says.
func TestAnswersAreAsDescribed(t *testing.T) {
	t.Parallel()
	reg := smallRegistry(t)
	d := describedBy(t, reg)
	check := func(what, pointer string, body []byte) {
		t.Helper()
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.schema(t, pointer).Validate(v); err != nil {
			t.Errorf("%s is not as described: %v", what, err)
		}
	}
	for i, r := range samples(t) {
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		check(fmt.Sprintf("sample %d", i), "/components/schemas/ToolResult", b)
	}
	w := start(t, Options{Registry: reg})
	check("a tool", "/components/schemas/ToolSpec", w.do(t, "GET", "/v1/tools/lamp.switch", nil).body)
	check("the catalogue", "/components/schemas/ListResponseBody", w.do(t, "GET", "/v1/tools", nil).body)
	check("a problem", "/components/schemas/Problem", w.do(t, "GET", "/v1/tools/lamp.swich", nil).body)
}

// The fields of the design are those of package tool: a field that is missing in the one would be missing in the answers.
func TestDesignHasEveryFieldOfAResult(t *testing.T) {
	t.Parallel()
	d := describedBy(t, smallRegistry(t))
	var closed func(v any)
	closed = func(v any) { // close every object, so that an undescribed field is an error
		switch x := v.(type) {
		case object:
			if _, ok := x["properties"]; ok && x["type"] == "object" {
				x["additionalProperties"] = false
			}
			for _, e := range x {
				closed(e)
			}
		case []any:
			for _, e := range x {
				closed(e)
			}
		}
	}
	closed(dig(d.doc, "components", "schemas"))
	c := jsonschema.NewCompiler()
	if err := c.AddResource("closed.json", d.doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("closed.json#/components/schemas/ToolResult")
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range samples(t) {
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(values(t, b)); err != nil {
			t.Errorf("sample %d: %v", i, err)
		}
	}
}

// Two tools may call different things by one name.
func TestDefinitionsOfOneNameAreKeptApart(t *testing.T) {
	t.Parallel()
	d := describedBy(t, smallRegistry(t)) // whose tools both define What: a string and an integer
	for id, c := range map[string]struct{ good, bad any }{
		"lamp.switch": {object{"what": "red"}, object{"what": json.Number("1")}},
		"lamp.read":   {object{"what": json.Number("1")}, object{"what": "red"}},
	} {
		s := d.schema(t, "/components/schemas/"+id+".payload")
		if err := s.Validate(c.good); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		if s.Validate(c.bad) == nil {
			t.Errorf("%s takes %v", id, c.bad)
		}
	}
	if dig(d.doc, "components", "schemas", "What") == nil {
		t.Error("a definition that several schemas share does not stand under its own name")
	}
}

func TestDescribeRejectsAnotherBase(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "[]", "{}", `{"paths":{}}`} {
		if _, err := describe([]byte(base), smallRegistry(t)); err == nil {
			t.Errorf("%q: no error", base)
		}
	}
}
