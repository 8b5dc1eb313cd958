package main

import (
	"bytes"
	"context"
	"flag"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/*.golden anew")

// TestGenerates runs the command as Goa does, on a file with comments, an import, a map, an optional field, a oneof and a stream.
func TestGenerates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text, err := os.ReadFile("testdata/echo.proto")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "echo.proto"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := parse([]string{filepath.Join(dir, "echo.proto"), "--proto_path", dir, "--go_out", dir, "--go-grpc_out", dir, "--go_opt=paths=source_relative", "--go-grpc_opt=paths=source_relative"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time over the first
		if err := r.run(context.Background()); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"echo.pb.go", "echo_grpc.pb.go"} {
			got, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := parser.ParseFile(token.NewFileSet(), name, got, 0); err != nil {
				t.Error(err)
			}
			golden := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s differs from %s: look at it, then run go test ./tools/protolite -update", name, golden)
			}
		}
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	r, err := parse([]string{"/p/a/x.proto", "-I", "/other", "--proto_path=/p/a", "--go_out=/out", "--go_opt", "a=b", "--go_opt=c"})
	if err != nil {
		t.Fatal(err)
	}
	want := &request{files: []string{"x.proto"}, imports: []string{"/other", "/p/a"}, plugins: []plugin{{"go", "/out", []string{"a=b", "c"}}}}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("%+v", r)
	}
	for args, want := range map[string]string{
		"":                             "usage",
		"x.proto":                      "usage",
		"--go_out=d":                   "usage",
		"x.proto --go_out":             "--go_out needs a value",
		"x.proto --what=d":             "--what is not known",
		"x.proto --go_opt=a --x_out=d": "--go_opt without --go_out",
	} {
		if _, err := parse(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestMistakesAreNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "bad.proto")
	if err := os.WriteFile(path, []byte("syntax = \"proto3\";\nmessage A { B b = 1; }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := &request{files: []string{"bad.proto"}, imports: []string{dir}, plugins: []plugin{{name: "go", out: dir}}}
	if err := r.run(context.Background()); err == nil || !strings.Contains(err.Error(), "bad.proto:2:13") {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(path, []byte("syntax = \"proto3\";\nmessage A {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.run(context.Background()); err == nil || !strings.Contains(err.Error(), "protoc-gen-go") {
		t.Errorf("without go_package: %v", err)
	}
	r.plugins[0].name = "nothing-of-the-kind"
	if err := r.run(context.Background()); err == nil || !strings.Contains(err.Error(), "go tool protoc-gen-nothing-of-the-kind") {
		t.Errorf("without the plugin: %v", err)
	}
}
