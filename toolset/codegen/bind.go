package codegen

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"goa.design/goa/v3/codegen"
	goaservice "goa.design/goa/v3/codegen/service"
	goaexpr "goa.design/goa/v3/expr"

	"toolsvc/tool"
	"toolsvc/toolset/expr"
	"toolsvc/toolset/shape"
)

// bindingPath is the package that generated executors call.
const bindingPath = "toolsvc/executors/service"

// binder writes the executor of a toolset whose tools are bound to methods of Goa services.
type binder struct {
	printer
	ts       *expr.ToolsetExpr
	goa      *goaservice.ServicesData
	tools    string   // what the toolset's package is called
	services []string // in the order of first use
	helpers  map[string]string
	names    map[string]bool
	pending  []func()
}

// executorFile is the package gen/toolsets/<toolset>/executor.
func executorFile(genpkg string, ts *expr.ToolsetExpr) source {
	b := &binder{ts: ts, goa: goaservice.NewServicesData(goaexpr.Root), tools: ts.Name + "tools", helpers: map[string]string{}, names: map[string]bool{}}
	imports := []*codegen.ImportSpec{
		codegen.SimpleImport("errors"),
		codegen.SimpleImport(bindingPath),
		codegen.NewImport(b.tools, path.Join(genpkg, "toolsets", ts.Name)),
	}
	for _, t := range bound(ts) {
		if !slices.Contains(b.services, t.Bind.Service) {
			b.services = append(b.services, t.Bind.Service)
		}
	}
	for _, name := range b.services {
		s := b.goa.Get(name)
		imports = append(imports, codegen.NewImport(b.pkg(s), path.Join(genpkg, s.PathName)))
		imports = append(imports, s.UserTypeImports...)
		b.methods(s)
	}
	b.constructor()
	for len(b.pending) > 0 {
		next := b.pending[0]
		b.pending = b.pending[1:]
		next()
	}
	return source{name: "executor.go", title: ts.Name + " toolset: its tools are done by methods of Goa services", imports: imports, body: b.String()}
}

// bound are the tools that are bound to methods; agents do the others.
func bound(ts *expr.ToolsetExpr) (tools []*expr.ToolExpr) {
	for _, t := range ts.Tools {
		if t.Bind != nil {
			tools = append(tools, t)
		}
	}
	return tools
}

// pkg is what the package of a service is called here; a toolset may have the same name.
func (b *binder) pkg(s *goaservice.Data) string { return s.PkgName + "svc" }

// variable is the parameter that holds a service.
func variable(service string) string { return codegen.Goify(service, false) + "Service" }

func (b *binder) ref(s *goaservice.Data, a *goaexpr.AttributeExpr) string {
	return s.Scope.GoFullTypeRef(a, b.location(s, a.Type))
}

// location is the package of a type: another one where the design says so.
func (b *binder) location(s *goaservice.Data, dt goaexpr.DataType) string {
	if ut, ok := dt.(goaexpr.UserType); ok {
		if loc := codegen.UserTypeLocation(ut); loc != nil {
			return loc.PackageName()
		}
	}
	return b.pkg(s)
}

// calls lists the uses of methods of a tool.
func calls(t *expr.ToolExpr) []*expr.CallExpr {
	list := []*expr.CallExpr{&t.Bind.CallExpr}
	for _, c := range []*expr.CallExpr{t.Bind.Observe, t.Bind.Compensate} {
		if c != nil {
			list = append(list, c)
		}
	}
	return list
}

// methods writes the interface of a service.
func (b *binder) methods(s *goaservice.Data) {
	name := codegen.Goify(s.Name, true)
	b.doc(fmt.Sprintf("%s are the methods of the service %s that the tools need. The service itself has them ([%s.Service]), and so has its generated client ([*%s.Client]) over HTTP or gRPC",
		name, s.Name, b.pkg(s), b.pkg(s)))
	b.f("type %s interface {\n", name)
	var seen []string
	for _, t := range bound(b.ts) {
		for _, c := range calls(t) {
			if c.Service != s.Name || slices.Contains(seen, c.Method) {
				continue
			}
			seen = append(seen, c.Method)
			m := s.Method(c.Method)
			payload, result := "", "error"
			if c.Goa.Payload.Type != goaexpr.Empty {
				payload = ", " + b.ref(s, c.Goa.Payload)
			}
			if c.Goa.Result.Type != goaexpr.Empty {
				result = "(" + b.ref(s, c.Goa.Result) + ", error)"
			}
			b.f("%s(context.Context%s) %s\n", m.VarName, payload, result)
		}
	}
	b.f("}\n\n")
}

// constructor writes New.
func (b *binder) constructor() {
	var params []string
	for _, name := range b.services {
		params = append(params, variable(name)+" "+codegen.Goify(name, true))
	}
	b.doc(fmt.Sprintf("New makes the executor of the toolset %s", b.ts.Name))
	b.f("func New(%s) *service.Executor {\n", strings.Join(params, ", "))
	for _, name := range b.services {
		b.f("_, %sRemote := %s.(*%s.Client)\n", codegen.Goify(name, false), variable(name), b.pkg(b.goa.Get(name)))
	}
	b.f("return service.New(\n")
	for _, t := range bound(b.ts) {
		b.binding(t)
	}
	b.f(")\n}\n\n")
}

func (b *binder) binding(t *expr.ToolExpr) {
	g, bind := t.GoName(), t.Bind
	s := b.goa.Get(bind.Service)
	b.f("&service.Binding{\nTool: %s.%sID,\nService: %q,\nMethod: %q,\nEffect: %s,\nRemote: %sRemote,\n", b.tools, g, bind.Service, bind.Method,
		effectName(t.Effect), codegen.Goify(bind.Service, false))
	if args := renamed(bind); args != "" {
		b.f("Arguments: map[string]string{%s},\n", args)
	}
	b.f("Call: func(ctx context.Context, in service.Input) (any, error) {\n")
	answered := b.call(s, t, &bind.CallExpr, "return nil, err")
	switch {
	case len(t.Result.Named.Fields) == 0:
		b.f("return &%s.%s{}, nil\n", b.tools, t.Result.Named.Name)
	default:
		b.checkAnswer(answered, bind.Goa.Result, "return nil, service.ErrNoAnswer")
		b.f("return %s(answer), nil\n", b.resultOf(s, t, bind.Goa.Result))
	}
	b.f("},\n")
	if len(t.Result.Named.Fields) == 0 {
		b.f("NoResult: func() any { return &%s.%s{} },\n", b.tools, t.Result.Named.Name)
	}
	if o := bind.Observe; o != nil {
		b.f("Observe: func(ctx context.Context, in service.Input) (any, any, error) {\n")
		b.call(s, t, o, "return nil, nil, err")
		b.checkAnswer(true, o.Goa.Result, "return nil, nil, service.ErrNoAnswer")
		recovered := "nil"
		if bind.Recovers && len(t.Result.Named.Fields) > 0 {
			recovered = b.resultOf(s, t, o.Goa.Result) + "(answer)"
		}
		b.f("return %s, %s, nil\n},\n", b.plain(s, o.Goa.Result, "answer"), recovered)
		if len(o.Absent) > 0 {
			b.f("Absences: %s,\n", stringsLiteral(o.Absent))
		}
	}
	if c := bind.Compensate; c != nil {
		b.f("Compensation: %q,\nCompensate: func(ctx context.Context, in service.Input, result, before any) error {\n", c.Method)
		b.call(s, t, c, "return err")
		b.f("return nil\n},\n")
	}
	if len(bind.Fails) > 0 {
		b.f("Refusals: map[string]service.Refusal{\n")
		for _, f := range bind.Fails {
			b.refusal(s, f)
		}
		b.f("},\n")
	}
	b.f("},\n")
}

// checkAnswer guards against a service in this process that answers nil.
func (b *binder) checkAnswer(answered bool, result *goaexpr.AttributeExpr, ret string) {
	if answered && goaexpr.IsObject(result.Type) {
		b.f("if answer == nil {\n%s\n}\n", ret)
	}
}

// renamed lists the arguments that have other names than the attributes that they go to.
func renamed(b *expr.BindExpr) string {
	var parts []string
	for _, in := range b.Inputs {
		if in.Source == expr.FromArgs && in.Name != in.Attribute && in.Attribute != "" {
			parts = append(parts, fmt.Sprintf("%q: %q", in.Attribute, in.Name))
		}
	}
	return strings.Join(parts, ", ")
}

// call writes the call of a method; what it answers is in answer, if it answers anything.
func (b *binder) call(s *goaservice.Data, t *expr.ToolExpr, c *expr.CallExpr, onError string) (answered bool) {
	uses := func(source expr.InputSource) bool {
		return slices.ContainsFunc(c.Inputs, func(in expr.Input) bool { return in.Source == source })
	}
	if uses(expr.FromArgs) {
		b.f("args := in.Args.(*%s.%s)\n", b.tools, t.Payload.Named.Name)
	}
	if uses(expr.FromResult) {
		b.f("done := result.(*%s.%s)\n", b.tools, t.Result.Named.Name)
	}
	payload := ""
	if c.Goa.Payload.Type != goaexpr.Empty {
		b.payload(s, t, c, onError)
		payload = ", payload"
	}
	method := fmt.Sprintf("%s.%s(ctx%s)", variable(c.Service), s.Method(c.Method).VarName, payload)
	if c.Goa.Result.Type == goaexpr.Empty || c.What == "Compensate" || c.What == "Bind" && len(t.Result.Named.Fields) == 0 {
		blank := ""
		if c.Goa.Result.Type != goaexpr.Empty {
			blank = "_, "
		}
		b.f("if %serr := %s; err != nil {\n%s\n}\n", blank, method, onError)
		return false
	}
	b.f("answer, err := %s\nif err != nil {\n%s\n}\n", method, onError)
	return true
}

// payload writes the making of a method's payload.
func (b *binder) payload(s *goaservice.Data, t *expr.ToolExpr, c *expr.CallExpr, onError string) {
	att := c.Goa.Payload
	obj := goaexpr.AsObject(att.Type)
	if obj == nil {
		in := c.Inputs[0]
		b.f("payload := %s\n", b.toService(s, in.Field.Type, att, "args."+in.Field.GoName))
		return
	}
	b.f("payload := &%s{}\n", strings.TrimPrefix(b.ref(s, att), "*"))
	for _, nat := range *obj {
		i := slices.IndexFunc(c.Inputs, func(in expr.Input) bool { return in.Attribute == nat.Name })
		dst := "payload." + codegen.GoifyAtt(nat.Attribute, nat.Name, true)
		pointer := att.IsPrimitivePointer(nat.Name, true)
		if d := defaultOf(att, nat); d != "" && (i < 0 || c.Inputs[i].Source == expr.FromBefore || c.Inputs[i].Field != nil && !c.Inputs[i].Field.Required && c.Inputs[i].Field.Default == nil) {
			b.f("%s = %s\n", dst, d)
		}
		if i < 0 {
			continue
		}
		in := c.Inputs[i]
		switch in.Source {
		case expr.FromCallID:
			b.assign(dst, "in.CallID", pointer, false, func(x string) string { return named(b.ref(s, nat.Attribute), "string", x) })
		case expr.FromBefore:
			absent := ""
			if !att.IsRequired(nat.Name) {
				absent = " if !errors.Is(err, service.ErrAbsent)"
			}
			b.f("if v, err := service.Value[%s](before, %q); err == nil {\n", plainRef(b.ref(s, nat.Attribute)), in.Name)
			b.assign(dst, "v", pointer, false, func(x string) string { return x })
			b.f("} else%s {\n%s\n}\n", absent, onError)
		default:
			from, owner := "args.", t.Payload.Named
			if in.Source == expr.FromResult {
				from, owner = "done.", t.Result.Named
			}
			b.assign(dst, from+in.Field.GoName, pointer, primitivePointer(in.Field, owner), func(x string) string {
				return b.toService(s, in.Field.Type, nat.Attribute, x)
			})
		}
	}
}

// plainRef is a reference to a type without its pointer.
func plainRef(ref string) string { return strings.TrimPrefix(ref, "*") }

// primitivePointer reports whether the Go field is a pointer to something that is none itself.
func primitivePointer(f *shape.Field, owner *shape.Named) bool {
	return f.Type.Kind != shape.Object && f.Type.Kind != shape.Union && f.Pointer(owner)
}

// defaultOf is the default of an attribute as a Go literal, "" when it has none or it is no constant.
func defaultOf(owner *goaexpr.AttributeExpr, nat *goaexpr.NamedAttributeExpr) string {
	if owner.IsPrimitivePointer(nat.Name, true) {
		return ""
	}
	switch d := owner.GetDefault(nat.Name).(type) {
	case string:
		return strconv.Quote(d)
	case bool, int, int32, int64, uint, uint32, uint64, float32, float64:
		return fmt.Sprint(d)
	}
	return ""
}

// assign writes an assignment between fields that may be pointers.
func (b *binder) assign(dst, src string, dstPointer, srcPointer bool, convert func(string) string) {
	switch {
	case srcPointer && dstPointer:
		b.f("if %s != nil {\n%s = new(%s)\n}\n", src, dst, convert("*"+src))
	case srcPointer:
		b.f("if %s != nil {\n%s = %s\n}\n", src, dst, convert("*"+src))
	case dstPointer:
		b.f("%s = new(%s)\n", dst, convert(src))
	default:
		b.f("%s = %s\n", dst, convert(src))
	}
}

func lower(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// refusal writes what a declared error means.
func (b *binder) refusal(s *goaservice.Data, f *expr.FailExpr) {
	b.f("%q: {Failure: %s, Hint: %q", f.Error, failureName(f.Failure), strings.TrimSpace(f.Hint))
	if f.Argument != "" {
		b.f(", Argument: %q", f.Argument)
	}
	if details := b.details(s, f); details != "" {
		b.f(", Details: %s", details)
	}
	b.f("},\n")
}

// details is the function that reads an error of a type of its own; "" when there is nothing to read.
func (b *binder) details(s *goaservice.Data, f *expr.FailExpr) string {
	if f.Goa.Type == goaexpr.ErrorResult || !goaexpr.IsObject(f.Goa.Type) {
		return ""
	}
	message := f.MessageFrom
	if m := goaexpr.AsObject(f.Goa.Type).Attribute("message"); message == "" && m != nil && m.Type.Kind() == goaexpr.StringKind {
		message = "message"
	}
	if message == "" && f.ArgumentFrom == "" && f.RetryAfter == "" {
		return ""
	}
	ref := b.ref(s, f.Goa.AttributeExpr)
	key := strings.Join([]string{"details", ref, message, f.ArgumentFrom, f.RetryAfter}, " ")
	return b.function(key, lower(ref[strings.LastIndex(ref, ".")+1:])+"Details", func(name string) {
		b.f("func %s(err error) (d service.Details) {\nvar e %s\nif !errors.As(err, &e) {\nreturn d\n}\n", name, ref)
		read := func(attribute, field, convert string) {
			if attribute == "" {
				return
			}
			a := goaexpr.AsObject(f.Goa.Type).Attribute(attribute)
			x := "e." + codegen.GoifyAtt(a, attribute, true)
			b.assign("d."+field, x, false, f.Goa.AttributeExpr.IsPrimitivePointer(attribute, true), func(x string) string { return fmt.Sprintf(convert, x) })
		}
		read(message, "Message", "string(%s)")
		read(f.ArgumentFrom, "Attribute", "string(%s)")
		read(f.RetryAfter, "RetryAfter", "time.Duration(%s) * time.Second")
		b.f("return d\n}\n\n")
	})
}

// failureName is the constant of a failure.
func failureName(f tool.Failure) string { return "tool." + codegen.Goify(string(f), true) }
