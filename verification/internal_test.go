package verification

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"

	"toolsvc/tool"
)

// The bounded functions on text compute what cel-go's own do.
func TestTextFunctionsAgreeWithCEL(t *testing.T) {
	t.Parallel()
	theirs, err := cel.NewEnv(ext.Strings())
	if err != nil {
		t.Fatal(err)
	}
	ours, err := base()
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{``, `a`, `aa`, `abcabc`, `a,b,,c`, `日本語日本`, `ünï`, ` `}
	parts := []string{``, `a`, `b`, `,`, `abc`, `本`, `aaaa`, `日本語日本x`}
	var expressions []string
	for _, s := range texts {
		for _, p := range parts {
			expressions = append(expressions,
				fmt.Sprintf(`%q.replace(%q, "--")`, s, p), fmt.Sprintf(`%q.replace(%q, "")`, s, p), fmt.Sprintf(`%q.split(%q)`, s, p),
				fmt.Sprintf(`%q.indexOf(%q)`, s, p), fmt.Sprintf(`%q.lastIndexOf(%q)`, s, p), fmt.Sprintf(`["x", %q, "y"].join(%q)`, s, p))
			for n := -2; n < 8; n++ {
				expressions = append(expressions,
					fmt.Sprintf(`%q.replace(%q, "-+-", %d)`, s, p, n), fmt.Sprintf(`%q.split(%q, %d)`, s, p, n),
					fmt.Sprintf(`%q.indexOf(%q, %d)`, s, p, n), fmt.Sprintf(`%q.lastIndexOf(%q, %d)`, s, p, n))
			}
		}
		expressions = append(expressions, fmt.Sprintf(`[%q, "b"].join()`, s))
	}
	evaluate := func(e *cel.Env, expression string) (ref.Val, error) {
		tree, iss := e.Compile(expression)
		if iss.Err() != nil {
			t.Fatal(iss.Err())
		}
		p, err := e.Program(tree)
		if err != nil {
			t.Fatal(err)
		}
		v, _, err := p.Eval(map[string]any{})
		return v, err
	}
	for _, x := range expressions {
		want, wantErr := evaluate(theirs, x)
		got, gotErr := evaluate(ours, x)
		if (wantErr != nil) != (gotErr != nil) || wantErr == nil && got.Equal(want) != types.True {
			t.Errorf("%s: got %v (%v), want %v (%v)", x, got, gotErr, want, wantErr)
		}
	}
}

// What the bounded functions would make too large is an error.
func TestTextFunctionsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", maxText)
	many := make([]string, maxParts+1)
	for i := range many {
		many[i] = "x"
	}
	list := func(s ...string) ref.Val { return types.NewStringList(types.DefaultTypeAdapter, s) }
	for name, v := range map[string]ref.Val{
		"replace grows":        replace(long, "a", "bb", -1),
		"replace of nothing":   replace(long, "", "b", -1),
		"split":                split(long, "", -1),
		"split at most":        split(long, "a", maxParts+1),
		"join of many":         join(list(many...), ""),
		"join of long":         join(list(long, "b"), ""),
		"join with separators": join(list("", "", ""), long),
	} {
		if !types.IsError(v) {
			t.Errorf("%s is not an error", name)
		}
	}
	for name, v := range map[string]ref.Val{
		"replace of the same length": replace(long, "a", "b", -1),
		"replace that shrinks":       replace(long, "aa", "b", -1),
		"replace a few":              replace(long[:maxText-10], "a", "bb", 10),
		"split off":                  split(long, "a", 2),
		"join":                       join(list(long[1:], "b"), ""),
	} {
		if types.IsError(v) {
			t.Errorf("%s: %v", name, v)
		}
	}
}

// A value and its JSON round trip become the same canonical value.
func TestCanonical(t *testing.T) {
	t.Parallel()
	type named string
	for _, v := range []any{
		nil, true, "x", 1.5, 3, int8(-3), uint16(7), float32(0.5), int64(1) << 53, named("n"), json.Number("12"), json.Number("1.5e3"),
		[]string{"a", "b"}, []any{1, "a", nil, []int{1}}, map[string]int{"a": 1}, map[named]bool{"x": true},
		map[string]any{"a": []map[string]any{{"b": uint(1)}}}, [2]bool{true, false},
	} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var decoded any
		if err := json.Unmarshal(text, &decoded); err != nil {
			t.Fatal(err)
		}
		want, err := canonical(decoded)
		if err != nil {
			t.Fatal(err)
		}
		before := fmt.Sprintf("%#v", v)
		got, err := canonical(v)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%#v: got %#v (%v), want %#v", v, got, err, want)
		}
		if after := fmt.Sprintf("%#v", v); after != before {
			t.Errorf("canonical changed its argument: %s, before %s", after, before)
		}
	}
	if v, err := canonical(json.Number("9007199254740993")); err != nil || v != int64(9007199254740993) {
		t.Errorf("a large whole number loses digits: %v (%v)", v, err)
	}
	for _, v := range []any{math.NaN(), math.Inf(1), func() {}, struct{}{}, map[int]string{1: "x"}, make(chan int), json.Number("1e999"), json.Number("x"), complex(1, 1)} {
		if c, err := canonical(v); err == nil {
			t.Errorf("%#v: got %#v", v, c)
		}
	}
}

// Of several faults in one map the reported one is always the same.
func TestCanonicalErrorsAreDeterministic(t *testing.T) {
	t.Parallel()
	bad := map[string]any{"ok": 1}
	for i := range 20 {
		bad[fmt.Sprintf("k%02d", i)] = func() {}
	}
	large := map[string]any{}
	for i := range 100 {
		large[fmt.Sprint(i)] = make([]any, 999)
	}
	large["x"] = func() {}
	for range 50 {
		if _, err := canonical(bad); err == nil || !strings.HasPrefix(err.Error(), `entry "k00": `) {
			t.Fatal(err)
		}
		if _, err := canonical(large); err == nil || err.Error() != errTooBig.Error() {
			t.Fatal(err)
		}
	}
}

func TestShape(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		t    *cel.Type
		v    any
		want any // nil for an error
	}{
		{cel.StringType, "a", "a"}, {cel.StringType, 1.0, nil}, {cel.BoolType, true, true}, {cel.BoolType, "true", nil},
		{cel.IntType, 3.0, int64(3)}, {cel.IntType, 3.5, nil}, {cel.IntType, 1e300, nil}, {cel.IntType, "3", nil}, {cel.IntType, int64(1) << 60, int64(1) << 60},
		{cel.DoubleType, 3.0, 3.0}, {cel.DoubleType, int64(1) << 60, float64(int64(1) << 60)}, {cel.DoubleType, true, nil},
		{cel.ListType(cel.StringType), []any{"a"}, []any{"a"}}, {cel.ListType(cel.StringType), []any{"a", 1.0}, nil}, {cel.ListType(cel.StringType), "a", nil},
		{cel.ListType(cel.IntType), []any{1.0, 2.0}, []any{int64(1), int64(2)}}, {cel.ListType(cel.DynType), []any{1.0, "a"}, []any{1.0, "a"}},
		{cel.ListType(pageObject.celType()), []any{map[string]any{}}, []any{map[string]any{}}}, {cel.ListType(pageObject.celType()), []any{1.0}, nil},
		{cel.MapType(cel.StringType, cel.IntType), map[string]any{"a": 1.0}, map[string]any{"a": int64(1)}}, {cel.MapType(cel.StringType, cel.IntType), map[string]any{"a": "1"}, nil},
		{cel.DynType, 1.0, 1.0},
	} {
		got, err := shape(c.t, c.v)
		if c.want == nil {
			if err == nil {
				t.Errorf("%v as %v: got %v", c.v, c.t, got)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v as %v: got %#v (%v)", c.v, c.t, got, err)
		}
	}
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newCache[int, string](3)
	made := 0
	get := func(k int) { c.get(k, func() string { made++; return fmt.Sprint(k) }) }
	for _, k := range []int{1, 2, 3, 1, 4, 1, 2} { // 2 is the least recently used when 4 comes
		get(k)
	}
	if made != 5 || c.len() != 3 {
		t.Errorf("made %d, kept %d", made, c.len())
	}
	var all sync.WaitGroup
	shared := newCache[int, int](10)
	for i := range 8 {
		all.Go(func() {
			for j := range 1000 {
				k := (i * j) % 37
				if v := shared.get(k, func() int { return k * k }); v != k*k {
					t.Errorf("got %d for %d", v, k)
				}
			}
		})
	}
	all.Wait()
	if shared.len() != 10 {
		t.Errorf("kept %d", shared.len())
	}
}

// What a caller sends over and over with other expressions does not pile up.
func TestExpectationsAreBounded(t *testing.T) {
	t.Parallel()
	spec := &tool.Spec{ID: "test.many"}
	for i := range maxCachedExpressions + 20 {
		if _, issues := Compile(spec, nil, []string{fmt.Sprintf("exit_code == %d", i)}); issues != nil {
			t.Fatal(issues)
		}
	}
	if n := languageOf(spec).expect.len(); n != maxCachedExpressions {
		t.Errorf("kept %d", n)
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"title", "text", "url", "exit_code"}
	for word, want := range map[string]string{"titel": "title", "TITLE": "title", "tetx": "text", "exitcode": "exit_code", "foo": "", "": "", "ulr": "url", "x": ""} {
		if got := nearest(word, names); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}
