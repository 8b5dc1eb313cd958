package verification

import (
	"fmt"
	"slices"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/checker"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"
	"cel.dev/cel-go/parser"

	"toolsvc/tool"
)

// The hidden names behind element() and before_element(). Callers cannot spell them: CEL has no @ in identifiers.
const (
	elementsAfter  = "@elements"
	elementsBefore = "@elements_before"
	lookupElement  = "@element"
)

// environment is the language of one phase of one tool: names, types, limits.
type environment struct {
	cel     *cel.Env
	checker *checker.Env
	phase   phase
	// variables are the names that conditions of this phase can use, sorted.
	variables []string
	objects   map[string]*object
}

// base is the part that all environments share. It fails only if this package is wrong, which every test would show.
var base = sync.OnceValues(func() (*cel.Env, error) {
	registry, err := types.NewRegistry()
	if err != nil {
		return nil, err
	}
	adapter := adapter{registry}
	return cel.NewEnv(append([]cel.EnvOption{
		cel.CustomTypeAdapter(adapter),
		cel.CustomTypeProvider(registry),
		cel.CrossTypeNumericComparisons(true),
		cel.EagerlyValidateDeclarations(true),
		cel.EnableMacroCallTracking(),
		cel.ParserRecursionLimit(maxDepth),
		cel.ParserErrorRecoveryLimit(4),
		cel.ExpressionNodeLimit(maxNodes),
		cel.RegexProgramSizeLimit(maxRegex),
		ext.Strings(),
		ext.Sets(),
		ext.Lists(ext.ListsMaxRangeSize(maxItems)),
		ext.TwoVarComprehensions(),
		elementFunctions(adapter),
	}, slices.Concat(textFunctions(), documentFunctions(adapter))...)...)
})

// elementFunctions declares element(name[, role]) and before_element(name[, role]). The macros pass the evidence on as a hidden
// argument, so that the function behind them is pure.
func elementFunctions(a types.Adapter) cel.EnvOption {
	macro := func(name, evidence string, args int) cel.Macro {
		return cel.GlobalMacro(name, args, func(f cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
			return f.NewCall(lookupElement, append([]ast.Expr{f.NewIdent(evidence)}, args...)...), nil
		})
	}
	return func(e *cel.Env) (*cel.Env, error) {
		for _, opt := range []cel.EnvOption{
			cel.Macros(
				macro("element", elementsAfter, 1), macro("element", elementsAfter, 2),
				macro("before_element", elementsBefore, 1), macro("before_element", elementsBefore, 2)),
			cel.Function(lookupElement,
				cel.Overload("element_by_name", []*cel.Type{cel.DynType, cel.StringType}, elementObject.celType(),
					cel.BinaryBinding(func(evidence, name ref.Val) ref.Val { return element(a, evidence, name, types.String("")) })),
				cel.Overload("element_by_name_and_role", []*cel.Type{cel.DynType, cel.StringType, cel.StringType}, elementObject.celType(),
					cel.FunctionBinding(func(args ...ref.Val) ref.Val { return element(a, args[0], args[1], args[2]) }))),
		} {
			var err error
			if e, err = opt(e); err != nil {
				return nil, err
			}
		}
		return e, nil
	}
}

// element finds the state of an element in evidence. Evidence that was not asked about it holds no answer, which is an error:
// nothing is known of the element, not even that it does not exist.
func element(a types.Adapter, evidence, name, role ref.Val) ref.Val {
	e, ok := evidence.Value().(elements)
	if !ok {
		return types.NewErr("there is no evidence of elements")
	}
	q := tool.ElementQuery{Name: string(name.(types.String)), Role: string(role.(types.String))}
	state, ok := e.find(q)
	if !ok {
		return types.NewErr("the evidence holds no answer for %s", describe(q))
	}
	return a.NativeToValue(state)
}

// newEnvironment makes the language of a phase from the schemas of a tool.
func newEnvironment(spec *tool.Spec, p phase) (*environment, error) {
	b, err := base()
	if err != nil {
		return nil, fmt.Errorf("prepare the language of conditions: %w", err)
	}
	variables := evidenceVariables(p)
	if variables == nil {
		variables = map[string]*cel.Type{}
	}
	argsType, objects, err := typesOf("args", spec.PayloadSchema)
	if err != nil {
		return nil, err
	}
	variables["args"] = argsType
	if p == after {
		resultType, more, err := typesOf("result", spec.ResultSchema)
		if err != nil {
			return nil, err
		}
		variables["result"] = resultType
		objects = append(objects, more...)
	}
	pr := newProvider(b.CELTypeProvider(), evidenceObjects, objects)
	env := &environment{phase: p, objects: pr.objects}
	opts := []cel.EnvOption{cel.CustomTypeProvider(pr)}
	for _, name := range sortedKeys(variables) {
		opts = append(opts, cel.Variable(name, variables[name]))
		env.variables = append(env.variables, name)
	}
	for _, hidden := range []string{elementsAfter, elementsBefore, documentsAfter, documentsBefore} {
		if p == after || p == before && (hidden == elementsAfter || hidden == documentsAfter) {
			opts = append(opts, cel.Variable(hidden, cel.DynType))
		}
	}
	if env.cel, err = b.Extend(opts...); err != nil {
		return nil, fmt.Errorf("prepare the language of conditions of %s: %w", spec.ID, err)
	}
	if env.checker, err = newChecker(env.cel); err != nil {
		return nil, fmt.Errorf("prepare the type checker of %s: %w", spec.ID, err)
	}
	return env, nil
}

// newChecker makes a type checker whose findings keep the types of the parts that are right, which cel.Env.Check throws away: a
// message about an unknown field needs the type that has no such field.
func newChecker(e *cel.Env) (*checker.Env, error) {
	c, err := checker.NewEnv(e.Container, e.CELTypeProvider(), checker.CrossTypeNumericComparisons(true))
	if err != nil {
		return nil, err
	}
	if err := c.AddIdents(e.Variables()...); err != nil {
		return nil, err
	}
	for _, f := range e.Functions() {
		if f.IsDeclarationDisabled() {
			continue
		}
		if err := c.AddFunctions(f); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// diagnose checks the types of a parsed expression. The tree has types even where there are errors.
func (e *environment) diagnose(parsed *cel.Ast) (*ast.AST, []*common.Error) {
	checked, errs := checker.Check(parsed.NativeRep(), parsed.Source(), e.checker)
	return checked, errs.GetErrors()
}

// macros are the names of all macros, for messages.
func (e *environment) macros() []string {
	seen := map[string]bool{}
	for _, m := range slices.Concat(parser.AllMacros, e.cel.Macros()) {
		seen[m.Function()] = true
	}
	return sortedKeys(seen)
}
