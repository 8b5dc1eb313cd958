package repair_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"toolsvc/repair"
	"toolsvc/tool"
)

// examples have one correction each, by the rule of their key; the first one of each rule stands in the documentation.
var examples = map[string][]struct {
	tool     tool.ID
	in, want string
}{
	"byte_order_mark":       {{"browser.click", "\ufeff{\"target\":{\"ref\":\"e1\"}}", `{"target":{"ref":"e1"}}`}},
	"markdown_fence":        {{"browser.click", "```json\n{\"target\":{\"ref\":\"e1\"}}\n```", `{"target":{"ref":"e1"}}`}, {"browser.click", "```{\"target\":{\"ref\":\"e1\"}}```", `{"target":{"ref":"e1"}}`}, {"browser.click", "```\n{\"target\":{\"ref\":\"e1\"}}", `{"target":{"ref":"e1"}}`}, {"browser.click", "~~~json\n{\"target\":{\"ref\":\"e1\"}}\n~~~\n", `{"target":{"ref":"e1"}}`}},
	"surrounding_text":      {{"browser.click", `I will click: {"target":{"ref":"e1"}}`, `{"target":{"ref":"e1"}}`}, {"browser.click", `browser.click({"target":{"ref":"e1"}});`, `{"target":{"ref":"e1"}}`}, {"browser.click", "[INFO] {\"target\":{\"ref\":\"e1\"}}", `{"target":{"ref":"e1"}}`}},
	"escaped_text":          {{"browser.click", `{\"target\":{\"ref\":\"e1\"}}`, `{"target":{"ref":"e1"}}`}},
	"comment":               {{"browser.click", `{"target":{"ref":"e1"} /* the button */}`, `{"target":{"ref":"e1"}}`}, {"browser.click", "# x\n{\"target\":{\"ref\":\"e1\"}} // y", `{"target":{"ref":"e1"}}`}},
	"odd_space":             {{"browser.click", "{\"target\":\u00a0{\"ref\":\"e1\"}}", `{"target":{"ref":"e1"}}`}},
	"trailing_comma":        {{"browser.click", `{"target":{"ref":"e1"},}`, `{"target":{"ref":"e1"}}`}, {"browser.click", "{\"target\":{\"ref\":\"e1\"},\"modifiers\":[\"Alt\" , ]}", `{"target":{"ref":"e1"},"modifiers":["Alt"]}`}},
	"missing_comma":         {{"browser.click", `{"target":{"ref":"e1"} "button":"right"}`, `{"target":{"ref":"e1"},"button":"right"}`}, {"browser.click", "{\"button\":\"right\"\n\"target\":{\"ref\":\"e1\"}}", `{"button":"right","target":{"ref":"e1"}}`}, {"kitchen.containers", `{"points":[{"x":1}{"x":2}]}`, `{"points":[{"x":1},{"x":2}]}`}},
	"single_quotes":         {{"browser.click", `{'target':{'name':'Play "it"'}}`, `{"target":{"name":"Play \"it\""}}`}, {"browser.click", `{'target':{'name':'it\'s'}}`, `{"target":{"name":"it's"}}`}},
	"smart_quotes":          {{"browser.click", `{“target”:{“name”:“It's”}}`, `{"target":{"name":"It's"}}`}, {"browser.click", `{„target“:{‘name’:‘a"b’}}`, `{"target":{"name":"a\"b"}}`}},
	"unquoted_key":          {{"browser.click", `{target:{ref:"e1"}}`, `{"target":{"ref":"e1"}}`}},
	"python_literal":        {{"browser.type", `{"target":{"ref":"e1"},"text":"a","submit":True}`, `{"target":{"ref":"e1"},"text":"a","submit":true}`}},
	"number_form":           {{"kitchen.numbers", `{"share":.5}`, `{"share":0.5}`}, {"kitchen.numbers", `{"int":+5}`, `{"int":5}`}, {"kitchen.numbers", `{"int":-5.}`, `{"int":-5}`}, {"kitchen.numbers", `{"ratio":-.05}`, `{"ratio":-0.05}`}},
	"raw_control_character": {{"browser.type", "{\"target\":{\"ref\":\"e1\"},\"text\":\"first\nsecond\"}", `{"target":{"ref":"e1"},"text":"first\nsecond"}`}, {"browser.type", "{\"target\":{\"ref\":\"e1\"},\"text\":\"a\tb\"}", `{"target":{"ref":"e1"},"text":"a\tb"}`}},
	"identical_duplicate":   {{"browser.click", `{"target":{"ref":"e1"},"target":{"ref":"e1"}}`, `{"target":{"ref":"e1"}}`}, {"kitchen.numbers", `{"int":1,"float64":5,"int":1.0}`, `{"int":1,"float64":5}`}},
	"missing_bracket": {{"browser.click", `{"target":{"ref":"e1","button":"left"}`, `{"target":{"ref":"e1"},"button":"left"}`}, {"browser.click", `{"target":{"ref":"e1"},"modifiers":["Alt","button":"left"}`, `{"target":{"ref":"e1"},"modifiers":["Alt"],"button":"left"}`},
		{"browser.click", `{"target":{"ref":"e1"},"modifiers":[}`, `{"target":{"ref":"e1"},"modifiers":[]}`}, {"kitchen.plain", `{"expect":["true"],"intent":"a"`, `{"expect":["true"],"intent":"a"}`}},
	"surplus_bracket": {{"browser.click", `{"target":{"ref":"e1"}}}`, `{"target":{"ref":"e1"}}`}},

	"unwrapped": {{"browser.click", `{"tool":"browser_click","arguments":{"target":{"ref":"e1"}}}`, `{"target":{"ref":"e1"}}`}, {"browser.click", `{"params":{"target":{"ref":"e1"}}}`, `{"target":{"ref":"e1"}}`},
		{"browser.click", `{"type":"tool_use","id":"toolu_1","name":"browser.click","input":{"target":{"ref":"e1"}}}`, `{"target":{"ref":"e1"}}`}, {"browser.click", `{"Click":{"target":{"ref":"e1"}}}`, `{"target":{"ref":"e1"}}`}},
	"json_text_to_object": {{"browser.click", `{"target":"{\"ref\":\"e1\"}"}`, `{"target":{"ref":"e1"}}`}, {"browser.click", `"{\"target\":{\"ref\":\"e1\"}}"`, `{"target":{"ref":"e1"}}`}, {"kitchen.containers", `{"map":"{\"a\":1}"}`, `{"map":{"a":1}}`}},
	"json_text_to_array":  {{"browser.click", `{"target":{"ref":"e1"},"modifiers":"[\"Alt\"]"}`, `{"target":{"ref":"e1"},"modifiers":["Alt"]}`}, {"kitchen.containers", `{"matrix":"[[1],[2]]"}`, `{"matrix":[[1],[2]]}`}},
	"field_name_spelling": {{"browser.navigate", `{"url":"http://localhost/","timeoutMs":500}`, `{"url":"http://localhost/","timeout_ms":500}`}, {"browser.navigate", `{"URL":"http://localhost/"}`, `{"url":"http://localhost/"}`}, {"kitchen.objects", `{"left":"l","choice":{"Pick":{"word":"yes"}}}`, `{"left":"l","choice":{"pick":{"word":"yes"}}}`}},
	"field_name_misspelt": {{"browser.click", `{"tagret":{"ref":"e1"}}`, `{"target":{"ref":"e1"}}`}, {"browser.click", `{"targt":{"ref":"e1"}}`, `{"target":{"ref":"e1"}}`}, {"browser.click", `{"target":{"ref":"e1"},"modiffiers":[]}`, `{"target":{"ref":"e1"},"modifiers":[]}`}},
	"string_to_integer":   {{"browser.navigate", `{"url":"http://localhost/","timeout_ms":"500"}`, `{"url":"http://localhost/","timeout_ms":500}`}, {"kitchen.numbers", `{"int":" -5 "}`, `{"int":-5}`}, {"kitchen.numbers", `{"uint64":"18446744073709551615"}`, `{"uint64":18446744073709551615}`}, {"kitchen.numbers", `{"int":"5.0"}`, `{"int":5.0}`}},
	"string_to_number":    {{"kitchen.numbers", `{"share":"0.5"}`, `{"share":0.5}`}, {"kitchen.numbers", `{"float64":"1e-3"}`, `{"float64":1e-3}`}},
	"string_to_boolean":   {{"browser.type", `{"target":{"ref":"e1"},"text":"a","submit":"True"}`, `{"target":{"ref":"e1"},"text":"a","submit":true}`}},
	"integer_to_string":   {{"browser.type", `{"target":{"ref":"e1"},"text":2026}`, `{"target":{"ref":"e1"},"text":"2026"}`}, {"kitchen.strings", `{"plain":-7}`, `{"plain":"-7"}`}},
	"value_to_array":      {{"browser.click", `{"target":{"ref":"e1"},"modifiers":"Shift"}`, `{"target":{"ref":"e1"},"modifiers":["Shift"]}`}, {"kitchen.containers", `{"points":{"x":1}}`, `{"points":[{"x":1}]}`}, {"kitchen.containers", `{"matrix":[[1],2]}`, `{"matrix":[[1],[2]]}`}},
	"array_of_one":        {{"browser.click", `{"target":{"ref":["e1"]}}`, `{"target":{"ref":"e1"}}`}, {"browser.click", `[{"target":{"ref":"e1"}}]`, `{"target":{"ref":"e1"}}`}},
	"null_to_absent":      {{"browser.click", `{"target":{"ref":"e1","name":null},"button":null}`, `{"target":{"ref":"e1"}}`}, {"kitchen.objects", `{"left":"l","choice":{"pick":{"word":"yes","count":null}}}`, `{"left":"l","choice":{"pick":{"word":"yes"}}}`}},
	"enum_spelling":       {{"browser.click", `{"target":{"ref":"e1"},"button":"RIGHT"}`, `{"target":{"ref":"e1"},"button":"right"}`}, {"kitchen.strings", `{"plain":"","color":"light_\"Blue\""}`, `{"plain":"","color":"light \"blue\""}`}},
	"date_time_form": {{"kitchen.strings", `{"plain":"","date_time":"2026-11-21 09:30 UTC"}`, `{"plain":"","date_time":"2026-11-21T09:30:00Z"}`}, {"kitchen.strings", `{"plain":"","date_time":"20261121T093005,5+0100"}`, `{"plain":"","date_time":"2026-11-21T09:30:05.5+01:00"}`},
		{"kitchen.strings", `{"plain":"","date_time":"2026-11-21 09:30:05.123456+01"}`, `{"plain":"","date_time":"2026-11-21T09:30:05.123456+01:00"}`}},
	"trimmed": {{"browser.navigate", `{"url":" http://localhost/ "}`, `{"url":"http://localhost/"}`}},
}

// Every rule does what its example says, and nothing else.
func TestRules(t *testing.T) {
	t.Parallel()
	for _, rule := range repair.Rules() {
		if rule.Tier != repair.TierSyntax && rule.Tier != repair.TierLossless {
			continue
		}
		if len(examples[rule.Name]) == 0 {
			t.Errorf("%s has no example", rule.Name)
		}
		for _, e := range examples[rule.Name] {
			spec := specOf(t, e.tool)
			out := repair.Payload(spec, []byte(e.in), repair.Lossless)
			if !out.OK() || string(out.Payload) != e.want {
				t.Errorf("%s: %s became %s, %v", rule.Name, e.in, out.Payload, out.Issues)
				continue
			}
			for _, r := range out.Repairs {
				if r.Rule != rule.Name || r.Tier != rule.Tier || r.From == r.To && r.Rule != "identical_duplicate" {
					t.Errorf("%s: %s was corrected by %+v", rule.Name, e.in, r)
				}
			}
			for level := repair.None; level < repair.Lossless; level++ {
				out := repair.Payload(spec, []byte(e.in), level)
				if want := level == repair.Syntax && rule.Tier == repair.TierSyntax; out.OK() != want || !out.OK() && (string(out.Payload) != e.in || len(out.Repairs) > 0) {
					t.Errorf("%s: level %d: %s became %s", rule.Name, level, e.in, out.Payload)
				}
			}
		}
	}
	for name := range examples {
		if !slices.ContainsFunc(repair.Rules(), func(r repair.Rule) bool { return r.Name == name }) {
			t.Errorf("%s is no rule", name)
		}
	}
}

// leftAlone are payloads that look as if they could be corrected. Those with a reason stand in the documentation.
var leftAlone = []struct {
	tool       tool.ID
	in, reason string
}{
	{"browser.click", `{"target":{"ref":"e1"}`, "The text may have been cut off: another `button` could have followed."},
	{"browser.click", `{"target":{"name":"Pl`, "Nobody knows how the name goes on."},
	{"kitchen.numbers", `{"int":1`, ""},
	{"browser.click", `{'target':{'name':'it's'}}`, "The string could end in two places."},
	{"browser.click", `{"target":{"name":"say "hi""}}`, ""},
	{"browser.click", `{"target":{"ref":"e1"}} {"target":{"ref":"e2"}}`, "There are two calls."},
	{"browser.click", `[{"target":{"ref":"e1"}},`, ""},
	{"browser.click", `"target":{"ref":"e1"}`, ""},
	{"browser.click", `"button": "right" and {"target":{"ref":"e1"}}`, ""},
	{"browser.click", `{"target":{"ref":"e1"}} with "button": "right"`, ""},
	{"browser.click", `target: {"ref":"e1"}`, ""},
	{"browser.click", `{"target":{"ref":"e1"},"target":{"ref":"e2"}}`, "The two values differ."},
	{"browser.click", `{"target":{"ref":e1}}`, ""},
	{"browser.click", `{"target":{"ref":"e1"},"modifiers":["Alt" "Shift"]}`, "In Python that is one string, `AltShift`."},
	{"browser.click", `{"target":{"ref":"e1"},,"button":"left"}`, ""},
	{"browser.click", `{"target":{"name":"C:\dir"}}`, ""},
	{"browser.type", `{"target":{"ref":"e1"},"text":1.50}`, "It may have been 1.5 or 1.50; another spelling is another text."},
	{"browser.type", `{"target":{"ref":"e1"},"text":12345678901234567}`, ""},
	{"browser.type", `{"target":{"ref":"e1"},"text":true}`, "`true`, `True`, `yes`: nobody knows the word that was meant."},
	{"browser.type", `{"target":{"ref":"e1"},"text":"a","submit":"yes"}`, ""},
	{"browser.type", `{"target":{"ref":"e1"},"text":"a","submit":1}`, ""},
	{"kitchen.numbers", `{"int":"5.5"}`, "5 and 6 both lose something."},
	{"kitchen.numbers", `{"int":"1,000"}`, "It is 1000 or 1, depending on where one lives."},
	{"kitchen.numbers", `{"int":"007"}`, ""},
	{"kitchen.numbers", `{"small":101}`, "Clamping it to 100 is another value."},
	{"browser.click", `{"target":{"ref":"e1"},"expect":"[\"page.ready\"]"}`, "The string may be the one condition that is expected, or a list of one."},
	{"browser.click", `{"target":{"ref":"e1"},"modifiers":"Alt,Shift"}`, ""},
	{"kitchen.containers", `{"matrix":[1,2]}`, "It may be `[[1,2]]` or `[[1],[2]]`."},
	{"browser.snapshot", `{"min_chars":500}`, "`max_chars` is near, and the opposite."},
	{"browser.navigate", `{"url":"http://localhost/","timeout":5}`, "Whether it counts seconds or milliseconds is unknown."},
	{"browser.click", `{"target":{"ref":"e1"},"modifierz":[]}`, "A wrong letter in the name of an optional field may be another field."},
	{"browser.click", `{"target":{"ref":"e1"},"comment":"please"}`, "Dropping an unknown field loses what it says."},
	{"browser.click", `{"tool":"browser.type","arguments":{"target":{"ref":"e1"}}}`, "It is a call of another tool."},
	{"browser.click", `{"target":{"ref":"e1"},"Target":{"ref":"e2"}}`, ""},
	{"kitchen.clash", `{"aB":1}`, ""},
	{"kitchen.strings", `{"plain":"","date_time":"2026-11-21 09:30"}`, "Without a time zone nobody knows the moment."},
	{"kitchen.strings", `{"plain":"","date_time":"21.11.2026 09:30 UTC"}`, ""},
	{"kitchen.strings", `{"plain":null}`, "A required field cannot be absent."},
	{"kitchen.strings", `{"plain":"","color":"rd"}`, "It is near `red`, and not `red`."},
	{"kitchen.containers", `{"map":{"a":null}}`, ""},
	{"kitchen.containers", `{"data":5}`, ""},
}

func TestLeftAlone(t *testing.T) {
	t.Parallel()
	for _, l := range leftAlone {
		out := repair.Payload(specOf(t, l.tool), []byte(l.in), repair.Lossless)
		if out.OK() || string(out.Payload) != l.in || len(out.Repairs) > 0 || len(out.Issues) == 0 || out.Value != nil {
			t.Errorf("%s became %s, %v", l.in, out.Payload, out.Repairs)
		}
	}
}

// Several faults at once are corrected as far as each has one reading; what is left is named in what is left.
func TestTogether(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool            tool.ID
		in, want, rules string
		left            string
	}{
		{"browser.click", "```json\n{'arguments': '{\"Target\": {\"name\": 5, \"nth\": \"2\",}, \"modifiers\": \"alt\"}'}\n```", `{"target":{"name":"5","nth":2},"modifiers":["Alt"]}`,
			"markdown_fence single_quotes unwrapped json_text_to_object trailing_comma field_name_spelling value_to_array enum_spelling integer_to_string string_to_integer", ""},
		{"browser.click", `{"target":"{\"name\":\"\",\"nth\":\"2\"}","button":"LEFT"}`, `{"target":{"name":"","nth":2},"button":"left"}`, "json_text_to_object enum_spelling string_to_integer", "/target/name"},
		{"browser.navigate", `{timeoutMs:"fast"}`, `{"timeout_ms":"fast"}`, "unquoted_key field_name_spelling", "/timeout_ms /url"},
		{"kitchen.containers", `{"list":"[\"a\"]"}`, `{"list":["a"]}`, "json_text_to_array", ""}, // too long to be an element
		{"kitchen.tree", `{"root":"{\"name\":\"a\",\"children\":{\"name\":\"b\",\"leaf\":{\"Number\":\"1\"}}}"}`, `{"root":{"name":"a","children":[{"name":"b","leaf":{"number":1}}]}}`,
			"json_text_to_object", ""},
	} {
		out := repair.Payload(specOf(t, c.tool), []byte(c.in), repair.Lossless)
		var rules, left []string
		for _, r := range out.Repairs {
			rules = append(rules, r.Rule)
		}
		for _, i := range out.Issues {
			left = append(left, i.Path)
		}
		if string(out.Payload) != c.want || !strings.HasPrefix(strings.Join(rules, " "), c.rules) || strings.Join(left, " ") != c.left {
			t.Errorf("%s\n became %s\n by %s\n left %v", c.in, out.Payload, rules, out.Issues)
		}
	}
}

// What is recorded names places of the corrected payload, in bounded size, and shows no secret.
func TestRecords(t *testing.T) {
	t.Parallel()
	click, secrets := specOf(t, "browser.click"), specOf(t, "kitchen.secrets")
	long := strings.Repeat("é", 400)
	for _, c := range []struct {
		spec *tool.Spec
		in   string
		want []tool.Repair
	}{
		{click, `{"target":{"name":"a","nth":"3"}}`, []tool.Repair{{Path: "/target/nth", Rule: "string_to_integer", Tier: "lossless", From: `"3"`, To: `3`}}},
		{click, `{'target':{'name':'a','near':'b'}}`, []tool.Repair{{Path: "", Rule: "single_quotes", Tier: "syntax", From: `'target'`, To: `"target"`}}},
		{click, `{"target":{"name":'a',"near":'b'}}`, []tool.Repair{{Path: "/target", Rule: "single_quotes", Tier: "syntax", From: `'a'`, To: `"a"`}}},
		{click, `{"target":{"name":['` + long + `']}}`, []tool.Repair{{Path: "/target/name/0", Rule: "single_quotes", Tier: "syntax", From: "'" + long[:124] + "…", To: `"` + long[:124] + "…"},
			{Path: "/target/name", Rule: "array_of_one", Tier: "lossless", From: `["` + long[:122] + "…", To: `"` + long[:124] + "…"}}},
		{click, "{\"target\":{\"name\":\"a\"}, /* a\n\x01b */}", []tool.Repair{{Path: "", Rule: "comment", Tier: "syntax", From: "/* a  b */"}, {Path: "", Rule: "trailing_comma", Tier: "syntax", From: ","}}},
		{secrets, `{"user":["ada"],"password":12345678,"pins":"12","TOKENS":["t"]}`, []tool.Repair{
			{Path: "/user", Rule: "array_of_one", Tier: "lossless", From: `["ada"]`, To: `"ada"`},
			{Path: "/password", Rule: "integer_to_string", Tier: "lossless", From: tool.Redacted, To: tool.Redacted},
			{Path: "/pins", Rule: "value_to_array", Tier: "lossless", From: tool.Redacted, To: tool.Redacted},
			{Path: "/pins/0", Rule: "string_to_integer", Tier: "lossless", From: tool.Redacted, To: tool.Redacted},
			{Path: "/tokens", Rule: "field_name_spelling", Tier: "lossless", From: `"TOKENS"`, To: `"tokens"`}}},
		{secrets, `{user:"ada","password":'correct horse'} // correct horse`, []tool.Repair{
			{Path: "", Rule: "unquoted_key", Tier: "syntax", From: tool.Redacted, To: tool.Redacted},
			{Path: "/password", Rule: "single_quotes", Tier: "syntax", From: tool.Redacted, To: tool.Redacted},
			{Path: "", Rule: "comment", Tier: "syntax", From: tool.Redacted}}},
		{secrets, `{"user":"ada","pasword":'correct horse'}`, []tool.Repair{ // not known to be the password, so it may be
			{Path: "/pasword", Rule: "single_quotes", Tier: "syntax", From: tool.Redacted, To: tool.Redacted},
			{Path: "/password", Rule: "field_name_misspelt", Tier: "lossless", From: `"pasword"`, To: `"password"`}}},
	} {
		out := repair.Payload(c.spec, []byte(c.in), repair.Lossless)
		if !out.OK() {
			t.Errorf("%s: %v", c.in, out.Issues)
		}
		for _, w := range c.want {
			if !slices.Contains(out.Repairs, w) {
				t.Errorf("%s:\n no  %+v\n in %+v", c.in, w, out.Repairs)
			}
		}
		if len(out.Repairs) != len(c.want) {
			t.Errorf("%s: %+v", c.in, out.Repairs)
		}
	}
}

// Names that differ by a letter are the same only when they can be nothing else.
func TestMisspelt(t *testing.T) {
	t.Parallel()
	closed := func(required string) string {
		return `{"type":"object","properties":{"country":{"type":"string"},"quantity":{"type":"integer"},"line1":{"type":"string"},"form":{"type":"string"},"timeout_ms":{"type":"integer"}},"required":[` + required + `],"additionalProperties":false}`
	}
	for _, c := range []struct {
		name, required string
		renamed        bool
	}{
		{"contry", `"country"`, true},
		{"contry", ``, false},
		{"coutnry", ``, true},
		{"countrry", ``, true},
		{"county", `"country"`, false}, // a word of its own
		{"countries", `"country"`, false},
		{"quality", `"quantity"`, false},
		{"line2", `"line1"`, false},
		{"lime1", `"line1"`, true},
		{"from", `"form"`, false},
		{"timeuot_ms", ``, true},
		{"timeout_s", `"timeout_ms"`, false},
		{"timeout", `"timeout_ms"`, false},
		{"dcountry", `"country"`, false},
	} {
		if got := repair.MisspeltForTest(c.name, closed(c.required)); got != c.renamed {
			t.Errorf("%s, required %s: %v", c.name, c.required, got)
		}
	}
}

// A valid payload comes back as it is, whatever it looks like.
func TestValidIsUntouched(t *testing.T) {
	t.Parallel()
	for i, spec := range allSpecs() {
		for _, doc := range payloads(t, spec, 5, uint64(i)) {
			for _, st := range []style{{}, {indent: true}} {
				text := render(doc, st).text()
				out := repair.Payload(spec, text, repair.Lossless)
				if !out.OK() || string(out.Payload) != string(text) || len(out.Repairs) > 0 || out.Value == nil {
					t.Errorf("%s: %s became %s, %v", spec.ID, text, out.Payload, out.Issues)
				}
			}
		}
	}
}

// More corrections than the bound are not made in part and called done.
func TestBounds(t *testing.T) {
	t.Parallel()
	spec := specOf(t, "kitchen.containers")
	many := `{"points":[` + strings.TrimSuffix(strings.Repeat(`{"x":"1"},`, repair.MaxRepairs+1), ",") + `]}`
	if out := repair.Payload(spec, []byte(many), repair.Lossless); out.OK() || len(out.Repairs) > repair.MaxRepairs {
		t.Errorf("%d corrections were made", len(out.Repairs))
	}
	enough := `{"points":[` + strings.TrimSuffix(strings.Repeat(`{"x":"1"},`, repair.MaxRepairs-1), ",") + `]}`
	if out := repair.Payload(spec, []byte(enough), repair.Lossless); !out.OK() || len(out.Repairs) != repair.MaxRepairs-1 {
		t.Errorf("%d corrections were made: %v", len(out.Repairs), out.Issues)
	}
	quotes := `{'points':[` + strings.TrimSuffix(strings.Repeat(`{'x':1},`, 1000), ",") + `]}`
	if out := repair.Payload(spec, []byte(quotes), repair.Lossless); !out.OK() || len(out.Repairs) != 1 {
		t.Errorf("%d corrections, %v", len(out.Repairs), out.Issues)
	}
	deep := strings.Repeat(`{'anything':`, tool.MaxDepth+1) + "1" + strings.Repeat("}", tool.MaxDepth+1)
	if out := repair.Payload(spec, []byte(deep), repair.Lossless); out.OK() {
		t.Error("a payload that is nested too deep was accepted")
	}
	large := `{'anything':'` + strings.Repeat("x", tool.MaxPayload) + `'}`
	if out := repair.Payload(spec, []byte(large), repair.Lossless); out.OK() {
		t.Error("a payload that is too large was accepted")
	}
}

// The tables of rules in the documentation are those of this test.
func TestDocumentation(t *testing.T) {
	if _, err := os.Stat(docPage); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(docPage)
	if err != nil {
		t.Fatal(err)
	}
	was := string(page)
	now := was
	for _, tier := range []string{repair.TierSyntax, repair.TierLossless} {
		var b strings.Builder
		b.WriteString("| rule | what it does | before | after |\n|---|---|---|---|\n")
		for _, rule := range repair.Rules() {
			if rule.Tier == tier {
				e := examples[rule.Name][0]
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", rule.Name, rule.Meaning, code(e.in), code(e.want))
			}
		}
		now = between(t, now, tier+" rules", b.String())
	}
	var b strings.Builder
	b.WriteString("| payload | why it is left alone |\n|---|---|\n")
	for _, l := range leftAlone {
		if l.reason != "" {
			fmt.Fprintf(&b, "| %s | %s |\n", code(l.in), l.reason)
		}
	}
	now = between(t, now, "left alone", b.String())
	if now == was {
		return
	}
	if !*update {
		t.Fatalf("%s does not say what the rules do: go test ./repair -update", docPage)
	}
	if err := os.WriteFile(docPage, []byte(now), 0o644); err != nil {
		t.Fatal(err)
	}
}

// code renders text as code in one line of Markdown.
func code(s string) string {
	s = strings.NewReplacer("\n", "⏎", "\u00a0", "⍽", "\ufeff", "<U+FEFF>", "|", `\|`).Replace(s)
	if strings.Contains(s, "`") {
		return "```` " + s + " ````"
	}
	return "`" + s + "`"
}
