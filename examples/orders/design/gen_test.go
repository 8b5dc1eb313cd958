package design_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"goa.design/goa/v3/codegen"
	"goa.design/goa/v3/eval"

	_ "toolsvc/examples/orders/design"
	toolsetgen "toolsvc/toolset/codegen"
)

// What is generated for the toolset is what the design says. The rest of gen/ is Goa's own; there go generate and git diff tell.
func TestToolsetIsAsGenerated(t *testing.T) {
	if len(eval.Context.Errors) > 0 {
		t.Fatal(eval.Context.Errors)
	}
	if err := eval.RunDSL(); err != nil {
		t.Fatal(err)
	}
	saved := os.Args
	os.Args = []string{"goa", "--cmd=$ goa gen toolsvc/examples/orders/design"} // what the headers of the files say
	t.Cleanup(func() { os.Args = saved })
	codegen.DesignVersion = 3
	files, err := toolsetgen.Generate("toolsvc/examples/orders/gen", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range files {
		path, err := f.Render(dir)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if want, err := os.ReadFile(filepath.Join("..", f.Path)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the design says: run go generate ./examples/orders (%v)", f.Path, err)
		}
	}
	if len(files) < 8 {
		t.Errorf("only %d files are generated", len(files))
	}
}
