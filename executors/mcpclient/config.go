package mcpclient

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"toolsvc/tool"
	"toolsvc/tool/yamlerror"
)

// Config is the section `backends` of a configuration: MCP servers by the name of the toolset that they become.
type Config map[string]Backend

// Backend is one MCP server. Either Command or URL says how it is reached.
type Backend struct {
	// Command starts the server, which then speaks on its standard input and output.
	Command []string `yaml:"command,omitempty"`
	// Dir is where it is started; this process's own folder when empty.
	Dir string `yaml:"dir,omitempty"`
	// Env is its environment beside PATH, HOME and the locale. ${NAME} stands for a variable of this process, $$ for a dollar sign.
	Env map[string]string `yaml:"env,omitempty"`
	// URL of a server that speaks streamable HTTP.
	URL string `yaml:"url,omitempty"`
	// Headers are sent with every request, such as Authorization: Bearer ${TOKEN}.
	Headers map[string]string `yaml:"headers,omitempty"`
	// BearerEnv is the environment variable that holds the token to send, and OAuth says how tokens are had; at most one of them.
	BearerEnv string `yaml:"bearer_env,omitempty"`
	OAuth     *OAuth `yaml:"oauth,omitempty"`
	// Allow and Deny choose among its tools, by patterns of path.Match over its own names. Deny wins; an empty Allow allows all.
	Allow []string `yaml:"allow,omitempty"`
	Deny  []string `yaml:"deny,omitempty"`
	// Prefix is taken off its names before they become ours: with prefix "browser_", browser_click of the backend web is web.click.
	Prefix string `yaml:"prefix,omitempty"`
	// Effects give tools an effect class, by patterns; the longest pattern that matches wins. Otherwise their annotations decide.
	Effects map[string]tool.EffectClass `yaml:"effects,omitempty"`
	// Secrets are JSON Pointers of payload fields that are never shown, by tool.
	Secrets map[string][]string `yaml:"secrets,omitempty"`
	// TimeLimit bounds one call; 60 s when 0.
	TimeLimit time.Duration `yaml:"time_limit,omitempty"`
	// Shared lets all runs use one connection. Otherwise each run has its own, which ends with it: a server that holds a browser is then
	// not shared by strangers.
	Shared bool `yaml:"shared,omitempty"`
	// Open lets unknown fields pass where the server's schema does not forbid them. Otherwise they are issues, as with our own tools.
	Open bool `yaml:"open,omitempty"`
}

// Bounds of backends.
const (
	DefaultTimeLimit = time.Minute
	MaxTimeLimit     = time.Hour
	// MaxBackends bounds the backends, and MaxTools the tools of one.
	MaxBackends = 50
	MaxTools    = 500
)

// ReadConfig reads the section `backends` of a YAML file; other sections are others' business. A file without it has none.
func ReadConfig(text []byte) (Config, error) {
	var doc struct {
		Backends Config               `yaml:"backends"`
		Others   map[string]yaml.Node `yaml:",inline"`
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true) // a misspelt allow list must not allow everything
	if err := d.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the configuration: %w", yamlerror.At(text, err))
	}
	return doc.Backends, doc.Backends.Validate()
}

var toolsetName = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// Validate says everything that is wrong with a configuration.
func (c Config) Validate() error {
	var errs []error
	if len(c) > MaxBackends {
		errs = append(errs, fmt.Errorf("%d backends are more than the %d that are allowed", len(c), MaxBackends))
	}
	for _, name := range slices.Sorted(maps.Keys(c)) {
		b := c[name]
		bad := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("backend %s: "+format, append([]any{name}, args...)...))
		}
		if !toolsetName.MatchString(name) || len(name) > 40 {
			bad("its name becomes that of a toolset, so it has to be lower case letters, digits and underscores, at most 40")
		}
		if (len(b.Command) == 0) == (b.URL == "") {
			bad("either command or url has to say how it is reached")
		}
		if u, err := url.Parse(b.URL); b.URL != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
			bad("url %q is not an http or https address", b.URL)
		}
		if err := b.checkAuth(); err != nil {
			bad("%w", err)
		}
		if b.TimeLimit < 0 || b.TimeLimit > MaxTimeLimit {
			bad("time_limit %s is not between 0 and %s", b.TimeLimit, MaxTimeLimit)
		}
		for _, p := range slices.Concat(b.Allow, b.Deny, slices.Collect(maps.Keys(b.Effects))) {
			if _, err := path.Match(p, ""); err != nil {
				bad("%q is not a pattern", p)
			}
		}
		for p, class := range b.Effects {
			if !slices.Contains(tool.EffectClasses, class) {
				bad("effects: %s is %q; it has to be read_only, idempotent, reversible or irreversible", p, class)
			}
		}
	}
	return errors.Join(errs...)
}

// permits reports whether the tool of that name is to be used.
func (b Backend) permits(name string) bool {
	return !matches(b.Deny, name) && (len(b.Allow) == 0 || matches(b.Allow, name))
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { ok, err := path.Match(p, name); return err == nil && ok })
}

// environment is that of the server's process. A variable that is asked for and not there is an error: a server without its key fails in
// ways that are hard to read.
func (b Backend) environment() ([]string, error) {
	var env []string
	for _, name := range []string{"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.Env)) {
		v, err := expand(b.Env[name])
		if err != nil {
			return nil, fmt.Errorf("env %s: %w", name, err)
		}
		env = append(env, name+"="+v)
	}
	return env, nil
}

// expand puts in the variables of this process; $$ stands for a dollar sign.
func expand(s string) (string, error) {
	var missing []string
	out := os.Expand(s, func(name string) string {
		if name == "$" {
			return name
		}
		v, ok := os.LookupEnv(name)
		if !ok {
			missing = append(missing, name)
		}
		return v
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("the environment lacks %s; $$ stands for a dollar sign that is meant as such", strings.Join(missing, ", "))
	}
	return out, nil
}
