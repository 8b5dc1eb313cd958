package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/tool"
)

// answer is a person's reply, as the run takes it.
type answer struct {
	// none says that the reply is no answer: the form was dismissed, or somebody declined to fill it in.
	none bool
	// approved decides about an approval.
	approved bool
	// value answers any other question.
	value json.RawMessage
}

// The names of fields in forms.
const (
	fieldApprove = "approve"
	fieldChoice  = "choice"
)

// elicitation is the form that asks a question; wrong is what was wrong with the last answer. Forms are flat: fields of objects get dotted names, lists are written one entry a line.
func elicitation(q *tool.Question, wrong tool.Issues) *sdk.ElicitParams {
	p := &sdk.ElicitParams{Mode: "form", Message: asked(q, wrong)}
	switch {
	case q.Kind == tool.AskApproval:
		p.RequestedSchema = json.RawMessage(`{"type":"object","properties":{"` + fieldApprove + `":{"type":"boolean","title":"Approve","description":"Make this call with exactly these arguments?","default":false}},"required":["` + fieldApprove + `"]}`)
	case len(q.Candidates) > 1:
		p.RequestedSchema = choices(q)
	default:
		p.RequestedSchema = formOf(q.Schema).schema()
	}
	return p
}

// asked is the question in words, with what is needed to answer it.
func asked(q *tool.Question, wrong tool.Issues) string {
	lines := []string{q.Text}
	if len(wrong) == 0 {
		wrong = q.Issues
	}
	for _, i := range wrong {
		if i.Message != "" && !strings.Contains(q.Text, i.Message) {
			lines = append(lines, "- "+i.Message)
		}
	}
	if q.Kind == tool.AskApproval && len(q.PriorInput) > 0 {
		lines = append(lines, fmt.Sprintf("%s with %s", Name(q.Tool), q.PriorInput))
	}
	return strings.Join(lines, "\n")
}

// choices is a form with one field: which candidate is meant.
func choices(q *tool.Question) json.RawMessage {
	var b strings.Builder
	for i, c := range q.Candidates {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"const":"%d","title":%s}`, i+1, quote(c.String()))
	}
	return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"%s":{"type":"string","title":%s,"oneOf":[%s]}},"required":["%[1]s"]}`,
		fieldChoice, quote("Which one is meant?"), b.String()))
}

// answerOf reads a reply to the question's form.
func answerOf(q *tool.Question, reply *sdk.ElicitResult) answer {
	if reply == nil || reply.Action != "accept" {
		if reply != nil && reply.Action == "decline" && q.Kind == tool.AskApproval {
			return answer{approved: false} // declining to approve is a refusal
		}
		return answer{none: true}
	}
	content := reply.Content
	switch {
	case q.Kind == tool.AskApproval:
		yes, ok := content[fieldApprove].(bool)
		if !ok { // some clients submit untouched forms empty: that decides nothing
			return answer{none: true}
		}
		return answer{approved: yes}
	case len(q.Candidates) > 1:
		return chosen(q, content[fieldChoice])
	}
	value, err := formOf(q.Schema).answer(content)
	if err != nil || len(value) == 0 {
		return answer{none: true}
	}
	return answer{value: value}
}

// chosen is the answer that points to one candidate, by all that tells it from the others.
func chosen(q *tool.Question, choice any) answer {
	for i, c := range q.Candidates {
		if choice != fmt.Sprint(i+1) {
			continue
		}
		target := map[string]any{}
		for name, v := range map[string]string{"name": c.Name, "role": c.Role, "within": c.Within, "near": c.Near, "selector": c.Selector} {
			if v != "" {
				target[name] = v
			}
		}
		value, err := json.Marshal(map[string]any{"target": target})
		return answer{value: value, none: err != nil}
	}
	return answer{none: true}
}

// field is one field of a form, and where its value belongs.
type field struct {
	name string   // dotted
	path []string // in the answer
	kind fieldKind
	// schema of the field as the client gets it.
	schema []member
	// required fields have to be filled in for the answer to be valid.
	required bool
}

type fieldKind int

const (
	asIs   fieldKind = iota
	asList           // lines of text
	asJSON           // JSON in a text
)

// form is a question's schema made flat.
type form []field

// Bounds of a form.
const (
	maxFields    = 40
	maxFormDepth = 4
)

// formOf flattens the schema of an answer. What no client can show as a field is asked for as JSON in a text.
func formOf(schema json.RawMessage) form {
	f := flatten(nil, schema, true, 0)
	if len(f) == 0 {
		return form{{name: "text", path: []string{"text"}, required: true, schema: []member{{"type", quote("string")}}}}
	}
	return f[:min(len(f), maxFields)]
}

func flatten(path []string, schema []byte, required bool, depth int) form {
	ms, ok := members(schema)
	if !ok {
		return nil
	}
	get := func(name string) []byte {
		for _, m := range ms {
			if m.name == name {
				return m.value
			}
		}
		return nil
	}
	var kind string
	_ = json.Unmarshal(get("type"), &kind) // a list of types, or none, stays ""
	props, isObject := members(get("properties"))
	if isObject && depth < maxFormDepth {
		var needs []string
		_ = json.Unmarshal(get("required"), &needs) // without a list, nothing is required
		if len(needs) == 0 && required {
			needs = firstAlternative(get("anyOf"))
		}
		var f form
		for _, p := range props {
			f = append(f, flatten(append(slices.Clone(path), p.name), p.value, required && slices.Contains(needs, p.name), depth+1)...)
		}
		return f
	}
	if len(path) == 0 {
		return nil
	}
	f := field{name: strings.Join(path, "."), path: path, required: required}
	keep := func(names ...string) {
		for _, m := range ms {
			if slices.Contains(names, m.name) {
				f.schema = append(f.schema, m)
			}
		}
	}
	title := member{"title", quote(titleOf(path))}
	switch kind {
	case "string":
		keep("type", "title", "description", "enum", "oneOf", "minLength", "maxLength", "default")
		if format := string(get("format")); slices.Contains([]string{`"email"`, `"uri"`, `"date"`, `"date-time"`}, format) {
			keep("format")
		}
	case "integer", "number":
		keep("type", "title", "description", "minimum", "maximum", "default")
	case "boolean":
		keep("type", "title", "description", "default")
	case "array":
		if items, ok := members(get("items")); ok && slices.ContainsFunc(items, func(m member) bool { return m.name == "enum" }) {
			keep("type", "title", "description", "items", "minItems", "maxItems", "default")
			break
		}
		f.kind = asJSON
		if items, ok := members(get("items")); ok && slices.ContainsFunc(items, func(m member) bool { return m.name == "type" && string(m.value) == `"string"` }) {
			f.kind = asList
		}
	default:
		f.kind = asJSON
	}
	if f.kind != asIs {
		var text string
		_ = json.Unmarshal(get("description"), &text)
		how := map[fieldKind]string{asList: "One entry a line.", asJSON: "As JSON."}[f.kind]
		f.schema = []member{{"type", quote("string")}, {"description", quote(strings.TrimSpace(text + " " + how))}}
	}
	if !slices.ContainsFunc(f.schema, func(m member) bool { return m.name == "title" }) {
		f.schema = append(f.schema, title)
	}
	return form{f}
}

// firstAlternative is what the first of several alternatives requires.
func firstAlternative(anyOf []byte) []string {
	es, ok := elements(anyOf)
	if !ok || len(es) == 0 {
		return nil
	}
	var first struct {
		Required []string `json:"required"`
	}
	if json.Unmarshal(es[0], &first) != nil {
		return nil
	}
	return first.Required
}

// titleOf makes a label of a path: target.name becomes "Target name".
func titleOf(path []string) string {
	t := strings.ReplaceAll(strings.Join(path, " "), "_", " ")
	return strings.ToUpper(t[:1]) + t[1:]
}

func (f form) schema() json.RawMessage {
	var props []member
	var required []string
	for _, x := range f {
		props = append(props, member{x.name, objectOf(x.schema)})
		if x.required {
			required = append(required, string(quote(x.name)))
		}
	}
	out := []member{{"type", quote("object")}, {"properties", objectOf(props)}}
	if len(required) > 0 {
		out = append(out, member{"required", []byte("[" + strings.Join(required, ",") + "]")})
	}
	return json.RawMessage(objectOf(out))
}

// answer puts what was filled in back where it belongs. Fields left empty are left out; nothing filled in is no answer, nil.
func (f form) answer(content map[string]any) (json.RawMessage, error) {
	out := map[string]any{}
	for _, x := range f {
		v, ok := content[x.name]
		if s, isText := v.(string); !ok || v == nil || isText && s == "" {
			continue
		} else if x.kind == asList && isText {
			v = lines(s)
		} else if x.kind == asJSON && isText && json.Valid([]byte(s)) {
			v = json.RawMessage(s)
		}
		at := out
		for _, name := range x.path[:len(x.path)-1] {
			next, ok := at[name].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[name] = next
			}
			at = next
		}
		at[x.path[len(x.path)-1]] = v
	}
	if len(out) == 0 {
		return nil, nil
	}
	return json.Marshal(out)
}

func lines(s string) []string {
	var out []string
	for l := range strings.Lines(s) {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}
