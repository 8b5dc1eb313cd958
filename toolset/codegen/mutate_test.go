package codegen_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// documents makes documents from a schema: mostly valid ones, and mutations of them.
type documents struct {
	*rand.Rand
	root     map[string]any
	patterns map[string]*regexp.Regexp
}

func newDocuments(root map[string]any) *documents {
	return &documents{root: root, patterns: map[string]*regexp.Regexp{}}
}

func (g *documents) compiled(pattern string) *regexp.Regexp {
	if g.patterns[pattern] == nil {
		g.patterns[pattern] = regexp.MustCompile(pattern)
	}
	return g.patterns[pattern]
}

// texts are the strings to choose from: some of every format and pattern, valid, almost valid and odd.
var texts = []string{
	"", "a", "ab", "abc", "abcd", "abcde", "abcdef", "a-b", "z9", "A", "Ab", "a b", "a\nc", "a.c", "aéc", "日本", "日本語日本語", "\u2028", "a\u00a0b",
	"café", "CAFÉ.", "cafe", "red", "green", "light \"blue\"", "blue", "aa", "bbbb", "cc1", "one", "two", "yes", "no", "on", "off",
	"2026-11-21", "2026-02-29", "2024-02-29", "2026-11-21T09:30:00Z", "2026-11-21t09:30:00.5+01:00", "2026-11-21T24:00:00Z", "2016-12-31T23:59:60Z",
	"6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6BA7B810-9DAD-11D1-80B4-00C04FD430C8", "6ba7b810-9dad-11d1-80b4-00c04fd430c", "{6ba7b810-9dad-11d1-80b4-00c04fd430c8}",
	"a@b.c", "ada@example.com", "@b", "a@", "a@b@c", "example.com", "-example.com", "ex_ample", "localhost",
	"192.0.2.1", "192.0.2.256", "::1", "2001:db8::1", "fe80::1%eth0", "1::2::3", "192.0.2.0/24", "2001:db8::/32", "192.0.2.0/33",
	"https://example.com/a?b=c#d", "http://", "/relative", "urn:isbn:123", "http://a b", "http://[::1]:80/", "mailto:a@b.c", "not a uri",
	"00:00:5e:00:53:01", "00-00-5e-00-53-01", "00:00:5e:00:53", "0000.5e00.5301", "^a+$", "a(", "[", "{}", "[1,2", "null", `{"a":1}`,
	"Sat, 21 Nov 2026 09:30:00 GMT", "Sat, 21 Nov 2026 09:30:00 +0000", "Sun, 21 Nov 2026",
	"YQ==", "YWI=", "YWJj", "YWJjZGVmZw==", "YR==", "YQ", "Y Q=", "YQ==\n", "####", strings.Repeat("x", 301), strings.Repeat("é", 40), "/", "~", "a/b~c",
}

// numbers are the numbers to choose from, as their texts.
var numbers = []string{
	"0", "-0", "1", "2", "-3", "3", "5", "7", "9", "10", "11", "100", "101", "-1", "9999", "10000", "0.0", "1.0", "1.5", "-1.5", "1e2", "1E+2", "10e-1", "15e-1",
	"0.1", "0.10", "0.1000000000000000055", "0.09999999999999999999", "0.25", "0.5", "0.50000000000000000001", "1.1", "1.0999999999999999999", "2.5", "2.5000001", "-0.1",
	"2147483647", "2147483648", "-2147483648", "-2147483649", "4294967295", "4294967296",
	"9007199254740991", "9007199254740992", "9007199254740993", "9007199254740994", "-9007199254740993", "-9007199254740994", "9007199254740993.0", "9007199254740993.5",
	"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "9.223372036854775807e18", "9.223372036854775808e18",
	"18446744073709551614", "18446744073709551615", "18446744073709551616", "184467440737095516150e-1", "1e19", "1e20", "123456789012345678901234567890",
	"3.4028234663852886e38", "3.4028234663852887e38", "3.5e38", "-3.5e38", "1e-300", "1e300",
}

func (g *documents) resolve(s map[string]any) map[string]any {
	ref, ok := s["$ref"].(string)
	if !ok {
		return s
	}
	return g.root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
}

func pick[T any](g *documents, list []T) T { return list[g.IntN(len(list))] }

// value makes a value that is mostly valid under the schema.
func (g *documents) value(s map[string]any, depth int) any {
	s = g.resolve(s)
	if e, ok := s["enum"].([]any); ok && g.IntN(10) > 0 {
		return pick(g, e)
	}
	switch s["type"] {
	case "object":
		return g.object(s, depth)
	case "array":
		low, high := bound(s, "minItems", 0), bound(s, "maxItems", 3)
		list := []any{}
		if depth < 6 {
			for range low + g.IntN(high-low+1) {
				list = append(list, g.value(s["items"].(map[string]any), depth+1))
			}
		}
		return list
	case "string":
		return g.text(s)
	case "integer", "number":
		return g.number(s)
	case "boolean":
		return g.IntN(2) == 0
	}
	return g.anything(depth)
}

func bound(s map[string]any, name string, otherwise int) int {
	if n, ok := s[name].(json.Number); ok {
		i, err := strconv.Atoi(n.String())
		if err == nil {
			return min(i, 4)
		}
	}
	return otherwise
}

func (g *documents) object(s map[string]any, depth int) map[string]any {
	o := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	names := slices.Sorted(maps.Keys(properties))
	required := map[string]bool{}
	for _, r := range list(s["required"]) {
		required[r.(string)] = true
	}
	for _, group := range []string{"anyOf", "oneOf"} {
		if alternatives := list(s[group]); len(alternatives) > 0 {
			required[pick(g, alternatives).(map[string]any)["required"].([]any)[0].(string)] = true
		}
	}
	for _, a := range list(s["allOf"]) {
		alternatives := list(a.(map[string]any)["anyOf"])
		required[pick(g, alternatives).(map[string]any)["required"].([]any)[0].(string)] = true
	}
	_, union := s["oneOf"]
	for _, name := range names {
		if required[name] || !union && depth < 5 && g.IntN(len(names)+2) < 3 {
			o[name] = g.value(properties[name].(map[string]any), depth+1)
		}
	}
	if of, ok := s["additionalProperties"].(map[string]any); ok && depth < 5 {
		names, _ := s["propertyNames"].(map[string]any)
		for range bound(s, "minProperties", 0) + g.IntN(3) {
			o[g.text(names)] = g.value(of, depth+1)
		}
	}
	return o
}

func list(v any) []any { l, _ := v.([]any); return l }

func (g *documents) text(s map[string]any) string {
	p, _ := s["pattern"].(string)
	for range 40 {
		x := pick(g, texts)
		if p == "" || g.compiled(p).MatchString(x) {
			return x
		}
	}
	return "abc"
}

func (g *documents) number(s map[string]any) any {
	for range 12 {
		n := pick(g, numbers)
		if s["type"] == "number" || !strings.ContainsAny(n, ".e") {
			return json.Number(n)
		}
	}
	return json.Number("1")
}

func (g *documents) anything(depth int) any {
	switch g.IntN(8) {
	case 0:
		return nil
	case 1:
		return g.IntN(2) == 0
	case 2:
		return json.Number(pick(g, numbers))
	case 3:
		return []any{}
	case 4:
		return map[string]any{}
	case 5:
		if depth < 4 {
			return []any{g.anything(depth + 1), g.anything(depth + 1)}
		}
	case 6:
		if depth < 4 {
			return map[string]any{pick(g, texts): g.anything(depth + 1)}
		}
	}
	return pick(g, texts)
}

// mutate changes the document in one random place.
func (g *documents) mutate(v any) any {
	switch x := v.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(x))
		switch n := g.IntN(10); {
		case n < 6 && len(keys) > 0: // deeper
			k := pick(g, keys)
			x[k] = g.mutate(x[k])
			return x
		case n == 6 && len(keys) > 0:
			delete(x, pick(g, keys))
			return x
		case n == 7:
			for range 1 + g.IntN(3) {
				x[pick(g, texts)] = g.anything(2)
			}
			return x
		case n == 8 && len(keys) > 0: // misspell
			k := pick(g, keys)
			e := x[k]
			delete(x, k)
			x[k+"s"] = e
			return x
		case n == 9:
			return map[string]any{}
		}
	case []any:
		switch n := g.IntN(6); {
		case n < 3 && len(x) > 0:
			i := g.IntN(len(x))
			x[i] = g.mutate(x[i])
			return x
		case n == 3 && len(x) > 0:
			return slices.Delete(x, g.IntN(len(x)), len(x))
		case n == 5:
			return []any{}
		case n == 4:
			for range 4 {
				x = append(x, g.anything(3))
			}
			return x
		}
	case string:
		switch g.IntN(4) {
		case 0:
			return x + x
		case 1:
			return x + "é"
		case 2:
			return x[:0]
		}
	case json.Number:
		return json.Number(pick(g, numbers))
	}
	return g.anything(2)
}
