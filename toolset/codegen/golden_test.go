package codegen_test

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"goa.design/goa/v3/codegen/generator"

	"toolsvc/toolset/codegen/internal/binding"
	"toolsvc/toolset/codegen/internal/kitchensink"
	"toolsvc/toolset/codegen/internal/peers"
	"toolsvc/toolset/internal/designtest"
)

var update = flag.Bool("update", false, "write the committed generated code anew")

// golden are the designs whose generated code is kept. It is compiled into the tests of this package, so code that does not compile
// fails before any test runs.
var golden = []struct {
	dir, genpkg string
	design      func()
	goa         []generator.Genfunc // what of Goa's own code is kept beside it
	keep        []string
}{
	{dir: "internal/binding", genpkg: binding.GenPackage, design: binding.Design, goa: []generator.Genfunc{generator.Service},
		keep: []string{"gen/orders/service.go", "gen/orders/client.go", "gen/stock/service.go", "gen/stock/client.go"}},
	{dir: "internal/kitchensink", genpkg: kitchensink.GenPackage, design: kitchensink.Design},
	{dir: "internal/peers", genpkg: peers.GenPackage, design: peers.Design, goa: []generator.Genfunc{generator.Service, generator.Transport},
		keep: []string{"gen/forms/service.go", "gen/http/forms/server/types.go", "gen/http/forms/server/encode_decode.go"}},
}

func TestGeneratedCodeIsAsCommitted(t *testing.T) {
	for _, g := range golden {
		if err := designtest.Eval(g.design); err != nil {
			t.Fatalf("evaluate the design:\n%v", err)
		}
		tmp := t.TempDir()
		paths, err := designtest.Generate(g.genpkg, tmp, func(path string) bool { return slices.Contains(g.keep, path) }, g.goa...)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			write(t, g.dir, tmp, paths)
		}
		compare(t, g.dir, tmp, paths)
	}
}

// write replaces dir/gen by what stands in tmp.
func write(t *testing.T, dir, tmp string, paths []string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(dir, "gen")); err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		text, err := os.ReadFile(filepath.Join(tmp, p))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, p)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// compare reports the files of dir/gen that differ from those in tmp, or are not there.
func compare(t *testing.T, dir, tmp string, paths []string) {
	t.Helper()
	const mend = "look at the difference, then run go test ./toolset/codegen -update"
	for _, p := range paths {
		got, err := os.ReadFile(filepath.Join(tmp, p))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, p)
		if want, err := os.ReadFile(path); err != nil {
			t.Errorf("%v: %s", err, mend)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s differs from what is generated: %s", path, mend)
		}
	}
	err := filepath.WalkDir(filepath.Join(dir, "gen"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err == nil && !slices.Contains(paths, filepath.ToSlash(rel)) {
			t.Errorf("%s is not generated any more: %s", path, mend)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestGenerationIsDeterministic(t *testing.T) {
	generate := func() map[string][]byte {
		if err := designtest.Eval(kitchensink.Design); err != nil {
			t.Fatalf("evaluate the design:\n%v", err)
		}
		dir := t.TempDir()
		paths, err := designtest.Generate(kitchensink.GenPackage, dir, nil)
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
