package pipeline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolsvc/planner"
	"toolsvc/tool"
)

// The tests of examples/vet are here, because a second package with a Temporal of its own would double the memory and the minutes.

// go vet finds a problem, a document tool mends it, go vet verifies it. A mending that go vet does not accept, or that does not compile, is taken
// back, and the result says what go vet said.
func TestVet(t *testing.T) {
	const file = "/main.go"
	vet := filepath.Join("..", "vet")
	for _, c := range []struct {
		name, mending string
		says          []string // of the failure; nil when it succeeds
	}{
		{"the right one", "", nil},
		{"one that go vet does not accept", `fmt.Printf("%d books\n", shelf[0])`, []string{"step 2 (terminal.run) failed", "exit_code"}},
		{"one that does not compile", `fmt.Printf("%d books\n", shelves)`, []string{"step 2 (terminal.run) failed", "exit_code"}},
		{"one that has a syntax error", `fmt.Printf("%d books\n", len(shelf)`, []string{"still_compiles"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			emptied(t)
			if err := os.CopyFS(folder, os.DirFS(filepath.Join(vet, "start"))); err != nil {
				t.Fatal(err)
			}
			before := tree(t)
			f, err := os.Open(filepath.Join(vet, "plan.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close() //nolint:errcheck // it was only read
			plan, err := planner.ParsePlan(f)
			if err != nil {
				t.Fatal(err)
			}
			var vars map[string]string
			if c.mending != "" {
				vars = map[string]string{"new": c.mending}
			}
			st := finished(t, plan, vars, "")
			if c.says == nil {
				if !st.Succeeded() {
					t.Fatalf("it ended as %s: %s", statuses(st), why(st))
				}
				if text := tree(t)[file]; text != strings.Replace(before[file], ", shelf)", ", len(shelf))", 1) {
					t.Errorf("the file is\n%s", text)
				}
				return
			}
			if statuses(st) != "verified failed" {
				t.Fatalf("it ended as %s: %s", statuses(st), why(st))
			}
			same(t, before, tree(t))
			r := st.Steps[1].Result
			if r.Error.Code != tool.PostconditionFailed || len(r.Attempts) != 1 || !r.Attempts[0].RolledBack {
				t.Errorf("it came to %+v, %+v", r.Error, r.Attempts)
			}
			for _, s := range c.says {
				if !strings.Contains(r.Error.Message, s) {
					t.Errorf("the result does not say %q: %s", s, r.Error.Message)
				}
			}
		})
	}
}
