package verification_test

import (
	"encoding/json"
	"testing"

	"toolsvc/tool"
	"toolsvc/verification"
)

// clickSpec is browser.click as its design declares it.
func clickSpec() *tool.Spec {
	return &tool.Spec{ID: "browser.click", Effect: tool.Reversible, PayloadSchema: json.RawMessage(targetSchema), ResultSchema: json.RawMessage(actedSchema),
		Postconditions: []tool.Condition{
			{Name: "delivered", Expression: `effect.delivered`, Message: "the click reached the target"},
			{Name: "something_changed", Expression: `effect.changed`, Message: "the page reacted"},
			{Name: "no_new_error", Expression: `page.errors.all(e, e in before.page.errors)`, Message: "no error appeared"},
		}}
}

func BenchmarkJudgeClick(b *testing.B) {
	c, issues := verification.Compile(clickSpec(), json.RawMessage(`{"target":{"name":"Play"}}`), nil)
	if issues != nil {
		b.Fatal(issues)
	}
	before, after, result := evidence(b, shopBefore), evidence(b, shopAfter), json.RawMessage(`{"url":"http://shop/","title":"Shop","acted_on":"button","changed":true}`)
	b.ReportAllocs()
	for b.Loop() {
		if v := c.Judge(before, after, result); v.Verdict != tool.VerdictSuccess {
			b.Fatal(v.Explanation)
		}
	}
}

func BenchmarkJudgeTenConditions(b *testing.B) {
	c, issues := verification.Compile(clickSpec(), json.RawMessage(`{"target":{"name":"Play"}}`), []string{
		`page.title.contains("Cart")`, `page.url.endsWith("/cart")`, `element("Play", "button").visible`, `page.text.matches("Order [0-9]+ placed")`,
		`page.requests.exists_one(r, r.method == "POST" && r.url.contains("/orders") && r.status == 201)`,
		`!page.dialogs.exists(d, d.type == "alert")`, `page.media.exists(m, !m.paused)`,
	})
	if issues != nil {
		b.Fatal(issues)
	}
	before, after := evidence(b, shopBefore), evidence(b, shopAfter)
	b.ReportAllocs()
	for b.Loop() {
		if v := c.Judge(before, after, nil); v.Verdict != tool.VerdictSuccess {
			b.Fatal(v.Explanation)
		}
	}
}

func BenchmarkCompileCached(b *testing.B) {
	spec, args := clickSpec(), json.RawMessage(`{"target":{"name":"Play"}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, issues := verification.Compile(spec, args, []string{`page.title.contains("Cart")`}); issues != nil {
			b.Fatal(issues)
		}
	}
}

func BenchmarkCompileNewSpec(b *testing.B) {
	args := json.RawMessage(`{"target":{"name":"Play"}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, issues := verification.Compile(clickSpec(), args, nil); issues != nil {
			b.Fatal(issues)
		}
	}
}
