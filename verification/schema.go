package verification

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
)

// maxSchemaDepth bounds how deep a schema is followed; below it, values are dynamic.
const maxSchemaDepth = 32

// schemaTypes derives CEL types from one JSON Schema, so that args.targt is found before anything runs. A closed object becomes a
// type with known fields; whatever the schema leaves open stays dynamic.
type schemaTypes struct {
	root    any
	name    string
	objects []*object
	byRef   map[string]*cel.Type
}

// typesOf returns the CEL type of the values that a schema allows, and the object types that occur in it. name is how conditions
// call the value: args, result. Without a schema everything is dynamic.
func typesOf(name string, schema json.RawMessage) (*cel.Type, []*object, error) {
	if len(schema) == 0 {
		return cel.DynType, nil, nil
	}
	var root any
	if err := json.Unmarshal(schema, &root); err != nil {
		return nil, nil, fmt.Errorf("read the JSON Schema of %s: %w", name, err)
	}
	s := &schemaTypes{root: root, name: name, byRef: map[string]*cel.Type{}}
	t := s.typeOf(root, name, 0)
	return t, s.objects, nil
}

func (s *schemaTypes) typeOf(schema any, path string, depth int) *cel.Type {
	m, ok := schema.(map[string]any)
	if !ok || depth > maxSchemaDepth {
		return cel.DynType
	}
	if ref, ok := m["$ref"].(string); ok {
		return s.reference(ref, path, depth)
	}
	switch jsonType(m) {
	case "string":
		return cel.StringType
	case "boolean":
		return cel.BoolType
	case "integer":
		return cel.IntType
	case "number":
		return cel.DoubleType
	case "array":
		if items, ok := m["items"]; ok {
			return cel.ListType(s.typeOf(items, path+"[]", depth+1))
		}
		return cel.ListType(cel.DynType)
	case "object":
		return s.objectType(m, path, depth)
	}
	return cel.DynType
}

// objectType is the type of a closed object, or a map when its keys are free.
func (s *schemaTypes) objectType(m map[string]any, path string, depth int) *cel.Type {
	properties, _ := m["properties"].(map[string]any)
	switch extra := m["additionalProperties"].(type) {
	case bool:
		if !extra && m["patternProperties"] == nil {
			return s.closed(properties, path, depth)
		}
	case map[string]any:
		if len(properties) == 0 && m["patternProperties"] == nil {
			return cel.MapType(cel.StringType, s.typeOf(extra, path+"{}", depth+1))
		}
	}
	return cel.DynType
}

func (s *schemaTypes) closed(properties map[string]any, path string, depth int) *cel.Type {
	name := "the object " + path
	fields := make(map[string]*cel.Type, len(properties))
	for _, p := range slices.Sorted(maps.Keys(properties)) {
		fields[p] = s.typeOf(properties[p], path+"."+p, depth+1)
	}
	o := newObject(name, fields)
	s.objects = append(s.objects, o)
	return o.celType()
}

// reference follows a reference within the document. Each is resolved once, so that recursive schemas end.
func (s *schemaTypes) reference(ref, path string, depth int) *cel.Type {
	if t := s.byRef[ref]; t != nil {
		return t
	}
	target, ok := lookup(s.root, ref)
	if !ok {
		return cel.DynType
	}
	if m, ok := target.(map[string]any); ok && jsonType(m) == "object" && m["additionalProperties"] == false {
		// The name is known before the fields are, which lets a type hold itself.
		path = s.name + " at " + ref
		s.byRef[ref] = cel.ObjectType("the object " + path)
	}
	t := s.typeOf(target, path, depth+1)
	s.byRef[ref] = t
	return t
}

// lookup follows a JSON Pointer fragment ("#/$defs/Target").
func lookup(root any, ref string) (any, bool) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	if pointer == "" {
		return root, true
	}
	v := root
	for _, p := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		p = strings.ReplaceAll(strings.ReplaceAll(p, "~1", "/"), "~0", "~")
		switch x := v.(type) {
		case map[string]any:
			if v, ok = x[p]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(p)
			if err != nil || i < 0 || i >= len(x) {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// jsonType is the one type that a schema allows besides null, "" when there is none or several.
func jsonType(m map[string]any) string {
	switch t := m["type"].(type) {
	case string:
		return t
	case []any:
		one := ""
		for _, x := range t {
			n, _ := x.(string)
			if n == "null" {
				continue
			}
			if one != "" {
				return ""
			}
			one = n
		}
		return one
	}
	if _, ok := m["properties"]; ok {
		return "object"
	}
	return ""
}

// provider is CEL's view of all declared objects.
type provider struct {
	types.Provider
	objects map[string]*object
}

func newProvider(base types.Provider, objects ...[]*object) *provider {
	p := &provider{Provider: base, objects: map[string]*object{}}
	for _, o := range slices.Concat(objects...) {
		p.objects[o.name] = o
	}
	return p
}

// FindStructType implements types.Provider.
func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if o := p.objects[name]; o != nil {
		return types.NewTypeTypeWithParam(o.celType()), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames implements types.Provider.
func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	if o := p.objects[name]; o != nil {
		return o.names, true
	}
	return p.Provider.FindStructFieldNames(name)
}

// FindStructFieldType implements types.Provider.
func (p *provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if o := p.objects[name]; o != nil {
		f, ok := o.fields[field]
		return f, ok
	}
	return p.Provider.FindStructFieldType(name, field)
}
