package shape

import "math"

// Bounded returns t with a bound on each side: where the design sets none, that of the Go type holds.
func (t *Type) Bounded() *Type {
	low, high := native(t.Native)
	c := *t
	if c.Min == nil && c.ExclusiveMin == nil {
		c.Min = low
	}
	if c.Max == nil && c.ExclusiveMax == nil {
		c.Max = high
	}
	return &c
}

// native are the bounds of a Go type.
func native(name string) (low, high any) {
	switch name {
	case "int", "int64":
		return int64(math.MinInt64), int64(math.MaxInt64)
	case "int32":
		return int64(math.MinInt32), int64(math.MaxInt32)
	case "uint", "uint64":
		return uint64(0), uint64(math.MaxUint64)
	case "uint32":
		return uint64(0), uint64(math.MaxUint32)
	case "float32":
		return -math.MaxFloat32, math.MaxFloat32
	}
	return -math.MaxFloat64, math.MaxFloat64
}

// consistent reports rules of a type that no value, or no value of its Go type, can keep.
func (b *Builder) consistent(t *Type, at string) {
	switch t.Kind {
	case Integer, Unsigned, Number:
		low, high := native(t.Native)
		for _, bound := range []any{t.Min, t.Max, t.ExclusiveMin, t.ExclusiveMax} {
			if bound != nil && (less(bound, low) || less(high, bound)) {
				b.problem(at, "the bound %v does not fit into %s", bound, t.Native)
			}
		}
		if t.Min != nil && t.Max != nil && less(t.Max, t.Min) {
			b.problem(at, "the minimum %v is greater than the maximum %v", t.Min, t.Max)
		}
	default:
		if t.MinLength != nil && t.MaxLength != nil && *t.MaxLength < *t.MinLength {
			b.problem(at, "the least length %d is greater than the greatest, %d", *t.MinLength, *t.MaxLength)
		}
	}
}

// less compares two bounds of one kind.
func less(a, b any) bool {
	switch x := a.(type) {
	case int64:
		return x < b.(int64)
	case uint64:
		return x < b.(uint64)
	case float64:
		return x < b.(float64)
	}
	return false
}
