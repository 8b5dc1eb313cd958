package verification

import (
	"strconv"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// read is one value that an expression reads: a variable or an element, and the way into it.
type read struct {
	variable string        // page, args, …; "" for the others
	element  *elementRead  // of element()
	document *documentRead // of document()
	steps    []step
	outside  *outsideRead // of unchanged_outside(); alone
}

// step goes into an object by name or into a list by index, or from a document to one of its sections.
type step struct {
	name  string
	index int    // only when name is ""
	call  string // "section": name is its heading
}

// documentRead is a call of document() or before_document(): the path is a text or a value of args.
type documentRead struct {
	before bool
	path   operand
}

// outsideRead is a call of unchanged_outside().
type outsideRead struct {
	now, before read
	names       []string
	name        *read // instead of names: the value that holds the heading
}

// elementRead is a call of element() or before_element(): the name and the role are each a text or a value of args.
type elementRead struct {
	before     bool
	name, role operand
}

// operand is a text that is known before evidence is collected.
type operand struct {
	text string
	args []step // not nil: the value at this path of args
}

// analysis is what an expression reads.
type analysis struct {
	reads     []read
	elements  []elementRead
	documents []documentRead
	text      bool
	// documentText and links: it reads the text of documents or of sections, or where links lead.
	documentText, links bool
}

// analyse walks a checked tree. An element whose name is known only while the condition is evaluated is reported as a problem,
// because evidence is collected earlier.
func analyse(checked *ast.AST, report *reporter) analysis {
	w := &walker{checked: checked, report: report, seen: map[string]bool{}}
	w.costly()
	w.visit(checked.Expr(), nil)
	return w.analysis
}

type walker struct {
	analysis
	checked *ast.AST
	report  *reporter
	seen    map[string]bool
}

// scope holds the variables of the comprehensions around a node.
type scope struct {
	names []string
	outer *scope
}

func (s *scope) has(name string) bool {
	for ; s != nil; s = s.outer {
		for _, n := range s.names {
			if n == name {
				return true
			}
		}
	}
	return false
}

// visit records what x reads. Of a path like page.requests[0].url it records the whole, not its beginnings.
func (w *walker) visit(x ast.Expr, local *scope) {
	switch x.Kind() {
	case ast.IdentKind, ast.SelectKind:
		w.path(x, local)
	case ast.CallKind:
		call := x.AsCall()
		switch call.FunctionName() {
		case operators.Index, lookupElement, lookupDocument, sectionOf:
			w.path(x, local)
			return
		case unchangedOutside:
			if r, ok := w.outside(call, local); ok {
				w.record(r)
				return
			}
		}
		if call.IsMemberFunction() {
			w.visit(call.Target(), local)
		}
		for _, arg := range call.Args() {
			w.visit(arg, local)
		}
	case ast.ListKind:
		for _, e := range x.AsList().Elements() {
			w.visit(e, local)
		}
	case ast.MapKind:
		for _, e := range x.AsMap().Entries() {
			w.visit(e.AsMapEntry().Key(), local)
			w.visit(e.AsMapEntry().Value(), local)
		}
	case ast.ComprehensionKind:
		c := x.AsComprehension()
		w.visit(c.IterRange(), local)
		w.visit(c.AccuInit(), local)
		accu := &scope{names: []string{c.AccuVar()}, outer: local}
		loop := &scope{names: []string{c.IterVar(), c.IterVar2()}, outer: accu}
		w.visit(c.LoopCondition(), loop)
		w.visit(c.LoopStep(), loop)
		w.visit(c.Result(), accu)
	}
}

// costly finds out whether the expression reads what evidence holds only on request, by the types of what it reads from; of a value
// without a type it is assumed.
func (w *walker) costly() {
	ast.PostOrderVisit(w.checked.Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		if x.Kind() != ast.SelectKind {
			return
		}
		of := w.checked.GetType(x.AsSelect().Operand().ID())
		is := func(o *object) bool { return of.Kind() == types.DynKind || of.TypeName() == o.name }
		switch x.AsSelect().FieldName() {
		case "text":
			w.documentText = w.documentText || is(documentObject) || is(sectionObject)
		case "resolves", "problem":
			w.links = w.links || is(linkObject)
		case "broken_links":
			w.links = w.links || is(documentObject)
		}
	}))
}

// outside reads a call of unchanged_outside() whose headings are written out, or are a value of the arguments or the result.
func (w *walker) outside(call ast.CallExpr, local *scope) (read, bool) {
	if !call.IsMemberFunction() || len(call.Args()) != 2 {
		return read{}, false
	}
	var names []string
	var from *read
	if name, ok := literalString(call.Args()[0]); ok {
		names = []string{name}
	} else if call.Args()[0].Kind() == ast.ListKind {
		for _, e := range call.Args()[0].AsList().Elements() {
			name, ok := literalString(e)
			if !ok {
				return read{}, false
			}
			names = append(names, name)
		}
	} else {
		inner := &walker{checked: w.checked, report: w.report, seen: map[string]bool{}}
		inner.visit(call.Args()[0], local)
		if len(inner.reads) != 1 || !isPath(call.Args()[0]) {
			return read{}, false
		}
		from = &inner.reads[0]
	}
	inner := &walker{checked: w.checked, report: w.report, seen: map[string]bool{}}
	inner.visit(call.Target(), local)
	inner.visit(call.Args()[1], local)
	w.elements, w.documents = append(w.elements, inner.elements...), append(w.documents, inner.documents...)
	if len(inner.reads) != 2 {
		return read{}, false
	}
	return read{outside: &outsideRead{now: inner.reads[0], before: inner.reads[1], names: names, name: from}}, true
}

// path records the chain of fields and constant indexes that ends in x.
func (w *walker) path(x ast.Expr, local *scope) {
	var steps []step // from the end
	for {
		switch x.Kind() {
		case ast.SelectKind:
			steps = append(steps, step{name: x.AsSelect().FieldName()})
			x = x.AsSelect().Operand()
			continue
		case ast.CallKind:
			call := x.AsCall()
			if call.FunctionName() == operators.Index && len(call.Args()) == 2 {
				s, ok := constantStep(call.Args()[1])
				if ok {
					steps = append(steps, s)
				} else { // the way is known up to here
					w.visit(call.Args()[1], local)
					steps = steps[:0]
				}
				x = call.Args()[0]
				continue
			}
			if call.FunctionName() == sectionOf && call.IsMemberFunction() && len(call.Args()) == 1 {
				if name, ok := literalString(call.Args()[0]); ok {
					steps = append(steps, step{call: sectionOf, name: name})
				} else {
					w.visit(call.Args()[0], local)
					steps = steps[:0]
				}
				x = call.Target()
				continue
			}
		}
		break
	}
	for i, j := 0, len(steps)-1; i < j; i, j = i+1, j-1 {
		steps[i], steps[j] = steps[j], steps[i]
	}
	switch {
	case x.Kind() == ast.IdentKind:
		name := strings.TrimPrefix(x.AsIdent(), ".")
		if !local.has(name) && !strings.HasPrefix(name, "@") && w.isVariable(x) {
			w.record(read{variable: name, steps: steps})
		}
	case x.Kind() == ast.CallKind && x.AsCall().FunctionName() == lookupElement:
		if e, ok := w.element(x, local); ok {
			w.record(read{element: &e, steps: steps})
		}
	case x.Kind() == ast.CallKind && x.AsCall().FunctionName() == lookupDocument:
		if d, ok := w.document(x, local); ok {
			w.record(read{document: &d, steps: steps})
		}
	default:
		w.visit(x, local)
	}
}

// isVariable tells a variable from the name of a type (string, int), which is an identifier too.
func (w *walker) isVariable(x ast.Expr) bool {
	r, ok := w.checked.ReferenceMap()[x.ID()]
	return !ok || r.Value == nil && w.checked.GetType(x.ID()).Kind() != types.TypeKind
}

func (w *walker) record(r read) {
	if r.variable == "page" && readsText(r.steps) || r.variable == "before" && (len(r.steps) == 0 || r.steps[0].name == "page" && readsText(r.steps[1:])) {
		w.text = true
	}
	key := r.String()
	if w.seen[key] {
		return
	}
	w.seen[key] = true
	w.reads = append(w.reads, r)
	if r.element != nil {
		w.elements = append(w.elements, *r.element)
	}
	if r.document != nil {
		w.documents = append(w.documents, *r.document)
	}
}

// document reads the argument of a call of document().
func (w *walker) document(x ast.Expr, local *scope) (documentRead, bool) {
	args := x.AsCall().Args()
	o, ok := asOperand(args[1], local)
	switch {
	case !ok:
		w.report.at(w.checked, args[1].ID(), problem{message: "the path of a document is a text in quotes or a value of args, such as args.path, " +
			"because evidence is collected before conditions are evaluated"})
		return documentRead{}, false
	case o.args == nil && o.text == "":
		w.report.at(w.checked, args[1].ID(), problem{message: "the path of a document is empty"})
		return documentRead{}, false
	}
	return documentRead{before: strings.TrimPrefix(args[0].AsIdent(), ".") == documentsBefore, path: o}, true
}

// readsText reports whether the way into a page leads to its text. The page as a whole holds it too.
func readsText(steps []step) bool { return len(steps) == 0 || steps[0].name == "text" }

// element reads the arguments of a call of element().
func (w *walker) element(x ast.Expr, local *scope) (elementRead, bool) {
	args := x.AsCall().Args()
	e := elementRead{before: strings.TrimPrefix(args[0].AsIdent(), ".") == elementsBefore}
	for i, to := range []*operand{&e.name, &e.role} {
		if i+1 >= len(args) {
			break
		}
		arg := args[i+1]
		o, ok := asOperand(arg, local)
		switch {
		case !ok:
			w.report.at(w.checked, arg.ID(), problem{message: "the name and the role of an element are each a text in quotes or a value of args, " +
				"such as args.target.name, because evidence is collected before conditions are evaluated"})
			return e, false
		case i == 0 && o.args == nil && o.text == "":
			w.report.at(w.checked, arg.ID(), problem{message: "the name of an element is empty"})
			return e, false
		}
		*to = o
	}
	return e, true
}

// asOperand reads a string literal or a constant path into args.
func asOperand(x ast.Expr, local *scope) (operand, bool) {
	if text, ok := literalString(x); ok {
		return operand{text: text}, true
	}
	var steps []step
	for {
		switch {
		case x.Kind() == ast.SelectKind && !x.AsSelect().IsTestOnly():
			steps = append([]step{{name: x.AsSelect().FieldName()}}, steps...)
			x = x.AsSelect().Operand()
		case x.Kind() == ast.CallKind && x.AsCall().FunctionName() == operators.Index:
			s, ok := constantStep(x.AsCall().Args()[1])
			if !ok {
				return operand{}, false
			}
			steps = append([]step{s}, steps...)
			x = x.AsCall().Args()[0]
		default:
			ok := x.Kind() == ast.IdentKind && x.AsIdent() == "args" && !local.has("args") && len(steps) > 0
			return operand{args: steps}, ok
		}
	}
}

func constantStep(x ast.Expr) (step, bool) {
	if x.Kind() != ast.LiteralKind {
		return step{}, false
	}
	switch v := x.AsLiteral().(type) {
	case types.Int:
		return step{index: int(v)}, v >= 0 && v < maxItems
	case types.String:
		return step{name: string(v)}, v != ""
	}
	return step{}, false
}

func literalString(x ast.Expr) (string, bool) {
	if x.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := x.AsLiteral().(types.String)
	return string(s), ok
}

// String renders the read as conditions spell it.
func (r read) String() string {
	var b strings.Builder
	switch {
	case r.outside != nil:
		names := strings.Join(quoted(r.outside.names), " and ")
		if r.outside.name != nil {
			names = r.outside.name.String()
		}
		return r.outside.now.String() + ", changed outside " + names
	case r.element != nil:
		b.WriteString(r.element.String())
	case r.document != nil:
		b.WriteString(r.document.String())
	default:
		b.WriteString(r.variable)
	}
	writeSteps(&b, r.steps)
	return b.String()
}

func (e elementRead) String() string {
	s := "element("
	if e.before {
		s = "before_element("
	}
	s += e.name.String()
	if role := e.role.String(); role != `""` {
		s += ", " + role
	}
	return s + ")"
}

func (d documentRead) String() string {
	if d.before {
		return "before_document(" + d.path.String() + ")"
	}
	return "document(" + d.path.String() + ")"
}

func quoted(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = strconv.Quote(n)
	}
	return out
}

func (o operand) String() string {
	if o.args == nil {
		return strconv.Quote(o.text)
	}
	var b strings.Builder
	b.WriteString("args")
	writeSteps(&b, o.args)
	return b.String()
}

func writeSteps(b *strings.Builder, steps []step) {
	for _, s := range steps {
		switch {
		case s.call != "":
			b.WriteString("." + s.call + "(" + strconv.Quote(s.name) + ")")
		case s.name == "":
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case isIdentifier(s.name):
			b.WriteString("." + s.name)
		default:
			b.WriteString("[" + strconv.Quote(s.name) + "]")
		}
	}
}

func isIdentifier(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}
