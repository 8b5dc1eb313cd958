// Package shape is the resolved form of the types in a design: Goa's attributes with their aliases, bases, inline objects and
// validations merged, given Go names, and checked for everything that a strict JSON codec needs to know. Package expr builds
// shapes while it validates a design; package codegen generates Go code and JSON Schema from them. A shape that was built without
// problems can be generated without errors.
package shape

// Kind is what a value is in JSON, as precisely as Go needs it.
type Kind uint8

// The kinds.
const (
	Object Kind = iota + 1
	Union       // an object with exactly one field, which names the alternative
	Array
	Map // an object with any keys and values of one type
	Boolean
	Integer  // Native int, int32 or int64
	Unsigned // Native uint, uint32 or uint64
	Number   // Native float32 or float64
	String
	Bytes // base64 in a JSON string
	Any
)

// The keys of the metadata by which package dsl hands its declarations on attributes over.
const (
	MetaAtLeastOne = "toolset:at_least_one" // field names, separated by line feeds
	MetaSecret     = "toolset:secret"
	MetaMinimum    = "toolset:minimum" // a decimal integer
	MetaMaximum    = "toolset:maximum"
)

// Type is one use of a type: what a value in one place of a payload or result must be.
type Type struct {
	Kind Kind
	// Native is Go's own name of a primitive's type: "int32", "string"; "" for the other kinds.
	Native string
	// Named is the type of the design that is used here. It is set for every object and union, because inline ones get a name too.
	Named *Named
	// Description is that of this place, or else that of the named type.
	Description string
	// Secret marks a value that is never shown.
	Secret bool
	// Key and Elem are those of a map; an array has only Elem.
	Key, Elem *Type
	Rules
}

// Rules are what a value must keep besides its type, as JSON Schema has it. Bounds and enumerated numbers are int64, uint64 or
// float64, according to the kind.
type Rules struct {
	Enum                       []any
	Pattern                    string // in the dialect that RE2 and ECMA 262 read alike
	Format                     string
	Min, Max                   any
	ExclusiveMin, ExclusiveMax any
	// MinLength and MaxLength count the runes of a string, the bytes of Bytes, the elements of an array or the entries of a map.
	MinLength, MaxLength *int
}

// Named is a type that is generated under a name of its own.
type Named struct {
	// Name is the Go name, DesignName that of the design ("" for an inline type).
	Name, DesignName string
	Description      string
	// Kind is Object or Union; for an alias it is the kind of Alias.
	Kind  Kind
	Alias *Type // what an alias stands for; nil for objects and unions
	// Fields are those of an object, or the alternatives of a union, in design order.
	Fields []*Field
	// AtLeastOne lists groups of fields; of each group at least one must be there.
	AtLeastOne [][]string
	// Recursive is set when a value of the type can hold another one.
	Recursive bool
}

// Field is a field of an object or an alternative of a union.
type Field struct {
	Name   string // in JSON
	GoName string
	Type   *Type
	// Required fields have no default.
	Required bool
	// Default is the default as JSON, nil when there is none.
	Default []byte
}

// Pointer reports whether the Go field is a pointer to its type: alternatives of a union, objects, and optional primitives without
// a default. Slices, maps and any say by nil that they are absent.
func (f *Field) Pointer(owner *Named) bool {
	if owner.Kind == Union {
		return true
	}
	switch f.Type.Kind {
	case Object, Union:
		return true
	case Array, Map, Bytes, Any:
		return false
	}
	return !f.Required && f.Default == nil
}

// HasDefaults reports whether a field of n has a default.
func (n *Named) HasDefaults() bool {
	for _, f := range n.Fields {
		if f.Default != nil {
			return true
		}
	}
	return false
}

// Field returns the field of this JSON name, nil when there is none.
func (n *Named) Field(name string) *Field {
	for _, f := range n.Fields {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// JSONType is the JSON type of values of this kind, "" when every type is allowed.
func (k Kind) JSONType() string {
	switch k {
	case Object, Union, Map:
		return "object"
	case Array:
		return "array"
	case Boolean:
		return "boolean"
	case Integer, Unsigned:
		return "integer"
	case Number:
		return "number"
	case String, Bytes:
		return "string"
	}
	return ""
}
