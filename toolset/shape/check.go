package shape

import (
	"fmt"
	"slices"

	"toolsvc/tool"
)

// Check decodes a JSON text under the rules of t, with the same runtime as the generated code. It is how the defaults and examples
// of a design are checked.
func Check(t *Type, text []byte) tool.Issues {
	doc := &tool.Document{Noun: "value", MaxBytes: tool.MaxPayload}
	_, issues := tool.Decode(text, doc, func(d *tool.Decoder) *struct{} {
		interpret(d, t)
		return nil
	})
	return issues
}

// interpret does what the code generated for t does, but for keeping the value.
func interpret(d *tool.Decoder, t *Type) any {
	switch t.Kind {
	case Object, Union:
		return interpretObject(d, t.Named)
	case Array:
		tool.DecodeArray(d, t.length(), func(d *tool.Decoder) any { return interpret(d, t.Elem) })
	case Map:
		tool.DecodeMap[string](d, t.length(), t.Key.stringRule(), func(d *tool.Decoder) any { return interpret(d, t.Elem) })
	case Boolean:
		d.Bool(t.boolRule())
	case Integer:
		d.Integer(numberRule[int64](t))
	case Unsigned:
		d.Unsigned(numberRule[uint64](t))
	case Number:
		d.Float(numberRule[float64](t))
	case String:
		d.String(t.stringRule())
	case Bytes:
		d.Bytes(t.length())
	default:
		d.Any()
	}
	return nil
}

func interpretObject(d *tool.Decoder, n *Named) any {
	start, ok := d.Object()
	if !ok {
		return nil
	}
	fields := n.CodecFields()
	seen := make([]uint64, len(n.Fields)/64+1)
	for k := d.Key(); k != nil; k = d.Key() {
		name := string(k)
		i := slices.IndexFunc(n.Fields, func(f *Field) bool { return f.Name == name })
		switch {
		case i < 0:
			d.Unknown(fields)
		case d.First(seen, i):
			interpret(d, n.Fields[i].Type)
		}
	}
	d.EndObject(start, seen, fields)
	return nil
}

// CodecFields describes the fields of n to the codecs.
func (n *Named) CodecFields() *tool.Fields {
	fs := &tool.Fields{Union: n.Kind == Union}
	for i, f := range n.Fields {
		fs.Names = append(fs.Names, f.Name)
		fs.Types = append(fs.Types, f.Type.Kind.JSONType())
		if f.Required {
			fs.Required = append(fs.Required, i)
		}
	}
	for _, group := range n.AtLeastOne {
		var is []int
		for _, name := range group {
			is = append(is, slices.Index(fs.Names, name))
		}
		fs.AtLeastOne = append(fs.AtLeastOne, is)
	}
	return fs
}

func (t *Type) length() *tool.Length {
	if t.MinLength == nil && t.MaxLength == nil {
		return nil
	}
	l := &tool.Length{Max: tool.NoLimit}
	if t.MinLength != nil {
		l.Min = *t.MinLength
	}
	if t.MaxLength != nil {
		l.Max = *t.MaxLength
	}
	return l
}

func (t *Type) stringRule() *tool.StringRule {
	r := &tool.StringRule{Length: t.length(), Format: tool.Format(t.Format), Enum: enum[string](t)}
	if t.Pattern != "" {
		r.Pattern = tool.MustPattern(t.Pattern)
	}
	return r
}

func (t *Type) boolRule() *tool.BoolRule {
	if t.Enum == nil {
		return nil
	}
	return &tool.BoolRule{Enum: enum[bool](t)}
}

func enum[T any](t *Type) (list []T) {
	for _, e := range t.Enum {
		list = append(list, e.(T))
	}
	return list
}

func numberRule[T int64 | uint64 | float64](t *Type) *tool.NumberRule[T] {
	bound := func(v any) *T {
		if v == nil {
			return nil
		}
		return new(v.(T))
	}
	t = t.Bounded()
	return &tool.NumberRule[T]{Min: bound(t.Min), Max: bound(t.Max), ExclusiveMin: bound(t.ExclusiveMin),
		ExclusiveMax: bound(t.ExclusiveMax), Enum: enum[T](t)}
}

// value renders a default as JSON and checks it.
func (b *Builder) value(t *Type, v any, at, what string) []byte {
	text, err := Literal(t, v)
	if err != nil {
		b.problem(at, "the %s %v", what, err)
		return nil
	}
	if issues := Check(t, text); len(issues) > 0 {
		b.problem(at, "the %s %s is not valid: %v", what, text, fmt.Sprint(issues))
	}
	return text
}
