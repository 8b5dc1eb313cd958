package expr

import (
	"fmt"
	"slices"
	"strings"

	"goa.design/goa/v3/eval"
	goaexpr "goa.design/goa/v3/expr"

	"toolsvc/tool"
	"toolsvc/toolset/shape"
)

type (
	// BindExpr is a Bind: the method of a Goa service that does a tool's work, and what belongs to it.
	BindExpr struct {
		CallExpr
		// ResultMaps lead from attributes of the method's result to fields of the tool's.
		ResultMaps []Mapping
		Fails      []*FailExpr
		// Observe looks at what the tool acts on, without changing it; Compensate undoes it. Both are nil when not declared.
		Observe, Compensate *CallExpr

		// Results are resolved by Validate: one for each field of the tool's result.
		Results []ResultField
		// Recovers is set when what Observe answers is of the type that the bound method answers, so that a lost result can be read again.
		Recovers bool
	}

	// CallExpr is one use of a method: how its payload is filled.
	CallExpr struct {
		Tool            *ToolExpr
		What            string // Bind, Observe or Compensate
		Service, Method string
		// At is the place in the design: file:line.
		At string
		// Maps lead from arguments to attributes of the payload; Key is the attribute that takes the identifier of the call, Supplied are
		// attributes that the program fills in itself.
		Maps     []Mapping
		Key      string
		Supplied []string
		// Absent are the errors of an Observe that say that there is nothing.
		Absent []string

		// Goa and Inputs are resolved by Validate.
		Goa    *goaexpr.MethodExpr
		Inputs []Input
	}

	// Mapping is a Map or MapResult.
	Mapping struct{ From, To string }

	// FailExpr is a Fails: what a declared error of the method means for the caller of the tool.
	FailExpr struct {
		Bind    *BindExpr
		Error   string
		At      string
		Failure tool.Failure
		Hint    string
		// RetryAfter, ArgumentFrom and MessageFrom are attributes of the error; Argument is an argument of the tool.
		RetryAfter, Argument, ArgumentFrom, MessageFrom string

		// Goa is resolved by Validate.
		Goa *goaexpr.ErrorExpr
	}

	// Input fills one attribute of a method's payload.
	Input struct {
		// Attribute is "" for a payload that is no object.
		Attribute string
		Source    InputSource
		// Field of the arguments, of the result, or of what was observed before; nil for the identifier of the call and for what was observed.
		Field *shape.Field
		// Name of the field.
		Name string
	}

	// InputSource says where an Input comes from.
	InputSource int

	// ResultField fills one field of the tool's result.
	ResultField struct {
		Field *shape.Field
		// Attribute is "" for a method that answers no object.
		Attribute string
	}
)

// The sources of inputs.
const (
	FromArgs InputSource = iota
	FromResult
	FromBefore
	FromCallID
)

// EvalName names the use of the method in messages.
func (c *CallExpr) EvalName() string {
	return fmt.Sprintf("%s: %s: %s(%q, %q)", c.At, c.Tool.EvalName(), c.What, c.Service, c.Method)
}

// EvalName names the error in messages.
func (f *FailExpr) EvalName() string {
	return fmt.Sprintf("%s: %s: Fails(%q, …)", f.At, f.Bind.Tool.EvalName(), f.Error)
}

// Refusals are the failures that a declared error can stand for. All but the last two say that the service did nothing.
var Refusals = []tool.Failure{tool.TargetNotFound, tool.InvalidArguments, tool.PreconditionFailed, tool.RateLimited, tool.ToolUnavailable,
	tool.PolicyDenied, tool.Timeout, tool.OutcomeUnknown}

// Bound reports whether the tools of the toolset are bound to methods.
func (ts *ToolsetExpr) Bound() bool {
	return slices.ContainsFunc(ts.Tools, func(t *ToolExpr) bool { return t.Bind != nil })
}

// validateBinding checks what a tool is bound to and resolves it. Payload and Result are resolved.
func (t *ToolExpr) validateBinding(errs *eval.ValidationErrors) {
	if t.Agent != nil {
		t.Agent.validate(errs)
		return
	}
	if t.Bind == nil {
		if t.Toolset.Bound() {
			errs.Add(t, "is not bound to a method, but other tools of its toolset are: Bind all of them, or none, or have an Agent do it")
		}
		return
	}
	b := t.Bind
	if len(t.Sources) != 1 || t.Sources[0] != tool.SourceSystem {
		errs.Add(b, "a bound tool has no target to find, so it needs no Sources")
	}
	if len(t.Postconditions) == 0 {
		errs.Add(b, "the tool needs a Postcondition: without one no call could be verified, and none would succeed")
	}
	if b.Compensate != nil && t.Effect == tool.ReadOnly {
		errs.Add(b, "the tool is read-only, so there is nothing to compensate")
	}
	if b.resolve(errs) {
		b.validateInputs(errs, t, b.Observe)
		b.validateResults(errs, t)
		for i, f := range b.Fails {
			f.validate(errs)
			if slices.ContainsFunc(b.Fails[:i], func(o *FailExpr) bool { return o.Error == f.Error }) {
				errs.Add(f, "is declared twice")
			}
		}
	}
	for _, c := range []*CallExpr{b.Observe, b.Compensate} {
		if c != nil && c.resolve(errs) {
			c.validateInputs(errs, t, b.Observe)
		}
	}
	if o := b.Observe; o != nil && o.Goa != nil && b.Goa != nil {
		b.Recovers = o.Goa.Result.Type != goaexpr.Empty && goaexpr.Equal(o.Goa.Result.Type, b.Goa.Result.Type)
		for _, p := range shape.Readable(o.Goa.Result) {
			errs.Add(o, "what it answers cannot be observed: %s", p)
		}
		for _, name := range o.Absent {
			if o.Goa.Error(name) == nil {
				errs.Add(o, "Absent(%q): the method declares no such error%s", name, meant(name, errorNames(o.Goa)))
			}
		}
	}
	t.validateState(errs)
}

// validateState makes sure that conditions that read the state can have one.
func (t *ToolExpr) validateState(errs *eval.ValidationErrors) {
	if t.Bind.Observe == nil && t.readsState != "" {
		errs.Add(t.Bind, "the condition %q reads state, which is what an Observe answers; declare one", t.readsState)
	}
}

// resolve finds the method.
func (c *CallExpr) resolve(errs *eval.ValidationErrors) bool {
	s := goaexpr.Root.Service(c.Service)
	if s == nil {
		var names []string
		for _, s := range goaexpr.Root.Services {
			names = append(names, s.Name)
		}
		errs.Add(c, "the design has no service %q%s", c.Service, meant(c.Service, names))
		return false
	}
	m := s.Method(c.Method)
	if m == nil {
		var names []string
		for _, m := range s.Methods {
			names = append(names, m.Name)
		}
		errs.Add(c, "the service has no method %q%s", c.Method, meant(c.Method, names))
		return false
	}
	if m.IsStreaming() {
		errs.Add(c, "the method streams; a tool is one call with one answer")
		return false
	}
	for _, h := range goaexpr.Root.API.HTTP.Services {
		if e := h.Endpoint(c.Method); h.Name() == c.Service && e != nil && (e.SkipRequestBodyEncodeDecode || e.SkipResponseBodyEncodeDecode) {
			errs.Add(c, "the method reads or writes HTTP bodies itself, so no other transport could call it")
			return false
		}
	}
	if rt, ok := m.Result.Type.(*goaexpr.ResultTypeExpr); ok && len(rt.Views) > 1 {
		if _, chosen := m.Result.Meta["view"]; !chosen {
			errs.Add(c, "the method answers one of %d views; choose one in its Result", len(rt.Views))
			return false
		}
	}
	for _, a := range []*goaexpr.AttributeExpr{m.Payload, m.Result} {
		a.Finalize() // merges what Extend and Reference name; Goa's own validation has passed
	}
	c.Goa = m
	return true
}

// meant suggests the nearest name.
func meant(name string, names []string) string {
	if n := tool.Nearest(name, names); n != "" {
		return fmt.Sprintf("; is %q meant?", n)
	}
	if len(names) == 0 {
		return ""
	}
	return "; it has " + strings.Join(names, ", ")
}

// validateInputs decides how each attribute of the method's payload is filled.
func (c *CallExpr) validateInputs(errs *eval.ValidationErrors, t *ToolExpr, observe *CallExpr) {
	own := slices.DeleteFunc(slices.Clone(t.Payload.Named.Fields), func(f *shape.Field) bool {
		return slices.ContainsFunc(common(), func(c *shape.Field) bool { return c.Name == f.Name })
	})
	payload := c.Goa.Payload
	obj := goaexpr.AsObject(payload.Type)
	if obj == nil || payload.Type == goaexpr.Empty {
		c.validateWhole(errs, own, payload)
		return
	}
	used := map[string]bool{}
	taken := map[string]bool{}
	check := func(what, attribute string) bool {
		switch {
		case obj.Attribute(attribute) == nil:
			errs.Add(c, "%s: the payload of the method has no attribute %q%s", what, attribute, meant(attribute, attributes(obj)))
		case taken[attribute]:
			errs.Add(c, "%s: the attribute %q is filled twice", what, attribute)
		default:
			taken[attribute] = true
			return true
		}
		return false
	}
	for _, m := range c.Maps {
		what := fmt.Sprintf("Map(%q, %q)", m.From, m.To)
		in, problem := c.input(t, own, observe, m)
		if problem != "" {
			errs.Add(c, "%s: %s", what, problem)
			used[m.From] = true
			taken[m.To] = true
			continue
		}
		if check(what, m.To) {
			used[m.From] = true
			c.add(errs, in, payload, obj)
		}
	}
	if c.Key != "" && check(fmt.Sprintf("IdempotencyKey(%q)", c.Key), c.Key) {
		if obj.Attribute(c.Key).Type.Kind() != goaexpr.StringKind {
			errs.Add(c, "IdempotencyKey(%q): the attribute must be a String", c.Key)
		}
		c.Inputs = append(c.Inputs, Input{Attribute: c.Key, Source: FromCallID})
	}
	for _, s := range c.Supplied {
		check(fmt.Sprintf("Supplied(%q)", s), s)
	}
	for _, f := range own {
		if used[f.Name] || taken[f.Name] || obj.Attribute(f.Name) == nil || c.What != "Bind" && !payload.IsRequired(f.Name) {
			continue
		}
		used[f.Name], taken[f.Name] = true, true
		c.add(errs, Input{Attribute: f.Name, Source: FromArgs, Field: f, Name: f.Name}, payload, obj)
	}
	for _, name := range attributes(obj) {
		if payload.IsRequired(name) && !taken[name] {
			errs.Add(c, "nothing fills the attribute %q, which the method requires; Map an argument to it, or say that the program does with Supplied", name)
		}
	}
	if c.What != "Bind" {
		return
	}
	for _, f := range own {
		if !used[f.Name] {
			errs.Add(c, "the argument %q goes to no attribute of the method%s; Map it", f.Name, meant(f.Name, attributes(obj)))
		}
	}
}

// validateWhole fills a payload that is no object: by the one argument that there is, or that Map(name, "") names.
func (c *CallExpr) validateWhole(errs *eval.ValidationErrors, own []*shape.Field, payload *goaexpr.AttributeExpr) {
	if payload.Type == goaexpr.Empty {
		if len(own) > 0 && c.What == "Bind" {
			errs.Add(c, "the method takes nothing, but the tool has arguments")
		}
		return
	}
	if len(c.Maps) == 1 && c.Maps[0].To == "" {
		own = slices.DeleteFunc(own, func(f *shape.Field) bool { return f.Name != c.Maps[0].From })
	}
	if len(own) != 1 {
		errs.Add(c, "the payload of the method is no object, so exactly one argument has to go to it")
		return
	}
	f := own[0]
	if p := shape.Assignable(f.Type, payload, true); p != "" {
		errs.Add(c, "the argument %q cannot be the payload of the method: %s", f.Name, p)
	}
	if f.Pointer(&shape.Named{Kind: shape.Object}) {
		errs.Add(c, "the argument %q is the whole payload of the method, so it must be required", f.Name)
	}
	c.Inputs = append(c.Inputs, Input{Source: FromArgs, Field: f, Name: f.Name})
}

// input finds what a Map names: an argument, or for a compensation also result.field and before.field.
func (c *CallExpr) input(t *ToolExpr, own []*shape.Field, observe *CallExpr, m Mapping) (Input, string) {
	in := Input{Attribute: m.To, Name: m.From}
	root, name, dotted := strings.Cut(m.From, ".")
	find := func(fields []*shape.Field, name, of string) string {
		var names []string
		for _, f := range fields {
			if f.Name == name {
				in.Field, in.Name = f, name
				return ""
			}
			names = append(names, f.Name)
		}
		return fmt.Sprintf("%s no field %q%s", of, name, meant(name, names))
	}
	switch {
	case !dotted:
		problem := find(own, m.From, "the arguments have")
		return in, problem
	case c.What != "Compensate":
		return in, "only a Compensate can read the result, or what was there before"
	case root == "result":
		in.Source = FromResult
		problem := find(t.Result.Named.Fields, name, "the result has")
		return in, problem
	case root == "before" && observe == nil:
		return in, "what was there before is known only with an Observe"
	case root == "before":
		in.Source, in.Name = FromBefore, name
		if observe.Goa == nil && !observe.quietly() {
			return in, ""
		}
		if obj := goaexpr.AsObject(observe.Goa.Result.Type); obj == nil || obj.Attribute(name) == nil {
			return in, fmt.Sprintf("what is observed has no attribute %q", name)
		}
		return in, ""
	}
	return in, fmt.Sprintf("there is no %q; write an argument, result.field or before.field", m.From)
}

// quietly resolves the method without a report, which comes later.
func (c *CallExpr) quietly() bool {
	if s := goaexpr.Root.Service(c.Service); s != nil {
		c.Goa = s.Method(c.Method)
	}
	return c.Goa != nil
}

// add checks the types of an input and keeps it.
func (c *CallExpr) add(errs *eval.ValidationErrors, in Input, payload *goaexpr.AttributeExpr, obj *goaexpr.Object) {
	a := obj.Attribute(in.Attribute)
	if in.Source == FromBefore {
		if !goaexpr.IsPrimitive(a.Type) {
			errs.Add(c, "the attribute %q takes before.%s, which must be text, a number or a boolean", in.Attribute, in.Name)
		}
	} else if p := shape.Assignable(in.Field.Type, a, true); p != "" {
		errs.Add(c, "%q does not fit the attribute %q: %s", in.Name, in.Attribute, p)
	} else if !in.Field.Required && in.Field.Default == nil && payload.IsRequired(in.Attribute) {
		errs.Add(c, "%q is optional, but the method requires the attribute %q", in.Name, in.Attribute)
	}
	c.Inputs = append(c.Inputs, in)
}

// validateResults decides how each field of the tool's result is filled.
func (b *BindExpr) validateResults(errs *eval.ValidationErrors, t *ToolExpr) {
	fields := t.Result.Named.Fields
	result := b.Goa.Result
	obj := goaexpr.AsObject(result.Type)
	if obj == nil || result.Type == goaexpr.Empty {
		switch {
		case len(fields) == 0:
		case result.Type == goaexpr.Empty:
			errs.Add(b, "the method answers nothing, but the tool's Return has fields")
		case len(fields) != 1:
			errs.Add(b, "what the method answers is no object, so Return needs exactly one field that takes it")
		default:
			if p := shape.Assignable(fields[0].Type, result, false); p != "" {
				errs.Add(b, "what the method answers does not fit the field %q of Return: %s", fields[0].Name, p)
			}
			b.Results = append(b.Results, ResultField{Field: fields[0]})
		}
		return
	}
	from := map[string]string{}
	for _, m := range b.ResultMaps {
		what := fmt.Sprintf("MapResult(%q, %q)", m.From, m.To)
		switch {
		case obj.Attribute(m.From) == nil:
			errs.Add(b, "%s: what the method answers has no attribute %q%s", what, m.From, meant(m.From, attributes(obj)))
		case t.Result.Named.Field(m.To) == nil:
			errs.Add(b, "%s: Return has no field %q%s", what, m.To, meant(m.To, t.Result.Named.CodecFields().Names))
		case from[m.To] != "":
			errs.Add(b, "%s: the field %q is filled twice", what, m.To)
		}
		from[m.To] = m.From
	}
	for _, f := range fields {
		name, mapped := from[f.Name]
		if !mapped {
			name = f.Name
		}
		a := obj.Attribute(name)
		if a == nil {
			if f.Required && !mapped {
				errs.Add(b, "nothing fills the field %q of Return, which is required; the method answers %s", f.Name, strings.Join(attributes(obj), ", "))
			}
			continue
		}
		if p := shape.Assignable(f.Type, a, false); p != "" {
			errs.Add(b, "the attribute %q does not fit the field %q of Return: %s", name, f.Name, p)
		} else if f.Required && !result.IsRequired(name) && a.DefaultValue == nil {
			errs.Add(b, "the field %q of Return is required, but the method may leave out the attribute %q", f.Name, name)
		}
		b.Results = append(b.Results, ResultField{Field: f, Attribute: name})
	}
}

// validate checks what an error stands for.
func (f *FailExpr) validate(errs *eval.ValidationErrors) {
	m := f.Bind.Goa
	f.Goa = m.Error(f.Error)
	if f.Goa == nil {
		errs.Add(f, "the method declares no error %q%s", f.Error, meant(f.Error, errorNames(m)))
		return
	}
	if !slices.Contains(Refusals, f.Failure) {
		errs.Add(f, "an error cannot stand for %q; choose one of TargetNotFound, InvalidArguments, PreconditionFailed, RateLimited, ToolUnavailable, PolicyDenied, TimedOut, OutcomeUnknown", f.Failure)
	}
	if strings.TrimSpace(f.Hint) == "" {
		errs.Add(f, "needs a hint: one sentence that says what to do")
	}
	if f.RetryAfter != "" && f.Failure != tool.RateLimited && f.Failure != tool.ToolUnavailable {
		errs.Add(f, "RetryAfterFrom is for RateLimited and ToolUnavailable")
	}
	if (f.Argument != "" || f.ArgumentFrom != "") && f.Failure != tool.InvalidArguments {
		errs.Add(f, "Argument and ArgumentFrom are for InvalidArguments")
	}
	if a := f.Argument; a != "" && f.Bind.Tool.Payload.Named.Field(a) == nil {
		errs.Add(f, "the tool has no argument %q%s", a, meant(a, f.Bind.Tool.Payload.Named.CodecFields().Names))
	}
	f.attribute(errs, "RetryAfterFrom", f.RetryAfter, goaexpr.IntKind, goaexpr.Int32Kind, goaexpr.Int64Kind, goaexpr.UIntKind, goaexpr.UInt32Kind, goaexpr.UInt64Kind)
	f.attribute(errs, "ArgumentFrom", f.ArgumentFrom, goaexpr.StringKind)
	f.attribute(errs, "MessageFrom", f.MessageFrom, goaexpr.StringKind)
}

// attribute checks that the error has an attribute of one of the kinds.
func (f *FailExpr) attribute(errs *eval.ValidationErrors, what, name string, kinds ...goaexpr.Kind) {
	if name == "" {
		return
	}
	obj := goaexpr.AsObject(f.Goa.Type)
	if f.Goa.Type == goaexpr.ErrorResult || obj == nil {
		errs.Add(f, "%s(%q): the error has Goa's own type; give it one with such an attribute", what, name)
		return
	}
	a := obj.Attribute(name)
	if a == nil {
		errs.Add(f, "%s(%q): the error has no such attribute%s", what, name, meant(name, attributes(obj)))
		return
	}
	if !slices.Contains(kinds, a.Type.Kind()) {
		errs.Add(f, "%s(%q): the attribute is a %s", what, name, a.Type.Name())
	}
}

// errorNames lists the errors of a method.
func errorNames(m *goaexpr.MethodExpr) []string {
	var names []string
	for _, e := range slices.Concat(m.Errors, m.Service.Errors) {
		names = append(names, e.Name)
	}
	return names
}

// attributes lists the names of an object's attributes.
func attributes(o *goaexpr.Object) []string {
	var names []string
	for _, nat := range *o {
		names = append(names, nat.Name)
	}
	return names
}
