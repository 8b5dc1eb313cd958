package shape

import (
	"fmt"
	"slices"

	"goa.design/goa/v3/codegen"
	goaexpr "goa.design/goa/v3/expr"
)

// Assignable says why a value of a toolset cannot become one of a Goa service (toService), or the other way round; "" when it can. Both
// need the same types; integers may become wider ones.
func Assignable(t *Type, a *goaexpr.AttributeExpr, toService bool) string {
	return assignable(t, a, toService, map[pair]bool{})
}

type pair struct {
	named *Named
	id    string
}

func assignable(t *Type, a *goaexpr.AttributeExpr, toService bool, seen map[pair]bool) string {
	if _, ok := a.Meta["struct:field:type"]; ok {
		return `its Go type is one of its own (Meta "struct:field:type")`
	}
	switch t.Kind {
	case Union:
		return "OneOf cannot be bound; declare an argument for each alternative"
	case Object:
		ut, ok := a.Type.(goaexpr.UserType)
		if !ok || !goaexpr.IsObject(ut) {
			if goaexpr.IsObject(a.Type) {
				return "the method's object is declared inline; give it a Type"
			}
			return mismatched(t, a)
		}
		p := pair{t.Named, ut.ID()}
		if seen[p] {
			return ""
		}
		seen[p] = true
		return objects(t.Named, ut.Attribute(), toService, seen)
	case Array:
		arr := goaexpr.AsArray(a.Type)
		if arr == nil {
			return mismatched(t, a)
		}
		if p := assignable(t.Elem, arr.ElemType, toService, seen); p != "" {
			return "its elements: " + p
		}
		return ""
	case Map:
		m := goaexpr.AsMap(a.Type)
		if m == nil {
			return mismatched(t, a)
		}
		if p := assignable(t.Key, m.KeyType, toService, seen); p != "" {
			return "its keys: " + p
		}
		if p := assignable(t.Elem, m.ElemType, toService, seen); p != "" {
			return "its values: " + p
		}
		return ""
	}
	p := primitiveOf(a.Type)
	if p == nil {
		return mismatched(t, a)
	}
	from, to := t.Native, codegen.GoNativeTypeName(p)
	if p.Kind() == goaexpr.BytesKind || p.Kind() == goaexpr.AnyKind || t.Kind == Bytes || t.Kind == Any {
		if p.Kind() == goaexpr.BytesKind && t.Kind == Bytes || p.Kind() == goaexpr.AnyKind && t.Kind == Any {
			return ""
		}
		return mismatched(t, a)
	}
	if !toService {
		from, to = to, from
	}
	if from == to || slices.Contains(widens[from], to) {
		return ""
	}
	return mismatched(t, a)
}

// widens lists the types that hold every value of a type.
var widens = map[string][]string{
	"int32": {"int", "int64"}, "int": {"int64"}, "int64": {"int"}, // int has 64 bits wherever toolsvc runs
	"uint32": {"uint", "uint64", "int", "int64"}, "uint": {"uint64"}, "uint64": {"uint"}, "float32": {"float64"},
}

func mismatched(t *Type, a *goaexpr.AttributeExpr) string {
	name := t.Kind.JSONType()
	if t.Native != "" {
		name = t.Native
	}
	if name == "" {
		name = "any"
	}
	return fmt.Sprintf("the tool has %s, the method %s", name, described(a.Type))
}

// objects compares the fields of two objects, which have the same names.
func objects(n *Named, a *goaexpr.AttributeExpr, toService bool, seen map[pair]bool) string {
	obj := goaexpr.AsObject(a.Type)
	for _, nat := range *obj {
		f := n.Field(nat.Name)
		switch {
		case f == nil && toService && a.IsRequired(nat.Name):
			return fmt.Sprintf("the tool's %s has no field %q, which the method's requires", n.Name, nat.Name)
		case f == nil:
			continue
		case toService && a.IsRequired(nat.Name) && !f.Required && f.Default == nil:
			return fmt.Sprintf("the field %q is optional, but the method requires it", nat.Name)
		case !toService && f.Required && !a.IsRequired(nat.Name) && nat.Attribute.DefaultValue == nil:
			return fmt.Sprintf("the field %q is required, but the method may leave it out", nat.Name)
		}
		if p := assignable(f.Type, nat.Attribute, toService, seen); p != "" {
			return fmt.Sprintf("the field %q: %s", nat.Name, p)
		}
	}
	for _, f := range n.Fields {
		if obj.Attribute(f.Name) == nil && (toService || f.Required) {
			return fmt.Sprintf("the method's %s has no attribute %q", described(a.Type), f.Name)
		}
	}
	return ""
}

// primitiveOf is the primitive that a type is, or stands for; nil when it is none.
func primitiveOf(dt goaexpr.DataType) goaexpr.DataType {
	for {
		switch x := dt.(type) {
		case goaexpr.Primitive:
			return x
		case goaexpr.UserType:
			dt = x.Attribute().Type
		default:
			return nil
		}
	}
}

// Readable lists why a value of a Goa service cannot be put into evidence, as plain JSON values; none when it can.
func Readable(a *goaexpr.AttributeExpr) []string {
	var problems []string
	seen := map[string]bool{}
	var walk func(a *goaexpr.AttributeExpr, at string)
	walk = func(a *goaexpr.AttributeExpr, at string) {
		if _, ok := a.Meta["struct:field:type"]; ok {
			problems = append(problems, at+` has a Go type of its own (Meta "struct:field:type")`)
			return
		}
		switch dt := a.Type.(type) {
		case goaexpr.UserType:
			if !seen[dt.ID()] {
				seen[dt.ID()] = true
				if o := goaexpr.AsObject(dt); o != nil {
					for _, nat := range *o {
						walk(nat.Attribute, at+"."+nat.Name)
					}
				} else {
					walk(dt.Attribute(), at)
				}
			}
		case *goaexpr.Object:
			problems = append(problems, at+" is an object that is declared inline; give it a Type")
		case *goaexpr.Union:
			problems = append(problems, at+" is a OneOf")
		case *goaexpr.Array:
			walk(dt.ElemType, at+"[]")
		case *goaexpr.Map:
			if primitiveOf(dt.KeyType.Type) != goaexpr.String {
				problems = append(problems, at+" is a map whose keys are no text")
			}
			walk(dt.ElemType, at+"{}")
		}
	}
	if a.Type == goaexpr.Empty {
		return []string{"the method answers nothing"}
	}
	if o, inline := a.Type.(*goaexpr.Object); inline { // Goa gives the object that a method answers a name of its own
		for _, nat := range *o {
			walk(nat.Attribute, "result."+nat.Name)
		}
		return problems
	}
	walk(a, "result")
	return problems
}
