package tool

import "strconv"

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
