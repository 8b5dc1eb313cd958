package dsl_test

import (
	"strings"
	"testing"
	"time"

	. "goa.design/goa/v3/dsl"
	goaexpr "goa.design/goa/v3/expr"

	"toolsvc/tool"
	. "toolsvc/toolset/dsl"
	"toolsvc/toolset/expr"
	"toolsvc/toolset/internal/designtest"
)

// toolset declares a toolset with one tool that is right but for what fn adds.
func toolset(fn func()) func() {
	return func() {
		Toolset("shop", func() {
			Description("A shop.")
			Tool("refund", "Pay an order back.", func() {
				Effect(Reversible)
				fn()
			})
		})
	}
}

// args declares a tool whose only mistake is in its arguments.
func args(fn func()) func() { return toolset(func() { Args(fn) }) }

const inTool = `tool "refund" of toolset "shop": `

// TestMistakes holds the message of each mistake that a design can make.
func TestMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		design func()
		want   string
	}{
		// toolsets and tools
		"toolset name":        {func() { Toolset("Shop", func() {}) }, `toolset "Shop": the name must match`},
		"toolset keyword":     {func() { Toolset("type", func() {}) }, `toolset "type": the name is a keyword of Go`},
		"toolset twice":       {func() { toolset(func() {})(); toolset(func() {})() }, `toolset "shop": is declared twice`},
		"toolset empty":       {func() { Toolset("shop", func() {}) }, `toolset "shop": has no tool`},
		"toolset undescribed": {func() { Toolset("shop", func() {}) }, `toolset "shop": needs a Description`},
		"toolset nested":      {func() { Toolset("shop", func() { Toolset("inner", func() {}) }) }, `Toolset cannot be used here`},
		"tool outside":        {func() { Tool("refund", "x", func() {}) }, `Tool cannot be used here`},
		"tool name":           {func() { Toolset("shop", func() { Tool("Refund", "x", func() {}) }) }, `tool "Refund" of toolset "shop": the name must match`},
		"tool undescribed":    {func() { Toolset("shop", func() { Tool("refund", " ", func() {}) }) }, inTool + `needs a description`},
		"tool twice": {func() {
			Toolset("shop", func() {
				Tool("refund", "x", func() {})
				Tool("refund", "x", func() {})
			})
		}, inTool + `is declared twice`},
		"tool names clash in Go": {func() {
			Toolset("shop", func() {
				Tool("a_b", "x", func() {})
				Tool("a__b", "x", func() {})
			})
		}, `tool "a__b" of toolset "shop": has the same Go name as the tool "a_b"`},
		"outside a tool": {func() { Effect(ReadOnly) }, `Effect cannot be used here`},
		// effects and the like
		"no effect":              {func() { Toolset("shop", func() { Tool("refund", "x", func() {}) }) }, inTool + `needs an Effect: ReadOnly, Idempotent, Reversible or Irreversible`},
		"unknown effect":         {func() { Toolset("shop", func() { Tool("refund", "x", func() { Effect("grave") }) }) }, inTool + `needs an Effect`},
		"effect twice":           {toolset(func() { Effect(ReadOnly) }), `Effect is declared twice`},
		"effect rule unknown":    {toolset(func() { EffectWhen("grave", "true") }), inTool + `EffectWhen names the unknown class "grave"`},
		"effect rule milder":     {toolset(func() { EffectWhen(Idempotent, "true") }), inTool + `EffectWhen(idempotent, …) must name a graver class than Effect(reversible)`},
		"effect rule same":       {toolset(func() { EffectWhen(Reversible, "true") }), `must name a graver class`},
		"effect rule reads page": {toolset(func() { EffectWhen(Irreversible, `page.url == "x"`) }), inTool + `EffectWhen(irreversible, …) reads page, but only args is known when the effect is decided`},
		"source unknown":         {toolset(func() { Sources("ocr") }), inTool + `Sources names the unknown source "ocr"`},
		"source twice":           {toolset(func() { Sources(AX, CDP, AX) }), inTool + `Sources names ax twice`},
		"time limit text":        {toolset(func() { TimeLimit("soon") }), `TimeLimit "soon" is not a duration`},
		"time limit zero":        {toolset(func() { TimeLimit("0s") }), inTool + `TimeLimit must be between 100ms and 24h0m0s, not 0s`},
		"time limit long":        {toolset(func() { TimeLimit("25h") }), inTool + `TimeLimit must be between`},
		"confirm empty":          {toolset(func() { Confirm("") }), `Confirm is empty`},
		"ask twice":              {toolset(func() { Ask("a?"); Ask("b?") }), `Ask is declared twice`},
		"rollback of read-only": {func() {
			Toolset("shop", func() { Tool("refund", "x", func() { Effect(ReadOnly); Rollback("Undoes it.") }) })
		}, inTool + `is read-only, so there is nothing to roll back`},
		// conditions
		"condition name":      {toolset(func() { Postcondition("Paid", "true", "x") }), inTool + `Postcondition "Paid": the name must match`},
		"condition twice":     {toolset(func() { Precondition("paid", "true", "x"); Precondition("paid", "true", "x") }), inTool + `Precondition "paid" is declared twice`},
		"condition silent":    {toolset(func() { Precondition("paid", "true", "") }), inTool + `Precondition "paid" needs a message`},
		"condition empty":     {toolset(func() { Precondition("paid", " ", "x") }), inTool + `Precondition "paid" needs a CEL expression`},
		"condition syntax":    {toolset(func() { Precondition("paid", "a ==", "x") }), inTool + `Precondition "paid": the CEL expression "a ==" is not valid at column`},
		"condition too early": {toolset(func() { Precondition("paid", "result.ok", "x") }), inTool + `Precondition "paid" reads result, which does not exist before the tool has run`},
		"condition field": {toolset(func() {
			Args(func() { Attribute("order", func() { Attribute("id", String) }) })
			Postcondition("paid", `args.order.no == ""`, "x")
		}), inTool + `Postcondition "paid": the CEL expression "args.order.no == \"\"" reads the field "no", which is not one of id`},
		"condition field in macro": {toolset(func() {
			Args(func() { Attribute("items", ArrayOf(String)) })
			Postcondition("paid", `args.items.all(i, i != "") && args.item.size() > 0`, "x")
		}), `reads the field "item", which is not one of items, expect, intent`},
		"condition element": {func() {
			line := Type("Line", func() { Attribute("price", Int) })
			toolset(func() {
				Args(func() { Attribute("items", ArrayOf(line)) })
				Postcondition("paid", `args.items[0].price > 0 && args.items[1].prize > 0`, "x")
			})()
		}, `reads the field "prize", which is not one of price`},
		"condition entry": {func() {
			line := Type("Line", func() { Attribute("price", Int) })
			toolset(func() {
				Return(func() { Attribute("by_name", MapOf(String, line)) })
				Postcondition("paid", `result.by_name["a"].price > 0 && result.by_name.b.prize > 1`, "x")
			})()
		}, `reads the field "prize", which is not one of price`},
		"condition result field": {toolset(func() { Postcondition("paid", `has(result.paid)`, "x") }), `reads the field "paid"`},
		// payloads and results
		"args twice":        {toolset(func() { Args(func() {}); Args(func() {}) }), `Args is declared twice`},
		"args wrong":        {toolset(func() { Args(5) }), `Args takes a function that declares attributes, or an object type`},
		"args unknown type": {toolset(func() { Args("Nothing") }), `Args names the type "Nothing", which the design does not declare`},
		"args not an object": {func() {
			x := Type("Ids", ArrayOf(String))
			toolset(func() { Args(x) })()
		}, inTool + `Args: must be an object, not Ids`},
		"return not an object": {func() {
			x := Type("Id", String)
			toolset(func() { Return(x) })()
		}, inTool + `Return: must be an object, not Id`},
		"reserved":     {args(func() { Attribute("expect", String) }), inTool + `Args.expect: every tool has the argument "expect" already`},
		"reserved too": {args(func() { Attribute("intent", String) }), inTool + `Args.intent: every tool has the argument "intent" already`},
		"reserved in a type": {func() {
			x := Type("Order", func() { Attribute("intent", String) })
			toolset(func() { Args(x) })()
		}, inTool + `Args.intent: every tool has the argument "intent" already`},
		"field name":        {args(func() { Attribute("orderID", String) }), inTool + `Args.orderID: the name of a field is snake_case`},
		"nested field name": {args(func() { Attribute("a", func() { Attribute("b-c", Int) }) }), inTool + `Args.a.b-c: the name of a field is snake_case`},
		"required unknown":  {args(func() { Attribute("a", String); Required("b") }), `"b" does not exist`},
		"required and default": {args(func() {
			Attribute("a", String, func() { Default("x") })
			Required("a")
			Example(Val{"a": "x"})
		}), inTool + `Args.a: is required and has a default`},
		"required in a shared type": {func() {
			x := Type("Order", func() { Attribute("id", String) })
			args(func() { Attribute("order", x, func() { Required("id") }) })()
		}, inTool + `Args.order: Required inside this attribute would change the type Order everywhere`},
		"map keys":        {args(func() { Attribute("m", MapOf(Int, String)) }), inTool + `Args.m: the keys of a map are strings in JSON, not int`},
		"one alternative": {args(func() { OneOf("u", func() { Attribute("a", String) }) }), inTool + `Args.u: OneOf needs at least two alternatives`},
		"go type": {args(func() {
			Attribute("a", Bytes, func() { Meta("struct:field:type", "json.RawMessage", "encoding/json") })
		}), inTool + `Args.a: Meta("struct:field:type") has no meaning in a toolset`},
		// rules
		"pattern":           {args(func() { Attribute("a", String, func() { Pattern("(?m)^x$") }) }), inTool + `Args.a: the pattern "(?m)^x$" uses line anchors`},
		"fractional bound":  {args(func() { Attribute("a", Int, func() { Minimum(0.5) }) }), inTool + `Args.a: Minimum(0.5) of an integer must be an integer`},
		"rounded bound":     {args(func() { Attribute("a", Int64, func() { Maximum(int64(9007199254740993)) }) }), inTool + `Args.a: Maximum(9007199254740992): Goa keeps bounds as float64, which may have rounded this one; use ExactMinimum or ExactMaximum`},
		"negative unsigned": {args(func() { Attribute("a", UInt, func() { Minimum(-1) }) }), inTool + `Args.a: Minimum(-1) of an unsigned integer must not be negative`},
		"bound too large":   {args(func() { Attribute("a", Int32, func() { Maximum(1 << 40) }) }), inTool + `Args.a: the bound 1099511627776 does not fit into int32`},
		"exact of a string": {args(func() { Attribute("a", String, func() { ExactMinimum(1) }) }), inTool + `Args.a: ExactMinimum and ExactMaximum are for integers`},
		"exact too large":   {args(func() { Attribute("a", Int64, func() { ExactMaximum(uint64(1 << 63)) }) }), inTool + `Args.a: the bound 9223372036854775808 does not fit into int64`},
		"exact of nothing":  {args(func() { Attribute("a", Int64, func() { ExactMaximum("9") }) }), `cannot use "9" as a bound: give an integer`},
		"two bounds":        {args(func() { Attribute("a", Int64, func() { ExactMaximum(9); Maximum(8) }) }), inTool + `Args.a: has two bounds of one kind`},
		"bounds cross":      {args(func() { Attribute("a", Int64, func() { ExactMinimum(9); Maximum(8) }) }), inTool + `Args.a: the minimum 9 is greater than the maximum 8`},
		"lengths cross":     {args(func() { Attribute("a", String, func() { MinLength(3); MaxLength(2) }) }), `min length is greater than max length`},
		"negative length":   {args(func() { Attribute("a", String, func() { MinLength(-1) }) }), inTool + `Args.a: a length cannot be negative`},
		"enum twice":        {args(func() { Attribute("a", String, func() { Enum("x", "x") }) }), inTool + `Args.a: Enum lists x twice`},
		"enum type":         {args(func() { Attribute("a", String, func() { Enum("x", 5) }) }), `value 5 at index 1 is incompatible`},
		"enum range":        {args(func() { Attribute("a", Int32, func() { Enum(1 << 40) }) }), inTool + `Args.a: Enum: 1099511627776 does not fit into int32`},
		"enum of an array":  {args(func() { Attribute("a", ArrayOf(String), func() { Enum([]string{"a"}) }) }), inTool + `Args.a: Enum: only booleans, numbers and strings can be enumerated`},
		"enum widens": {func() {
			x := Type("Color", String, func() { Enum("red", "green") })
			args(func() { Attribute("a", x, func() { Enum("blue") }) })()
		}, inTool + `Args.a: Enum lists blue, which the type does not allow`},
		// defaults and examples
		"default type": {args(func() { Attribute("a", Int, func() { Default("x") }) }), `default value "x" is incompatible`},
		"default rule": {args(func() { Attribute("a", String, func() { MinLength(3); Default("x") }) }), inTool + `Args.a: the default "x" is not valid: The value must have at least 3 characters; it has 1.`},
		"default of a type": {func() {
			x := Type("Point", func() { Attribute("x", Int); Required("x") })
			args(func() { Attribute("p", x, func() { Default(Val{"y": 1}) }) })()
		}, inTool + `Args.p: the default {"y":1} is not valid: y is not a known field`},
		"no example":         {args(func() { Attribute("a", String); Required("a") }), inTool + `Args needs an Example, because a call without arguments is not valid`},
		"no example of one":  {args(func() { Attribute("a", String); Attribute("b", String); AtLeastOne("a", "b") }), inTool + `Args needs an Example`},
		"example incomplete": {args(func() { Attribute("a", String); Attribute("b", String); Required("a"); Example(Val{"b": "x"}) }), inTool + `the Example of Args is not valid: a is missing.`},
		"example unknown":    {args(func() { Attribute("a", String); Example(Val{"b": "x"}) }), inTool + `the Example of Args is not valid: b is not a known field`},
		"example wrong":      {args(func() { Attribute("a", func() { Attribute("b", Int) }); Example(Val{"a": Val{"b": "x"}}) }), inTool + `the Example of Args is not valid: a.b must be an integer, not "x".`},
		"example format":     {args(func() { Attribute("a", String, func() { Format(FormatURI) }); Example(Val{"a": "/path"}) }), inTool + `the Example of Args is not valid: a must be an absolute URI`},
		"result example":     {toolset(func() { Return(func() { Attribute("a", Int); Example(Val{"a": "x"}) }) }), inTool + `the Example of Return is not valid: a must be an integer, not "x".`},
		// groups and secrets
		"group of one":  {args(func() { Attribute("a", String); AtLeastOne("a") }), `AtLeastOne needs at least two fields`},
		"group unknown": {args(func() { Attribute("a", String); AtLeastOne("a", "c"); Example(Val{"a": "x"}) }), inTool + `Args: AtLeastOne names "c", which is not one of its fields`},
		"group twice":   {args(func() { Attribute("a", String); AtLeastOne("a", "a"); Example(Val{"a": "x"}) }), inTool + `Args: AtLeastOne names "a" twice`},
		"group required": {args(func() {
			Attribute("a", String)
			Attribute("b", String)
			Required("a")
			AtLeastOne("a", "b")
			Example(Val{"a": "x"})
		}), inTool + `Args: AtLeastOne names "a", which is required anyway`},
		"group default": {args(func() {
			Attribute("a", String)
			Attribute("b", String, func() { Default("x") })
			AtLeastOne("a", "b")
			Example(Val{"a": "x"})
		}), inTool + `Args: AtLeastOne names "b", which has a default`},
		"group misplaced":  {toolset(func() { AtLeastOne("a", "b") }), `AtLeastOne cannot be used here`},
		"secret misplaced": {toolset(func() { Secret() }), `Secret cannot be used here`},
		"secret key":       {args(func() { Attribute("m", MapOf(String, Int, func() { Key(func() { Secret() }) })) }), inTool + `Args.m: a key cannot be secret`},
		"secret in a recursive type": {func() {
			Type("Folder", func() {
				Attribute("password", String, func() { Secret() })
				Attribute("inner", "Folder")
			})
			args(func() { Attribute("f", "Folder") })()
		}, inTool + `the type Folder holds itself and a Secret, so the secret's places cannot be listed`},
	} {
		err := designtest.Eval(c.design)
		switch {
		case err == nil:
			t.Errorf("%s: no mistake was found", name)
		case !strings.Contains(err.Error(), c.want):
			t.Errorf("%s:\n got %v\nwant %s", name, err, c.want)
		}
	}
}

// TestAllMistakesAtOnce holds that one mistake does not hide another.
func TestAllMistakesAtOnce(t *testing.T) {
	err := designtest.Eval(func() {
		Toolset("shop", func() {
			Description("A shop.")
			Tool("one", "x", func() { Args(func() { Attribute("A", String); Attribute("b", Int, func() { Minimum(0.5) }) }) })
			Tool("two", "x", func() { Effect(ReadOnly); Args(func() { Attribute("a", String); Required("a") }) })
		})
	})
	if err == nil {
		t.Fatal("no mistake was found")
	}
	for _, want := range []string{`tool "one" of toolset "shop": needs an Effect`, `Args.A: the name of a field`, `Args.b: Minimum(0.5)`, `tool "two" of toolset "shop": Args needs an Example`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
}

// TestExpressions holds what a design without mistakes comes to.
func TestExpressions(t *testing.T) {
	err := designtest.Eval(func() {
		Type("Base", func() {
			Attribute("id", String)
			Attribute("name", String)
			AtLeastOne("id", "name")
		})
		Toolset("shop", func() {
			Description("A shop.")
			Tool("find_order", "Find an order.", func() {
				Args(func() {
					Extend(typeNamed("Base"))
					Attribute("secret", String, func() { Secret() })
					Example(Val{"id": "1"})
				})
				Return("Base")
				Effect(ReadOnly)
				EffectWhen(Irreversible, `has(args.secret) && args.expect.exists(x, x == type(1) || args.intent != "")`)
				Postcondition("found", `result.id == args.id || page.text.contains(args.name)`, "the order was found")
			})
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	tl := expr.Root.Toolsets[0].Tools[0]
	if tl.ID() != "shop.find_order" || tl.Title() != "Find order" || tl.TimeLimit != 30*time.Second || tl.Effect != tool.ReadOnly ||
		len(tl.Sources) != 1 || tl.Sources[0] != tool.SourceSystem || string(tl.Example) != `{"id":"1"}` {
		t.Errorf("%+v", tl)
	}
	if g := tl.Payload.Named.AtLeastOne; len(g) != 1 || strings.Join(g[0], " ") != "id name" {
		t.Errorf("what Base demands is lost by Extend: %v", g)
	}
	if g := tl.Result.Named.AtLeastOne; len(g) != 1 {
		t.Errorf("what Base demands is lost in a result: %v", g)
	}
}

// typeNamed finds a type of the design that is being evaluated.
func typeNamed(name string) goaexpr.UserType { return goaexpr.Root.UserType(name) }

// A mistake is placed where the design makes it, not in the package that finds it.
func TestMistakesNameTheDesignsLine(t *testing.T) {
	for name, design := range map[string]func(){
		"time limit": toolset(func() { TimeLimit("soon") }),
		"misplaced":  func() { Tool("refund", "x", func() {}) },
		"bind twice": toolset(func() { Bind("a", "b"); Bind("a", "b") }),
	} {
		err := designtest.Eval(design)
		if err == nil || !strings.Contains(err.Error(), "[dsl_test.go:") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
