package dsl

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"goa.design/goa/v3/eval"
)

// pkg begins the names of this package's functions.
const pkg = "toolsvc/toolset/dsl."

// report is eval.ReportError for functions of this package: the place is that of the design which called them. Goa's own knows them by
// their names, but a closure that was inlined into the design has a name of the design, and the line of this package would be told.
func report(format string, args ...any) {
	if e := eval.Context.Stack.Current(); e != nil && e.EvalName() != "" {
		format, args = format+" in %s", append(args, e.EvalName())
	}
	file, line := designPlace()
	eval.Context.Record(&eval.Error{GoError: fmt.Errorf(format, args...), File: file, Line: line})
}

// designPlace is where this package was called from, relative to the working directory; "" when nobody knows.
func designPlace() (file string, line int) {
	_, here, _, _ := runtime.Caller(0)
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); f.File == "" || filepath.Dir(f.File) == filepath.Dir(here) && !strings.HasSuffix(f.File, "_test.go") {
			continue
		}
		if wd, err := os.Getwd(); err == nil {
			if rel, err := filepath.Rel(wd, f.File); err == nil {
				return rel, f.Line
			}
		}
		return f.File, f.Line
	}
	return "", 0
}
