// Package designtest evaluates designs in tests, several in one process. It is not safe for concurrent use, because Goa keeps a
// design in global variables.
package designtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"goa.design/goa/v3/codegen"
	"goa.design/goa/v3/codegen/generator"
	"goa.design/goa/v3/eval"
	goaexpr "goa.design/goa/v3/expr"

	toolsetgen "toolsvc/toolset/codegen"
	"toolsvc/toolset/expr"
)

// Eval evaluates a design, of which nothing was evaluated before, and returns its mistakes.
func Eval(design func()) error {
	eval.Reset()
	goaexpr.Root = new(goaexpr.RootExpr)
	goaexpr.GeneratedResultTypes = new(goaexpr.ResultTypesRoot)
	if err := errors.Join(eval.Register(goaexpr.Root), eval.Register(goaexpr.GeneratedResultTypes), expr.Reset()); err != nil {
		return err
	}
	goaexpr.Root.API = goaexpr.NewAPIExpr("test", func() {})
	goaexpr.Root.API.Servers = []*goaexpr.ServerExpr{goaexpr.Root.API.DefaultServer()}
	eval.Execute(design, nil)
	if len(eval.Context.Errors) > 0 {
		return eval.Context.Errors
	}
	return eval.RunDSL()
}

// Generate writes what the toolset plugin generates for the evaluated design into dir, and returns the files' paths below it, with
// slashes. genpkg is the import path of dir's gen folder. The functions of Goa's generator that are named run before it, and of their
// files those are written that keep says.
func Generate(genpkg, dir string, keep func(path string) bool, goa ...generator.Genfunc) ([]string, error) {
	codegen.DesignVersion = 3
	saved := os.Args
	os.Args = []string{"goa", "--cmd=$ go test ./toolset/codegen -update"} // what the headers of the files say
	defer func() { os.Args = saved }()
	roots, err := eval.Context.Roots()
	if err != nil {
		return nil, err
	}
	var files []*codegen.File
	for _, f := range goa {
		more, err := f(genpkg, roots)
		if err != nil {
			return nil, err
		}
		files = append(files, slices.DeleteFunc(more, func(f *codegen.File) bool { return !keep(filepath.ToSlash(f.Path)) })...)
	}
	files, err = toolsetgen.Generate(genpkg, roots, files)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, f := range files {
		if _, err := f.Render(dir); err != nil {
			return nil, fmt.Errorf("render %s: %w", f.Path, err)
		}
		paths = append(paths, strings.TrimPrefix(filepath.ToSlash(f.Path), "./"))
	}
	return paths, nil
}
