// Package expr holds what a design says of toolsets, as Goa evaluates it: the expressions that package dsl fills in, and every
// check of them. When Goa's evaluation has ended without an error, each tool's payload and result stand resolved in its Payload
// and Result, and package codegen can generate from them without meeting a mistake of the design.
package expr

import (
	"fmt"
	"strings"
	"time"

	"goa.design/goa/v3/eval"
	goaexpr "goa.design/goa/v3/expr"

	"toolsvc/tool"
	"toolsvc/toolset/shape"
)

type (
	// RootExpr is the root of all toolsets of a design.
	RootExpr struct{ Toolsets []*ToolsetExpr }

	// ToolsetExpr is a Toolset.
	ToolsetExpr struct {
		eval.DSLFunc
		Name, Description string
		Tools             []*ToolExpr
		// Types are the object, union and alias types that the tools use, in the order of their first use; filled by Validate.
		Types []*shape.Named
	}

	// ToolExpr is a Tool.
	ToolExpr struct {
		eval.DSLFunc
		Toolset                       *ToolsetExpr
		Name, Description             string
		Args, Return                  *goaexpr.AttributeExpr
		Effect                        tool.EffectClass
		EffectRules                   []tool.EffectRule
		Sources                       []tool.Source
		Preconditions, Postconditions []tool.Condition
		Confirm, Question, Rollback   string
		TimeLimit                     time.Duration
		TimeLimitSet                  bool
		// Bind is the method of a Goa service that does the tool's work; nil when an executor of its own does.
		Bind *BindExpr
		// Agent does the tool's work in a run of its own; nil when an executor does.
		Agent *AgentExpr

		// Payload and Result are the resolved types, and Example is a valid payload as JSON; filled by Validate.
		Payload, Result *shape.Type
		Example         []byte
		// readsState names a condition that reads state or before.state, "" when none does.
		readsState string
		// reads are the variables that conditions read, each with the name of one that does.
		reads map[string]string
	}
)

// Root is the one root expression.
var Root = &RootExpr{}

func init() {
	if err := eval.Register(Root); err != nil {
		panic(err) // a second root of this name is a bug
	}
}

// Reset forgets all toolsets and registers the root anew, after eval.Reset. It is for tests, which evaluate several designs.
func Reset() error {
	Root.Toolsets = nil
	return eval.Register(Root)
}

// EvalName is the name of the root in messages.
func (*RootExpr) EvalName() string { return "toolsets" }

// DependsOn has Goa's own root, with the types, evaluated first.
func (*RootExpr) DependsOn() []eval.Root { return []eval.Root{goaexpr.Root} }

// Packages are left out when Goa looks for the place of an error in the design.
func (*RootExpr) Packages() []string {
	return []string{"toolsvc/toolset/dsl", "toolsvc/toolset/expr"}
}

// WalkSets runs the toolsets first, because they add the tools that come next.
func (r *RootExpr) WalkSets(walk eval.SetWalker) {
	walk(eval.ToExpressionSet(r.Toolsets))
	var tools []*ToolExpr
	for _, t := range r.Toolsets {
		tools = append(tools, t.Tools...)
	}
	walk(eval.ToExpressionSet(tools))
}

// EvalName names the toolset in messages.
func (t *ToolsetExpr) EvalName() string { return fmt.Sprintf("toolset %q", t.Name) }

// SetDescription lets Goa's Description be used inside Toolset.
func (t *ToolsetExpr) SetDescription(d string) { t.Description = d }

// EvalName names the tool in messages.
func (t *ToolExpr) EvalName() string {
	return fmt.Sprintf("tool %q of toolset %q", t.Name, t.Toolset.Name)
}

// ID is the tool's identifier.
func (t *ToolExpr) ID() tool.ID { return tool.ID(t.Toolset.Name + "." + t.Name) }

// Title is the tool's name for people: "Fill form".
func (t *ToolExpr) Title() string {
	return strings.ToUpper(t.Name[:1]) + strings.ReplaceAll(t.Name[1:], "_", " ")
}
