// Package toolsvc_test keeps the house in order: who may import whom.
package toolsvc_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// layers lists the packages from the top down; a package may import only packages of layers below its own (docs/architecture.md). A
// folder stands for all packages in it.
var layers = [][]string{
	{"cmd"},
	{"bench", "examples"},
	{"deploy"},
	{"stack"},
	{"server", "temporalserver", "telemetry"},
	{"planner"},
	{"executors", "verification", "gemini", "repair", "narration", "store", "temporalclient"},
	{"gen"},
	{"tool"},
}

// designTime is what runs when code is generated; nothing of the running service may import it.
var designTime = []string{"design", "examples/orders/design", "toolset", "tools"}

func TestImportsGoDown(t *testing.T) {
	t.Parallel()
	layerOf := func(pkg string) int {
		for i, l := range layers {
			if slices.ContainsFunc(l, func(dir string) bool { return pkg == dir || strings.HasPrefix(pkg, dir+"/") }) {
				return i
			}
		}
		return -1
	}
	in := func(dirs []string, pkg string) bool {
		return slices.ContainsFunc(dirs, func(d string) bool { return pkg == d || strings.HasPrefix(pkg, d+"/") })
	}
	seen := 0
	for pkg, imports := range ourImports(t) {
		if pkg == "." || in(designTime, pkg) {
			continue
		}
		from := layerOf(pkg)
		if from < 0 {
			t.Errorf("package %s is in no layer: say in architecture_test.go where it belongs", pkg)
			continue
		}
		for _, imp := range imports {
			seen++
			switch to := layerOf(imp); {
			case in(designTime, imp):
				t.Errorf("%s imports %s, which exists only when code is generated", pkg, imp)
			case to < from, to == from && unit(imp) != unit(pkg):
				t.Errorf("%s imports %s: imports go down the layers only", pkg, imp)
			}
		}
	}
	if seen < 20 {
		t.Fatalf("only %d imports were looked at: this test no longer sees the code", seen)
	}
}

// unit is the part of a layer that may import itself: executors/browser, store, …
func unit(pkg string) string {
	parts := strings.Split(pkg, "/")
	if parts[0] == "executors" && len(parts) > 1 {
		return strings.Join(parts[:2], "/")
	}
	return parts[0]
}

// ourImports lists, for every package outside of tests, what it imports of ours.
func ourImports(t *testing.T) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != "." || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(filepath.Dir(path))
		for _, spec := range f.Imports {
			if imp, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), "toolsvc/"); ours && !slices.Contains(imports[pkg], imp) {
				imports[pkg] = append(imports[pkg], imp)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return imports
}

// What is generated from a design is never written by hand: every file says so.
func TestGenIsGenerated(t *testing.T) {
	t.Parallel()
	files := 0
	err := filepath.WalkDir("gen", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		files++
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		if len(f.Comments) == 0 || !strings.Contains(f.Comments[0].Text(), "DO NOT EDIT") {
			t.Errorf("%s does not say that it is generated", path)
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Fatalf("%d files, %v", files, err)
	}
}
