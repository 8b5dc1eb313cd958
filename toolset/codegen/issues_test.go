package codegen_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
	"toolsvc/toolset/codegen/internal/kitchensink/gen/toolsets/kitchen"
)

// TestMessages holds what a caller reads of each kind of violation.
func TestMessages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec    *tool.Spec
		payload string
		want    []string
	}{
		// types
		{kitchen.StringsSpec, `[]`, []string{`The payload must be an object, not [].`}},
		{kitchen.StringsSpec, `{"plain":1}`, []string{`plain must be a string, not 1.`}},
		{kitchen.StringsSpec, `{"plain":null}`, []string{`plain must be a string, not null.`}},
		{kitchen.StringsSpec, `{"plain":{"a":[1]}}`, []string{`plain must be a string, not {"a":[1]}.`}},
		{kitchen.NumbersSpec, `{"int":1.5}`, []string{`int must be an integer, not 1.5.`}},
		{kitchen.NumbersSpec, `{"int":"5"}`, []string{`int must be an integer, not "5".`}},
		{kitchen.NumbersSpec, `{"float64":"5"}`, []string{`float64 must be a number, not "5".`}},
		{kitchen.NumbersSpec, `{"bool":0}`, []string{`bool must be a boolean, not 0.`}},
		{kitchen.ContainersSpec, `{"list":{}}`, []string{`list must be an array, not {}.`}},
		{kitchen.ContainersSpec, `{"matrix":[[1],2]}`, []string{`matrix.1 must be an array, not 2.`}},
		{kitchen.ContainersSpec, `{"map":[]}`, []string{`map must be an object, not [].`}},
		// fields
		{kitchen.StringsSpec, `{}`, []string{`plain is missing.`}},
		{kitchen.StringsSpec, `{"plian":"a"}`, []string{`plian is not a known field; did you mean plain?`, `plain is missing.`}},
		{kitchen.PlainSpec, `{"zebra":"a"}`, []string{`zebra is not a known field; the known fields are expect and intent.`}},
		{kitchen.StringsSpec, `{"plain":"a","plain":"b"}`, []string{`plain stands there more than once.`}},
		{kitchen.ContainersSpec, `{"map":{"a":1,"a":2}}`, []string{`map.a stands there more than once.`}},
		{kitchen.ContainersSpec, `{"anything":{"a":{"b":1,"b":2}}}`, []string{`anything.a.b stands there more than once.`}},
		{kitchen.ObjectsSpec, `{"choice":{"pick":{"word":"yes"}}}`, []string{`The payload needs at least one of left, right or point.`}},
		{kitchen.ObjectsSpec, `{"left":"","choice":{"pick":{}}}`, []string{`choice.pick must have exactly one of point, word, count, tags or inline; it has none.`}},
		{kitchen.ObjectsSpec, `{"left":"","choice":{"pick":{"word":"no","count":1}}}`, []string{`choice.pick must have exactly one of point, word, count, tags or inline; it has 2.`}},
		{kitchen.ObjectsSpec, `{"left":"","choice":{"pick":{"word":"no"}},"located":{}}`,
			[]string{`located needs at least one of city or point.`, `located needs at least one of point or code.`}},
		// strings
		{kitchen.StringsSpec, `{"plain":"","short":"a"}`, []string{`short must have at least 2 characters; it has 1.`}},
		{kitchen.StringsSpec, `{"plain":"","short":""}`, []string{`short must have at least 2 characters; it has none.`}},
		{kitchen.StringsSpec, `{"plain":"","short":"éééééé"}`, []string{`short must have at most 5 characters; it has 6.`}},
		{kitchen.StringsSpec, `{"plain":"","short":"ééééé"}`, nil},
		{kitchen.StringsSpec, `{"plain":"","slug":"A/b"}`, []string{`slug must match the pattern ^[a-z][a-z0-9-]*$, not "A/b".`}},
		{kitchen.StringsSpec, `{"plain":"","color":"gren"}`, []string{`color must be "red", "green", "light \"blue\"" or "", not "gren"; did you mean green?`}},
		{kitchen.StringsSpec, `{"plain":"","both":"AAAA"}`, []string{`both must be "aa", "bbbb" or "cc1", not "AAAA".`,
			`both must have at most 3 characters; it has 4.`, `both must match the pattern ^[a-z]+$, not "AAAA".`}},
		{kitchen.StringsSpec, `{"plain":"","date":"21.11.2026"}`, []string{`date must be a date such as 2026-11-21, not "21.11.2026".`}},
		{kitchen.StringsSpec, `{"plain":"","uri":"/just/a/path"}`, []string{`uri must be an absolute URI such as https://example.com/path, not "/just/a/path".`}},
		{kitchen.StringsSpec, `{"plain":"","hostname":"bad host!!x"}`, []string{`hostname must be a host name such as www.example.com, not "bad host!!x".`}},
		{kitchen.StringsSpec, `{"plain":"","defaulted":""}`, []string{`defaulted must have at least 1 character; it has none.`}},
		// numbers
		{kitchen.NumbersSpec, `{"small":-4}`, []string{`small must be at least -3, not -4.`}},
		{kitchen.NumbersSpec, `{"small":101}`, []string{`small must be at most 100, not 101.`}},
		{kitchen.NumbersSpec, `{"count":11,"few":6}`, []string{`count must be at most 10, not 11.`, `few must be at most 5, not 6.`}},
		{kitchen.NumbersSpec, `{"count":-1,"few":-1}`, []string{`count must be at least 0, not -1.`, `few must be at least 0, not -1.`}},
		{kitchen.NumbersSpec, `{"open":0}`, []string{`open must be greater than 0, not 0.`}},
		{kitchen.NumbersSpec, `{"open":1e1}`, []string{`open must be less than 10, not 1e1.`}},
		{kitchen.NumbersSpec, `{"int32":2147483648}`, []string{`int32 must be at most 2147483647, not 2147483648.`}},
		{kitchen.NumbersSpec, `{"int64":-9223372036854775809}`, []string{`int64 must be at least -9223372036854775808, not -9223372036854775809.`}},
		{kitchen.NumbersSpec, `{"uint64":18446744073709551616}`, []string{`uint64 must be at most 18446744073709551615, not 18446744073709551616.`}},
		{kitchen.NumbersSpec, `{"uint":-1}`, []string{`uint must be at least 0, not -1.`}},
		{kitchen.NumbersSpec, `{"huge":9007199254740993}`, nil},
		{kitchen.NumbersSpec, `{"huge":9007199254740994}`, []string{`huge must be at most 9007199254740993, not 9007199254740994.`}},
		{kitchen.NumbersSpec, `{"vast":18446744073709551615}`, []string{`vast must be at most 18446744073709551614, not 18446744073709551615.`}},
		{kitchen.NumbersSpec, `{"float64":1e400}`, []string{`float64 must be at most 1.7976931348623157e+308, not 1e400.`}},
		{kitchen.NumbersSpec, `{"float32":-1e39}`, []string{`float32 must be at least -3.4028234663852886e+38, not -1e39.`}},
		{kitchen.NumbersSpec, `{"half":0.50000000000000000001}`, []string{`half must be 0 or 0.5, not 0.50000000000000000001.`}},
		{kitchen.NumbersSpec, `{"ratio":1.1}`, []string{`ratio must be less than 1.1, not 1.1.`}},
		{kitchen.NumbersSpec, `{"ratio":1.0999999999999999999999}`, nil}, // rounds to 1.1, but is less
		{kitchen.NumbersSpec, `{"int_enum":4}`, []string{`int_enum must be 1, 2 or -3, not 4.`}},
		{kitchen.NumbersSpec, `{"int_enum":2.0,"uint_enum":18446744073709551615,"float_enum":0.10}`, nil},
		{kitchen.NumbersSpec, `{"float_enum":0.1000000000000000055}`, []string{`float_enum must be 0.1, 1.5 or 2, not 0.1000000000000000055.`}},
		{kitchen.NumbersSpec, `{"bool_enum":false}`, []string{`bool_enum must be true, not false.`}},
		{kitchen.NumbersSpec, `{"int":1e999999999999999999999}`, []string{`int must be at most 9223372036854775807, not 1e999999999999999999999.`}},
		{kitchen.NumbersSpec, `{"int":1e-999999999999999999999}`, []string{`int must be an integer, not 1e-999999999999999999999.`}},
		// containers
		{kitchen.ContainersSpec, `{"list":[]}`, []string{`list must have at least 1 element; it has none.`}},
		{kitchen.ContainersSpec, `{"list":["","","",""]}`, []string{`list must have at most 3 elements; it has 4.`}},
		{kitchen.ContainersSpec, `{"list":["abcd"]}`, []string{`list.0 must have at most 3 characters; it has 4.`}},
		{kitchen.ContainersSpec, `{"map":{}}`, []string{`map must have at least 1 entry; it has none.`}},
		{kitchen.ContainersSpec, `{"map":{"a":1,"b":2,"c":3}}`, []string{`map must have at most 2 entries; it has 3.`}},
		{kitchen.ContainersSpec, `{"keyed":{"A/~":"on"}}`, []string{`The key "A/~" of keyed must match the pattern ^[a-z]+$.`}},
		{kitchen.ContainersSpec, `{"labels":{"":"x","abcdefghijklm":"x"},"keyed":{"abcde":"on"}}`, []string{`The key "" of labels must match the pattern ^[a-z][a-z0-9-]*$.`,
			`The key "abcdefghijklm" of labels must have at most 12 characters.`, `The key "abcde" of keyed must have at most 4 characters.`}},
		{kitchen.ContainersSpec, `{"keyed":{"a":"onn"}}`, []string{`keyed.a must be "on" or "off", not "onn"; did you mean on?`}},
		{kitchen.ContainersSpec, `{"data":"YQ"}`, []string{`data must be base64 text with padding, not "YQ".`}},
		{kitchen.ContainersSpec, `{"data":"YWJjZGVmZw=="}`, []string{`data must have at most 6 bytes; it has 7.`}},
		// common arguments
		{kitchen.PlainSpec, `{"expect":["` + strings.Repeat("é", 2001) + `"]}`, []string{`expect.0 must have at most 2000 characters; it has 2001.`}},
		{kitchen.PlainSpec, `{"expect":[` + strings.Repeat(`"a",`, 32) + `"a"]}`, []string{`expect must have at most 32 elements; it has 33.`}},
		{kitchen.PlainSpec, `{"intent":"` + strings.Repeat("é", 301) + `"}`, []string{`intent must have at most 300 characters; it has 301.`}},
		{kitchen.PlainSpec, `{"expect":["` + strings.Repeat("é", 2000) + `"],"intent":"` + strings.Repeat("é", 300) + `"}`, nil},
		// syntax
		{kitchen.PlainSpec, ``, []string{`The payload is not valid JSON: it is empty at line 1, column 1.`}},
		{kitchen.PlainSpec, `  `, []string{`The payload is not valid JSON: it is empty at line 1, column 1.`}},
		{kitchen.PlainSpec, `{"intent":"a"`, []string{`The payload is not valid JSON: it ends too early at line 1, column 14.`}},
		{kitchen.PlainSpec, "{\n  \"intent\": \"a\"\n  \"expect\": []\n}", []string{`The payload is not valid JSON: invalid character '"' after object value (expecting ',' or '}') at line 3, column 3.`}},
		{kitchen.PlainSpec, `{"intent":"a"} {}`, []string{`The payload is not valid JSON: more data follows after its end at line 1, column 16.`}},
		{kitchen.PlainSpec, "{}\n \"abc\"", []string{`The payload is not valid JSON: more data follows after its end at line 2, column 2.`}},
		{kitchen.PlainSpec, `{'intent':1}`, []string{`The payload is not valid JSON: invalid character '\'' at start of value at line 1, column 2.`}},
		{kitchen.PlainSpec, "{\"intent\":\"a\xff\"}", []string{`The payload is not valid JSON: invalid UTF-8 at line 1, column 13.`}},
		{kitchen.PlainSpec, `{"intent":"\ud800"}`, []string{`The payload is not valid JSON: invalid surrogate pair ` + "`" + `\ud800"}` + "`" + ` in string at line 1, column 12.`}},
		{kitchen.PlainSpec, `{"intent":NaN}`, []string{`The payload is not valid JSON: invalid character 'N' at start of value at line 1, column 11.`}},
		{kitchen.PlainSpec, `{"intent":01}`, []string{`intent must be a string, not 0.`, `The payload is not valid JSON: invalid character '1' after object value (expecting ',' or '}') at line 1, column 12.`}},
	} {
		v, issues := c.spec.Decode([]byte(c.payload))
		var got []string
		for _, i := range issues {
			got = append(got, i.Message)
		}
		if len(c.want) == 0 && len(got) == 0 {
			if v == nil {
				t.Errorf("%s: %.60s: neither a payload nor issues", c.spec.ID, c.payload)
			}
			continue
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %.80s\n got %q\nwant %q", c.spec.ID, c.payload, got, c.want)
		}
		if v != nil {
			t.Errorf("%s: %.60s: a payload beside issues", c.spec.ID, c.payload)
		}
	}
}

// TestAllViolationsAtOnce decodes a payload with 19 violations of different kinds.
func TestAllViolationsAtOnce(t *testing.T) {
	t.Parallel()
	payload := `{
  "target": {"nmae": "Play", "role": "Button", "within": "", "nth": 0, "selector": 7, "near": "a", "near": "b"},
  "button": "lft",
  "modifiers": ["Alt", 3, "Ctrl", null, "Shift"],
  "timeout": 5,
  "intent": ["x"],
  "expect": ["ok", 1, {}, "` + strings.Repeat("x", 2001) + `", true],
  "button": "left",
  "target": {},
  "": 1,
  "a/b~c": 2
}`
	_, issues := browser.ClickSpec.Decode([]byte(payload))
	type short struct{ path, constraint, want, got, suggestion string }
	var got []short
	for _, i := range issues {
		got = append(got, short{i.Path, i.Constraint, i.ExpectedType, i.Got, i.Suggestion})
		if at := payload[i.Offset:]; i.Got != "" && i.Constraint != "additionalProperties" && i.Constraint != "duplicate" && i.Constraint != "maxItems" &&
			!strings.HasPrefix(at, strings.TrimSuffix(i.Got, "…")) {
			t.Errorf("%s: at offset %d stands %.20q, not %q", i.Path, i.Offset, at, i.Got)
		}
	}
	want := []short{
		{"/target/nmae", "additionalProperties", "", `"Play"`, "name"},
		{"/target/role", "pattern", "string", `"Button"`, ""},
		{"/target/within", "minLength", "string", `""`, ""},
		{"/target/nth", "minimum", "integer", "0", ""},
		{"/target/selector", "type", "string", "7", ""},
		{"/target/near", "duplicate", "", `"b"`, ""},
		{"/button", "enum", "string", `"lft"`, "left"},
		{"/modifiers/1", "type", "string", "3", ""},
		{"/modifiers/2", "enum", "string", `"Ctrl"`, ""},
		{"/modifiers/3", "type", "string", "null", ""},
		{"/modifiers", "maxItems", "array", "5", ""},
		{"/timeout", "additionalProperties", "", "5", ""},
		{"/intent", "type", "string", `["x"]`, ""},
		{"/expect/1", "type", "string", "1", ""},
		{"/expect/2", "type", "string", "{}", ""},
		{"/expect/3", "maxLength", "string", `"` + strings.Repeat("x", 124) + "…", ""},
		{"/expect/4", "type", "string", "true", ""},
		{"/button", "duplicate", "", `"left"`, ""},
		{"/target", "duplicate", "", "{}", ""},
		{"/", "additionalProperties", "", "1", ""},
		{"/a~1b~0c", "additionalProperties", "", "2", ""},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %d:\n%+v\nwant %d:\n%+v", len(got), got, len(want), want)
	}
	if len(issues) < 19 {
		t.Errorf("only %d issues", len(issues))
	}
	again, _ := json.Marshal(issues)
	for range 5 {
		_, is := browser.ClickSpec.Decode([]byte(payload))
		if b, _ := json.Marshal(is); !bytes.Equal(b, again) {
			t.Fatal("the issues of one payload change")
		}
	}
	for _, leak := range []string{"ClickPayload", "Target{", "int64", "*string", "tool.", "go-json", "jsontext"} {
		if strings.Contains(string(again), leak) {
			t.Errorf("an issue leaks %q: %s", leak, again)
		}
	}
}

func TestLimitsAndAllowed(t *testing.T) {
	t.Parallel()
	_, issues := kitchen.NumbersSpec.Decode([]byte(`{"huge":9007199254740994,"uint_enum":1,"share":2}`))
	text, err := json.Marshal(issues)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"limit":9007199254740993,`, `"allowed":["0","18446744073709551615"]`, `"limit":1,`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	_, issues = kitchen.StringsSpec.Decode([]byte(`{"plain":"x","folded":"no","dotted":"a\nc","spaced":"\u00a0"}`))
	var limits []any
	for _, i := range issues {
		limits = append(limits, i.Limit)
	}
	if want := []any{`^[cC][aA][fF][éÉ]\.?$`, `^a[^\n]c$`, `[\x09\x0a\x0c\x0d ]`}; !reflect.DeepEqual(limits, want) {
		t.Errorf("patterns %q, want %q", limits, want)
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for _, payload := range []string{
		`{"user":"u","password":"hunter2"}`,                // too short
		`{"user":"u","password":["hunter2"]}`,              // wrong type
		`{"user":"u","password":{"hunter2":1}}`,            // wrong type
		`{"user":"u","pasword":"hunter2"}`,                 // misspelt
		`{"user":"u","hunter":"hunter2"}`,                  // unknown
		`{"user":"u","password":"x","password":"hunter2"}`, // twice
		`{"user":"u","backup":"hunter2"}`,                  // what holds it
		`{"user":"u","backup":{"user":"u","password":"hunter2"}}`,
		`{"user":"u","backup":{"passwort":"hunter2"}}`,
		`{"user":"u","tokens":"hunter2"}`,
		`{"user":"u","tokens":["a","b",{"hunter2":0}]}`,
		`{"user":"u","pins":["hunter2"]}`,
		`{"user":"u","pins":{"0":"hunter2"}}`,
		`{"user":"u","keys":{"k":"hunter2"}}`,
		`{"user":"u","keys":["hunter2"]}`,
		`["hunter2"]`,
		`"hunter2"`,
		`{"user":"u","password":"hunter2`,
		`{"user":"u","password":hunter2}`,
	} {
		v, issues := kitchen.SecretsSpec.Decode([]byte(payload))
		if v != nil || len(issues) == 0 {
			t.Errorf("%s: no issue", payload)
		}
		text, err := json.Marshal(issues)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), secret) {
			t.Errorf("%s: an issue shows the secret: %s", payload, text)
		}
		hint, err := json.Marshal(tool.HintArguments(kitchen.SecretsSpec, issues, []byte(payload)))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(hint), secret) {
			t.Errorf("%s: the hint shows the secret: %s", payload, hint)
		}
	}
	_, issues := kitchen.SecretsSpec.Decode([]byte(`{"user":7,"password":"short"}`))
	if len(issues) != 2 || issues[0].Got != "7" || issues[1].Got != tool.Redacted {
		t.Errorf("what is not secret is shown, and what is not: %+v", issues)
	}
	if _, err := kitchen.SecretsSpec.EncodeResult(&kitchen.SecretsResult{Token: new("hunter2")}); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("encoding a result: %v", err)
	}
	want := []string{"/backup/password", "/backup/pins/*", "/backup/keys/*", "/tokens", "/password", "/pins/*", "/keys/*"}
	if !slices.Equal(kitchen.SecretsSpec.Secrets, want) {
		t.Errorf("secrets %q, want %q", kitchen.SecretsSpec.Secrets, want)
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	t.Run("size", func(t *testing.T) {
		t.Parallel()
		large := []byte(`{"intent":"` + strings.Repeat("x", 5<<20) + `"}`)
		_, issues := kitchen.PlainSpec.Decode(large)
		if len(issues) != 1 || issues[0].Constraint != tool.ConstraintMaxBytes || issues[0].Limit != tool.MaxPayload ||
			issues[0].Message != fmt.Sprintf("The payload has %d bytes, more than the 1048576 that are allowed.", len(large)) {
			t.Errorf("%+v", issues)
		}
		full := []byte(`{"plain":"` + strings.Repeat("x", tool.MaxPayload-12) + `"}`)
		if _, issues := kitchen.StringsSpec.Decode(full); issues != nil {
			t.Errorf("a payload of exactly the limit: %v", issues)
		}
		if _, issues := kitchen.StringsSpec.Decode(append(full, ' ')); len(issues) != 1 {
			t.Errorf("one byte more: %v", issues)
		}
		if _, err := kitchen.ContainersSpec.EncodeResult(&kitchen.ContainersResult{Anything: strings.Repeat("x", tool.MaxResult)}); err == nil ||
			!strings.Contains(err.Error(), "more than the 1048576 that are allowed") {
			t.Errorf("a large result: %.200v", err)
		}
	})
	t.Run("depth", func(t *testing.T) {
		t.Parallel()
		nodes := func(n int) []byte {
			return []byte(`{"root":` + strings.Repeat(`{"name":"a","next":`, n) + `{"name":"a"}` + strings.Repeat("}", n) + `}`)
		}
		if _, issues := kitchen.TreeSpec.Decode(nodes(98)); issues != nil {
			t.Errorf("100 levels: %v", issues)
		}
		for _, n := range []int{99, 5000, 40_000} {
			_, issues := kitchen.TreeSpec.Decode(nodes(n))
			if len(issues) != 1 || issues[0].Constraint != tool.ConstraintMaxDepth {
				t.Errorf("%d levels: %.300v", n+2, issues)
			}
		}
		deep := []byte(`{"anything":` + strings.Repeat("[", 99) + strings.Repeat("]", 99) + `}`)
		if _, issues := kitchen.ContainersSpec.Decode(deep); issues != nil {
			t.Errorf("any value, 100 levels: %v", issues)
		}
		deep = []byte(`{"anything":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`)
		if _, issues := kitchen.ContainersSpec.Decode(deep); len(issues) != 1 || issues[0].Constraint != tool.ConstraintMaxDepth {
			t.Errorf("any value, 101 levels: %.300v", issues)
		}
		loop := &kitchen.Node{Name: "a"}
		loop.Next = loop
		if _, err := kitchen.TreeSpec.EncodeResult(&kitchen.TreeResult{Name: "a", Next: loop}); err == nil || !strings.Contains(err.Error(), "nested deeper than the 100 levels") {
			t.Errorf("a loop: %.300v", err)
		}
	})
	t.Run("names", func(t *testing.T) {
		t.Parallel()
		long := strings.Repeat("k", 100_000)
		_, issues := kitchen.ContainersSpec.Decode([]byte(`{"nested":{"a":[{"` + long + `":1}]},"` + long + `":1,"a\nb":1}`))
		if len(issues) != 3 || issues[0].Path != "/nested/a/0" || issues[1].Path != "" || len(issues[1].Message) > 1000 || issues[2].Path != "/a\nb" ||
			!strings.HasPrefix(issues[2].Message, "a b is not a known field") {
			t.Errorf("%.3000v", issues)
		}
	})
	t.Run("issues", func(t *testing.T) {
		t.Parallel()
		many := `{"list":[` + strings.Repeat("1,", 1000) + `1]`
		_, issues := kitchen.ContainersSpec.Decode([]byte(many + "}"))
		if len(issues) != tool.MaxIssues {
			t.Errorf("%d issues", len(issues))
		}
		_, issues = kitchen.ContainersSpec.Decode([]byte(many))
		if len(issues) != tool.MaxIssues+1 || issues[tool.MaxIssues].Constraint != tool.ConstraintSyntax {
			t.Errorf("%d issues, and the last is not about the syntax", len(issues))
		}
	})
}

func TestWideObjects(t *testing.T) {
	t.Parallel()
	_, issues := kitchen.WideSpec.Decode([]byte(`{"f00":0,"f64":1,"f64":2,"f70":1}`))
	if got, want := ours(issues), []string{" anyOf", "/f63 required", "/f64 duplicate", "/f69 required", "/f70 additionalProperties"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	v, issues := kitchen.WideSpec.Decode(kitchen.WideSpec.Example)
	if issues != nil {
		t.Fatal(issues)
	}
	if p := v.(*kitchen.WidePayload); p.F69 != 69 || *p.F65 != 1 || p.F66 != nil {
		t.Errorf("%+v", p)
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	v, issues := kitchen.ContainersSpec.Decode([]byte(`{}`))
	if issues != nil {
		t.Fatal(issues)
	}
	want := &kitchen.ContainersPayload{ListDefault: []string{"a", "b"}, MapDefault: map[string]int{"a": 2, "z": 1}, DataDefault: []byte("hi"),
		AnyDefault: map[string]any{"a": []any{1.0, "x", nil, true}}, PointDefault: &kitchen.Point{X: 3, Y: 7}, PointsDefault: []*kitchen.Point{{X: 1, Y: 7, Label: new("q")}}}
	if !reflect.DeepEqual(v, want) {
		t.Errorf("%+v\nwant %+v", v, want)
	}
	v2, _ := kitchen.ContainersSpec.Decode([]byte(`{}`))
	v2.(*kitchen.ContainersPayload).MapDefault["z"] = 100
	if v.(*kitchen.ContainersPayload).MapDefault["z"] != 1 {
		t.Error("two payloads share a default")
	}
	v, issues = kitchen.ContainersSpec.Decode([]byte(`{"list_default":[],"map_default":{},"points":[{"x":1}],"point_default":{"x":9,"y":1}}`))
	if issues != nil {
		t.Fatal(issues)
	}
	p := v.(*kitchen.ContainersPayload)
	if len(p.ListDefault) != 0 || len(p.MapDefault) != 0 || p.Points[0].Y != 7 || *p.PointDefault != (kitchen.Point{X: 9, Y: 1}) {
		t.Errorf("%+v", p)
	}
}

func TestAnyKeepsNumbers(t *testing.T) {
	t.Parallel()
	v, issues := kitchen.ContainersSpec.Decode([]byte(`{"anything":[1,0.1,9007199254740993,1e400,1.50,-0],"any_map":{"k":null}}`))
	if issues != nil {
		t.Fatal(issues)
	}
	want := []any{1.0, 0.1, json.Number("9007199254740993"), json.Number("1e400"), 1.5, 0.0}
	if got := v.(*kitchen.ContainersPayload).Anything; fmt.Sprintf("%T%v", got, got) != fmt.Sprintf("%T%v", want, want) && !reflect.DeepEqual(got, want) {
		t.Errorf("%#v, want %#v", got, want)
	}
}

// TestResultsAreChecked encodes results that break their contract.
func TestResultsAreChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec   *tool.Spec
		result any
		want   string // the text, or the messages
	}{
		{kitchen.StringsSpec, &kitchen.StringsResult{Text: "<ok>", Kind: "a"}, `{"text":"<ok>","kind":"a"}`},
		{kitchen.StringsSpec, kitchen.NewStringsResult(), `{"text":"","kind":"a"}`},
		{kitchen.StringsSpec, &kitchen.StringsResult{Text: "01234567890", Slug: new(kitchen.Slug("A"))},
			`text must have at most 10 characters; it has 11. slug must match the pattern ^[a-z][a-z0-9-]*$, not "A". kind must be "a" or "b", not "".`},
		{kitchen.StringsSpec, &kitchen.StringsResult{Text: "a\xff", Kind: "a"}, `The result is not valid JSON: the text is not valid UTF-8.`},
		{kitchen.StringsSpec, (*kitchen.StringsResult)(nil), `The result must be an object, not null.`},
		{kitchen.StringsSpec, nil, `The result must be an object, not a value of another type.`},
		{kitchen.StringsSpec, &kitchen.NumbersResult{}, `The result must be an object, not a value of another type.`},
		{kitchen.NumbersSpec, &kitchen.NumbersResult{Single: new(float32(0.1)), Uint64: new(uint64(1 << 63))}, `{"uint64":9223372036854775808,"single":0.1,"double":0}`},
		{kitchen.NumbersSpec, &kitchen.NumbersResult{Double: 1e21, Single: new(float32(0.11))}, `single must be at most 0.1, not 0.11.`},
		{kitchen.NumbersSpec, &kitchen.NumbersResult{Double: inf()}, `double must be a number, not +Inf.`},
		{kitchen.ContainersSpec, &kitchen.ContainersResult{}, `{"list":[],"map":{},"data":"","anything":null}`},
		{kitchen.ContainersSpec, &kitchen.ContainersResult{List: []string{"a", "b", "c"}, Map: map[string]*kitchen.Point{"b/c": {X: 1}, "a": nil}, Anything: make(chan int)},
			`list must have at most 2 elements; it has 3. map.a must be an object, not null. anything has no form in JSON.`},
		{kitchen.ContainersSpec, &kitchen.ContainersResult{Anything: map[string]any{"b": 1, "a": []int{2}, "n": json.Number("1e400")}},
			`{"list":[],"map":{},"data":"","anything":{"a":[2],"b":1,"n":1e400}}`},
		{kitchen.ContainersSpec, &kitchen.ContainersResult{Anything: "\xff"}, `anything has no form in JSON.`},
		{kitchen.ObjectsSpec, &kitchen.ObjectsResult{}, `pick must be an object, not null.`},
		{kitchen.ObjectsSpec, &kitchen.ObjectsResult{Pick: &kitchen.ObjectsResultPick{}}, `pick must have exactly one of point, word, count, tags or inline; it has none.`},
		{kitchen.ObjectsSpec, &kitchen.ObjectsResult{Pick: &kitchen.ObjectsResultPick{Word: new("maybe"), Count: new(0)}},
			`pick.word must be "yes" or "no", not "maybe". pick.count must be at least 1, not 0. pick must have exactly one of point, word, count, tags or inline; it has 2.`},
		{kitchen.ObjectsSpec, &kitchen.ObjectsResult{Pick: &kitchen.ObjectsResultPick{Tags: &kitchen.Tags{"a", "b"}}}, `{"pick":{"tags":["a","b"]}}`},
		{kitchen.TreeSpec, &kitchen.TreeResult{Name: "a", ByName: map[string]*kitchen.Node{"k": {Name: "B"}}, Children: []*kitchen.Node{{Name: "b"}, {Name: "C"}}},
			`children.1.name must match the pattern ^[a-z][a-z0-9-]*$, not "C". by_name.k.name must match the pattern ^[a-z][a-z0-9-]*$, not "B".`},
	} {
		text, err := c.spec.EncodeResult(c.result)
		got := string(text)
		if err != nil {
			var issues tool.Issues
			if !errors.As(err, &issues) || text != nil {
				t.Errorf("%s: %v is not issues alone", c.spec.ID, err)
			}
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s %+v\n got %s\nwant %s", c.spec.ID, c.result, got, c.want)
		}
	}
}

func inf() float64 {
	x := 1e308
	return x * 10
}

// caller answers every request with a fixed result, and keeps the request.
type caller struct {
	request tool.Request
	result  *tool.Result
	err     error
}

func (c *caller) Call(_ context.Context, r tool.Request) (*tool.Result, error) {
	c.request = r
	return c.result, c.err
}

func TestClient(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := &caller{result: &tool.Result{Result: json.RawMessage(`{"list":["a"],"map":{},"data":"YQ==","anything":1}`)}}
	p := kitchen.NewContainersPayload()
	p.Matrix, p.Data, p.Keyed = [][]int{{1}, {}}, []byte("abc"), map[string]string{"b": "on", "a": "off"}
	got, res, err := kitchen.NewClient(c).InRun("r_1").Containers(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	if res != c.result || !reflect.DeepEqual(got, &kitchen.ContainersResult{List: []string{"a"}, Map: map[string]*kitchen.Point{}, Data: []byte("a"), Anything: 1.0}) {
		t.Errorf("%+v", got)
	}
	if c.request.Tool != kitchen.ContainersID || c.request.RunID != "r_1" || c.request.CallID == "" {
		t.Errorf("%+v", c.request)
	}
	sent, issues := kitchen.ContainersSpec.Decode(c.request.Arguments)
	if issues != nil || !reflect.DeepEqual(sent, p) {
		t.Errorf("what was sent is not what was given: %s %v", c.request.Arguments, issues)
	}
	// A payload that breaks the contract is not sent.
	c.request = tool.Request{}
	_, _, err = kitchen.NewClient(c).Objects(ctx, &kitchen.ObjectsPayload{})
	var is tool.Issues
	if !errors.As(err, &is) || len(is) != 2 || c.request.Tool != "" {
		t.Errorf("%v, sent %+v", err, c.request)
	}
	// A tool that failed.
	c.result = &tool.Result{Error: tool.NewError(tool.NoEffect, "nothing happened")}
	_, res, err = kitchen.NewClient(c).Plain(ctx, &kitchen.PlainPayload{})
	var te *tool.Error
	if !errors.As(err, &te) || te.Code != tool.NoEffect || res != c.result {
		t.Errorf("%v", err)
	}
	// A result that breaks the contract.
	c.result = &tool.Result{Result: json.RawMessage(`{"text":5}`)}
	_, res, err = kitchen.NewClient(c).Strings(ctx, &kitchen.StringsPayload{Defaulted: "x", SlugDefault: "a"})
	if !errors.As(err, &is) || is[0].Path != "/text" || res != c.result {
		t.Errorf("%v", err)
	}
	// No answer at all.
	c.result, c.err = nil, context.DeadlineExceeded
	if _, _, err = kitchen.NewClient(c).Plain(ctx, &kitchen.PlainPayload{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestPayloadMethods(t *testing.T) {
	t.Parallel()
	for _, s := range slices.Concat(kitchen.Specs(), browser.Specs()) {
		v, issues := s.Decode(s.Example)
		if issues != nil {
			t.Fatalf("%s: the example: %v", s.ID, issues)
		}
		if v.Purpose() != "" || len(v.Expectations()) != 0 {
			t.Errorf("%s: %q %q", s.ID, v.Purpose(), v.Expectations())
		}
	}
	v, issues := kitchen.ClashSpec.Decode([]byte(`{"purpose":"p","expectations":["e"],"intent":"why","expect":["a == 1","b"],"a_b":1,"a__b":2}`))
	if issues != nil {
		t.Fatal(issues)
	}
	if v.Purpose() != "why" || !slices.Equal(v.Expectations(), []string{"a == 1", "b"}) {
		t.Errorf("%q %q", v.Purpose(), v.Expectations())
	}
}

func TestConcurrentDecoding(t *testing.T) {
	t.Parallel()
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			good := fmt.Sprintf(`{"target":{"name":"name %d"}}`, i)
			for range 500 {
				v, issues := browser.ClickSpec.Decode([]byte(good))
				if issues != nil || *v.(*browser.ClickPayload).Target.Name != fmt.Sprintf("name %d", i) {
					t.Fatalf("%v %+v", issues, v)
				}
				if _, issues := browser.ClickSpec.Decode([]byte(`{"target":{"nam":1}}`)); len(issues) != 2 {
					t.Fatal(issues)
				}
			}
		})
	}
}
