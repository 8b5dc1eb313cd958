// Command docgen writes docs/reference/tools.md from the registry of tools, so that the reference says what the generated code does.
// `make gen` runs it in the root of the module, after the code was generated. The same registry gives the same bytes; a test of this
// package fails when the committed page is another one.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"toolsvc/gen/toolsets"
)

// page is where the reference of tools stands, from the root of the module.
var page = filepath.Join("docs", "reference", "tools.md")

func main() {
	text, err := render(toolsets.Registry())
	if err == nil {
		err = os.WriteFile(page, text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
		os.Exit(1)
	}
}
