package stack_test

import (
	"encoding/json"
	"strings"
	"testing"

	"toolsvc/executors/service"
	"toolsvc/stack"
	"toolsvc/tool"
)

func TestNewRegistry(t *testing.T) {
	t.Parallel()
	spec := func(id tool.ID, condition string) *tool.Spec {
		return &tool.Spec{ID: id, Effect: tool.ReadOnly, Example: json.RawMessage(`{}`), PayloadSchema: json.RawMessage(`{"type":"object"}`),
			Postconditions: []tool.Condition{{Name: "done", Expression: condition, Message: "done"}}}
	}
	exec := service.New()
	reg, err := stack.NewRegistry(stack.Toolset{Specs: []*tool.Spec{spec("shop.refund", "has(state.error)")}, Executor: exec})
	if err != nil || reg.Lookup("shop.refund") == nil || reg.Lookup("browser.click") == nil {
		t.Errorf("the tools of both are not there: %v", err)
	}
	if _, err := stack.NewRegistry(stack.Toolset{Name: "later", Executor: exec}); err != nil {
		t.Errorf("a toolset whose tools come later: %v", err)
	}
	for name, c := range map[string]struct {
		own  []stack.Toolset
		want string
	}{
		"no tools":     {[]stack.Toolset{{Executor: exec}}, "toolset 1 of the options has neither tools nor a name"},
		"nothing":      {[]stack.Toolset{{Name: "later"}}, "the toolset later has no executor"},
		"no executor":  {[]stack.Toolset{{Specs: []*tool.Spec{spec("shop.refund", "true")}}}, "the toolset shop has no executor"},
		"ours":         {[]stack.Toolset{{Specs: []*tool.Spec{spec("browser.fly", "true")}, Executor: exec}}, "there are two toolsets browser"},
		"another's":    {[]stack.Toolset{{Specs: []*tool.Spec{spec("shop.refund", "true"), spec("stop.refund", "true")}, Executor: exec}}, "stop.refund does not belong to the toolset shop"},
		"twice":        {[]stack.Toolset{{Specs: []*tool.Spec{spec("shop.refund", "true"), spec("shop.refund", "true")}, Executor: exec}}, "declared twice"},
		"no condition": {[]stack.Toolset{{Specs: []*tool.Spec{spec("shop.refund", "stat.x == 1")}, Executor: exec}}, `the conditions of shop.refund do not compile: `},
	} {
		if _, err := stack.NewRegistry(c.own...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}
