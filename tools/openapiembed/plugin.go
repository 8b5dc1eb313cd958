// Package openapiembed is a Goa plugin: it puts the OpenAPI description that Goa generates into a Go package, gen/openapi, so that the
// server can carry it in its binary. Of the four files that Goa writes (OpenAPI 2 and 3, JSON and YAML) it keeps OpenAPI 3 as JSON.
// The design imports it for its side effect.
package openapiembed

import (
	"fmt"
	"path/filepath"
	"strings"

	"goa.design/goa/v3/codegen"
	"goa.design/goa/v3/eval"
)

func init() {
	codegen.RegisterPlugin("openapiembed", "gen", nil, embed)
}

// embed moves gen/http/openapi3.json to gen/openapi/openapi.json, drops the other descriptions, and adds the package that embeds it.
func embed(_ string, _ []eval.Root, files []*codegen.File) ([]*codegen.File, error) {
	var kept []*codegen.File
	found := false
	for _, f := range files {
		switch {
		case f.Path == filepath.Join(codegen.Gendir, "http", "openapi3.json"):
			f.Path = filepath.Join(codegen.Gendir, "openapi", "openapi.json")
			found = true
		case strings.HasPrefix(f.Path, filepath.Join(codegen.Gendir, "http", "openapi")):
			continue
		}
		kept = append(kept, f)
	}
	if !found {
		return nil, fmt.Errorf("openapiembed: Goa generated no openapi3.json")
	}
	return append(kept, &codegen.File{
		Path: filepath.Join(codegen.Gendir, "openapi", "openapi.go"),
		SectionTemplates: []*codegen.SectionTemplate{
			codegen.Header("OpenAPI description", "openapi", []*codegen.ImportSpec{{Name: "_", Path: "embed"}}),
			{Name: "openapi-embed", Source: "// JSON is the OpenAPI 3 description of the HTTP surface, as Goa generates it.\n//\n//go:embed openapi.json\nvar JSON []byte\n"},
		},
	}), nil
}
