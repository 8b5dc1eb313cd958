package tool

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

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
