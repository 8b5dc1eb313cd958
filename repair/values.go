package repair

import (
	"slices"
	"strings"
)

// version is one way to read a value as the schema wants it, with the corrections that lead to it.
type version struct {
	node  *node
	notes []note // with paths below the value's own
	// certain is set where the type is right for sure, so that what is wrong inside is left to be told, or corrected, by itself.
	certain bool
}

func single(rule string, from, to *node) version {
	return version{node: to, notes: []note{{rule, "", string(from.json()), string(to.json())}}}
}

// versions lists the ways to read a value of another type as one of the schema's, without loss. None is checked against the schema's
// other rules, which is for the decoder to do.
func versions(n *node, s *schema, root *schema) []version {
	want := s.only()
	if n.kind == kindArray && want != "array" && want != "" {
		if len(n.elems) != 1 {
			return nil
		}
		var all []version
		for _, v := range fitting(n.elems[0], s, root) {
			unwrapped := single(ruleArrayOfOne, n, n.elems[0])
			all = append(all, version{v.node, append(unwrapped.notes, v.notes...), want == "object"})
		}
		return all
	}
	switch want {
	case "integer", "number":
		if digits := strings.TrimSpace(n.text); n.kind == kindString && isNumber(digits) {
			rule := map[string]string{"integer": ruleInteger, "number": ruleNumber}[want]
			return []version{single(rule, n, &node{kind: kindNumber, text: digits})}
		}
	case "boolean":
		if word := strings.ToLower(strings.TrimSpace(n.text)); n.kind == kindString && (word == "true" || word == "false") {
			return []version{single(ruleBoolean, n, &node{kind: kindBoolean, text: word})}
		}
	case "string":
		if n.kind == kindNumber && s.ContentEncoding == "" && plainInteger(n.text) {
			return []version{single(ruleString, n, &node{kind: kindString, text: n.text})}
		}
	case "object":
		if inner, notes, ok := jsonText(n, kindObject); ok {
			return []version{{inner, notes, true}}
		}
	case "array":
		var all []version
		if inner, notes, ok := jsonText(n, kindArray); ok {
			all = append(all, version{inner, notes, true})
		}
		if n.kind == kindNull {
			return nil
		}
		items := s.Items.resolve(root)
		for _, v := range fitting(n, items, root) {
			list := &node{kind: kindArray, elems: []*node{v.node}}
			notes := single(ruleArray, n, &node{kind: kindArray, elems: []*node{n}}).notes
			for _, x := range v.notes {
				x.path = "/0" + x.path
				notes = append(notes, x)
			}
			// An object with a field that the elements have is one of them, even if it is wrong in other ways.
			all = append(all, version{list, notes, items.is("object") && len(v.node.names) > 0 && plausible(v.node, items)})
		}
		return all
	}
	return nil
}

// fitting lists the ways to read a value as one of the schema's: as it is, where it has that type.
func fitting(n *node, s *schema, root *schema) []version {
	if s == nil || n.fits(s.only()) {
		if e, ok := s.listed(n); ok {
			return []version{single(ruleEnum, n, e)}
		}
		return []version{{node: n}}
	}
	return versions(n, s, root)
}

// fits reports whether n has a JSON type; "" is any.
func (n *node) fits(jsonType string) bool {
	switch jsonType {
	case "":
		return true
	case "integer", "number":
		return n.kind == kindNumber
	case "string":
		return n.kind == kindString
	case "boolean":
		return n.kind == kindBoolean
	}
	return byte(n.kind) == map[string]byte{"object": '{', "array": '['}[jsonType]
}

// maxDigits is how many digits of an integer every JSON library keeps.
const maxDigits = 15

// plainInteger reports whether a number has one spelling: an integer of up to 15 digits. Another one may have lost digits, or a zero at
// its end that a string would have, before it came here.
func plainInteger(s string) bool {
	s = strings.TrimPrefix(s, "-")
	return s != "" && len(s) <= maxDigits && digits(s) == s
}

// jsonText reads a string that holds an object or array as JSON text, broken in at most the ways that the syntax tier corrects.
func jsonText(n *node, want kind) (*node, []note, bool) {
	if n.kind != kindString {
		return nil, nil, false
	}
	p := &parser{s: n.text}
	if !p.space() {
		return nil, nil, false
	}
	inner, ok := p.value()
	if !ok || inner.kind != want || p.rest() != restNone {
		return nil, nil, false
	}
	rule := map[kind]string{kindObject: ruleJSONObject, kindArray: ruleJSONArray}[want]
	return inner, append(single(rule, n, inner).notes, p.notes...), true
}

// listed finds the enumerated value that a string stands for when only case, separators and white space around it differ.
func (s *schema) listed(n *node) (*node, bool) {
	if s == nil || n.kind != kindString || slices.Contains(s.Enum, any(n.text)) {
		return nil, false
	}
	folded, found := fold(n.text), (*node)(nil)
	if folded == "" {
		return nil, false
	}
	for _, e := range s.Enum {
		if e, ok := e.(string); ok && fold(e) == folded {
			if found != nil {
				return nil, false
			}
			found = &node{kind: kindString, text: e}
		}
	}
	return found, found != nil
}
