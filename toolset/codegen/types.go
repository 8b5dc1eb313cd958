package codegen

import (
	"fmt"
	"strings"

	"goa.design/goa/v3/codegen"

	"toolsvc/toolset/expr"
	"toolsvc/toolset/shape"
)

// printer collects source text.
type printer struct{ strings.Builder }

func (p *printer) f(format string, args ...any) { fmt.Fprintf(p, format, args...) }

// doc writes a doc comment of whole sentences.
func (p *printer) doc(sentences ...string) {
	var text []string
	for _, s := range sentences {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		if !strings.HasSuffix(s, ".") && !strings.HasSuffix(s, "…") && !strings.HasSuffix(s, "?") && !strings.HasSuffix(s, "!") {
			s += "."
		}
		text = append(text, s)
	}
	p.f("%s\n", codegen.Comment(strings.Join(text, " ")))
}

// goType is the Go type of a value.
func goType(t *shape.Type) string {
	switch {
	case t.Kind == shape.Object || t.Kind == shape.Union:
		return "*" + t.Named.Name
	case t.Named != nil:
		return t.Named.Name
	}
	return underlying(t)
}

// underlying is the Go type of a value without the name of its alias.
func underlying(t *shape.Type) string {
	switch t.Kind {
	case shape.Array:
		return "[]" + goType(t.Elem)
	case shape.Map:
		return "map[" + goType(t.Key) + "]" + goType(t.Elem)
	case shape.Bytes:
		return "[]byte"
	case shape.Any:
		return "any"
	}
	return t.Native
}

// fieldType is the Go type of a field.
func fieldType(n *shape.Named, f *shape.Field) string {
	t := goType(f.Type)
	if f.Pointer(n) && !strings.HasPrefix(t, "*") {
		t = "*" + t
	}
	return t
}

// toolOf says what a payload or result belongs to.
type toolOf struct {
	tool    *expr.ToolExpr
	payload bool
}

// roots maps the payload and result types to their tools.
func roots(ts *expr.ToolsetExpr) map[*shape.Named]toolOf {
	m := map[*shape.Named]toolOf{}
	for _, t := range ts.Tools {
		m[t.Payload.Named], m[t.Result.Named] = toolOf{t, true}, toolOf{t, false}
	}
	return m
}

func types(ts *expr.ToolsetExpr) string {
	var p printer
	p.f("// The tools of the toolset.\nconst (\n")
	for _, t := range ts.Tools {
		p.f("%sID tool.ID = %q\n", t.GoName(), t.ID())
	}
	p.f(")\n\n")
	of := roots(ts)
	for _, n := range ts.Types {
		root, isRoot := of[n]
		switch {
		case isRoot && root.payload:
			p.doc(fmt.Sprintf("%s is what %s takes. %s", n.Name, root.tool.ID(), root.tool.Description), n.Description)
		case isRoot:
			p.doc(fmt.Sprintf("%s is what %s answers", n.Name, root.tool.ID()), n.Description)
		case n.Kind == shape.Union:
			p.doc(fmt.Sprintf("%s holds exactly one of its fields", n.Name), n.Description)
		case n.Description != "":
			p.doc(n.Name + ": " + n.Description)
		default:
			p.doc(n.Name + " is a type of the toolset " + ts.Name)
		}
		if n.Alias != nil {
			p.f("type %s %s\n\n", n.Name, underlying(n.Alias))
			continue
		}
		structType(&p, n)
		if isRoot && root.payload {
			payloadMethods(&p, n)
		}
		if n.HasDefaults() {
			p.doc(fmt.Sprintf("New%s makes a %s with the defaults of its fields", n.Name, n.Name))
			p.f("func New%[1]s() *%[1]s {\nreturn &%[1]s{\n", n.Name)
			for _, f := range n.Fields {
				if f.Default != nil {
					p.f("%s: %s,\n", f.GoName, literal(f.Type, f.Default, f.Pointer(n)))
				}
			}
			p.f("}\n}\n\n")
		}
	}
	return p.String()
}

func structType(p *printer, n *shape.Named) {
	p.f("type %s struct {\n", n.Name)
	for _, f := range n.Fields {
		notes := []string{f.Type.Description}
		switch {
		case f.Default != nil:
			notes = append(notes, "Default: "+string(f.Default))
		case n.Kind == shape.Object && !f.Required:
			notes = append(notes, "Optional")
		}
		if notes[0] != "" || len(notes) > 1 {
			p.doc(notes...)
		}
		tag := f.Name
		if !f.Required && f.Default == nil {
			tag += ",omitempty"
		}
		p.f("%s %s `json:%q`\n", f.GoName, fieldType(n, f), tag)
	}
	p.f("}\n\n")
}

func payloadMethods(p *printer, n *shape.Named) {
	p.doc("Expectations are the conditions that the caller expects to hold afterwards")
	p.f("func (p *%s) Expectations() []string { return p.%s }\n\n", n.Name, n.Field("expect").GoName)
	intent := n.Field("intent").GoName
	p.doc("Purpose says why the call is made, \"\" when the caller did not say")
	p.f("func (p *%[1]s) Purpose() string {\nif p.%[2]s == nil {\nreturn \"\"\n}\nreturn *p.%[2]s\n}\n\n", n.Name, intent)
}
