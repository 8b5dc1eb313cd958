package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"goa.design/goa/v3/codegen"
	"goa.design/goa/v3/eval"

	toolsetgen "toolsvc/toolset/codegen"
)

// TestToolsetsAreAsGenerated holds that gen/toolsets is what the design says. The rest of gen/ needs the go command and the plugins of
// protoc; there `make gen` and `git diff` tell.
func TestToolsetsAreAsGenerated(t *testing.T) {
	if len(eval.Context.Errors) > 0 {
		t.Fatal(eval.Context.Errors)
	}
	if err := eval.RunDSL(); err != nil {
		t.Fatal(err)
	}
	saved := os.Args
	os.Args = commandLine()
	t.Cleanup(func() { os.Args = saved })
	codegen.DesignVersion = 3
	files, err := toolsetgen.Generate("toolsvc/gen", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var generated []string
	for _, f := range files {
		path, err := f.Render(dir)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		committed := filepath.Join("..", "..", f.Path)
		generated = append(generated, committed)
		if want, err := os.ReadFile(committed); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the design says: run make gen (%v)", f.Path, err)
		}
	}
	kept, err := read(filepath.Join("..", "..", codegen.Gendir, "toolsets"))
	if err != nil {
		t.Fatal(err)
	}
	for path := range kept {
		if !slices.Contains(generated, path) {
			t.Errorf("%s is not generated any more: run make gen", path)
		}
	}
}

func TestGenIsReplacedOrLeft(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "gen")
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if files, err := read(dir); err != nil || len(files) != 0 {
		t.Fatalf("nothing generated yet: %v %v", files, err)
	}
	kept, old := write("a/kept.go", "old"), write("b/c/old.go", "old")
	proto, pb, grpc := write("p/x.proto", "old"), write("p/x.pb.go", "old"), write("p/x_grpc.pb.go", "old")
	before, err := read(dir)
	if err != nil || len(before) != 5 {
		t.Fatal(before, err)
	}
	// A generation that failed half-way.
	write("a/kept.go", "new")
	added := write("d/added.go", "new")
	if err := os.Remove(old); err != nil {
		t.Fatal(err)
	}
	if err := restore(dir, before); err != nil {
		t.Fatal(err)
	}
	now, err := read(dir)
	if err != nil || len(now) != 5 || string(now[kept]) != "old" || string(now[old]) != "old" {
		t.Errorf("not as before: %q %v", now, err)
	}
	// One that succeeded.
	write("a/kept.go", "new")
	write("d/added.go", "new")
	if err := clean(dir, before, []string{kept, added, proto}); err != nil {
		t.Fatal(err)
	}
	now, err = read(dir)
	if err != nil || len(now) != 5 || now[old] != nil || string(now[kept]) != "new" || now[added] == nil || now[pb] == nil || now[grpc] == nil {
		t.Errorf("not as generated: %q %v", now, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "b")); !os.IsNotExist(err) {
		t.Error("an empty folder is left")
	}
}
