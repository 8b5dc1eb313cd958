package verification

import (
	"encoding/json"
	"strconv"
	"strings"
)

// observe renders what the condition reads: page.title = "Shop"; page.errors = []. Each value is at most maxShown bytes, and at most
// maxReads of them are shown.
func (f *facts) observe(c *condition) string {
	var shown []string
	for i, r := range c.reads {
		if i == maxReads {
			shown = append(shown, count(len(c.reads)-maxReads, "more value"))
			break
		}
		v, err := f.value(r)
		name := f.spell(r)
		if err != nil {
			shown = append(shown, clip(name+" "+err.Error(), maxShown))
			continue
		}
		s := shower{most: maxShown}
		s.b.WriteString(name + " = ")
		if r.document != nil || r.variable == "document" || r.variable == "before" {
			v = brief(v)
		}
		s.write(v)
		shown = append(shown, clip(s.b.String(), maxShown))
	}
	return strings.Join(shown, "; ")
}

// spell renders a read with the element's real name in place of args.
func (f *facts) spell(r read) string {
	if r.element == nil {
		return r.String()
	}
	q, err := r.element.query(f.args)
	if err != nil {
		return r.String()
	}
	real := *r.element
	real.name, real.role = operand{text: q.Name}, operand{text: q.Role}
	r.element = &real
	return r.String()
}

// shower writes a value as JSON with sorted keys, and stops soon after it has written enough.
type shower struct {
	b    strings.Builder
	most int
}

func (s *shower) full() bool { return s.b.Len() > s.most }

func (s *shower) write(v any) {
	if s.full() {
		return
	}
	switch x := v.(type) {
	case string:
		s.text(x)
	case []any:
		s.b.WriteByte('[')
		for i, e := range x {
			if s.full() {
				return
			}
			if i > 0 {
				s.b.WriteByte(',')
			}
			s.write(e)
		}
		s.b.WriteByte(']')
	case map[string]any:
		s.b.WriteByte('{')
		for i, k := range sortedKeys(x) {
			if s.full() {
				return
			}
			if i > 0 {
				s.b.WriteByte(',')
			}
			s.text(k)
			s.b.WriteByte(':')
			s.write(x[k])
		}
		s.b.WriteByte('}')
	case int64:
		s.b.WriteString(strconv.FormatInt(x, 10))
	case nil, bool, float64:
		b, err := json.Marshal(x)
		if err != nil { // NaN, infinity
			b = []byte("no JSON number")
		}
		s.b.Write(b)
	default:
		s.b.WriteString("no JSON value")
	}
}

func (s *shower) text(t string) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(clip(t, s.most)); err != nil { // a string always encodes
		return
	}
	s.b.WriteString(strings.TrimSuffix(b.String(), "\n"))
}
