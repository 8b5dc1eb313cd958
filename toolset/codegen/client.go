package codegen

import (
	"fmt"
	"strings"

	"goa.design/goa/v3/codegen"

	"toolsvc/toolset/expr"
)

func client(ts *expr.ToolsetExpr) string {
	var p printer
	p.doc(fmt.Sprintf("Client calls the tools of the toolset %s with typed payloads and results. It is safe for concurrent use if its caller is", ts.Name))
	p.f(`type Client struct {
	caller tool.Caller
	runID string
}

// NewClient makes a client whose calls are runs of their own.
func NewClient(c tool.Caller) *Client { return &Client{caller: c} }

// InRun returns a client whose calls belong to the run.
func (c *Client) InRun(id string) *Client { return &Client{caller: c.caller, runID: id} }

`)
	for _, t := range ts.Tools {
		g := t.GoName()
		p.doc(fmt.Sprintf("%s calls %s. %s", g, t.ID(), t.Description))
		p.f("//\n// A payload that breaks the contract is a [tool.Issues] error, and nothing is sent. A tool that failed is its [tool.Error], together\n// with the result that tells how.\n")
		p.f("func (c *Client) %[1]s(ctx context.Context, p *%[2]s) (*%[3]s, *tool.Result, error) {\n", g, t.Payload.Named.Name, t.Result.Named.Name)
		p.f("args, err := tool.Encode(p, %s, encode%s)\nif err != nil {\nreturn nil, nil, err\n}\n", document(t.Payload), t.Payload.Named.Name)
		p.f("return tool.CallTyped(ctx, c.caller, tool.Request{CallID: tool.NewCallID(), RunID: c.runID, Tool: %sID, Arguments: args}, %s, decode%s)\n}\n\n",
			g, document(t.Result), t.Result.Named.Name)
	}
	return p.String()
}

func registryFile(base string, toolsets []*expr.ToolsetExpr) source {
	var p printer
	var imports []*codegen.ImportSpec
	var calls []string
	for _, ts := range toolsets {
		alias := ts.Name + "tools" // a toolset may have the name of a package that is imported here
		imports = append(imports, codegen.NewImport(alias, base+"/"+ts.Name))
		calls = append(calls, alias+".Specs()")
	}
	p.f("// Registry returns the tools of all toolsets of the design.\n")
	p.f("var Registry = sync.OnceValue(func() *tool.Registry {\nr, err := tool.NewRegistry(\n%s,\n)\n", strings.Join(calls, ",\n"))
	p.f("if err != nil {\npanic(err) // the generator makes sure that no tool is declared twice\n}\nreturn r\n})\n")
	return source{name: "registry.go", title: "toolsets: registry of all tools", imports: imports, body: p.String()}
}
