//go:build linux

package terminal

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"toolsvc/executors/terminal/supervise"
)

// inherited are the variables of the service's environment that every command sees.
var inherited = []string{"PATH", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"}

// The files of a system that programs need.
var systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/proc", "/sys", "/dev", "/nix", "/snap",
	"/run/systemd/resolve", "/var/lib/ca-certificates", "/var/cache/fontconfig"}

// environment is what a command sees: a clean environment, what the options and the call declare, and nothing else of the service's own.
func (x *Executor) environment(cwd, tmp, term string, declared ...map[string]string) []string {
	env := map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
	for _, name := range append(slices.Clone(inherited), x.opts.Inherit...) {
		if v, ok := os.LookupEnv(name); ok {
			env[name] = v
		}
	}
	env["HOME"], env["TMPDIR"], env["PWD"], env["SHELL"], env["TERM"] = x.home, tmp, cwd, x.shell, term
	if term == "dumb" {
		env["GIT_TERMINAL_PROMPT"] = "0" // there is no terminal to ask on
	}
	maps.Copy(env, x.opts.Env)
	for _, d := range declared {
		maps.Copy(env, d)
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(env)) {
		out = append(out, k+"="+env[k])
	}
	return out
}

// confinement is what a command may touch.
func (x *Executor) confinement() supervise.Confinement {
	c := supervise.Confinement{Off: x.opts.Confine == ConfineOff, Required: x.opts.Confine == ConfineRequired, NoNetwork: x.opts.NoNetwork}
	c.ReadWrite = append([]string{x.rootPath, x.home}, x.opts.ReadWrite...)
	c.ReadOnly = append(append(slices.Clone(systemDirs), x.rcFile(), filepath.Dir(x.shell)), x.opts.ReadOnly...)
	for _, p := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.IsAbs(p) {
			c.ReadOnly = append(c.ReadOnly, p)
		}
	}
	return c
}

// secretName matches names of variables that usually hold secrets, so that their values are masked also when nobody called them secret.
var secretName = regexp.MustCompile(`(?i)(secret|token|passw|passphrase|api_?key|private_?key|access_?key|credential|auth)`)

// The least lengths of what is masked: shorter values stand everywhere by chance.
const (
	leastSecret  = 4
	leastGuessed = 6
)

// secretsOf are the texts to mask in what a command writes: the declared ones, and values whose names say so.
func secretsOf(env, secretEnv map[string]string, secretText ...*string) []string {
	var out []string
	add := func(s string, least int) {
		if s = strings.Trim(s, "\r\n"); len(s) >= least && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(secretEnv)) {
		add(secretEnv[k], leastSecret)
	}
	for _, k := range slices.Sorted(maps.Keys(env)) {
		if secretName.MatchString(k) {
			add(env[k], leastGuessed)
		}
	}
	for _, s := range secretText {
		if s == nil {
			continue
		}
		add(*s, leastSecret)
		for _, line := range strings.Split(*s, "\n") {
			add(line, leastSecret)
		}
	}
	return out
}
