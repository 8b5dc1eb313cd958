package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"toolsvc/tool"
)

// object is a JSON object.
type object = map[string]any

// genericCall is the path under which the design describes calls of any tool.
const genericCall = "/v1/tools/{tool}"

// describe makes the OpenAPI 3.1 description that is served: the one that Goa generates from the design, and for each tool of the
// registry a path of its own, /v1/tools/browser.click, with its payload, its result and its example. A concrete path wins over
// /v1/tools/{tool} in OpenAPI, so both stand side by side, and readers and client generators see each tool as an operation.
func describe(base []byte, reg *tool.Registry) ([]byte, error) {
	v, err := decodeJSON(base)
	if err != nil {
		return nil, fmt.Errorf("decode the generated description: %w", err)
	}
	doc, ok := mend(v).(object)
	if !ok {
		return nil, fmt.Errorf("the generated description is no object")
	}
	schemas, _ := dig(doc, "components", "schemas").(object)
	paths, _ := doc["paths"].(object)
	generic, _ := dig(paths, genericCall, "post").(object)
	problem, _ := dig(schemas, "Problem", "properties").(object)
	failure, _ := dig(schemas, "ToolError", "properties").(object)
	if generic == nil || problem == nil || failure == nil {
		return nil, fmt.Errorf("the generated description lacks %s, Problem or ToolError", genericCall)
	}
	doc["openapi"] = "3.1.1"                   // whose schemas are JSON Schema 2020-12, like those of tools
	doc["servers"] = []any{object{"url": "/"}} // whoever served the description
	maps.DeleteFunc(schemas, func(name string, _ any) bool { return numberedProblem.MatchString(name) })
	delete(problem, "retry_after") // stands in the header on HTTP
	failure["cause"] = object{
		"description": "What led to it; null at the end of the chain", "anyOf": []any{object{"$ref": schemaRef("ToolError")}, object{"type": "null"}}}

	describeByHand(doc, paths)
	d := describer{schemas: schemas, defs: map[string]any{}}
	toolsets := map[string]bool{}
	for _, id := range reg.IDs() {
		spec := reg.Lookup(id)
		op, err := d.operation(spec, generic)
		if err != nil {
			return nil, fmt.Errorf("describe %s: %w", id, err)
		}
		paths["/v1/tools/"+string(id)] = object{"post": op}
		toolsets[id.Toolset()] = true
	}
	tags, _ := doc["tags"].([]any)
	for _, name := range slices.Sorted(maps.Keys(toolsets)) {
		tags = append(tags, object{"name": name, "description": "Tools of the toolset " + name + "."})
	}
	doc["tags"] = tags
	return json.Marshal(doc)
}

// describeByHand adds what the design does not describe: the handlers that are written with net/http, the second meaning of 422 in a call,
// and how a caller says who it is.
func describeByHand(doc, paths object) {
	problem := func(description string) object {
		return object{"description": description, "content": object{"application/problem+json": object{"schema": object{"$ref": schemaRef("Problem")}}}}
	}
	run := object{"name": "run", "in": "path", "required": true, "description": "The run", "schema": object{"type": "string", "pattern": runID.String()}}
	paths["/v1/runs/{run}/events"] = object{"get": object{
		"tags": []any{"runs"}, "operationId": "watchRun", "summary": "Stream the events of a run",
		"description": "Server-sent events: those that are there, then those to come, each once and in order. The type of an event is narration, " +
			"tool_result (a ToolResult), question and approval (a Question, or how it was closed), or run (its state has changed). The stream ends when " +
			"the run has ended and all was sent.",
		"parameters": []any{run,
			object{"name": "Last-Event-ID", "in": "header", "description": "Only events with a greater id; browsers send it when they connect again", "schema": object{"type": "integer", "minimum": 0}},
			object{"name": "after", "in": "query", "description": "The same, for a client that sets no header", "schema": object{"type": "integer", "minimum": 0}}},
		"responses": object{
			"200": object{"description": "The stream.", "content": object{"text/event-stream": object{"schema": object{"type": "string"}}}},
			"204": object{"description": "The run has ended, and there is nothing after that event."},
			"400": problem("A parameter is not as it must be."), "403": problem("The token does not have the scope that this takes."),
			"404": problem("There is no such run."), "429": problem("Too many streams are open."), "500": problem("A fault of toolsvc itself."), "503": problem("What keeps the runs cannot be reached."),
		}}}
	paths["/v1/artifacts/{digest}"] = object{"get": object{
		"tags": []any{"runs"}, "operationId": "getArtifact", "summary": "Get a screenshot or a file",
		"description": "Get an artifact by its content digest, as results, verdicts and events name it. It never changes.",
		"parameters":  []any{object{"name": "digest", "in": "path", "required": true, "description": "Its digest", "schema": object{"type": "string", "pattern": digestPattern.String()}}},
		"responses": object{
			"200": object{"description": "The artifact, with its own media type.", "content": object{"*/*": object{"schema": object{}}}},
			"304": object{"description": "The client has it already."},
			"400": problem("That is no digest."), "403": problem("The token does not have the scope that this takes."),
			"404": problem("There is no such artifact."), "429": problem("Too many streams are open."), "500": problem("A fault of toolsvc itself."),
		}}}
	if rejected, ok := dig(paths, genericCall, "post", "responses", "422").(object); ok {
		rejected["description"] = "The payload is not valid and nothing was called: the ToolResult lists all violations. Or, with the code key_reused, the idempotency key belongs to another request."
		if content, ok := rejected["content"].(object); ok {
			content["application/problem+json"] = object{"schema": object{"$ref": schemaRef("Problem")}}
		}
	}
	components, _ := doc["components"].(object)
	components["securitySchemes"] = object{"token": object{"type": "http", "scheme": "bearer", "description": "A token of the tokens file; none is needed where none are set up."}}
	doc["security"] = []any{object{"token": []any{}}, object{}}
	for _, item := range paths {
		for _, op := range item.(object) {
			if responses, ok := dig(op, "responses").(object); ok {
				responses["401"] = problem("There is no token in the request, or none that is known. Nothing was done.")
			}
		}
	}
}

// describer adds tools to a description.
type describer struct {
	schemas object
	// defs are the definitions ($defs) of tools' schemas that were added under their own name, as they came.
	defs map[string]any
}

// operation describes the call of one tool, after the model of the call of any tool.
func (d *describer) operation(s *tool.Spec, generic object) (object, error) {
	payload, err := d.add(string(s.ID)+".payload", string(s.ID), s.PayloadSchema)
	if err != nil {
		return nil, err
	}
	result, err := d.add(string(s.ID)+".result", string(s.ID), s.ResultSchema)
	if err != nil {
		return nil, err
	}
	example, err := decodeJSON(document(s.Example))
	if err != nil {
		return nil, fmt.Errorf("decode the example: %w", err)
	}
	op := object{
		"tags": []any{s.ID.Toolset()}, "operationId": strings.ReplaceAll(string(s.ID), ".", "_"), "summary": s.Title, "description": inMarkdown(s),
		"requestBody": object{"description": "The payload; none is the same as {}", "content": object{
			"application/json": object{"schema": object{"$ref": payload}, "example": example}}},
	}
	var params []any
	all, _ := generic["parameters"].([]any)
	for _, p := range all {
		if dig(p, "name") != "tool" {
			params = append(params, p)
		}
	}
	op["parameters"] = params
	responses, _ := generic["responses"].(object)
	called, _ := responses["200"].(object)
	if called == nil {
		return nil, fmt.Errorf("%s has no response 200", genericCall)
	}
	responses, called = maps.Clone(responses), maps.Clone(called)
	called["content"] = object{"application/json": object{"schema": object{"allOf": []any{
		object{"$ref": schemaRef("ToolResult")}, object{"properties": object{"result": object{"$ref": result}}}}}}}
	responses["200"] = called
	op["responses"] = responses
	return op, nil
}

// add adds a tool's schema as a component and returns a reference to it. Its definitions become components too, under their own name
// where that is free or means the same, else under the tool's.
func (d *describer) add(name, prefix string, schema json.RawMessage) (ref string, err error) {
	v, err := decodeJSON(document(schema))
	if err != nil {
		return "", fmt.Errorf("decode the schema %s: %w", name, err)
	}
	root, ok := v.(object)
	if !ok {
		return "", fmt.Errorf("the schema %s is no object", name)
	}
	defs, _ := root["$defs"].(object)
	delete(root, "$defs")
	delete(root, "$schema")
	delete(root, "$id")
	shared := true // all or none, because definitions refer to each other
	for def, v := range defs {
		known, ok := d.defs[def]
		shared = shared && (ok && reflect.DeepEqual(known, v) || !ok && d.schemas[def] == nil)
	}
	rename := func(def string) string {
		if shared {
			return def
		}
		return prefix + "." + def
	}
	local := func(ref string) string {
		if def, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
			return schemaRef(rename(def))
		}
		return ref
	}
	for def, v := range defs {
		if shared {
			d.defs[def] = v
		}
		d.schemas[rename(def)] = rewriteRefs(v, local)
	}
	d.schemas[name] = rewriteRefs(root, local)
	return schemaRef(name), nil
}

// inMarkdown tells what callers need to know of a tool and what schemas do not say.
func inMarkdown(s *tool.Spec) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n- Effect: `%s`\n", s.Description, s.Effect)
	for _, r := range s.EffectRules {
		fmt.Fprintf(&b, "- Effect: `%s` when `%s`\n", r.Class, r.When)
	}
	for _, c := range s.Preconditions {
		fmt.Fprintf(&b, "- Before: %s\n", inWords(c))
	}
	for _, c := range s.Postconditions {
		fmt.Fprintf(&b, "- Verified afterwards: %s\n", inWords(c))
	}
	if s.Rollback != "" {
		fmt.Fprintf(&b, "- Rollback: %s\n", s.Rollback)
	}
	if s.Confirm != "" {
		fmt.Fprintf(&b, "- Approval: %s\n", s.Confirm)
	}
	return b.String()
}

// inWords is a condition in words, or as it is written when it has none.
func inWords(c tool.Condition) string {
	if c.Message != "" {
		return c.Message
	}
	return "`" + c.Expression + "`"
}

// numberedProblem are the copies of Problem that Goa makes, one for each error.
var numberedProblem = regexp.MustCompile(`^Problem[0-9]+$`)

// mend corrects what Goa writes for OpenAPI 3.0 and what it cannot know: bytes are free JSON here, all problems are one type, and an
// empty parameter means nothing.
func mend(v any) any {
	switch x := v.(type) {
	case object:
		if x["type"] == "string" && x["format"] == "binary" {
			delete(x, "type")
			delete(x, "format")
		}
		delete(x, "allowEmptyValue")
		for k := range x {
			x[k] = mend(x[k])
		}
		if ref, ok := x["$ref"].(string); ok {
			if name := strings.TrimPrefix(ref, schemaRef("")); numberedProblem.MatchString(name) {
				x["$ref"] = schemaRef("Problem")
			}
		}
	case []any:
		for i := range x {
			x[i] = mend(x[i])
		}
	}
	return v
}

// rewriteRefs returns a copy of a schema with other references.
func rewriteRefs(v any, f func(string) string) any {
	switch x := v.(type) {
	case object:
		c := object{}
		for k, e := range x {
			if ref, ok := e.(string); ok && k == "$ref" {
				c[k] = f(ref)
			} else {
				c[k] = rewriteRefs(e, f)
			}
		}
		return c
	case []any:
		c := make([]any, len(x))
		for i, e := range x {
			c[i] = rewriteRefs(e, f)
		}
		return c
	}
	return v
}

func schemaRef(name string) string { return "#/components/schemas/" + name }

// dig follows keys into objects; nil where there is nothing.
func dig(v any, keys ...string) any {
	for _, k := range keys {
		o, _ := v.(object)
		v = o[k]
	}
	return v
}

// decodeJSON keeps numbers as they are written.
func decodeJSON(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}
