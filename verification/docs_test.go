package verification_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"toolsvc/tool"
	"toolsvc/verification"
)

const reference = "../docs/reference/conditions.md"

// Every example of the reference compiles, alone and together, and its JSON is what a caller would see.
func TestReferenceExamples(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	var examples []string
	for _, block := range regexp.MustCompile("(?s)```cel\n(.*?)```").FindAllStringSubmatch(page, -1) {
		examples = append(examples, strings.Split(strings.TrimSpace(block[1]), "\n")...)
	}
	if len(examples) < 15 {
		t.Fatalf("found %d examples", len(examples))
	}
	for _, e := range examples {
		if _, issues := verification.Compile(fullSpec(), json.RawMessage(fullArgs), []string{e}); issues != nil {
			t.Errorf("%s: %v", e, issues)
		}
	}
	var call struct{ Expect []string }
	block := regexp.MustCompile("(?s)```json\n(.*?)```").FindStringSubmatch(page)
	if err := json.Unmarshal([]byte(block[1]), &call); err != nil || len(call.Expect) == 0 {
		t.Fatalf("the first example of a call: %v", err)
	}
	if _, issues := verification.Compile(fullSpec(), json.RawMessage(fullArgs), call.Expect); issues != nil {
		t.Error(issues)
	}
	block = regexp.MustCompile("(?s)```json\n(\\{\"path\".*?)```").FindStringSubmatch(page)
	var want tool.Issue
	if err := json.Unmarshal([]byte(block[1]), &want); err != nil {
		t.Fatal(err)
	}
	_, issues := verification.Compile(fullSpec(), json.RawMessage(fullArgs), []string{want.Got})
	if len(issues) != 1 || fmt.Sprint(issues[0]) != fmt.Sprint(want) {
		t.Errorf("got %+v\nwant %+v", issues, want)
	}
}

// The verdicts that the reference tells of are the real ones.
func TestReferenceVerdicts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?m)^- `(.*?)` (passes|is undecided)").FindAllStringSubmatch(string(text), -1)
	if len(found) != 3 {
		t.Fatalf("found %d verdicts", len(found))
	}
	for _, f := range found {
		want := map[string]string{"passes": "passed", "is undecided": "undecided"}[f[2]]
		if got := outcome(judge(t, f[1])); got != want {
			t.Errorf("%s: %s, the reference says %s", f[1], got, f[2])
		}
	}
}

// The functions and the fields that the reference names exist.
func TestReferenceNames(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, section := range []struct{ title, of string }{{"**`page`**", "page"}, {"**`target`** and", "target"}, {"**`effect`**", "effect"},
		{"**`document`** and", "document"}, {"**`document.sections`** and", `document.section("x")`}} {
		_, rest, ok := strings.Cut(page, section.title)
		if !ok {
			t.Fatalf("there is no %s", section.title)
		}
		_, rest, _ = strings.Cut(rest, "|---|---|---|\n")
		rows, _, _ := strings.Cut(rest, "\n\n")
		var documented []string
		for _, row := range strings.Split(rows, "\n") {
			for _, name := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(strings.Split(row, "|")[1], -1) {
				documented = append(documented, name[1])
			}
		}
		_, issues := verification.Compile(fullSpec(), json.RawMessage(fullArgs), []string{section.of + ".there_is_none == 1"})
		if len(issues) != 1 || len(issues[0].Allowed) != len(documented) {
			t.Fatalf("%s: documented %v, allowed %v", section.of, documented, issues)
		}
		for _, name := range documented {
			if _, issues := verification.Compile(fullSpec(), json.RawMessage(fullArgs), []string{"has(" + section.of + "." + name + ")"}); issues != nil {
				t.Errorf("%s.%s: %v", section.of, name, issues)
			}
		}
	}
	for _, row := range []string{"text", "lists"} {
		line := regexp.MustCompile(`(?m)^\| ` + row + ` \| (.*) \|$`).FindStringSubmatch(page)
		if line == nil {
			t.Fatalf("no row %s", row)
		}
		for _, name := range regexp.MustCompile("`([A-Za-z_]+)`").FindAllStringSubmatch(line[1], -1) {
			_, issues := verification.Compile(fullSpec(), json.RawMessage(fullArgs), []string{"page.title." + name[1] + "(1, 2, 3, 4, 5, 6, 7) == 1"})
			if len(issues) > 0 && strings.Contains(issues[0].Message, "there is no function") {
				t.Errorf("%s: %v", name[1], issues)
			}
		}
	}
}
