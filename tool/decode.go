package tool

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// The bounds of decoding and encoding, beside [MaxPayload].
const (
	// MaxResult bounds a result, in bytes.
	MaxResult = 1 << 20
	// MaxDepth bounds how deep objects and arrays may be nested.
	MaxDepth = 100
	// MaxIssues bounds the issues of one document; later ones are not collected, except one of broken syntax.
	MaxIssues = 64
)

// More constraints of an Issue that are not JSON Schema keywords.
const (
	// ConstraintMaxDepth: objects and arrays are nested deeper than [MaxDepth].
	ConstraintMaxDepth = "maxDepth"
)

// Document says what a text is: for messages, and for what they must not show.
type Document struct {
	// Noun is "payload" or "result".
	Noun string
	// MaxBytes bounds the text.
	MaxBytes int
	// Secrets are the JSON Pointers of values that are never shown, as in [Spec].
	Secrets []string
}

// Decoder reads one JSON document strictly and in one pass, driven by generated code, which calls exactly one method for each value.
// It collects every violation and goes on; only broken JSON ends it. After that all methods return zero values.
type Decoder struct {
	json     *jsontext.Decoder
	input    bytes.Buffer
	text     []byte
	findings []finding
	keyStart int64
	dead     bool
}

var decoders = sync.Pool{New: func() any {
	d := &Decoder{}
	d.json = jsontext.NewDecoder(&d.input)
	return d
}}

// Decode decodes text with a generated function. It returns the value, or all issues and nil. Issues come in document order; what an
// object as a whole lacks comes at its end: missing fields in design order, then groups of which one is needed.
func Decode[T any](text []byte, doc *Document, decode func(*Decoder) *T) (*T, Issues) {
	if len(text) > doc.MaxBytes {
		f := finding{count: len(text)}
		f.Constraint, f.Limit = ConstraintMaxBytes, doc.MaxBytes
		return nil, report([]finding{f}, doc)
	}
	d := decoders.Get().(*Decoder)
	d.text, d.input = text, *bytes.NewBuffer(text)             // the jsontext decoder reads a bytes.Buffer in place and never writes to it
	d.json.Reset(&d.input, jsontext.AllowDuplicateNames(true)) // duplicates are issues, not syntax errors
	d.findings, d.dead = nil, false
	v := decode(d)
	d.end()
	found := d.findings
	d.findings, d.text = nil, nil
	decoders.Put(d)
	if len(found) > 0 {
		return nil, report(found, doc)
	}
	return v, nil
}

// end makes sure that nothing follows the value.
func (d *Decoder) end() {
	if d.dead {
		return
	}
	_, err := d.json.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
	case err != nil:
		d.broken(err)
	default:
		d.dead = true
		f := finding{detail: "more data follows after its end"}
		f.Constraint, f.Offset = ConstraintSyntax, d.json.InputOffset()-1
		f.position = position(d.text, f.Offset)
		d.findings = append(d.findings, f)
	}
}

// add collects a finding at the value, or key, that was read last.
func (d *Decoder) add(f finding) {
	if len(d.findings) < MaxIssues {
		f.Path = string(d.json.StackPointer())
		d.findings = append(d.findings, f)
	}
}

// violated collects the rules that the value read last, raw, does not keep.
func (d *Decoder) violated(vs []violation, want string, raw []byte) {
	for _, v := range vs {
		f := v.finding(want)
		f.Got, f.Offset = clipped(raw), d.json.InputOffset()-int64(len(raw))
		d.add(f)
	}
}

// broken collects a syntax error, which ends the decoding.
func (d *Decoder) broken(err error) {
	if d.dead {
		return
	}
	d.dead = true
	f := syntaxFinding(err, d.text, d.json.InputOffset())
	d.findings = append(d.findings, f)
}

// raw reads the next value whole; nil after a syntax error.
func (d *Decoder) raw() []byte {
	v, err := d.json.ReadValue()
	if err != nil {
		d.broken(err)
		return nil
	}
	return v
}

// mismatch reads a value of the wrong type.
func (d *Decoder) mismatch(want string) {
	if raw := d.raw(); raw != nil {
		d.violated([]violation{{constraint: "type"}}, want, raw)
	}
}

// open consumes the start of an object or array and returns its position.
func (d *Decoder) open(kind jsontext.Kind, want string) (start int64, ok bool) {
	if d.dead {
		return 0, false
	}
	if d.json.PeekKind() != kind {
		d.mismatch(want)
		return 0, false
	}
	if d.json.StackDepth() >= MaxDepth {
		if raw := d.raw(); raw != nil {
			d.violated([]violation{{constraint: ConstraintMaxDepth, limit: MaxDepth}}, want, raw)
		}
		return 0, false
	}
	if _, err := d.json.ReadToken(); err != nil {
		d.broken(err)
		return 0, false
	}
	return d.json.InputOffset() - 1, true
}

// Object starts an object. It returns its position, and false when the value is none.
func (d *Decoder) Object() (start int64, ok bool) { return d.open('{', "object") }

// Key returns the next key of the object, valid until the next call, or nil at its end.
func (d *Decoder) Key() []byte {
	if d.dead {
		return nil
	}
	if d.json.PeekKind() == '}' {
		if _, err := d.json.ReadToken(); err != nil {
			d.broken(err)
		}
		return nil
	}
	raw := d.raw()
	if raw == nil {
		return nil
	}
	d.keyStart = d.json.InputOffset() - int64(len(raw))
	return unquote(raw)
}

// First marks the i-th field as seen. A field that stands a second time is an issue; its value is skipped and First returns false.
func (d *Decoder) First(seen []uint64, i int) bool {
	word, bit := &seen[i/64], uint64(1)<<(i%64)
	if *word&bit == 0 {
		*word |= bit
		return true
	}
	d.duplicate()
	return false
}

func (d *Decoder) duplicate() {
	f := finding{}
	f.Constraint, f.Offset = ConstraintDuplicate, d.keyStart
	d.skipWith(f)
}

// Unknown reports the key read last as none of the fields, and skips its value.
func (d *Decoder) Unknown(fields *Fields) {
	f := finding{}
	f.Constraint, f.Allowed, f.Offset = "additionalProperties", fields.Names, d.keyStart
	d.skipWith(f)
}

// skipWith skips the value of the key read last and collects f with it.
func (d *Decoder) skipWith(f finding) {
	f.Path = string(d.json.StackPointer())
	raw := d.raw()
	if raw == nil {
		return
	}
	f.Got = clipped(raw)
	if len(d.findings) < MaxIssues {
		d.findings = append(d.findings, f)
	}
}

// EndObject reports what the object, whose last key was read, lacks.
func (d *Decoder) EndObject(start int64, seen []uint64, fields *Fields) {
	if d.dead {
		return
	}
	for _, f := range fields.lacking(seen) {
		f.Offset = start
		if len(d.findings) < MaxIssues {
			f.Path = string(d.json.StackPointer()) + f.Path
			d.findings = append(d.findings, f)
		}
	}
}

// scalar reads a value of one kind; nil when it is of another one.
func (d *Decoder) scalar(kind jsontext.Kind, want string) []byte {
	if d.dead {
		return nil
	}
	if d.json.PeekKind() != kind {
		d.mismatch(want)
		return nil
	}
	return d.raw()
}

// String decodes a string; a nil rule allows all.
func (d *Decoder) String(r *StringRule) string {
	raw := d.scalar('"', "string")
	if raw == nil {
		return ""
	}
	s := string(unquote(raw))
	if r != nil {
		d.violated(r.check(s), "string", raw)
	}
	return s
}

// Bool decodes a boolean; a nil rule allows both.
func (d *Decoder) Bool(r *BoolRule) bool {
	if d.dead {
		return false
	}
	kind := d.json.PeekKind()
	if kind != 't' && kind != 'f' {
		d.mismatch("boolean")
		return false
	}
	raw := d.raw()
	if raw != nil && r != nil {
		d.violated(r.check(kind == 't'), "boolean", raw)
	}
	return kind == 't'
}

// Integer decodes an integer of up to 64 bits; 1.0 and 1e2 are integers, as in JSON Schema.
func (d *Decoder) Integer(r *NumberRule[int64]) int64 {
	raw := d.scalar('0', "integer")
	if raw == nil {
		return 0
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		x := parseDecimal(raw)
		switch whole, fits := x.int64(); {
		case !x.integer():
			d.violated([]violation{{constraint: "type"}}, "integer", raw)
			return 0
		case !fits:
			d.violated(r.outside(x.negative), "integer", raw)
			return 0
		default:
			n = whole
		}
	}
	d.violated(checkInteger(r, n), "integer", raw)
	return n
}

// Unsigned decodes an integer of up to 64 bits that is not negative.
func (d *Decoder) Unsigned(r *NumberRule[uint64]) uint64 {
	raw := d.scalar('0', "integer")
	if raw == nil {
		return 0
	}
	n, err := strconv.ParseUint(string(raw), 10, 64)
	if err != nil {
		x := parseDecimal(raw)
		switch whole, fits := x.uint64(); {
		case !x.integer():
			d.violated([]violation{{constraint: "type"}}, "integer", raw)
			return 0
		case !fits:
			d.violated(r.outside(x.negative), "integer", raw)
			return 0
		default:
			n = whole
		}
	}
	d.violated(checkInteger(r, n), "integer", raw)
	return n
}

// Float decodes a number of 32 or 64 bits. Bounds and enumerated values are compared with the decimal text, not with its rounded
// value.
func (d *Decoder) Float(r *NumberRule[float64]) float64 {
	raw := d.scalar('0', "number")
	if raw == nil {
		return 0
	}
	f, err := strconv.ParseFloat(string(raw), 64) // an infinity when it does not fit
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		d.violated([]violation{{constraint: "type"}}, "number", raw)
		return 0
	}
	d.violated(checkFloat(r, f, raw), "number", raw)
	return f
}

// Bytes decodes base64 text (RFC 4648, with padding, without line breaks). The length counts the bytes.
func (d *Decoder) Bytes(r *Length) []byte {
	raw := d.scalar('"', "string")
	if raw == nil {
		return nil
	}
	text := unquote(raw)
	b := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Strict().Decode(b, text)
	if err != nil || bytes.ContainsAny(text, "\r\n") {
		d.violated([]violation{{constraint: "contentEncoding", limit: "base64"}}, "string", raw)
		return nil
	}
	d.violated(r.checkBytes(n), "string", raw)
	return b[:n]
}

// Any decodes any value: null, bool, string, []any, map[string]any, and numbers as float64, or as [json.Number] where a float64 would
// lose digits.
func (d *Decoder) Any() any {
	if d.dead {
		return nil
	}
	switch d.json.PeekKind() {
	case '{':
		if _, ok := d.open('{', "object"); !ok {
			return nil
		}
		m := map[string]any{}
		for k := d.Key(); k != nil; k = d.Key() {
			name := string(k)
			if _, twice := m[name]; twice {
				d.duplicate()
				continue
			}
			m[name] = d.Any()
		}
		return m
	case '[':
		if _, ok := d.open('[', "array"); !ok {
			return nil
		}
		list := []any{}
		for d.more() {
			list = append(list, d.Any())
		}
		return list
	case '"':
		if raw := d.raw(); raw != nil {
			return string(unquote(raw))
		}
	case '0':
		if raw := d.raw(); raw != nil {
			return number(raw)
		}
	case 't', 'f':
		if raw := d.raw(); raw != nil {
			return raw[0] == 't'
		}
	default:
		d.raw() // null, or broken
	}
	return nil
}

// number is a float64 when its shortest decimal means the same as the text, and the text itself otherwise.
func number(raw []byte) any {
	if f, err := strconv.ParseFloat(string(raw), 64); err == nil {
		// A float64 tells any two decimals of 15 digits apart.
		if len(raw) <= 15 && bytes.IndexAny(raw, "eE") < 0 || parseDecimal(raw).compare(floatDecimal(f)) == 0 {
			return f
		}
	}
	return json.Number(raw)
}

// more reports whether the array has another element, and consumes its end otherwise.
func (d *Decoder) more() bool {
	if d.dead {
		return false
	}
	if d.json.PeekKind() != ']' {
		return true
	}
	if _, err := d.json.ReadToken(); err != nil {
		d.broken(err)
	}
	return false
}

// counted reports the number of elements or entries of the value that has just ended.
func (d *Decoder) counted(vs []violation, want string, start int64) {
	for _, v := range vs {
		f := v.finding(want)
		f.Got, f.Offset = strconv.Itoa(v.count), start
		d.add(f)
	}
}

// DecodeArray decodes an array; a nil length allows any.
func DecodeArray[T any](d *Decoder, length *Length, elem func(*Decoder) T) []T {
	start, ok := d.open('[', "array")
	if !ok {
		return nil
	}
	list, n := []T{}, 0
	for d.more() {
		x := elem(d)
		if n++; length == nil || n <= length.Max { // what is too much is checked, but not kept
			list = append(list, x)
		}
	}
	if !d.dead {
		d.counted(length.check(n, "Items"), "array", start)
	}
	return list
}

// DecodeMap decodes an object of any keys; a nil length or key rule allows any.
func DecodeMap[K ~string, T any](d *Decoder, length *Length, key *StringRule, elem func(*Decoder) T) map[K]T {
	start, ok := d.open('{', "object")
	if !ok {
		return nil
	}
	m := map[K]T{}
	for k := d.Key(); k != nil; k = d.Key() {
		name := K(k)
		if _, twice := m[name]; twice {
			d.duplicate()
			continue
		}
		if key != nil {
			if f, bad := key.checkKey(string(name)); bad {
				f.Offset = d.keyStart
				d.add(f)
			}
		}
		m[name] = elem(d)
	}
	if !d.dead {
		d.counted(length.check(len(m), "Properties"), "object", start)
	}
	return m
}

// unquote returns the text of a valid JSON string, which may be a part of raw.
func unquote(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	text, err := jsontext.AppendUnquote([]byte{}, raw)
	if err != nil { // jsontext has checked it
		return []byte{}
	}
	return text
}
