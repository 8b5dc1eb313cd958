package main

import (
	"slices"
	"strings"
	"testing"
)

// What the shell is told, by a process of its own, as a shell asks it.
func TestCompletion(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"toolsvc ca":                        {"call", "cancel"},
		"toolsvc call terminal.":            {"terminal.close", "terminal.open", "terminal.press", "terminal.read", "terminal.run", "terminal.type"},
		"toolsvc tools document.wr":         {"document.write", "document.write_section"},
		"toolsvc call browser.click --lan":  {"--lang"},
		"toolsvc memory ":                   {"forget", "list"},
		"toolsvc call browser.no-such-tool": nil,
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			cmd := program(t.Context(), t, t.TempDir())
			cmd.Env = append(cmd.Env, "COMP_LINE="+line)
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Fields(string(out))
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
	if status, out, errs := invoke(t, "completion", "bash"); status != 0 || !strings.Contains(out, "toolsvc completion -c bash") {
		t.Errorf("exit status %d: %s%s", status, out, errs)
	}
}

func TestManualPage(t *testing.T) {
	t.Parallel()
	status, out, errs := invoke(t, "man")
	if status != 0 || !strings.HasPrefix(out, ".TH TOOLSVC 1 ") {
		t.Fatalf("exit status %d: %s%s", status, out, errs)
	}
	plain := strings.ReplaceAll(out, `\&`, "")
	for _, c := range model(t).Model.Leaves(true) {
		if !strings.Contains(plain, c.Help) {
			t.Errorf("nothing is said of %s", c.Path())
		}
	}
}
