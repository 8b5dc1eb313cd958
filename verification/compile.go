package verification

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"toolsvc/tool"
)

// DefaultThreshold is the least confidence that counts as success when a caller sets no other.
const DefaultThreshold = 0.7

// Conditions are the compiled conditions of one call: what must hold before it, and after it. They are safe for concurrent use once
// Threshold is set.
type Conditions struct {
	// Threshold is reported with every verdict: the least confidence that counts as success, between 0 and 1. Deterministic verdicts
	// have confidence 1, or 0 when they are uncertain.
	Threshold float64

	spec      *tool.Spec
	args      any
	pre, post []*condition
	own       int // how many of post are the tool's own; the caller's come behind them
	needs     tool.Needs
}

// HasPreconditions reports whether anything must hold before the call.
func (c *Conditions) HasPreconditions() bool { return len(c.pre) > 0 }

// HasPostconditions reports whether anything must hold after the call. Without, no verdict can be success.
func (c *Conditions) HasPostconditions() bool { return len(c.post) > 0 }

// Needs says which costly evidence the conditions read, before the call or after it.
func (c *Conditions) Needs() tool.Needs { return c.needs }

// Compile compiles the conditions of a call: the preconditions and postconditions of its tool, and the caller's expectations. args is
// the payload with its defaults filled in. The issues are all problems of all conditions; a problem of an expectation has the path
// /expect/<i>, one of the tool's own conditions /preconditions/<i> or /postconditions/<i>. Conditions are nil when there is an issue.
//
// A spec must not change once it was compiled: what is compiled is kept.
func Compile(spec *tool.Spec, args json.RawMessage, expectations []string) (*Conditions, tool.Issues) {
	c, issues := CompilePreconditions(spec, args)
	if c == nil { // compile the rest for its issues
		values, unreadable := decodeArgs(args)
		if unreadable != nil {
			return nil, unreadable
		}
		c = &Conditions{spec: spec, args: values}
	}
	l := languageOf(spec)
	own, more := l.own(after)
	issues = append(issues, more...)
	c.post, c.own = slices.Clone(own), len(own)
	if len(expectations) > MaxExpectations {
		issues = append(issues, tool.Issue{Path: "/expect", Constraint: "maxItems", Limit: MaxExpectations,
			Message: fmt.Sprintf("There are %d conditions in expect, more than the %d allowed.", len(expectations), MaxExpectations)})
		expectations = expectations[:MaxExpectations]
	}
	for i, expression := range expectations {
		name := fmt.Sprintf("expect[%d]", i)
		one, found := l.expectation(expression)
		if one != nil {
			one, found = named(one, name), one.unresolved(c.args)
			c.post = append(c.post, one)
		}
		issues = append(issues, placed(found, fmt.Sprintf("/expect/%d", i), name)...)
	}
	issues = append(issues, c.collectNeeds()...)
	if len(issues) > 0 {
		return nil, issues
	}
	return c, nil
}

// CompilePreconditions is Compile for the preconditions alone.
func CompilePreconditions(spec *tool.Spec, args json.RawMessage) (*Conditions, tool.Issues) {
	values, issues := decodeArgs(args)
	own, more := languageOf(spec).own(before)
	issues = append(issues, more...)
	c := &Conditions{Threshold: DefaultThreshold, spec: spec, args: values, pre: own}
	issues = append(issues, c.collectNeeds()...)
	if len(issues) > 0 {
		return nil, issues
	}
	return c, nil
}

// decodeArgs decodes a payload; none at all is an empty one.
func decodeArgs(args json.RawMessage) (any, tool.Issues) {
	if len(args) == 0 {
		return map[string]any{}, nil
	}
	values, err := decode(args)
	if err != nil {
		return nil, tool.Issues{{Constraint: tool.ConstraintSyntax, Message: "The payload cannot be read: " + clip(err.Error(), maxShown) + "."}}
	}
	if _, ok := values.(map[string]any); !ok {
		return nil, tool.Issues{{Constraint: "type", ExpectedType: "object", Message: "The payload is " + kindOf(values) + ", not an object."}}
	}
	return values, nil
}

// collectNeeds gathers what the conditions read. An element whose name is not in the payload is left out here: the condition that
// asks for it may guard it with has(), and is undecided otherwise.
func (c *Conditions) collectNeeds() tool.Issues {
	c.needs = tool.Needs{}
	seen := map[tool.ElementQuery]bool{}
	for _, one := range slices.Concat(c.pre, c.post) {
		c.needs.Text = c.needs.Text || one.text
		c.needs.DocumentText = c.needs.DocumentText || one.documentText
		c.needs.Links = c.needs.Links || one.links
		for _, d := range one.documents {
			if path, err := d.resolve(c.args); err == nil && !slices.Contains(c.needs.Documents, path) {
				c.needs.Documents = append(c.needs.Documents, path)
			}
		}
		for _, e := range one.elements {
			q, err := e.query(c.args)
			if err != nil || seen[q] {
				continue
			}
			seen[q] = true
			c.needs.Elements = append(c.needs.Elements, q)
		}
	}
	if n := len(c.needs.Elements); n > maxElements {
		return tool.Issues{{Path: "/expect", Constraint: tool.ConstraintCondition, Limit: maxElements,
			Message: fmt.Sprintf("The conditions look at %d elements, more than the %d allowed.", n, maxElements)}}
	}
	if n := len(c.needs.Documents); n > maxDocuments {
		return tool.Issues{{Path: "/expect", Constraint: tool.ConstraintCondition, Limit: maxDocuments,
			Message: fmt.Sprintf("The conditions look at %d documents, more than the %d allowed.", n, maxDocuments)}}
	}
	return nil
}

// unresolved reports elements and documents that a caller's condition names by an argument that the caller did not give.
func (c *condition) unresolved(args any) tool.Issues {
	var is tool.Issues
	for _, e := range c.elements {
		if _, err := e.query(args); err != nil {
			is = append(is, tool.Issue{Constraint: tool.ConstraintCondition, Got: clip(c.Expression, maxGot), Message: err.Error()})
		}
	}
	for _, d := range c.documents {
		if _, err := d.resolve(args); err != nil {
			is = append(is, tool.Issue{Constraint: tool.ConstraintCondition, Got: clip(c.Expression, maxGot), Message: err.Error()})
		}
	}
	return is
}

// named is a condition under another name; the compiled parts are shared.
func named(c *condition, name string) *condition {
	n := *c
	n.Name = name
	return &n
}

// placed completes issues of one condition with its path and its name.
func placed(is tool.Issues, path, name string) tool.Issues {
	out := make(tool.Issues, len(is))
	for i, x := range is {
		x.Path = path
		x.Message = name + ", " + strings.TrimSuffix(x.Message, ".")
		if !strings.HasSuffix(x.Message, "?") {
			x.Message += "."
		}
		out[i] = x
	}
	return out
}

// languages keeps what is compiled for each spec.
var languages = newCache[*tool.Spec, *language](maxCachedSpecs)

func languageOf(spec *tool.Spec) *language {
	return languages.get(spec, func() *language { return &language{spec: spec} })
}

// language is everything compiled for one tool.
type language struct {
	spec   *tool.Spec
	phases [3]struct {
		once   sync.Once
		env    *environment
		err    error
		own    []*condition
		issues tool.Issues
	}
	expectOnce sync.Once
	expect     *cache[string, compiled]
}

// compiled is an expression, or what is wrong with it.
type compiled struct {
	condition *condition
	issues    tool.Issues
}

// own returns the tool's own conditions of a phase.
func (l *language) own(p phase) ([]*condition, tool.Issues) {
	ph := &l.phases[p]
	ph.once.Do(func() {
		list, where := l.spec.Postconditions, "/postconditions"
		switch p {
		case before:
			list, where = l.spec.Preconditions, "/preconditions"
		case arguments:
			list, where = nil, "/effect_rules"
			for _, r := range l.spec.EffectRules {
				list = append(list, tool.Condition{Name: string(r.Class), Expression: r.When})
			}
		}
		if ph.env, ph.err = newEnvironment(l.spec, p); ph.err != nil {
			ph.issues = tool.Issues{{Path: where, Constraint: tool.ConstraintCondition, Message: ph.err.Error()}}
			return
		}
		for i, c := range list {
			one, issues := ph.env.compile(c)
			ph.issues = append(ph.issues, placed(issues, fmt.Sprintf("%s/%d", where, i), fmt.Sprintf("condition %q of %s", c.Name, l.spec.ID))...)
			if one != nil {
				ph.own = append(ph.own, one)
			}
		}
	})
	return ph.own, ph.issues
}

// expectation compiles a caller's condition.
func (l *language) expectation(expression string) (*condition, tool.Issues) {
	l.own(after) //nolint:errcheck // called for the environment that it makes; its issues are told where the tool's own conditions are compiled
	env := l.phases[after].env
	if env == nil {
		return nil, nil // own reported why
	}
	l.expectOnce.Do(func() { l.expect = newCache[string, compiled](maxCachedExpressions) })
	c := l.expect.get(expression, func() compiled {
		one, issues := env.compile(tool.Condition{Expression: expression})
		return compiled{one, issues}
	})
	return c.condition, c.issues
}
