// Command goagen does what `goa gen toolsvc/design` does, in a third of the time: the design is linked into it, so that no program
// has to be written, built and run first. `make gen` runs it in the root of the module.
//
// It writes gen/ in the working directory, and removes what is not generated any more. Mistakes of the design go to
// standard error, one a line, and the exit status is 1; then gen/ is left as it was.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"goa.design/goa/v3/codegen"
	"goa.design/goa/v3/codegen/generator"
	"goa.design/goa/v3/eval"

	_ "toolsvc/design"
)

func main() {
	os.Args = commandLine()
	if err := generate(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// commandLine is what Goa reads from os.Args, for the headers of the files.
func commandLine() []string { return []string{"goa", "--cmd=$ make gen"} }

func generate() error {
	if len(eval.Context.Errors) > 0 { // mistakes met while the packages of the design were initialised
		return eval.Context.Errors
	}
	if err := eval.RunDSL(); err != nil {
		return err
	}
	before, err := read(codegen.Gendir)
	if err != nil {
		return fmt.Errorf("read what was generated before: %w", err)
	}
	codegen.DesignVersion = 3
	written, err := generator.Generate(".", "gen", false)
	if err != nil {
		return errors.Join(err, restore(codegen.Gendir, before))
	}
	return clean(codegen.Gendir, before, written)
}

// read returns the files below dir, by path.
func read(dir string) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || d.IsDir():
			return err
		}
		files[path], err = os.ReadFile(path)
		return err
	})
	return files, err
}

// restore puts dir back as it was.
func restore(dir string, before map[string][]byte) error {
	now, err := read(dir)
	if err != nil {
		return fmt.Errorf("restore %s: %w", dir, err)
	}
	var errs []error
	for path := range now {
		if _, was := before[path]; !was {
			errs = append(errs, os.Remove(path))
		}
	}
	for path, text := range before {
		if !bytes.Equal(now[path], text) {
			errs = append(errs, os.WriteFile(path, text, 0o644))
		}
	}
	return errors.Join(errs...)
}

// clean removes the files that stood in dir before and were not generated again, and then empty folders. What protoc made of a file
// that was generated was made again with it, though Goa does not say so.
func clean(dir string, before map[string][]byte, written []string) error {
	keep := map[string]bool{}
	for _, path := range written {
		keep[filepath.Clean(path)] = true
		if proto, ok := strings.CutSuffix(path, ".proto"); ok {
			keep[proto+".pb.go"], keep[proto+"_grpc.pb.go"] = true, true
		}
	}
	var errs []error
	for path := range before {
		if keep[filepath.Clean(path)] {
			continue
		}
		errs = append(errs, os.Remove(path))
		for d := filepath.Dir(path); d != dir; d = filepath.Dir(d) {
			if os.Remove(d) != nil { // it is not empty
				break
			}
		}
	}
	return errors.Join(errs...)
}
