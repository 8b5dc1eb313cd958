package repair

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"toolsvc/tool"
)

// note is a correction before it is redacted. From and to are JSON, or the text as it stood there.
type note struct{ rule, path, from, to string }

// parser reads JSON and what is commonly written for it, as long as it has one reading. What it lets pass it notes.
type parser struct {
	s string
	i int
	// closing lets brackets that are missing at the end of the text be added after a complete value.
	closing bool
	// commas says that none may be missing.
	commas bool
	// added is the place of a bracket that was added to the text, to be noted; 0 for none, because no text starts with one.
	added int

	path  []string
	notes []note
	// ended is set when the text ended too early.
	ended bool
	// closed are the containers that were closed at the end of the text.
	closed []closed
}

type closed struct {
	path string
	node *node
}

func (p *parser) note(rule, from, to string) {
	p.notes = append(p.notes, note{rule, pointer(p.path), from, to})
}

// space skips white space and comments. It reports false for a comment without an end.
func (p *parser) space() bool {
	for p.i < len(p.s) {
		rest := p.s[p.i:]
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			p.i++
		case strings.HasPrefix(rest, "//"), rest[0] == '#':
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			p.note(ruleComment, rest[:n], "")
			p.i += n
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest, "*/")
			if n < 0 {
				p.ended = true
				return false
			}
			p.note(ruleComment, rest[:n+2], "")
			p.i += n + 2
		default:
			n := oddSpace(rest)
			if n == 0 {
				return true
			}
			p.note(ruleSpace, strconv.QuoteToASCII(rest[:n]), " ")
			p.i += n
		}
	}
	return true
}

// oddSpace is the length of a space at the start of s that JSON does not know, 0 when there is none.
func oddSpace(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	switch r {
	case '\u00a0', '\u200b', '\u2028', '\u2029', '\u202f', '\u3000', '\ufeff', '\v', '\f':
		return n
	}
	return 0
}

// value reads the next value. Where it fails, the node holds what was complete before.
func (p *parser) value() (*node, bool) {
	if p.i >= len(p.s) {
		p.ended = true
		return nil, false
	}
	switch c := p.s[p.i]; {
	case c == '{':
		return p.container(kindObject)
	case c == '[':
		return p.container(kindArray)
	case quoteAt(p.s[p.i:]) != nil:
		s, ok := p.quoted()
		if !ok {
			return nil, false
		}
		return &node{kind: kindString, text: s}, true
	case c == '-' || c == '+' || c == '.' || '0' <= c && c <= '9':
		return p.number()
	}
	return p.literal()
}

// container reads an object or array.
func (p *parser) container(k kind) (*node, bool) {
	n := &node{kind: k}
	if len(p.path) >= tool.MaxDepth {
		return n, false
	}
	end := byte(k) + 2
	p.i++
	if !p.space() {
		return n, false
	}
	if p.i < len(p.s) && p.s[p.i] == end {
		p.close(end)
		return n, true
	}
	for {
		name := strconv.Itoa(len(n.elems))
		if k == kindObject {
			var ok bool
			if name, ok = p.key(); !ok {
				return n, false
			}
		}
		p.path = append(p.path, name)
		if k == kindObject && !p.space() {
			return n, false
		}
		v, ok := p.value()
		if v != nil && (ok || len(v.elems) > 0) {
			n.elems = append(n.elems, v)
			if k == kindObject {
				n.names = append(n.names, name)
			}
		}
		if !ok {
			return n, false
		}
		p.path = p.path[:len(p.path)-1]
		before := p.i
		if !p.space() {
			return n, false
		}
		switch more, ok := p.separator(n, end, p.i > before); {
		case !ok:
			return n, false
		case !more:
			p.unify(n)
			return n, true
		}
	}
}

// separator reads what follows a member or element: a comma, the end, or neither, where a comma was forgotten. spaced says that white
// space stands before it.
func (p *parser) separator(n *node, end byte, spaced bool) (more, ok bool) {
	if p.i >= len(p.s) {
		p.ended = true
		if p.closing {
			p.note(ruleBracket, "", string(end))
			p.closed = append(p.closed, closed{pointer(p.path), n})
		}
		return false, p.closing
	}
	last := n.elems[len(n.elems)-1].kind
	switch c := p.s[p.i]; {
	case c == end:
		p.close(end)
		return false, true
	case c == ',':
		comma := p.i
		p.i++
		if !p.space() {
			return false, false
		}
		if p.i < len(p.s) && p.s[p.i] == end {
			p.note(ruleTrailing, p.s[comma:comma+1], "")
			p.i++
			return false, true
		}
		return true, true
	case p.commas:
	case n.kind == kindObject && (quoteAt(p.s[p.i:]) != nil && (spaced || last != kindString) || letter(c) && spaced):
		// Only a key can follow here; container makes sure of its colon.
		p.note(ruleComma, "", ",")
		return true, true
	case n.kind == kindArray && (last == kindObject || last == kindArray) && (c == '{' || c == '['):
		p.note(ruleComma, "", ",")
		return true, true
	}
	return false, false
}

// close reads a closing bracket.
func (p *parser) close(end byte) {
	if p.added > 0 && p.i == p.added {
		p.note(ruleBracket, "", string(end))
	}
	p.i++
}

// key reads the name of a member and its colon.
func (p *parser) key() (string, bool) {
	if p.i >= len(p.s) {
		p.ended = true
		return "", false
	}
	var name string
	if quoteAt(p.s[p.i:]) != nil {
		at := len(p.notes)
		s, ok := p.quoted()
		if !ok || slices.ContainsFunc(p.notes[at:], func(n note) bool { return n.rule == ruleControl }) {
			return "", false // a line break in a key is more likely a quote that was forgotten
		}
		name = s
	} else {
		from := p.i
		for p.i < len(p.s) && (letter(p.s[p.i]) || p.i > from && (p.s[p.i] == '-' || '0' <= p.s[p.i] && p.s[p.i] <= '9')) {
			p.i++
		}
		if name = p.s[from:p.i]; name == "" {
			return "", false
		}
		p.note(ruleUnquoted, name, string(appendQuoted(nil, name)))
	}
	if !p.space() {
		return "", false
	}
	if p.i >= len(p.s) || p.s[p.i] != ':' {
		p.ended = p.i >= len(p.s)
		return "", false
	}
	p.i++
	return name, true
}

func letter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '$'
}

// quotes are the pairs that enclose a string. What must not stand between them, because nobody could tell where the string ends, is
// in not.
type quotes struct{ open, closers, not, rule string }

var allQuotes = []*quotes{
	{open: `"`, closers: `"`},
	{open: `'`, closers: `'`, rule: ruleSingle},
	{open: "“", closers: "”", not: `"“„‟`, rule: ruleSmart},
	{open: "”", closers: "”", not: `"“„‟`, rule: ruleSmart},
	{open: "„", closers: "“”", not: `"„‟`, rule: ruleSmart},
	{open: "‘", closers: "’", not: `'‘‚‛`, rule: ruleSmart},
	{open: "’", closers: "’", not: `'‘‚‛`, rule: ruleSmart},
}

func quoteAt(s string) *quotes {
	for _, q := range allQuotes {
		if strings.HasPrefix(s, q.open) {
			return q
		}
	}
	return nil
}

// quoted reads a string between any quotes.
func (p *parser) quoted() (string, bool) {
	q := quoteAt(p.s[p.i:])
	from := p.i
	p.i += len(q.open)
	body := []byte{'"'} // the string as JSON
	control := false
	for p.i < len(p.s) {
		r, n := utf8.DecodeRuneInString(p.s[p.i:])
		c := p.s[p.i : p.i+n]
		switch {
		case strings.Contains(q.closers, c):
			p.i += n
			out, err := jsontext.AppendUnquote(nil, append(body, '"'))
			if err != nil { // an escape that JSON does not have
				return "", false
			}
			if q.rule != "" {
				p.note(q.rule, p.s[from:p.i], string(appendQuoted(nil, string(out))))
			}
			if control {
				p.note(ruleControl, p.s[from:p.i], string(appendQuoted(nil, string(out))))
			}
			return string(out), true
		case q.not != "" && strings.Contains(q.not, c):
			return "", false
		case c == `\`:
			if p.i+1 >= len(p.s) {
				p.ended = true
				return "", false
			}
			if next := p.s[p.i+1]; next == '\'' && q.open == "'" {
				body = append(body, '\'')
			} else {
				body = append(body, '\\', next) // AppendUnquote knows which are allowed
			}
			p.i += 2
			if p.s[p.i-1] >= utf8.RuneSelf {
				return "", false
			}
		case c == `"`: // inside other quotes
			body = append(body, `\"`...)
			p.i++
		case r < ' ':
			if r == 0 {
				return "", false
			}
			control = true
			body = append(body, appendQuoted(nil, c)[1:]...)
			body = body[:len(body)-1]
			p.i++
		default:
			body = append(body, c...)
			p.i += n
		}
	}
	p.ended = true
	return "", false
}

// number reads a number: JSON's, or one with a plus sign, without a digit before the point, or without one after it.
func (p *parser) number() (*node, bool) {
	from := p.i
	for p.i < len(p.s) && strings.IndexByte("+-.eE0123456789", p.s[p.i]) >= 0 {
		p.i++
	}
	if p.i >= len(p.s) { // more digits could follow
		p.ended = true
		return nil, false
	}
	if strings.IndexByte(" \t\r\n,]}/#", p.s[p.i]) < 0 && oddSpace(p.s[p.i:]) == 0 {
		return nil, false
	}
	digits := p.s[from:p.i]
	if !isNumber(digits) {
		plain, plus := strings.CutPrefix(digits, "+")
		sign := ""
		if rest, ok := strings.CutPrefix(plain, "-"); ok && !plus {
			sign, plain = "-", rest
		}
		if strings.HasPrefix(plain, ".") {
			plain = "0" + plain
		} else if s, ok := strings.CutSuffix(plain, "."); ok {
			plain = s
		}
		plain = sign + plain
		if strings.HasPrefix(digits, "+-") || !isNumber(plain) {
			return nil, false
		}
		p.note(ruleNumberForm, digits, plain)
		digits = plain
	}
	return &node{kind: kindNumber, text: digits}, true
}

// isNumber reports whether s is a number as JSON writes it.
func isNumber(s string) bool {
	return s != "" && s[0] <= '9' && s[0] != '"' && jsontext.Value(s).IsValid() && strings.TrimSpace(s) == s
}

// literals are JSON's and Python's.
var literals = map[string]node{
	"null": {kind: kindNull}, "true": {kind: kindBoolean, text: "true"}, "false": {kind: kindBoolean, text: "false"},
	"None": {kind: kindNull}, "True": {kind: kindBoolean, text: "true"}, "False": {kind: kindBoolean, text: "false"},
}

func (p *parser) literal() (*node, bool) {
	from := p.i
	for p.i < len(p.s) && (letter(p.s[p.i]) || '0' <= p.s[p.i] && p.s[p.i] <= '9') {
		p.i++
	}
	word := p.s[from:p.i]
	n, ok := literals[word]
	if !ok {
		p.ended = p.i >= len(p.s)
		return nil, false
	}
	if word[0] < 'a' {
		p.note(rulePython, word, string(n.json()))
	}
	return &n, true
}

// unify keeps one of the members of an object that have the same name and the same value.
func (p *parser) unify(n *node) {
	if n.kind != kindObject || len(n.names) < 2 {
		return
	}
	first := make(map[string]int, len(n.names))
	names, elems := n.names[:0], n.elems[:0]
	for i, name := range n.names {
		e := n.elems[i]
		if j, twice := first[name]; twice && elems[j].equal(e) {
			p.notes = append(p.notes, note{ruleDuplicate, child(pointer(p.path), name), string(e.json()), string(e.json())})
			continue
		} else if !twice {
			first[name] = len(names)
		}
		names, elems = append(names, name), append(elems, e)
	}
	n.names, n.elems = names, elems
}
