package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// snippet is what is executed at once: a line of a block of shell commands, or a whole block of another language.
type snippet struct {
	page     string
	line     int // from 1
	language string
	text     string
}

func (u snippet) at() string { return fmt.Sprintf("%s:%d", u.page, u.line) }

// command is a line without the comment at its end.
func (u snippet) command() string {
	return strings.TrimSpace(regexp.MustCompile(`\s+# .*$`).ReplaceAllString(u.text, ""))
}

// snippets lists what a page has to be executed.
func (p *page) snippets() (us []snippet) {
	for _, b := range p.blocks {
		if b.language != "sh" {
			us = append(us, snippet{p.name, b.from + 1, b.language, p.text(b)})
			continue
		}
		for i := b.from; i < b.to; i++ {
			if strings.TrimSpace(p.lines[i]) != "" {
				us = append(us, snippet{p.name, i + 1, b.language, strings.TrimSpace(p.lines[i])})
			}
		}
	}
	return us
}

// selection picks snippets: of a page (all when empty), a language (all when empty), whose text begins so.
type selection struct{ page, language, begins string }

func (s selection) has(u snippet) bool {
	return (s.page == "" || s.page == u.page) && (s.language == "" || s.language == u.language) && strings.HasPrefix(u.text, s.begins)
}

// elsewhere lists the snippets that other tests execute, with the file and the name of the test.
var elsewhere = []struct {
	selection
	file, test string
}{
	{selection{page: tutorialPage}, "docs/tutorial_test.go", "TestTutorial"},
	{selection{page: httpPage, language: "sh"}, "test/http/docs_test.go", "TestDocumentedCommandsWork"},
	{selection{page: "docs/reference/conditions.md"}, "verification/docs_test.go", "TestReferenceExamples"},
	{selection{page: "docs/clients/README.md", language: "yaml"}, "cmd/toolsvc/config_test.go", "TestDocumentedConfiguration"},
	{selection{page: "docs/clients/other.md", language: "ts"}, "test/mcp/clients_test.go", "TestTypeScriptClients"},
	{selection{page: "docs/clients/other.md", begins: "npx @modelcontextprotocol/inspector"}, "test/mcp/inspector_test.go", "TestInspector"},
	{selection{page: "docs/declare-a-tool.md", language: "go"}, "docs/docs_test.go", "TestQuotations"}, // all are from files that are compiled
	{selection{page: "examples/document-pipeline/README.md", begins: "stage 2/3"}, "examples/document-pipeline/history_test.go", "TestHistoryIsReadable"},
	{selection{page: "examples/document-pipeline/README.md", begins: "[attempt 2 of 3]"}, "gemini/response_test.go", "TestResponse"},
}

// notHere lists what is not executed, with the reason; what can be checked of it without executing it is checked all the same.
var notHere = []struct {
	selection
	why   string
	check func(*testing.T, snippet)
}{
	{selection{begins: "make test"}, "it is what runs this test", wouldMake},
	{selection{begins: "make race"}, "all tests again, with the race detector: half an hour", wouldMake},
	{selection{begins: "make lint"}, "builds the linter: minutes", wouldMake},
	{selection{begins: "make bench"}, "measures for minutes to hours", wouldMake},
	{selection{begins: "make chaos"}, "kills for hours; go test ./bench/chaos runs six of its rounds", wouldMake},
	{selection{begins: "make topology"}, "runs until Ctrl-C, on a PostgreSQL server; TestSeveralMachines (cmd/toolsvc) starts the same", wouldMake},
	{selection{begins: "go run ./bench/"}, "measures for minutes to hours", wouldRun},
	{selection{begins: "go test ./"}, "a test of its own", wouldTest},
	{selection{page: "docs/several-machines.md", begins: "docker compose"}, "needs a container engine; TestCompose (cmd/toolsvc) loads the file", filesExist},
	{selection{page: "docs/several-machines.md", begins: "kubectl"}, "needs a cluster; TestKubernetes (cmd/toolsvc) checks the manifests", filesExist},
	{selection{begins: "claude mcp add"}, "Claude Code cannot be had here; what it starts or connects to is executed", nil},
	{selection{language: "python"}, "its packages and a model are not here; the syntax is checked, and what it starts is executed", python},
}

// TestBlocks executes every command and every block of the documentation, on one server, in temporary folders, with a real Chromium on local
// pages. What another test executes, and what cannot be executed here, stands in the two lists above; -v shows what was done with each block.
func TestBlocks(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers and a browser; not with -short")
	}
	all := pages(t)
	h := open(t)
	used := map[selection]bool{}
	var ours []snippet
	for _, name := range slices.Sorted(mapKeys(all)) {
	snippets:
		for _, u := range all[name].snippets() {
			for _, e := range elsewhere {
				if e.has(u) {
					used[e.selection] = true
					t.Logf("%s [%s]: by %s in %s", u.at(), u.language, e.test, e.file)
					continue snippets
				}
			}
			for _, n := range notHere {
				if n.has(u) {
					used[n.selection] = true
					t.Logf("%s [%s]: not here: %s", u.at(), u.language, n.why)
					if n.check != nil {
						n.check(t, u)
					}
					continue snippets
				}
			}
			ours = append(ours, u)
		}
	}
	for _, e := range elsewhere {
		if text, err := os.ReadFile(filepath.Join(root, e.file)); err != nil || !strings.Contains(string(text), "func "+e.test+"(") {
			t.Errorf("%s has no %s (%v)", e.file, e.test, err)
		}
		if !used[e.selection] {
			t.Errorf("no block is %+v any more", e.selection)
		}
	}
	for _, n := range notHere {
		if !used[n.selection] {
			t.Errorf("no block is %+v any more", n.selection)
		}
	}
	if len(ours) < 100 {
		t.Errorf("only %d commands and blocks were found: this test no longer sees the documentation", len(ours))
	}
	byPage := map[string][]snippet{}
	for _, u := range ours {
		byPage[u.page] = append(byPage[u.page], u)
	}
	t.Run("pages", func(t *testing.T) { // ends when all of them have, so that the server goes on until then
		for name, us := range byPage {
			t.Run(strings.ReplaceAll(name, "/", ":"), func(t *testing.T) { // so that -run can name it
				t.Parallel()
				s := h.scene(t, name)
				for _, u := range us {
					began := time.Now()
					s.execute(u)
					if t.Failed() {
						return // what follows on a page builds on what came before
					}
					t.Logf("%s [%s]: executed, %s", u.at(), u.language, time.Since(began).Round(100*time.Millisecond))
				}
			})
		}
	})
}

// TestGoIsQuoted: what is shown of Go is compiled, because it stands in a file of the repository, or in the tutorial.
func TestGoIsQuoted(t *testing.T) {
	t.Parallel()
	for name, p := range pages(t) {
		for _, b := range p.blocks {
			if b.language == "go" && name != tutorialPage && !strings.HasPrefix(p.comments[b.from-2], "from ") {
				t.Errorf("%s:%d: nothing compiles this block: write it into a file of the repository, and quote that", name, b.from)
			}
		}
	}
}

// TestInlineCommands checks the commands that stand in sentences: targets of make and tests exist, programs have the flags.
func TestInlineCommands(t *testing.T) {
	t.Parallel()
	seen := 0
	for name, p := range pages(t) {
		if name == "CHANGELOG.md" {
			continue // it tells of what was
		}
		inside := map[int]bool{}
		for _, b := range p.blocks {
			for i := b.from; i < b.to; i++ {
				inside[i] = true
			}
		}
		for i, line := range p.lines {
			if inside[i] {
				continue
			}
			for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(line, -1) {
				u := snippet{name, i + 1, "inline", m[1]}
				switch {
				case strings.ContainsAny(m[1], "…<"):
				case strings.HasPrefix(m[1], "make "):
					seen++
					wouldMake(t, u)
				case strings.HasPrefix(m[1], "go test ./"):
					seen++
					wouldTest(t, u)
				case strings.HasPrefix(m[1], "go run ./"):
					seen++
					wouldRun(t, u)
				}
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d commands were found", seen)
	}
}

// wouldMake: make knows the target, and what it would run has the flags that it is given.
func wouldMake(t *testing.T, u snippet) {
	t.Helper()
	args := strings.Fields(u.command())[1:]
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "…", "x")
	}
	cmd := exec.CommandContext(t.Context(), "make", append([]string{"-n", "-C", root, "--no-print-directory"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "Nothing to be done") {
		t.Errorf("%s: %s: %v\n%s", u.at(), u.command(), err, out)
		return
	}
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "go run ./") {
			wouldRun(t, snippet{u.page, u.line, u.language, line})
		}
	}
}

// wouldRun: the program is there and declares the flags.
func wouldRun(t *testing.T, u snippet) {
	t.Helper()
	words := strings.Fields(u.command())
	dir := filepath.Join(root, filepath.FromSlash(words[2]))
	var known []string
	for _, f := range parse(t, dir, func(name string) bool { return !strings.HasSuffix(name, "_test.go") }) {
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok && fmt.Sprint(sel.X) == "flag" {
					for _, a := range call.Args {
						if lit, ok := a.(*ast.BasicLit); ok && lit.Kind == token.STRING {
							if s, err := strconv.Unquote(lit.Value); err == nil {
								known = append(known, s)
							}
							break
						}
					}
				}
			}
			return true
		})
	}
	flagsKnown(t, u, words[3:], known)
}

// wouldTest: the package is there, and has tests of that name.
func wouldTest(t *testing.T, u snippet) {
	t.Helper()
	words := strings.Fields(u.command())
	dir := filepath.Join(root, filepath.FromSlash(strings.TrimSuffix(words[2], "/...")))
	var names []string
	for _, f := range parse(t, dir, func(name string) bool { return strings.HasSuffix(name, "_test.go") }) {
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				names = append(names, f.Name.Name)
			}
		}
	}
	if len(names) == 0 && !strings.HasSuffix(words[2], "/...") {
		t.Errorf("%s: %s has no tests", u.at(), words[2])
	}
	for i, w := range words {
		if w != "-run" && w != "-bench" || i+1 == len(words) || words[i+1] == "'^$'" || words[i+1] == "XXX" || words[i+1] == "^$" {
			continue
		}
		pattern, _, _ := strings.Cut(strings.Trim(words[i+1], "'"), "/")
		re, err := regexp.Compile(pattern)
		if err != nil {
			t.Errorf("%s: %v", u.at(), err)
			continue
		}
		prefix := map[string]string{"-run": "Test", "-bench": "Benchmark"}[w]
		if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, prefix) && re.MatchString(n) }) {
			t.Errorf("%s: no test of %s is called like %s", u.at(), words[2], pattern)
		}
	}
}

func parse(t *testing.T, dir string, keep func(string) bool) (fs []*ast.File) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Errorf("%v", err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || !keep(e.Name()) {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		fs = append(fs, f)
	}
	return fs
}

func flagsKnown(t *testing.T, u snippet, words, known []string) {
	t.Helper()
	for _, w := range words {
		if !strings.HasPrefix(w, "-") {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimLeft(w, "-"), "=")
		if !slices.Contains(known, name) {
			t.Errorf("%s: %s has no flag -%s; it has %v", u.at(), u.command(), name, known)
		}
	}
}

// filesExist: the files of the repository that a command names are there.
func filesExist(t *testing.T, u snippet) {
	t.Helper()
	for _, w := range append(strings.Fields(u.command()), strings.Fields(strings.TrimPrefix(u.text, u.command()))...) {
		if !strings.HasPrefix(w, "deploy/") || w == "deploy/.env" {
			continue
		}
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(w))); err != nil {
			t.Errorf("%s: %v", u.at(), err)
		}
	}
}

// python checks the syntax, where there is a python3, and executes the program that the block starts.
func python(t *testing.T, u snippet) {
	t.Helper()
	if !strings.Contains(u.text, `"toolsvc"`) || !regexp.MustCompile(`args"?[=:] ?\["mcp"\]`).MatchString(u.text) {
		t.Errorf("%s does not start toolsvc mcp", u.at())
	}
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		t.Logf("%s: its syntax is not checked: %v", u.at(), err)
		return
	}
	cmd := exec.CommandContext(t.Context(), interpreter, "-c", "import ast, sys; ast.parse(sys.stdin.read())")
	cmd.Stdin = strings.NewReader(u.text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", u.at(), err, out)
	}
}
