package verification

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"toolsvc/tool"
)

// problem is one fault of an expression, before it is an issue.
type problem struct {
	offset       int // in runes
	constraint   string
	limit        any
	expectedType string
	allowed      []string
	suggestion   string
	message      string
}

// reporter collects the problems of one expression.
type reporter struct {
	env        *environment
	expression string
	source     common.Source
	problems   []problem
}

func (r *reporter) add(p problem) { r.problems = append(r.problems, p) }

// at adds a problem at a node of the tree.
func (r *reporter) at(tree *ast.AST, id int64, p problem) {
	p.offset = r.start(tree.SourceInfo().GetStartLocation(id))
	r.add(p)
}

// start is the rune offset of a location. A selection is located at its dot; what a person looks for is the field behind it.
func (r *reporter) start(l common.Location) int {
	offset, ok := r.source.LocationOffset(l)
	if !ok {
		return 0
	}
	runes := []rune(r.expression)
	i := min(max(int(offset), 0), len(runes))
	if i < len(runes) && runes[i] == '.' {
		i++
		for i < len(runes) && unicode.IsSpace(runes[i]) {
			i++
		}
	}
	return i
}

// syntax adds the parser's errors. What follows the first is usually its echo.
func (r *reporter) syntax(errs []*common.Error) {
	if strings.TrimSpace(r.expression) == "" {
		r.add(problem{message: "the condition is empty"})
		return
	}
	if len(errs) == 0 {
		return
	}
	message := strings.TrimPrefix(errs[0].Message, "Syntax error: ")
	switch {
	case strings.Contains(message, "recursion"):
		message = fmt.Sprintf("the condition nests deeper than the %d levels allowed", maxDepth)
	case strings.Contains(message, "expression count"):
		r.add(problem{message: fmt.Sprintf("the condition has more than the %d parts allowed", maxNodes)})
		return
	default:
		message = unexpected(message)
	}
	r.add(problem{offset: r.start(errs[0].Location), message: message})
}

// unexpected puts an error of the parser into plain words; what else the parser would have accepted there helps nobody.
func unexpected(message string) string {
	message, _, _ = strings.Cut(message, " expecting ")
	_, found, ok := strings.Cut(message, "'")
	if !ok {
		return "the condition does not read as CEL: " + clip(message, maxShown)
	}
	found = strings.TrimSuffix(found, "'")
	switch {
	case found == "<EOF>":
		return "the condition ends too early"
	case strings.HasPrefix(strings.TrimSpace(found), "="):
		return "a single = compares nothing; write =="
	}
	return fmt.Sprintf("the condition does not read as CEL: unexpected %s", clip(strings.TrimSpace(found), maxGot))
}

// types adds the type checker's errors, in plain words and with the nearest known names.
func (r *reporter) types(tree *ast.AST, errs []*common.Error) {
	nodes := map[int64]ast.Expr{}
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(x ast.Expr) { nodes[x.ID()] = x }))
	echo := map[int64]bool{} // the variables of a macro that was called wrongly are unknown only because of that
	for _, err := range errs {
		if x := nodes[err.ExprID]; x != nil && x.Kind() == ast.CallKind && slices.Contains(r.env.macros(), x.AsCall().FunctionName()) {
			ast.PostOrderVisit(x, ast.NewExprVisitor(func(inner ast.Expr) { echo[inner.ID()] = inner.ID() != x.ID() }))
		}
	}
	for _, err := range errs {
		if echo[err.ExprID] {
			continue
		}
		p := r.explain(tree, nodes[err.ExprID], err)
		p.offset = r.start(err.Location)
		r.add(p)
	}
}

// explain turns an error of the type checker into a problem.
func (r *reporter) explain(tree *ast.AST, x ast.Expr, err *common.Error) problem {
	if x != nil {
		switch {
		case strings.HasPrefix(err.Message, "undeclared reference") && x.Kind() == ast.CallKind:
			return r.unknownFunction(x.AsCall().FunctionName(), len(x.AsCall().Args()))
		case strings.HasPrefix(err.Message, "undeclared reference") && x.Kind() == ast.IdentKind:
			return r.unknownVariable(x.AsIdent())
		case strings.HasPrefix(err.Message, "undefined field") && x.Kind() == ast.SelectKind:
			return r.unknownField(tree, x.AsSelect())
		case strings.Contains(err.Message, "does not support field selection") && x.Kind() == ast.SelectKind:
			operand := x.AsSelect().Operand()
			return problem{message: fmt.Sprintf("%s is %s and has no fields", spell(tree, operand), inEnglish(tree.GetType(operand.ID())))}
		case strings.HasPrefix(err.Message, "found no matching overload") && x.Kind() == ast.CallKind:
			return problem{message: mismatch(tree, x.AsCall())}
		case strings.Contains(err.Message, "range of a comprehension"):
			return problem{message: "only lists and maps can be searched; this is " + inEnglish(tree.GetType(x.ID()))}
		case strings.HasPrefix(err.Message, "expected type 'bool'"):
			return problem{expectedType: "boolean", message: fmt.Sprintf("%s is %s, not true or false", spell(tree, x), inEnglish(tree.GetType(x.ID())))}
		}
	}
	if size, ok := strings.CutPrefix(err.Message, "regex program size "); ok {
		size, _, _ = strings.Cut(size, " ")
		return problem{message: fmt.Sprintf("the regular expression is too large: it compiles to %s instructions, more than the %d allowed", size, maxRegex)}
	}
	return problem{message: clip(strings.TrimSuffix(err.Message, " (in container '')"), maxShown)}
}

func (r *reporter) unknownVariable(name string) problem {
	p := problem{allowed: r.env.variables, message: fmt.Sprintf("there is no variable %q", name)}
	if r.env.phase == before && slices.Contains(afterwards, name) {
		p.message = fmt.Sprintf("%q is known only after the action; a precondition can read %s", name, strings.Join(r.env.variables, ", "))
		return p
	}
	if r.env.phase == arguments {
		p.message += "; a rule about effects can read args only"
		return p
	}
	return p.suggest(name, append([]string{"true", "false", "null"}, r.env.variables...))
}

func (r *reporter) unknownFunction(name string, args int) problem {
	switch {
	case name == lookupDocument:
		name = "document"
	case strings.HasPrefix(name, "@"):
		name = "element"
	}
	macros := r.env.macros()
	if slices.Contains(macros, name) {
		return problem{message: fmt.Sprintf("%s(…) does not take %s; see the examples of conditions", name, count(args, "argument"))}
	}
	names := macros
	for f := range r.env.cel.Functions() {
		if isIdentifier(f) {
			names = append(names, f)
		}
	}
	slices.Sort(names)
	return problem{message: fmt.Sprintf("there is no function %q", name)}.suggest(name, names)
}

func (r *reporter) unknownField(tree *ast.AST, s ast.SelectExpr) problem {
	p := problem{message: fmt.Sprintf("%s has no field %q", spell(tree, s.Operand()), s.FieldName())}
	o := r.env.objects[tree.GetType(s.Operand().ID()).TypeName()]
	if o == nil {
		return p
	}
	p.allowed = o.names
	return p.suggest(s.FieldName(), o.names)
}

func (p problem) suggest(word string, names []string) problem {
	if near := nearest(word, names); near != "" {
		p.suggestion = near
		p.message += fmt.Sprintf("; did you mean %q?", near)
	}
	return p
}

// issues are the problems as issues, in the order of the text, at most maxProblems.
func (r *reporter) issues() tool.Issues {
	slices.SortStableFunc(r.problems, func(a, b problem) int { return cmp.Compare(a.offset, b.offset) })
	r.problems = slices.CompactFunc(r.problems, func(a, b problem) bool { return a.offset == b.offset && a.message == b.message })
	var is tool.Issues
	for _, p := range r.problems[:min(len(r.problems), maxProblems)] {
		line, column, offset := r.position(p.offset)
		i := tool.Issue{Constraint: tool.ConstraintCondition, Limit: p.limit, Allowed: p.allowed, ExpectedType: p.expectedType, Got: clip(r.expression, maxGot),
			Offset: int64(offset), Suggestion: p.suggestion, Message: fmt.Sprintf("line %d, column %d: %s", line, column, p.message)}
		if p.constraint != "" {
			i.Constraint = p.constraint
		}
		is = append(is, i)
	}
	return is
}

// position turns a rune offset into a line and a column, both from 1, and a byte offset.
func (r *reporter) position(runes int) (line, column, offset int) {
	line, column = 1, 1
	for i, c := range r.expression {
		if runes == 0 {
			return line, column, i
		}
		runes--
		column++
		if c == '\n' {
			line, column = line+1, 1
		}
	}
	return line, column, len(r.expression)
}

// inEnglish names a type for people.
func inEnglish(t *types.Type) string {
	switch t.Kind() {
	case types.StringKind:
		return "text"
	case types.BoolKind:
		return "true or false"
	case types.IntKind, types.UintKind:
		return "a whole number"
	case types.DoubleKind:
		return "a number"
	case types.ListKind:
		switch e := t.Parameters()[0]; e.Kind() {
		case types.StringKind, types.BytesKind, types.BoolKind:
			return "a list of " + inEnglish(e)
		case types.IntKind, types.UintKind, types.DoubleKind:
			return "a list of numbers"
		case types.ListKind:
			return "a list of lists"
		}
		return "a list"
	case types.MapKind:
		return "a map"
	case types.NullTypeKind:
		return "null"
	case types.BytesKind:
		return "bytes"
	case types.StructKind:
		return t.TypeName()
	case types.TypeKind:
		return "a type"
	case types.DynKind, types.ErrorKind, types.AnyKind, types.TypeParamKind:
		return "a value of any type"
	}
	return "a " + t.TypeName()
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// clip cuts s to at most n bytes at a rune boundary; the cut is marked within them.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n -= len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
