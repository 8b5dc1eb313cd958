package verification

import (
	"fmt"
	"regexp"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"

	"toolsvc/tool"
)

// condition is one compiled expression. It is immutable and shared by all calls of its tool.
type condition struct {
	tool.Condition
	program cel.Program
	// reads are the parts of the evidence that the expression reads, for the observation.
	reads []read
	// elements are the elements that it looks at.
	elements []elementRead
	// documents are the documents that it asks for by their paths.
	documents []documentRead
	// text: it reads page.text. documentText and links are the costly parts of documents.
	text, documentText, links bool
	// expected says in words what holds when the condition holds.
	expected string
}

// compile checks one expression and plans it. The problems are sorted by position; their paths are for the caller to fill in.
func (e *environment) compile(c tool.Condition) (*condition, tool.Issues) {
	src := common.NewTextSource(c.Expression)
	report := &reporter{env: e, expression: c.Expression, source: src}
	if n := utf8.RuneCountInString(c.Expression); n > MaxExpression {
		report.add(problem{constraint: "maxLength", limit: MaxExpression, message: fmt.Sprintf("the condition has %d characters, more than the %d allowed", n, MaxExpression)})
		return nil, report.issues()
	}
	if !utf8.ValidString(c.Expression) {
		report.add(problem{message: "the condition is not valid UTF-8"})
		return nil, report.issues()
	}
	typed := e.typed(src, report)
	if typed == nil {
		return nil, report.issues()
	}
	checked := typed.NativeRep()
	e.checkResult(checked, report)
	e.checkNodes(checked, report)
	a := analyse(checked, report)
	if len(report.problems) == 0 {
		e.checkEstimate(typed, report)
	}
	if len(report.problems) > 0 {
		return nil, report.issues()
	}
	program, err := e.cel.Program(typed, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(maxCost), cel.CostTracking(charges{}))
	if err != nil {
		report.add(problem{message: "the condition cannot be planned: " + clip(err.Error(), maxShown)})
		return nil, report.issues()
	}
	compiled := &condition{Condition: c, program: program, reads: a.reads, elements: a.elements, documents: a.documents,
		text: a.text, documentText: a.documentText, links: a.links, expected: c.Message}
	if compiled.expected == "" {
		compiled.expected = clip(inWords(checked, checked.Expr()), maxShown)
	}
	return compiled, nil
}

// typed parses and type-checks an expression, nil when it has problems.
func (e *environment) typed(src common.Source, report *reporter) *cel.Ast {
	literals := map[int64]bool{}
	parse := func() *cel.Ast {
		parsed, iss := e.cel.ParseSource(src)
		if iss.Err() != nil {
			report.syntax(iss.Errors())
			return nil
		}
		promote(parsed.NativeRep(), literals)
		return parsed
	}
	// The checker rewrites the tree that it checks, so each check starts from the text again; the numbering of nodes is the same.
	// Each round converts literals one level further out: document.words + 1 == 131.
	for {
		parsed := parse()
		if parsed == nil {
			return nil
		}
		checked, iss := e.cel.Check(parsed)
		var more []int64
		if iss.Err() == nil {
			if more = promotable(checked.NativeRep(), nil, literals); len(more) == 0 {
				return checked
			}
		} else {
			tree, errs := e.diagnose(parse())
			if more = promotable(tree, errs, literals); len(more) == 0 {
				if len(errs) == 0 { // found by one of CEL's validators, not by the type checker
					errs = iss.Errors()
				}
				report.types(tree, errs)
				return nil
			}
		}
		for _, id := range more {
			literals[id] = true
		}
	}
}

// checkResult requires a bool. A dynamic value passes here; what it is shows when it is judged.
func (e *environment) checkResult(checked *ast.AST, report *reporter) {
	t := checked.GetType(checked.Expr().ID())
	if t.Kind() != types.BoolKind && t.Kind() != types.DynKind {
		report.add(problem{expectedType: "boolean",
			message: fmt.Sprintf("the condition is %s, not true or false; compare it with something", inEnglish(t))})
	}
}

// checkNodes rejects what CEL allows and conditions do not: making objects; walking maps that the condition makes itself, whose order
// is random; formatting, whose result has no bound; a pattern that is no regular expression.
func (e *environment) checkNodes(checked *ast.AST, report *reporter) {
	var made, walked []int64 // maps
	ast.PostOrderVisit(checked.Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		switch x.Kind() {
		case ast.StructKind:
			report.at(checked, x.ID(), problem{message: "a condition cannot make objects"})
		case ast.MapKind:
			if x.AsMap().Size() > 1 {
				made = append(made, x.ID())
			}
		case ast.ComprehensionKind:
			c := x.AsComprehension()
			if c.AccuInit().Kind() == ast.MapKind {
				report.at(checked, x.ID(), problem{message: "a condition cannot transform maps; make a list of what is to be compared"})
			}
			if k := checked.GetType(c.IterRange().ID()).Kind(); k != types.ListKind {
				walked = append(walked, x.ID())
			}
		case ast.CallKind:
			e.checkCall(checked, x, report)
		}
	}))
	if len(made) > 0 && len(walked) > 0 {
		report.at(checked, walked[0], problem{message: "a condition cannot walk a map that it makes itself; use a list"})
	}
}

func (e *environment) checkCall(checked *ast.AST, x ast.Expr, report *reporter) {
	call := x.AsCall()
	switch call.FunctionName() {
	case "format":
		report.at(checked, x.ID(), problem{message: "a condition cannot format text; join parts with +"})
	case overloads.Matches:
		pattern := call.Args()[len(call.Args())-1]
		if text, ok := literalString(pattern); ok {
			if _, err := regexp.Compile(text); err != nil {
				report.at(checked, pattern.ID(), problem{message: "the pattern is no regular expression: " + clip(err.Error(), maxGot)})
			}
		}
	}
}

// checkEstimate rejects an expression that could take too much time or memory on the largest evidence allowed.
func (e *environment) checkEstimate(checked *cel.Ast, report *reporter) {
	most, err := e.estimate(checked)
	if err != nil {
		report.add(problem{message: "the cost of the condition cannot be estimated: " + clip(err.Error(), maxShown)})
		return
	}
	if most > maxEstimate {
		report.add(problem{message: "the condition could become too expensive to evaluate; nest fewer loops, and build no large texts or lists"})
	}
}
