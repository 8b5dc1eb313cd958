package repair

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"toolsvc/tool"
)

// Repairer corrects a payload by understanding what was meant: a language model, usually. It is asked by [Model], which trusts nothing of
// its answer.
type Repairer interface {
	Repair(ctx context.Context, in RepairRequest) (RepairReply, error)
}

// RepairRequest is what a Repairer is told.
type RepairRequest struct {
	// Spec is the tool's; it has the description, the PayloadSchema and a valid Example.
	Spec *tool.Spec
	// Issues are what is wrong with Payload, secrets redacted.
	Issues tool.Issues
	// Payload is the latest attempt, and no earlier one: cheap, and without anything to be led astray by. It may be text that is not JSON.
	// Secrets in it are replaced by [tool.Redacted], which has to come back as it is.
	Payload json.RawMessage
	// Refusal says in one sentence why the last reply was refused; "" on the first attempt.
	Refusal string
	// Attempt counts from 1 to MaxModelAttempts.
	Attempt int
	// MaxTokens is what this attempt may use, input and output together.
	MaxTokens int64
}

// RepairReply is what a Repairer answers.
type RepairReply struct {
	// Payload is the corrected payload as a whole. The rules of the syntax tier apply to it.
	Payload json.RawMessage
	// Model names who answered.
	Model                     string
	InputTokens, OutputTokens int64
}

// MaxModelAttempts bounds how often a Repairer is asked about one payload.
const MaxModelAttempts = 2

// DefaultMaxTokens is the token budget of one payload where none is given.
const DefaultMaxTokens = 8192

// Model puts payloads to a Repairer.
type Model struct {
	Repairer Repairer
	// MaxTokens is the budget of one payload, over all attempts; 0 is DefaultMaxTokens.
	MaxTokens int64
	// Check finds the issues of a payload that decodes, such as conditions that do not compile; nil for none.
	Check func(text json.RawMessage, payload tool.Payload) tool.Issues
}

// ModelOutcome is what became of a payload, and what it cost.
type ModelOutcome struct {
	Outcome
	// Attempts is how often the Repairer was asked.
	Attempts int
	// Refusals say why replies were refused, or why the Repairer was not asked (again).
	Refusals                  []string
	Model                     string
	InputTokens, OutputTokens int64
}

// Correct asks the Repairer about a payload that still has issues, at most MaxModelAttempts times.
//
// A reply is accepted only when the decoder and Check accept it, and when it keeps everything that was stated and had no issue; of a
// text that could not be read, that is what stands before the break. It may change what an issue is about, add what an issue says is
// missing, and replace unknown fields by known ones beside them. What it changed is recorded with tier model. Otherwise the Outcome is
// the one that was given. It is not asked about secrets, which it does not see.
//
// The error is the Repairer's.
func (m Model) Correct(ctx context.Context, spec *tool.Spec, out Outcome) (ModelOutcome, error) {
	result := ModelOutcome{Outcome: out}
	if out.OK() {
		return result, nil
	}
	c := &corrector{spec: spec, schema: schemaOf(spec)}
	stated, ok := c.readStated(out)
	if !ok {
		result.Refusals = append(result.Refusals, "The model was not asked, because the text holds more than one payload, and only the caller knows which one is meant.")
		return result, nil
	}
	latest, hidden, shown := c.hide(out.Payload, &stated)
	if !shown || slices.ContainsFunc(out.Issues, c.aboutSecret) {
		result.Refusals = append(result.Refusals, "The model was not asked, because the issues concern a secret, which it may not see.")
		return result, nil
	}
	budget := m.MaxTokens
	if budget <= 0 {
		budget = DefaultMaxTokens
	}
	request := RepairRequest{Spec: spec, Issues: out.Issues, Payload: latest}
	for request.Attempt = 1; request.Attempt <= MaxModelAttempts; request.Attempt++ {
		request.MaxTokens = budget - result.InputTokens - result.OutputTokens
		if request.MaxTokens <= 0 {
			result.Refusals = append(result.Refusals, fmt.Sprintf("The model was not asked again, because the budget of %d tokens is used up.", budget))
			break
		}
		reply, err := m.Repairer.Repair(ctx, request)
		if err != nil {
			return result, fmt.Errorf("ask a model to repair the payload of %s: %w", spec.ID, err)
		}
		result.Attempts++
		result.Model = reply.Model
		result.InputTokens += reply.InputTokens
		result.OutputTokens += reply.OutputTokens
		next, refusal, attempt := m.judge(c, stated, hidden, latest, reply.Payload)
		if refusal == "" {
			next.Repairs = append(slices.Clone(out.Repairs), next.Repairs...)
			result.Outcome = next
			return result, nil
		}
		result.Refusals = append(result.Refusals, refusal)
		request.Refusal = refusal
		if attempt != nil { // it kept what has to be kept: go on from there
			request.Issues = next.Issues
			request.Payload, latest = attempt, attempt
		}
	}
	return result, nil
}

// judge decides on a reply. It returns a refusal in one sentence, or "". A refused reply that at least keeps what has to be kept is
// returned as the next attempt, without its secrets.
func (m Model) judge(c *corrector, before stated, hidden map[string]*node, latest, reply []byte) (out Outcome, refusal string, attempt []byte) {
	root, _, ok := c.read(reply)
	if !ok || root.kind != kindObject {
		return out, "The reply of the model was not a JSON object.", nil
	}
	shown := root.clone()
	if a, _, ok := c.read(latest); ok && a.equal(root) {
		return out, "The model changed nothing.", nil
	}
	if !reveal(root, hidden) {
		return out, "The model changed a secret, which it cannot see.", nil
	}
	if bad := before.forbidden(diff(before.root, root, "")); bad != "" {
		return out, fmt.Sprintf("The model changed %s, with which nothing was wrong.", bad), nil
	}
	out = c.decode(root)
	if out.OK() && m.Check != nil {
		if out.Issues = m.Check(out.Payload, out.Value); !out.OK() {
			out.Value = nil
		}
	}
	if !out.OK() {
		return out, "The reply of the model is not valid either: " + out.Issues[0].Message, shown.json()
	}
	out.Repairs = c.changes(diff(before.shown, shown, ""), TierModel)
	return out, "", nil
}

// Changes lists by what a payload differs from an earlier one, place by place, as repairs of a tier: what a person answered, for instance.
// A text that is not JSON has no places.
func Changes(spec *tool.Spec, before, after []byte, tier string) []tool.Repair {
	c := &corrector{spec: spec, schema: schemaOf(spec)}
	a, _, okA := c.read(before)
	b, _, okB := c.read(after)
	if !okA || !okB {
		return []tool.Repair{c.record(note{ruleChanged, "", string(before), string(after)}, tier)}
	}
	return c.changes(diff(a, b, ""), tier)
}

// hide replaces the secrets of a payload, and what may be one, by [tool.Redacted]. It returns them by their places.
func (c *corrector) hide(payload []byte, s *stated) (text []byte, hidden map[string]*node, ok bool) {
	s.shown = s.root
	if len(c.spec.Secrets) == 0 {
		return payload, nil, true
	}
	if s.broken {
		return nil, nil, false // nobody can tell where the secrets stand
	}
	root := s.root.clone()
	hidden = map[string]*node{}
	var walk func(n *node, path string)
	walk = func(n *node, path string) {
		if c.exactlySecret(path) || path != "" && c.schema.at(path) == nil {
			original := *n
			hidden[path] = &original
			*n = node{kind: kindString, text: tool.Redacted}
			return
		}
		for i, e := range n.elems {
			walk(e, n.place(path, i))
		}
	}
	walk(root, "")
	s.shown = root
	return root.json(), hidden, true
}

// exactlySecret reports whether the design calls the value at a place a secret.
func (c *corrector) exactlySecret(path string) bool {
	at := tokens(path)
	return slices.ContainsFunc(c.spec.Secrets, func(s string) bool {
		secret := tokens(s)
		if len(secret) > len(at) {
			return false
		}
		for i, token := range secret {
			if token != "*" && token != at[i] {
				return false
			}
		}
		return true
	})
}

// aboutSecret reports whether an issue can only be mended by knowing a secret.
func (c *corrector) aboutSecret(i tool.Issue) bool { return c.exactlySecret(i.Path) }

// reveal puts secrets back where they were, or, when a single one of them has moved, where it is now. It reports false when one was
// changed.
func reveal(root *node, hidden map[string]*node) bool {
	placeholders := map[string]*node{}
	var walk func(n *node, path string)
	walk = func(n *node, path string) {
		if n.kind == kindString && n.text == tool.Redacted {
			placeholders[path] = n
		}
		for i, e := range n.elems {
			walk(e, n.place(path, i))
		}
	}
	walk(root, "")
	var gone []*node
	for path, original := range hidden {
		if p := placeholders[path]; p != nil {
			*p = *original
			delete(placeholders, path)
			continue
		}
		if root.at(path) != nil {
			return false
		}
		gone = append(gone, original)
	}
	if len(placeholders) == 1 && len(gone) == 1 {
		for path, p := range placeholders {
			*p = *gone[0]
			delete(placeholders, path)
		}
		return true
	}
	return hidden == nil || len(placeholders) == 0 && len(gone) == 0
}

// place is the pointer of the i-th element or member.
func (n *node) place(path string, i int) string {
	if n.kind == kindObject {
		return child(path, n.names[i])
	}
	return fmt.Sprintf("%s/%d", path, i)
}

// stated is what a payload says, as far as it can be read.
type stated struct {
	root *node
	// shown is root without secrets.
	shown *node
	// issues are about places that may change.
	issues tool.Issues
	// broken says that the text could not be read to its end; from there on it may continue in any way, in the containers that hold breaks.
	broken bool
	breaks string
}

// readStated reads what a payload states without doubt. Where the text breaks off, that is all that is complete before; where it breaks
// inside, what stands right before the break is in doubt, because it may be what is wrong: a quote inside a string ends it too early.
//
// ok is false for a text that goes on after a whole payload.
func (c *corrector) readStated(out Outcome) (s stated, ok bool) {
	s = stated{issues: out.Issues}
	if root, _, ok := c.read(out.Payload); ok {
		s.root = root
		return s, true
	}
	s.broken = true
	first := strings.IndexByte(string(out.Payload), '{')
	if first < 0 {
		s.root = &node{kind: kindObject}
		return s, true
	}
	p := &parser{s: string(out.Payload), i: first}
	root, whole := p.value()
	if whole {
		return s, false
	}
	s.root, s.breaks = root, pointer(p.path)
	if !p.ended {
		holder := root
		for _, token := range p.path { // the innermost container that was read into
			next := holder.at(child("", token))
			if next == nil || next.kind != kindObject && next.kind != kindArray {
				break
			}
			holder = next
		}
		if n := len(holder.elems); n > 0 {
			holder.elems = holder.elems[:n-1]
			if holder.kind == kindObject {
				holder.names = holder.names[:n-1]
			}
		}
	}
	return s, true
}

// forbidden names the first change of something with which nothing was wrong, "" when there is none.
func (s stated) forbidden(changes []change) string {
	// Each unknown field that is gone lets one field be added beside it.
	replaced := map[string]int{}
	for _, ch := range changes {
		holder, _ := parent(ch.path)
		if ch.to == nil && s.has(ch.path, "additionalProperties", "propertyNames") {
			replaced[holder]++
		}
	}
	for _, ch := range changes {
		holder, name := parent(ch.path)
		switch {
		case s.allows(ch.path, name, holder):
		case ch.from == nil && s.broken && within(s.breaks, holder):
		case ch.from == nil && replaced[holder] > 0:
			replaced[holder]--
		default:
			if ch.path == "" {
				return "the whole payload"
			}
			return ch.path
		}
	}
	return ""
}

func (s stated) has(path string, constraints ...string) bool {
	return slices.ContainsFunc(s.issues, func(i tool.Issue) bool { return i.Path == path && slices.Contains(constraints, i.Constraint) })
}

// allows reports whether an issue is about a place.
func (s stated) allows(path, name, holder string) bool {
	return slices.ContainsFunc(s.issues, func(i tool.Issue) bool {
		switch i.Constraint {
		case tool.ConstraintSyntax:
			return s.broken && i.Path != "" && i.Path == path
		case "anyOf", "oneOf":
			return holder == i.Path && slices.Contains(i.Allowed, name)
		}
		return within(path, i.Path)
	})
}

// change is a place at which two documents differ. From is nil where it was added, to where it was removed.
type change struct {
	path     string
	from, to *node
}

// diff lists the places at which two documents differ, as deep as their kinds agree.
func diff(a, b *node, path string) (changes []change) {
	switch {
	case a.kind == kindObject && b.kind == kindObject:
		for i, name := range a.names {
			if j := b.index(name); j >= 0 {
				changes = append(changes, diff(a.elems[i], b.elems[j], child(path, name))...)
			} else {
				changes = append(changes, change{child(path, name), a.elems[i], nil})
			}
		}
		for i, name := range b.names {
			if !slices.Contains(a.names, name) {
				changes = append(changes, change{child(path, name), nil, b.elems[i]})
			}
		}
	case a.kind == kindArray && b.kind == kindArray:
		for i := range max(len(a.elems), len(b.elems)) {
			at := fmt.Sprintf("%s/%d", path, i)
			switch {
			case i >= len(a.elems):
				changes = append(changes, change{at, nil, b.elems[i]})
			case i >= len(b.elems):
				changes = append(changes, change{at, a.elems[i], nil})
			default:
				changes = append(changes, diff(a.elems[i], b.elems[i], at)...)
			}
		}
	case !a.equal(b):
		changes = []change{{path, a, b}}
	}
	return changes
}

// changes are the repairs that a diff amounts to, MaxRepairs at most.
func (c *corrector) changes(all []change, tier string) []tool.Repair {
	var repairs []tool.Repair
	for _, ch := range all[:min(len(all), MaxRepairs)] {
		n := note{rule: ruleChanged, path: ch.path}
		switch {
		case ch.from == nil:
			n.rule = ruleAdded
		case ch.to == nil:
			n.rule = ruleRemoved
		}
		if ch.from != nil {
			n.from = string(ch.from.json())
		}
		if ch.to != nil {
			n.to = string(ch.to.json())
		}
		repairs = append(repairs, c.record(n, tier))
	}
	return repairs
}
