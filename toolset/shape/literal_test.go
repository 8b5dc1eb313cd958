package shape

import (
	"math"
	"testing"

	goaexpr "goa.design/goa/v3/expr"
)

func TestLiteral(t *testing.T) {
	t.Parallel()
	str := &Type{Kind: String, Native: "string"}
	num := &Type{Kind: Number, Native: "float64"}
	point := &Type{Kind: Object, Named: &Named{Kind: Object, Fields: []*Field{{Name: "y", Type: num}, {Name: "x", Type: num}, {Name: "data", Type: &Type{Kind: Bytes}}}}}
	type word string
	for _, c := range []struct {
		t    *Type
		v    any
		want string
	}{
		{str, "a\"<é>\n", `"a\"<é>\n"`},
		{str, word("w"), `"w"`},
		{num, 1, "1"}, {num, 1.5, "1.5"}, {num, float32(0.1), "0.1"}, {num, 1e21, "1e+21"}, {num, uint64(math.MaxUint64), "18446744073709551615"}, {num, int64(math.MinInt64), "-9223372036854775808"},
		{&Type{Kind: Boolean}, true, "true"},
		{&Type{Kind: Bytes}, []byte("hi"), `"aGk="`}, {&Type{Kind: Bytes}, "hi", `"aGk="`},
		{&Type{Kind: Array, Elem: str}, []string{"a", "b"}, `["a","b"]`}, {&Type{Kind: Array, Elem: str}, []any{}, `[]`},
		{&Type{Kind: Map, Key: str, Elem: num}, map[string]int{"z": 1, "a": 2}, `{"a":2,"z":1}`},
		{&Type{Kind: Map, Key: str, Elem: num}, map[any]any{"z": 1}, `{"z":1}`},
		{point, goaexpr.Val{"x": 1, "y": 2, "data": "hi"}, `{"y":2,"x":1,"data":"aGk="}`},
		{point, map[string]any{"zz": "s", "b": []int{1}, "x": nil}, `{"x":null,"b":[1],"zz":"s"}`}, // what is unknown comes last
		{&Type{Kind: Array, Elem: point}, []goaexpr.Val{{"x": 1}}, `[{"x":1}]`},
		{&Type{Kind: Any}, map[string]any{"b": []any{1, "x", nil}, "a": true}, `{"a":true,"b":[1,"x",null]}`},
		{str, 5, "5"}, // rendered as what it is; the check of the text complains
	} {
		got, err := Literal(c.t, c.v)
		if err != nil || string(got) != c.want {
			t.Errorf("%#v: %s, want %s (%v)", c.v, got, c.want, err)
		}
	}
	for _, v := range []any{math.NaN(), math.Inf(1), make(chan int), map[int]string{1: "a"}, []any{func() {}}, map[string]any{"a": math.NaN()}, "\xff"} {
		if got, err := Literal(str, v); err == nil {
			t.Errorf("%#v became %s", v, got)
		}
	}
}
