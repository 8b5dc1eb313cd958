package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toolsvc/executors/terminal"
	"toolsvc/planner"
)

// asProgram makes the test binary behave as toolsvc itself, so that tests can start, and kill, real processes.
const asProgram = "TOOLSVC_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	terminal.Supervise()
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// program prepares toolsvc as a process of its own.
func program(ctx context.Context, t *testing.T, stateDir string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "TOOLSVC_STATE_DIR="+stateDir, "TOOLSVC_WORKSPACE=none")
	return cmd
}

// invoke runs the command line in this process.
func invoke(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	status = run(ctx, args, streams{&out, &errs})
	return status, out.String(), errs.String()
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Bad input is answered with its place and what to write instead, with exit status 2, and starts nothing: the state directory stays
// empty.
func TestBadInputStartsNothing(t *testing.T) {
	t.Parallel()
	many := `{"target":{"name":"","role":"But ton","nth":0,"colour":"red","ref":"12"},"button":"top","modifiers":["Hyper","Shift","Alt","Meta","Control"],` +
		`"intent":5,"expect":"x","wait":1,"speed":2,"target":{},"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7}`
	for _, c := range []struct {
		name string
		args func(t *testing.T) []string
		says []string
	}{
		{"unknown tool", func(*testing.T) []string { return []string{"call", "browser.clik", "{}"} }, []string{`no tool "browser.clik"`, "browser.click"}},
		{"broken JSON", func(*testing.T) []string { return []string{"call", "browser.click", `{"target": {"name": "Play"`} }, []string{`"constraint": "syntax"`, `"offset": 26`}},
		{"many violations at once", func(*testing.T) []string { return []string{"call", "browser.click", many} },
			[]string{"/target/name", "/target/role", "/target/nth", "/target/colour", "/target/ref", "/button", "/modifiers/0", "/intent", "/expect", "/wait", "/speed", "/g", `"duplicate"`}},
		{"missing field", func(*testing.T) []string { return []string{"call", "browser.navigate"} }, []string{`"missing_fields"`, "/url", "Which address should be opened?"}},
		{"5 MB", func(t *testing.T) []string {
			return []string{"call", "browser.type", `{"target":{"name":"x"},"text":"` + strings.Repeat("y", 5<<20) + `"}`}
		}, []string{"maxBytes"}},
		{"typo in a condition", func(t *testing.T) []string {
			return []string{"run", write(t, "plan.yaml", "steps:\n  - tool: browser.navigate\n    args: {url: 'http://127.0.0.1:1/'}\n  - tool: browser.click\n    args: {target: {name: Play}}\n    expect: ['page.titel == \"x\"']\n")}
		}, []string{"plan.yaml:4: step 2 (browser.click)", `no field "titel"`, `"title"`, "column 6"}},
		{"two wrong steps", func(t *testing.T) []string {
			return []string{"run", write(t, "plan.yaml", "steps:\n  - tool: browser.navigte\n  - tool: browser.click\n    expect_failure: disabeld\n    args: {target: {name: x}}\n")}
		}, []string{"plan.yaml:2: step 1 (browser.navigte)", "browser.navigate", "plan.yaml:3: step 2", `"disabled"`, "2 mistakes"}},
		{"an unknown variable and a wrong step", func(t *testing.T) []string {
			return []string{"run", write(t, "plan.yaml", "steps:\n  - tool: browser.navigte\n  - tool: browser.click\n    args: {target: {name: '${who}'}}\n")}
		}, []string{"plan.yaml:2: step 1 (browser.navigte)", "plan.yaml:3: step 2 (browser.click): unknown variable ${who}", "2 mistakes"}},
		{"a misspelt --var", func(t *testing.T) []string {
			return []string{"run", "--var", "bse=x", write(t, "plan.yaml", "vars: {base: y}\nsteps:\n  - {tool: browser.navigate, args: {url: '${base}'}}\n")}
		}, []string{"--var bse", "plan.yaml has no variable of that name; did you mean base?"}},
		{"no plan", func(*testing.T) []string { return []string{"run", "nowhere.yaml"} }, []string{"nowhere.yaml"}},
		{"unknown command", func(*testing.T) []string { return []string{"rn"} }, []string{"rn"}},
		{"an address that is not loopback", func(*testing.T) []string { return []string{"serve", "--http", "0.0.0.0:0"} }, []string{"not loopback"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "state")
			status, out, errs := invoke(t, append([]string{"--state-dir", dir}, c.args(t)...)...)
			if status != exitUsage {
				t.Errorf("exit status %d, want %d", status, exitUsage)
			}
			for _, s := range c.says {
				if !strings.Contains(out+errs, s) {
					t.Errorf("it does not say %q:\n%.2000s\n%.2000s", s, out, errs)
				}
			}
			if len(out+errs) > 64<<10 {
				t.Errorf("%d bytes were printed", len(out+errs))
			}
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("something was started: %v", err)
			}
		})
	}
}

func TestToolsShowsTheCatalogue(t *testing.T) {
	t.Parallel()
	status, out, _ := invoke(t, "tools")
	if status != 0 || !strings.Contains(out, "browser.click") || !strings.Contains(out, "reversible") {
		t.Errorf("status %d: %s", status, out)
	}
	status, out, _ = invoke(t, "tools", "browser.type", "--json")
	var one catalogueEntry
	if err := json.Unmarshal([]byte(out), &one); status != 0 || err != nil || one.ID != "browser.type" || len(one.EffectRules) != 1 {
		t.Errorf("status %d, %v: %s", status, err, out)
	}
}

func TestDoctorFindsWhatIsMissing(t *testing.T) {
	t.Parallel()
	status, out, _ := invoke(t, "--state-dir", t.TempDir(), "doctor")
	if status != 0 || !strings.Contains(out, "Chromium") || strings.Contains(out, "missing  Chromium") {
		t.Errorf("status %d: %s", status, out)
	}
	status, out, _ = invoke(t, "--state-dir", t.TempDir(), "--workspace", "/nowhere", "--store", "postgres://u:secret@127.0.0.1:1/x", "doctor")
	if status != exitInfrastructure || !strings.Contains(out, "missing  Workspace") || !strings.Contains(out, "missing  Store") || strings.Contains(out, "secret") {
		t.Errorf("status %d: %s", status, out)
	}
	status, out, _ = invoke(t, "--state-dir", t.TempDir(), "--chromium", "/nowhere/chromium", "doctor")
	if status != exitInfrastructure || !strings.Contains(out, "missing  Chromium") || !strings.Contains(out, "apt-get install chromium") {
		t.Errorf("status %d: %s", status, out)
	}
}

// finalState decodes what `run --json` prints.
func finalState(t *testing.T, text []byte) *planner.State {
	t.Helper()
	var st planner.State
	if err := json.Unmarshal(text, &st); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return &st
}
