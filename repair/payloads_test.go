package repair_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"toolsvc/gen/toolsets"
	"toolsvc/tool"
	"toolsvc/toolset/codegen/codegentest"
)

// allSpecs are the tools of the service, and those of a design that uses every construct.
func allSpecs() []*tool.Spec {
	var specs []*tool.Spec
	r := toolsets.Registry()
	for _, id := range r.IDs() {
		specs = append(specs, r.Lookup(id))
	}
	return append(specs, codegentest.KitchenSink()...)
}

func specOf(t testing.TB, id tool.ID) *tool.Spec {
	t.Helper()
	for _, s := range allSpecs() {
		if s.ID == id {
			return s
		}
	}
	t.Fatalf("there is no tool %s", id)
	return nil
}

// shape is a JSON Schema as the generator reads it, apart from how package repair does.
type shape map[string]any

func shapeOf(t testing.TB, s *tool.Spec) shape {
	t.Helper()
	v := decodeJSON(t, s.PayloadSchema)
	return shape(v.(map[string]any))
}

func decodeJSON(t testing.TB, text []byte) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func (s shape) sub(key string) shape {
	m, _ := s[key].(map[string]any)
	return shape(m)
}

func (s shape) list(key string) []any { l, _ := s[key].([]any); return l }

func (s shape) text(key string) string { t, _ := s[key].(string); return t }

// resolve follows a reference.
func (s shape) resolve(root shape) shape {
	if name, ok := strings.CutPrefix(s.text("$ref"), "#/$defs/"); ok {
		return root.sub("$defs").sub(name)
	}
	return s
}

// groups are the lists of fields of which one has to be there.
func (s shape) groups() (groups [][]string) {
	add := func(alternatives []any) {
		var g []string
		for _, a := range alternatives {
			for _, r := range shape(a.(map[string]any)).list("required") {
				g = append(g, r.(string))
			}
		}
		if len(g) > 0 {
			groups = append(groups, g)
		}
	}
	add(s.list("anyOf"))
	add(s.list("oneOf"))
	for _, a := range s.list("allOf") {
		add(shape(a.(map[string]any)).list("anyOf"))
	}
	return groups
}

func (s shape) required(name string) bool { return slices.Contains(s.list("required"), any(name)) }

// generator makes valid payloads from schemas.
type generator struct {
	*rand.Rand
	root shape
}

var formats = map[string][]string{
	"date": {"2026-11-21", "2024-02-29"}, "date-time": {"2026-11-21T09:30:00Z", "2026-11-21T09:30:05.25+01:00"},
	"uuid": {"6ba7b810-9dad-11d1-80b4-00c04fd430c8"}, "email": {"ada@b.co"}, "hostname": {"www.example.com"}, "ipv4": {"192.0.2.1"},
	"ipv6": {"2001:db8::1"}, "ip": {"192.0.2.1", "::1"}, "uri": {"https://example.com/a//b?c=d#e", "http://127.0.0.1:8080/"}, "mac": {"00:00:5e:00:53:01"},
	"cidr": {"192.0.2.0/24"}, "regex": {"^a+$"}, "json": {`{"a":1}`}, "rfc1123": {"Sat, 21 Nov 2026 09:30:00 GMT"},
}

// strange are strings that are easily taken for something else.
var strange = []string{"Play", "it's", `say "hi"`, "https://example.com/a//b#c", "first\nsecond", "{x}", "[1, 2]", "日本", "5", "true", "null", "a, b: c", "```", "// no", "# no", "/* no */", "C:\\dir", "tab\there", "12.50",
	"a", "ab", "abc", "abcd", "e12", "button", "aéc", "café", "a c", "on", "x.txt", "dir/x.md", "a  b", `{"a":1}`, `["a"]`, "“x”", "Zoë’s", "A-b_c"}

func one[T any](g *generator, list []T) T { return list[g.IntN(len(list))] }

func (g *generator) value(s shape, depth int) any {
	s = s.resolve(g.root)
	if e := s.list("enum"); len(e) > 0 {
		return one(g, e)
	}
	switch s.text("type") {
	case "object":
		return g.object(s, depth)
	case "array":
		list := []any{}
		low, high := number(s, "minItems", 0), number(s, "maxItems", 3)
		for range low + g.IntN(min(high, low+3)-low+1) {
			list = append(list, g.value(s.sub("items"), depth+1))
		}
		return list
	case "string":
		return g.text(s)
	case "integer":
		return json.Number(one(g, []string{"0", "1", "2", "5", "7", "-2", "100", "250", "5000", "9999"}))
	case "number":
		return json.Number(one(g, []string{"0", "1", "0.5", "0.25", "1.5", "2", "-3"}))
	case "boolean":
		return g.IntN(2) == 0
	}
	return one(g, []any{nil, true, json.Number("5"), "any", []any{"a", json.Number("1")}, map[string]any{"k": "v"}})
}

func number(s shape, key string, otherwise int) int {
	if n, ok := s[key].(json.Number); ok {
		if i, err := strconv.Atoi(n.String()); err == nil {
			return i
		}
	}
	return otherwise
}

func (g *generator) text(s shape) string {
	if f := formats[s.text("format")]; f != nil {
		return one(g, f)
	}
	if s.text("contentEncoding") != "" {
		return base64.StdEncoding.EncodeToString([]byte(one(g, []string{"a", "ab", "abc", "abcdef"})))
	}
	return one(g, strange)
}

func (g *generator) object(s shape, depth int) map[string]any {
	o := map[string]any{}
	properties := s.sub("properties")
	names := slices.Sorted(maps.Keys(properties))
	wanted := map[string]bool{}
	for _, r := range s.list("required") {
		wanted[r.(string)] = true
	}
	for _, group := range s.groups() {
		wanted[one(g, group)] = true
	}
	for _, name := range names {
		if wanted[name] || s.list("oneOf") == nil && depth < 4 && g.IntN(len(names)+2) < 4 {
			o[name] = g.value(properties.sub(name), depth+1)
		}
	}
	if elem, ok := s["additionalProperties"].(map[string]any); ok && depth < 4 {
		for i := range number(s, "minProperties", 0) + g.IntN(2) {
			o[fmt.Sprint(one(g, []string{"k", "ab", "on", "zz"}), strings.Repeat("x", i))] = g.value(shape(elem), depth+1)
		}
	}
	return o
}

// payloads are the example of a tool and up to n other valid payloads.
func payloads(t testing.TB, spec *tool.Spec, n int, seed uint64) (all []any) {
	g := &generator{rand.New(rand.NewPCG(seed, 1)), shapeOf(t, spec)}
	all = []any{decodeJSON(t, spec.Example)}
	for range 600 {
		if len(all) > n {
			break
		}
		v := g.value(g.root, 0)
		if _, issues := spec.Decode(render(v, style{}).text()); len(issues) == 0 {
			all = append(all, v)
		}
	}
	return all
}

// style says how a document is written: as JSON, or in a way that only resembles it.
type style struct {
	indent   bool
	quote    func(string) string // of strings; nil is JSON's
	key      func(string) string // of keys; nil is quote
	words    map[string]string   // for true, false and null
	number   func(string) string
	trailing bool
	between  string // before each value
	single   func(path string, v any) (string, bool)
}

// rendering is a document with the places of everything in it.
type rendering struct {
	strings.Builder
	spans []span
	// commas are the offsets of commas, brackets those of closing brackets, with the pointer of what they are in.
	commas, brackets []spot
}

type spot struct {
	at   int
	path string
}

type span struct {
	path     string
	from, to int // of the value
	key, end int // of the key in an object, quotes included; 0, 0 elsewhere
	value    any
}

func (r *rendering) text() []byte { return []byte(r.String()) }

func quoteJSON(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(b))
}

// render writes a document; members are in the order of their names.
func render(v any, st style) *rendering {
	r := &rendering{}
	if st.quote == nil {
		st.quote = quoteJSON
	}
	if st.key == nil {
		st.key = st.quote
	}
	var write func(v any, path string, depth, key, end int)
	line := func(depth int) {
		if st.indent {
			r.WriteString("\n" + strings.Repeat("  ", depth))
		}
	}
	write = func(v any, path string, depth, key, end int) {
		r.WriteString(st.between)
		sp := span{path: path, from: r.Len(), key: key, end: end, value: v}
		container := func(open, shut string, n int, member func(i int)) {
			r.WriteString(open)
			for i := range n {
				if i > 0 {
					r.commas = append(r.commas, spot{r.Len(), path})
					r.WriteString(",")
				}
				line(depth + 1)
				member(i)
			}
			if n > 0 {
				if st.trailing {
					r.WriteString(",")
				}
				line(depth)
			}
			r.brackets = append(r.brackets, spot{r.Len(), path})
			r.WriteString(shut)
		}
		if text, ok := st.verbatim(path, v); ok {
			r.WriteString(text)
		} else {
			switch x := v.(type) {
			case map[string]any:
				names := slices.Sorted(maps.Keys(x))
				container("{", "}", len(names), func(i int) {
					from := r.Len()
					r.WriteString(st.key(names[i]))
					to := r.Len()
					r.WriteString(":")
					if st.indent {
						r.WriteString(" ")
					}
					write(x[names[i]], path+"/"+pointerEscapes.Replace(names[i]), depth+1, from, to)
				})
			case []any:
				container("[", "]", len(x), func(i int) { write(x[i], fmt.Sprintf("%s/%d", path, i), depth+1, 0, 0) })
			case string:
				r.WriteString(st.quote(x))
			case json.Number:
				if st.number != nil {
					r.WriteString(st.number(x.String()))
				} else {
					r.WriteString(x.String())
				}
			default:
				word := map[any]string{nil: "null", true: "true", false: "false"}[v]
				if w, ok := st.words[word]; ok {
					word = w
				}
				r.WriteString(word)
			}
		}
		sp.to = r.Len()
		r.spans = append(r.spans, sp)
	}
	write(v, "", 0, 0, 0)
	return r
}

func (st style) verbatim(path string, v any) (string, bool) {
	if st.single == nil {
		return "", false
	}
	return st.single(path, v)
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// broken is the place at which a text stops being JSON: the member or element that is being read, or the container between two of them.
// It is an independent reading of the grammar of RFC 8259.
func broken(s string) (path string, ok bool) {
	type level struct {
		path string
		n    int
		list bool
	}
	var stack []level
	i := 0
	space := func() {
		for i < len(s) && strings.IndexByte(" \t\r\n", s[i]) >= 0 {
			i++
		}
	}
	at := func() string {
		if len(stack) == 0 {
			return ""
		}
		return stack[len(stack)-1].path
	}
	scalar := func() bool { // a string, number or word
		switch {
		case i >= len(s):
			return false
		case s[i] == '"':
			for j := i + 1; j < len(s); j++ {
				switch {
				case s[j] == '\\':
					j++
				case s[j] < ' ':
					return false
				case s[j] == '"':
					if !json.Valid([]byte(s[i : j+1])) {
						return false
					}
					i = j + 1
					return true
				}
			}
			return false
		default:
			j := i
			for j < len(s) && (s[j] == '+' || s[j] == '-' || s[j] == '.' || s[j] >= '0' && s[j] <= '9' || s[j] >= 'a' && s[j] <= 'z' || s[j] >= 'A' && s[j] <= 'Z') {
				j++
			}
			// The longest part that is a value: what follows it is an error of the container.
			for k := j; k > i; k-- {
				if json.Valid([]byte(s[i:k])) {
					i = k
					return true
				}
			}
			return false
		}
	}
	value := func(path string) bool {
		space()
		if i < len(s) && (s[i] == '{' || s[i] == '[') {
			stack = append(stack, level{path, 0, s[i] == '['})
			i++
			return true
		}
		return scalar()
	}
	if !value("") {
		return "", false
	}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		space()
		shut := byte('}')
		if top.list {
			shut = ']'
		}
		if i < len(s) && s[i] == shut {
			i++
			stack = stack[:len(stack)-1]
			continue
		}
		if top.n > 0 {
			if i >= len(s) || s[i] != ',' {
				return at(), false
			}
			i++
			space()
		}
		name := strconv.Itoa(top.n)
		top.n++
		if !top.list {
			from := i
			if i >= len(s) || s[i] != '"' || !scalar() {
				return at(), false
			}
			if err := json.Unmarshal([]byte(s[from:i]), &name); err != nil {
				return at(), false
			}
		} else if i >= len(s) || strings.IndexByte("]},:", s[i]) >= 0 {
			return at(), false
		}
		path := top.path + "/" + pointerEscapes.Replace(name)
		if !top.list {
			space()
			if i >= len(s) || s[i] != ':' {
				return path, false
			}
			i++
		}
		if !value(path) {
			return path, false
		}
	}
	space()
	return "", i == len(s)
}
