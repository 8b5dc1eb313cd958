package codegen_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
	"toolsvc/toolset/codegen/internal/kitchensink/gen/toolsets/kitchen"
)

// FuzzDecode decodes any bytes as every payload and result. Nothing panics; there is a value or there are issues, never both; what the
// decoder takes is JSON; every issue can be shown; and what decodes as a result encodes and decodes to the same.
func FuzzDecode(f *testing.F) {
	specs := slices.Concat(kitchen.Specs(), browser.Specs())
	for i, s := range specs {
		f.Add(uint8(i), []byte(s.Example))
	}
	for _, seed := range []string{
		``, ` `, `{}`, `[]`, `null`, `"`, `{"`, `{"a`, `{"a":`, `{"a":1,`, `{"a":1}}`, `{"a":1} x`, "\xef\xbb\xbf{}", `{"":0}`, `{"a\/b~":0}`, `{"\u0000":"\ud834\udd1e"}`, `{"x":"\ud834"}`,
		"{\"plain\":\"\xff\"}", `{"plain":"\u0061","plain":"a"}`, `{"plain":"a"` + strings.Repeat(" ", 100) + `}`,
		`{"int":1e400,"uint":-0,"float64":-1E-400,"huge":9007199254740993.0}`, `{"int":` + strings.Repeat("9", 400) + `}`, `{"float32":0.` + strings.Repeat("1", 400) + `e+99999}`,
		`{"data":"YQ==","anything":[{"a":{"a":[null,true,0.1e1]}}],"any_map":{"a":1,"a":2}}`, `{"anything":` + strings.Repeat(`[`, 200) + strings.Repeat(`]`, 200) + `}`,
		`{"list":["a"],"map":{},"data":"","anything":{"b":9007199254740993}}`, `{"root":{"name":"a","children":[{"name":"b","leaf":{"number":1}}],"by_name":{"~":{"name":"c"}}}}`,
		`{"choice":{"pick":{"inline":{"deep":true}}},"left":"x","either":{"name":"n","number":1}}`, `{"user":1,"password":{},"tokens":"t","pins":[1,"2"],"keys":{"a/b":"!"}}`,
	} {
		for i := range specs {
			f.Add(uint8(i), []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, text []byte) {
		s := specs[int(which)%len(specs)]
		before := slices.Clone(text)
		defer func() {
			if !slices.Equal(text, before) {
				t.Errorf("the text was changed to %q", text)
			}
		}()
		payload, issues := s.Decode(text)
		checkFuzzed(t, text, payload != nil, issues)
		if shown := s.Redact(text); len(shown) > 0 && !json.Valid(shown) {
			t.Errorf("redacted, it is not JSON: %q", shown)
		}
		result, issues := s.DecodeResult(text)
		checkFuzzed(t, text, result != nil, issues)
		if result == nil {
			return
		}
		encoded, err := s.EncodeResult(result)
		if err != nil {
			t.Fatalf("%q decodes, but does not encode: %v", text, err)
		}
		again, issues := s.DecodeResult(encoded)
		if issues != nil || !reflect.DeepEqual(result, again) {
			t.Fatalf("%q became %q: %v", text, encoded, issues)
		}
	})
}

func checkFuzzed(t *testing.T, text []byte, value bool, issues tool.Issues) {
	t.Helper()
	if value == (len(issues) > 0) {
		t.Fatalf("%q: value %v, %d issues", text, value, len(issues))
	}
	if value && !json.Valid(text) {
		t.Fatalf("%q is not JSON, but was taken", text)
	}
	for _, i := range issues {
		if i.Message == "" || i.Constraint == "" || len(i.Got) > 128 || len(i.Path) > 4<<10 || len(i.Message) > 4<<10 || i.Offset < 0 || i.Offset > int64(len(text)) ||
			i.Path != "" && i.Path[0] != '/' || !utf8.ValidString(i.Message+i.Path+i.Got) || strings.ContainsAny(i.Message, "\n") {
			t.Fatalf("%q: issue %+v", text, i)
		}
	}
}
