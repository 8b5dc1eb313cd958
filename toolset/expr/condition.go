package expr

import (
	"strings"

	"goa.design/goa/v3/eval"

	"toolsvc/tool"
)

// maxCondition bounds a condition, in bytes.
const maxCondition = 2000

// validateConditions checks the names, messages and expressions of all conditions.
func (t *ToolExpr) validateConditions(errs *eval.ValidationErrors) {
	for _, list := range []struct {
		what       string
		conditions []tool.Condition
	}{{"Precondition", t.Preconditions}, {"Postcondition", t.Postconditions}} {
		what, seen := list.what, map[string]bool{}
		for _, c := range list.conditions {
			if !condition.MatchString(c.Name) {
				errs.Add(t, "%s %q: the name must match %s", what, c.Name, condition)
			}
			if seen[c.Name] {
				errs.Add(t, "%s %q is declared twice", what, c.Name)
			}
			seen[c.Name] = true
			if strings.TrimSpace(c.Message) == "" {
				errs.Add(t, "%s %q needs a message that says what holds when it holds", what, c.Name)
			}
		}
	}
}
