package repair

import (
	"regexp"
	"strings"

	"toolsvc/tool"
)

// variant matches the ways in which a moment is written that name the same parts as RFC 3339, in the same order: with a space for the T,
// without separators (ISO 8601's basic format), without seconds, with a comma before their fraction, with a zone that has no colon or no
// minutes, behind a space, or called UTC or GMT. A time without a zone is none of them: nobody can tell which moment it is.
var variant = regexp.MustCompile(`^(\d{4})-?(\d\d)-?(\d\d)[Tt ](\d\d)(?::?(\d\d))(?::?(\d\d)(?:[.,](\d+))?)?\s?(?:([Zz]|UTC|GMT)|([+-]\d\d):?(\d\d)?)$`)

// dateTime writes a moment as RFC 3339 has it.
func dateTime(s string) (string, bool) {
	m := variant.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return "", false
	}
	or := func(s, otherwise string) string {
		if s == "" {
			return otherwise
		}
		return s
	}
	out := m[1] + "-" + m[2] + "-" + m[3] + "T" + m[4] + ":" + m[5] + ":" + or(m[6], "00")
	if m[7] != "" {
		out += "." + m[7]
	}
	if m[8] != "" {
		out += "Z"
	} else {
		out += m[9] + ":" + or(m[10], "00")
	}
	return out, out != s && tool.FormatDateTime.Valid(out)
}

// formatted writes a string as its format has it.
func formatted(s string, f tool.Format) (rule, out string, ok bool) {
	trimmed := strings.TrimSpace(s)
	switch f {
	case tool.FormatDateTime:
		out, ok = dateTime(s)
		return ruleDateTime, out, ok
	case tool.FormatRegex, tool.FormatJSON: // white space means something there
		return "", "", false
	}
	return ruleTrimmed, trimmed, trimmed != s && f.Valid(trimmed)
}
