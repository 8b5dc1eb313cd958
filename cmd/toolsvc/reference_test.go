package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"toolsvc/gen/toolsets"
	"toolsvc/planner"
	"toolsvc/stack"
)

var update = flag.Bool("update", false, "write docs/reference/commands.md, and a history for planner's replay test, anew")

// docs is the folder of the documentation, and readme the page beside it.
var (
	docs     = filepath.Join("..", "..", "docs")
	commands = filepath.Join(docs, "reference", "commands.md")
)

// model is the command line as kong sees it, with nothing of this machine in its defaults.
func model(t *testing.T) *kong.Kong {
	t.Helper()
	k, err := kong.New(&cli{}, kong.Name("toolsvc"), kong.Vars{"state": "~/.local/state/toolsvc"}, kong.Exit(func(int) { t.Error("kong ended the process") }))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// The reference of commands is what the program itself takes; go test ./cmd/toolsvc -run TestCommandReference -update writes it anew.
func TestCommandReference(t *testing.T) {
	t.Parallel()
	want := reference(model(t).Model)
	if *update {
		if err := os.WriteFile(commands, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(commands)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the command line takes: run go test ./cmd/toolsvc -run TestCommandReference -update", commands)
	}
}

// reference renders the page.
func reference(app *kong.Application) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	p("# Commands\n\n<!-- Written by go test ./cmd/toolsvc -run TestCommandReference -update -->\n\n")
	p("`toolsvc --help` and `toolsvc <command> --help` say the same. Results go to standard output; narration, logs and mistakes to standard error.\n\n")
	p("| command | |\n|---|---|\n")
	for _, c := range app.Leaves(true) {
		p("| [toolsvc %s](#toolsvc-%s) | %s |\n", c.Path(), strings.ReplaceAll(c.Path(), " ", "-"), cell(c.Help))
	}
	for _, c := range app.Leaves(true) {
		p("\n## toolsvc %s\n\n%s\n", c.Path(), c.Help)
		p("\n```\ntoolsvc %s", c.Path())
		for _, a := range c.Positional {
			p(" %s", a.Summary())
		}
		p(" [flags]\n```\n")
		if len(c.Positional) > 0 {
			p("\n| argument | default | |\n|---|---|---|\n")
			for _, a := range c.Positional {
				p("| %s | %s | %s |\n", code(a.Name), defaultOf(a), cell(a.Help))
			}
		}
		if len(c.Flags) > 0 {
			p("\n%s", flagTable(c.Flags))
		}
	}
	p("\n## Flags of every command\n\n%s", flagTable(app.Flags))
	p("\n## Exit status\n\n| status | |\n|---|---|\n")
	for _, s := range []struct {
		status int
		means  string
	}{
		{0, "done; of `run`, `call` and `demo`: every step is verified"},
		{exitFailed, "a step failed, or the command was interrupted"},
		{exitUsage, "bad usage: an unknown flag, an invalid plan or payload, an unknown tool or run; nothing was started"},
		{exitWaiting, "the call, or the run, waits for an answer or an approval: `toolsvc answer` shows and answers it"},
		{exitInfrastructure, "something that toolsvc needs is missing or failed: Temporal, Chromium, a port, the state directory"},
	} {
		p("| %d | %s |\n", s.status, s.means)
	}
	p("\n## Environment variables\n\n| variable | |\n|---|---|\n")
	for _, v := range variables(app) {
		p("| %s | %s |\n", code(v[0]), v[1])
	}
	return b.String()
}

// variables lists the environment variables: those of flags, and those that packages read by themselves.
func variables(app *kong.Application) [][2]string {
	var vs [][2]string
	add := func(of string, flags []*kong.Flag) {
		for _, f := range flags {
			for _, env := range f.Envs {
				vs = append(vs, [2]string{env, fmt.Sprintf("the flag %s of %s", code("--"+f.Name), of)})
			}
		}
	}
	add("every command", app.Flags)
	for _, c := range app.Leaves(true) {
		add(code("toolsvc "+c.Path()), c.Flags)
	}
	return append(vs, [][2]string{
		{tokensVariable, "the tokens themselves instead of a file of them; `;` may stand for the end of a line"},
		{stack.SealKeyVariable, "the key that keeps arguments out of histories, in Base64, where several processes share a Temporal; see [several machines](../several-machines.md)"},
		{"XDG_STATE_HOME", "the state directory is `toolsvc` in it, unless a flag or `TOOLSVC_STATE_DIR` says otherwise"},
		{"TEMPORAL_ADDRESS", "Temporal's own environment configuration: a cluster to use instead of the embedded Temporal; see [operations](../operations.md#a-temporal-cluster-instead)"},
		{"NO_COLOR", "when set, the narration has no colours; so with `TERM=dumb`"},
		{"TESSDATA_PREFIX", "where tesseract's language data is, when not in a usual place"},
		{"OMP_THREAD_LIMIT", "threads of tesseract; toolsvc sets 1 when it is not set, which is faster"},
	}...)
}

func flagTable(flags []*kong.Flag) string {
	var b strings.Builder
	b.WriteString("| flag | default | |\n|---|---|---|\n")
	for _, f := range flags {
		if f.Hidden {
			continue
		}
		name := "--" + f.Name
		switch {
		case f.IsBool():
		case f.PlaceHolder != "":
			name += "=" + f.PlaceHolder
		case f.IsMap():
			name += "=KEY=VALUE"
		default:
			name += "=" + strings.ToUpper(f.Name)
		}
		name = code(name)
		if f.Short != 0 {
			name = code("-"+string(f.Short)) + ", " + name
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, defaultOf(f.Value), cell(f.Help))
	}
	return b.String()
}

func defaultOf(v *kong.Value) string {
	if !v.HasDefault || v.Default == "" || v.IsBool() {
		return ""
	}
	return code(v.Default)
}

func code(s string) string { return "`" + strings.ReplaceAll(s, "|", `\|`) + "`" }

func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`)
}

// Every command that the documentation shows is one that the program takes: known flags, enough arguments, and, of `toolsvc call`, a payload
// that the tool accepts. Files of plans that lie in the repository exist and are valid.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join("..", "..", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{docs, filepath.Join(docs, "reference")} {
		more, err := filepath.Glob(filepath.Join(dir, "*.md"))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, more...)
	}
	seen := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range shellCommands(string(text)) {
			words, err := shellWords(c.text)
			if err != nil {
				t.Errorf("%s:%d: %v", page, c.line, err)
				continue
			}
			if len(words) == 0 || filepath.Base(words[0]) != "toolsvc" {
				continue
			}
			seen++
			if err := documented(t, words[1:]); err != nil {
				t.Errorf("%s:%d: %s\n\t%v", page, c.line, c.text, err)
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d commands were found in %d pages: this test no longer sees the documentation", seen, len(pages))
	}
}

// documented checks one command line of the documentation, without running it.
func documented(t *testing.T, args []string) error {
	if slices.Contains(args, "--help") {
		return nil
	}
	var c cli
	k, err := kong.New(&c, kong.Name("toolsvc"), kong.Vars{"state": t.TempDir()})
	if err != nil {
		return err
	}
	parsed, err := k.Parse(args)
	if err != nil {
		return err
	}
	switch name, _, _ := strings.Cut(parsed.Command(), " "); {
	case name == "call" && c.Call.Payload != "-":
		var out, errs bytes.Buffer
		req, err := c.Call.request([]byte(c.Call.Payload))
		if err != nil {
			return err
		}
		if err := c.Call.check(&planner.Service{Registry: toolsets.Registry()}, req, "en", streams{&out, &errs}); err != nil {
			return fmt.Errorf("%w\n%s", err, errs.String())
		}
	case name == "tools" && c.Tools.Tool != "" && toolsets.Registry().Lookup(c.Tools.Tool) == nil:
		return fmt.Errorf("there is no tool %s", c.Tools.Tool)
	case name == "run" && strings.Contains(c.Run.Plan, "/") && !filepath.IsAbs(c.Run.Plan):
		plan, err := readPlan(filepath.Join("..", "..", c.Run.Plan), c.Run.Var, c.Run.From)
		if err != nil {
			return err
		}
		var out, errs bytes.Buffer
		if _, err := plan.prepare(streams{&out, &errs}, &planner.Service{Registry: toolsets.Registry()}, "en"); err != nil {
			return fmt.Errorf("%w\n%s", err, errs.String())
		}
	}
	return nil
}

// shellCommand is a line of a shell block, with its place.
type shellCommand struct {
	line int
	text string
}

// shellCommands lists the commands of the fenced blocks of a page that hold shell: every line of ```sh, and what follows "$ " in ```console.
func shellCommands(text string) (cs []shellCommand) {
	language, number := "", 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if fence, ok := strings.CutPrefix(line, "```"); ok {
			if language == "" {
				language = fence + " " // a block without a language is one, too
			} else {
				language = ""
			}
			continue
		}
		switch language {
		case "sh ":
			cs = append(cs, shellCommand{number, line})
		case "console ":
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				cs = append(cs, shellCommand{number, command})
			}
		}
	}
	return cs
}

// shellWords splits a simple command into its words, as a shell would: quotes, escaped characters, comments. It ends at a pipe, a redirection
// or the end of the command, and leaves out assignments before it.
func shellWords(s string) (words []string, err error) {
	var word strings.Builder
	inWord := false
	end := func() {
		if inWord {
			words = append(words, word.String())
		}
		word.Reset()
		inWord = false
	}
scan:
	for i := 0; i < len(s); i++ {
		switch ch := s[i]; {
		case ch == '\'' || ch == '"':
			inWord = true
			for i++; i < len(s) && s[i] != ch; i++ {
				if ch == '"' && s[i] == '\\' && i+1 < len(s) {
					i++
				}
				word.WriteByte(s[i])
			}
			if i == len(s) {
				return nil, fmt.Errorf("the quote %c is not closed in %s", ch, s)
			}
		case ch == '\\' && i+1 < len(s):
			i++
			word.WriteByte(s[i])
			inWord = true
		case ch == ' ' || ch == '\t':
			end()
		case strings.IndexByte("|;&<>", ch) >= 0, ch == '#' && !inWord:
			break scan
		default:
			word.WriteByte(ch)
			inWord = true
		}
	}
	end()
	for len(words) > 0 && strings.Contains(words[0], "=") {
		words = words[1:]
	}
	return words, nil
}

func TestShellWords(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		`toolsvc call a.b '{"x": "y z"}' --run r_1  # a comment`: {"toolsvc", "call", "a.b", `{"x": "y z"}`, "--run", "r_1"},
		`curl -d "{\"a\": \"$B\"}" x`:                            {"curl", "-d", `{"a": "$B"}`, "x"},
		`A=1 bin/toolsvc tools | head`:                           {"bin/toolsvc", "tools"},
		`x 'it'\''s' "a b"`:                                      {"x", "it's", "a b"},
		`# only a comment`:                                       nil,
		`x '' y#z`:                                               {"x", "", "y#z"},
	} {
		if got, err := shellWords(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q (%v), want %q", line, got, err, want)
		}
	}
	if _, err := shellWords(`x 'y`); err == nil {
		t.Error("an open quote is accepted")
	}
}
