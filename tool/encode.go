package tool

import (
	"encoding/base64"
	stdjson "encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Encoder writes one JSON document and checks it in the same pass, driven by generated code. What it accepts, [Decode] accepts too.
// Offsets of its issues count from the start of the text that would have been written.
type Encoder struct {
	text     []byte
	findings []finding
	path     []step
	started  []int // where the objects and arrays that are open start
}

// step is one step of a path: a key, or an index when key is nil.
type step struct {
	key   string
	index int // -1 for a key
}

var encoders = sync.Pool{New: func() any { return &Encoder{} }}

// Encode renders a value with a generated function. It returns the text, or all issues as an [Issues] error. A nil value is an issue.
func Encode[T any](v *T, doc *Document, encode func(*Encoder, *T)) ([]byte, error) {
	e := encoders.Get().(*Encoder)
	e.text, e.findings, e.path, e.started = e.text[:0], nil, e.path[:0], e.started[:0]
	if v == nil {
		f := finding{}
		f.Constraint, f.ExpectedType, f.Got = "type", "object", "null"
		e.add(f)
	} else {
		encode(e, v)
	}
	if len(e.text) > doc.MaxBytes {
		f := finding{count: len(e.text)}
		f.Constraint, f.Limit = ConstraintMaxBytes, doc.MaxBytes
		e.findings = append(e.findings[:0:0], f)
	}
	text, found := slices.Clone(e.text), e.findings
	if cap(e.text) > 64<<10 {
		e.text = nil // a large buffer is not kept for the many small documents
	}
	encoders.Put(e)
	if len(found) > 0 {
		return nil, report(found, doc)
	}
	return text, nil
}

// add collects a finding at the value whose path is open.
func (e *Encoder) add(f finding) {
	if len(e.findings) < MaxIssues {
		f.Path = e.pointer() + f.Path
		e.findings = append(e.findings, f)
	}
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func (e *Encoder) pointer() string {
	var b strings.Builder
	for _, s := range e.path {
		b.WriteByte('/')
		if s.index >= 0 {
			b.WriteString(strconv.Itoa(s.index))
		} else {
			b.WriteString(pointerEscapes.Replace(s.key))
		}
	}
	return b.String()
}

// violated collects the rules that the value written from start on does not keep.
func (e *Encoder) violated(vs []violation, want string, start int) {
	for _, v := range vs {
		f := v.finding(want)
		f.Got, f.Offset = clipped(e.text[start:]), int64(start)
		e.add(f)
	}
}

// value writes what stands before a value, and returns where the value starts.
func (e *Encoder) value() int {
	if n := len(e.path); n > 0 && e.path[n-1].index > 0 {
		e.text = append(e.text, ',')
	}
	return len(e.text)
}

// Object starts an object. It returns false when it is nested too deep; then it must not be ended.
func (e *Encoder) Object() bool { return e.open('{', "object") }

func (e *Encoder) open(c byte, want string) bool {
	start := e.value()
	if len(e.started) >= MaxDepth {
		f := finding{}
		f.Constraint, f.Limit, f.ExpectedType, f.Offset = ConstraintMaxDepth, MaxDepth, want, int64(start)
		e.add(f)
		return false
	}
	e.text = append(e.text, c)
	e.started = append(e.started, start)
	e.path = append(e.path, step{index: -1})
	return true
}

// Key writes a key, which stands for the value that is written next.
func (e *Encoder) Key(name string) {
	if e.text[len(e.text)-1] != '{' {
		e.text = append(e.text, ',')
	}
	e.path[len(e.path)-1].key = name
	e.text = append(append(append(e.text, '"'), name...), '"', ':')
}

// EndObject ends an object, and reports what it lacks.
func (e *Encoder) EndObject(seen []uint64, fields *Fields) {
	start := e.closed('}')
	for _, f := range fields.lacking(seen) {
		f.Offset = int64(start)
		e.add(f)
	}
}

// closed ends an object or array and returns where it starts.
func (e *Encoder) closed(c byte) int {
	e.text = append(e.text, c)
	start := e.started[len(e.started)-1]
	e.started, e.path = e.started[:len(e.started)-1], e.path[:len(e.path)-1]
	return start
}

// Mark marks the i-th field of an object as there.
func (*Encoder) Mark(seen []uint64, i int) { seen[i/64] |= 1 << (i % 64) }

// String writes a string; a nil rule allows all that is valid UTF-8.
func (e *Encoder) String(s string, r *StringRule) {
	start := e.value()
	if !e.quoted(s) {
		return
	}
	if r != nil {
		e.violated(r.check(s), "string", start)
	}
}

// quoted writes a JSON string.
func (e *Encoder) quoted(s string) bool {
	text, err := jsontext.AppendQuote(e.text, s)
	if err == nil {
		e.text = text
		return true
	}
	f := finding{detail: "the text is not valid UTF-8"}
	f.Constraint, f.ExpectedType, f.Offset, f.Got = ConstraintSyntax, "string", int64(len(e.text)), clipped(quoteText(s))
	e.add(f)
	e.text = append(e.text, '"', '"')
	return false
}

// Bool writes a boolean; a nil rule allows both.
func (e *Encoder) Bool(b bool, r *BoolRule) {
	start := e.value()
	e.text = strconv.AppendBool(e.text, b)
	if r != nil {
		e.violated(r.check(b), "boolean", start)
	}
}

// Integer writes an integer.
func (e *Encoder) Integer(n int64, r *NumberRule[int64]) {
	start := e.value()
	e.text = strconv.AppendInt(e.text, n, 10)
	e.violated(checkInteger(r, n), "integer", start)
}

// Unsigned writes an integer that is not negative.
func (e *Encoder) Unsigned(n uint64, r *NumberRule[uint64]) {
	start := e.value()
	e.text = strconv.AppendUint(e.text, n, 10)
	e.violated(checkInteger(r, n), "integer", start)
}

// Float writes a number of 64 bits; infinities and NaN are issues.
func (e *Encoder) Float(f float64, r *NumberRule[float64]) { e.float(f, 64, r) }

// Float32 writes a number of 32 bits, as the shortest decimal that means it; bounds are compared with that decimal.
func (e *Encoder) Float32(f float32, r *NumberRule[float64]) { e.float(float64(f), 32, r) }

func (e *Encoder) float(f float64, bits int, r *NumberRule[float64]) {
	start := e.value()
	if math.IsNaN(f) || math.IsInf(f, 0) {
		e.text = append(e.text, '0')
		x := finding{}
		x.Constraint, x.ExpectedType, x.Got, x.Offset = "type", "number", strconv.FormatFloat(f, 'g', -1, 64), int64(start)
		e.add(x)
		return
	}
	e.text = appendFloat(e.text, f, bits)
	if bits == 32 {
		f, _ = strconv.ParseFloat(string(e.text[start:]), 64) // it was just formatted
	}
	e.violated(checkFloat(r, f, e.text[start:]), "number", start)
}

// appendFloat renders a finite number as ECMAScript and encoding/json do.
func appendFloat(b []byte, f float64, bits int) []byte {
	form := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		form = 'e'
	}
	return strconv.AppendFloat(b, f, form, -1, bits)
}

// Bytes writes base64 text. The length counts the bytes.
func (e *Encoder) Bytes(b []byte, r *Length) {
	start := e.value()
	e.text = append(base64.StdEncoding.AppendEncode(append(e.text, '"'), b), '"')
	e.violated(r.checkBytes(len(b)), "string", start)
}

// Any writes any value that has a JSON form.
func (e *Encoder) Any(v any) {
	start := e.value()
	text, err := json.Marshal(v, json.Deterministic(true), json.WithMarshalers(numberMarshaler))
	if err != nil {
		f := finding{}
		f.Constraint, f.Offset, f.Got = "type", int64(start), "a value without a JSON form"
		e.add(f)
		text = []byte("null")
	} else if depth(text)+len(e.started) > MaxDepth {
		f := finding{}
		f.Constraint, f.Limit, f.Offset = ConstraintMaxDepth, MaxDepth, int64(start)
		e.add(f)
	}
	e.text = append(e.text, text...)
}

// numberMarshaler writes a [stdjson.Number], which is what the decoder gives for numbers that a float64 cannot hold, as a number.
var numberMarshaler = json.MarshalToFunc(func(e *jsontext.Encoder, n stdjson.Number) error { return e.WriteValue(jsontext.Value(n)) })

// depth is how deep a valid JSON text nests objects and arrays.
func depth(text []byte) (deepest int) {
	now, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}

// Null writes a null where a value is needed but none is there, and reports it.
func (e *Encoder) Null(want string) {
	start := e.value()
	e.text = append(e.text, "null"...)
	e.violated([]violation{{constraint: "type"}}, want, start)
}

// EncodeArray writes an array; a nil length allows any.
func EncodeArray[T any](e *Encoder, list []T, length *Length, elem func(*Encoder, T)) {
	if !e.open('[', "array") {
		return
	}
	at := len(e.path) - 1
	for i, x := range list {
		e.path[at].index = i
		elem(e, x)
	}
	start := e.closed(']')
	e.measured(length.check(len(list), "Items"), "array", start)
}

// EncodeMap writes an object of any keys, sorted; a nil length or key rule allows any.
func EncodeMap[K ~string, T any](e *Encoder, m map[K]T, length *Length, key *StringRule, elem func(*Encoder, T)) {
	if !e.open('{', "object") {
		return
	}
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	at := len(e.path) - 1
	for i, k := range keys {
		if i > 0 {
			e.text = append(e.text, ',')
		}
		e.path[at].key = string(k)
		start := len(e.text)
		if e.quoted(string(k)) && key != nil {
			if f, bad := key.checkKey(string(k)); bad {
				f.Offset = int64(start)
				e.add(f)
			}
		}
		e.text = append(e.text, ':')
		elem(e, m[k])
	}
	start := e.closed('}')
	e.measured(length.check(len(m), "Properties"), "object", start)
}

// measured reports the number of elements or entries of the value that has just ended.
func (e *Encoder) measured(vs []violation, want string, start int) {
	for _, v := range vs {
		f := v.finding(want)
		f.Got, f.Offset = strconv.Itoa(v.count), int64(start)
		e.add(f)
	}
}

// WrongType is the error of an EncodeResult that is given a value of another tool, or none at all.
func WrongType(doc *Document) error {
	f := finding{}
	f.Constraint, f.ExpectedType, f.Got = "type", "object", "a value of another type"
	return report([]finding{f}, doc)
}
