package shape

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// IntegerText renders any Go integer in decimal.
func IntegerText(v any) (string, bool) {
	switch x := reflect.ValueOf(v); {
	case !x.IsValid():
	case x.CanInt():
		return strconv.FormatInt(x.Int(), 10), true
	case x.CanUint():
		return strconv.FormatUint(x.Uint(), 10), true
	}
	return "", false
}

// scalar turns a value of an Enum into the Go type that Rules keep it in.
func scalar(t *Type, v any) (any, error) {
	x := reflect.ValueOf(v)
	switch t.Kind {
	case Boolean:
		if x.Kind() == reflect.Bool {
			return x.Bool(), nil
		}
	case String:
		if x.Kind() == reflect.String {
			return x.String(), nil
		}
	case Integer, Unsigned:
		text, ok := IntegerText(v)
		if !ok {
			break
		}
		if t.Kind == Integer {
			if n, err := strconv.ParseInt(text, 10, bits(t.Native)); err == nil {
				return n, nil
			}
		} else if n, err := strconv.ParseUint(text, 10, bits(t.Native)); err == nil {
			return n, nil
		}
		return nil, fmt.Errorf("%s does not fit into %s", text, t.Native)
	case Number:
		if f, ok := float(x); ok {
			return f, nil
		}
	default:
		return nil, fmt.Errorf("only booleans, numbers and strings can be enumerated")
	}
	return nil, fmt.Errorf("%#v is not of type %s", v, t.Native)
}

func bits(native string) int {
	if native == "int32" || native == "uint32" || native == "float32" {
		return 32
	}
	return 64
}

// float reads any Go number as a finite float64. A float32 counts as the shortest decimal that means it, as it is written in JSON.
func float(x reflect.Value) (f float64, ok bool) {
	switch {
	case !x.IsValid():
		return 0, false
	case x.CanInt():
		f = float64(x.Int())
	case x.CanUint():
		f = float64(x.Uint())
	case x.Kind() == reflect.Float32:
		f, _ = strconv.ParseFloat(strconv.FormatFloat(x.Float(), 'g', -1, 32), 64)
	case x.CanFloat():
		f = x.Float()
	default:
		return 0, false
	}
	return f, !math.IsNaN(f) && !math.IsInf(f, 0)
}

// Literal renders a value of a design (of a Default or an Example) as JSON. Keys come in design order, those that the type does not
// know last, so that a check of the text names them. A value of another type than t's is rendered as what it is.
func Literal(t *Type, v any) ([]byte, error) { return appendLiteral(nil, t, reflect.ValueOf(v)) }

func appendLiteral(b []byte, t *Type, v reflect.Value) ([]byte, error) {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Invalid:
		return append(b, "null"...), nil
	case reflect.Map:
		return appendObject(b, t, v)
	case reflect.Slice, reflect.Array:
		if t != nil && t.Kind == Bytes && v.Type().Elem().Kind() == reflect.Uint8 {
			return jsontext.AppendQuote(b, base64.StdEncoding.EncodeToString(v.Bytes()))
		}
		var elem *Type
		if t != nil {
			elem = t.Elem
		}
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			var err error
			if b, err = appendLiteral(b, elem, v.Index(i)); err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
		}
		return append(b, ']'), nil
	case reflect.String:
		s := v.String()
		if t != nil && t.Kind == Bytes {
			s = base64.StdEncoding.EncodeToString([]byte(s))
		}
		return jsontext.AppendQuote(b, s)
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool()), nil
	}
	if text, ok := IntegerText(v.Interface()); ok {
		return append(b, text...), nil
	}
	if f, ok := float(v); ok {
		text, err := json.Marshal(f)
		return append(b, text...), err
	}
	return nil, fmt.Errorf("%v has no form in JSON", v)
}

func appendObject(b []byte, t *Type, v reflect.Value) ([]byte, error) {
	values := map[string]reflect.Value{}
	for _, k := range v.MapKeys() {
		for k.Kind() == reflect.Interface {
			k = k.Elem()
		}
		if k.Kind() != reflect.String {
			return nil, fmt.Errorf("the key %v is not a string", k)
		}
		values[k.String()] = v.MapIndex(k)
	}
	var err error
	b = append(b, '{')
	add := func(name string, t *Type) {
		if err != nil {
			return
		}
		if len(b) > 0 && b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		if b, err = jsontext.AppendQuote(b, name); err == nil {
			b, err = appendLiteral(append(b, ':'), t, values[name])
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		delete(values, name)
	}
	if t != nil && (t.Kind == Object || t.Kind == Union) {
		for _, f := range t.Named.Fields {
			if _, ok := values[f.Name]; ok {
				add(f.Name, f.Type)
			}
		}
	}
	var rest []string
	for name := range values {
		rest = append(rest, name)
	}
	slices.Sort(rest)
	for _, name := range rest {
		var elem *Type
		if t != nil && t.Kind == Map {
			elem = t.Elem
		}
		add(name, elem)
	}
	if err != nil {
		return nil, err
	}
	return append(b, '}'), nil
}
