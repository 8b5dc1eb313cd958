package server

import (
	"encoding/json"

	"toolsvc/gen/tools"
	"toolsvc/tool"
)

// catalogueEntry is a tool's spec as callers read it. Lists are never null.
func catalogueEntry(s *tool.Spec) *tools.ToolSpec {
	e := &tools.ToolSpec{
		ID: string(s.ID), Title: s.Title, Description: s.Description,
		Effect: string(s.Effect), EffectRules: []*tools.EffectRule{}, Sources: []string{},
		Preconditions: conditions(s.Preconditions), Postconditions: conditions(s.Postconditions),
		TimeLimitMs: s.TimeLimit.Milliseconds(), Confirm: optional(s.Confirm), Rollback: optional(s.Rollback), Question: optional(s.Question),
		PayloadSchema: document(s.PayloadSchema), ResultSchema: document(s.ResultSchema), Example: document(s.Example),
	}
	for _, r := range s.EffectRules {
		e.EffectRules = append(e.EffectRules, &tools.EffectRule{When: r.When, Class: string(r.Class)})
	}
	for _, src := range s.Sources {
		e.Sources = append(e.Sources, string(src))
	}
	return e
}

func conditions(cs []tool.Condition) []*tools.Condition {
	out := []*tools.Condition{}
	for _, c := range cs {
		out = append(out, &tools.Condition{Name: c.Name, Expression: c.Expression, Message: optional(c.Message)})
	}
	return out
}

// document is free JSON that a spec always has; {} where it was left out, which as a schema allows anything.
func document(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

// optional is nil for "".
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
