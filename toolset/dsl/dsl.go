// Package dsl declares toolsets in a Goa design. It is dot-imported beside Goa's own DSL, whose functions (Attribute, Required,
// Default, Example, Description, …) are used inside Args and Return.
//
//	var _ = Toolset("shop", func() {
//		Tool("refund", "Pay an order back.", func() {
//			Args(func() {
//				Attribute("order_id", String, func() { Pattern(`^o_[0-9]+$`) })
//				Required("order_id")
//				Example(Val{"order_id": "o_17"})
//			})
//			Return(func() {
//				Attribute("refunded", Boolean)
//				Required("refunded")
//			})
//			Effect(Irreversible)
//			Confirm("Pay the order back?")
//			TimeLimit("10s")
//		})
//	})
//
// Importing it registers the plugin of package codegen, so that Goa's generator writes gen/toolsets. Every mistake is a design
// error that names the tool and the field. No name of this package collides with one of goa.design/goa/v3/dsl.
package dsl

import (
	"runtime"
	"strings"
	"time"

	"goa.design/goa/v3/eval"
	goaexpr "goa.design/goa/v3/expr"

	"toolsvc/tool"
	_ "toolsvc/toolset/codegen" // registers the plugin
	"toolsvc/toolset/expr"
	"toolsvc/toolset/shape"
)

// The effect classes, from harmless to grave; see [tool.EffectClass].
const (
	ReadOnly     = tool.ReadOnly
	Idempotent   = tool.Idempotent
	Reversible   = tool.Reversible
	Irreversible = tool.Irreversible
)

// The sources by which a call is grounded; see [tool.Source].
const (
	AX     = tool.SourceAX
	CDP    = tool.SourceCDP
	Vision = tool.SourceVision
	Hotkey = tool.SourceHotkey
	System = tool.SourceSystem
)

// Toolset declares a group of tools, at the top level of a design. The name becomes the package gen/toolsets/<name> and the part
// of each tool's ID before the dot: lower case letters, digits and underscores.
func Toolset(name string, fn func()) *expr.ToolsetExpr {
	if _, ok := eval.Current().(eval.TopExpr); !ok {
		misplaced()
		return nil
	}
	ts := &expr.ToolsetExpr{Name: name, DSLFunc: fn}
	expr.Root.Toolsets = append(expr.Root.Toolsets, ts)
	return ts
}

// Tool declares one tool, inside Toolset. The description is what a model reads to decide whether to call it.
func Tool(name, description string, fn func()) {
	ts, ok := eval.Current().(*expr.ToolsetExpr)
	if !ok {
		misplaced()
		return
	}
	ts.Tools = append(ts.Tools, &expr.ToolExpr{Name: name, Description: description, Toolset: ts, DSLFunc: fn})
}

// Args declares what the tool takes: a function that declares attributes, or an object type of the design. The arguments expect
// and intent are added to every tool. An Example is required as soon as a field is.
func Args(v any) { inTool(func(t *expr.ToolExpr) { t.Args = object(t, "Args", t.Args, v) }) }

// Return declares what the tool answers: a function that declares attributes, or an object type of the design.
func Return(v any) { inTool(func(t *expr.ToolExpr) { t.Return = object(t, "Return", t.Return, v) }) }

// Effect declares what the tool may do to the world; it is required.
func Effect(c tool.EffectClass) {
	inTool(func(t *expr.ToolExpr) {
		if t.Effect != "" {
			report("Effect is declared twice")
		}
		t.Effect = c
	})
}

// EffectWhen gives a call another effect class when a CEL condition over args holds. The rules are tried in order of declaration;
// each must be graver than the class of the tool.
func EffectWhen(c tool.EffectClass, cel string) {
	inTool(func(t *expr.ToolExpr) { t.EffectRules = append(t.EffectRules, tool.EffectRule{When: cel, Class: c}) })
}

// Sources declares the ways to ground the call, in the order of trying; without it the only one is System.
func Sources(s ...tool.Source) {
	inTool(func(t *expr.ToolExpr) { t.Sources = append(t.Sources, s...) })
}

// Precondition declares a CEL condition that must hold before anything runs. The message says what holds when it holds.
func Precondition(name, cel, message string) {
	inTool(func(t *expr.ToolExpr) {
		t.Preconditions = append(t.Preconditions, tool.Condition{Name: name, Expression: cel, Message: message})
	})
}

// Postcondition declares a CEL condition that must hold afterwards. The message says what holds when it holds.
func Postcondition(name, cel, message string) {
	inTool(func(t *expr.ToolExpr) {
		t.Postconditions = append(t.Postconditions, tool.Condition{Name: name, Expression: cel, Message: message})
	})
}

// TimeLimit bounds one attempt, as a Go duration ("15s"); between 100ms and 24h. Without it the limit is 30s.
func TimeLimit(d string) {
	inTool(func(t *expr.ToolExpr) {
		limit, err := time.ParseDuration(d)
		if err != nil {
			report("TimeLimit %q is not a duration such as \"15s\"", d)
			return
		}
		t.TimeLimit, t.TimeLimitSet = limit, true
	})
}

// Confirm asks a person this question before the call is dispatched.
func Confirm(question string) {
	inTool(func(t *expr.ToolExpr) { t.Confirm = once("Confirm", t.Confirm, question) })
}

// Ask is the clarifying question when fields are missing.
func Ask(question string) {
	inTool(func(t *expr.ToolExpr) { t.Question = once("Ask", t.Question, question) })
}

// Rollback says in one sentence what a rollback can undo, and when it refuses.
func Rollback(sentence string) {
	inTool(func(t *expr.ToolExpr) { t.Rollback = once("Rollback", t.Rollback, sentence) })
}

// AtLeastOne demands at least one of the fields of the object that it stands in: inside a Type, an inline object, Args or Return.
func AtLeastOne(fields ...string) {
	a, ok := eval.Current().(*goaexpr.AttributeExpr)
	if !ok {
		misplaced()
		return
	}
	if len(fields) < 2 {
		report("AtLeastOne needs at least two fields; a single one is Required")
		return
	}
	a.AddMeta(shape.MetaAtLeastOne, strings.Join(fields, "\n"))
}

// Secret marks an attribute whose value is never shown: not in issues, hints, events or logs.
func Secret() {
	a, ok := eval.Current().(*goaexpr.AttributeExpr)
	if !ok {
		misplaced()
		return
	}
	a.AddMeta(shape.MetaSecret, "true")
}

// ExactMinimum is Goa's Minimum for integers that Goa's float64 cannot hold: beyond 2^53 in either direction. v is any Go integer.
func ExactMinimum(v any) { exact(shape.MetaMinimum, v) }

// ExactMaximum is Goa's Maximum for integers that Goa's float64 cannot hold: beyond 2^53 in either direction. v is any Go integer.
func ExactMaximum(v any) { exact(shape.MetaMaximum, v) }

func exact(key string, v any) {
	a, ok := eval.Current().(*goaexpr.AttributeExpr)
	if !ok {
		misplaced()
		return
	}
	text, ok := shape.IntegerText(v)
	if !ok {
		report("cannot use %#v as a bound: give an integer", v)
		return
	}
	a.AddMeta(key, text)
}

func inTool(f func(*expr.ToolExpr)) {
	if t, ok := eval.Current().(*expr.ToolExpr); ok {
		f(t)
		return
	}
	misplaced()
}

func once(what, old, value string) string {
	switch {
	case strings.TrimSpace(value) == "":
		report("%s is empty", what)
	case old != "":
		report("%s is declared twice", what)
	}
	return value
}

// object runs an inline declaration, or takes a type of the design as it is.
func object(t *expr.ToolExpr, what string, old *goaexpr.AttributeExpr, v any) *goaexpr.AttributeExpr {
	if old != nil {
		report("%s is declared twice", what)
	}
	switch x := v.(type) {
	case func():
		a := &goaexpr.AttributeExpr{Type: &goaexpr.Object{}}
		eval.Execute(x, a)
		return a
	case goaexpr.UserType:
		if x != nil {
			return &goaexpr.AttributeExpr{Type: x}
		}
	case string:
		if ut := goaexpr.Root.UserType(x); ut != nil {
			return &goaexpr.AttributeExpr{Type: ut}
		}
		report("%s names the type %q, which the design does not declare", what, x)
		return nil
	}
	report("%s takes a function that declares attributes, or an object type of the design", what)
	return nil
}

// misplaced reports the exported function of this package that was called in the wrong place. Goa's own IncompatibleDSL knows only
// the names of its own package.
func misplaced() {
	name := "this function"
	for skip := 1; skip < 6; skip++ {
		pc, _, _, ok := runtime.Caller(skip)
		if !ok {
			break
		}
		fn, found := strings.CutPrefix(runtime.FuncForPC(pc).Name(), pkg)
		if found && fn[0] >= 'A' && fn[0] <= 'Z' {
			name = fn
			break
		}
	}
	report("%s cannot be used here", name)
}
