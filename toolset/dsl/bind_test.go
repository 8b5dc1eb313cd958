package dsl_test

import (
	"regexp"
	"strings"
	"testing"

	. "goa.design/goa/v3/dsl"

	"toolsvc/tool"
	. "toolsvc/toolset/dsl"
	"toolsvc/toolset/expr"
	"toolsvc/toolset/internal/designtest"
)

// bound declares a service and a toolset with one tool that is bound to it, right but for what fn adds inside Bind.
func bound(method string, fn func()) func() {
	return func() {
		orders()
		Toolset("shop", func() {
			Description("A shop.")
			boundTool("refund", method, fn)
		})
	}
}

func orders() {
	Type("Slow", func() {
		ErrorName("name", String)
		Attribute("seconds", Int)
		Attribute("where", String)
		Required("name")
	})
	Type("Part", func() {
		Attribute("n", Int)
		Required("n")
	})
	Service("orders", func() {
		Error("not_found")
		Error("slow", typeNamed("Slow"))
		for _, name := range []string{"refund", "other"} {
			Method(name, func() {
				Payload(func() {
					Attribute("id", String)
					Attribute("cents", Int)
					Attribute("key", String)
					Attribute("token", String)
					Attribute("inline", func() { Attribute("x", Int) })
					Attribute("parts", ArrayOf(typeNamed("Part")))
					if name == "other" {
						Required("token")
					}
					Required("id")
				})
				Result(func() {
					Attribute("number", String)
					Attribute("at", String)
					Required("number")
				})
			})
		}
		Method("watch", func() { StreamingResult(String) })
		Method("ping", func() {})
		Method("list", func() { Result(ArrayOf(String)) })
	})
}

func boundTool(name, method string, fn func()) {
	Tool(name, "Pay an order back.", func() {
		Args(func() {
			Attribute("id", String)
			Attribute("cents", Int)
			Required("id")
			Example(Val{"id": "1"})
		})
		Return(func() {
			Attribute("number", String)
			Required("number")
		})
		Effect(Reversible)
		Postcondition("numbered", `result.number != ""`, "the refund has a number")
		Bind("orders", method, fn)
	})
}

// tools declares a toolset with one tool, of which fn declares all but the effect.
func tools(fn func()) func() {
	return func() {
		orders()
		toolset(fn)()
	}
}

func TestBindingMistakes(t *testing.T) {
	post := func() { Postcondition("done", `true`, "it is done") }
	for name, c := range map[string]struct {
		design func()
		want   string
	}{
		"outside a tool":   {func() { Bind("orders", "refund") }, `Bind cannot be used here`},
		"map outside":      {toolset(func() { Map("a", "b") }), `Map cannot be used here`},
		"fails outside":    {toolset(func() { Fails("a", RateLimited, "b") }), `Fails cannot be used here`},
		"absent outside":   {bound("refund", func() { Absent("not_found") }), `Absent cannot be used here`},
		"retry outside":    {bound("refund", func() { RetryAfterFrom("seconds") }), `RetryAfterFrom cannot be used here`},
		"bound twice":      {tools(func() { Bind("orders", "ping"); Bind("orders", "ping"); post() }), `Bind is declared twice`},
		"observed twice":   {bound("refund", func() { Observe("refund"); Observe("refund") }), `Observe is declared twice`},
		"service":          {tools(func() { Bind("order", "ping"); post() }), `Bind("order", "ping"): the design has no service "order"; is "orders" meant?`},
		"method":           {bound("refnd", func() {}), `the service has no method "refnd"; is "refund" meant?`},
		"streaming":        {tools(func() { Bind("orders", "watch"); post() }), `the method streams`},
		"no postcondition": {tools(func() { Bind("orders", "ping") }), `the tool needs a Postcondition`},
		"sources":          {tools(func() { Bind("orders", "ping"); post(); Sources(AX) }), `needs no Sources`},
		"not all bound": {func() {
			orders()
			Toolset("shop", func() {
				Description("x")
				boundTool("refund", "refund", func() {})
				Tool("free", "x", func() { Effect(ReadOnly) })
			})
		}, `tool "free" of toolset "shop": is not bound to a method, but other tools of its toolset are`},
		"unknown argument":  {bound("refund", func() { Map("idd", "id") }), `Map("idd", "id"): the arguments have no field "idd"; is "id" meant?`},
		"unknown attribute": {bound("refund", func() { Map("cents", "cent") }), `Map("cents", "cent"): the payload of the method has no attribute "cent"; is "cents" meant?`},
		"filled twice":      {bound("refund", func() { Map("cents", "key"); IdempotencyKey("key") }), `the attribute "key" is filled twice`},
		"type":              {bound("refund", func() { Map("cents", "key") }), `"cents" does not fit the attribute "key": the tool has int, the method string`},
		"inline object": {tools(func() {
			Args(func() {
				Attribute("id", String)
				Attribute("inline", func() { Attribute("x", Int) })
				Required("id")
				Example(Val{"id": "1"})
			})
			post()
			Bind("orders", "refund")
		}), `"inline" does not fit the attribute "inline": the method's object is declared inline; give it a Type`},
		"optional":          {tools(func() { Args(func() { Attribute("id", String) }); post(); Bind("orders", "refund") }), `"id" is optional, but the method requires the attribute "id"`},
		"required unfilled": {bound("other", func() {}), `nothing fills the attribute "token", which the method requires`},
		"argument unused": {tools(func() {
			Args(func() { Attribute("id", String); Attribute("cent", Int); Required("id"); Example(Val{"id": "1"}) })
			post()
			Bind("orders", "refund")
		}), `the argument "cent" goes to no attribute of the method; is "cents" meant?`},
		"elements": {tools(func() {
			Args(func() {
				Attribute("id", String)
				Attribute("parts", ArrayOf(String))
				Required("id")
				Example(Val{"id": "1"})
			})
			post()
			Bind("orders", "refund")
		}), `"parts" does not fit the attribute "parts": its elements: the tool has string, the method Part`},
		"key no text": {bound("refund", func() { IdempotencyKey("cents") }), `IdempotencyKey("cents"): the attribute must be a String`},
		"result unfilled": {tools(func() {
			Return(func() { Attribute("nmber", String); Required("nmber") })
			post()
			Bind("orders", "refund", func() { Supplied("id") })
		}), `nothing fills the field "nmber" of Return, which is required; the method answers number, at`},
		"result maybe": {tools(func() {
			Return(func() { Attribute("at", String); Required("at") })
			post()
			Bind("orders", "refund", func() { Supplied("id") })
		}), `the field "at" of Return is required, but the method may leave out the attribute "at"`},
		"result type": {tools(func() {
			Return(func() { Attribute("number", Int) })
			post()
			Bind("orders", "refund", func() { Supplied("id") })
		}), `the attribute "number" does not fit the field "number" of Return`},
		"result map":     {bound("refund", func() { MapResult("numbr", "number") }), `MapResult("numbr", "number"): what the method answers has no attribute "numbr"; is "number" meant?`},
		"result nothing": {bound("ping", func() {}), `the method takes nothing, but the tool has arguments`},
		"result no object": {tools(func() {
			Return(func() { Attribute("a", String); Attribute("b", String) })
			post()
			Bind("orders", "list")
		}), `what the method answers is no object, so Return needs exactly one field that takes it`},
		"error":              {bound("refund", func() { Fails("not_fond", TargetNotFound, "Look.") }), `Fails("not_fond", …): the method declares no error "not_fond"; is "not_found" meant?`},
		"failure":            {bound("refund", func() { Fails("not_found", tool.Covered, "Look.") }), `an error cannot stand for "covered"; choose one of TargetNotFound`},
		"no hint":            {bound("refund", func() { Fails("not_found", TargetNotFound, " ") }), `needs a hint`},
		"error twice":        {bound("refund", func() { Fails("slow", RateLimited, "a"); Fails("slow", TimedOut, "b") }), `Fails("slow", …): is declared twice`},
		"retry attribute":    {bound("refund", func() { Fails("slow", RateLimited, "Wait.", func() { RetryAfterFrom("secs") }) }), `RetryAfterFrom("secs"): the error has no such attribute`},
		"retry kind":         {bound("refund", func() { Fails("slow", RateLimited, "Wait.", func() { RetryAfterFrom("where") }) }), `RetryAfterFrom("where"): the attribute is a string`},
		"retry of Goa's own": {bound("refund", func() { Fails("not_found", RateLimited, "Wait.", func() { RetryAfterFrom("seconds") }) }), `the error has Goa's own type`},
		"retry elsewhere":    {bound("refund", func() { Fails("slow", TargetNotFound, "Wait.", func() { RetryAfterFrom("seconds") }) }), `RetryAfterFrom is for RateLimited and ToolUnavailable`},
		"argument elsewhere": {bound("refund", func() { Fails("slow", RateLimited, "Wait.", func() { Argument("id") }) }), `Argument and ArgumentFrom are for InvalidArguments`},
		"argument unknown":   {bound("refund", func() { Fails("slow", InvalidArguments, "Mend it.", func() { Argument("idd") }) }), `the tool has no argument "idd"; is "id" meant?`},
		"absent unknown":     {bound("refund", func() { Observe("refund", func() { Absent("gone") }) }), `Absent("gone"): the method declares no such error`},
		"observe nothing":    {bound("refund", func() { Observe("ping") }), `what it answers cannot be observed: the method answers nothing`},
		"observe result":     {bound("refund", func() { Observe("refund", func() { Map("result.number", "id") }) }), `only a Compensate can read the result`},
		"before unobserved":  {bound("refund", func() { Compensate("refund", func() { Map("before.number", "id") }) }), `what was there before is known only with an Observe`},
		"before unknown":     {bound("refund", func() { Observe("refund"); Compensate("refund", func() { Map("before.nmber", "id") }) }), `what is observed has no attribute "nmber"`},
		"state unobserved": {tools(func() {
			Precondition("open", `state.status == "open"`, "it is open")
			post()
			Bind("orders", "ping")
		}), `the condition "open" reads state, which is what an Observe answers; declare one`},
		"compensate read-only": {func() {
			orders()
			Toolset("shop", func() {
				Description("x")
				Tool("ping", "x", func() { Effect(ReadOnly); post(); Bind("orders", "ping", func() { Compensate("ping") }) })
			})
		}, `the tool is read-only, so there is nothing to compensate`},
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

// A mistake that needs the whole design to be found still says where it stands.
func TestBindingMistakesHaveAPlace(t *testing.T) {
	err := designtest.Eval(bound("refnd", func() { Observe("fnd") }))
	if err == nil {
		t.Fatal("no mistake was found")
	}
	for _, want := range []string{`dsl/bind_test\.go:\d+: tool "refund" of toolset "shop": Bind\("orders", "refnd"\)`, `dsl/bind_test\.go:\d+: tool "refund" of toolset "shop": Observe\("orders", "fnd"\)`} {
		if !regexp.MustCompile(want).MatchString(err.Error()) {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
}

// What a binding resolves to: names, the call's identifier, and that what is observed holds the lost result.
func TestBinding(t *testing.T) {
	err := designtest.Eval(bound("other", func() {
		Map("id", "id")
		IdempotencyKey("key")
		Supplied("token")
		Fails("slow", RateLimited, "Wait.", func() { RetryAfterFrom("seconds") })
		Observe("refund")
	}))
	if err != nil {
		t.Fatal(err)
	}
	b := expr.Root.Toolsets[0].Tools[0].Bind
	got := map[string]string{}
	for _, in := range b.Inputs {
		got[in.Attribute] = in.Name
	}
	if len(got) != 3 || got["id"] != "id" || got["cents"] != "cents" || got["key"] != "" {
		t.Errorf("inputs %v", got)
	}
	if len(b.Results) != 1 || b.Results[0].Attribute != "number" || len(b.Observe.Inputs) != 1 {
		t.Errorf("results %+v, observed by %+v", b.Results, b.Observe.Inputs)
	}
}
