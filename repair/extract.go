package repair

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"toolsvc/tool"
)

// read finds and reads the payload in a text that the decoder refused. The notes say what had to be let pass: none when the text is
// plain JSON. ok is false when the text has no reading, or several.
func (c *corrector) read(raw []byte) (root *node, notes []note, ok bool) {
	if len(raw) > tool.MaxPayload || !utf8.Valid(raw) {
		return nil, nil, false
	}
	t := c.unpack(string(raw))
	for _, attempt := range []func(envelope) (*node, []note, bool){c.plain, c.unescaped, c.bracket} {
		if root, notes, ok := attempt(t); ok {
			return root, append(t.notes, notes...), true
		}
	}
	return nil, nil, false
}

// envelope is a text without what stands around the payload.
type envelope struct {
	text  string
	notes []note
	// complete says that the sender went on after the payload, so that nothing of it was cut off.
	complete bool
}

var (
	openingFence = regexp.MustCompile("(?m)^[ \t]*(```+|~~~+)[ \t]*[A-Za-z0-9_+-]*[ \t]*\r?\n")
	anyFence     = regexp.MustCompile("(?m)^[ \t]*(```|~~~)")
)

// unpack takes off a byte order mark and a Markdown fence.
func (c *corrector) unpack(s string) envelope {
	t := envelope{text: s}
	if rest, ok := strings.CutPrefix(s, "\ufeff"); ok {
		t.text = rest
		t.notes = append(t.notes, note{ruleBOM, "", `\ufeff`, ""})
	}
	open := openingFence.FindStringIndex(t.text)
	if open == nil {
		return t
	}
	before, fence, rest := t.text[:open[0]], t.text[open[0]:open[1]], t.text[open[1]:]
	fences := anyFence.FindAllStringIndex(rest, -1)
	if len(fences) > 1 || strings.ContainsAny(before, "{}") {
		return t
	}
	inner, after := rest, ""
	if len(fences) == 1 {
		inner, after = rest[:fences[0][0]], rest[fences[0][1]:]
		t.complete = true
	}
	if strings.ContainsAny(after, "{}") || !strings.HasPrefix(strings.TrimSpace(inner), "{") {
		t.complete = false
		return t
	}
	t.text = inner
	t.notes = append(t.notes, note{ruleFence, "", strings.TrimSpace(fence), ""})
	if around := strings.TrimSpace(before + strings.Trim(after, "`~ \t\r\n")); around != "" {
		t.notes = append(t.notes, note{ruleProse, "", around, ""})
	}
	return t
}

// plain reads a text that holds one document, with prose around it at most.
func (c *corrector) plain(t envelope) (*node, []note, bool) {
	return c.readable(parser{s: t.text}, nil)
}

// readable reads a document. told is told which brackets were added at its end.
func (c *corrector) readable(as parser, told func([]closed)) (*node, []note, bool) {
	s := as.s
	start := func(at int) (*node, *parser, bool) {
		p := new(as)
		p.i = at
		if !p.space() {
			return nil, p, false
		}
		root, ok := p.value()
		if told != nil {
			told(p.closed)
		}
		return root, p, ok
	}
	if root, p, ok := start(0); ok {
		switch p.rest() {
		case restNone:
			return root, p.notes, true
		case restProse:
			if root.kind == kindObject {
				return root, p.notes, true
			}
		}
		if root.kind != kindString {
			return nil, nil, false
		}
	}
	first := strings.IndexByte(s, '{')
	if first <= 0 || !c.prose(s[:first]) {
		return nil, nil, false
	}
	root, p, ok := start(first)
	if !ok || p.rest() == restUnclear {
		return nil, nil, false
	}
	rule := ruleProse
	if strings.Contains(s[:first], "```") {
		rule = ruleFence
	}
	return root, append([]note{{rule, "", strings.TrimSpace(s[:first]), ""}}, p.notes...), true
}

// member matches a piece of an object: what stands beside the payload then belongs to it, or it to that.
var member = regexp.MustCompile(`["'“”’]\s*:`)

// assigned matches a text that ends in a name and a colon, or so.
var assigned = regexp.MustCompile(`([\w$-]*)(["'“”’]?)\s*[:=]\s*$`)

// prose reports whether a text before the payload is nothing but words: no piece of the document that the payload may be a part of.
func (c *corrector) prose(before string) bool {
	if strings.Contains(before, "}") || member.MatchString(before) {
		return false
	}
	trimmed := strings.TrimSpace(before)
	if strings.HasSuffix(trimmed, "[") || strings.HasSuffix(trimmed, ",") {
		return false
	}
	if m := assigned.FindStringSubmatch(before); m != nil {
		if m[2] != "" || c.schema.mentions(fold(m[1])) {
			return false
		}
	}
	return true
}

type rest int

const (
	restNone rest = iota
	restProse
	restUnclear
)

// rest looks at what follows the document, and notes it.
func (p *parser) rest() rest {
	at := len(p.notes)
	if !p.space() {
		return restUnclear
	}
	after := p.s[p.i:]
	if after == "" {
		return restNone
	}
	p.notes = p.notes[:at] // what looks like a comment in prose is none
	switch {
	case strings.Trim(after, "}] \t\r\n") == "":
		p.notes = append(p.notes, note{ruleSurplus, "", strings.TrimSpace(after), ""})
		return restNone
	case strings.ContainsAny(after, "{}"), member.MatchString(after), strings.IndexByte(",:]\"'", after[0]) >= 0:
		return restUnclear
	}
	rule := ruleProse
	if strings.Contains(after, "```") {
		rule = ruleFence
	}
	p.notes = append(p.notes, note{rule, "", strings.TrimSpace(after), ""})
	return restProse
}

// unescaped reads {\"a\":1}: the inside of a JSON string, without its quotes.
func (c *corrector) unescaped(t envelope) (*node, []note, bool) {
	s := strings.TrimSpace(t.text)
	if !strings.HasPrefix(s, "{") || !strings.Contains(s, `\"`) {
		return nil, nil, false
	}
	inner, err := jsontext.AppendUnquote(nil, `"`+s+`"`)
	if err != nil {
		return nil, nil, false
	}
	p := &parser{s: string(inner)}
	root, ok := p.value()
	if !ok || p.rest() != restNone || len(p.notes) > 0 {
		return nil, nil, false
	}
	return root, []note{{ruleEscaped, "", s, string(inner)}}, true
}
