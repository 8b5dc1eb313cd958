package tool

import (
	"cmp"
	"math"
	"strconv"
	"unicode/utf8"
)

// violation is a rule that a value does not keep.
type violation struct {
	constraint string
	limit      any
	allowed    []string
	count      int    // how long the value is, where that is what counts
	unit       string // what count counts, when the constraint does not say
}

func (v violation) finding(want string) finding {
	f := finding{count: v.count, unit: v.unit}
	f.Constraint, f.Limit, f.Allowed, f.ExpectedType = v.constraint, v.limit, v.allowed, want
	return f
}

// NoLimit is the Max of a Length without an upper bound.
const NoLimit = math.MaxInt

// Length bounds the length of a string, array or map, both ends included.
type Length struct{ Min, Max int }

// check names the constraint by its suffix: Length, Items or Properties.
func (l *Length) check(n int, suffix string) []violation {
	switch {
	case l == nil:
		return nil
	case n < l.Min:
		return []violation{{constraint: "min" + suffix, limit: l.Min, count: n}}
	case n > l.Max:
		return []violation{{constraint: "max" + suffix, limit: l.Max, count: n}}
	}
	return nil
}

// checkBytes checks a number of bytes, which is named so in messages.
func (l *Length) checkBytes(n int) []violation {
	vs := l.check(n, "Length")
	for i := range vs {
		vs[i].unit = "byte"
	}
	return vs
}

// StringRule is what a string must keep; its zero value allows all.
type StringRule struct {
	// Length counts runes.
	Length  *Length
	Pattern *Pattern
	Format  Format
	Enum    []string
}

func (r *StringRule) check(s string) (vs []violation) {
	if r.Enum != nil && !oneOf(r.Enum, s) {
		vs = append(vs, violation{constraint: "enum", allowed: r.Enum})
	}
	if r.Format != "" && !r.Format.Valid(s) {
		vs = append(vs, violation{constraint: "format", limit: string(r.Format)})
	}
	if l := r.Length; l != nil && (len(s) > l.Max || l.Min > 0 && len(s) < l.Min*utf8.UTFMax) { // else the runes need no counting
		vs = append(vs, l.check(utf8.RuneCountInString(s), "Length")...)
	}
	if r.Pattern != nil && !r.Pattern.match(s) {
		vs = append(vs, violation{constraint: "pattern", limit: r.Pattern.text})
	}
	return vs
}

// checkKey checks a key of a map.
func (r *StringRule) checkKey(key string) (finding, bool) {
	vs := r.check(key)
	if len(vs) == 0 {
		return finding{}, false
	}
	f := vs[0].finding("string")
	f.keyConstraint, f.Constraint = f.Constraint, "propertyNames"
	f.Got = clipped(quoteText(key))
	return f, true
}

func oneOf[T comparable](list []T, x T) bool {
	for _, y := range list {
		if x == y {
			return true
		}
	}
	return false
}

// BoolRule is what a boolean must be.
type BoolRule struct{ Enum []bool }

func (r *BoolRule) check(b bool) []violation {
	if oneOf(r.Enum, b) {
		return nil
	}
	allowed := make([]string, len(r.Enum))
	for i, e := range r.Enum {
		allowed[i] = strconv.FormatBool(e)
	}
	return []violation{{constraint: "enum", allowed: allowed}}
}

// NumberRule is what a number must keep. One bound of each side is always set, because the Go type that holds the number has bounds
// of its own.
type NumberRule[T int64 | uint64 | float64] struct {
	Min, Max                   *T
	ExclusiveMin, ExclusiveMax *T
	Enum                       []T
}

// outside are the violations of an integer that does not even fit into 64 bits.
func (r *NumberRule[T]) outside(negative bool) (vs []violation) {
	if negative {
		vs = append(limits("minimum", r.Min), limits("exclusiveMinimum", r.ExclusiveMin)...)
	} else {
		vs = append(limits("maximum", r.Max), limits("exclusiveMaximum", r.ExclusiveMax)...)
	}
	return append(vs, r.notListed()...)
}

func limits[T any](constraint string, bound *T) []violation {
	if bound == nil {
		return nil
	}
	return []violation{{constraint: constraint, limit: *bound}}
}

func (r *NumberRule[T]) notListed() []violation {
	if r.Enum == nil {
		return nil
	}
	allowed := make([]string, len(r.Enum))
	for i, e := range r.Enum {
		allowed[i] = numberText(e)
	}
	return []violation{{constraint: "enum", allowed: allowed}}
}

func (r *NumberRule[T]) check(n T, compare func(T) int) (vs []violation) {
	if r.Min != nil && compare(*r.Min) < 0 {
		vs = append(vs, violation{constraint: "minimum", limit: *r.Min})
	}
	if r.Max != nil && compare(*r.Max) > 0 {
		vs = append(vs, violation{constraint: "maximum", limit: *r.Max})
	}
	if r.ExclusiveMin != nil && compare(*r.ExclusiveMin) <= 0 {
		vs = append(vs, violation{constraint: "exclusiveMinimum", limit: *r.ExclusiveMin})
	}
	if r.ExclusiveMax != nil && compare(*r.ExclusiveMax) >= 0 {
		vs = append(vs, violation{constraint: "exclusiveMaximum", limit: *r.ExclusiveMax})
	}
	for _, e := range r.Enum {
		if compare(e) == 0 {
			return vs
		}
	}
	return append(vs, r.notListed()...)
}

func checkInteger[T int64 | uint64](r *NumberRule[T], n T) []violation {
	return r.check(n, func(bound T) int { return cmp.Compare(n, bound) })
}

// checkFloat compares with the text where the rounded value equals a bound.
func checkFloat(r *NumberRule[float64], f float64, text []byte) []violation {
	return r.check(f, func(bound float64) int {
		if f == bound {
			return parseDecimal(text).compare(floatDecimal(bound))
		}
		return cmp.Compare(f, bound)
	})
}

// numberText renders a number as JSON does.
func numberText(n any) string {
	switch x := n.(type) {
	case int64:
		return strconv.FormatInt(x, 10)
	case uint64:
		return strconv.FormatUint(x, 10)
	case int:
		return strconv.Itoa(x)
	case float64:
		return string(appendFloat(nil, x, 64))
	}
	return ""
}

// The rules of numbers of which the design demands nothing: only the bounds of the Go type that holds them.
var (
	AnyInt32   = &NumberRule[int64]{Min: new(int64(math.MinInt32)), Max: new(int64(math.MaxInt32))}
	AnyInt64   = &NumberRule[int64]{Min: new(int64(math.MinInt64)), Max: new(int64(math.MaxInt64))}
	AnyUint32  = &NumberRule[uint64]{Min: new(uint64(0)), Max: new(uint64(math.MaxUint32))}
	AnyUint64  = &NumberRule[uint64]{Min: new(uint64(0)), Max: new(uint64(math.MaxUint64))}
	AnyFloat32 = &NumberRule[float64]{Min: new(-math.MaxFloat32), Max: new(math.MaxFloat32)}
	AnyFloat64 = &NumberRule[float64]{Min: new(-math.MaxFloat64), Max: new(math.MaxFloat64)}
)
