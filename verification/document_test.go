package verification_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"toolsvc/tool"
	"toolsvc/verification"
)

// The document of these tests, as executors/document observes one: text, and sections that say where in it they stand.
func guide(overview, concepts string) map[string]any {
	parts := []struct {
		level              int
		title, path, under string
		parts              []any
		text               string
	}{
		{1, "Guide", "Guide", "", nil, "# Guide\n"},
		{2, "Overview", "Guide > Overview", "Guide", nil, "## Overview\n" + overview},
		{2, "Core Concepts", "Guide > Core Concepts", "Guide", nil, "## Core Concepts\n"},
		{3, "Retry", "Guide > Core Concepts > Retry", "Core Concepts", []any{"Easy", "Normal", "Expert"}, "### Retry\n" + concepts},
		{3, "Queue", "Guide > Core Concepts > Queue", "Core Concepts", []any{"Easy", "Expert"}, "### Queue\nwait\n"},
	}
	text := ""
	var sections []any
	for _, p := range parts {
		sections = append(sections, map[string]any{"title": p.title, "level": p.level, "path": p.path, "parent": p.under, "parts": append([]any{}, p.parts...),
			"line": strings.Count(text, "\n") + 1, "from": len(text), "to": len(text) + len(p.text), "own": tool.Digest([]byte(strings.Trim(p.text, "\n"))),
			"words": len(strings.Fields(p.text)), "counts": map[string]any{"tables": 1}})
		text += p.text
	}
	return map[string]any{"path": "guide.md", "exists": true, "text": text, "digest": tool.Digest([]byte(text)), "sections": sections,
		"preamble": tool.Digest(nil), "counts": map[string]any{"headings": 5},
		"fences":          []any{map[string]any{"language": "go", "line": 4, "end_line": 9, "closed": false, "section": "Overview"}},
		"unclosed_fences": []any{"line 4"},
		"links":           []any{map[string]any{"text": "x", "target": "b.md#y", "kind": "file", "line": 7, "resolves": false, "problem": "there is no b.md"}},
		"broken_links":    []any{"b.md#y, line 7"}, "front_matter": map[string]any{"title": "Guide", "weight": 3},
		"touched": []any{map[string]any{"line": 3, "digest": tool.Digest([]byte("one\ntwo"))}}}
}

func guideEvidence(overview, concepts string) *tool.Evidence {
	twins := guide(overview, concepts)
	twins["sections"] = append(twins["sections"].([]any), twins["sections"].([]any)[3])
	return &tool.Evidence{Values: map[string]any{"document": guide(overview, concepts),
		"documents": map[string]any{"other.md": guide("x", "y"), "gone.md": map[string]any{"path": "gone.md", "exists": false}, "twins.md": twins, "bad.md": 7}}}
}

func judgeDocument(t *testing.T, expressions ...string) tool.Verification {
	t.Helper()
	conditions, issues := verification.Compile(fullSpec(), json.RawMessage(`{"text":"one\r\ntwo\n\n","target":{"name":"gone.md"}}`), expressions)
	if issues != nil {
		t.Fatal(issues)
	}
	return conditions.Judge(guideEvidence("before\n", "same\n"), guideEvidence("after\n", "same\n\n"), json.RawMessage(`{"url":""}`))
}

func TestDocumentConditions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ expression, want, observed string }{
		{`document.section("Overview").exists`, "passed", `document.section("Overview").exists = true`},
		{`document.section("Guide > Core Concepts").level == 2`, "passed", `document.section("Guide > Core Concepts").level = 2`},
		{`document.section("Core Concepts > Retry").parts == ["Easy", "Normal", "Expert"]`, "passed", `document.section("Core Concepts > Retry").parts = ["Easy","Normal","Expert"]`},
		{`document.section("Summary").exists`, "failed", `document.section("Summary").exists = false`},
		{`document.section("Summary").words > 1`, "undecided", `document.section("Summary").words is absent; undecided: a section has no words`},
		{`document.section("Overview").text == "## Overview\nafter\n"`, "passed", `document.section("Overview").text = "## Overview\nafter\n"`},
		{`document.section("Overview").counts.tables == 1 && document.counts.headings == 5`, "passed", `document.section("Overview").counts.tables = 1; document.counts.headings = 5`},
		{`document.sections.filter(s, s.parent == "Core Concepts").all(s, sets.contains(s.parts, ["Easy", "Normal", "Expert"]))`, "failed",
			`document.sections = ["# Guide","## Overview","## Core Concepts","### Retry","### Queue"]`},
		{`document.sections.filter(s, s.parent == "Core Concepts").size() in [2, 3, 4]`, "passed", `document.sections = ["# Guide","## Overview","## Core Concepts","### Retry","### Queue"]`},
		{`document.sections.exists(s, s.text.matches("(?m)^wait$"))`, "passed", `document.sections = ["# Guide","## Overview","## Core Concepts","### Retry","### Queue"]`},
		{`document.unclosed_fences == []`, "failed", `document.unclosed_fences = ["line 4"]`},
		{`document.fences.all(f, f.closed)`, "failed", `document.fences = ["go fence, line 4, not closed"]`},
		{`document.broken_links == []`, "failed", `document.broken_links = ["b.md#y, line 7"]`},
		{`document.links.all(l, l.kind == "web" || l.resolves)`, "failed", `document.links = ["b.md#y, line 7: there is no b.md"]`},
		{`document.front_matter.weight >= 2 && has(document.front_matter.title)`, "passed", `document.front_matter.weight = 3; document.front_matter.title = "Guide"`},
		{`document.unchanged_outside("Overview", before.document)`, "passed", `document, changed outside "Overview" = []`},
		{`document.unchanged_outside(["Overview", "Retry"], before.document)`, "passed", `document, changed outside "Overview" and "Retry" = []`},
		{`document.unchanged_outside("Core Concepts", before.document)`, "failed",
			`document, changed outside "Core Concepts" = ["changed or gone: ## Overview","new or changed: ## Overview"]`},
		{`document.unchanged_outside("Nowhere", before.document)`, "failed", `document, changed outside "Nowhere" = ["changed or gone: ## Overview","new or changed: ## Overview"]`},
		{`document.unchanged_outside(args.target.name, before.document)`, "failed", `document, changed outside args.target.name = ["changed or gone: ## Overview","new or changed: ## Overview"]`},
		{`document.touched.all(t, t.digest == text_digest(args.text))`, "passed", ""},
		{`document("other.md").section("Retry").exists && before_document("other.md").exists`, "passed", `document("other.md").section("Retry").exists = true; before_document("other.md").exists = true`},
		{`document("other.md").unchanged_outside([], before_document("other.md"))`, "passed", ""},
		{`!document("gone.md").exists && !document("gone.md").section("Guide").exists`, "passed", ""},
		{`document(args.target.name).exists`, "failed", `document(args.target.name).exists = false`},
		{`document("twins.md").section("Retry").exists`, "undecided", ""},
		{`document("twins.md").section("Queue").exists`, "passed", ""},
		{`document("never-asked.md").exists`, "undecided", `document("never-asked.md").exists is not observed; undecided: the evidence holds no answer for document("never-asked.md")`},
		{`document("bad.md").exists`, "undecided", ""},
	} {
		t.Run(c.expression, func(t *testing.T) {
			t.Parallel()
			check := judgeDocument(t, c.expression).Checks[0]
			if got := outcome(check); got != c.want {
				t.Errorf("got %s, want %s; observed: %s", got, c.want, check.Observed)
			}
			if c.observed != "" && check.Observed != c.observed {
				t.Errorf("observed\n got %s\nwant %s", check.Observed, c.observed)
			}
		})
	}
}

// What cannot be right about a document is found before anything runs.
func TestDocumentIssues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ expression, message, suggestion string }{
		{`document.setions.size() == 1`, `document has no field "setions"; did you mean "sections"?`, "sections"},
		{`document.section("x").exsts`, `document.section("x") has no field "exsts"; did you mean "exists"?`, "exists"},
		{`document.sections.all(s, s.titel == "")`, `s has no field "titel"; did you mean "title"?`, "title"},
		{`document("a.md").wrods == 1`, `has no field "wrods"; did you mean "words"?`, "words"},
		{`document.words == "3"`, `== cannot be applied to a whole number and text`, ""},
		{`document(3).exists`, `document takes a path, which is text, not a whole number`, ""},
		{`document("").exists`, `the path of a document is empty`, ""},
		{`document(result.url).exists`, `the path of a document is a text in quotes or a value of args`, ""},
		{`document(args.text).exists`, `args.text is not in the payload, so it names no document`, ""},
		{`document.unchanged_outsid("x", before.document)`, `there is no function "unchanged_outsid"; did you mean "unchanged_outside"?`, "unchanged_outside"},
		{`document == 1`, `== cannot be applied to a document and a whole number`, ""},
	} {
		t.Run(c.expression, func(t *testing.T) {
			t.Parallel()
			_, issues := verification.Compile(fullSpec(), json.RawMessage(`{}`), []string{c.expression})
			if len(issues) != 1 || !strings.Contains(issues[0].Message, c.message) || issues[0].Suggestion != c.suggestion {
				t.Errorf("got %+v", issues)
			}
		})
	}
}

// Costly parts of documents are collected only when a condition reads them.
func TestDocumentNeeds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		expressions []string
		want        tool.Needs
	}{
		{[]string{`document.words > 1`, `document == before.document`, `document.section("x").exists`}, tool.Needs{}},
		{[]string{`document.text == ""`}, tool.Needs{DocumentText: true}},
		{[]string{`document.sections.exists(s, s.text.contains("x"))`}, tool.Needs{DocumentText: true}},
		{[]string{`before.document.section("x").text == ""`}, tool.Needs{DocumentText: true}},
		{[]string{`document.comments.exists(c, c.text == "x")`}, tool.Needs{}},
		{[]string{`document.links.all(l, l.resolves)`}, tool.Needs{Links: true}},
		{[]string{`document.links.all(l, l.kind == "web")`}, tool.Needs{}},
		{[]string{`document.broken_links == []`}, tool.Needs{Links: true}},
		{[]string{`document("b.md").exists && document("a.md").text == "" && before_document("b.md").exists`}, tool.Needs{Documents: []string{"b.md", "a.md"}, DocumentText: true}},
		{[]string{`document(args.text).exists`}, tool.Needs{Documents: []string{"llo"}}},
	} {
		conditions, issues := verification.Compile(fullSpec(), json.RawMessage(fullArgs), c.expressions)
		if issues != nil {
			t.Fatal(issues)
		}
		if got := conditions.Needs(); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%v: needs %+v, want %+v", c.expressions, got, c.want)
		}
	}
	var many []string
	for i := range 26 {
		many = append(many, fmt.Sprintf(`document("%d.md").exists && document("%da.md").exists`, i, i))
	}
	if _, issues := verification.Compile(fullSpec(), json.RawMessage(fullArgs), many); len(issues) != 1 || issues[0].Limit != 50 {
		t.Errorf("52 documents: %v", issues)
	}
}

// The conditions that a stage of a pipeline has, 14 of them, in one verdict: all are checked, and what failed is told in one line each.
func TestFourteenConditionsStayReadable(t *testing.T) {
	t.Parallel()
	v := judgeDocument(t,
		`document.exists`, `document.section("Overview").exists`, `document.section("Core Concepts").exists`,
		`document.sections.filter(s, s.parent == "Core Concepts").size() >= 2`, `document.sections.filter(s, s.parent == "Core Concepts").size() <= 5`,
		`document.sections.filter(s, s.parent == "Core Concepts").all(s, sets.contains(s.parts, ["Easy", "Normal", "Expert"]))`,
		`document.unclosed_fences == []`, `document.broken_links == []`, `document.section("Overview").text.size() > 5`,
		`document.unchanged_outside("Overview", before.document)`, `document.front_matter.title == "Guide"`, `document.counts.headings <= 10`,
		`document.section("Core Concepts > Queue").words >= 3`, `document.section("Appendix").exists`)
	if v.Verdict != tool.VerdictFailure || len(v.Checks) != 14 || len(v.Explanation) > 1000 {
		t.Fatalf("%s, %d checks: %s", v.Verdict, len(v.Checks), v.Explanation)
	}
	if got, want := v.Failed(), []string{"expect[5]", "expect[6]", "expect[7]", "expect[13]"}; !slices.Equal(got, want) {
		t.Errorf("failed %v, want %v", got, want)
	}
	for _, c := range v.Checks {
		if len(c.Observed) > 310 || c.Observed == "" {
			t.Errorf("%s: %d bytes observed: %s", c.Name, len(c.Observed), c.Observed)
		}
	}
	if !strings.Contains(v.Explanation, "1 more") {
		t.Error(v.Explanation)
	}
}
