package codegen

import (
	"fmt"

	"toolsvc/toolset/expr"
	"toolsvc/toolset/shape"
)

// encoders writes one function for each object and union.
func encoders(ts *expr.ToolsetExpr) string {
	var p printer
	vars := nameRules(ts)
	for _, n := range ts.Types {
		if n.Alias == nil {
			encoder(&p, n, vars)
		}
	}
	return p.String()
}

func encoder(p *printer, n *shape.Named, vars *ruleVars) {
	p.f("func encode%[1]s(e *tool.Encoder, v *%[1]s) {\n", n.Name)
	p.f("if v == nil {\ne.Null(\"object\")\nreturn\n}\nif !e.Object() {\nreturn\n}\nvar seen [%d]uint64\n", words(n))
	for i, f := range n.Fields {
		x := "v." + f.GoName
		optional := !f.Required && f.Default == nil
		if f.Default != nil && nilable(f.Type) {
			optional = true // nil says that the default is meant
		}
		if optional {
			p.f("if %s != nil {\n", x)
		}
		value := x
		if f.Pointer(n) && f.Type.Kind != shape.Object && f.Type.Kind != shape.Union {
			value = "*" + x
		}
		p.f("e.Mark(seen[:], %d)\ne.Key(%q)\n%s\n", i, f.Name, encodeValue(f.Type, value, vars))
		if optional {
			p.f("}\n")
		}
	}
	p.f("e.EndObject(seen[:], %s)\n}\n\n", fieldsVar(n))
}

// nilable reports whether the Go type of t has a nil.
func nilable(t *shape.Type) bool {
	switch t.Kind {
	case shape.Object, shape.Union, shape.Array, shape.Map, shape.Bytes, shape.Any:
		return true
	}
	return false
}

// encodeValue is the statement that encodes x, which is of goType(t).
func encodeValue(t *shape.Type, x string, vars *ruleVars) string {
	rule := vars.of(t)
	convert := func(native string) string {
		if goType(t) == native {
			return x
		}
		return native + "(" + x + ")"
	}
	switch t.Kind {
	case shape.Object, shape.Union:
		return fmt.Sprintf("encode%s(e, %s)", t.Named.Name, x)
	case shape.Array:
		return fmt.Sprintf("tool.EncodeArray(e, %s, %s, %s)", x, rule, encodeElem(t.Elem, vars))
	case shape.Map:
		return fmt.Sprintf("tool.EncodeMap(e, %s, %s, %s, %s)", x, rule, vars.of(t.Key), encodeElem(t.Elem, vars))
	case shape.Boolean:
		return fmt.Sprintf("e.Bool(%s, %s)", convert("bool"), rule)
	case shape.Integer:
		return fmt.Sprintf("e.Integer(%s, %s)", convert("int64"), rule)
	case shape.Unsigned:
		return fmt.Sprintf("e.Unsigned(%s, %s)", convert("uint64"), rule)
	case shape.Number:
		if t.Native == "float32" {
			return fmt.Sprintf("e.Float32(%s, %s)", convert("float32"), rule)
		}
		return fmt.Sprintf("e.Float(%s, %s)", convert("float64"), rule)
	case shape.String:
		return fmt.Sprintf("e.String(%s, %s)", convert("string"), rule)
	case shape.Bytes:
		return fmt.Sprintf("e.Bytes(%s, %s)", x, rule)
	}
	return fmt.Sprintf("e.Any(%s)", x)
}

// encodeElem is a function that encodes an element.
func encodeElem(t *shape.Type, vars *ruleVars) string {
	if t.Kind == shape.Object || t.Kind == shape.Union {
		return "encode" + t.Named.Name
	}
	return fmt.Sprintf("func(e *tool.Encoder, x %s) { %s }", goType(t), encodeValue(t, "x", vars))
}
