package codegen_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"toolsvc/tool"
)

// oracle is an independent JSON Schema engine with the schema of a payload or result. It shares with our decoder only the checks of
// formats, which have tests of their own.
type oracle struct{ schema *jsonschema.Schema }

func newOracle(t testing.TB, schema []byte) oracle {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.AssertContent()
	for _, name := range []string{"date", "date-time", "uuid", "email", "hostname", "ipv4", "ipv6", "ip", "uri", "mac", "cidr", "regex", "json", "rfc1123"} {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(v any) error {
			if s, ok := v.(string); ok && !tool.Format(name).Valid(s) {
				return errors.New("not valid")
			}
			return nil
		}})
	}
	c.RegisterContentEncoding(&jsonschema.Decoder{Name: "base64", Decode: func(s string) ([]byte, error) {
		if strings.ContainsAny(s, "\r\n") {
			return nil, errors.New("line break")
		}
		return base64.StdEncoding.Strict().DecodeString(s)
	}})
	if err := c.AddResource("mem:schema", apart(doc)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:schema")
	if err != nil {
		t.Fatal(err)
	}
	return oracle{s}
}

// apart moves enum and format into schemas of their own, because the engine stops at the first of them that fails, where JSON Schema
// evaluates every keyword.
func apart(schema any) any {
	switch s := schema.(type) {
	case map[string]any:
		var all []any
		for k, v := range s {
			switch k {
			case "enum", "format":
				if _, property := s["type"]; property {
					all = append(all, map[string]any{k: v})
					delete(s, k)
					continue
				}
			}
			s[k] = apart(v)
		}
		if len(all) > 0 {
			s["allOf"] = all
		}
	case []any:
		for i, v := range s {
			s[i] = apart(v)
		}
	}
	return schema
}

// violations validates a document and returns "pointer keyword" of each violation, sorted, without doubles.
func (o oracle) violations(t testing.TB, document []byte) []string {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatalf("%s: %v", document, err)
	}
	err = o.schema.Validate(v)
	if err == nil {
		return nil
	}
	var root *jsonschema.ValidationError
	if !errors.As(err, &root) {
		t.Fatalf("%s: %v", document, err)
	}
	var found []string
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		at := pointer(e.InstanceLocation)
		add := func(at, keyword string) { found = append(found, at+" "+keyword) }
		switch k := e.ErrorKind.(type) {
		case *kind.Required:
			for _, name := range k.Missing {
				add(at+pointer([]string{name}), "required")
			}
		case *kind.AdditionalProperties:
			for _, name := range k.Properties {
				add(at+pointer([]string{name}), "additionalProperties")
			}
		case *kind.PropertyNames:
			add(nameOnly(at+pointer([]string{k.Property})), "propertyNames")
		case *kind.AnyOf:
			add(at, "anyOf")
		case *kind.OneOf:
			add(at, "oneOf")
		case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
			for _, c := range e.Causes {
				walk(c)
			}
		default:
			path := e.ErrorKind.KeywordPath()
			if len(path) == 0 || len(e.Causes) > 0 {
				t.Fatalf("the oracle says what this test does not know: %#v", e.ErrorKind)
			}
			add(at, path[len(path)-1])
		}
	}
	walk(root)
	slices.Sort(found)
	return lengthOfBytes(slices.Compact(found))
}

// lengthOfBytes drops the length of what is not base64: we count its bytes, and there are none.
func lengthOfBytes(found []string) []string {
	return slices.DeleteFunc(found, func(v string) bool {
		at, keyword, _ := strings.Cut(v, " ")
		return (keyword == "minLength" || keyword == "maxLength") && slices.Contains(found, at+" contentEncoding")
	})
}

var escapes = strings.NewReplacer("~", "~0", "/", "~1")

func pointer(tokens []string) string {
	var b strings.Builder
	for _, s := range tokens {
		b.WriteString("/" + escapes.Replace(s))
	}
	return b.String()
}

// nameOnly keeps of the place of a bad key only its depth and the key: santhosh-tekuri/jsonschema v6.0.3 keeps a location there that it
// overwrites later.
func nameOnly(path string) string {
	return strings.Repeat("/*", strings.Count(path, "/")-1) + path[strings.LastIndexByte(path, '/'):]
}

// ours are the issues in the oracle's form.
func ours(issues tool.Issues) []string {
	var found []string
	for _, i := range issues {
		at := i.Path
		if i.Constraint == "propertyNames" {
			at = nameOnly(at)
		}
		found = append(found, fmt.Sprintf("%s %s", at, i.Constraint))
	}
	slices.Sort(found)
	return slices.Compact(found)
}
