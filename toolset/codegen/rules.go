package codegen

import (
	"fmt"
	"strconv"
	"strings"

	"goa.design/goa/v3/codegen"

	"toolsvc/toolset/expr"
	"toolsvc/toolset/shape"
)

// rules writes what the codecs know of the documents and objects, and the rules that values must keep.
func rules(ts *expr.ToolsetExpr) string {
	var p printer
	p.f("var (\n")
	for _, t := range ts.Tools {
		p.f("%s = %s\n", document(t.Payload), documentLiteral(t.Payload, "payload", "tool.MaxPayload"))
		p.f("%s = %s\n", document(t.Result), documentLiteral(t.Result, "result", "tool.MaxResult"))
	}
	p.f(")\n\nvar (\n")
	for _, n := range ts.Types {
		if n.Alias != nil {
			continue
		}
		p.f("%s = %s\n", fieldsVar(n), fieldsLiteral(n))
	}
	p.f(")\n\n")
	vars := nameRules(ts)
	if len(vars.order) > 0 {
		p.f("var (\n")
		for _, t := range vars.order {
			p.f("%s = %s\n", vars.names[t], ruleLiteral(t))
		}
		p.f(")\n")
	}
	return p.String()
}

// ruleVars are the variables of the rules, by the values that have them.
type ruleVars struct {
	names map[*shape.Type]string
	order []*shape.Type
}

// nameRules names the rules of all fields, and of what they hold, after their places.
func nameRules(ts *expr.ToolsetExpr) *ruleVars {
	vars := &ruleVars{names: map[*shape.Type]string{}}
	taken := map[string]bool{}
	var add func(t *shape.Type, place string)
	add = func(t *shape.Type, place string) {
		if ruleLiteral(t) != "" {
			name := place
			for i := 2; taken[name]; i++ { // the items of tags, and a field tags_item
				name = place + strconv.Itoa(i)
			}
			taken[name] = true
			vars.names[t] = name
			vars.order = append(vars.order, t)
		}
		switch t.Kind {
		case shape.Map:
			add(t.Key, place+"Key")
			add(t.Elem, place+"Value")
		case shape.Array:
			add(t.Elem, place+"Item")
		}
	}
	for _, n := range ts.Types {
		for _, f := range n.Fields {
			add(f.Type, "rule"+n.Name+f.GoName)
		}
	}
	return vars
}

// of is the expression for the rule of a value: its variable, one that all numbers of its kind share, or nil.
func (vars *ruleVars) of(t *shape.Type) string {
	if name := vars.names[t]; name != "" {
		return name
	}
	switch t.Kind {
	case shape.Integer, shape.Unsigned, shape.Number:
		return "tool.Any" + codegen.Goify(nativeSize(t.Native), true)
	}
	return "nil"
}

// nativeSize is the name of a Go type with its size: int is int64.
func nativeSize(native string) string {
	if native == "int" || native == "uint" {
		return native + "64"
	}
	return native
}

func document(root *shape.Type) string { return "document" + root.Named.Name }

func documentLiteral(root *shape.Type, noun, limit string) string {
	secrets, _ := shape.Secrets(root)
	s := ""
	if len(secrets) > 0 {
		s = ", Secrets: " + stringsLiteral(secrets)
	}
	return fmt.Sprintf("&tool.Document{Noun: %q, MaxBytes: %s%s}", noun, limit, s)
}

func fieldsVar(n *shape.Named) string { return "fields" + n.Name }

func fieldsLiteral(n *shape.Named) string {
	fs := n.CodecFields()
	var b strings.Builder
	fmt.Fprintf(&b, "&tool.Fields{\nNames: %s,\nTypes: %s,\n", stringsLiteral(fs.Names), stringsLiteral(fs.Types))
	if len(fs.Required) > 0 {
		fmt.Fprintf(&b, "Required: %#v,\n", fs.Required)
	}
	if len(fs.AtLeastOne) > 0 {
		fmt.Fprintf(&b, "AtLeastOne: %#v,\n", fs.AtLeastOne)
	}
	if fs.Union {
		b.WriteString("Union: true,\n")
	}
	b.WriteString("}")
	return b.String()
}

func stringsLiteral(list []string) string { return fmt.Sprintf("%#v", append([]string{}, list...)) }

// ruleLiteral is the expression that makes the rule of t, "" when there is none.
func ruleLiteral(t *shape.Type) string {
	switch t.Kind {
	case shape.Array, shape.Map, shape.Bytes:
		return lengthLiteral(t)
	case shape.String:
		return stringRuleLiteral(t)
	case shape.Boolean:
		if len(t.Enum) > 0 {
			return "&tool.BoolRule{Enum: " + enumLiteral("bool", t.Enum) + "}"
		}
	case shape.Integer:
		return numberRuleLiteral("int64", t)
	case shape.Unsigned:
		return numberRuleLiteral("uint64", t)
	case shape.Number:
		return numberRuleLiteral("float64", t)
	}
	return ""
}

func lengthLiteral(t *shape.Type) string {
	if t.MinLength == nil && t.MaxLength == nil {
		return ""
	}
	low, high := 0, "tool.NoLimit"
	if t.MinLength != nil {
		low = *t.MinLength
	}
	if t.MaxLength != nil {
		high = strconv.Itoa(*t.MaxLength)
	}
	return fmt.Sprintf("&tool.Length{Min: %d, Max: %s}", low, high)
}

func stringRuleLiteral(t *shape.Type) string {
	var parts []string
	if l := lengthLiteral(t); l != "" {
		parts = append(parts, "Length: "+l)
	}
	if t.Pattern != "" {
		parts = append(parts, "Pattern: tool.MustPattern("+quoted(t.Pattern)+")")
	}
	if t.Format != "" {
		parts = append(parts, fmt.Sprintf("Format: %q", t.Format))
	}
	if len(t.Enum) > 0 {
		parts = append(parts, "Enum: "+enumLiteral("string", t.Enum))
	}
	if len(parts) == 0 {
		return ""
	}
	return "&tool.StringRule{" + strings.Join(parts, ", ") + "}"
}

func numberRuleLiteral(native string, t *shape.Type) string {
	if t.Min == nil && t.Max == nil && t.ExclusiveMin == nil && t.ExclusiveMax == nil && len(t.Enum) == 0 {
		return ""
	}
	var parts []string
	t = t.Bounded()
	for _, b := range []struct {
		name  string
		value any
	}{{"Min", t.Min}, {"Max", t.Max}, {"ExclusiveMin", t.ExclusiveMin}, {"ExclusiveMax", t.ExclusiveMax}} {
		if b.value != nil {
			parts = append(parts, fmt.Sprintf("%s: new(%s(%s))", b.name, native, number(b.value)))
		}
	}
	if len(t.Enum) > 0 {
		parts = append(parts, "Enum: "+enumLiteral(native, t.Enum))
	}
	return "&tool.NumberRule[" + native + "]{" + strings.Join(parts, ", ") + "}"
}

// number is a Go constant.
func number(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

func enumLiteral(native string, values []any) string {
	var parts []string
	for _, v := range values {
		if s, ok := v.(string); ok {
			parts = append(parts, strconv.Quote(s))
		} else {
			parts = append(parts, number(v))
		}
	}
	return "[]" + native + "{" + strings.Join(parts, ", ") + "}"
}

// quoted is a raw string literal where that is possible.
func quoted(s string) string {
	if strconv.CanBackquote(strings.ReplaceAll(s, "\n", "")) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}
