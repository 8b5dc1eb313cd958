package codegen_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"toolsvc/toolset/codegen/internal/designtest"
	"toolsvc/toolset/codegen/internal/kitchensink"
)

var update = flag.Bool("update", false, "write the generated code of the kitchen sink anew")

// golden is where the generated code of the kitchen sink is kept. It is compiled into the tests of this package, so code that does
// not compile fails before any test runs.
const golden = "internal/kitchensink"

func TestGeneratedCodeIsAsCommitted(t *testing.T) {
	if err := designtest.Eval(kitchensink.Design); err != nil {
		t.Fatalf("evaluate the design:\n%v", err)
	}
	dir := t.TempDir()
	paths, err := designtest.Generate(kitchensink.GenPackage, dir)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.RemoveAll(filepath.Join(golden, "gen")); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range paths {
		got, err := os.ReadFile(filepath.Join(dir, p))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(golden, p)
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Errorf("%v: run go test ./toolset/codegen -update", err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s differs from what is generated: look at it, then run go test ./toolset/codegen -update", path)
		}
	}
	kept, err := filepath.Glob(filepath.Join(golden, "gen/toolsets/*/*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range kept {
		rel, err := filepath.Rel(golden, path)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(paths, filepath.ToSlash(rel)) {
			t.Errorf("%s is not generated any more", path)
		}
	}
}

func TestGenerationIsDeterministic(t *testing.T) {
	generate := func() map[string][]byte {
		if err := designtest.Eval(kitchensink.Design); err != nil {
			t.Fatalf("evaluate the design:\n%v", err)
		}
		dir := t.TempDir()
		paths, err := designtest.Generate(kitchensink.GenPackage, dir)
		if err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{}
		for _, p := range paths {
			if files[p], err = os.ReadFile(filepath.Join(dir, p)); err != nil {
				t.Fatal(err)
			}
		}
		return files
	}
	first := generate()
	if len(first) < 7 {
		t.Fatalf("only %d files were generated", len(first))
	}
	for range 3 {
		for p, text := range generate() {
			if !bytes.Equal(text, first[p]) {
				t.Errorf("%s changed although the design did not", p)
			}
		}
	}
}
