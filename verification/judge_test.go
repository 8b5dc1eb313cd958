package verification_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"toolsvc/tool"
	"toolsvc/verification"
)

const fullArgs = `{"target":{"name":"Play","role":"button"},"text":"llo","append":true,"submit":false,"values":["Japan"],"count":3,"price":2.5,
 "headers":{"b":"2","a":"1"},"anything":{"deep":[1,2]},"expect":[],"intent":"buy"}`

const fullResult = `{"url":"http://shop/cart","title":"Cart (1)","acted_on":"button","changed":true,"status":201,"ratio":0.5,"rows":[{"id":1,"label":"one"},{"id":2,"label":null}]}`

func fullSpec() *tool.Spec {
	return &tool.Spec{ID: "test.tool", PayloadSchema: json.RawMessage(targetSchema), ResultSchema: json.RawMessage(actedSchema)}
}

// judge compiles one expectation and judges it over the shop's evidence.
func judge(t testing.TB, expression string) tool.Check {
	t.Helper()
	c, issues := verification.Compile(fullSpec(), json.RawMessage(fullArgs), []string{expression})
	if issues != nil {
		t.Fatalf("%s: %v", expression, issues)
	}
	return c.Judge(evidence(t, shopBefore), evidence(t, shopAfter), json.RawMessage(fullResult)).Checks[0]
}

// outcome of a check in one word.
func outcome(c tool.Check) string {
	switch {
	case c.Undecided && !c.Passed:
		return "undecided"
	case c.Passed && !c.Undecided:
		return "passed"
	case !c.Passed:
		return "failed"
	}
	return "passed and undecided"
}

func TestConditions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ expression, want string }{
		// The examples of the reference.
		{`page.title.contains("Cart")`, "passed"},
		{`page.url.endsWith("/done")`, "failed"},
		{`element("Play", "button").visible`, "passed"},
		{`element(args.target.name).checked`, "passed"},
		{`page.requests.exists_one(r, r.method == "POST" && r.url.contains("/orders") && r.status == 201)`, "passed"},
		{`page.errors.all(e, e in before.page.errors)`, "passed"},
		{`!page.dialogs.exists(d, d.type == "alert")`, "passed"},
		{`page.text.matches("Order [0-9]+ placed")`, "passed"},
		{`page.media.exists(m, !m.paused)`, "passed"},
		{`result.status < 400`, "passed"},
		{`args.append ? target.value.endsWith(args.text) : target.value == args.text`, "passed"},
		{`exit_code == 0 && stdout.contains("ok")`, "passed"},
		{`args.values.all(v, v in target.selected || v in target.selected_labels)`, "passed"},
		// Numbers of JSON are doubles; whole literals compare with them, and calculate with them.
		{`effect.mutations == 4`, "passed"},
		{`effect.mutations == 4.0`, "passed"},
		{`effect.pixels > 0`, "passed"},
		{`effect.pixels == 0`, "failed"},
		{`page.media[0].current_time > before.page.media[0].current_time`, "passed"},
		{`page.media[0].current_time >= before.page.media[0].current_time + 1`, "passed"},
		{`page.media[0].current_time * 2 == 5`, "passed"},
		{`result.ratio * 100 == 50`, "passed"},
		{`result.status in [200, 201]`, "passed"},
		{`document.words == before.document.words + 10`, "passed"},
		{`document.words + 1 == 131`, "passed"},
		{`document.front_matter.words == before.document.front_matter.words + 10`, "passed"},
		{`document.front_matter.words + 1 == 131`, "passed"},
		{`document.front_matter.words - 1.5 < 129`, "passed"},
		{`document.front_matter.ratio == 0.5 && document.front_matter.words > 100`, "passed"},
		{`size(document.sections) == 2`, "passed"},
		{`document.sections.size() > before.document.sections.size()`, "passed"},
		{`document.sections.exists(s, s.title == "End")`, "passed"},
		{`args.count == 3 && args.price == 2.5`, "passed"},
		{`result.rows.exists(r, r.id == 2)`, "passed"},
		{`result.rows.map(r, r.id) == [1, 2]`, "passed"},
		{`result.rows[0].label == "one"`, "passed"},
		{`args.anything.deep[1] == 2`, "passed"},
		{`args.headers["a"] == "1" && args.headers.b == "2"`, "passed"},
		// An element that is not there is known not to be visible; of its value nothing is known.
		{`element("Play").visible`, "passed"},
		{`before_element("Play", "button").text == element("Play", "button").text`, "passed"},
		{`element("Gone").visible == false`, "passed"},
		{`!element("Gone").exists`, "passed"},
		{`element("Gone").visible`, "failed"},
		{`element("Gone").count == 0`, "passed"},
		{`element("Gone").value == ""`, "undecided"},
		{`element("Gone").value != "x"`, "undecided"},
		{`!element("Gone").checked`, "undecided"},
		{`!has(element("Gone").checked)`, "passed"},
		{`has(element("Play").checked) && element("Play").checked`, "passed"},
		{`element("Never asked").visible == false`, "undecided"},
		{`element("Play", "link").visible == false`, "undecided"},
		{`before_element("Play").visible == false`, "undecided"},
		{`target.checked == true`, "passed"},
		{`before.target.checked == true`, "undecided"},
		{`target.expanded`, "undecided"},
		// What one side decides, the other need not.
		{`target.expanded || page.ready`, "passed"},
		{`page.ready || target.expanded`, "passed"},
		{`target.expanded && !page.ready`, "failed"},
		{`target.expanded && page.ready`, "undecided"},
		{`page.requests.exists(r, r.status == 201)`, "passed"},
		// A dynamic value that is no bool, an entry that is not there, an overflow, a division by zero.
		{`document.front_matter.words`, "undecided"},
		{`document.front_matter.nothing == 1`, "undecided"},
		{`document.front_matter.words.deeper == 1`, "undecided"},
		{`document.front_matter.words == "130"`, "failed"},
		{`document.front_matter.words < "130"`, "undecided"},
		{`page.requests[7].status == 200`, "undecided"},
		{`1 / (effect.mutations - 4) == 1`, "undecided"},
		{`9223372036854775807 + effect.mutations > 0`, "undecided"},
		{`result.rows[1].label == "two"`, "undecided"},
		{`args.target.selector == "#a"`, "undecided"},
		{`has(args.target.selector)`, "failed"},
		// Functions of the extensions.
		{`page.title.lowerAscii() == "cart (1)"`, "passed"},
		{`stdout.trim().split(" ") == ["all", "ok"]`, "passed"},
		{`["a", "b"].join("-") == "a-b"`, "passed"},
		{`page.title.indexOf("(") == 5`, "passed"},
		{`page.title.substring(0, 4) == "Cart"`, "passed"},
		{`page.title.replace("Cart", "Korb") == "Korb (1)"`, "passed"},
		{`sets.contains(["jp", "de"], target.selected)`, "passed"},
		{`page.requests.map(r, r.status).sort() == [200, 201]`, "passed"},
		{`page.errors.distinct().size() == 1`, "passed"},
		{`page.requests.all(i, r, i > 0 || r.method == "GET")`, "passed"},
		{`type(page.title) == string && type(effect.mutations) == int`, "passed"},
		{`int("7") == 7 && string(exit_code) == "0"`, "passed"},
		// Whole objects.
		{`page.errors == before.page.errors`, "passed"},
		{`page.requests == before.page.requests`, "failed"},
		{`page.requests[0] == page.requests[1]`, "failed"},
		// Maps are walked in the order of their keys.
		{`document.front_matter.meta.map(k, k) == ["a", "b"]`, "passed"},
		{`args.headers.map(k, k) == ["a", "b"]`, "passed"},
		{`args.headers == {"b": "2", "a": "1"}`, "passed"},
		{`{"jp": "Japan", "de": "Germany"}[target.selected[0]] == "Japan"`, "passed"},
	} {
		t.Run(c.expression, func(t *testing.T) {
			t.Parallel()
			if check := judge(t, c.expression); outcome(check) != c.want {
				t.Errorf("got %s, want %s; observed: %s", outcome(check), c.want, check.Observed)
			}
		})
	}
}

// A verdict is success only when every condition passed on evidence that is there.
func TestVerdict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		expectations []string
		verdict      tool.Verdict
		confidence   float64
		explanation  string
	}{
		{"nothing to check", nil, tool.VerdictUncertain, 0, "There was no condition to check, so nothing is verified."},
		{"one holds", []string{`page.ready`}, tool.VerdictSuccess, 1, "The condition holds: page.ready is true."},
		{"all hold", []string{`page.ready`, `exit_code == 0`}, tool.VerdictSuccess, 1, "All 2 conditions hold."},
		{"one fails", []string{`page.ready`, `exit_code == 1`}, tool.VerdictFailure, 1,
			"1 of 2 conditions failed: expect[1]: expected exit_code is 1, observed exit_code = 0."},
		{"the only one fails", []string{`exit_code == 1`}, tool.VerdictFailure, 1,
			"The only condition failed: expect[0]: expected exit_code is 1, observed exit_code = 0."},
		{"one is undecided", []string{`page.ready`, `target.expanded`}, tool.VerdictUncertain, 0,
			"The evidence does not decide 1 of 2 conditions: expect[1]: expected target.expanded is true, observed target.expanded is absent; undecided: an element has no expanded."},
		{"a failure outweighs an undecided one", []string{`target.expanded`, `exit_code == 1`}, tool.VerdictFailure, 1,
			"1 of 2 conditions failed: expect[1]: expected exit_code is 1, observed exit_code = 0."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conditions, issues := verification.Compile(fullSpec(), json.RawMessage(fullArgs), c.expectations)
			if issues != nil {
				t.Fatal(issues)
			}
			v := conditions.Judge(evidence(t, shopBefore), evidence(t, shopAfter), json.RawMessage(fullResult))
			if v.Verdict != c.verdict || v.Confidence != c.confidence || v.Explanation != c.explanation || v.Threshold != verification.DefaultThreshold {
				t.Errorf("got %s, confidence %v, threshold %v: %s", v.Verdict, v.Confidence, v.Threshold, v.Explanation)
			}
			if len(v.Checks) != len(c.expectations) || v.Checks == nil {
				t.Errorf("got %d checks", len(v.Checks))
			}
			if v.Evidence != (tool.EvidenceRefs{}) {
				t.Errorf("the digests of evidence are the caller's, got %v", v.Evidence)
			}
		})
	}
}

// Without evidence nothing passes, not even what is negated.
func TestMissingEvidenceIsUndecided(t *testing.T) {
	t.Parallel()
	expressions := []string{`page.ready`, `!page.ready`, `page.errors.all(e, e in before.page.errors)`, `element("Play").visible == false`, `before_element("Play").visible == false`,
		`effect.changed`, `exit_code != 1`, `result.status < 400`, `document.words != 1`, `!page.dialogs.exists(d, true)`, `target.value != ""`}
	conditions, issues := verification.Compile(fullSpec(), json.RawMessage(fullArgs), expressions)
	if issues != nil {
		t.Fatal(issues)
	}
	for name, after := range map[string]*tool.Evidence{
		"none":  nil,
		"empty": {},
		"null":  {Values: map[string]any{"page": nil, "effect": nil, "exit_code": nil, "document": nil, "target": nil}, Elements: []tool.Element{{Query: tool.ElementQuery{Name: "Play"}}}},
		"of other types": {Values: map[string]any{"page": []any{1.0}, "effect": "changed", "exit_code": 1.5, "document": func() {}, "target": map[string]any{"value": 7.0}},
			Elements: []tool.Element{{Query: tool.ElementQuery{Name: "Play"}, State: map[string]any{"visible": "false"}}}},
		"wrong inside": {Values: map[string]any{"page": map[string]any{"ready": "no", "errors": []any{3.0}, "dialogs": "none"}, "exit_code": "0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := conditions.Judge(nil, after, nil)
			if v.Verdict != tool.VerdictUncertain {
				t.Errorf("got %s: %s", v.Verdict, v.Explanation)
			}
			for _, c := range v.Checks {
				if outcome(c) != "undecided" {
					t.Errorf("%s: %s; observed %s", c.Condition, outcome(c), c.Observed)
				}
			}
		})
	}
}

// Evidence beyond the bounds is not read, and nothing passes because of that.
func TestHugeEvidenceIsUndecided(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 2<<20)
	many := make([]any, 5000)
	for i := range many {
		many[i] = "e"
	}
	deep := any("end")
	for range 100 {
		deep = []any{deep}
	}
	after := &tool.Evidence{Values: map[string]any{"page": map[string]any{"text": long, "errors": many, "title": "Shop"}, "document": map[string]any{"front_matter": map[string]any{"deep": deep}}}}
	conditions, issues := verification.Compile(fullSpec(), json.RawMessage(`{}`), []string{
		`page.text != ""`, `!page.errors.exists(e, e == "x")`, `document.front_matter.deep != 1`, `page.title == "Shop"`})
	if issues != nil {
		t.Fatal(issues)
	}
	v := conditions.Judge(nil, after, nil)
	for i, want := range []string{"undecided", "undecided", "undecided", "passed"} {
		if outcome(v.Checks[i]) != want {
			t.Errorf("%s: %s; observed %s", v.Checks[i].Condition, outcome(v.Checks[i]), v.Checks[i].Observed)
		}
	}
}

func TestReceipts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ expression, expected, observed string }{
		{`page.title.contains("Cart")`, `page.title contains "Cart"`, `page.title = "Cart (1)"`},
		{`page.url.endsWith("/done")`, `page.url ends with "/done"`, `page.url = "http://shop/cart"`},
		{`element("Play", "button").visible`, `element("Play", "button").visible is true`, `element("Play", "button").visible = true`},
		{`element(args.target.name).checked`, `element(args.target.name).checked is true`, `element("Play").checked = true`},
		{`!element("Gone").exists`, `element("Gone").exists is false`, `element("Gone").exists = false`},
		{`element("Gone").value == ""`, `element("Gone").value is ""`, `element("Gone").value is absent; undecided: an element has no value`},
		{`element("Never asked").visible`, `element("Never asked").visible is true`,
			`element("Never asked").visible is not observed; undecided: the evidence holds no answer for element("Never asked")`},
		{`page.errors.all(e, e in before.page.errors)`, `page.errors.all(e, e in before.page.errors)`,
			`page.errors = ["old warning"]; before.page.errors = ["old warning"]`},
		{`args.append ? target.value.endsWith(args.text) : target.value == args.text`,
			`if args.append is true, then target.value ends with args.text, else target.value is args.text`,
			`args.append = true; target.value = "Hello"; args.text = "llo"`},
		{`exit_code == 0 && (stdout.contains("ok") || stderr == "")`, `exit_code is 0 and (stdout contains "ok" or stderr is "")`,
			`exit_code = 0; stdout = "all ok\n"; stderr = ""`},
		{`page.requests[1].status != 500 && has(target.value)`, `page.requests[1].status is not 500 and target.value is there`,
			`page.requests[1].status = 201; target.value = "Hello"`},
		{`page.media[effect.requests - 2].paused`, `page.media[effect.requests - 2].paused is true`,
			`effect.requests = 2; page.media = [{"current_time":2.5,"ended":false,"paused":false}]`},
		{`page.requests.exists(page, page.status == 201)`, `page.requests.exists(page, page.status == 201)`,
			`page.requests = [{"method":"GET","status":200,"url":"http://shop/api/cart"},{"method":"POST","status":201,"url":"http://shop/api/orders"}]`},
		{`1 + 1 == 2`, `1 + 1 is 2`, ``},
	} {
		t.Run(c.expression, func(t *testing.T) {
			t.Parallel()
			check := judge(t, c.expression)
			if check.Expected != c.expected {
				t.Errorf("expected\n got %s\nwant %s", check.Expected, c.expected)
			}
			if check.Observed != c.observed {
				t.Errorf("observed\n got %s\nwant %s", check.Observed, c.observed)
			}
			if check.Name != "expect[0]" || check.Condition != c.expression {
				t.Errorf("got name %q, condition %q", check.Name, check.Condition)
			}
		})
	}
}

// Long values are clipped at 300 bytes, at a character's boundary, and many values are counted.
func TestReceiptsAreShort(t *testing.T) {
	t.Parallel()
	after := evidence(t, shopAfter)
	after.Values["page"].(map[string]any)["text"] = strings.Repeat("日本語", 1000)
	var errs []any
	for i := range 900 {
		errs = append(errs, fmt.Sprintf("error %d", i))
	}
	after.Values["page"].(map[string]any)["errors"] = errs
	var many []string
	for i := range 20 {
		many = append(many, fmt.Sprintf("document.front_matter.f%d == 1", i))
	}
	conditions, issues := verification.Compile(fullSpec(), json.RawMessage(fullArgs), []string{`page.text != "" && page.errors.size() == 900`, strings.Join(many, " || ")})
	if issues != nil {
		t.Fatal(issues)
	}
	v := conditions.Judge(nil, after, nil)
	for _, value := range strings.Split(v.Checks[0].Observed, "; ") {
		if len(value) > 300 || !strings.HasSuffix(value, "…") || strings.ContainsRune(value, '\uFFFD') {
			t.Errorf("%d bytes: %s", len(value), value)
		}
	}
	if o := v.Checks[1].Observed; !strings.Contains(o, "document.front_matter.f5 is absent; 14 more values; undecided") {
		t.Error(o)
	}
	if len(v.Explanation) > 1000 {
		t.Errorf("%d bytes: %s", len(v.Explanation), v.Explanation)
	}
}

// The same evidence gives the same bytes: however often, however concurrently, in whatever order Go walks its maps, and whether the
// evidence comes from this process or from a store.
func TestDeterminism(t *testing.T) {
	t.Parallel()
	expressions := []string{`page.errors.all(e, e in before.page.errors)`, `document.front_matter.meta.map(k, k)[0] == "a"`, `document.front_matter.meta.exists(k, document.front_matter.missing[k] == 1)`,
		`document == before.document`, `target.expanded`, `page == before.page`, `effect.mutations == 4`, `document.front_matter.bad == 1`,
		`page.requests.all(r, r.status < 400)`, `result.rows.exists(r, r.id == 2)`}
	args := json.RawMessage(fullArgs)
	conditions, issues := verification.Compile(fullSpec(), args, expressions)
	if issues != nil {
		t.Fatal(issues)
	}
	// As an executor makes it: other types of numbers, typed slices.
	native := func() *tool.Evidence {
		return &tool.Evidence{
			Values: map[string]any{
				"page":     map[string]any{"ready": true, "errors": []string{"a", "b"}, "requests": []map[string]any{{"method": "GET", "url": "u", "status": 200}}},
				"effect":   map[string]any{"mutations": uint8(4), "pixels": float32(0.5)},
				"document": map[string]any{"front_matter": map[string]any{"meta": map[string]int{"b": 1, "a": 2}, "n": json.Number("7"), "list": [2]int{1, 2}}},
				"target":   map[string]any{"checked": true},
			},
			Elements: []tool.Element{{Query: tool.ElementQuery{Name: "Play"}, State: map[string]any{"count": int64(1)}}},
		}
	}
	text, err := json.Marshal(native())
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(conditions.Judge(evidence(t, string(text)), evidence(t, string(text)), json.RawMessage(fullResult)))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 50 {
				after, before := native(), native()
				if (i+j)%2 == 0 {
					after, before = evidence(t, string(text)), evidence(t, string(text))
				}
				got, err := json.Marshal(conditions.Judge(before, after, json.RawMessage(fullResult)))
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("got  %.3000s\nwant %.3000s (%v)", got, want, err)
					return
				}
			}
		})
	}
	all.Wait()
}

// A result may come typed; its tool's codec renders it, and what the codec rejects is no result.
func TestTypedResult(t *testing.T) {
	t.Parallel()
	type acted struct{ Status int }
	spec := fullSpec()
	spec.EncodeResult = func(v any) ([]byte, error) {
		if a := v.(*acted); a.Status != 0 {
			return fmt.Appendf(nil, `{"url":"u","status":%d}`, a.Status), nil
		}
		return nil, tool.Issues{{Message: "no status"}}
	}
	conditions, issues := verification.Compile(spec, nil, []string{`result.status == 200`})
	if issues != nil {
		t.Fatal(issues)
	}
	for _, c := range []struct {
		result any
		want   string
	}{
		{&acted{200}, "passed"}, {&acted{500}, "failed"}, {&acted{}, "undecided"}, {(*acted)(nil), "undecided"}, {nil, "undecided"},
		{json.RawMessage(`{"status":200}`), "passed"}, {[]byte(`{"status":200}`), "passed"}, {map[string]any{"status": 200}, "passed"},
		{json.RawMessage(`{"status":`), "undecided"}, {json.RawMessage(`{"status":200} {}`), "undecided"}, {json.RawMessage(nil), "undecided"}, {json.RawMessage(`[]`), "undecided"},
	} {
		if got := outcome(conditions.Judge(nil, &tool.Evidence{}, c.result).Checks[0]); got != c.want {
			t.Errorf("%v: got %s, want %s", c.result, got, c.want)
		}
	}
	if got := outcome(conditions.Judge(nil, &tool.Evidence{Values: map[string]any{"result": map[string]any{"status": 200}}}, nil).Checks[0]); got != "passed" {
		t.Errorf("a result in the evidence: %s", got)
	}
}

func TestPreconditions(t *testing.T) {
	t.Parallel()
	spec := fullSpec()
	spec.Preconditions = []tool.Condition{
		{Name: "loaded", Expression: `page.ready`, Message: "the page is loaded"},
		{Name: "form", Expression: `element(args.target.name).visible`, Message: "the form is open"},
	}
	conditions, issues := verification.CompilePreconditions(spec, json.RawMessage(fullArgs))
	if issues != nil {
		t.Fatal(issues)
	}
	if !conditions.HasPreconditions() || conditions.HasPostconditions() {
		t.Error("it has preconditions only")
	}
	if n := conditions.Needs(); len(n.Elements) != 1 || n.Elements[0] != (tool.ElementQuery{Name: "Play"}) || n.Text {
		t.Errorf("needs %+v", n)
	}
	v := conditions.CheckPreconditions(evidence(t, shopAfter))
	if v.Verdict != tool.VerdictSuccess || len(v.Checks) != 2 {
		t.Errorf("got %s: %s", v.Verdict, v.Explanation)
	}
	loading := evidence(t, shopAfter)
	loading.Values["page"].(map[string]any)["ready"] = false
	v = conditions.CheckPreconditions(loading)
	if want := "1 of 2 conditions failed: loaded: expected the page is loaded, observed page.ready = false."; v.Verdict != tool.VerdictFailure || v.Explanation != want {
		t.Errorf("got %s: %s", v.Verdict, v.Explanation)
	}
	if v = conditions.CheckPreconditions(evidence(t, shopBefore)); v.Verdict != tool.VerdictUncertain {
		t.Errorf("an element that was not asked about: got %s", v.Verdict)
	}
	if v = conditions.CheckPreconditions(nil); v.Verdict != tool.VerdictUncertain {
		t.Errorf("no evidence: got %s", v.Verdict)
	}
	both, issues := verification.Compile(spec, json.RawMessage(fullArgs), []string{`page.text != ""`})
	if issues != nil {
		t.Fatal(issues)
	}
	if n := both.Needs(); !both.HasPreconditions() || !both.HasPostconditions() || len(n.Elements) != 1 || !n.Text {
		t.Errorf("Compile compiles both: %+v", n)
	}
	none, issues := verification.CompilePreconditions(fullSpec(), nil)
	if issues != nil {
		t.Fatal(issues)
	}
	if v := none.CheckPreconditions(nil); none.HasPreconditions() || v.Verdict != tool.VerdictSuccess {
		t.Errorf("without preconditions anything may run: %s", v.Verdict)
	}
}

// Expressions that multiply their input are rejected before they run, or end soon and undecided.
func TestExpensiveConditions(t *testing.T) {
	t.Parallel()
	after := evidence(t, shopAfter)
	page := after.Values["page"].(map[string]any)
	page["text"] = strings.Repeat("a", 1<<20)
	var requests []any
	for i := range 1000 {
		requests = append(requests, map[string]any{"method": "GET", "url": strings.Repeat("/x", 500) + fmt.Sprint(i), "status": 200.0})
	}
	page["requests"] = requests
	args, err := json.Marshal(map[string]any{"target": map[string]any{"name": "x"}, "text": strings.Repeat("a", 400_000) + "b"})
	if err != nil {
		t.Fatal(err)
	}
	double := strings.Repeat(".map(a, a + a)", 40)
	nest := strings.Repeat(".map(a, [a, a, a, a])", 20)
	for _, expression := range []string{
		`[[1]]` + double + `[0] == [1]`,
		`["a"]` + double + `[0] == "a"`,
		`[[1]]` + double + `[0].size() == 1`,
		`[1, 1]` + nest + ` == [1]` + nest,
		`1 in [dyn(1)]` + nest,
		`[dyn(1)]` + nest + `.flatten(25).size() == 1`,
		`[page.text]` + double + `[0] == "a"`,
		`page.text.replace("", page.text) == ""`,
		`page.text.replace("a", page.text) == ""`,
		`page.text.split("").size() == 1`,
		`lists.range(1000).map(x, page.text).join() == ""`,
		`lists.range(1000).map(x, page.text).join(page.text) == ""`,
		`lists.range(1000000).size() == 1`,
		`page.text.indexOf(args.text) == 0`,
		`page.text.lastIndexOf(args.text) == 0`,
		`page.text.contains(args.text)`,
		`page.text.matches("(a?){200}(b?){200}c")`,
		`page.text.matches(args.text)`,
		`page.requests.all(a, page.requests.all(b, page.requests.all(c, a.url != b.url || c.url != b.url)))`,
		`page.requests.all(a, page.requests.all(b, a.url != b.url || a.status == b.status))`,
		`lists.range(1000).all(i, page.requests == before.page.requests || page.requests == page.requests)`,
		`lists.range(1000).all(i, page.text.contains("b") || i >= 0)`,
		`page.requests.map(r, r.url).distinct().size() == 1`,
		`page.requests.sortBy(r, r.url).size() == 1`,
	} {
		name := expression[:min(len(expression), 60)]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			conditions, issues := verification.Compile(fullSpec(), args, []string{expression})
			got := "rejected"
			if issues == nil {
				check := conditions.Judge(after, after, nil).Checks[0]
				got = outcome(check) + " " + check.Observed[max(0, len(check.Observed)-60):]
			}
			took := time.Since(start)
			t.Logf("%s in %v", got, took)
			if took > 20*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}
