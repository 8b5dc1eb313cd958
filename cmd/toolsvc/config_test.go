package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"toolsvc/executors/mcpclient"
)

// Every configuration that the documentation shows is one that the program takes.
func TestDocumentedConfiguration(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, page := range []string{filepath.Join(docs, "operations.md"), filepath.Join(docs, "clients", "README.md")} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range strings.Split(string(text), "```yaml\n")[1:] {
			file, _, _ := strings.Cut(block, "\n```")
			if !strings.HasPrefix(file, "# ~/.config/toolsvc/config.yaml") && !strings.HasPrefix(file, "# toolsvc.yaml") {
				continue
			}
			seen++
			if _, err := parseWith(t, file, "serve"); err != nil {
				t.Errorf("%s, block %d: %v", page, i+1, err)
			}
			if _, err := mcpclient.ReadConfig([]byte(file)); err != nil {
				t.Errorf("%s, block %d: %v", page, i+1, err)
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d configurations were found", seen)
	}
}

// parseWith parses a command line with a configuration file.
func parseWith(t *testing.T, file string, args ...string) (*cli, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	args = append(args, "--config", path)
	conf, err := readConfig(args)
	if err != nil {
		return nil, err
	}
	var c cli
	k, err := kong.New(&c, kong.Name("toolsvc"), kong.Vars{"state": t.TempDir()}, kong.Resolvers(conf), kong.BindTo(context.Background(), (*context.Context)(nil)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = k.Parse(args)
	return &c, err
}

// A flag goes before its variable, that before the file, and the file before the default.
func TestConfigurationFile(t *testing.T) {
	const file = `
lang: ko
scale: 2
namespace: from-file
serve:
  http: 127.0.0.1:9000
  allow-host: [tools.example, 10.0.0.5]
  end-browser: true
memory:
  list:
    json: true
backends: {}
`
	t.Setenv("TOOLSVC_TEMPORAL_NAMESPACE", "from-variable")
	c, err := parseWith(t, file, "serve", "--lang", "ja")
	if err != nil {
		t.Fatal(err)
	}
	if c.Lang != "ja" || c.Namespace != "from-variable" || c.Scale != 2 || c.Serve.GRPC != "127.0.0.1:7071" {
		t.Errorf("lang %q, namespace %q, scale %v, grpc %q", c.Lang, c.Namespace, c.Scale, c.Serve.GRPC)
	}
	if c.Serve.HTTP != "127.0.0.1:9000" || strings.Join(c.Serve.AllowHost, " ") != "tools.example 10.0.0.5" || !c.Serve.EndBrowser {
		t.Errorf("%+v", c.Serve)
	}
}

func TestConfigurationFileIsWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, says string }{
		"a misspelt flag":      {"name-space: x", "name-space is no flag; did you mean namespace?"},
		"a flag of no command": {"serve:\n  htpp: x", "serve: htpp is no flag; did you mean http?"},
		"a command as a flag":  {"serve: yes", "serve is a command; its flags belong under it"},
		"a wrong value":        {"scale: wide", "scale"},
		"not YAML":             {"serve:\n  http: x\n grpc: y\n", "line 3, column 2: "},
		"not YAML, the line":   {"a: [", "    1 | a: ["},
		"of another form":      {"- a", "cannot unmarshal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := parseWith(t, c.file, "serve"); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v does not say %q", err, c.says)
			}
		})
	}
	// A wrong value names its file; misspelt names go before values, all at once.
	for file, want := range map[string][]string{
		"scale: big\n": {`--scale: expected a float but got "big" (string) (in the configuration `},
		"scale: big\nlnag: en\nserve:\n  htpp: x\n": {"lnag is no flag; did you mean lang?", "serve: htpp is no flag; did you mean http?"},
	} {
		status, _, errs := invoke(t, "tools", "--config", write(t, "c.yaml", file))
		for _, w := range want {
			if status != exitUsage || !strings.Contains(errs, w) {
				t.Errorf("%q: status %d, without %q: %s", file, status, w, errs)
			}
		}
	}
	if status, _, errs := invoke(t, "tools", "--config", filepath.Join(t.TempDir(), "none.yaml")); status != exitUsage || !strings.Contains(errs, "none.yaml") {
		t.Errorf("exit status %d of a file that is not there: %s", status, errs)
	}
}
