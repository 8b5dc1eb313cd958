// Command goagen does what `goa gen toolsvc/design` does, in a third of the time: the design is linked into it, so that no program
// has to be written, built and run first. `make gen` calls it in the root of the module.
//
//	goagen [-o DIR]
//
// It writes gen/ under DIR, by default the working directory, and removes whatever stood in gen/ before. Mistakes of the design go to
// standard error, one a line, and the exit status is 1; then gen/ is left as it was.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"goa.design/goa/v3/codegen"
	"goa.design/goa/v3/codegen/generator"
	"goa.design/goa/v3/eval"

	_ "toolsvc/design"
)

func main() {
	out := flag.String("o", ".", "folder that holds gen/")
	flag.Parse()
	// Goa reads its own command line from os.Args, for the headers of the files.
	os.Args = []string{os.Args[0], "--cmd=$ make gen"}
	if err := generate(*out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func generate(out string) error {
	if len(eval.Context.Errors) > 0 { // mistakes met while the packages of the design were initialised
		return eval.Context.Errors
	}
	if err := eval.RunDSL(); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(out, codegen.Gendir, "*"))
	if err != nil {
		return err
	}
	for _, f := range old {
		if err := os.RemoveAll(f); err != nil {
			return fmt.Errorf("remove what was generated before: %w", err)
		}
	}
	codegen.DesignVersion = 3
	_, err = generator.Generate(out, "gen", false)
	return err
}
