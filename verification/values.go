package verification

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
)

// fieldType makes the accessor of one field of a canonical object. It fails closed: an absent field, null, and a value of another
// type than declared are errors, which leave a condition undecided.
func fieldType(owner, name string, t *cel.Type) *types.FieldType {
	return &types.FieldType{
		Type: t,
		IsSet: func(target any) bool {
			m, ok := target.(map[string]any)
			return ok && m[name] != nil
		},
		GetFrom: func(target any) (any, error) {
			m, ok := target.(map[string]any)
			if !ok {
				return nil, fmt.Errorf("%s is not an object in the evidence", owner)
			}
			switch v := m[name].(type) {
			case nil:
				return nil, fmt.Errorf("%s has no %s", owner, name)
			case *types.Err:
				return nil, v
			default:
				v, err := shape(t, v)
				if err != nil {
					return nil, fmt.Errorf("%s of %s: %w", name, owner, err)
				}
				return v, nil
			}
		},
	}
}

// canonicalObject is canonical for an object of evidence. A field that cannot be read becomes an error in its place, so that it spoils
// no condition but those that read it.
func canonicalObject(owner string, v any) (any, error) {
	m, ok := v.(map[string]any)
	if !ok {
		c, err := canonical(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", owner, err)
		}
		if m, ok = c.(map[string]any); !ok {
			return nil, fmt.Errorf("%s: expected an object, found %s", owner, kindOf(c))
		}
	}
	out := m
	for k, x := range m {
		y, err := canonical(x)
		if err != nil {
			y = types.WrapErr(fmt.Errorf("%s of %s: %w", k, owner, err))
		} else if same(x, y) {
			continue
		}
		if reflect.ValueOf(out).Pointer() == reflect.ValueOf(m).Pointer() {
			out = maps.Clone(m)
		}
		out[k] = y
	}
	return out, nil
}

// shape checks that a canonical value is of type t, and turns its numbers into what t wants.
func shape(t *cel.Type, v any) (any, error) {
	switch t.Kind() {
	case types.StringKind:
		return want[string](v)
	case types.BoolKind:
		return want[bool](v)
	case types.StructKind:
		return want[map[string]any](v)
	case types.IntKind:
		return whole(v)
	case types.DoubleKind:
		if n, ok := v.(int64); ok {
			return float64(n), nil
		}
		return want[float64](v)
	case types.ListKind:
		return shapeList(t.Parameters()[0], v)
	case types.MapKind:
		return shapeMap(t.Parameters()[1], v)
	}
	return v, nil
}

// shapeList is shape for the elements of a list; it copies the list only when they change.
func shapeList(elem *cel.Type, v any) (any, error) {
	l, ok := v.([]any)
	if !ok {
		return want[[]any](v)
	}
	out := l
	for i, x := range l {
		y, err := shape(elem, x)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
		if same(x, y) {
			continue
		}
		if &out[0] == &l[0] {
			out = slices.Clone(l)
		}
		out[i] = y
	}
	return out, nil
}

// shapeMap is shape for the values of a map.
func shapeMap(elem *cel.Type, v any) (any, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return want[map[string]any](v)
	}
	out := make(map[string]any, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		y, err := shape(elem, m[k])
		if err != nil {
			return nil, fmt.Errorf("entry %q: %w", k, err)
		}
		out[k] = y
	}
	return out, nil
}

// whole converts a number without a fraction; JSON does not tell 3 from 3.0.
func whole(v any) (any, error) {
	switch n := v.(type) {
	case int64:
		return n, nil
	case float64:
		if n == math.Trunc(n) && math.Abs(n) <= 1<<53 {
			return int64(n), nil
		}
		return nil, fmt.Errorf("expected a whole number, found %v", n)
	}
	return nil, fmt.Errorf("expected a whole number, found %s", kindOf(v))
}

// want requires a canonical value to be a T.
func want[T any](v any) (any, error) {
	if _, ok := v.(T); !ok {
		var t T
		return nil, fmt.Errorf("expected %s, found %s", kindOf(any(t)), kindOf(v))
	}
	return v, nil
}

// errTooBig is one error for all places, so that it does not depend on the order in which a map is walked.
var errTooBig = fmt.Errorf("it holds more than %d values, more than a condition may read", maxValues)

// canonical brings a value into the form that encoding/json decodes into: nil, bool, float64, string, []any, map[string]any. It
// copies only what has another form. Whole numbers that a float64 cannot hold exactly stay int64. Values beyond the bounds of
// limits.go are errors.
func canonical(v any) (any, error) {
	budget := maxValues
	return canonicalWithin(v, maxNested, &budget)
}

func canonicalWithin(v any, depth int, budget *int) (any, error) {
	if *budget--; *budget < 0 {
		return nil, errTooBig
	}
	if depth < 0 {
		return nil, fmt.Errorf("it nests deeper than %d levels, deeper than a condition may read", maxNested)
	}
	switch x := v.(type) {
	case nil, bool:
		return v, nil
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, errors.New("it is not a number that JSON can hold")
		}
		return v, nil
	case string:
		if len(x) > maxText {
			return nil, tooLong(len(x))
		}
		return v, nil
	case json.Number:
		return number(x)
	case []any:
		return canonicalList(x, depth, budget)
	case map[string]any:
		return canonicalMap(x, depth, budget)
	}
	return canonicalOther(v, depth, budget)
}

func canonicalList(l []any, depth int, budget *int) (any, error) {
	if len(l) > maxItems {
		return nil, tooMany(len(l))
	}
	out := l
	for i, x := range l {
		y, err := canonicalWithin(x, depth-1, budget)
		if errors.Is(err, errTooBig) {
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
		if same(x, y) {
			continue
		}
		if &out[0] == &l[0] {
			out = slices.Clone(l)
		}
		out[i] = y
	}
	return out, nil
}

func canonicalMap(m map[string]any, depth int, budget *int) (any, error) {
	if len(m) > maxItems {
		return nil, tooMany(len(m))
	}
	out := m
	var first error // of the smallest key, because the order of a map is random and a verdict must not be
	var firstKey string
	for k, x := range m {
		y, err := canonicalWithin(x, depth-1, budget)
		switch {
		case errors.Is(err, errTooBig):
			return nil, err
		case err != nil:
			if first == nil || k < firstKey {
				first, firstKey = err, k
			}
		case !same(x, y):
			if reflect.ValueOf(out).Pointer() == reflect.ValueOf(m).Pointer() {
				out = maps.Clone(m)
			}
			out[k] = y
		}
	}
	if first != nil {
		return nil, fmt.Errorf("entry %q: %w", firstKey, first)
	}
	return out, nil
}

// canonicalOther handles what executors in this process put into evidence besides JSON's own types: Go's other numbers, named
// types, []string, []map[string]any.
func canonicalOther(v any, depth int, budget *int) (any, error) {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return exact(r.Int()), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if r.Uint() > math.MaxInt64 {
			return float64(r.Uint()), nil
		}
		return exact(int64(r.Uint())), nil
	case reflect.Float32, reflect.Float64:
		return canonicalWithin(r.Float(), depth, budget)
	case reflect.String:
		return canonicalWithin(r.String(), depth, budget)
	case reflect.Bool:
		return r.Bool(), nil
	case reflect.Slice, reflect.Array:
		if r.Len() > maxItems {
			return nil, tooMany(r.Len())
		}
		l := make([]any, r.Len())
		for i := range l {
			l[i] = r.Index(i).Interface()
		}
		return canonicalList(l, depth, budget)
	case reflect.Map:
		if r.Type().Key().Kind() != reflect.String {
			break
		}
		if r.Len() > maxItems {
			return nil, tooMany(r.Len())
		}
		m := make(map[string]any, r.Len())
		for it := r.MapRange(); it.Next(); {
			m[it.Key().String()] = it.Value().Interface()
		}
		return canonicalMap(m, depth, budget)
	}
	return nil, fmt.Errorf("it is a %T, which is no JSON value", v)
}

// same reports whether y is x, unconverted; containers are compared by identity.
func same(x, y any) bool {
	switch a := x.(type) {
	case nil, bool, float64, int64, string:
		return x == y
	case []any:
		b, ok := y.([]any)
		return ok && len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
	case map[string]any:
		b, ok := y.(map[string]any)
		return ok && reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
	}
	return false
}

// number converts a number of JSON text.
func number(n json.Number) (any, error) {
	if i, err := n.Int64(); err == nil {
		return exact(i), nil
	}
	f, err := n.Float64()
	if err != nil {
		return nil, fmt.Errorf("the number %.40s is out of range", n)
	}
	return f, nil
}

// exact is i as encoding/json decodes it, unless that would lose digits.
func exact(i int64) any {
	if i >= -(1<<53) && i <= 1<<53 {
		return float64(i)
	}
	return i
}

func tooLong(n int) error {
	return fmt.Errorf("the text has %d bytes, more than the %d that a condition may read", n, maxText)
}

func tooMany(n int) error {
	return fmt.Errorf("it has %d entries, more than the %d that a condition may read", n, maxItems)
}

// kindOf names the JSON type of a canonical value.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case float64, int64:
		return "a number"
	case string:
		return "text"
	case []any:
		return "a list"
	}
	return "an object"
}
