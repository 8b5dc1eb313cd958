package repair

import (
	"slices"
	"strings"

	"toolsvc/tool"
)

// The members of the envelopes in which calls are commonly sent, folded. Only what holds the payload is kept of an envelope; the rest says
// which call it is, and has to agree with it.
var (
	payloadNames = []string{"arguments", "args", "kwargs", "input", "params", "parameters", "payload", "toolinput", "toolargs", "actioninput"}
	callNames    = []string{"function", "functioncall", "toolcall", "tooluse"}
	toolNames    = []string{"tool", "toolname", "name", "function", "functionname", "action"}
	idNames      = []string{"id", "callid", "toolcallid", "tooluseid"}
	constants    = map[string][]string{"type": {"function", "functioncall", "toolcall", "tooluse"}, "method": {"tools/call"}, "jsonrpc": {"2.0"}}
)

// unwrap takes the payload out of an envelope: {"arguments": …}, {"tool": …, "arguments": …}, those of MCP and of model vendors, or the
// tool's own name. No member of the envelope may be a field of the tool, and all of them must be known.
func unwrap(root *node, s *schema, id tool.ID) (inner *node, path string, ok bool) {
	if root.kind != kindObject || len(root.names) == 0 {
		return nil, "", false
	}
	for i, name := range root.names {
		if s.Properties[name] != nil || slices.Contains(root.names[:i], name) {
			return nil, "", false
		}
		value, folded := root.elems[i], fold(name)
		holds := slices.Contains(payloadNames, folded) || slices.Contains(callNames, folded) || len(root.names) == 1 && isTool(name, id)
		_, _, isText := jsonText(value, kindObject)
		switch {
		case holds && (value.kind == kindObject || isText):
			if inner != nil {
				return nil, "", false
			}
			inner, path = value, child("", name)
		case slices.Contains(toolNames, folded) && value.kind == kindString && isTool(value.text, id):
		case slices.Contains(idNames, folded) && (value.kind == kindString || value.kind == kindNumber):
		case constants[folded] != nil && value.kind == kindString && slices.Contains(constants[folded], fold(value.text)):
		default:
			return nil, "", false
		}
	}
	return inner, path, inner != nil && plausible(inner, s)
}

// isTool reports whether a name is a tool's: browser.click, browser_click, click.
func isTool(name string, id tool.ID) bool {
	name = strings.ToLower(name)
	return name == strings.ToLower(string(id)) || name == strings.ToLower(strings.ReplaceAll(string(id), ".", "_")) || name == strings.ToLower(id.Name())
}

// plausible reports whether what an envelope holds can be the payload: it is empty, or has a field that the tool knows, or is an envelope
// itself, or text.
func plausible(inner *node, s *schema) bool {
	if inner.kind != kindObject || len(inner.names) == 0 {
		return true
	}
	return slices.ContainsFunc(inner.names, func(name string) bool {
		if s.Properties[name] != nil || slices.Contains(payloadNames, fold(name)) {
			return true
		}
		_, ok := spelling(name, nil, s)
		return ok
	})
}
