package codegen

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"toolsvc/toolset/shape"
)

// literal is a Go expression for a JSON text that was checked against t.
func literal(t *shape.Type, text []byte, pointer bool) string {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		panic(fmt.Sprintf("codegen: a default that was checked is not JSON: %v", err))
	}
	return goLiteral(t, v, pointer)
}

func goLiteral(t *shape.Type, v any, pointer bool) string {
	expr := ""
	switch t.Kind {
	case shape.Object, shape.Union:
		return structLiteral(t.Named, v.(map[string]any))
	case shape.Array:
		var parts []string
		for _, e := range v.([]any) {
			parts = append(parts, goLiteral(t.Elem, e, false))
		}
		expr = goType(t) + "{" + strings.Join(parts, ", ") + "}"
	case shape.Map:
		var parts []string
		for k, e := range v.(map[string]any) {
			parts = append(parts, strconv.Quote(k)+": "+goLiteral(t.Elem, e, false))
		}
		slices.Sort(parts)
		expr = goType(t) + "{" + strings.Join(parts, ", ") + "}"
	case shape.Bytes:
		b, err := base64.StdEncoding.DecodeString(v.(string))
		if err != nil {
			panic(fmt.Sprintf("codegen: a default that was checked is not base64: %v", err))
		}
		expr = goType(t) + "(" + strconv.Quote(string(b)) + ")"
	case shape.Any:
		expr = anyLiteral(v)
	default:
		s := fmt.Sprint(v)
		if x, ok := v.(string); ok {
			s = strconv.Quote(x)
		}
		if !pointer {
			return s // an untyped constant takes the field's type
		}
		expr = goType(t) + "(" + s + ")"
	}
	if pointer {
		return "new(" + expr + ")"
	}
	return expr
}

func structLiteral(n *shape.Named, values map[string]any) string {
	var parts []string
	for _, f := range n.Fields {
		if v, ok := values[f.Name]; ok {
			parts = append(parts, f.GoName+": "+goLiteral(f.Type, v, f.Pointer(n)))
		} else if f.Default != nil {
			parts = append(parts, f.GoName+": "+literal(f.Type, f.Default, f.Pointer(n)))
		}
	}
	return "&" + n.Name + "{" + strings.Join(parts, ", ") + "}"
}

// anyLiteral is an expression for a JSON value without a type, of the Go types that the decoder gives.
func anyLiteral(v any) string {
	switch x := v.(type) {
	case nil:
		return "nil"
	case string:
		return strconv.Quote(x)
	case json.Number:
		return "float64(" + x.String() + ")"
	case []any:
		var parts []string
		for _, e := range x {
			parts = append(parts, anyLiteral(e))
		}
		return "[]any{" + strings.Join(parts, ", ") + "}"
	case map[string]any:
		var parts []string
		for k, e := range x {
			parts = append(parts, strconv.Quote(k)+": "+anyLiteral(e))
		}
		slices.Sort(parts)
		return "map[string]any{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(v)
}
