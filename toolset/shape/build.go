package shape

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"goa.design/goa/v3/codegen"
	goaexpr "goa.design/goa/v3/expr"
)

// Builder resolves the types of one toolset. Go names are unique within it.
type Builder struct {
	// Types are the named types that were built, in the order of their first use.
	Types []*Named
	// Problems are the mistakes of the design that were met, as sentences that name the place.
	Problems []string

	names map[string]bool
	byID  map[string]*Named
	later []func() // what has to wait until all types are complete
}

// NewBuilder makes a builder; the reserved names are not given to types.
func NewBuilder(reserved ...string) *Builder {
	b := &Builder{names: map[string]bool{}, byID: map[string]*Named{}}
	for _, n := range reserved {
		b.names[n] = true
	}
	return b
}

var fieldName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

func (b *Builder) problem(at, format string, args ...any) {
	b.Problems = append(b.Problems, at+": "+fmt.Sprintf(format, args...))
}

// Root builds the payload or result type of a tool under the given Go name, which is one of the reserved ones: an object of its own, even when the design uses a type
// that others share. Extra fields are added at its end; methods are names that its Go fields must not have.
func (b *Builder) Root(a *goaexpr.AttributeExpr, name, at string, extra []*Field, methods ...string) *Type {
	n := &Named{Name: name, Kind: Object}
	t := &Type{Kind: Object, Named: n}
	if a == nil {
		a = &goaexpr.AttributeExpr{Type: &goaexpr.Object{}}
	}
	if !goaexpr.IsObject(a.Type) {
		b.problem(at, "must be an object, not %s", described(a.Type))
		return t
	}
	b.Types = append(b.Types, n)
	if ut, ok := a.Type.(goaexpr.UserType); ok {
		n.DesignName = ut.Name()
		a = ut.Attribute()
	}
	n.Description = a.Description
	b.fields(n, a, at, extra, methods)
	for _, f := range b.later {
		f()
	}
	b.later = nil
	return t
}

// Extra builds an optional array of strings or an optional string, as fields that every tool has.
func Extra(name, description string, array bool, maxLength, maxItems int) *Field {
	t := &Type{Kind: String, Native: "string", Rules: Rules{MaxLength: &maxLength}}
	if array {
		t = &Type{Kind: Array, Elem: t, Rules: Rules{MaxLength: &maxItems}}
	}
	t.Description = description
	return &Field{Name: name, Type: t}
}

func (b *Builder) unique(name string) string {
	for i, n := 2, name; ; i++ {
		if !b.names[n] && !b.names["New"+n] {
			b.names[n], b.names["New"+n] = true, true // the latter for its constructor
			return n
		}
		n = name + strconv.Itoa(i)
	}
}

// fields builds the fields of an object.
func (b *Builder) fields(n *Named, a *goaexpr.AttributeExpr, at string, extra []*Field, methods []string) {
	taken := map[string]bool{}
	for _, m := range methods {
		taken[m] = true
	}
	add := func(f *Field) {
		f.GoName = codegen.Goify(f.Name, true)
		for taken[f.GoName] {
			f.GoName += "_"
		}
		taken[f.GoName] = true
		n.Fields = append(n.Fields, f)
	}
	required := a.AllRequired()
	for _, nat := range *goaexpr.AsObject(a.Type) {
		here := at + "." + nat.Name
		if !fieldName.MatchString(nat.Name) {
			b.problem(here, "the name of a field is snake_case: a lower case letter, then at most 63 letters, digits and underscores")
		}
		if slices.ContainsFunc(extra, func(f *Field) bool { return f.Name == nat.Name }) {
			b.problem(here, "every tool has the argument %q already; a design cannot declare it", nat.Name)
			continue
		}
		f := &Field{Name: nat.Name, Required: slices.Contains(required, nat.Name)}
		f.Type = b.use(nat.Attribute, n.Name+codegen.Goify(nat.Name, true), here)
		if d := nat.Attribute.DefaultValue; d != nil {
			if f.Required {
				b.problem(here, "is required and has a default; a default can only stand in for an optional field")
			}
			f.Default = []byte("null") // until every type is complete
			b.later = append(b.later, func() { f.Default = b.value(f.Type, d, here, "default") })
		}
		add(f)
	}
	for _, r := range required {
		if n.Field(r) == nil {
			b.problem(at, "requires %q, which is not one of its fields", r)
		}
	}
	for _, f := range extra {
		f := *f
		add(&f)
	}
	b.atLeastOne(n, a, at)
}

func (b *Builder) atLeastOne(n *Named, a *goaexpr.AttributeExpr, at string) {
	for _, group := range a.Meta[MetaAtLeastOne] {
		fields := strings.Split(group, "\n")
		for i, name := range fields {
			switch f := n.Field(name); {
			case f == nil:
				b.problem(at, "AtLeastOne names %q, which is not one of its fields", name)
			case f.Required:
				b.problem(at, "AtLeastOne names %q, which is required anyway", name)
			case f.Default != nil:
				b.problem(at, "AtLeastOne names %q, which has a default", name)
			case slices.Contains(fields[:i], name):
				b.problem(at, "AtLeastOne names %q twice", name)
			}
		}
		n.AtLeastOne = append(n.AtLeastOne, fields)
	}
}

// use resolves one use of a type. An inline object or union gets the Go name.
func (b *Builder) use(a *goaexpr.AttributeExpr, name, at string) *Type {
	t := &Type{Description: a.Description}
	_, t.Secret = a.Meta[MetaSecret]
	if _, ok := a.Meta["struct:field:type"]; ok {
		b.problem(at, "Meta(\"struct:field:type\") has no meaning in a toolset")
	}
	if len(a.Bases) > 0 && !goaexpr.IsObject(a.Type) {
		b.problem(at, "only objects can extend a type")
	}
	if ut, ok := a.Type.(goaexpr.UserType); ok {
		if goaexpr.Root.UserType(ut.Name()) == nil && ut != goaexpr.Empty { // Goa wraps the alternatives of a union that have no name
			inner := *ut.Attribute()
			if inner.Description == "" {
				inner.Description = a.Description
			}
			return b.use(&inner, name, at)
		}
		return b.named(t, a, ut, at)
	}
	switch dt := a.Type.(type) {
	case *goaexpr.Object:
		t.Kind, t.Named = Object, &Named{Name: b.unique(name), Kind: Object, Description: a.Description}
		b.Types = append(b.Types, t.Named)
		b.fields(t.Named, a, at, nil, nil)
	case *goaexpr.Union:
		t.Kind, t.Named = Union, &Named{Name: b.unique(name), Kind: Union, Description: a.Description}
		b.Types = append(b.Types, t.Named)
		b.alternatives(t.Named, dt, at)
	case *goaexpr.Array:
		t.Kind = Array
		t.Elem = b.use(dt.ElemType, name+"Item", at+"[]")
	case *goaexpr.Map:
		t.Kind = Map
		t.Key = b.use(dt.KeyType, name+"Key", at+" (key)")
		t.Elem = b.use(dt.ElemType, name+"Value", at+"{}")
		if t.Key.Kind != String {
			b.problem(at, "the keys of a map are strings in JSON, not %s", described(dt.KeyType.Type))
		}
		if t.Key.Secret {
			b.problem(at, "a key cannot be secret, because it is part of every pointer; mark the map instead")
		}
	case goaexpr.Primitive:
		b.primitive(t, dt, at)
	default:
		b.problem(at, "%s cannot be used in a toolset", described(a.Type))
		t.Kind = Any
	}
	if t.Kind != Object && t.Kind != Union {
		t.Rules = b.rules(t, a, at)
		b.consistent(t, at)
	}
	return t
}

func (b *Builder) primitive(t *Type, p goaexpr.Primitive, at string) {
	t.Native = codegen.GoNativeTypeName(p)
	switch p {
	case goaexpr.Boolean:
		t.Kind = Boolean
	case goaexpr.Int, goaexpr.Int32, goaexpr.Int64:
		t.Kind = Integer
	case goaexpr.UInt, goaexpr.UInt32, goaexpr.UInt64:
		t.Kind = Unsigned
	case goaexpr.Float32, goaexpr.Float64:
		t.Kind = Number
	case goaexpr.String:
		t.Kind = String
	case goaexpr.Bytes:
		t.Kind = Bytes
	case goaexpr.Any:
		t.Kind = Any
	default:
		b.problem(at, "%s cannot be used in a toolset", p.Name())
		t.Kind = Any
	}
}

// alternatives builds those of a union.
func (b *Builder) alternatives(n *Named, u *goaexpr.Union, at string) {
	if len(u.Values) < 2 {
		b.problem(at, "OneOf needs at least two alternatives")
	}
	taken := map[string]bool{}
	for _, nat := range u.Values {
		here := at + "." + nat.Name
		if !fieldName.MatchString(nat.Name) {
			b.problem(here, "the name of an alternative is snake_case: a lower case letter, then at most 63 letters, digits and underscores")
		}
		if n.Field(nat.Name) != nil {
			b.problem(here, "is declared twice")
			continue
		}
		f := &Field{Name: nat.Name, GoName: codegen.Goify(nat.Name, true)}
		for taken[f.GoName] {
			f.GoName += "_"
		}
		taken[f.GoName] = true
		f.Type = b.use(nat.Attribute, n.Name+f.GoName, here)
		if nat.Attribute.DefaultValue != nil {
			b.problem(here, "an alternative cannot have a default")
		}
		n.Fields = append(n.Fields, f)
	}
}

// named resolves the use of a type of the design: an object or union by its name, an alias by what it stands for, with the rules
// of both.
func (b *Builder) named(t *Type, a *goaexpr.AttributeExpr, ut goaexpr.UserType, at string) *Type {
	own := ut.Attribute()
	if t.Description == "" {
		t.Description = own.Description
	}
	if _, ok := own.Meta[MetaSecret]; ok {
		t.Secret = true
	}
	if goaexpr.IsObject(ut) || goaexpr.IsUnion(ut) {
		if v := a.Validation; v != nil && len(v.Required) > 0 {
			b.problem(at, "Required inside this attribute would change the type %s everywhere; declare a type of its own", ut.Name())
		}
		t.Kind = Object
		if goaexpr.IsUnion(ut) {
			t.Kind = Union
		}
		t.Named = b.byID[ut.ID()]
		if t.Named == nil {
			n := &Named{Name: b.unique(codegen.Goify(ut.Name(), true)), DesignName: ut.Name(), Kind: t.Kind, Description: own.Description}
			b.byID[ut.ID()] = n
			b.Types = append(b.Types, n)
			t.Named = n
			if t.Kind == Union {
				b.alternatives(n, goaexpr.AsUnion(ut), ut.Name())
			} else {
				b.fields(n, own, ut.Name(), nil, nil)
			}
		}
		return t
	}
	under := b.use(own, codegen.Goify(ut.Name(), true), ut.Name()) // Goa lets no alias name itself, so this ends
	n := b.byID[ut.ID()]
	if n == nil {
		n = &Named{Name: b.unique(codegen.Goify(ut.Name(), true)), DesignName: ut.Name(), Kind: under.Kind, Alias: under, Description: own.Description}
		b.byID[ut.ID()] = n
		b.Types = append(b.Types, n)
	}
	t.Kind, t.Native, t.Key, t.Elem, t.Named = under.Kind, under.Native, under.Key, under.Elem, n
	if t.Kind == Object || t.Kind == Union { // an alias of an object type is that type
		t.Named = under.Named
	}
	t.Rules = b.both(under.Rules, b.rules(t, a, at), at)
	b.consistent(t, at)
	return t
}

// rules reads the validations of one attribute.
func (b *Builder) rules(t *Type, a *goaexpr.AttributeExpr, at string) Rules {
	var r Rules
	r.Min, r.Max = b.exact(t, a, MetaMinimum, at), b.exact(t, a, MetaMaximum, at)
	v := a.Validation
	if v == nil {
		return r
	}
	bound := func(f *float64, what string, exact any) any {
		if f == nil {
			return exact
		}
		if exact != nil {
			b.problem(at, "has two bounds of one kind: %s and Exact%s", what, what)
		}
		return b.bound(t, *f, what, at)
	}
	r.Min, r.Max = bound(v.Minimum, "Minimum", r.Min), bound(v.Maximum, "Maximum", r.Max)
	r.ExclusiveMin, r.ExclusiveMax = bound(v.ExclusiveMinimum, "ExclusiveMinimum", nil), bound(v.ExclusiveMaximum, "ExclusiveMaximum", nil)
	r.MinLength, r.MaxLength = v.MinLength, v.MaxLength
	for _, n := range []*int{v.MinLength, v.MaxLength} {
		if n != nil && *n < 0 {
			b.problem(at, "a length cannot be negative")
		}
	}
	if v.Format != "" {
		r.Format = formatNames[string(v.Format)]
		if r.Format == "" {
			b.problem(at, "the format %q is not known", v.Format)
		}
	}
	if v.Pattern != "" {
		p, err := Portable(v.Pattern)
		if err != nil {
			b.problem(at, "%v", err)
		}
		r.Pattern = p
	}
	for _, e := range v.Values {
		x, err := scalar(t, e)
		switch {
		case err != nil:
			b.problem(at, "Enum: %v", err)
		case slices.Contains(r.Enum, x):
			b.problem(at, "Enum lists %v twice", e)
		default:
			r.Enum = append(r.Enum, x)
		}
	}
	return r
}

// formatNames are the JSON Schema names of Goa's formats.
var formatNames = map[string]string{
	"date": "date", "date-time": "date-time", "uuid": "uuid", "email": "email", "hostname": "hostname", "ipv4": "ipv4", "ipv6": "ipv6",
	"ip": "ip", "uri": "uri", "mac": "mac", "cidr": "cidr", "regexp": "regex", "json": "json", "rfc1123": "rfc1123",
}

// exactly is the magnitude from which on a float64 may stand for an integer that it is not.
const exactly = 1 << 53

func (b *Builder) bound(t *Type, f float64, what, at string) any {
	switch t.Kind {
	case Number:
		return f
	case Integer, Unsigned:
		switch {
		case f != math.Trunc(f):
			b.problem(at, "%s(%v) of an integer must be an integer", what, f)
		case math.Abs(f) >= exactly:
			b.problem(at, "%s(%.0f): Goa keeps bounds as float64, which may have rounded this one; use ExactMinimum or ExactMaximum", what, f)
		case t.Kind == Unsigned && f < 0:
			b.problem(at, "%s(%.0f) of an unsigned integer must not be negative", what, f)
		case t.Kind == Unsigned:
			return uint64(f)
		default:
			return int64(f)
		}
	default:
		b.problem(at, "%s is for numbers", what)
	}
	return nil
}

func (b *Builder) exact(t *Type, a *goaexpr.AttributeExpr, key, at string) any {
	text := a.Meta[key]
	if len(text) == 0 {
		return nil
	}
	last := text[len(text)-1]
	switch t.Kind {
	case Integer:
		if n, err := strconv.ParseInt(last, 10, 64); err == nil {
			return n
		}
	case Unsigned:
		if n, err := strconv.ParseUint(last, 10, 64); err == nil {
			return n
		}
	default:
		b.problem(at, "ExactMinimum and ExactMaximum are for integers")
		return nil
	}
	b.problem(at, "the bound %s does not fit into %s", last, t.Native)
	return nil
}

// both merges the rules of an alias with those of its use; a value must keep all of them.
func (b *Builder) both(alias, use Rules, at string) Rules {
	r := use
	if len(use.Enum) == 0 {
		r.Enum = alias.Enum
	} else if len(alias.Enum) > 0 {
		for _, e := range use.Enum {
			if !slices.Contains(alias.Enum, e) {
				b.problem(at, "Enum lists %v, which the type does not allow", e)
			}
		}
	}
	r.Pattern, r.Format = one(b, at, "pattern", alias.Pattern, use.Pattern), one(b, at, "format", alias.Format, use.Format)
	r.MinLength, r.MaxLength = one(b, at, "least length", alias.MinLength, use.MinLength), one(b, at, "greatest length", alias.MaxLength, use.MaxLength)
	r.Min, r.ExclusiveMin = tighter(alias.Min, use.Min, 1), tighter(alias.ExclusiveMin, use.ExclusiveMin, 1)
	r.Max, r.ExclusiveMax = tighter(alias.Max, use.Max, -1), tighter(alias.ExclusiveMax, use.ExclusiveMax, -1)
	return r
}

// one returns the rule of an alias or that of its use; there cannot be two.
func one[T comparable](b *Builder, at, what string, alias, use T) T {
	var none T
	if alias != none && use != none && alias != use {
		b.problem(at, "has a %s, and so has its type; only one of them can stand", what)
	}
	if use != none {
		return use
	}
	return alias
}

// tighter returns the greater (sign 1) or the smaller (sign -1) of two bounds of one kind.
func tighter(a, b any, sign int) any {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case less(a, b) == (sign > 0):
		return b
	}
	return a
}

func described(t goaexpr.DataType) string {
	if t == nil {
		return "nothing"
	}
	return goaexpr.QualifiedTypeName(t)
}
