package dsl

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"goa.design/goa/v3/eval"

	"toolsvc/tool"
	"toolsvc/toolset/expr"
)

// The failures that a declared error of a method can stand for; see [Fails].
const (
	// TargetNotFound: what the arguments name is not there. Nothing was done.
	TargetNotFound = tool.TargetNotFound
	// InvalidArguments: an argument is not acceptable. Nothing was done.
	InvalidArguments = tool.InvalidArguments
	// PreconditionFailed: the state does not allow it. Nothing was done.
	PreconditionFailed = tool.PreconditionFailed
	// RateLimited: too many calls. Nothing was done; the same call may be made later.
	RateLimited = tool.RateLimited
	// ToolUnavailable: the service cannot work at the moment. Nothing was done; the same call may be made later.
	ToolUnavailable = tool.ToolUnavailable
	// PolicyDenied: a rule of the service forbids it. Nothing was done.
	PolicyDenied = tool.PolicyDenied
	// TimedOut: the service gave up waiting. Whether anything was done is unknown. (Timeout is Goa's own.)
	TimedOut = tool.Timeout
	// OutcomeUnknown: the service itself cannot tell whether anything was done.
	OutcomeUnknown = tool.OutcomeUnknown
)

// Bind has a method of a Goa service of the design do the tool's work; it stands inside Tool. The service may run in the same process or
// anywhere that a generated client reaches, over HTTP or gRPC: the program decides, with gen/toolsets/<toolset>/executor.
//
//	Bind("orders", "refund", func() {
//		Map("order", "id")
//		IdempotencyKey("key")
//		Fails("not_found", TargetNotFound, "Look for the order with orders.find.")
//		Fails("busy", RateLimited, "Wait, then call again.", func() { RetryAfterFrom("seconds") })
//		Observe("find", func() { Map("order", "id") })
//	})
//
// Arguments go to the attributes of the method's payload that have their names, and attributes of its result to the fields of Return; Map
// and MapResult say where names differ. What does not fit is a design error.
func Bind(service, method string, fn ...func()) {
	inTool(func(t *expr.ToolExpr) {
		if t.Bind != nil {
			report("Bind is declared twice")
			return
		}
		t.Bind = &expr.BindExpr{CallExpr: expr.CallExpr{Tool: t, What: "Bind", Service: service, Method: method, At: place()}}
		run(t.Bind, fn)
	})
}

// Observe names a method of the same service that looks at what the tool acts on, without changing it; it stands inside Bind. What it
// answers is the variable state of conditions, and before.state what it answered before the call. It also decides what became of a
// call whose answer was lost, and whether a compensation restored what was there.
func Observe(method string, fn ...func()) {
	inBind(func(b *expr.BindExpr) { b.Observe = call(b, "Observe", b.Observe, method, fn) })
}

// Absent names the declared errors by which an observing method says that there is nothing; it stands inside Observe. The state is then
// {"error": name}. Every other error means that nothing could be observed.
func Absent(errors ...string) {
	c, ok := eval.Current().(*expr.CallExpr)
	if !ok || c.What != "Observe" {
		misplaced()
		return
	}
	c.Absent = append(c.Absent, errors...)
}

// Compensate names a method of the same service that undoes what the bound one did; it stands inside Bind. It is called when a
// postcondition fails. Its Map can also read result.field and before.field, what the call answered and what Observe answered before it.
func Compensate(method string, fn ...func()) {
	inBind(func(b *expr.BindExpr) { b.Compensate = call(b, "Compensate", b.Compensate, method, fn) })
}

// Map has an argument of the tool go to an attribute of the method's payload that has another name; it stands inside Bind, Observe and
// Compensate. In the latter two, attributes that the method does not require are filled by Map only.
func Map(argument, attribute string) {
	inCall(func(c *expr.CallExpr) { c.Maps = append(c.Maps, expr.Mapping{From: argument, To: attribute}) })
}

// MapResult has an attribute of the method's result go to a field of the tool's Return that has another name; it stands inside Bind.
func MapResult(attribute, field string) {
	inBind(func(b *expr.BindExpr) {
		b.ResultMaps = append(b.ResultMaps, expr.Mapping{From: attribute, To: field})
	})
}

// IdempotencyKey has the identifier of the call go to an attribute of the method's payload, a String, by which the service knows a
// repeated request; it stands inside Bind, Observe and Compensate. Whether it travels as a header is for Goa's HTTP to say.
func IdempotencyKey(attribute string) {
	inCall(func(c *expr.CallExpr) { c.Key = attribute })
}

// Supplied leaves a required attribute of the method's payload empty, because the program fills it in: a token, for instance, by
// wrapping the service that it gives to the executor.
func Supplied(attribute string) {
	inCall(func(c *expr.CallExpr) { c.Supplied = append(c.Supplied, attribute) })
}

// Fails says what a declared error of the method means to the caller of the tool: the failure, and a hint, one sentence that says what
// to do; it stands inside Bind. But for TimedOut and OutcomeUnknown it is a promise that the method did nothing when it answers this
// error. An error that is not named here leaves the effect unknown, unless the tool is read-only.
func Fails(err string, failure tool.Failure, hint string, fn ...func()) {
	inBind(func(b *expr.BindExpr) {
		f := &expr.FailExpr{Bind: b, Error: err, Failure: failure, Hint: hint, At: place()}
		b.Fails = append(b.Fails, f)
		run(f, fn)
	})
}

// RetryAfterFrom names the attribute of the error that says how long to wait, in whole seconds; it stands inside Fails.
func RetryAfterFrom(attribute string) { inFails(func(f *expr.FailExpr) { f.RetryAfter = attribute }) }

// Argument names the argument that an InvalidArguments error is about; it stands inside Fails.
func Argument(name string) { inFails(func(f *expr.FailExpr) { f.Argument = name }) }

// ArgumentFrom names the attribute of the error that names the attribute of the payload which it is about, as "lines[2].sku"; it
// stands inside Fails. Goa's own error type needs none.
func ArgumentFrom(attribute string) { inFails(func(f *expr.FailExpr) { f.ArgumentFrom = attribute }) }

// MessageFrom names the attribute of the error that says in words what is wrong; it stands inside Fails. Without it, it is "message",
// where the error has one. Goa's own error type needs none.
func MessageFrom(attribute string) { inFails(func(f *expr.FailExpr) { f.MessageFrom = attribute }) }

func call(b *expr.BindExpr, what string, old *expr.CallExpr, method string, fn []func()) *expr.CallExpr {
	if old != nil {
		report("%s is declared twice", what)
	}
	c := &expr.CallExpr{Tool: b.Tool, What: what, Service: b.Service, Method: method, At: place()}
	run(c, fn)
	return c
}

func run(e eval.Expression, fn []func()) {
	switch len(fn) {
	case 0:
	case 1:
		eval.Execute(fn[0], e)
	default:
		report("takes one function, not %d", len(fn))
	}
}

func inBind(f func(*expr.BindExpr)) {
	if b, ok := eval.Current().(*expr.BindExpr); ok {
		f(b)
		return
	}
	misplaced()
}

func inCall(f func(*expr.CallExpr)) {
	switch e := eval.Current().(type) {
	case *expr.BindExpr:
		f(&e.CallExpr)
	case *expr.CallExpr:
		f(e)
	default:
		misplaced()
	}
}

func inFails(f func(*expr.FailExpr)) {
	if e, ok := eval.Current().(*expr.FailExpr); ok {
		f(e)
		return
	}
	misplaced()
}

// place is where the design calls this package: the last two parts of the file's path, and the line. Checks that need the whole design
// come later, when Goa no longer knows the place.
func place() string {
	_, here, _, _ := runtime.Caller(0)
	pcs := make([]uintptr, 16)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		f, more := frames.Next()
		if filepath.Dir(f.File) != filepath.Dir(here) || strings.HasSuffix(f.File, "_test.go") {
			return fmt.Sprintf("%s/%s:%d", filepath.Base(filepath.Dir(f.File)), filepath.Base(f.File), f.Line)
		}
		if !more {
			return "the design"
		}
	}
}
