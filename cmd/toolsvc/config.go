package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"

	"toolsvc/tool"
	"toolsvc/tool/yamlerror"
)

// The configuration file holds flags by their names: those of every command at its top, those of one command in a section of the command's
// name ("serve", or "memory" with "list" in it), and the section backends. A flag on the command line goes before its environment variable,
// that before the file, and the file before the default.

// configVariable names the file, as the flag --config does.
const configVariable = "TOOLSVC_CONFIG"

// backendsSection is read by package mcpclient.
const backendsSection = "backends"

// maxConfig bounds the file.
const maxConfig = 1 << 20

// defaultConfig is where a user's configuration is (XDG Base Directory Specification); "" when there is no home.
func defaultConfig() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "toolsvc", "config.yaml")
}

// configPath is the file that a command line names, by --config or the variable; else the user's, which need not be there.
func configPath(args []string) (path string, named bool) {
	for i, a := range args {
		if a == "--" {
			break
		}
		if v, ok := strings.CutPrefix(a, "--config="); ok {
			return v, true
		}
		if a == "--config" && i+1 < len(args) {
			return args[i+1], true
		}
	}
	if v := os.Getenv(configVariable); v != "" {
		return v, true
	}
	return defaultConfig(), false
}

// configFile is the file to read backends from; "" for none.
func (c *Common) configFile() string {
	if c.Config != "" {
		return c.Config
	}
	if path := defaultConfig(); path != "" {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// config resolves flags from a file.
type config struct {
	path   string
	values map[string]any
}

// readConfig reads the file of the command line; nil when there is none.
func readConfig(args []string) (*config, error) {
	path, named := configPath(args)
	if path == "" {
		return nil, nil
	}
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the configuration: %w", err)
	case st.Size() > maxConfig:
		return nil, fmt.Errorf("the configuration %s has %d bytes; at most %d are read", path, st.Size(), maxConfig)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	c := &config{path: path}
	if err := yaml.Unmarshal(text, &c.values); err != nil {
		return nil, fmt.Errorf("the configuration %s: %w", path, yamlerror.At(text, err))
	}
	return c, nil
}

// fromFile says of an error about the value of a flag that the value comes from the configuration file, when the command line does not give it.
func fromFile(err error, c *config, args []string) error {
	if err == nil || c == nil {
		return err
	}
	name, _, isFlag := strings.Cut(strings.TrimPrefix(err.Error(), "--"), ":")
	if !isFlag || !strings.HasPrefix(err.Error(), "--") || slices.ContainsFunc(args, func(a string) bool { return a == "--"+name || strings.HasPrefix(a, "--"+name+"=") }) || !c.sets(c.values, name) {
		return err
	}
	return fmt.Errorf("%w (in the configuration %s)", err, c.path)
}

// sets reports whether a section, or one within it, has a value of that name.
func (c *config) sets(values map[string]any, name string) bool {
	for n, v := range values {
		if n == name {
			return true
		}
		if inner, ok := v.(map[string]any); ok && c.sets(inner, name) {
			return true
		}
	}
	return false
}

// Validate refuses what no flag has the name of: a misspelt bound must not be no bound.
func (c *config) Validate(app *kong.Application) error {
	return c.known(app.Node, c.values, "")
}

// known checks the names of one section.
func (c *config) known(n *kong.Node, values map[string]any, at string) error {
	names := []string{}
	for _, f := range n.Flags {
		if f.Name != "help" && f.Name != "config" {
			names = append(names, f.Name)
		}
	}
	sections := map[string]*kong.Node{}
	for _, child := range n.Children {
		if child.Type == kong.CommandNode {
			sections[child.Name] = child
		}
	}
	var errs []error
	for name, v := range values {
		section, isSection := sections[name]
		inner, isMap := v.(map[string]any)
		switch {
		case at == "" && name == backendsSection:
		case isSection && (isMap || v == nil):
			errs = append(errs, c.known(section, inner, at+name+": "))
		case isSection:
			errs = append(errs, fmt.Errorf("the configuration %s: %s%s is a command; its flags belong under it, as in\n  %s:\n    flag: value", c.path, at, name, name))
		case !slices.Contains(names, name):
			hint := ""
			if near := tool.Nearest(name, names); near != "" {
				hint = fmt.Sprintf("; did you mean %s?", near)
			}
			errs = append(errs, fmt.Errorf("the configuration %s: %s%s is no flag%s", c.path, at, name, hint))
		}
	}
	return errors.Join(errs...)
}

// Resolve returns what the file says of a flag; nil for nothing, and where an environment variable says it.
func (c *config) Resolve(_ *kong.Context, parent *kong.Path, flag *kong.Flag) (any, error) {
	if slices.ContainsFunc(flag.Envs, func(env string) bool { _, set := os.LookupEnv(env); return set }) {
		return nil, nil
	}
	values := c.values
	if n := parent.Node(); n != nil && n.Type == kong.CommandNode {
		for _, name := range strings.Fields(n.Path()) {
			values, _ = values[name].(map[string]any)
		}
	}
	return values[flag.Name], nil
}
