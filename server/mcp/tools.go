package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/tool"
)

// toolOf is how a tool is advertised.
func toolOf(spec *tool.Spec) *sdk.Tool {
	return &sdk.Tool{
		Name:         Name(spec.ID),
		Title:        spec.Title,
		Description:  describe(spec),
		InputSchema:  advertised(spec.PayloadSchema, !hasProperty(spec.PayloadSchema, runProperty)),
		OutputSchema: outputSchema(spec.ResultSchema),
		Annotations:  annotations(spec),
		Icons:        icons(spec.ID.Toolset()),
	}
}

// gravest is the gravest class that a call of the tool can have.
func gravest(spec *tool.Spec) tool.EffectClass {
	worst := spec.Effect
	for _, r := range spec.EffectRules {
		if slices.Index(tool.EffectClasses, r.Class) > slices.Index(tool.EffectClasses, worst) {
			worst = r.Class
		}
	}
	return worst
}

// closedWorlds are the toolsets that reach nothing outside of this machine.
var closedWorlds = []string{"document", "run"}

// annotations come from the gravest effect class that a call can have. A reversible tool counts as destructive: toolsvc cannot know what
// a button does, and undoes it only when the call fails.
func annotations(spec *tool.Spec) *sdk.ToolAnnotations {
	class := gravest(spec)
	destructive := class == tool.Reversible || class == tool.Irreversible
	open := !slices.Contains(closedWorlds, spec.ID.Toolset())
	return &sdk.ToolAnnotations{Title: spec.Title, ReadOnlyHint: class == tool.ReadOnly, IdempotentHint: class.Repeatable(),
		DestructiveHint: &destructive, OpenWorldHint: &open}
}

var effectSentences = map[tool.EffectClass]string{
	tool.ReadOnly:     "Changes nothing.",
	tool.Idempotent:   "Doing it again leads to the same state.",
	tool.Reversible:   "Repeated by itself only when the first attempt provably did nothing or was undone.",
	tool.Irreversible: "Needs an approval, and is done at most once.",
}

// maxExample bounds the example in a description, in bytes.
const maxExample = 600

// describe is the description that teaches a model to use the tool: what it does, needs, changes and checks, and an example.
func describe(spec *tool.Spec) string {
	parts := []string{spec.Description}
	var schema struct {
		Required []string `json:"required"`
	}
	if json.Unmarshal(spec.PayloadSchema, &schema) == nil && len(schema.Required) > 0 {
		parts = append(parts, "Needs "+strings.Join(schema.Required, ", ")+".")
	}
	if s := effectSentences[gravest(spec)]; s != "" {
		parts = append(parts, s)
	}
	var checks []string
	for _, c := range spec.Postconditions {
		if c.Message != "" {
			checks = append(checks, c.Message)
		}
	}
	if len(checks) > 0 {
		parts = append(parts, "Checked afterwards: "+strings.Join(checks, "; ")+".")
	}
	text := strings.Join(parts, " ")
	if len(spec.Example) > 0 && len(spec.Example) <= maxExample {
		text += fmt.Sprintf("\nExample: %s", spec.Example)
	}
	return text
}

// icons are small pictures of the toolset, drawn here so that nothing has to be fetched.
func icons(toolset string) []sdk.Icon {
	path, ok := iconPaths[toolset]
	if !ok {
		path = iconPaths[""]
	}
	return []sdk.Icon{{Source: "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(fmt.Sprintf(iconSVG, path))), MIMEType: "image/svg+xml", Sizes: []string{"any"}}}
}

const iconSVG = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#2563eb" stroke-width="2"><path d="%s"/></svg>`

var iconPaths = map[string]string{
	"":         "M14 6a5 5 0 0 0-6 6l-5 5 4 4 5-5a5 5 0 0 0 6-6l-3 3-4-4z", // a wrench
	"browser":  "M3 5h18v14H3zM3 9h18M6 7h1",
	"terminal": "M3 5h18v14H3zM6 9l3 3-3 3M11 15h5",
	"document": "M6 3h9l4 4v14H6zM9 10h7M9 14h7",
	"run":      "M12 3a9 9 0 1 0 .1 0zM10 8l6 4-6 4z",
}
