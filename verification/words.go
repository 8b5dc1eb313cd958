package verification

import (
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// spell renders a part of an expression as its author wrote it, give or take spaces.
func spell(tree *ast.AST, x ast.Expr) string {
	s, err := cel.ExprToString(x, tree.SourceInfo())
	if err != nil { // no part of a parsed expression fails to render
		return "this"
	}
	return clip(s, maxGot)
}

// comparisons are the operators and functions that read well between their operands.
var comparisons = map[string]string{
	operators.Equals: "is", operators.NotEquals: "is not",
	operators.Less: "is less than", operators.LessEquals: "is at most",
	operators.Greater: "is more than", operators.GreaterEquals: "is at least",
	operators.In: "is one of",
	"contains":   "contains", "startsWith": "starts with", "endsWith": "ends with", "matches": "matches",
}

// inWords renders a condition as a sentence about what holds: page.title contains "Cart".
func inWords(tree *ast.AST, x ast.Expr) string {
	switch x.Kind() {
	case ast.IdentKind, ast.SelectKind:
		if x.Kind() == ast.SelectKind && x.AsSelect().IsTestOnly() {
			return fmt.Sprintf("%s.%s is there", spell(tree, x.AsSelect().Operand()), x.AsSelect().FieldName())
		}
		return spell(tree, x) + " is true"
	case ast.CallKind:
		call := x.AsCall()
		operands := call.Args()
		if call.IsMemberFunction() {
			operands = append([]ast.Expr{call.Target()}, operands...)
		}
		if between := comparisons[call.FunctionName()]; between != "" && len(operands) == 2 {
			return spell(tree, operands[0]) + " " + between + " " + spell(tree, operands[1])
		}
		switch {
		case call.FunctionName() == operators.LogicalAnd && len(operands) == 2:
			return within(tree, operands[0], operators.LogicalAnd) + " and " + within(tree, operands[1], operators.LogicalAnd)
		case call.FunctionName() == operators.LogicalOr && len(operands) == 2:
			return within(tree, operands[0], operators.LogicalOr) + " or " + within(tree, operands[1], operators.LogicalOr)
		case call.FunctionName() == operators.LogicalNot && len(operands) == 1 && isPath(operands[0]):
			return spell(tree, operands[0]) + " is false"
		case call.FunctionName() == operators.Conditional && len(operands) == 3:
			return fmt.Sprintf("if %s, then %s, else %s", inWords(tree, operands[0]), inWords(tree, operands[1]), inWords(tree, operands[2]))
		}
	}
	return spellWhole(tree, x)
}

// within renders an operand of "and" or "or"; another of the two inside gets parentheses.
func within(tree *ast.AST, x ast.Expr, function string) string {
	w := inWords(tree, x)
	if x.Kind() == ast.CallKind {
		switch f := x.AsCall().FunctionName(); f {
		case operators.LogicalAnd, operators.LogicalOr, operators.Conditional:
			if f != function {
				return "(" + w + ")"
			}
		}
	}
	return w
}

// spellWhole is spell without its clip.
func spellWhole(tree *ast.AST, x ast.Expr) string {
	s, err := cel.ExprToString(x, tree.SourceInfo())
	if err != nil { // no part of a parsed expression fails to render
		return "the condition holds"
	}
	return s
}

// mismatch says which operation cannot be applied to which types.
func mismatch(tree *ast.AST, call ast.CallExpr) string {
	var args []string
	for _, a := range call.Args() {
		args = append(args, inEnglish(tree.GetType(a.ID())))
	}
	f := call.FunctionName()
	if f == lookupElement {
		return fmt.Sprintf("element takes a name and perhaps a role, both text, not %s", strings.Join(args[1:], " and "))
	}
	if f == lookupDocument {
		return fmt.Sprintf("document takes a path, which is text, not %s", strings.Join(args[1:], " and "))
	}
	if call.IsMemberFunction() {
		return fmt.Sprintf("%s(…) cannot be applied to %s%s", f, inEnglish(tree.GetType(call.Target().ID())), withArguments(args))
	}
	if f == operators.Index && len(args) == 2 {
		if field, ok := literalString(call.Args()[1]); ok && tree.GetType(call.Args()[0].ID()).Kind() == types.StructKind {
			return fmt.Sprintf("a field is read with a dot: %s.%s", spell(tree, call.Args()[0]), field)
		}
		return fmt.Sprintf("%s has no entries that %s could choose", args[0], args[1])
	}
	if symbol, ok := operators.FindReverse(f); ok && symbol != "" {
		if len(args) == 2 {
			return fmt.Sprintf("%s cannot be applied to %s and %s", symbol, args[0], args[1])
		}
		return fmt.Sprintf("%s cannot be applied to %s", symbol, strings.Join(args, " and "))
	}
	if f == operators.Conditional && len(args) == 3 {
		return fmt.Sprintf("… ? … : … needs true or false before the question mark and two values of one type behind it, not %s, %s and %s", args[0], args[1], args[2])
	}
	return fmt.Sprintf("%s(…) cannot be applied to %s", f, strings.Join(args, " and "))
}

func withArguments(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return " with " + strings.Join(args, " and ")
}
