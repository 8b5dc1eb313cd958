package memory

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
)

// Target is what a caller described: the fields of a target that say what is meant. References of snapshots and positions (nth) do not,
// so targets that have them are not remembered.
type Target struct {
	Name     string `json:"name,omitempty"`
	Role     string `json:"role,omitempty"`
	Within   string `json:"within,omitempty"`
	Near     string `json:"near,omitempty"`
	Selector string `json:"selector,omitempty"`
}

// maxTarget bounds a description that is remembered, in bytes of JSON.
const maxTarget = 1000

// key is the description in one string; "" for one that is not remembered.
func (t Target) key() string {
	if t.Name == "" && t.Selector == "" {
		return ""
	}
	text, err := json.Marshal(t)
	if err != nil || len(text) > maxTarget {
		return ""
	}
	return string(text)
}

// String names the target for people.
func (t Target) String() string {
	s := strings.TrimSpace(t.Role)
	if s == "" {
		s = "element"
	}
	if t.Name != "" {
		s += ` "` + t.Name + `"`
	}
	if t.Selector != "" {
		s += " " + t.Selector
	}
	if t.Within != "" {
		s += ` in "` + t.Within + `"`
	}
	if t.Near != "" {
		s += ` beside "` + t.Near + `"`
	}
	return s
}

// Page is where an entry is valid.
type Page struct {
	// Origin is scheme, host and port.
	Origin string `json:"origin"`
	// Pattern is the path in which identifiers are "*", followed by the route of a single-page application ("#/users/*"), if there is one.
	Pattern string `json:"pattern"`
}

// maxPattern bounds the pattern of a page, in bytes.
const maxPattern = 500

// PageOf generalises an address. ok is false for pages that have no origin of their own (about:blank, data:, file:), where nothing is
// remembered.
func PageOf(address string) (p Page, ok bool) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return Page{}, false
	}
	p.Origin = strings.ToLower(u.Scheme + "://" + u.Host)
	p.Pattern = generalise(u.EscapedPath())
	if f := u.EscapedFragment(); strings.HasPrefix(f, "/") || strings.HasPrefix(f, "!/") {
		f, _, _ = strings.Cut(f, "?")
		p.Pattern += "#" + generalise(strings.TrimPrefix(f, "!"))
	}
	return p, len(p.Pattern) <= maxPattern
}

var (
	uuid  = regexp.MustCompile(`^(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	hex   = regexp.MustCompile(`^(?i)[0-9a-f]{8,}$`)
	token = regexp.MustCompile(`^[0-9A-Za-z_=-]{20,}$`)
	digit = regexp.MustCompile(`\d`)
	count = regexp.MustCompile(`^(v\d{1,2}|\d+)$`)
	part  = regexp.MustCompile(`\d{2,}`)
)

// generalise puts "*" for the segments of a path, or the parts of them, that look like identifiers.
func generalise(path string) string {
	segments := strings.Split(strings.TrimRight(path, "/"), "/")
	for i, s := range segments {
		switch {
		case s == "", count.MatchString(s) && s[0] == 'v': // a version of an interface names something else
		case count.MatchString(s), uuid.MatchString(s), hex.MatchString(s) && digit.MatchString(s), token.MatchString(s) && digit.MatchString(s):
			segments[i] = "*"
		default:
			segments[i] = part.ReplaceAllString(s, "*")
		}
	}
	if p := strings.Join(segments, "/"); p != "" {
		return p
	}
	return "/"
}
