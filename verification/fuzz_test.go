package verification_test

import (
	"encoding/json"
	"testing"
	"time"

	"toolsvc/verification"
)

// Whatever a caller sends as a condition: nothing panics, time is bounded, issues are well formed, a verdict is the same
// every time, and what is undecided never passes.
func FuzzCondition(f *testing.F) {
	for _, seed := range []string{
		`page.title.contains("Cart")`, `element("Play", "button").visible`, `element(args.target.name).checked`, `page.titel == 3`,
		`page.requests.exists_one(r, r.method == "POST" && r.url.contains("/orders") && r.status == 201)`, `page.errors.all(e, e in before.page.errors)`,
		`args.append ? target.value.endsWith(args.text) : target.value == args.text`, `document.front_matter.a[0]["b"].c + 1 == 2`, `document.section("A > B").parts == ["x"]`, `document("a.md").broken_links == []`, `document.unchanged_outside("A", before.document)`, `[1, 2].map(x, [x, x]).flatten() == [1, 1, 2, 2]`,
		`{"a": 1}["a"] == 1`, `b"abc" == bytes(page.title)`, `timestamp("2026-01-01T00:00:00Z") < timestamp(result.title)`, `page.text.matches("(a?){20}")`,
		`lists.range(10).all(i, i >= 0)`, `"a".replace("", "b") == page.text.split("")[0]`, `has(page.text) && !has(target.checked)`, `type(page) == type(1)`,
		"page.ready &&\n\t// a comment\n true", `page.title == r"\d" || page.title == """x"""`, `before_element("x").count - 1 > -1`, `1u + 2u == 3u`, `.page.ready`, `page.?title == 1`,
		"`a` == 1", `[1.5, 2].sort()[0] == 1`, `dyn(page) == dyn(1)`, `document.front_matter.exists(k, v, v == 1)`, `page.requests.sortBy(r, r.status)[0].status == 200`,
	} {
		f.Add(seed)
	}
	spec, args := fullSpec(), json.RawMessage(fullArgs)
	f.Fuzz(func(t *testing.T, expression string) {
		start := time.Now()
		conditions, issues := verification.Compile(spec, args, []string{expression})
		if (conditions == nil) == (issues == nil) {
			t.Fatalf("conditions %v with issues %v", conditions, issues)
		}
		for _, i := range issues {
			if i.Message == "" || i.Path != "/expect/0" || i.Offset < 0 || i.Offset > int64(len(expression)) || len(i.Got) > 128 {
				t.Errorf("%+v", i)
			}
		}
		if conditions != nil {
			v := conditions.Judge(evidence(t, shopBefore), evidence(t, shopAfter), json.RawMessage(fullResult))
			if o := outcome(v.Checks[0]); o == "passed and undecided" {
				t.Errorf("%+v", v.Checks[0])
			}
			if again := conditions.Judge(evidence(t, shopBefore), evidence(t, shopAfter), json.RawMessage(fullResult)); mustJSON(t, again) != mustJSON(t, v) {
				t.Errorf("%s\n%s", mustJSON(t, v), mustJSON(t, again))
			}
			if v := conditions.Judge(nil, nil, nil); outcome(v.Checks[0]) == "passed and undecided" {
				t.Errorf("%+v", v.Checks[0])
			}
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
