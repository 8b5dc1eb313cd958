package verification

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/types"
)

// estimate returns the most operations that an expression can take on the largest evidence allowed.
//
// The cost limit of evaluation is checked between operations, so it cannot stop a single one that walks a list which holds itself a
// thousand times over. The estimate can: it sizes lists and maps with all that they hold. Text counts as one, whatever its length:
// every operation on text is linear, its input and its result are bounded, and the cost limit charges for each character.
func (e *environment) estimate(checked *cel.Ast) (uint64, error) {
	sizing := cost.AggregateSizingStrategy(types.SizeCalculatorStringUnitLength(maxText))
	est, err := e.cel.EstimateCost(checked, sizes{madeMaps: makesMaps(checked)}, append(bounded(), cost.WithSizingStrategy(sizing))...)
	return est.Max, err
}

// sizes answers the estimator's questions.
type sizes struct {
	// madeMaps: the expression makes maps itself, so that not everything that is selected comes from evidence.
	madeMaps bool
}

// makesMaps reports whether an expression makes maps that hold something.
func makesMaps(checked *cel.Ast) bool {
	made := false
	ast.PostOrderVisit(checked.NativeRep().Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		made = made || x.Kind() == ast.MapKind && x.AsMap().Size() > 0
	}))
	return made
}

// EstimateSize implements cost.Estimator. It knows what comes from evidence, by its type; of what an expression makes itself, the
// estimator finds the size, or takes the worst.
func (s sizes) EstimateSize(node cost.AstNode) *cost.SizeEstimate {
	if node.Type() == nil {
		return nil
	}
	if len(node.Path()) == 0 && !isElementField(node) && (s.madeMaps || !isField(node)) {
		return nil
	}
	return sizeOf(node.Type(), 2)
}

// isElementField recognises element("…").value, document("…").words and document.section("…").parts, which have no path because they start
// from a call.
func isElementField(node cost.AstNode) bool {
	x := node.Expr()
	if x == nil || x.Kind() != ast.SelectKind {
		return false
	}
	x = x.AsSelect().Operand()
	if x.Kind() != ast.CallKind {
		return false
	}
	switch x.AsCall().FunctionName() {
	case lookupElement, lookupDocument, sectionOf:
		return true
	}
	return false
}

// isField recognises a field of an object whose path is lost, such as s.parts of a filtered list. Objects are never made by an expression,
// so that it comes from evidence.
func isField(node cost.AstNode) bool {
	return node.Expr() != nil && node.Expr().Kind() == ast.SelectKind
}

// sizeOf is the largest size of a value of evidence. Values without a declared type are taken to nest to some depth.
func sizeOf(t *types.Type, depth int) *cost.SizeEstimate {
	switch t.Kind() {
	case types.ListKind:
		return upTo(maxItems, sizeOf(t.Parameters()[0], depth))
	case types.MapKind:
		s := upTo(maxItems, sizeOf(t.Parameters()[1], depth))
		s.Key = upTo(1, nil)
		return s
	case types.DynKind:
		if depth > 0 {
			s := upTo(maxItems, sizeOf(t, depth-1))
			s.Key = upTo(1, nil)
			return s
		}
	}
	return upTo(1, nil)
}

func upTo(most uint64, elem *cost.SizeEstimate) *cost.SizeEstimate {
	s := cost.RangedSizeEstimate(0, most)
	s.Elem = elem
	return &s
}

// EstimateCallCost implements cost.Estimator, for functions whose result the estimator cannot size.
func (sizes) EstimateCallCost(function, _ string, _ *cost.AstNode, _ []cost.AstNode) *cost.CallEstimate {
	switch function {
	case lookupElement:
		return cost.NewCallEstimate(cost.FixedCostEstimate(maxElements), upTo(1, nil))
	case lookupDocument, textDigest:
		return cost.NewCallEstimate(cost.FixedCostEstimate(1), upTo(1, nil))
	case sectionOf, unchangedOutside:
		return cost.NewCallEstimate(cost.FixedCostEstimate(2*maxItems), upTo(1, nil))
	}
	return nil
}

// bounded are the functions whose results are bounded by this package, whatever the estimator thinks of them.
func bounded() []cost.Option {
	list := func(most uint64) cost.FunctionEstimator {
		return func(cost.Estimator, *cost.AstNode, []cost.AstNode) *cost.CallEstimate {
			size := cost.RangedSizeEstimate(1, most+1)
			size.Elem = upTo(1, nil)
			return cost.NewCallEstimate(cost.FixedCostEstimate(1), &size)
		}
	}
	return []cost.Option{
		cost.OverloadCostEstimate("string_split_string", list(maxParts)),
		cost.OverloadCostEstimate("string_split_string_int", list(maxParts)),
		cost.OverloadCostEstimate("lists_range", list(maxItems)),
	}
}
