// Package codegen is the plugin of Goa's generator that writes gen/toolsets: for each toolset a package with typed payloads and
// results, strict codecs, specs with closed JSON Schema and an example, and a typed client; for one whose tools are bound to methods
// of Goa services also an executor; and a registry of all tools.
//
// It generates from the resolved types of package shape, which package expr has checked, so it meets no mistake of the design. The
// same design gives the same bytes.
package codegen

import (
	"path"
	"path/filepath"

	"goa.design/goa/v3/codegen"
	"goa.design/goa/v3/eval"

	"toolsvc/toolset/expr"
)

// runtimePath is the package that generated code calls.
const runtimePath = "toolsvc/tool"

func init() { codegen.RegisterPlugin("toolset", "gen", nil, Generate) }

// Generate adds the files of all toolsets to those of Goa. genpkg is the import path of the gen folder.
func Generate(genpkg string, _ []eval.Root, files []*codegen.File) ([]*codegen.File, error) {
	if len(expr.Root.Toolsets) == 0 {
		return files, nil
	}
	dir := filepath.Join(codegen.Gendir, "toolsets")
	for _, ts := range expr.Root.Toolsets {
		for _, f := range toolsetFiles(ts) {
			files = append(files, f.file(filepath.Join(dir, ts.Name), ts.Name))
		}
		if ts.Bound() {
			files = append(files, executorFile(genpkg, ts).file(filepath.Join(dir, ts.Name, "executor"), "executor"))
		}
	}
	registry := registryFile(path.Join(genpkg, "toolsets"), expr.Root.Toolsets)
	return append(files, registry.file(dir, "toolsets")), nil
}

// source is a Go file without its header. Goa adds the header, removes unused imports and formats.
type source struct {
	name, title string
	imports     []*codegen.ImportSpec
	body        string
}

func (s source) file(dir, pkg string) *codegen.File {
	imports := append([]*codegen.ImportSpec{
		codegen.SimpleImport("context"),
		codegen.SimpleImport("encoding/json"),
		codegen.SimpleImport("sync"),
		codegen.SimpleImport("time"),
		codegen.SimpleImport(runtimePath),
	}, s.imports...)
	return &codegen.File{
		Path: filepath.Join(dir, s.name),
		SectionTemplates: []*codegen.SectionTemplate{
			codegen.Header(s.title, pkg, imports),
			{Name: "toolset-" + s.name, Source: "{{ . }}", Data: s.body},
		},
	}
}

func toolsetFiles(ts *expr.ToolsetExpr) []source {
	return []source{
		{name: "types.go", title: ts.Name + " toolset: payloads, results and their types", body: types(ts)},
		{name: "decode.go", title: ts.Name + " toolset: decoders", body: decoders(ts)},
		{name: "encode.go", title: ts.Name + " toolset: encoders", body: encoders(ts)},
		{name: "rules.go", title: ts.Name + " toolset: what values must keep", body: rules(ts)},
		{name: "specs.go", title: ts.Name + " toolset: specs", body: specs(ts)},
		{name: "client.go", title: ts.Name + " toolset: client", body: client(ts)},
	}
}
