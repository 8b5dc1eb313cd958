package repair_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"toolsvc/repair"
	"toolsvc/tool"
)

var update = flag.Bool("update", false, "write docs/reference/repair.md anew")

// fate is what has to become of a fault.
type fate int

const (
	either    fate = iota // corrected to the original, or named
	corrected             // corrected to the original
	named                 // named by a hint, and nothing else
)

// fault is a payload with one fault.
type fault struct {
	kind string
	text string
	fate fate
	// places are where the fault is, as issues have to name it: all of them, and no other.
	places []string
	// also are places that may be named besides, because the fault makes them look wrong.
	also string
}

// faults makes one-fault corruptions of a valid payload.
type faults struct {
	t testing.TB
	// first is set for the first payload of a tool.
	first bool
	*rand.Rand
	spec *tool.Spec
	root shape
	doc  any
	json *rendering
	all  []fault
}

func (f *faults) add(kind string, fate fate, text string, places ...string) {
	f.all = append(f.all, fault{kind: kind, fate: fate, text: text, places: places})
}

// addText adds a fault of the syntax. Where it breaks is where a strict reader stops.
func (f *faults) addText(kind string, fate fate, text string) {
	if json.Valid([]byte(text)) {
		return // the fault made other JSON
	}
	place, _ := broken(text)
	f.add(kind, fate, text, place)
}

// besides says which place may be named besides those of the fault that was added last.
func (f *faults) besides(path string) {
	if len(f.all) > 0 {
		f.all[len(f.all)-1].also = path
	}
}

// some returns up to n of list, in random order.
func some[T any](f *faults, n int, list []T) []T {
	list = slices.Clone(list)
	f.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:min(n, len(list))]
}

// edited returns the document with another value at a place.
func (f *faults) edited(path string, edit func(any) any) string {
	doc := decodeJSON(f.t, f.json.text())
	if path == "" {
		return render(edit(doc), style{}).String()
	}
	holder, last := doc, ""
	parts := strings.Split(path[1:], "/")
	for i, p := range parts {
		last = strings.NewReplacer("~1", "/", "~0", "~").Replace(p)
		if i == len(parts)-1 {
			break
		}
		switch x := holder.(type) {
		case map[string]any:
			holder = x[last]
		case []any:
			holder = x[atoi(last)]
		}
	}
	switch x := holder.(type) {
	case map[string]any:
		x[last] = edit(x[last])
		if x[last] == gone {
			delete(x, last)
		}
	case []any:
		x[atoi(last)] = edit(x[atoi(last)])
	}
	return render(doc, style{}).String()
}

// gone removes a member.
var gone any = new(int)

func atoi(s string) int {
	var n int
	if _, err := fmt.Sscan(s, &n); err != nil {
		panic(err)
	}
	return n
}

func is(v any) func(any) any { return func(any) any { return v } }

// schemaAt is the schema of a place.
func (f *faults) schemaAt(path string) shape {
	s := f.root.resolve(f.root)
	if path == "" {
		return s
	}
	for _, p := range strings.Split(path[1:], "/") {
		p = strings.NewReplacer("~1", "/", "~0", "~").Replace(p)
		if sub := s.sub("properties").sub(p); sub != nil {
			s = sub.resolve(f.root)
			continue
		}
		if items := s.sub("items"); items != nil {
			s = items.resolve(f.root)
			continue
		}
		s = s.sub("additionalProperties").resolve(f.root)
	}
	return s
}

func parentOf(path string) (string, string) {
	i := strings.LastIndexByte(path, '/')
	return path[:i], strings.NewReplacer("~1", "/", "~0", "~").Replace(path[i+1:])
}

// lacking are the places that are wrong when an object loses a field.
func (f *faults) lacking(path string) (places []string) {
	holder, name := parentOf(path)
	s := f.schemaAt(holder)
	if s.required(name) {
		return []string{path}
	}
	var has map[string]any
	for _, sp := range f.json.spans {
		if sp.path == holder {
			has, _ = sp.value.(map[string]any)
		}
	}
	for _, g := range s.groups() {
		if slices.Contains(g, name) && !slices.ContainsFunc(g, func(o string) bool { _, ok := has[o]; return ok && o != name }) {
			places = append(places, holder)
		}
	}
	return places
}

// syntax makes faults of the text.
func (f *faults) syntax() {
	plain := f.json.String()
	pretty := render(f.doc, style{indent: true}).String()
	f.addText("comments", corrected, render(f.doc, style{between: "/* x: {1, \"2\"} */ "}).String())
	f.addText("comments", corrected, strings.Replace(pretty, "\n", " // the payload's\n", 1)+"# end")
	f.addText("trailing commas", corrected, render(f.doc, style{trailing: true, indent: f.IntN(2) == 0}).String())
	single := func(s string) string {
		q := quoteJSON(s)
		return "'" + strings.ReplaceAll(strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`), "'", `\'`) + "'"
	}
	f.addText("single quotes", corrected, render(f.doc, style{quote: single}).String())
	python := func(s string) string { // as repr chooses quotes
		if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
			return quoteJSON(s)
		}
		return single(s)
	}
	f.addText("Python", corrected, render(f.doc, style{quote: python, words: map[string]string{"true": "True", "false": "False", "null": "None"}}).String())
	if !strings.ContainsAny(plain, "“”„‟‘’") && !strings.Contains(plain, `\"`) {
		smart := func(s string) string { q := quoteJSON(s); return "“" + q[1:len(q)-1] + "”" }
		f.addText("typographic quotes", corrected, render(f.doc, style{quote: smart}).String())
	}
	bare := func(s string) string { return s }
	f.addText("unquoted keys", corrected, render(f.doc, style{key: bare}).String())
	f.add("Markdown", corrected, "```json\n"+pretty+"\n```", "")
	f.add("Markdown", corrected, "Here is the call:\n\n```\n"+plain+"\n```\nTell me whether it works.", "")
	f.add("text around", corrected, "I will call "+string(f.spec.ID)+" now: "+plain, "")
	f.add("text around", corrected, "<tool_call>\n"+pretty+"\n</tool_call>", "")
	f.add("byte order mark", corrected, "\ufeff"+plain, "")
	f.add("escaped text", corrected, strings.Trim(quoteJSON(plain), `"`), "")
	f.add("JSON text", corrected, quoteJSON(plain), "")
	f.addText("odd spaces", corrected, render(f.doc, style{between: "\u00a0"}).String())
	f.addText("surplus brackets", corrected, plain+one[string](&generator{Rand: f.Rand}, []string{"}", "]", "}}", "\n}"}))
	for _, word := range []string{"true", "false"} {
		if strings.Contains(plain, ":"+word) {
			f.addText("unknown words", named, strings.Replace(plain, ":"+word, ":"+strings.ToUpper(word), 1))
		}
	}
	for _, sp := range some(f, 40, f.json.spans) {
		text, inside := sp.value.(string)
		switch q := plain[sp.from:sp.to]; {
		case inside && strings.ContainsAny(text, "\n\t"):
			raw := strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(q)
			f.addText("raw line breaks", corrected, plain[:sp.from]+raw+plain[sp.to:])
		case inside && strings.Contains(text, "'"):
			f.addText("apostrophe in single quotes", named, plain[:sp.from]+"'"+q[1:len(q)-1]+"'"+plain[sp.to:])
		case inside && strings.Contains(text, `"`):
			f.addText("quotes not escaped", either, plain[:sp.from]+`"`+text+`"`+plain[sp.to:])
			f.besides(sp.path)
		case inside && len(text) > 0 && text != "true" && text != "null" && text != "5" && text != "12.50" && !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") && !strings.HasPrefix(text, "“"):
			f.addText("value without quotes", named, plain[:sp.from]+q[1:len(q)-1]+plain[sp.to:])
			f.besides(sp.path)
		}
		if n, ok := sp.value.(json.Number); ok {
			s := n.String()
			if rest, ok := strings.CutPrefix(s, "0."); ok {
				f.addText("number forms", corrected, plain[:sp.from]+"."+rest+plain[sp.to:])
			} else if s[0] != '-' {
				f.addText("number forms", corrected, plain[:sp.from]+"+"+s+plain[sp.to:])
			}
			f.addText("not a number", named, plain[:sp.from]+one(&generator{Rand: f.Rand}, []string{"NaN", "Infinity", "007", "0x1F", "1_000", "5ms"})+plain[sp.to:])
			f.besides(sp.path)
		}
		if inside && sp.to-sp.from > 2 {
			f.addText("closing quote missing", either, plain[:sp.to-1]+plain[sp.to:])
			f.besides(sp.path)
		}
	}
	for _, c := range some(f, 2, f.json.commas) {
		f.addText("comma missing", either, plain[:c.at]+" "+plain[c.at+1:])
	}
	for _, b := range some(f, 4, f.json.brackets) {
		if strings.Trim(plain[b.at:], "}]") == "" {
			continue // a truncation
		}
		text := plain[:b.at] + plain[b.at+1:]
		for plain[b.at+1] == plain[b.at] { // of several brackets in a row any may be the one
			b = f.json.brackets[slices.Index(f.json.brackets, b)+1]
		}
		f.addText("bracket missing inside", either, text)
		f.besides(b.path)
	}
	f.add("bracket missing, fenced", either, "```json\n"+strings.TrimSuffix(pretty, "}")+"```\n", "")
	f.truncations(plain)
	f.truncations(pretty)
	if f.first {
		f.nothing(plain)
	}
}

// nothing makes texts that hold no payload, or several.
func (f *faults) nothing(plain string) {
	for _, s := range []string{"", "   ", "null", "5", "no payload at all", plain + plain, plain + "\n" + plain, "[" + plain + "," + plain + "]", `{"a":`, "{", "}"} {
		place, _ := broken(s)
		f.add("no payload", named, s, place)
	}
}

// truncations cuts a text at every kind of place.
func (f *faults) truncations(s string) {
	r := render(f.doc, style{indent: strings.Contains(s, "\n")})
	cuts := map[string][]int{}
	add := func(kind string, at int) {
		if at > 0 && at < len(strings.TrimRight(s, "}]\n ")) || kind == "before the last brackets" {
			cuts[kind] = append(cuts[kind], at)
		}
	}
	for _, sp := range r.spans {
		switch {
		case sp.to-sp.from > 3:
			add("inside a value", sp.from+1+f.IntN(sp.to-sp.from-2))
		}
		add("after a value", sp.to)
		if sp.end > 0 {
			add("inside a key", sp.key+1+f.IntN(max(1, sp.end-sp.key-1)))
			add("after a key", sp.end)
			add("after a colon", sp.end+1)
		}
	}
	for _, c := range r.commas {
		add("after a comma", c.at+1)
	}
	for _, b := range r.brackets {
		add("before the last brackets", b.at)
	}
	for _, kind := range slices.Sorted(maps.Keys(cuts)) {
		for _, at := range some(f, 2, cuts[kind]) {
			text := s[:at]
			if json.Valid([]byte(text)) {
				continue
			}
			fate := named
			if kind == "before the last brackets" {
				fate = either // nothing can be missing where the object has all its fields
			}
			f.addText("cut off "+kind, fate, text)
			for _, sp := range r.spans { // what is left of a number may break a rule by itself
				if _, number := sp.value.(json.Number); number && sp.from < at && at <= sp.to {
					f.besides(sp.path)
				}
			}
		}
	}
}

// values makes faults of single values.
func (f *faults) values() {
	for _, sp := range f.json.spans {
		if sp.path == "" {
			continue
		}
		s := f.schemaAt(sp.path)
		holder, name := parentOf(sp.path)
		optional := f.schemaAt(holder).sub("properties")[name] != nil && !f.schemaAt(holder).required(name)
		put := func(kind string, fate fate, v any) { f.add(kind, fate, f.edited(sp.path, is(v)), sp.path) }
		if e := s.list("enum"); len(e) > 0 {
			f.enum(sp, put)
		}
		switch x := sp.value.(type) {
		case string:
			switch {
			case len(s.list("enum")) > 0:
			case strings.Trim(x, "0123456789") == "" && x != "" && len(x) <= 15 && (len(x) == 1 || x[0] != '0'):
				put("integer for text", corrected, json.Number(x))
			case s.text("format") == "date-time":
				put("date variants", corrected, strings.Replace(x, "T", " ", 1))
				put("date variants", corrected, strings.NewReplacer("-", "", ":", "").Replace(x[:19])+strings.Replace(x[19:], ":", "", 1))
				put("date variants", corrected, strings.Replace(strings.Replace(x, ":00Z", "Z", 1), ".", ",", 1))
				put("date without a zone", named, x[:19])
			case s.text("format") != "" && s.text("format") != "regex" && s.text("format") != "json":
				put("spaces around", corrected, " "+x+"\n")
				put("wrong format", named, "no "+x)
			}
			put("wrong type", named, true)
			put("wrong type", named, json.Number("1.5"))
			put("wrong type", named, map[string]any{"k": "v"})
			put("wrong type", named, []any{"a", "b"})
			put("array of one", corrected, []any{x})
			if n := number(s, "maxLength", -1); n >= 0 && n < 5000 {
				put("too long", named, strings.Repeat("x", n+1))
			}
			if number(s, "minLength", 0) > 0 && len(s.list("enum")) == 0 {
				put("too short", named, "")
			}
			if p := s.text("pattern"); p != "" {
				put("pattern", named, "! ?")
			}
		case json.Number:
			put("number as text", corrected, x.String())
			put("number as text", corrected, " "+x.String()+" ")
			put("array of one", corrected, []any{x})
			put("wrong type", named, "many")
			put("wrong type", named, true)
			put("wrong type", named, map[string]any{})
			put("text that is no number", named, x.String()+" ms")
			put("text that is no number", named, x.String()+",5")
			if s.text("type") == "integer" {
				put("wrong type", named, json.Number("1.5"))
			}
			if len(s.list("enum")) == 0 {
				for _, key := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} {
					limit, ok := s[key].(json.Number)
					if !ok {
						continue
					}
					out := map[string]string{"minimum": "-", "maximum": "", "exclusiveMinimum": "-", "exclusiveMaximum": ""}[key] + "9" + strings.TrimLeft(limit.String(), "-")
					if strings.ContainsAny(out, ".e") {
						out = strings.TrimSuffix(out[:strings.IndexAny(out, ".e")], ".") + "e300"
					}
					put("out of range", named, json.Number(out))
					put("out of range, as text", named, out)
				}
			}
		case bool:
			put("boolean as text", corrected, fmt.Sprint(x))
			put("boolean as text", corrected, strings.ToUpper(fmt.Sprint(x)))
			put("array of one", corrected, []any{x})
			put("wrong type", named, json.Number("1"))
			put("wrong type", named, "yes")
		case map[string]any:
			put("object as JSON text", corrected, render(x, style{}).String())
			put("object as JSON text", corrected, render(x, style{indent: true, trailing: true}).String())
			put("array of one", corrected, []any{x})
			put("wrong type", named, true)
			put("wrong type", named, "text")
		case []any:
			put("array as JSON text", either, render(x, style{}).String())
			if s.sub("items").resolve(f.root)["type"] != nil {
				if inner, nested := nestedIn(x); len(x) == 1 {
					put("value for an array", either, x[0])
					if nested { // then it is each of its elements that should be an array
						f.all[len(f.all)-1].places = nil
						for i := range inner {
							f.all[len(f.all)-1].places = append(f.all[len(f.all)-1].places, fmt.Sprintf("%s/%d", sp.path, i))
						}
					}
				}
				if s.sub("items").resolve(f.root).text("type") != "boolean" {
					put("wrong type", named, true)
				}
				if n := number(s, "maxItems", -1); n >= 0 && n <= 32 && len(x) > 0 {
					put("too many", named, slices.Repeat([]any{x[0]}, n+1))
				}
			}
			if number(s, "minItems", 0) > 0 {
				put("too few", named, []any{})
			}
		}
		if !optional {
			put("null", named, nil)
		}
	}
}

// nestedIn is the first element of a list, if it is a list itself.
func nestedIn(list []any) ([]any, bool) {
	if len(list) == 0 {
		return nil, false
	}
	inner, ok := list[0].([]any)
	return inner, ok
}

func (f *faults) enum(sp span, put func(string, fate, any)) {
	x, ok := sp.value.(string)
	if !ok {
		put("not in the list", named, json.Number("77"))
		return
	}
	put("not in the list", named, "somethingelse")
	put("not in the list", named, "")
	if x == "" {
		return
	}
	for _, e := range f.schemaAt(sp.path).list("enum") {
		if e, ok := e.(string); ok && e != x && alike(e, x) {
			return
		}
	}
	put("list, other case", corrected, strings.ToUpper(x))
	put("list, other case", corrected, " "+strings.ToUpper(x[:1])+x[1:]+" ")
	if strings.ContainsAny(x, "_- ") {
		put("list, other separators", corrected, strings.NewReplacer("_", "-", "-", "_", " ", "_").Replace(x))
	}
}

// fields makes faults of the names of fields, and of which fields there are.
func (f *faults) fields() {
	for _, sp := range f.json.spans {
		s := f.schemaAt(sp.path)
		if o, ok := sp.value.(map[string]any); ok && s.sub("properties") != nil {
			at := func(name string) string { return sp.path + "/" + name }
			with := func(kind string, fate fate, name string, v any) {
				if _, there := o[name]; !there && s.sub("properties")[name] == nil {
					f.add(kind, fate, f.edited(at(name), is(v)), at(name))
				}
			}
			with("extra field", named, "zzz_note", "hello")
			with("extra field", named, "confidence", json.Number("0.9"))
			absent := slices.DeleteFunc(slices.Sorted(maps.Keys(s.sub("properties"))), func(n string) bool { _, there := o[n]; return there })
			for _, name := range some(f, 2, absent) {
				if s.sub("properties").sub(name).resolve(f.root)["type"] == nil {
					continue // null is a value there
				}
				f.add("null for an absent field", corrected, f.edited(at(name), is(nil)), at(name))
			}
			if len(o) > 0 {
				names := slices.Sorted(maps.Keys(o))
				name := names[f.IntN(len(names))]
				both := func(second string) string {
					text := f.json.String()
					return text[:sp.from+1] + quoteJSON(name) + ":" + second + "," + text[sp.from+1:]
				}
				f.add("duplicate, same value", corrected, both(render(o[name], style{}).String()), at(name))
				f.add("duplicate, other value", named, both(`"another"`), at(name))
				// Only the first one is checked, so it is the valid one.
				f.all[len(f.all)-1].text = strings.Replace(f.json.String(), f.json.String()[sp.from:sp.to], strings.TrimSuffix(f.json.String()[sp.from:sp.to], "}")+","+quoteJSON(name)+`:"another"}`, 1)
			}
		}
		if sp.end == 0 || f.schemaAt(first(parentOf(sp.path))).sub("properties") == nil {
			continue
		}
		holder, name := parentOf(sp.path)
		lacking := f.lacking(sp.path)
		if len(lacking) > 0 {
			f.add("field dropped", named, f.edited(sp.path, is(gone)), lacking...)
		}
		renamed := func(kind string, fate fate, to string) {
			if f.schemaAt(holder).sub("properties")[to] != nil || to == name || slices.ContainsFunc(slices.Collect(maps.Keys(f.schemaAt(holder).sub("properties"))), func(other string) bool {
				return other != name && alike(other, to)
			}) {
				return
			}
			text := f.json.String()
			f.add(kind, fate, text[:sp.key]+quoteJSON(to)+text[sp.end:], append([]string{holder + "/" + pointerEscapes.Replace(to)}, lacking...)...)
		}
		spelt := corrected
		for other := range f.schemaAt(holder).sub("properties") {
			if other != name && alike(other, name) { // the kitchen sink has a_b and a__b
				spelt = either
			}
		}
		renamed("name, other spelling", spelt, camel(name))
		renamed("name, other spelling", spelt, strings.ToUpper(name))
		renamed("name, other spelling", spelt, strings.ReplaceAll(name, "_", "-"))
		renamed("name, other spelling", spelt, strings.ReplaceAll(name, "_", ""))
		i := f.IntN(len(name))
		renamed("name, letter missing", either, name[:i]+name[i+1:])
		renamed("name, letter doubled", either, name[:i]+name[i:i+1]+name[i:])
		renamed("name, letter wrong", either, name[:i]+"q"+name[i+1:])
		if i > 0 {
			renamed("name, letters swapped", either, name[:i-1]+name[i:i+1]+name[i-1:i]+name[i+1:])
		}
		renamed("name, another word", named, "somethingelse")
		for _, prefix := range [][2]string{{"max", "min"}, {"min", "max"}, {"before", "after"}, {"source", "target"}} {
			if strings.Contains(name, prefix[0]) {
				renamed("name, the opposite", named, strings.Replace(name, prefix[0], prefix[1], 1))
			}
		}
		renamed("name, with a unit", named, name+"_s")
		renamed("name, numbered", named, name+"2")
	}
}

// alike reports whether two names differ in case and separators only.
func alike(a, b string) bool {
	plain := strings.NewReplacer("_", "", "-", "", " ", "")
	return strings.EqualFold(plain.Replace(a), plain.Replace(b))
}

func first(a, _ string) string { return a }

func camel(name string) string {
	parts := strings.Split(name, "_")
	for i, p := range parts {
		if i > 0 && p != "" {
			parts[i] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "")
}

// wrappings makes faults of what is around the payload.
func (f *faults) wrappings() {
	plain := f.json.String()
	mcp := strings.ReplaceAll(string(f.spec.ID), ".", "_")
	for _, w := range []string{
		`{"arguments":%s}`, `{"input":%s}`, `{"params":%s}`, `{"args":%s}`, `{"tool":"` + string(f.spec.ID) + `","arguments":%s}`,
		`{"name":"` + mcp + `","arguments":%s}`, `{"type":"tool_use","id":"toolu_1","name":"` + mcp + `","input":%s}`,
		`{"id":"call_1","type":"function","function":{"name":"` + mcp + `","arguments":%s}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + mcp + `","arguments":%s}}`,
		`{"` + string(f.spec.ID) + `":%s}`, `[%s]`,
	} {
		f.add("wrapped", corrected, fmt.Sprintf(w, plain), "")
		f.add("wrapped, as text", corrected, fmt.Sprintf(w, quoteJSON(plain)), "")
	}
	lacking := []string{}
	for _, r := range f.root.list("required") {
		lacking = append(lacking, "/"+r.(string))
	}
	for range f.root.groups() {
		lacking = append(lacking, "")
	}
	for _, w := range []struct {
		text   string
		places []string
	}{
		{`{"tool":"other.tool","arguments":%s}`, []string{"/tool", "/arguments"}},
		{`{"arguments":%s,"comment":"as asked"}`, []string{"/arguments", "/comment"}},
		{`{"wrapper":%s}`, []string{"/wrapper"}},
		{`{"arguments":[%s,{}]}`, []string{"/arguments"}},
	} {
		f.add("wrapped, not certainly", named, fmt.Sprintf(w.text, plain), append(w.places, lacking...)...)
	}
}

// known reports whether the root of the tool has a field of any of the names that envelopes use.
func (f *faults) known(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return f.root.sub("properties")[n] != nil })
}

func corruptions(t testing.TB, spec *tool.Spec, doc any, seed uint64) []fault {
	f := &faults{t: t, first: seed%100 == 0, Rand: rand.New(rand.NewPCG(seed, 2)), spec: spec, root: shapeOf(t, spec), doc: doc, json: render(doc, style{})}
	f.syntax()
	f.values()
	f.fields()
	if !f.known("arguments", "input", "params", "args", "tool", "name", "type", "id", "function", "method", "jsonrpc") {
		f.wrappings()
	}
	return f.all
}

// count is how many faults of a kind ended in which way.
type count struct{ faults, syntax, lossless, named int }

// TestCorruptions is the proof that repairing never guesses: every payload with one fault is corrected to what it was before, or the
// issues name the places of the fault and no other. No correction leads to another value.
func TestCorruptions(t *testing.T) {
	counts := map[string]*count{}
	total := &count{}
	tools := 0
	for i, spec := range allSpecs() {
		tools++
		for j, doc := range payloads(t, spec, 3, uint64(i)) {
			original := render(doc, style{}).text()
			value, issues := spec.Decode(original)
			if len(issues) > 0 {
				t.Fatalf("%s: %s is not valid: %v", spec.ID, original, issues)
			}
			for _, f := range corruptions(t, spec, doc, uint64(i*100+j)) {
				if _, issues := spec.Decode([]byte(f.text)); len(issues) == 0 {
					continue // still valid: no fault
				}
				c := counts[f.kind]
				if c == nil {
					c = &count{}
					counts[f.kind] = c
				}
				c.faults++
				out := repair.Payload(spec, []byte(f.text), repair.Lossless)
				if !out.OK() {
					c.named++
					if wrong := f.misnamed(out.Issues); wrong != "" || f.fate == corrected {
						t.Errorf("%s, %s:\n  %s\n  was %s\n  %s, named %v, corrections %v", spec.ID, f.kind, f.text, original, wrong, out.Issues, out.Repairs)
					}
					continue
				}
				if a, b := canonical(t, value), canonical(t, out.Value); a != b {
					t.Errorf("%s, %s: corrected to another value:\n  %s\n  was %s\n  now %s, corrections %v", spec.ID, f.kind, f.text, a, b, out.Repairs)
				}
				if f.fate == named {
					t.Errorf("%s, %s: corrected without certainty:\n  %s\n  %v", spec.ID, f.kind, f.text, out.Repairs)
				}
				if len(out.Repairs) == 0 {
					t.Errorf("%s, %s: no correction is recorded: %s", spec.ID, f.kind, f.text)
				}
				if slices.ContainsFunc(out.Repairs, func(r tool.Repair) bool { return r.Tier == repair.TierLossless }) {
					c.lossless++
				} else {
					c.syntax++
				}
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| fault | payloads | corrected by syntax | corrected without loss | named by issues |\n|---|--:|--:|--:|--:|\n")
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		c := counts[kind]
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d |\n", kind, c.faults, c.syntax, c.lossless, c.named)
		total.faults += c.faults
		total.syntax += c.syntax
		total.lossless += c.lossless
		total.named += c.named
	}
	fmt.Fprintf(&b, "| **all**, over %d tools | %d | %d | %d | %d |\n", tools, total.faults, total.syntax, total.lossless, total.named)
	t.Logf("\n%s", &b)
	if total.faults < 400 || len(counts) < 30 {
		t.Fatalf("only %d faults of %d kinds were made", total.faults, len(counts))
	}
	if *update && !t.Failed() {
		page, err := os.ReadFile(docPage)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(docPage, []byte(between(t, string(page), "corruptions", b.String())), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// misnamed says how the issues differ from the places of a fault, "" when they do not.
func (f fault) misnamed(issues tool.Issues) string {
	want, got := map[string]bool{}, map[string]bool{}
	for _, p := range f.places {
		want[p] = true
	}
	for _, i := range issues {
		if f.also != "" && (i.Path == f.also || strings.HasPrefix(i.Path, f.also+"/")) && !want[i.Path] {
			continue
		}
		got[i.Path] = true
	}
	if maps.Equal(want, got) {
		return ""
	}
	return fmt.Sprintf("want %v", slices.Sorted(maps.Keys(want)))
}

func canonical(t testing.TB, v tool.Payload) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const docPage = "../docs/reference/repair.md"

// between replaces what stands between two marks of a page.
func between(t testing.TB, page, mark, text string) string {
	t.Helper()
	begin, end := "<!-- "+mark+": go test ./repair -update -->\n", "<!-- end of "+mark+" -->"
	i, j := strings.Index(page, begin), strings.Index(page, end)
	if i < 0 || j < i {
		t.Fatalf("the page has no mark %q", mark)
	}
	return page[:i+len(begin)] + "\n" + text + "\n" + page[j:]
}
