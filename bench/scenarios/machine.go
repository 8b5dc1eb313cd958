package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// machine is the one that the terminal scenario happens on: a workspace with two Go modules, and a bash whose start file injects the faults
// of a session. The start file is outside of the workspace; the faults that are still to come, and those that have landed, are files in the
// home directory of the shell, so that no rollback of the workspace changes them.
type machine struct {
	dir string
}

// What the module holds, what it must hold in the end, what go vet finds in it, and what the finding is reported as.
const (
	brokenSource = "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tlamps := 12\n\tfmt.Printf(\"%s lamps are lit\\n\", lamps)\n}\n"
	finding      = "fmt.Printf format %s has arg lamps of wrong type int"
	reportText   = "go vet found in main.go, and it is fixed: " + finding + "\n"
	otherSource  = "package main\n\nfunc main() {}\n"
)

var fixedSource = strings.Replace(brokenSource, "%s lamps", "%d lamps", 1)

// wrapper stands for bash: an interactive shell reads the machine's start file after the one that it was given.
const wrapper = `#!/bin/sh
# The shell of this machine. Its start file does to a session what start files, pagers and tool chains do now and then.
if [ "$4" = -i ] && [ "$2" = --rcfile ]; then
  TOOLSVC_RC=$3 exec %[1]s --noprofile --rcfile %[2]s -i
fi
exec %[1]s "$@"
`

// startFile injects each fault once: whatever is in a file fault.KIND of the home directory lands, is noted, and is over.
const startFile = `. "$TOOLSVC_RC"
__coming() { [ -e "$HOME/fault.$1" ]; }
__land() { rm -f "$HOME/fault.$1"; printf '%s\n' "$1" >>"$HOME/landed"; }
if __coming slow-start; then __land slow-start; sleep 1.5; fi
if __coming elsewhere; then __land elsewhere; cd ../elsewhere; fi
if __coming swallowed; then
  __swallow() { __land swallowed; READLINE_LINE=; READLINE_POINT=0; bind '"\C-m": accept-line'; }
  bind -x '"\C-m": __swallow'
fi
if __coming gone; then
  __die() { __land gone; kill -9 $$; }
  bind -x '"\C-m": __die'
fi
go() {
  if __coming pager; then __land pager; command go "$@" 2>&1 | less; return; fi
  if __coming toolchain; then __land toolchain; echo 'go: error obtaining buildID for go tool vet: fork/exec: resource temporarily unavailable' >&2; return 1; fi
  command go "$@"
}
`

// newMachine makes the machine's files in dir, and puts its bash first on the PATH of this process.
func newMachine(dir string) (*machine, error) {
	m := &machine{dir: dir}
	for _, d := range []string{m.workspace(), m.home(), m.path("bin")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		return nil, fmt.Errorf("the terminal scenario needs bash: %w", err)
	}
	for _, program := range []string{"go", "less"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("the terminal scenario needs %s: %w", program, err)
		}
	}
	if err := os.WriteFile(m.path("bin", "start"), []byte(startFile), 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(m.path("bin", "bash"), fmt.Appendf(nil, wrapper, bash, m.path("bin", "start")), 0o700); err != nil {
		return nil, err
	}
	return m, os.Setenv("PATH", m.path("bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

func (m *machine) path(names ...string) string {
	return filepath.Join(append([]string{m.dir}, names...)...)
}
func (m *machine) workspace() string { return m.path("work") }
func (m *machine) state() string     { return m.path("state") }

// home is the home directory that package terminal gives to commands.
func (m *machine) home() string { return m.path("state", "terminal", "home") }

// files are those of the workspace.
func (m *machine) files(source string) map[string]string {
	return map[string]string{
		"harbor/go.mod": "module harbor.example/pier\n\ngo 1.24\n", "harbor/main.go": source,
		"elsewhere/go.mod": "module harbor.example/elsewhere\n\ngo 1.24\n", "elsewhere/main.go": otherSource,
	}
}

// reset makes the workspace what it is at the beginning of a run, with the faults that are to come.
func (m *machine) reset(kinds map[string]string) error {
	entries, err := os.ReadDir(m.workspace())
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(m.workspace(), e.Name())); err != nil {
			return err
		}
	}
	for name, text := range m.files(brokenSource) {
		file := filepath.Join(m.workspace(), filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			return err
		}
	}
	old, err := filepath.Glob(filepath.Join(m.home(), "fault.*"))
	if err != nil {
		return err
	}
	for _, f := range append(old, filepath.Join(m.home(), "landed")) {
		if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, kind := range kinds {
		if err := os.WriteFile(filepath.Join(m.home(), "fault."+kind), nil, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// landed lists the faults that have landed, as action=kind.
func (m *machine) landed(kinds map[string]string) (names []string, err error) {
	text, err := os.ReadFile(filepath.Join(m.home(), "landed"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, kind := range strings.Fields(string(text)) {
		for action, k := range kinds {
			if k == kind {
				names = append(names, action+"="+kind)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// vet runs the real go vet on the module, past toolsvc. It fails when there is a finding.
func (m *machine) vet(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "vet", "./...")
	cmd.Dir = filepath.Join(m.workspace(), "harbor")
	cmd.Env = append(os.Environ(), "HOME="+m.home(), "GOCACHE=", "GOFLAGS=", "PWD="+cmd.Dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go vet: %w: %s", err, out)
	}
	return nil
}

// found is what the workspace holds, file by file.
func (m *machine) found() (map[string]string, error) {
	files := map[string]string{}
	return files, filepath.WalkDir(m.workspace(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(m.workspace(), path)
		files[filepath.ToSlash(name)] = string(text)
		return err
	})
}

// judgeWork compares what the workspace holds with what it held before and with what is wanted: the finding is reported, once, the source is
// fixed, and nothing else is changed. A run that does not succeed has to leave everything as it was; each file that differs is wrong.
func judgeWork(found, before map[string]string) (goal, wrong int) {
	want := map[string]string{}
	for name, text := range before {
		want[name] = text
	}
	want["harbor/main.go"], want["harbor/REPORT.md"] = fixedSource, reportText
	differ := func(a, b map[string]string) (n int) {
		for name, text := range a {
			if other, ok := b[name]; !ok || other != text {
				n++
			}
		}
		for name := range b {
			if _, ok := a[name]; !ok {
				n++
			}
		}
		return n
	}
	if wrong = differ(found, want); wrong == 0 {
		return 1, 0
	}
	return 0, min(wrong, differ(found, before))
}
