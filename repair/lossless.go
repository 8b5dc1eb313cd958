package repair

import (
	"cmp"
	"slices"
	"strings"

	"toolsvc/tool"
)

// edit is one correction that the lossless tier may make.
type edit struct {
	rule string
	at   string // the place in the document before the edit
	path string // and after it
	// node replaces what stands there; nil drops it. A name renames it instead.
	node *node
	name string
	// notes are the corrections that node is the result of; their paths are below path.
	notes []note
	// certain edits are right although the value may break other rules, which are then looked at by themselves. Others are made only when
	// nothing is wrong with the value afterwards.
	certain bool
}

// lossless corrects a document round by round until it is valid or nothing more can be done. Out is what the document decodes to.
func (c *corrector) lossless(root *node, out Outcome) Outcome {
	refused := map[string]bool{}
	for range maxRounds {
		edits := c.settle(root, out.Issues, c.propose(root, out.Issues, refused), refused)
		if len(edits) == 0 || len(out.Repairs)+len(edits) > MaxRepairs {
			break
		}
		root = apply(root, edits)
		next := c.decode(root)
		next.Repairs = out.Repairs
		for _, e := range edits {
			for _, n := range e.notes {
				n.path = e.path + n.path
				next.Repairs = append(next.Repairs, c.record(n, TierLossless))
			}
		}
		if out = next; out.OK() {
			break
		}
	}
	return out
}

// propose lists the corrections of places that have issues. Places with several readings are settled by trying them.
func (c *corrector) propose(root *node, issues tool.Issues, refused map[string]bool) []edit {
	var edits []edit
	add := func(e edit) {
		same := func(o edit) bool { return o.at == e.at }
		if !refused[e.key()] && !slices.ContainsFunc(edits, same) {
			edits = append(edits, e)
		}
	}
	trials := 0
	for _, issue := range issues {
		switch found := c.corrections(root, issue); {
		case len(found) == 1:
			add(found[0])
		case len(found) > 1 && trials < maxTrials:
			trials++
			if e, ok := c.onlyValid(root, issues, found); ok {
				add(e)
			}
		}
	}
	return edits
}

func (e edit) key() string { return e.rule + " " + e.at }

// corrections lists the readings of the place of one issue.
func (c *corrector) corrections(root *node, issue tool.Issue) []edit {
	at := issue.Path
	n := root.at(at)
	if n == nil && issue.Constraint != "additionalProperties" {
		return nil
	}
	s := c.schema.at(at)
	switch issue.Constraint {
	case "type":
		if n.kind == kindNull {
			return c.absent(root, at)
		}
		if s == nil {
			return nil
		}
		var edits []edit
		for _, v := range versions(n, s, c.schema) {
			if v.notes[0].rule == ruleArray && c.several(root, at) {
				continue
			}
			edits = append(edits, edit{rule: v.notes[0].rule, at: at, path: at, node: v.node, notes: v.notes, certain: v.certain})
		}
		return edits
	case "enum":
		if e, ok := s.listed(n); ok {
			return []edit{replacement(ruleEnum, at, n, e)}
		}
	case "format":
		f, ok := issue.Limit.(string)
		if !ok || n.kind != kindString {
			return nil
		}
		if rule, out, ok := formatted(n.text, tool.Format(f)); ok {
			return []edit{replacement(rule, at, n, &node{kind: kindString, text: out})}
		}
	case "additionalProperties":
		return c.unknown(root, at)
	}
	return nil
}

// several reports whether a value is one of several elements of an array that holds no array yet: where [1, 2] stands for an array of
// arrays, that may be [[1, 2]] or [[1], [2]].
func (c *corrector) several(root *node, at string) bool {
	path, _ := parent(at)
	holder := root.at(path)
	if at == "" || holder.kind != kindArray || len(holder.elems) < 2 {
		return false
	}
	return !slices.ContainsFunc(holder.elems, func(e *node) bool { return e.kind == kindArray })
}

func replacement(rule, at string, from, to *node) edit {
	v := single(rule, from, to)
	return edit{rule: rule, at: at, path: at, node: to, notes: v.notes}
}

// absent reads null as the absence of an optional field.
func (c *corrector) absent(root *node, at string) []edit {
	holder, name := parent(at)
	s := c.schema.at(holder)
	if at == "" || s == nil || s.Properties[name] == nil || slices.Contains(s.Required, name) || root.at(holder).kind != kindObject {
		return nil
	}
	return []edit{{rule: ruleNull, at: at, path: at, notes: []note{{ruleNull, "", "null", ""}}}}
}

// unknown reads a name that the design does not know: as another spelling of a field, or as that of an envelope.
func (c *corrector) unknown(root *node, at string) []edit {
	holder, name := parent(at)
	o, s := root.at(holder), c.schema.at(holder)
	if o == nil || s == nil || o.kind != kindObject || o.index(name) < 0 {
		return nil
	}
	if holder == "" {
		if inner, path, ok := unwrap(root, s, c.spec.ID); ok {
			v := single(ruleUnwrapped, root, inner)
			v.notes[0].from = strings.Replace(v.notes[0].from, string(inner.json()), "…", 1)
			return []edit{{rule: ruleUnwrapped + " " + path, at: "", path: "", node: inner, notes: v.notes, certain: true}}
		}
	}
	rename := func(rule, known string, certain bool) []edit {
		from, to := string(appendQuoted(nil, name)), string(appendQuoted(nil, known))
		return []edit{{rule: rule, at: at, path: child(holder, known), name: known, notes: []note{{rule, "", from, to}}, certain: certain}}
	}
	if known, ok := spelling(name, o.names, s); ok {
		return rename(ruleSpelling, known, true)
	}
	if known, ok := misspelt(name, o.names, s); ok {
		return rename(ruleMisspelt, known, false)
	}
	return nil
}

// onlyValid returns the one edit of several that leaves nothing wrong at its place.
func (c *corrector) onlyValid(root *node, issues tool.Issues, edits []edit) (edit, bool) {
	var sound []edit
	for _, e := range edits {
		if !e.breaks(issues, c.decode(apply(root, []edit{e})).Issues) {
			sound = append(sound, e)
		}
	}
	if len(sound) != 1 {
		return edit{}, false
	}
	return sound[0], true
}

// settle makes the edits together and drops those that leave something wrong, until none does, or gives up.
func (c *corrector) settle(root *node, issues tool.Issues, edits []edit, refused map[string]bool) []edit {
	for range maxRounds {
		after := c.decode(apply(root, edits)).Issues
		kept := slices.DeleteFunc(slices.Clone(edits), func(e edit) bool {
			bad := e.breaks(issues, after)
			if bad {
				refused[e.key()] = true
			}
			return bad
		})
		if len(kept) == len(edits) {
			return kept
		}
		if edits = kept; len(edits) == 0 {
			break
		}
	}
	return nil
}

// breaks reports whether an edit leaves something wrong: at its place; inside the value, unless it is certain; or around it, where
// nothing was wrong before.
func (e edit) breaks(before, after tool.Issues) bool {
	around, _ := parent(e.path)
	for _, i := range after {
		had := slices.ContainsFunc(before, func(b tool.Issue) bool { return b.Path == i.Path && b.Constraint == i.Constraint })
		switch {
		case e.path != "" && i.Path == around && !had, i.Constraint == tool.ConstraintSyntax, i.Constraint == tool.ConstraintMaxBytes:
			return true
		case !within(i.Path, e.path):
		case !e.certain:
			return true
		case i.Path == e.path && (i.Constraint == tool.ConstraintDuplicate || i.Constraint == "type" && e.name == "" && had):
			return true
		}
	}
	return false
}

// apply makes edits in a copy of a document, the deepest first, so that the places of the others stay where they are.
func apply(root *node, edits []edit) *node {
	root = root.clone()
	deepest := slices.Clone(edits)
	slices.SortStableFunc(deepest, func(a, b edit) int { return -cmp.Compare(strings.Count(a.at, "/"), strings.Count(b.at, "/")) })
	for _, e := range deepest {
		if e.at == "" {
			root = e.node.clone()
			continue
		}
		if e.node != nil {
			*root.at(e.at) = *e.node.clone()
			continue
		}
		holder, name := parent(e.at)
		o := root.at(holder)
		i := o.index(name)
		if e.name != "" {
			o.names[i] = e.name
			continue
		}
		o.names, o.elems = slices.Delete(o.names, i, i+1), slices.Delete(o.elems, i, i+1)
	}
	return root
}
