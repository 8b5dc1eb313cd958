package document_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"toolsvc/executors/document"
	"toolsvc/tool"
	"toolsvc/verification"
)

const concepts = `---
status: draft
weight: 3
---
# Core Concepts

See [the overview](overview.md#overview) and [below](#queue), [gone](gone.md), [nowhere](#nowhere), [far](https://example.com), [up](../../x.md).

### Retry

**Easy**: again.

**Normal**: later.

**Expert**: never blindly.

` + "```mermaid\ngraph\n```" + `

### Queue

- **Easy** one
- **Normal** two

#### Expert

| a |
|---|
| 1 |

` + "```go\nnever closed\n"

// Conditions over real files, as a caller writes them.
func TestConditions(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, map[string]string{"docs/concepts.md": concepts, "docs/overview.md": "# Overview\n\nText.\n", "main.go": "package main\n\n// main does it.\nfunc main() {}\n",
		"bad.go": "package main\nfunc {\n", "a.json": "{\"a\": 1}", "w.txt": "\xEF\xBB\xBFa b\r\nc"})
	for _, c := range []struct{ file, expression, want string }{
		{"docs/concepts.md", `document.section("Core Concepts").exists && !document.section("Summary").exists`, "passed"},
		{"docs/concepts.md", `document.sections.filter(s, s.level == 3 && s.parent == "Core Concepts").size() in [2, 3, 4, 5]`, "passed"},
		{"docs/concepts.md", `document.sections.filter(s, s.level == 3).all(s, sets.contains(s.parts, ["Easy", "Normal", "Expert"]))`, "passed"},
		{"docs/concepts.md", `document.sections.filter(s, s.level == 3).all(s, "mermaid" in s.languages)`, "failed"},
		{"docs/concepts.md", `document.section("Queue").subsections == ["Expert"] && document.section("Queue > Expert").counts.tables == 1`, "passed"},
		{"docs/concepts.md", `document.unclosed_fences == []`, "failed"},
		{"docs/concepts.md", `document.fences.size() == 2 && document.fences[0].closed && document.fences[1].section == "Core Concepts > Queue > Expert"`, "passed"},
		{"docs/concepts.md", `document.front_matter.status == "draft" && document.front_matter.weight == 3 && !has(document.front_matter.title)`, "passed"},
		{"docs/concepts.md", `document.section("Retry").text.matches("(?s)never blindly.*mermaid")`, "passed"},
		{"docs/concepts.md", `document.section("Retry").words < 20 && document.words > 30 && document.title == "Core Concepts"`, "passed"},
		{"docs/concepts.md", `document.broken_links == []`, "failed"},
		{"docs/concepts.md", `document.links.filter(l, has(l.problem)).map(l, l.target) == ["gone.md", "#nowhere", "../../x.md"]`, "passed"},
		{"docs/concepts.md", `document.links[0].resolves && document.links[1].resolves && document.links[4].kind == "web"`, "passed"},
		{"docs/concepts.md", `document.links[4].resolves`, "undecided"},
		{"docs/concepts.md", `document("docs/overview.md").section("Overview").exists && !document("docs/none.md").exists`, "passed"},
		{"docs/concepts.md", `document("../x.md").exists`, "undecided"},
		{"docs/concepts.md", `document("docs").exists`, "undecided"},
		{"docs/concepts.md", `document.unchanged_outside([], before.document) && document == before.document`, "passed"},
		{"main.go", `document.symbols.exists(s, s.name == "main" && s.kind == "function") && document.comments[0].text == "main does it."`, "passed"},
		{"main.go", `document.parses && document.format == "go" && !document("bad.go").parses && document("a.json").parses`, "passed"},
		{"main.go", `document.sections.size() == 0`, "undecided"},
		{"w.txt", `document.bom && document.encoding == "utf-8" && document.line_endings == "crlf" && !document.final_newline && document.mode == "0644"`, "passed"},
		{"w.txt", `document.text == "a b\nc" && document.lines == 2 && document.words == 3 && document.chars == 5 && document.size == 9`, "passed"},
		{"w.txt", `document.touched[0].text == document.text && document.touched[0].end_line == 2`, "passed"},
	} {
		r := w.call("read", `{"path":"`+c.file+`"}`, c.expression)
		if r.err != nil {
			t.Fatal(r.err)
		}
		check := r.verdict.Checks[len(r.verdict.Checks)-1]
		got := "failed"
		switch {
		case check.Passed:
			got = "passed"
		case check.Undecided:
			got = "undecided"
		}
		if got != c.want {
			t.Errorf("%s: %s: %s, want %s; observed %s", c.file, c.expression, got, c.want, check.Observed)
		}
	}
}

// A stage's conditions on one call, 12 beside the tool's own 6: the result names all that failed, in lines that can be read.
func TestManyConditionsStayReadable(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, map[string]string{"docs/concepts.md": concepts, "docs/overview.md": "# Overview\n"})
	r := w.call("write_section", `{"path":"docs/concepts.md","heading":"Retry","content":"**Easy**: again.\n\n**Expert**: never.\n"}`,
		`document.section("Core Concepts").exists`, `document.front_matter.status == "draft"`,
		`document.sections.filter(s, s.level == 3).size() >= 2`, `document.sections.filter(s, s.level == 3).size() <= 5`,
		`document.sections.filter(s, s.level == 3).all(s, sets.contains(s.parts, ["Easy", "Normal", "Expert"]))`,
		`document.unclosed_fences == []`, `document.broken_links == []`, `document.section("Retry").words > 2`, `document.section("Retry").counts.paragraphs >= 2`,
		`document.unchanged_outside("Retry", before.document)`, `document("docs/overview.md").exists`, `document.section("Queue").text == before.document.section("Queue").text`)
	r.fails(t, tool.VerificationFailed, "3 of 18 conditions failed")
	if got, want := r.verdict.Failed(), []string{"expect[4]", "expect[5]", "expect[6]"}; !slices.Equal(got, want) {
		t.Errorf("failed %v", got)
	}
	for _, c := range r.verdict.Checks {
		if len(c.Observed) > 700 || c.Observed == "" {
			t.Errorf("%s: %s", c.Name, c.Observed)
		}
	}
	if c := r.verdict.Checks[10]; !strings.Contains(c.Observed, `"### Retry"`) || !strings.Contains(r.verdict.Checks[11].Observed, "line ") {
		t.Errorf("%s / %s", c.Observed, r.verdict.Checks[11].Observed)
	}
	if w.get("docs/concepts.md") != concepts || !r.rollback.Performed {
		t.Errorf("rollback %+v", r.rollback)
	}
}

// Conditions of a stage, outside of any call.
func TestObserveForStages(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, map[string]string{"a.md": "# A\n"})
	docs, err := w.x.Observe(t.Context(), tool.Needs{Documents: []string{"a.md", "b.md", "../c.md"}})
	if err != nil || len(docs) != 2 {
		t.Fatalf("%v, %v", docs, err)
	}
	s := &tool.Spec{ID: "stage.check", Postconditions: []tool.Condition{{Name: "a", Expression: `document("a.md").section("A").exists && !document("b.md").exists`, Message: "x"}}}
	conds, issues := verification.Compile(s, nil, nil)
	if issues != nil {
		t.Fatal(issues)
	}
	if v := conds.Judge(nil, &tool.Evidence{Values: map[string]any{"documents": docs}}, nil); v.Verdict != tool.VerdictSuccess {
		t.Error(v.Explanation)
	}
}

// Random edits by every tool, on files of all encodings and line endings: what is verified changed nothing but its place, and what was rolled
// back left the file as it was.
func TestRandomEditsChangeNothingElse(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 9))
	pieces := []string{"# One\n", "## Two\n", "## Two\n", "text\n", "\n", "a **b** c\n", "```\ncode\n```\n", "- x\n", "日本\n", "### Deep\n", "> q\n", "end"}
	w := newWorkspace(t, nil)
	verified, failed := 0, map[tool.Failure]int{}
	for i := range 300 {
		var b strings.Builder
		for range 1 + r.IntN(14) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		file := b.String()
		switch r.IntN(4) {
		case 0:
			file = strings.ReplaceAll(file, "\n", "\r\n")
		case 1:
			file = strings.Replace(file, "\n", "\r\n", 1)
		case 2:
			file = "\xEF\xBB\xBF" + file
		}
		name := fmt.Sprintf("f%d.md", i%7)
		w.put(name, file)
		text := quoteJSON(pieces[r.IntN(len(pieces))] + pieces[r.IntN(len(pieces))])
		heading := []string{"One", "Two", "Two > Deep", "New", "One > New"}[r.IntN(5)]
		var tl, args string
		switch r.IntN(4) {
		case 0:
			tl, args = "replace", fmt.Sprintf(`{"path":%q,"old":%s,"new":%s,"count":%d}`, name, quoteJSON(strings.TrimSpace(pieces[r.IntN(len(pieces))])+[]string{"", "\n"}[r.IntN(2)]), text, r.IntN(2))
			if strings.Contains(args, `"old":""`) || strings.Contains(args, `"old":"\n"`) {
				continue
			}
		case 1:
			tl, args = "insert", fmt.Sprintf(`{"path":%q,"line":%d,"position":%q,"text":%s}`, name, 1+r.IntN(8), []string{"before", "after"}[r.IntN(2)], text)
		case 2:
			tl, args = "write_section", fmt.Sprintf(`{"path":%q,"heading":%q,"content":%s,"keep_subsections":%v}`, name, heading, text, r.IntN(2) == 0)
		case 3:
			tl, args = "replace", fmt.Sprintf(`{"path":%q,"start_line":%d,"new":%s}`, name, 1+r.IntN(8), text)
		}
		res := w.call(tl, args)
		now := w.get(name)
		if f := res.failure(); f != "" {
			failed[f]++
			if now != file {
				t.Fatalf("%s %s failed with %s, and left\n%q instead of\n%q\n%+v", tl, args, f, now, file, res.rollback)
			}
			continue
		}
		verified++
		if want := naive(file, args); want != "" && strings.ReplaceAll(now, "\r\n", "\n") != want {
			t.Fatalf("%s %s on\n%q\n got %q\nwant %q", tl, args, file, now, want)
		}
		doc := res.after.Values["document"].(map[string]any)
		was := res.before.Values["document"].(map[string]any)
		if doc["rest"] != was["rest"] || doc["bom"] != was["bom"] {
			t.Fatalf("%s %s changed more:\n%q\n%q", tl, args, file, now)
		}
		if strings.Contains(file, "\r\n") && !strings.Contains(strings.ReplaceAll(file, "\r\n", ""), "\n") && strings.Contains(strings.ReplaceAll(now, "\r\n", ""), "\n") {
			t.Fatalf("%s %s mixed the line endings:\n%q\n%q", tl, args, file, now)
		}
	}
	if verified < 75 {
		t.Errorf("only %d edits were verified; failed: %v", verified, failed)
	}
	t.Logf("%d verified, failed %v", verified, failed)
}

// naive is what a replacement makes of a text, with a line feed for every line ending; "" for other calls.
func naive(file, args string) string {
	var a struct {
		Old, New *string
		Count    *int
		Start    *int `json:"start_line"`
	}
	if err := json.Unmarshal([]byte(args), &a); err != nil || a.New == nil {
		return ""
	}
	file, marked := strings.CutPrefix(strings.ReplaceAll(file, "\r\n", "\n"), "\uFEFF")
	if marked {
		return "\uFEFF" + naive(file, args)
	}
	if a.Old != nil {
		return strings.ReplaceAll(file, *a.Old, *a.New)
	}
	lines := strings.SplitAfter(file, "\n")
	ended := strings.HasSuffix(lines[*a.Start-1], "\n")
	lines[*a.Start-1] = strings.TrimSuffix(*a.New, "\n")
	if ended {
		lines[*a.Start-1] += "\n"
	}
	return strings.Join(lines, "")
}

func megabyte() string {
	return strings.Repeat("## Heading\n\nSome text with a [link](other.md), `code` and **bold** words that goes on for quite a while, as text does.\n\n```go\nfunc main() {}\n```\n\n- one\n- two\n\n"+
		strings.Repeat("A paragraph of plain words that fills the page. ", 40)+"\n\n", 1<<20/2100)
}

func BenchmarkReplaceInMegabyte(b *testing.B) { benchmarkReplace(b, "f.md", megabyte()) }

func BenchmarkReplaceInMegabyteOfGo(b *testing.B) {
	benchmarkReplace(b, "f.go", "package a\n\n"+strings.Repeat("// f does it.\nfunc f() {\n\tx := \"some text\" // and why\n\t_ = x\n}\n\n", 1<<20/75))
}

// A verified call on a file of 1 MB: place, evidence before, write, evidence after, verdict.
func benchmarkReplace(b *testing.B, name, text string) {
	w := newWorkspace(b, map[string]string{name: "START 0\n" + text})
	b.SetBytes(int64(len(text)))
	for i := 0; b.Loop(); i++ {
		w.call("replace", fmt.Sprintf(`{"path":%q,"start_line":1,"new":"START %d"}`, name, i+1)).ok(b)
	}
}

func BenchmarkReplaceInSmallFile(b *testing.B) { benchmarkReplace(b, "f.md", "# A\n\ntext\n") }

func BenchmarkReadMegabyte(b *testing.B) {
	w := newWorkspace(b, map[string]string{"f.md": megabyte()})
	b.SetBytes(1 << 20)
	for b.Loop() {
		w.call("read", `{"path":"f.md","start_line":100,"end_line":200}`).ok(b)
	}
}

func BenchmarkOutlineMegabyte(b *testing.B) {
	text := megabyte()
	b.SetBytes(int64(len(text)))
	i := 0
	w := newWorkspace(b, map[string]string{"f.md": text})
	for b.Loop() {
		b.StopTimer()
		i++
		x := w.open(document.Options{}) // that remembers nothing
		b.StartTimer()
		w.callWith(x, hooks{}, "outline", `{"path":"f.md"}`).ok(b)
	}
}

// Evidence is bounded, whatever is in the file: what does not fit leaves conditions undecided, and the call itself is verified all the same.
func TestEvidenceIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 1000)
	for name, text := range map[string]string{
		"many sections": strings.Repeat("# "+long[:900]+"\n\n## "+long[:900]+"\n", 1000),
		"a long title":  "# " + strings.Repeat("x", 1<<20) + "\n" + strings.Repeat("## y\n", 900),
		"many links":    strings.Repeat("["+long[:400]+"]("+strings.Repeat("z", 1500)+")\n", 1500),
		"a long line":   strings.Repeat("x", 2<<20),
		"many comments": strings.Repeat("<!-- "+long[:900]+" -->\n\n", 2000),
	} {
		w := newWorkspace(t, map[string]string{"f.md": text, "g.md": text})
		r := w.call("insert", `{"path":"f.md","position":"end","text":"the end"}`, `document.text != "" || document("g.md").text != "" || true`).ok(t)
		if b, _, err := r.after.Encode(); err != nil || len(b) > 4<<20 {
			t.Errorf("%s: %d bytes of evidence (%v)", name, len(b), err)
		}
	}
}
