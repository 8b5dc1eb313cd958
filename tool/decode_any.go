package tool

import (
	"bytes"
	"encoding/json"
	"strconv"
)

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
		if len(raw) <= 15 && !bytes.ContainsAny(raw, "eE") || parseDecimal(raw).compare(floatDecimal(f)) == 0 {
			return f
		}
	}
	return json.Number(raw)
}
