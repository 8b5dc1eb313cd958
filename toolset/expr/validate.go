package expr

import (
	"go/token"
	"regexp"
	"slices"
	"strings"
	"time"

	"goa.design/goa/v3/codegen"
	"goa.design/goa/v3/eval"
	goaexpr "goa.design/goa/v3/expr"

	"toolsvc/tool"
	"toolsvc/toolset/shape"
)

// The bounds of a tool's time limit, and the one that holds without TimeLimit.
const (
	minTimeLimit     = 100 * time.Millisecond
	maxTimeLimit     = 24 * time.Hour
	defaultTimeLimit = 30 * time.Second
)

// The arguments that every tool takes.
const (
	maxExpect, maxExpectRunes = 32, 2000
	maxIntentRunes            = 300
)

// common are the arguments that every tool takes beside its own.
func common() []*shape.Field {
	return []*shape.Field{
		shape.Extra("expect", "Conditions (CEL) that must hold afterwards", true, maxExpectRunes, maxExpect),
		shape.Extra("intent", "Why the call is made, in one sentence", false, maxIntentRunes, 0),
	}
}

// methods are what a generated payload struct implements; see [tool.Payload].
var methods = []string{"Expectations", "Purpose"}

var (
	name      = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)
	condition = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
)

// Prepare carries AtLeastOne over from the types that others extend: Goa merges fields and validations, but no metadata.
func (r *RootExpr) Prepare() {
	done := map[*goaexpr.AttributeExpr]bool{}
	var carry func(a *goaexpr.AttributeExpr)
	carry = func(a *goaexpr.AttributeExpr) {
		if a == nil || done[a] {
			return
		}
		done[a] = true
		for _, base := range a.Bases {
			if ut, ok := base.(goaexpr.UserType); ok {
				carry(ut.Attribute())
				for _, group := range ut.Attribute().Meta[shape.MetaAtLeastOne] {
					if !slices.Contains(a.Meta[shape.MetaAtLeastOne], group) {
						a.AddMeta(shape.MetaAtLeastOne, group)
					}
				}
			}
		}
		if ut, ok := a.Type.(goaexpr.UserType); ok {
			carry(ut.Attribute())
		}
		switch dt := a.Type.(type) {
		case *goaexpr.Object:
			for _, nat := range *dt {
				carry(nat.Attribute)
			}
		case *goaexpr.Union:
			for _, nat := range dt.Values {
				carry(nat.Attribute)
			}
		case *goaexpr.Array:
			carry(dt.ElemType)
		case *goaexpr.Map:
			carry(dt.KeyType)
			carry(dt.ElemType)
		}
	}
	for _, ts := range r.Toolsets {
		for _, t := range ts.Tools {
			carry(t.Args)
			carry(t.Return)
		}
	}
}

// Validate checks all toolsets and resolves their types. All mistakes are reported at once.
func (r *RootExpr) Validate() error {
	errs := new(eval.ValidationErrors)
	seen := map[string]bool{}
	for _, ts := range r.Toolsets {
		switch {
		case !name.MatchString(ts.Name):
			errs.Add(ts, "the name must match %s", name)
		case token.IsKeyword(ts.Name):
			errs.Add(ts, "the name is a keyword of Go, so no package can have it")
		case seen[ts.Name]:
			errs.Add(ts, "is declared twice")
		}
		seen[ts.Name] = true
		if ts.Description == "" {
			errs.Add(ts, "needs a Description")
		}
		if len(ts.Tools) == 0 {
			errs.Add(ts, "has no tool")
		}
		ts.validateTools(errs)
	}
	if len(errs.Errors) > 0 {
		return errs // a nil *ValidationErrors in an error would not be nil
	}
	return nil
}

func (ts *ToolsetExpr) validateTools(errs *eval.ValidationErrors) {
	reserved := []string{"Client", "NewClient", "Specs"}
	names := map[string]string{}
	for _, t := range ts.Tools {
		g := t.GoName()
		switch other, taken := names[g]; {
		case taken && other == t.Name:
			errs.Add(t, "is declared twice")
		case taken:
			errs.Add(t, "has the same Go name as the tool %q", other)
		}
		names[g] = t.Name
		reserved = append(reserved, g+"ID", g+"Spec", g+"Payload", "New"+g+"Payload", g+"Result", "New"+g+"Result")
	}
	b := shape.NewBuilder(reserved...)
	for _, t := range ts.Tools {
		t.validate(errs, b)
	}
	ts.Types = b.Types
	shape.MarkRecursive(ts.Types)
	for _, t := range ts.Tools {
		if t.Payload != nil && t.Result != nil {
			t.validateSecrets(errs)
			t.validateExample(errs)
			t.validateConditions(errs)
			t.validateBinding(errs)
		}
	}
}

// GoName is the part of Go names that stands for the tool.
func (t *ToolExpr) GoName() string { return codegen.Goify(t.Name, true) }

// validate checks one tool and resolves its payload and result.
func (t *ToolExpr) validate(errs *eval.ValidationErrors, b *shape.Builder) {
	if !name.MatchString(t.Name) {
		errs.Add(t, "the name must match %s", name)
	}
	if strings.TrimSpace(t.Description) == "" {
		errs.Add(t, "needs a description")
	}
	t.validateEffect(errs)
	t.validateSources(errs)
	switch {
	case !t.TimeLimitSet && t.Agent != nil:
		t.TimeLimit = tool.MaxAgentTime
	case !t.TimeLimitSet:
		t.TimeLimit = defaultTimeLimit
	case t.TimeLimit < minTimeLimit || t.TimeLimit > maxTimeLimit:
		errs.Add(t, "TimeLimit must be between %s and %s, not %s", minTimeLimit, maxTimeLimit, t.TimeLimit)
	}
	before := len(errs.Errors)
	if t.Args != nil {
		errs.Merge(t.Args.Validate("Args", t))
	}
	if t.Return != nil {
		errs.Merge(t.Return.Validate("Return", t))
	}
	if len(errs.Errors) > before {
		return // Goa's own complaints first; the rest would repeat them
	}
	for _, a := range []*goaexpr.AttributeExpr{t.Args, t.Return} {
		if a != nil {
			a.Finalize() // merges what Extend and Reference name; Goa's validation of all its types has passed
		}
	}
	known := len(b.Problems)
	t.Payload = b.Root(t.Args, t.GoName()+"Payload", "Args", common(), methods...)
	t.Result = b.Root(t.Return, t.GoName()+"Result", "Return", nil)
	for _, p := range b.Problems[known:] {
		errs.Add(t, "%s", p)
	}
	if len(b.Problems) > known {
		t.Payload, t.Result = nil, nil
	}
}

func (t *ToolExpr) validateEffect(errs *eval.ValidationErrors) {
	grave := func(c tool.EffectClass) int { return slices.Index(tool.EffectClasses, c) }
	if grave(t.Effect) < 0 {
		errs.Add(t, "needs an Effect: ReadOnly, Idempotent, Reversible or Irreversible")
	}
	for _, r := range t.EffectRules {
		switch {
		case grave(r.Class) < 0:
			errs.Add(t, "EffectWhen names the unknown class %q", r.Class)
		case grave(r.Class) <= grave(t.Effect):
			errs.Add(t, "EffectWhen(%s, …) must name a graver class than Effect(%s)", r.Class, t.Effect)
		}
	}
	if t.Rollback != "" && t.Effect == tool.ReadOnly {
		errs.Add(t, "is read-only, so there is nothing to roll back")
	}
}

func (t *ToolExpr) validateSources(errs *eval.ValidationErrors) {
	if len(t.Sources) == 0 {
		t.Sources = []tool.Source{tool.SourceSystem}
	}
	for i, s := range t.Sources {
		if !slices.Contains(tool.Sources, s) {
			errs.Add(t, "Sources names the unknown source %q", s)
		}
		if slices.Contains(t.Sources[:i], s) {
			errs.Add(t, "Sources names %s twice", s)
		}
	}
}

// validateExample finds the example input, or makes one for a tool that needs no argument, and checks it against the design and,
// with an independent engine, against the schema.
func (t *ToolExpr) validateExample(errs *eval.ValidationErrors) {
	t.Example = []byte("{}")
	var examples []*goaexpr.ExampleExpr
	if t.Args != nil {
		examples = t.Args.ExtractUserExamples()
	}
	n := t.Payload.Named
	needs := len(n.AtLeastOne) > 0 || slices.ContainsFunc(n.Fields, func(f *shape.Field) bool { return f.Required })
	if len(examples) == 0 && needs {
		errs.Add(t, "Args needs an Example, because a call without arguments is not valid")
		return
	}
	for i, e := range examples {
		text, err := shape.Literal(t.Payload, e.Value)
		if err != nil {
			errs.Add(t, "the Example of Args: %s", err)
			return
		}
		if i == 0 {
			t.Example = text
		}
		if issues := shape.Check(t.Payload, text); len(issues) > 0 {
			errs.Add(t, "the Example of Args is not valid: %s", issues.Error())
		} else if err := shape.Conforms(shape.Schema(t.Payload), text); err != nil {
			errs.Add(t, "the Example of Args breaks the JSON Schema: %s", err)
		}
	}
	if t.Return == nil {
		return
	}
	for _, e := range t.Return.ExtractUserExamples() {
		text, err := shape.Literal(t.Result, e.Value)
		if err != nil {
			errs.Add(t, "the Example of Return: %s", err)
		} else if issues := shape.Check(t.Result, text); len(issues) > 0 {
			errs.Add(t, "the Example of Return is not valid: %s", issues.Error())
		}
	}
}

// validateSecrets makes sure that the places of all secrets can be listed.
func (t *ToolExpr) validateSecrets(errs *eval.ValidationErrors) {
	for _, root := range []*shape.Type{t.Payload, t.Result} {
		if _, recursive := shape.Secrets(root); recursive != "" {
			errs.Add(t, "the type %s holds itself and a Secret, so the secret's places cannot be listed", recursive)
		}
	}
}
