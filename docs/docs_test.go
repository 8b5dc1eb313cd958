// Package docs_test keeps the documentation true: links lead somewhere, plans and payloads are valid, what is quoted is what stands in the
// repository, and every command and every block is executed (blocks_test.go says which, run_test.go how).
//
// go test ./docs -update writes quotations and the table of limits anew.
package docs_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"toolsvc/gen/toolsets"
	"toolsvc/planner"
	"toolsvc/tool"
)

var update = flag.Bool("update", false, "write quotations and the table of limits anew")

// page is one file of the documentation. Its name is its path from the root of the repository, with slashes.
type page struct {
	name     string
	lines    []string
	blocks   []block
	anchors  []string
	links    []link
	comments map[int]string // the text of comments that stand alone on a line, by the index of the line
}

// block is what stands between two fences. Its text is lines[from:to] of the page.
type block struct {
	language string
	from, to int
}

type link struct {
	line   int // from 1
	target string
}

func (p *page) text(b block) string { return strings.Join(p.lines[b.from:b.to], "\n") }

var (
	inlineCode = regexp.MustCompile("(`+)[^`]+`+")
	anyLink    = regexp.MustCompile(`\[[^\]]*\]\(([^()\s]+)\)`)
	heading    = regexp.MustCompile(`^#{1,6} +(.*?)\s*$`)
	comment    = regexp.MustCompile(`^<!-- (.*) -->$`)
)

// read takes a page apart.
func read(name, text string) *page {
	p := &page{name: name, lines: strings.Split(text, "\n"), comments: map[int]string{}}
	open := -1
	for i, line := range p.lines {
		if fence, ok := strings.CutPrefix(strings.TrimSpace(line), "```"); ok {
			if open < 0 {
				p.blocks = append(p.blocks, block{language: fence, from: i + 1, to: len(p.lines)})
				open = len(p.blocks) - 1
			} else {
				p.blocks[open].to = i
				open = -1
			}
			continue
		}
		if open >= 0 {
			continue
		}
		if m := heading.FindStringSubmatch(line); m != nil {
			p.anchors = append(p.anchors, anchor(m[1], p.anchors))
		}
		if m := comment.FindStringSubmatch(line); m != nil {
			p.comments[i] = m[1]
		}
		for _, m := range anyLink.FindAllStringSubmatch(inlineCode.ReplaceAllString(line, "code"), -1) {
			p.links = append(p.links, link{i + 1, m[1]})
		}
	}
	return p
}

// anchor is the fragment that GitHub gives a heading, beside those that the page has already.
func anchor(heading string, others []string) string {
	a := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '_', r == '-':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, heading)
	for n, unique := 1, a; ; n++ {
		if !slices.Contains(others, unique) {
			return unique
		}
		unique = fmt.Sprintf("%s-%d", a, n)
	}
}

const root = ".."

// pages reads all of the documentation.
func pages(t *testing.T) map[string]*page {
	t.Helper()
	all := map[string]*page{}
	add := func(name string) {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = read(name, string(text))
	}
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "examples/document-pipeline/README.md"} {
		add(name)
	}
	err := fs.WalkDir(os.DirFS(root), "docs", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "testdata" {
			return fs.SkipDir
		}
		if err == nil && !d.IsDir() && strings.HasSuffix(name, ".md") {
			add(name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Every relative link leads to a file of the repository, and every fragment to a heading. Every page can be reached from the README.
func TestLinks(t *testing.T) {
	t.Parallel()
	all := pages(t)
	seen := 0
	leads := map[string][]string{}
	for name, p := range all {
		for _, l := range p.links {
			u, err := url.Parse(l.target)
			if err != nil {
				t.Errorf("%s:%d: %v", name, l.line, err)
				continue
			}
			if u.Scheme != "" {
				continue
			}
			seen++
			to := name
			if u.Path != "" {
				to = path.Join(path.Dir(name), u.Path)
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(to))); err != nil || strings.HasPrefix(to, "..") {
				t.Errorf("%s:%d: %s leads to no file of the repository", name, l.line, l.target)
				continue
			}
			leads[name] = append(leads[name], to)
			if u.Fragment == "" {
				continue
			}
			if dest := all[to]; dest == nil || !slices.Contains(dest.anchors, u.Fragment) {
				t.Errorf("%s:%d: %s leads to no heading", name, l.line, l.target)
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d links were found: this test no longer sees the documentation", seen)
	}
	reached := map[string]bool{}
	var walk func(string)
	walk = func(name string) {
		if !reached[name] {
			reached[name] = true
			for _, to := range leads[name] {
				walk(to)
			}
		}
	}
	walk("README.md")
	for name := range all {
		if !reached[name] {
			t.Errorf("no link leads from the README to %s", name)
		}
	}
}

func TestJSONIsValid(t *testing.T) {
	t.Parallel()
	seen := 0
	for name, p := range pages(t) {
		for _, b := range p.blocks {
			if b.language != "json" {
				continue
			}
			seen++
			var v any
			if err := json.Unmarshal([]byte(p.text(b)), &v); err != nil {
				t.Errorf("%s:%d: %v", name, b.from, err)
			}
		}
	}
	if seen < 3 {
		t.Errorf("only %d blocks of JSON were found", seen)
	}
}

// service checks plans and payloads. It starts nothing.
func service() *planner.Service { return &planner.Service{Registry: toolsets.Registry()} }

// Every plan can be run as it stands: its steps, their arguments and their expectations are valid.
func TestPlansAreValid(t *testing.T) {
	t.Parallel()
	seen := 0
	for name, p := range pages(t) {
		for _, b := range p.blocks {
			if b.language != "yaml" || !regexp.MustCompile(`(?m)^(steps|stages):`).MatchString(p.text(b)) {
				continue
			}
			seen++
			if err := checkPlan(p.text(b)); err != nil {
				t.Errorf("%s:%d: %v", name, b.from, err)
			}
		}
	}
	if seen == 0 {
		t.Error("no plan was found")
	}
}

func checkPlan(text string) error {
	plan, err := planner.ParsePlan(strings.NewReader(text))
	if err != nil {
		return err
	}
	if len(plan.Stages) > 0 {
		_, err = service().PreparePipeline(plan, nil, "en", "")
	} else {
		var reqs []tool.Request
		if reqs, err = plan.Requests(nil); err != nil {
			return err
		}
		_, err = service().PreparePlan(plan, reqs, "en")
	}
	var bad *planner.PlanError
	if errors.As(err, &bad) {
		return errors.New(strings.Join(bad.Lines("plan"), "\n"))
	}
	return err
}

var post = regexp.MustCompile(`/v1/tools/([a-z_.]+)(?:\?[^' ]*)?'? -d '([^']*)'`)

// httpPage is the reference of HTTP, whose commands test/http runs.
const httpPage = "docs/reference/http.md"

// Every call over HTTP that is shown has a payload that the tool accepts. Those of the tutorial, to a tool of its own, and those of the
// reference of HTTP are made by tests of their own.
func TestCallsOverHTTPAreValid(t *testing.T) {
	t.Parallel()
	seen := 0
	for name, p := range pages(t) {
		if name == tutorialPage || name == httpPage {
			continue
		}
		for _, b := range p.blocks {
			if b.language != "sh" {
				continue
			}
			for i, line := range p.lines[b.from:b.to] {
				if !strings.Contains(line, "curl ") {
					continue
				}
				m := post.FindStringSubmatch(line)
				if m == nil {
					if strings.Contains(line, " -d ") {
						t.Errorf("%s:%d: this test does not understand %s", name, b.from+i+1, line)
					}
					continue
				}
				seen++
				_, rejected, err := service().Prepare(tool.Request{CallID: "c_1", Tool: tool.ID(m[1]), Arguments: []byte(m[2])}, "en")
				if err == nil && rejected != nil {
					err = rejected.RetryHint.Fields().Issues
				}
				if err != nil {
					t.Errorf("%s:%d: %v", name, b.from+i+1, err)
				}
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d calls were found", seen)
	}
}

// Quotations, announced by the comment "from FILE" before a block, are what stands in the file; of Go, what stands between the lines
// "// page:begin" and "// page:end".
func TestQuotations(t *testing.T) {
	all := pages(t)
	seen := 0
	for _, name := range slices.Sorted(mapKeys(all)) {
		p := all[name]
		for i := len(p.blocks) - 1; i >= 0; i-- { // from the end, so that a block that grows moves none that follows
			b := p.blocks[i]
			file, ok := strings.CutPrefix(p.comments[b.from-2], "from ")
			if !ok {
				continue
			}
			seen++
			want, err := quotation(file)
			if err != nil {
				t.Errorf("%s:%d: %v", name, b.from, err)
				continue
			}
			if p.text(b) == want {
				continue
			}
			if !*update {
				t.Errorf("%s:%d is not what %s says: look at the difference, then go test ./docs -update", name, b.from, file)
				continue
			}
			p.lines = slices.Concat(p.lines[:b.from], strings.Split(want, "\n"), p.lines[b.to:])
			write(t, p)
		}
	}
	if seen == 0 {
		t.Errorf("only %d quotations were found", seen)
	}
}

func mapKeys(all map[string]*page) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name := range all {
			if !yield(name) {
				return
			}
		}
	}
}

func write(t *testing.T, p *page) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(p.name)), []byte(strings.Join(p.lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
}

func quotation(file string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		return "", err
	}
	s := strings.TrimRight(string(text), "\n")
	if !strings.HasSuffix(file, ".go") {
		return s, nil
	}
	_, s, begins := strings.Cut(s, "// page:begin\n")
	s, _, ends := strings.Cut(s, "// page:end")
	if !begins || !ends {
		return "", fmt.Errorf("%s has no lines page:begin and page:end", file)
	}
	lines := strings.Split(strings.TrimRight(s, "\n\t"), "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "\t")
	}
	return strings.Join(lines, "\n"), nil
}

func TestAnchors(t *testing.T) {
	t.Parallel()
	p := read("x.md", "# A b-c\n```\n# no heading\n[no](link)\n```\n## browser.wait_for\n## A b-c\n`[no](link)` [yes](to.md#x) <!-- no -->\n<!-- from x -->")
	if want := []string{"a-b-c", "browserwait_for", "a-b-c-1"}; !slices.Equal(p.anchors, want) {
		t.Errorf("anchors %q, want %q", p.anchors, want)
	}
	if len(p.links) != 1 || p.links[0] != (link{8, "to.md#x"}) || len(p.comments) != 1 || p.comments[8] != "from x" || len(p.blocks) != 1 || p.blocks[0] != (block{"", 2, 4}) {
		t.Errorf("%+v", p)
	}
}
