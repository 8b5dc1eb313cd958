package tool

import (
	"bytes"
	"errors"
	"io"
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
	after := d.json.InputOffset()
	_, err := d.json.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
	case err != nil:
		d.broken(err)
	default:
		d.dead = true
		f := finding{detail: "more data follows after its end"}
		rest := d.text[after:]
		f.Constraint, f.Offset = ConstraintSyntax, after+int64(len(rest)-len(bytes.TrimLeft(rest, " \t\r\n")))
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
