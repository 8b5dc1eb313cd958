package repair

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// kind is the JSON type of a node.
type kind byte

const (
	kindNull    kind = 'n'
	kindBoolean kind = 'b'
	kindNumber  kind = '0'
	kindString  kind = '"'
	kindArray   kind = '['
	kindObject  kind = '{'
)

// node is a JSON value. Members of objects keep their order, numbers their digits.
type node struct {
	kind  kind
	text  string   // what a string says, the digits of a number, "true" or "false"
	names []string // of the members of an object; may hold one twice
	elems []*node  // the values of an object's members, or the elements of an array
}

// json renders n without spaces.
func (n *node) json() []byte { return n.append(nil) }

func (n *node) append(b []byte) []byte {
	switch n.kind {
	case kindNull:
		return append(b, "null"...)
	case kindString:
		return appendQuoted(b, n.text)
	case kindArray, kindObject:
		b = append(b, byte(n.kind))
		for i, e := range n.elems {
			if i > 0 {
				b = append(b, ',')
			}
			if n.kind == kindObject {
				b = append(appendQuoted(b, n.names[i]), ':')
			}
			b = e.append(b)
		}
		return append(b, byte(n.kind)+2) // in ASCII, a bracket closes two after it opens
	}
	return append(b, n.text...)
}

func appendQuoted(b []byte, s string) []byte {
	out, err := jsontext.AppendQuote(b, s)
	if err != nil { // only what is not UTF-8 fails, which no node holds
		out, _ = jsontext.AppendQuote(b, strings.ToValidUTF8(s, "�"))
	}
	return out
}

func (n *node) clone() *node {
	c := *n
	c.names = slices.Clone(n.names)
	c.elems = make([]*node, len(n.elems))
	for i, e := range n.elems {
		c.elems[i] = e.clone()
	}
	return &c
}

// index is the place of the member name, -1 when there is none or more than one.
func (n *node) index(name string) int {
	i := slices.Index(n.names, name)
	if i < 0 || slices.Contains(n.names[i+1:], name) {
		return -1
	}
	return i
}

// at returns the value at a pointer, nil when there is none or when the pointer could mean two.
func (n *node) at(path string) *node {
	for _, token := range tokens(path) {
		switch n.kind {
		case kindObject:
			i := n.index(token)
			if i < 0 {
				return nil
			}
			n = n.elems[i]
		case kindArray:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(n.elems) {
				return nil
			}
			n = n.elems[i]
		default:
			return nil
		}
	}
	return n
}

// equal reports whether two values mean the same: numbers by value, objects in any order.
func (n *node) equal(m *node) bool {
	if n.kind != m.kind || len(n.elems) != len(m.elems) {
		return false
	}
	switch n.kind {
	case kindNumber:
		return sameNumber(n.text, m.text)
	case kindObject:
		members := make(map[string]*node, len(m.names))
		for i, name := range m.names {
			members[name] = m.elems[i]
		}
		for i, name := range n.names {
			e := members[name]
			delete(members, name) // a name that stands there twice is found only once
			if e == nil || !n.elems[i].equal(e) {
				return false
			}
		}
		return true
	case kindArray:
		for i, e := range n.elems {
			if !e.equal(m.elems[i]) {
				return false
			}
		}
		return true
	}
	return n.text == m.text
}

// sameNumber compares two JSON numbers exactly, without arithmetic on large exponents.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	sa, da, ea := scientific(a)
	sb, db, eb := scientific(b)
	return da == db && (da == "" || sa == sb && ea == eb)
}

// scientific takes a number apart: its sign, its digits without zeros at either end, and the exponent that belongs to them.
func scientific(s string) (negative bool, digits string, exponent int64) {
	s, negative = strings.CutPrefix(s, "-")
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		e, err := strconv.ParseInt(strings.TrimPrefix(s[i+1:], "+"), 10, 32)
		if err != nil {
			return negative, s, 0 // an exponent beyond reason: compared as it is spelt
		}
		s, exponent = s[:i], e
	}
	whole, fraction, _ := strings.Cut(s, ".")
	exponent -= int64(len(fraction))
	digits = strings.TrimLeft(whole+fraction, "0")
	n := len(digits)
	digits = strings.TrimRight(digits, "0")
	return negative, digits, exponent + int64(n-len(digits))
}

var (
	escapes   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapes = strings.NewReplacer("~1", "/", "~0", "~")
)

// tokens takes an RFC 6901 pointer apart.
func tokens(path string) []string {
	if path == "" {
		return nil
	}
	ts := strings.Split(path[1:], "/")
	for i, t := range ts {
		ts[i] = unescapes.Replace(t)
	}
	return ts
}

func pointer(tokens []string) string {
	var b bytes.Buffer
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(escapes.Replace(t))
	}
	return b.String()
}

// child is the pointer of a member or element.
func child(path, name string) string { return path + "/" + escapes.Replace(name) }

// parent is the pointer of what holds path, and the unescaped name that it has there.
func parent(path string) (string, string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", ""
	}
	return path[:i], unescapes.Replace(path[i+1:])
}

// within reports whether path is at or below place.
func within(path, place string) bool {
	return path == place || strings.HasPrefix(path, place) && path[len(place)] == '/'
}
