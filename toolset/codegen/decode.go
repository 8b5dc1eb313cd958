package codegen

import (
	"fmt"

	"toolsvc/toolset/expr"
	"toolsvc/toolset/shape"
)

// decoders writes one function for each object and union.
func decoders(ts *expr.ToolsetExpr) string {
	var p printer
	vars := nameRules(ts)
	for _, n := range ts.Types {
		if n.Alias == nil {
			decoder(&p, n, vars)
		}
	}
	return p.String()
}

func decoder(p *printer, n *shape.Named, vars *ruleVars) {
	p.f("func decode%[1]s(d *tool.Decoder) *%[1]s {\n", n.Name)
	if n.HasDefaults() {
		p.f("v := New%s()\n", n.Name)
	} else {
		p.f("v := &%s{}\n", n.Name)
	}
	p.f("start, ok := d.Object()\nif !ok {\nreturn v\n}\nvar seen [%d]uint64\n", words(n))
	p.f("for k := d.Key(); k != nil; k = d.Key() {\nswitch string(k) {\n")
	for i, f := range n.Fields {
		value := decodeValue(f.Type, vars)
		if f.Pointer(n) && f.Type.Kind != shape.Object && f.Type.Kind != shape.Union {
			value = "new(" + value + ")"
		}
		p.f("case %q:\nif d.First(seen[:], %d) {\nv.%s = %s\n}\n", f.Name, i, f.GoName, value)
	}
	p.f("default:\nd.Unknown(%s)\n}\n}\nd.EndObject(start, seen[:], %s)\nreturn v\n}\n\n", fieldsVar(n), fieldsVar(n))
}

// words is how many words hold a bit for each field.
func words(n *shape.Named) int { return max(1, (len(n.Fields)+63)/64) }

// decodeValue is the expression that decodes a value of type t, of goType(t).
func decodeValue(t *shape.Type, vars *ruleVars) string {
	rule := vars.of(t)
	expr, native := "", ""
	switch t.Kind {
	case shape.Object, shape.Union:
		return "decode" + t.Named.Name + "(d)"
	case shape.Array:
		expr = fmt.Sprintf("tool.DecodeArray(d, %s, %s)", rule, decodeElem(t.Elem, vars))
		native = "array" // a slice converts to its alias by assignment
	case shape.Map:
		expr = fmt.Sprintf("tool.DecodeMap[%s](d, %s, %s, %s)", goType(t.Key), rule, vars.of(t.Key), decodeElem(t.Elem, vars))
		native = "map"
	case shape.Boolean:
		expr, native = "d.Bool("+rule+")", "bool"
	case shape.Integer:
		expr, native = "d.Integer("+rule+")", "int64"
	case shape.Unsigned:
		expr, native = "d.Unsigned("+rule+")", "uint64"
	case shape.Number:
		expr, native = "d.Float("+rule+")", "float64"
	case shape.String:
		expr, native = "d.String("+rule+")", "string"
	case shape.Bytes:
		expr, native = "d.Bytes("+rule+")", "[]byte"
	default:
		expr, native = "d.Any()", "any"
	}
	if want := goType(t); want != native && (t.Native != "" || t.Named != nil) {
		return want + "(" + expr + ")"
	}
	return expr
}

// decodeElem is a function that decodes an element.
func decodeElem(t *shape.Type, vars *ruleVars) string {
	if t.Kind == shape.Object || t.Kind == shape.Union {
		return "decode" + t.Named.Name
	}
	return fmt.Sprintf("func(d *tool.Decoder) %s { return %s }", goType(t), decodeValue(t, vars))
}
