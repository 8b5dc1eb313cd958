package narration

import (
	"net/url"
	"regexp"
	"strings"

	"toolsvc/tool"
)

// The shapes in which secrets stand in commands, texts and addresses. Each keeps its groups and replaces what
// is between or after them.
var secretShapes = []*regexp.Regexp{
	regexp.MustCompile(`(?i)((?:bearer|basic)\s+)[\w.~+/=-]{6,}`),
	regexp.MustCompile(`(?i)([\w-]*(?:passwor[dt]|passwd|passphrase|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|credential)[\w-]*["']?\s*[=:]\s*)(?:"[^"]*"|'[^']*'|[^\s&;]+)`),
	regexp.MustCompile(`(?i)(--?(?:password|passwd|passphrase|secret|token|api-?key|access-?key)\s+)(?:"[^"]*"|'[^']*'|[^\s-]\S*)`),
	regexp.MustCompile(`(://)[^\s/@]+(@)`),
	regexp.MustCompile(`()\b(?:sk-|ghp_|gho_|ghs_|github_pat_|glpat-|xox[abeprs]-|AKIA|AIza|ya29\.)[\w.-]{10,}`),
	regexp.MustCompile(`()\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*`), // a JSON web token
}

// mask replaces what looks like a secret. It is a second net: what is known to be secret is never given to it.
func mask(s string) string {
	for _, shape := range secretShapes {
		s = shape.ReplaceAllString(s, "${1}"+tool.Redacted+"${2}")
	}
	return s
}

// address is how an address is shown: without http(s)://, user, query and fragment, all of which may carry secrets.
func address(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return mask(s)
	}
	t := u.Host + strings.TrimSuffix(u.Path, "/")
	if u.Scheme != "http" && u.Scheme != "https" {
		t = u.Scheme + "://" + t
	}
	if u.RawQuery != "" {
		t += "?…"
	}
	return mask(t)
}

// secret reports whether the design calls the field at that path secret, or one that holds it.
func secret(spec *tool.Spec, path ...string) bool {
	for _, pointer := range spec.Secrets {
		pattern := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
		if len(pattern) > len(path) {
			continue
		}
		hit := true
		for i, p := range pattern {
			hit = hit && (p == "*" || p == path[i])
		}
		if hit {
			return true
		}
	}
	return false
}
