package verification

import (
	"math"

	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// CEL keeps whole numbers and doubles apart, JSON does not. So that page.media[0].current_time > 10 and document.words + 1 mean what
// they say, a number literal that meets a number of the other kind takes its kind.

// promotable finds the literals to convert: those in operations that the checker rejected, and whole ones in arithmetic with
// dynamic values, whose numbers are doubles. known are those that were found before.
func promotable(checked *ast.AST, errs []*common.Error, known map[int64]bool) []int64 {
	failed := map[int64]bool{}
	for _, err := range errs {
		failed[err.ExprID] = true
	}
	var found []int64
	ast.PostOrderVisit(checked.Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		if x.Kind() != ast.CallKind {
			return
		}
		call := x.AsCall()
		if len(call.Args()) != 2 {
			return
		}
		for i, literal := range call.Args() {
			if literal.Kind() != ast.LiteralKind || known[literal.ID()] {
				continue
			}
			other := call.Args()[1-i]
			switch call.FunctionName() {
			case operators.Add, operators.Subtract, operators.Multiply, operators.Divide:
				dynamic := checked.GetType(other.ID()).Kind() == types.DynKind && isPath(other)
				if dynamic && literal.AsLiteral().Type() == types.IntType || failed[x.ID()] && fits(literal, checked.GetType(other.ID())) {
					found = append(found, literal.ID())
				}
			case operators.Equals, operators.NotEquals:
				if failed[x.ID()] && fits(literal, checked.GetType(other.ID())) {
					found = append(found, literal.ID())
				}
			case operators.In:
				if list := checked.GetType(other.ID()); i == 0 && failed[x.ID()] && list.Kind() == types.ListKind && fits(literal, list.Parameters()[0]) {
					found = append(found, literal.ID())
				}
			}
		}
	}))
	return found
}

// fits reports whether a number literal can become the other kind t without loss.
func fits(literal ast.Expr, t *types.Type) bool {
	switch n := literal.AsLiteral().(type) {
	case types.Int:
		return t.Kind() == types.DoubleKind && n >= -(1<<53) && n <= 1<<53
	case types.Double:
		return t.Kind() == types.IntKind && float64(n) == math.Trunc(float64(n)) && math.Abs(float64(n)) <= 1<<53
	}
	return false
}

// isPath reports whether an expression reads a value: a variable, a field, an entry.
func isPath(x ast.Expr) bool {
	return x.Kind() == ast.IdentKind || x.Kind() == ast.SelectKind || x.Kind() == ast.CallKind && x.AsCall().FunctionName() == operators.Index
}

// promote converts the literals in a freshly parsed tree.
func promote(parsed *ast.AST, literals map[int64]bool) {
	factory := ast.NewExprFactory()
	ast.PostOrderVisit(parsed.Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		if !literals[x.ID()] || x.Kind() != ast.LiteralKind {
			return
		}
		switch n := x.AsLiteral().(type) {
		case types.Int:
			x.SetKindCase(factory.NewLiteral(x.ID(), types.Double(n)))
		case types.Double:
			x.SetKindCase(factory.NewLiteral(x.ID(), types.Int(n)))
		}
	}))
}
