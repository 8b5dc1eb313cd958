package repair

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"toolsvc/tool"
)

// records are the notes of the syntax tier as repairs: one for each rule, however often it was needed, at the place that holds all of its
// places; it shows the first. Members that stood there twice are listed one by one.
func (c *corrector) records(notes []note) []tool.Repair {
	var all []note
	for _, n := range notes {
		i := slices.IndexFunc(all, func(o note) bool { return o.rule == n.rule })
		if i < 0 || n.rule == ruleDuplicate && len(all) < MaxRepairs {
			all = append(all, n)
			continue
		}
		all[i].path = common(all[i].path, n.path)
	}
	repairs := make([]tool.Repair, len(all))
	for i, n := range all {
		repairs[i] = c.record(n, TierSyntax)
	}
	return repairs
}

// common is the deepest place that holds both.
func common(a, b string) string {
	for !within(b, a) {
		a, _ = parent(a)
	}
	return a
}

// record makes a note fit to be shown.
func (c *corrector) record(n note, tier string) tool.Repair {
	r := tool.Repair{Path: n.path, Rule: n.rule, Tier: tier, From: shown(n.from), To: shown(n.to)}
	if !names[n.rule] && c.secret(n.path) {
		for _, s := range []*string{&r.From, &r.To} {
			if *s != "" {
				*s = tool.Redacted
			}
		}
	}
	return r
}

// names are the rules that change the name of a field, which is no secret.
var names = map[string]bool{ruleSpelling: true, ruleMisspelt: true}

// secret reports whether a place holds a secret, lies in one, holds one further down, or is one that the design does not know, in a tool
// that has secrets: a misspelt field may be one.
func (c *corrector) secret(path string) bool {
	if len(c.spec.Secrets) == 0 {
		return false
	}
	at := tokens(path)
	for _, s := range c.spec.Secrets {
		secret := tokens(s)
		same := true
		for i := range min(len(at), len(secret)) {
			same = same && (secret[i] == "*" || secret[i] == at[i])
		}
		if same {
			return true
		}
	}
	return c.schema.at(path) == nil
}

// shown puts a text on one line and clips it.
func shown(s string) string {
	cut := len(s) > maxShown
	if cut {
		n := maxShown - len("…")
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
	if cut {
		s += "…"
	}
	return s
}
