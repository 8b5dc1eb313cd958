package verification_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"toolsvc/tool"
	"toolsvc/verification"
)

func TestIssues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		expression string
		message    string
		offset     int64
		suggestion string
	}{
		// Unknown names.
		{`page.titel == "x"`, `line 1, column 6: page has no field "titel"; did you mean "title"?`, 5, "title"},
		{`pgae.title == ""`, `line 1, column 1: there is no variable "pgae"; did you mean "page"?`, 0, "page"},
		{`before.page.titel == ""`, `line 1, column 13: before.page has no field "titel"; did you mean "title"?`, 12, "title"},
		{`before.pgae.title == ""`, `line 1, column 8: before has no field "pgae"; did you mean "page"?`, 7, "page"},
		{`target.vlaue == ""`, `line 1, column 8: target has no field "vlaue"; did you mean "value"?`, 7, "value"},
		{`effect.delivred`, `line 1, column 8: effect has no field "delivred"; did you mean "delivered"?`, 7, "delivered"},
		{`element("Play").visibel`, `line 1, column 17: element("Play") has no field "visibel"; did you mean "visible"?`, 16, "visible"},
		{`element("Play").xyz == 1`, `line 1, column 17: element("Play") has no field "xyz".`, 16, ""},
		{`page.requests.exists(r, r.sttaus == 3)`, `line 1, column 27: r has no field "sttaus"; did you mean "status"?`, 26, "status"},
		{`page.requests[0].methd == ""`, `line 1, column 18: page.requests[0] has no field "methd"; did you mean "method"?`, 17, "method"},
		{`has(page.titel)`, `line 1, column 4: page has no field "titel"; did you mean "title"?`, 3, "title"},
		{`args.targt.name == ""`, `line 1, column 6: args has no field "targt"; did you mean "target"?`, 5, "target"},
		{`args.target.nmae == ""`, `line 1, column 13: args.target has no field "nmae"; did you mean "name"?`, 12, "name"},
		{`result.statsu == 3`, `line 1, column 8: result has no field "statsu"; did you mean "status"?`, 7, "status"},
		{`result.rows.all(r, r.lable == "")`, `line 1, column 22: r has no field "lable"; did you mean "label"?`, 21, "label"},
		{`page.title.containz("x")`, `line 1, column 20: there is no function "containz"; did you mean "contains"?`, 19, "contains"},
		{`elemnt("x").visible`, `line 1, column 7: there is no function "elemnt"; did you mean "element"?`, 6, "element"},
		{`page.errors.al(e, e == "")`, `line 1, column 15: there is no function "al"; did you mean "all"?`, 14, "all"},
		{`True`, `line 1, column 1: there is no variable "True"; did you mean "true"?`, 0, "true"},
		{"page.ready &&\n  page.titel == \"\"", `line 2, column 8: page has no field "titel"; did you mean "title"?`, 21, "title"},
		{`"日本" == page.titel`, `line 1, column 14: page has no field "titel"; did you mean "title"?`, 17, "title"},
		// Types.
		{`page.title == 3`, `line 1, column 12: == cannot be applied to text and a whole number.`, 11, ""},
		{`page.title + 1 == "x"`, `line 1, column 12: + cannot be applied to text and a whole number.`, 11, ""},
		{`effect.pixels == "1"`, `line 1, column 15: == cannot be applied to a number and text.`, 14, ""},
		{`result.status < "400"`, `line 1, column 15: < cannot be applied to a whole number and text.`, 14, ""},
		{`args.count == "3"`, `line 1, column 12: == cannot be applied to a whole number and text.`, 11, ""},
		{`page.title in page.requests`, `line 1, column 12: in cannot be applied to text and a list.`, 11, ""},
		{`page.title.contains(3)`, `line 1, column 20: contains(…) cannot be applied to text with a whole number.`, 19, ""},
		{`page.errors.contains("x")`, `line 1, column 21: contains(…) cannot be applied to a list of text with text.`, 20, ""},
		{`page.title && page.ready`, `line 1, column 6: page.title is text, not true or false.`, 5, ""},
		{`!page.title`, `line 1, column 1: ! cannot be applied to text.`, 0, ""},
		{`page.title.size > 3`, `line 1, column 12: page.title is text and has no fields.`, 11, ""},
		{`page["title"] == ""`, `line 1, column 5: a field is read with a dot: page.title.`, 4, ""},
		{`page.title.exists(x, x == "a")`, `line 1, column 6: only lists and maps can be searched; this is text.`, 5, ""},
		// No condition.
		{`page.title`, `line 1, column 1: the condition is text, not true or false; compare it with something.`, 0, ""},
		{`element("Play")`, `line 1, column 1: the condition is an element, not true or false; compare it with something.`, 0, ""},
		{``, `line 1, column 1: the condition is empty.`, 0, ""},
		{`  `, `line 1, column 1: the condition is empty.`, 0, ""},
		// Syntax.
		{`page.title ==`, `line 1, column 14: the condition ends too early.`, 13, ""},
		{`page.title = "x"`, `line 1, column 12: a single = compares nothing; write ==.`, 11, ""},
		{`page.title == "x" page.ready`, `line 1, column 19: the condition does not read as CEL: unexpected page.`, 18, ""},
		{`page.errors.all(e)`, `line 1, column 16: all(…) does not take 1 argument; see the examples of conditions.`, 15, ""},
		// Elements.
		{`element(3).visible`, `line 1, column 8: element takes a name and perhaps a role, both text, not a whole number.`, 7, ""},
		{`element("a", "b", "c").visible`, `line 1, column 8: element(…) does not take 3 arguments; see the examples of conditions.`, 7, ""},
		{`element("").visible`, `line 1, column 9: the name of an element is empty.`, 8, ""},
		{`element(page.title).visible`, `line 1, column 14: the name and the role of an element are each a text in quotes or a value of args, such as args.target.name, because evidence is collected before conditions are evaluated.`, 13, ""},
		{`args.values.all(v, element(v).visible)`, `line 1, column 28: the name and the role of an element are each a text in quotes or a value of args, such as args.target.name, because evidence is collected before conditions are evaluated.`, 27, ""},
		{`page.errors.all(args, element(args.target).visible)`, `line 1, column 36: args is text and has no fields.`, 35, ""},
		// What CEL allows and conditions do not.
		{`google.protobuf.Struct{} == google.protobuf.Struct{}`, `line 1, column 23: a condition cannot make objects.`, 22, ""},
		{`{"a": 1}.transformMap(k, v, v) == {}`, `line 1, column 22: a condition cannot transform maps; make a list of what is to be compared.`, 21, ""},
		{`{"a": 1, "b": 2}.exists(k, k == "a")`, `line 1, column 24: a condition cannot walk a map that it makes itself; use a list.`, 23, ""},
		{`[{"a": 1, "b": 2}].all(m, m.all(k, k == "a"))`, `line 1, column 32: a condition cannot walk a map that it makes itself; use a list.`, 31, ""},
		{`"%s".format([page.title]) == ""`, `line 1, column 12: a condition cannot format text; join parts with +.`, 11, ""},
		{`page.title.matches("(")`, "line 1, column 20: the pattern is no regular expression: error parsing regexp: missing closing ): `(`.", 19, ""},
		{`page.title.matches("(a{30}){30}")`, `line 1, column 20: the regular expression is too large: it compiles to 962 instructions, more than the 500 allowed.`, 19, ""},
	} {
		t.Run(c.expression, func(t *testing.T) {
			t.Parallel()
			conditions, issues := verification.Compile(fullSpec(), json.RawMessage(fullArgs), []string{`page.ready`, c.expression})
			if conditions != nil || len(issues) == 0 {
				t.Fatalf("compiled: %v", issues)
			}
			i := issues[0]
			if want := "expect[1], " + c.message; i.Message != want {
				t.Errorf("message\n got %s\nwant %s", i.Message, want)
			}
			if i.Path != "/expect/1" || i.Constraint != tool.ConstraintCondition || i.Offset != c.offset || i.Suggestion != c.suggestion || i.Got != c.expression {
				t.Errorf("got %+v", i)
			}
		})
	}
}

// An unknown field lists the known ones, a condition that is none says what it should be.
func TestIssueDetails(t *testing.T) {
	t.Parallel()
	_, issues := verification.Compile(fullSpec(), json.RawMessage(fullArgs), []string{`page.titel == ""`, `page.title`})
	if len(issues) != 2 {
		t.Fatal(issues)
	}
	if want := []string{"dialogs", "errors", "media", "ready", "requests", "text", "title", "url"}; !slices.Equal(issues[0].Allowed, want) {
		t.Errorf("allowed %v", issues[0].Allowed)
	}
	if issues[1].ExpectedType != "boolean" {
		t.Errorf("got %+v", issues[1])
	}
}

// All problems of all conditions are reported in one pass, in the order of the conditions and of their text.
func TestAllIssuesAtOnce(t *testing.T) {
	t.Parallel()
	spec := fullSpec()
	spec.Preconditions = []tool.Condition{{Name: "early", Expression: `target.visible`}}
	spec.Postconditions = []tool.Condition{{Name: "fine", Expression: `page.ready`}, {Name: "wrong", Expression: `page.redy`}}
	_, issues := verification.Compile(spec, json.RawMessage(fullArgs), []string{`page.titel == "x" && pgae.url == "y" && result.statsu == 1`, `page.ready`, `page.title == 3`})
	want := []string{
		`/preconditions/0 condition "early" of test.tool, line 1, column 1: "target" is known only after the action; a precondition can read args, document, page, state.`,
		`/postconditions/1 condition "wrong" of test.tool, line 1, column 6: page has no field "redy"; did you mean "ready"?`,
		`/expect/0 expect[0], line 1, column 6: page has no field "titel"; did you mean "title"?`,
		`/expect/0 expect[0], line 1, column 22: there is no variable "pgae"; did you mean "page"?`,
		`/expect/0 expect[0], line 1, column 48: result has no field "statsu"; did you mean "status"?`,
		`/expect/2 expect[2], line 1, column 12: == cannot be applied to text and a whole number.`,
	}
	var got []string
	for _, i := range issues {
		got = append(got, i.Path+" "+i.Message)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	elements := make([]string, 0, 60)
	for i := range 60 {
		elements = append(elements, fmt.Sprintf(`element("e%d").visible`, i))
	}
	for _, c := range []struct {
		name         string
		expectations []string
		path, want   string
	}{
		{"too many", slices.Repeat([]string{`page.ready`}, verification.MaxExpectations+1), "/expect", "There are 33 conditions in expect, more than the 32 allowed."},
		{"too long", []string{`page.title == "` + strings.Repeat("x", verification.MaxExpression) + `"`}, "/expect/0",
			"expect[0], line 1, column 1: the condition has 2016 characters, more than the 2000 allowed."},
		{"too deep", []string{strings.Repeat("(", 100) + "page.ready" + strings.Repeat(")", 100)}, "/expect/0",
			"expect[0], line 1, column 1: the condition nests deeper than the 60 levels allowed."},
		{"too deep a selection", []string{"document" + strings.Repeat(".a", 100) + " == 1"}, "/expect/0",
			"expect[0], line 1, column 1: the condition nests deeper than the 60 levels allowed."},
		{"too many parts", []string{"page.ready" + strings.Repeat("||[].map(x,x)==[]", 110)}, "/expect/0",
			"expect[0], line 1, column 1: the condition has more than the 1000 parts allowed."},
		{"no UTF-8", []string{"page.title == \"\xff\""}, "/expect/0", "expect[0], line 1, column 1: the condition is not valid UTF-8."},
		{"too many elements", []string{strings.Join(elements[:30], " || "), strings.Join(elements[30:], " || ")}, "/expect",
			"The conditions look at 60 elements, more than the 50 allowed."},
		{"too expensive", []string{`page.requests.all(a, page.requests.all(b, page.requests.all(c, a == b || b == c)))`}, "/expect/0",
			"expect[0], line 1, column 1: the condition could become too expensive to evaluate; nest fewer loops, and build no large texts or lists."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conditions, issues := verification.Compile(fullSpec(), json.RawMessage(fullArgs), c.expectations)
			if conditions != nil || len(issues) != 1 || issues[0].Path != c.path || issues[0].Message != c.want {
				t.Fatalf("got %+v", issues)
			}
			if len(issues[0].Got) > 128 {
				t.Errorf("got has %d bytes", len(issues[0].Got))
			}
		})
	}
	_, issues := verification.Compile(fullSpec(), json.RawMessage(fullArgs), slices.Repeat([]string{`page.ready`}, verification.MaxExpectations))
	if issues != nil {
		t.Error(issues)
	}
	if _, issues := verification.Compile(fullSpec(), json.RawMessage(fullArgs), []string{strings.Repeat(`page.ready && `, 50) + `page.ready`}); issues != nil {
		t.Errorf("a long chain is not deep: %v", issues)
	}
}

func TestNeeds(t *testing.T) {
	t.Parallel()
	play, playButton := tool.ElementQuery{Name: "Play"}, tool.ElementQuery{Name: "Play", Role: "button"}
	for _, c := range []struct {
		expectations []string
		want         tool.Needs
	}{
		{nil, tool.Needs{}},
		{[]string{`page.title == ""`, `page.url == "" || has(page.title)`, `target.text == ""`}, tool.Needs{}},
		{[]string{`page.text == ""`}, tool.Needs{Text: true}},
		{[]string{`has(page.text)`}, tool.Needs{Text: true}},
		{[]string{`page.errors.exists(e, page.text.contains(e))`}, tool.Needs{Text: true}},
		{[]string{`before.page.text == ""`}, tool.Needs{Text: true}},
		{[]string{`page == before.page`}, tool.Needs{Text: true}},
		{[]string{`dyn(page)["text"] == ""`}, tool.Needs{Text: true}},
		{[]string{`dyn(before)["page"]["text"] == ""`}, tool.Needs{Text: true}},
		{[]string{`page.requests.exists(page, page.url == "")`}, tool.Needs{}},
		{[]string{`element("Play").visible`, `element("Play").checked && element("Play", "button").visible`}, tool.Needs{Elements: []tool.ElementQuery{play, playButton}}},
		{[]string{`before_element("Play").visible || element(args.target.name, args.target.role).visible`}, tool.Needs{Elements: []tool.ElementQuery{play, playButton}}},
		{[]string{`page.errors.all(e, element(args.values[0]).visible)`}, tool.Needs{Elements: []tool.ElementQuery{{Name: "Japan"}}}},
		{[]string{`element(args.headers["a"]).visible`}, tool.Needs{Elements: []tool.ElementQuery{{Name: "1"}}}},
	} {
		conditions, issues := verification.Compile(fullSpec(), json.RawMessage(fullArgs), c.expectations)
		if issues != nil {
			t.Errorf("%v: %v", c.expectations, issues)
			continue
		}
		if got := conditions.Needs(); got.Text != c.want.Text || !slices.Equal(got.Elements, c.want.Elements) {
			t.Errorf("%v: got %+v, want %+v", c.expectations, got, c.want)
		}
	}
}

// A caller knows the arguments, so an element named by one that is not there is a mistake. A tool's own condition is written for all
// calls: it is undecided where the argument is missing.
func TestElementNamedByMissingArgument(t *testing.T) {
	t.Parallel()
	args := json.RawMessage(`{"target":{"selector":"#play"},"values":[""]}`)
	for expression, want := range map[string]string{
		`element(args.target.name).visible`: "expect[0], args.target.name is not in the payload, so it names no element.",
		`element(args.values[0]).visible`:   "expect[0], args.values[0] is empty, so it names no element.",
		`element(args.values[7]).visible`:   "expect[0], args.values[7] is not in the payload, so it names no element.",
	} {
		_, issues := verification.Compile(fullSpec(), args, []string{expression})
		if len(issues) != 1 || issues[0].Message != want || issues[0].Path != "/expect/0" {
			t.Errorf("%s: got %v", expression, issues)
		}
	}
	spec := fullSpec()
	spec.Postconditions = []tool.Condition{
		{Name: "visible", Expression: `element(args.target.name).visible`},
		{Name: "guarded", Expression: `!has(args.target.name) || element(args.target.name).visible`},
	}
	conditions, issues := verification.Compile(spec, args, nil)
	if issues != nil {
		t.Fatal(issues)
	}
	v := conditions.Judge(evidence(t, shopBefore), evidence(t, shopAfter), nil)
	if outcome(v.Checks[0]) != "undecided" || outcome(v.Checks[1]) != "passed" {
		t.Errorf("got %+v", v.Checks)
	}
}

func TestUnreadablePayloadAndSchemas(t *testing.T) {
	t.Parallel()
	for _, args := range []string{`{`, `[]`, `null`, `"x"`, `{"a":1e999}`} {
		if c, issues := verification.Compile(fullSpec(), json.RawMessage(args), nil); c != nil || len(issues) == 0 {
			t.Errorf("%s compiled", args)
		}
	}
	spec := fullSpec()
	spec.PayloadSchema = json.RawMessage(`{`)
	if c, issues := verification.Compile(spec, nil, nil); c != nil || len(issues) == 0 {
		t.Error("compiled against a schema that is no JSON")
	}
	// Whatever a schema leaves open is dynamic; nothing makes the compiler loop.
	for _, schema := range []string{``, `true`, `{}`, `{"type":"object"}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, `{"$ref":"#"}`,
		`{"$ref":"#/$defs/A","$defs":{"A":{"$ref":"#/$defs/B"},"B":{"$ref":"#/$defs/A"}}}`, `{"$ref":"http://elsewhere/"}`, `{"type":["object","string"]}`,
		`{"$defs":{"N":{"type":"array","items":{"$ref":"#/$defs/N"}}},"type":"object","properties":{"a":{"$ref":"#/$defs/N"}}}`,
		`{"type":"object","additionalProperties":false,"properties":{"a":{"$ref":"#/$defs/Node"}},"$defs":{"Node":{"type":"object","additionalProperties":false,"properties":{"b":{"type":"object","additionalProperties":{"$ref":"#/$defs/Node"}},"c":{"$ref":"#/$defs/Node"}}}}}`,
	} {
		spec := &tool.Spec{ID: "test.open", PayloadSchema: json.RawMessage(schema)}
		c, issues := verification.Compile(spec, json.RawMessage(`{"a":{"b":{"x":{"c":{"b":{}}}}}}`), []string{`args.a.b["x"].c.b == {}`})
		if issues != nil {
			t.Errorf("%s: %v", schema, issues)
			continue
		}
		if check := c.Judge(nil, nil, nil).Checks[0]; outcome(check) != "passed" {
			t.Errorf("%s: %s", schema, check.Observed)
		}
	}
}

// Compiling and judging from many goroutines is safe, for the race detector to see.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	spec := clickSpec()
	spec.EffectRules = []tool.EffectRule{{When: `args.submit`, Class: tool.Irreversible}}
	before, after := evidence(t, shopBefore), evidence(t, shopAfter)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 20 {
				c, issues := verification.Compile(spec, json.RawMessage(`{"target":{"name":"Play"},"submit":false}`), []string{fmt.Sprintf(`effect.mutations != %d`, 100+i*j)})
				if issues != nil {
					t.Error(issues)
					return
				}
				if v := c.Judge(before, after, nil); v.Verdict != tool.VerdictSuccess {
					t.Error(v.Explanation)
				}
				if class, err := verification.EffectClass(spec, json.RawMessage(`{"submit":true}`)); class != tool.Irreversible || err != nil {
					t.Error(class, err)
				}
			}
		})
	}
	all.Wait()
}
