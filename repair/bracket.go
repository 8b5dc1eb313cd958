package repair

import (
	"slices"
	"strings"
)

// bracket reads a document that lacks brackets: one somewhere inside, or some at its end.
//
// It completes the text in every way that adds one bracket and closes what is still open at the end, and drops the ways that the design
// contradicts. One reading has to be left, and it has to be valid. Where it adds brackets at the end of the text, that the document ends
// there has to be certain as well: otherwise the text may have been cut off, and what is lost would be taken for absent. It is certain
// where the sender went on after the document, or where nothing more could be added to what is still open.
func (c *corrector) bracket(t envelope) (*node, []note, bool) {
	s := t.text
	if len(s) > maxBracketText || !strings.HasPrefix(strings.TrimSpace(s), "{") {
		return nil, nil, false
	}
	places := afterValues(s)
	if len(places) > maxBracketPlaces {
		return nil, nil, false
	}
	var found []reading
	try := func(text string, added int) {
		certain := true
		root, notes, ok := c.readable(parser{s: text, closing: true, added: added, commas: true}, func(open []closed) {
			for _, o := range open {
				certain = certain && (t.complete || c.schema.at(o.path).full(o.node))
			}
		})
		used := func(n note) bool { return n.rule == ruleBracket } // it may also have fallen into words around the document
		if !ok || root.kind != kindObject || !slices.ContainsFunc(notes, used) {
			return
		}
		for _, other := range found {
			if other.root.equal(root) {
				return
			}
		}
		out := c.decode(root)
		for _, i := range out.Issues {
			if !lack[i.Constraint] {
				return
			}
		}
		found = append(found, reading{root, notes, certain && out.OK()})
	}
	try(s, 0)
	for _, at := range places {
		if strings.TrimSpace(s[at:]) == "" {
			continue // closing the end does it
		}
		for _, b := range []string{"}", "]"} {
			try(s[:at]+b+s[at:], at)
		}
	}
	if len(found) != 1 || !found[0].sound {
		return nil, nil, false
	}
	return found[0].root, found[0].notes, true
}

// reading is one way to complete a text.
type reading struct {
	root  *node
	notes []note
	// sound says that it is valid, and that nothing can have been cut off.
	sound bool
}

// lack are the constraints that a document breaks by what it does not have: a text that was cut off may have had it.
var lack = map[string]bool{"required": true, "anyOf": true, "oneOf": true, "minItems": true, "minProperties": true}

// afterValues lists the places in a text after which a bracket can be missing: behind strings, words, numbers and brackets.
func afterValues(s string) (places []int) {
	for i := 0; i < len(s) && len(places) <= maxBracketPlaces; {
		switch c := s[i]; {
		case c == '"' || c == '\'':
			i++
			for i < len(s) && s[i] != c {
				if s[i] == '\\' {
					i++
				}
				i++
			}
			i = min(i+1, len(s))
			places = append(places, i)
		case letter(c) || '0' <= c && c <= '9':
			for i < len(s) && strings.IndexByte(" \t\r\n,:[]{}\"'", s[i]) < 0 {
				i++
			}
			places = append(places, i)
		case c == '}' || c == ']' || c == '[' || c == '{':
			i++
			places = append(places, i)
		default:
			i++
		}
	}
	return places
}
