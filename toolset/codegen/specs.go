package codegen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"goa.design/goa/v3/codegen"

	"toolsvc/tool"
	"toolsvc/toolset/expr"
	"toolsvc/toolset/shape"
)

func specs(ts *expr.ToolsetExpr) string {
	var p printer
	p.doc(fmt.Sprintf("Specs lists the tools of the toolset %s in design order. %s", ts.Name, ts.Description))
	p.f("func Specs() []*tool.Spec {\nreturn []*tool.Spec{\n")
	for _, t := range ts.Tools {
		p.f("%sSpec,\n", t.GoName())
	}
	p.f("}\n}\n\n")
	for _, t := range ts.Tools {
		spec(&p, t)
	}
	return p.String()
}

func spec(p *printer, t *expr.ToolExpr) {
	g := t.GoName()
	p.doc(fmt.Sprintf("%sSpec is the contract of %s", g, t.ID()))
	p.f("var %sSpec = &tool.Spec{\nID: %sID,\nTitle: %q,\nDescription: %q,\nEffect: %s,\n", g, g, t.Title(), t.Description, effectName(t.Effect))
	if len(t.EffectRules) > 0 {
		p.f("EffectRules: []tool.EffectRule{\n")
		for _, r := range t.EffectRules {
			p.f("{When: %s, Class: %s},\n", quoted(r.When), effectName(r.Class))
		}
		p.f("},\n")
	}
	p.f("Sources: []tool.Source{")
	for _, s := range t.Sources {
		p.f("tool.Source%s, ", s.Badge())
	}
	p.f("},\n")
	conditions(p, "Preconditions", t.Preconditions)
	conditions(p, "Postconditions", t.Postconditions)
	for _, s := range []struct{ name, text string }{{"Confirm", t.Confirm}, {"Question", t.Question}, {"Rollback", t.Rollback}} {
		if s.text != "" {
			p.f("%s: %q,\n", s.name, s.text)
		}
	}
	agent(p, t.Agent)
	p.f("TimeLimit: %s,\n", duration(t.TimeLimit))
	p.f("PayloadSchema: json.RawMessage(%s),\n", quoted(indented(shape.Schema(t.Payload))))
	p.f("ResultSchema: json.RawMessage(%s),\n", quoted(indented(shape.Schema(t.Result))))
	p.f("Example: json.RawMessage(%s),\n", quoted(string(t.Example)))
	if secrets, _ := shape.Secrets(t.Payload); len(secrets) > 0 {
		p.f("Secrets: %s,\n", stringsLiteral(secrets))
	}
	pt, rt := t.Payload, t.Result
	p.f("Decode: func(text []byte) (tool.Payload, tool.Issues) {\nv, issues := tool.Decode(text, %s, decode%s)\n", document(pt), pt.Named.Name)
	p.f("if issues != nil {\nreturn nil, issues\n}\nreturn v, nil\n},\n")
	p.f("EncodeResult: func(v any) ([]byte, error) {\nr, ok := v.(*%s)\nif !ok {\nreturn nil, tool.WrongType(%s)\n}\n", rt.Named.Name, document(rt))
	p.f("return tool.Encode(r, %s, encode%s)\n},\n", document(rt), rt.Named.Name)
	p.f("DecodeResult: func(text []byte) (any, tool.Issues) {\nv, issues := tool.Decode(text, %s, decode%s)\n", document(rt), rt.Named.Name)
	p.f("if issues != nil {\nreturn nil, issues\n}\nreturn v, nil\n},\n}\n\n")
}

// effectName is the constant of an effect class: read_only is tool.ReadOnly.
func effectName(c tool.EffectClass) string { return "tool." + codegen.Goify(string(c), true) }

func conditions(p *printer, name string, list []tool.Condition) {
	if len(list) == 0 {
		return
	}
	p.f("%s: []tool.Condition{\n", name)
	for _, c := range list {
		p.f("{Name: %q, Expression: %s, Message: %q},\n", c.Name, quoted(c.Expression), c.Message)
	}
	p.f("},\n")
}

// agent is the literal of who does the tool's work, when that is an agent.
func agent(p *printer, a *expr.AgentExpr) {
	if a == nil {
		return
	}
	p.f("Agent: &tool.Agent{\nInstructions: %s,\n", quoted(a.Instructions))
	if a.Goal != "" {
		p.f("Goal: %s,\n", quoted(a.Goal))
	}
	p.f("Tools: %s,\n", stringsLiteral(a.Tools))
	for _, n := range []struct {
		name  string
		value int64
	}{{"MaxCalls", int64(a.MaxCalls)}, {"TokenBudget", a.TokenBudget}, {"Attempts", int64(a.Attempts)}} {
		if n.value != 0 {
			p.f("%s: %d,\n", n.name, n.value)
		}
	}
	p.f("},\n")
}

// duration is a Go expression for d, in whole milliseconds.
func duration(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%d * time.Second", d/time.Second)
	}
	return fmt.Sprintf("%d * time.Millisecond", d.Milliseconds())
}

// indented renders a schema for reading; what cannot stand in a raw string literal is escaped.
func indented(schema json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Indent(&b, schema, "", "  "); err != nil {
		panic(fmt.Sprintf("codegen: a schema is not JSON: %v", err))
	}
	return strings.NewReplacer("`", `\u0060`, "\ufeff", `\ufeff`).Replace(b.String())
}
