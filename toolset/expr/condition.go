package expr

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"goa.design/goa/v3/eval"

	"toolsvc/tool"
	"toolsvc/toolset/shape"
)

// language is CEL without any declaration: enough to parse. Which variables and functions exist besides args and result, and their
// types, is known only to package verification, which compiles every condition when the service starts.
var language = sync.OnceValues(func() (*cel.Env, error) { return cel.NewEnv() })

// validateConditions checks the conditions and effect rules: names, messages, the syntax of CEL, and that the fields of args and
// result that they read exist.
func (t *ToolExpr) validateConditions(errs *eval.ValidationErrors) {
	for _, list := range []struct {
		what       string
		conditions []tool.Condition
		forbidden  []string
	}{{"Precondition", t.Preconditions, []string{"result"}}, {"Postcondition", t.Postconditions, nil}} {
		seen := map[string]bool{}
		for _, c := range list.conditions {
			at := fmt.Sprintf("%s %q", list.what, c.Name)
			if !condition.MatchString(c.Name) {
				errs.Add(t, "%s: the name must match %s", at, condition)
			}
			if seen[c.Name] {
				errs.Add(t, "%s is declared twice", at)
			}
			seen[c.Name] = true
			if strings.TrimSpace(c.Message) == "" {
				errs.Add(t, "%s needs a message that says what holds when it holds", at)
			}
			reads := t.validateCEL(errs, at, c.Expression)
			for _, name := range reads {
				if t.reads == nil {
					t.reads = map[string]string{}
				}
				t.reads[name] = c.Name
			}
			if slices.Contains(reads, "state") || slices.Contains(reads, "before.state") {
				t.readsState = c.Name
			}
			for _, name := range list.forbidden {
				if slices.Contains(reads, name) {
					errs.Add(t, "%s reads %s, which does not exist before the tool has run", at, name)
				}
			}
		}
	}
	for _, r := range t.EffectRules {
		at := fmt.Sprintf("EffectWhen(%s, …)", r.Class)
		for _, name := range t.validateCEL(errs, at, r.When) {
			if name != "args" {
				errs.Add(t, "%s reads %s, but only args is known when the effect is decided", at, name)
			}
		}
	}
}

// validateCEL parses an expression and returns the variables that it reads, sorted, and among them before.state.
func (t *ToolExpr) validateCEL(errs *eval.ValidationErrors, at, text string) []string {
	if strings.TrimSpace(text) == "" {
		errs.Add(t, "%s needs a CEL expression", at)
		return nil
	}
	env, err := language()
	if err != nil {
		errs.Add(t, "%s: start CEL: %s", at, err)
		return nil
	}
	parsed, issues := env.Parse(text)
	if issues != nil && len(issues.Errors()) > 0 {
		e := issues.Errors()[0]
		errs.Add(t, "%s: the CEL expression %q is not valid at column %d: %s", at, text, e.Location.Column()+1, e.Message)
		return nil
	}
	var reads, bound []string
	visit := func(e ast.Expr) {
		switch e.Kind() {
		case ast.ComprehensionKind:
			c := e.AsComprehension()
			bound = append(bound, c.IterVar(), c.IterVar2(), c.AccuVar())
		case ast.IdentKind:
			reads = append(reads, e.AsIdent())
		case ast.SelectKind:
			s := e.AsSelect()
			if s.FieldName() == "state" && s.Operand().Kind() == ast.IdentKind && s.Operand().AsIdent() == "before" {
				reads = append(reads, "before.state")
			}
			if of := t.typeOf(s.Operand()); of != nil && of.Named != nil && of.Named.Alias == nil && of.Named.Field(s.FieldName()) == nil {
				errs.Add(t, "%s: the CEL expression %q reads the field %q, which is not one of %s", at, text, s.FieldName(),
					strings.Join(of.Named.CodecFields().Names, ", "))
			}
		}
	}
	ast.PreOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(visit))
	reads = slices.DeleteFunc(reads, func(name string) bool {
		return slices.Contains(bound, name) || slices.Contains(celTypes, name)
	})
	slices.Sort(reads)
	return slices.Compact(reads)
}

// celTypes are the names of types, which can stand where variables do: type(x) == int.
var celTypes = []string{"bool", "bytes", "double", "duration", "dyn", "int", "list", "map", "null_type", "string", "timestamp", "type", "uint"}

// typeOf is the type of an expression that leads into args or result; nil for all others.
func (t *ToolExpr) typeOf(e ast.Expr) *shape.Type {
	switch e.Kind() {
	case ast.IdentKind:
		switch e.AsIdent() {
		case "args":
			return t.Payload
		case "result":
			return t.Result
		}
	case ast.SelectKind:
		s := e.AsSelect()
		return into(t.typeOf(s.Operand()), s.FieldName())
	case ast.CallKind:
		if c := e.AsCall(); c.FunctionName() == operators.Index && len(c.Args()) == 2 {
			if of := t.typeOf(c.Args()[0]); of != nil && (of.Kind == shape.Array || of.Kind == shape.Map) {
				return of.Elem
			}
		}
	}
	return nil
}

func into(t *shape.Type, field string) *shape.Type {
	if t == nil {
		return nil
	}
	switch t.Kind {
	case shape.Object, shape.Union:
		if f := t.Named.Field(field); f != nil {
			return f.Type
		}
	case shape.Map:
		return t.Elem
	}
	return nil
}
