package mcp

import (
	"fmt"
	"strings"

	"toolsvc/tool"
)

// Name is the tool's name in MCP, where a dot is not customary: browser_click for browser.click.
func Name(id tool.ID) string { return strings.ReplaceAll(string(id), ".", "_") }

// maxName bounds a tool's name, as SEP-986 does.
const maxName = 128

// named lists the tools of a registry by their MCP names. Two tools of one name, or a name that clients would refuse, is an error.
func named(reg *tool.Registry) (map[string]*tool.Spec, error) {
	byName := map[string]*tool.Spec{}
	for _, id := range reg.IDs() {
		n := Name(id)
		if other := byName[n]; other != nil {
			return nil, fmt.Errorf("the tools %s and %s have the same name in MCP, %s; rename one of them, or give its backend another prefix", other.ID, id, n)
		}
		if len(n) > maxName || strings.IndexFunc(n, func(r rune) bool { return !nameRune(r) }) >= 0 {
			return nil, fmt.Errorf("the name %q of tool %s does not work in MCP: it may have %d letters, digits, underscores, hyphens and dots", n, id, maxName)
		}
		byName[n] = reg.Lookup(id)
	}
	return byName, nil
}

func nameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.", r)
}
