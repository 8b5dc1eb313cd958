package verification

import (
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// charges corrects CEL's charges while an expression is evaluated: it charges a comparison of two lists or maps for their lengths
// alone, which is far too little when they hold others.
type charges struct{}

var deepSize = types.NewSizeCalculator()

// CallCost implements cost.ActualCostEstimator; nil keeps CEL's own charge.
func (charges) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	switch function {
	case sectionOf, unchangedOutside:
		charge := uint64(2 * maxItems)
		return &charge
	case textDigest:
		charge := uint64(1)
		if s, ok := args[0].(types.String); ok {
			charge += uint64(len(s)) / 10
		}
		return &charge
	case operators.Equals, operators.NotEquals, operators.In:
		if len(args) != 2 || !isContainer(args[0]) || !isContainer(args[1]) {
			return nil
		}
		charge := uint64(deepSize.AggregateSize(args[1]))
		if function != operators.In {
			charge = min(charge, uint64(deepSize.AggregateSize(args[0])))
		}
		return &charge
	}
	return nil
}

func isContainer(v ref.Val) bool {
	switch v.(type) {
	case traits.Lister, traits.Mapper:
		return true
	}
	return false
}
