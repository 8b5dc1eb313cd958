package verification

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/interpreter"

	"toolsvc/tool"
)

// facts are what one judgement knows. They resolve the variables of expressions; what is missing or malformed resolves to an error
// that leaves an expression undecided.
type facts struct {
	args any
	// now is the evidence that page, target, element() and the like speak of; before is what before speaks of.
	now, before *tool.Evidence
	spec        *tool.Spec
	result      any            // as it was given
	known       map[string]any // what was resolved before
}

var _ interpreter.Activation = (*facts)(nil)

// newFacts prepares a judgement. The result may be JSON text, a decoded JSON value, or the tool's typed result.
func newFacts(spec *tool.Spec, args any, before, now *tool.Evidence, result any) *facts {
	if isNil(result) && now != nil {
		result = now.Values["result"]
	}
	return &facts{args: args, before: before, now: now, spec: spec, result: result, known: make(map[string]any, 8)}
}

// Parent implements interpreter.Activation.
func (f *facts) Parent() interpreter.Activation { return nil }

// ResolveName implements interpreter.Activation.
func (f *facts) ResolveName(name string) (any, bool) {
	if v, ok := f.known[name]; ok {
		return v, true
	}
	v, err := f.resolve(name)
	if err != nil {
		v = types.WrapErr(err)
	}
	f.known[name] = v
	return v, true
}

func (f *facts) resolve(name string) (any, error) {
	switch name {
	case "args":
		return f.args, nil
	case "result":
		return asJSON(f.spec, f.result)
	case elementsAfter:
		return elementsOf(f.now)
	case elementsBefore:
		return elementsOf(f.before)
	case documentsAfter, documentsBefore:
		e := f.now
		if name == documentsBefore {
			e = f.before
		}
		if e == nil {
			return nil, errors.New("there is no evidence of documents")
		}
		return documentsOf(e.Values)
	case "before":
		if f.before == nil || f.before.Values == nil {
			return nil, errors.New("there is no evidence from before the action")
		}
		values := make(map[string]any, len(beforeObject.names))
		for _, n := range beforeObject.names {
			if f.before.Values[n] == nil {
				continue
			}
			v, err := evidenceOf(f.before, n)
			if err != nil {
				v = types.WrapErr(err)
			}
			values[n] = v
		}
		return values, nil
	}
	return evidenceOf(f.now, name)
}

// evidenceOf reads one variable of evidence.
func evidenceOf(e *tool.Evidence, name string) (any, error) {
	if e == nil || e.Values[name] == nil {
		return nil, fmt.Errorf("there is no evidence of %s", name)
	}
	v := e.Values[name]
	t, ok := evidenceTypes[name]
	if !ok {
		return nil, fmt.Errorf("there is no variable %s", name)
	}
	if name == "document" {
		return readDocument(v)
	}
	if t.Kind() == types.StructKind {
		return canonicalObject(t.TypeName(), v)
	}
	c, err := canonical(v)
	if err == nil {
		c, err = shape(t, c)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// evidenceTypes are the types of all variables that evidence fills.
var evidenceTypes = evidenceVariables(after)

// elementsOf reads the elements of evidence.
func elementsOf(e *tool.Evidence) (any, error) {
	if e == nil {
		return nil, errors.New("there is no evidence of elements")
	}
	es := make(elements, len(e.Elements))
	for i, one := range e.Elements {
		es[i] = one
		if one.State == nil {
			continue
		}
		state, err := canonicalObject(elementObject.name, one.State)
		if err != nil {
			return nil, err
		}
		es[i].State = state.(map[string]any)
	}
	return es, nil
}

// asJSON turns a result into a canonical JSON value. A result that breaks its tool's own schema is an error.
func asJSON(spec *tool.Spec, result any) (any, error) {
	if isNil(result) {
		return nil, errors.New("there is no result")
	}
	var text []byte
	switch x := result.(type) {
	case json.RawMessage:
		text = x
	case []byte:
		text = x
	case map[string]any, []any, string, bool, float64:
		return canonical(x)
	default:
		encode := json.Marshal
		if spec.EncodeResult != nil {
			encode = spec.EncodeResult
		}
		var err error
		if text, err = encode(result); err != nil {
			return nil, fmt.Errorf("the result cannot be encoded: %w", err)
		}
	}
	v, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("the result cannot be read: %w", err)
	}
	return v, nil
}

// decode reads JSON text into a canonical value without losing digits.
func decode(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more text behind the JSON value")
	}
	return canonical(v)
}

func isNil(v any) bool {
	if v == nil {
		return true
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		return r.IsNil()
	}
	return false
}

// errUnobserved: the evidence was not asked about an element.
var errUnobserved = errors.New("is not observed")

// errAbsent: there is no such value in the evidence.
var errAbsent = errors.New("is absent")

// value returns what a read finds, or why it finds nothing.
func (f *facts) value(r read) (any, error) {
	if r.outside != nil {
		now, err := f.value(r.outside.now)
		if err != nil {
			return nil, err
		}
		before, err := f.value(r.outside.before)
		if err != nil {
			return nil, err
		}
		names := r.outside.names
		if r.outside.name != nil {
			name, err := f.value(*r.outside.name)
			if err != nil {
				return nil, err
			}
			s, ok := name.(string)
			if !ok {
				return nil, errAbsent
			}
			names = []string{s}
		}
		return changedOutside(now, names, before)
	}
	if r.document != nil {
		return f.documentValue(r)
	}
	if r.element == nil {
		v, _ := f.ResolveName(r.variable)
		return follow(v, r.steps)
	}
	q, err := r.element.query(f.args)
	if err != nil {
		return nil, errUnobserved
	}
	from := elementsAfter
	if r.element.before {
		from = elementsBefore
	}
	v, _ := f.ResolveName(from)
	if es, ok := v.(elements); ok {
		if state, ok := es.find(q); ok {
			return follow(state, r.steps)
		}
	}
	return nil, errUnobserved
}

// follow goes into a canonical value.
func follow(v any, steps []step) (any, error) {
	for _, s := range steps {
		if s.call != "" {
			section, err := findSection(v, s.name)
			if err != nil {
				return nil, errAbsent
			}
			v = section
			continue
		}
		switch x := v.(type) {
		case map[string]any:
			v = x[s.name]
		case []any:
			v = nil
			if s.name == "" && s.index < len(x) {
				v = x[s.index]
			}
		case *types.Err:
		default:
			v = nil
		}
	}
	if _, unreadable := v.(*types.Err); unreadable || v == nil {
		return nil, errAbsent
	}
	return v, nil
}

// query resolves the element's name and role against the arguments.
func (e elementRead) query(args any) (tool.ElementQuery, error) {
	name, err := e.name.resolve(args)
	if err != nil {
		return tool.ElementQuery{}, err
	}
	role, err := e.role.resolve(args)
	if err != nil {
		return tool.ElementQuery{}, err
	}
	if name == "" {
		return tool.ElementQuery{}, fmt.Errorf("%s is empty, so it names no element", e.name)
	}
	return tool.ElementQuery{Name: name, Role: role}, nil
}

// documentValue returns what a read finds in a document that is asked for by its path.
func (f *facts) documentValue(r read) (any, error) {
	path, err := r.document.resolve(f.args)
	if err != nil {
		return nil, errUnobserved
	}
	from := documentsAfter
	if r.document.before {
		from = documentsBefore
	}
	v, _ := f.ResolveName(from)
	docs, _ := v.(map[string]any)
	doc, ok := docs[path]
	if !ok {
		return nil, errUnobserved
	}
	return follow(doc, r.steps)
}

// resolve finds the path that the document is asked for by.
func (d documentRead) resolve(args any) (string, error) {
	path := d.path.text
	if d.path.args != nil {
		v, err := follow(args, d.path.args)
		if err != nil {
			return "", fmt.Errorf("%s is not in the payload, so it names no document", d.path)
		}
		var ok bool
		if path, ok = v.(string); !ok {
			return "", fmt.Errorf("%s is %s, so it names no document", d.path, kindOf(v))
		}
	}
	if path == "" {
		return "", fmt.Errorf("%s is empty, so it names no document", d.path)
	}
	return path, nil
}

func (o operand) resolve(args any) (string, error) {
	if o.args == nil {
		return o.text, nil
	}
	v, err := follow(args, o.args)
	if err != nil {
		return "", fmt.Errorf("%s is not in the payload, so it names no element", o)
	}
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("%s is %s, so it names no element", o, kindOf(v))
	}
	return s, nil
}
