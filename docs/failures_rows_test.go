package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"toolsvc/tool"
)

// failureRows are the failures that must be injected by a test, by the headings of docs/failure-tests.md. Those of acting on a page are the
// values of an attempt's failure.
var failureRows = map[string][]string{
	"Acting on a page": {string(tool.TargetNotFound), string(tool.WrongTarget), string(tool.AmbiguousTarget), string(tool.Covered), string(tool.Moving), string(tool.Disabled),
		string(tool.NotReady), string(tool.Stale), string(tool.NoEffect), string(tool.VerificationFailed), string(tool.VerificationUncertain), string(tool.FrameGone),
		string(tool.BrowserCrashed)},
	"The service itself": {"worker_killed_before_dispatch", "worker_killed_after_dispatch", "response_lost", "temporal_unreachable", "component_missing", "no_model_key",
		"model_fails", "disk_full"},
}

var (
	failureRow = regexp.MustCompile("^\\| `([a-z_]+)` \\| ([^|]+) \\| ([^|]+) \\|$")
	testsOf    = regexp.MustCompile("^`([a-z0-9/]+)`: (Test\\w+(?:, Test\\w+)*)$")
)

// Every failure has a row, in its section; every row names tests; and each test that is named stands in its package.
func TestFailuresAreInjected(t *testing.T) {
	t.Parallel()
	const name = "docs/failure-tests.md"
	p := pages(t)[name]
	if p == nil {
		t.Fatalf("there is no %s", name)
	}
	found := map[string]map[string]bool{}
	section := ""
	packages := map[string]map[string]bool{}
	for i, line := range p.lines {
		if h, ok := strings.CutPrefix(line, "## "); ok {
			section = h
			found[section] = map[string]bool{}
			continue
		}
		if section == "" || !strings.HasPrefix(line, "| `") {
			continue
		}
		row := failureRow.FindStringSubmatch(line)
		if row == nil {
			t.Errorf("%s:%d: %q is no row of failure, injection and tests", name, i+1, line)
			continue
		}
		if found[section][row[1]] {
			t.Errorf("%s:%d: %s has a row already", name, i+1, row[1])
		}
		found[section][row[1]] = true
		for part := range strings.SplitSeq(row[3], "; ") {
			tests := testsOf.FindStringSubmatch(part)
			if tests == nil {
				t.Errorf("%s:%d: %q names no package and its tests", name, i+1, part)
				continue
			}
			dir := tests[1]
			if packages[dir] == nil {
				packages[dir] = testFunctions(t, dir)
			}
			for test := range strings.SplitSeq(tests[2], ", ") {
				if !packages[dir][test] {
					t.Errorf("%s:%d: there is no %s in %s", name, i+1, test, dir)
				}
			}
		}
	}
	for section, rows := range failureRows {
		for _, row := range rows {
			if !found[section][row] {
				t.Errorf("%s: no row for %s under %q", name, row, section)
			}
			delete(found[section], row)
		}
		for row := range found[section] {
			t.Errorf("%s: the row %s under %q is of no known failure", name, row, section)
		}
	}
}

// testFunctions are the names of the test functions in a folder of the repository.
func testFunctions(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Errorf("there are no tests in %s (%v)", dir, err)
	}
	names := map[string]bool{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Error(err)
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), f, text, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, d := range tree.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				names[fn.Name.Name] = true
			}
		}
	}
	return names
}
