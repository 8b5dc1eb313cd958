package codegen

import (
	"fmt"
	"strconv"
	"strings"

	"goa.design/goa/v3/codegen"
	goaservice "goa.design/goa/v3/codegen/service"
	goaexpr "goa.design/goa/v3/expr"

	"toolsvc/toolset/expr"
	"toolsvc/toolset/shape"
)

// This file writes what turns values of a toolset into values of a Goa service, and back.

// named is x as a value of another type, if it is one.
func named(want, have, x string) string {
	if want = plainRef(want); want == have {
		return x
	}
	return want + "(" + x + ")"
}

// typeOf is the Go type of a value of the toolset, seen from outside of its package.
func (b *binder) typeOf(t *shape.Type) string {
	switch {
	case t.Kind == shape.Object || t.Kind == shape.Union:
		return "*" + b.tools + "." + t.Named.Name
	case t.Named != nil:
		return b.tools + "." + t.Named.Name
	case t.Kind == shape.Array:
		return "[]" + b.typeOf(t.Elem)
	case t.Kind == shape.Map:
		return "map[" + b.typeOf(t.Key) + "]" + b.typeOf(t.Elem)
	}
	return underlying(t)
}

// toService is the expression that makes a value of the service from x, one of the toolset. Objects are pointers, nil stays nil.
func (b *binder) toService(s *goaservice.Data, t *shape.Type, a *goaexpr.AttributeExpr, x string) string {
	to, from := b.ref(s, a), b.typeOf(t)
	if t.Kind != shape.Object && t.Named == nil {
		to = strings.TrimPrefix(to, "*")
	}
	switch t.Kind {
	case shape.Object:
		return b.helper(to, from, "ToService", t, a, func(name string) {
			b.f("func %s(v %s) %s {\nif v == nil {\nreturn nil\n}\nout := &%s{}\n", name, from, to, plainRef(to))
			att := a.Type.(goaexpr.UserType).Attribute()
			for _, nat := range *goaexpr.AsObject(att.Type) {
				f := t.Named.Field(nat.Name)
				dst := "out." + codegen.GoifyAtt(nat.Attribute, nat.Name, true)
				if d := defaultOf(att, nat); d != "" && (f == nil || f.Pointer(t.Named)) {
					b.f("%s = %s\n", dst, d)
				}
				if f != nil {
					b.assign(dst, "v."+f.GoName, att.IsPrimitivePointer(nat.Name, true), primitivePointer(f, t.Named), func(x string) string {
						return b.toService(s, f.Type, nat.Attribute, x)
					})
				}
			}
			b.f("return out\n}\n\n")
		}) + "(" + x + ")"
	case shape.Array:
		elem := goaexpr.AsArray(a.Type).ElemType
		return named(to, "[]"+b.ref(s, elem), fmt.Sprintf("service.List(%s, func(v %s) %s { return %s })", x, b.typeOf(t.Elem), b.elemRef(s, elem), b.toService(s, t.Elem, elem, "v")))
	case shape.Map:
		m := goaexpr.AsMap(a.Type)
		return named(to, "", fmt.Sprintf("service.Table(%s, func(k %s) %s { return %s }, func(v %s) %s { return %s })", x,
			b.typeOf(t.Key), b.elemRef(s, m.KeyType), b.toService(s, t.Key, m.KeyType, "k"),
			b.typeOf(t.Elem), b.elemRef(s, m.ElemType), b.toService(s, t.Elem, m.ElemType, "v")))
	case shape.Any:
		return x
	}
	return named(to, from, x)
}

// fromService is the expression that makes a value of the toolset from x, one of the service.
func (b *binder) fromService(s *goaservice.Data, t *shape.Type, a *goaexpr.AttributeExpr, x string) string {
	from, to := b.ref(s, a), b.typeOf(t)
	switch t.Kind {
	case shape.Object:
		return b.helper(to, from, "FromService", t, a, func(name string) {
			b.f("func %s(v %s) %s {\nif v == nil {\nreturn nil\n}\nout := %s\n", name, from, to, b.fresh(t.Named))
			att := a.Type.(goaexpr.UserType).Attribute()
			for _, f := range t.Named.Fields {
				if nat := attribute(att, f.Name); nat != nil {
					b.assignBack(s, f, t.Named, att, nat, "v")
				}
			}
			b.f("return out\n}\n\n")
		}) + "(" + x + ")"
	case shape.Array:
		elem := goaexpr.AsArray(a.Type).ElemType
		return named(to, "[]"+b.typeOf(t.Elem), fmt.Sprintf("service.List(%s, func(v %s) %s { return %s })", x, b.elemRef(s, elem), b.typeOf(t.Elem), b.fromService(s, t.Elem, elem, "v")))
	case shape.Map:
		m := goaexpr.AsMap(a.Type)
		return named(to, "map["+b.typeOf(t.Key)+"]"+b.typeOf(t.Elem), fmt.Sprintf("service.Table(%s, func(k %s) %s { return %s }, func(v %s) %s { return %s })", x,
			b.elemRef(s, m.KeyType), b.typeOf(t.Key), b.fromService(s, t.Key, m.KeyType, "k"),
			b.elemRef(s, m.ElemType), b.typeOf(t.Elem), b.fromService(s, t.Elem, m.ElemType, "v")))
	case shape.Any:
		return x
	}
	return named(to, plainRef(from), x)
}

// elemRef is the Go type of an element: a pointer for objects only.
func (b *binder) elemRef(s *goaservice.Data, a *goaexpr.AttributeExpr) string {
	ref := b.ref(s, a)
	if !goaexpr.IsObject(a.Type) {
		return plainRef(ref)
	}
	return ref
}

func attribute(a *goaexpr.AttributeExpr, name string) *goaexpr.NamedAttributeExpr {
	for _, nat := range *goaexpr.AsObject(a.Type) {
		if nat.Name == name {
			return nat
		}
	}
	return nil
}

// assignBack assigns an attribute of an object of the service to a field of out.
func (b *binder) assignBack(s *goaservice.Data, f *shape.Field, owner *shape.Named, att *goaexpr.AttributeExpr, nat *goaexpr.NamedAttributeExpr, from string) {
	src := from + "." + codegen.GoifyAtt(nat.Attribute, nat.Name, true)
	b.assign("out."+f.GoName, src, primitivePointer(f, owner), att.IsPrimitivePointer(nat.Name, true), func(x string) string {
		return some(b.fromService(s, f.Type, nat.Attribute, x), f.Required && f.Type.Kind == shape.Array)
	})
}

// some has a list that must be there be empty rather than nil, as Go's services often leave it.
func some(x string, list bool) string {
	if !list {
		return x
	}
	return "service.Some(" + x + ")"
}

// fresh is a new value of a type of the toolset, with its defaults.
func (b *binder) fresh(n *shape.Named) string {
	if n.HasDefaults() {
		return fmt.Sprintf("%s.New%s()", b.tools, n.Name)
	}
	return fmt.Sprintf("&%s.%s{}", b.tools, n.Name)
}

// resultOf is the function that makes the tool's result from what a method answers.
func (b *binder) resultOf(s *goaservice.Data, t *expr.ToolExpr, answer *goaexpr.AttributeExpr) string {
	from, n := b.elemRef(s, answer), t.Result.Named
	return b.function("result "+n.Name+" "+from, n.Name+"Of", func(name string) {
		b.f("func %s(v %s) *%s.%s {\nout := %s\n", name, from, b.tools, n.Name, b.fresh(n))
		for _, r := range t.Bind.Results {
			if r.Attribute == "" {
				b.assign("out."+r.Field.GoName, "v", primitivePointer(r.Field, n), false, func(x string) string {
					return some(b.fromService(s, r.Field.Type, answer, x), r.Field.Required && r.Field.Type.Kind == shape.Array)
				})
				continue
			}
			att := answer
			if ut, ok := answer.Type.(goaexpr.UserType); ok {
				att = ut.Attribute()
			}
			b.assignBack(s, r.Field, n, att, attribute(att, r.Attribute), "v")
		}
		b.f("return out\n}\n\n")
	})
}

// plain is the expression that makes plain JSON values from x, a value of the service.
func (b *binder) plain(s *goaservice.Data, a *goaexpr.AttributeExpr, x string) string {
	switch dt := a.Type.(type) {
	case goaexpr.UserType:
		if obj := goaexpr.AsObject(dt); obj != nil {
			ref := b.ref(s, a)
			return b.function("plain "+ref, lower(strings.TrimPrefix(ref[strings.LastIndex(ref, ".")+1:], "*"))+"State", func(name string) {
				b.f("func %s(v %s) any {\nif v == nil {\nreturn nil\n}\nm := map[string]any{}\n", name, ref)
				b.plainFields(s, dt.Attribute())
				b.f("return m\n}\n\n")
			}) + "(" + x + ")"
		}
		return b.plain(s, dt.Attribute(), x)
	case *goaexpr.Array:
		return fmt.Sprintf("service.List(%s, func(v %s) any { return %s })", x, b.elemRef(s, dt.ElemType), b.plain(s, dt.ElemType, "v"))
	case *goaexpr.Map:
		return fmt.Sprintf("service.Table(%s, func(k %s) string { return string(k) }, func(v %s) any { return %s })", x,
			b.elemRef(s, dt.KeyType), b.elemRef(s, dt.ElemType), b.plain(s, dt.ElemType, "v"))
	}
	return x
}

// plainFields fills m; what is absent stays so.
func (b *binder) plainFields(s *goaservice.Data, a *goaexpr.AttributeExpr) {
	for _, nat := range *goaexpr.AsObject(a.Type) {
		x := "v." + codegen.GoifyAtt(nat.Attribute, nat.Name, true)
		value := b.plain(s, nat.Attribute, x)
		switch {
		case a.IsPrimitivePointer(nat.Name, true):
			b.f("if %s != nil {\nm[%q] = *%s\n}\n", x, nat.Name, x)
		case !a.IsRequired(nat.Name) && (!goaexpr.IsPrimitive(nat.Attribute.Type) || goaexpr.IsPrimitive(nat.Attribute.Type) && isNilable(nat.Attribute.Type)):
			b.f("if %s != nil {\nm[%q] = %s\n}\n", x, nat.Name, value)
		default:
			b.f("m[%q] = %s\n", nat.Name, some(value, goaexpr.AsArray(nat.Attribute.Type) != nil))
		}
	}
}

func isNilable(dt goaexpr.DataType) bool {
	return dt.Kind() == goaexpr.BytesKind || dt.Kind() == goaexpr.AnyKind
}

// helper is the name of the function that converts between two objects.
func (b *binder) helper(to, from, suffix string, t *shape.Type, a *goaexpr.AttributeExpr, write func(name string)) string {
	return b.function(to+" "+from, lower(t.Named.Name)+suffix, write)
}

// function has a function written once and returns its name.
func (b *binder) function(key, name string, write func(name string)) string {
	if n, ok := b.helpers[key]; ok {
		return n
	}
	name = lower(name)
	for i, base := 2, name; b.names[name]; i++ {
		name = base + strconv.Itoa(i)
	}
	b.names[name], b.helpers[key] = true, name
	b.pending = append(b.pending, func() { write(name) })
	return name
}
