package repair

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"toolsvc/tool"
)

// schema is what repairing needs to know of a JSON Schema. What it does not know it leaves to the decoder, which has the last word.
type schema struct {
	root *schema // the document, for references

	Type            types              `json:"type"`
	Ref             string             `json:"$ref"`
	Defs            map[string]*schema `json:"$defs"`
	Properties      map[string]*schema `json:"properties"`
	Additional      *schema            `json:"additionalProperties"`
	Items           *schema            `json:"items"`
	Required        []string           `json:"required"`
	Enum            []any              `json:"enum"`
	ContentEncoding string             `json:"contentEncoding"`
	MaxItems        *int               `json:"maxItems"`
	AnyOf           []*schema          `json:"anyOf"`
	OneOf           []*schema          `json:"oneOf"`
	AllOf           []*schema          `json:"allOf"`
	WriteOnly       bool               `json:"writeOnly"`

	never bool // the schema false
}

// types is one name or several.
type types []string

func (t *types) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*t = types{""}
		return json.Unmarshal(b, &(*t)[0])
	}
	return json.Unmarshal(b, (*[]string)(t))
}

func (s *schema) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "true":
		return nil
	case "false":
		s.never = true
		return nil
	}
	type plain schema
	return json.Unmarshal(b, (*plain)(s))
}

// schemas are those that were read already. Specs do not change, and are few.
var schemas = struct {
	sync.Mutex
	of map[*tool.Spec]*schema
}{of: map[*tool.Spec]*schema{}}

// maxSchemas bounds them, for services that make specs as they go.
const maxSchemas = 1024

// schemaOf is the payload schema of a tool. It must not be changed.
func schemaOf(spec *tool.Spec) *schema {
	schemas.Lock()
	defer schemas.Unlock()
	s := schemas.of[spec]
	if s == nil {
		if len(schemas.of) >= maxSchemas {
			clear(schemas.of)
		}
		s = parseSchema(spec.PayloadSchema)
		schemas.of[spec] = s
	}
	return s
}

// parseSchema reads a schema. One that cannot be read allows everything, and so suggests nothing.
func parseSchema(b []byte) *schema {
	s := &schema{}
	if err := json.Unmarshal(b, s); err != nil {
		s = &schema{}
	}
	s.root = s
	return s
}

// resolve follows references, and looks through "this or null".
func (s *schema) resolve(root *schema) *schema {
	for range 16 {
		if s == nil {
			return nil
		}
		if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
			s = root.Defs[name]
			continue
		}
		if s.Ref == "#" {
			s = root
			continue
		}
		alternatives := append(slices.Clone(s.AnyOf), s.OneOf...)
		if len(s.Type) == 0 && len(alternatives) > 0 {
			alternatives = slices.DeleteFunc(alternatives, func(a *schema) bool { return a == nil || slices.Equal(a.Type, types{"null"}) })
			if len(alternatives) == 1 {
				s = alternatives[0]
				continue
			}
		}
		return s
	}
	return nil
}

// at returns the schema of the value at a pointer, nil where the schema says nothing.
func (s *schema) at(path string) *schema {
	at := s.resolve(s.root)
	for _, token := range tokens(path) {
		at = at.child(s.root, token)
	}
	return at
}

// child is the schema of a member or an element.
func (s *schema) child(root *schema, name string) *schema {
	switch {
	case s == nil:
		return nil
	case s.Properties[name] != nil:
		return s.Properties[name].resolve(root)
	case s.is("array"):
		return s.Items.resolve(root)
	case s.Additional != nil && !s.Additional.never && s.is("object"):
		return s.Additional.resolve(root)
	}
	return nil
}

// is reports whether values have this type, and no other beside null.
func (s *schema) is(name string) bool {
	return s != nil && slices.Contains(s.Type, name) && (len(s.Type) == 1 || len(s.Type) == 2 && slices.Contains(s.Type, "null"))
}

// only is the one type of values, "" when there are several.
func (s *schema) only() string {
	for _, t := range []string{"object", "array", "string", "integer", "number", "boolean"} {
		if s.is(t) {
			return t
		}
	}
	return ""
}

// closed reports whether an object may have no other fields than those of the schema.
func (s *schema) closed() bool { return s.is("object") && s.Additional != nil && s.Additional.never }

// full reports whether nothing can be added to a value.
func (s *schema) full(n *node) bool {
	switch {
	case n.kind == kindArray:
		return s.is("array") && s.MaxItems != nil && len(n.elems) >= *s.MaxItems
	case !s.closed():
		return false
	case len(s.OneOf) > 0:
		return len(n.names) > 0
	}
	for name := range s.Properties {
		if !slices.Contains(n.names, name) {
			return false
		}
	}
	return true
}

// demands reports whether an object that has the given fields lacks this one: it is required, or belongs to a group of which one is
// required and none is there.
func (s *schema) demands(name string, has []string) bool {
	if slices.Contains(s.Required, name) {
		return true
	}
	groups := [][]*schema{s.AnyOf, s.OneOf}
	for _, a := range s.AllOf {
		groups = append(groups, a.AnyOf)
	}
	for _, g := range groups {
		belongs, satisfied := false, false
		for _, alternative := range g {
			for _, r := range alternative.Required {
				belongs = belongs || r == name
				satisfied = satisfied || slices.Contains(has, r)
			}
		}
		if belongs && !satisfied {
			return true
		}
	}
	return false
}

// mentions reports whether any object of the document has a field of this folded name.
func (s *schema) mentions(folded string) bool {
	seen := map[*schema]bool{}
	var walk func(*schema) bool
	walk = func(s *schema) bool {
		if s == nil || seen[s] {
			return false
		}
		seen[s] = true
		for name, p := range s.Properties {
			if fold(name) == folded || walk(p) {
				return true
			}
		}
		for _, d := range s.Defs {
			if walk(d) {
				return true
			}
		}
		for _, list := range [][]*schema{s.AnyOf, s.OneOf, s.AllOf, {s.Items, s.Additional}} {
			for _, x := range list {
				if walk(x) {
					return true
				}
			}
		}
		return false
	}
	return walk(s.root)
}
