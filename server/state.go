package server

import (
	"toolsvc/gen/runs"
	"toolsvc/gen/types"
	"toolsvc/planner"
	"toolsvc/tool"
)

// wireState is a run as callers read it. Lists are never null.
func wireState(st *planner.State) *runs.RunState {
	w := &runs.RunState{RunID: st.RunID, Title: st.Title, Language: st.Language, Kind: string(st.Kind), Outcome: string(st.Outcome), Paused: st.Paused,
		Policy: wirePolicy(st.Policy), Goal: optional(st.Goal), Tokens: st.Tokens, Began: instant(st.Began), WaitedMs: st.WaitedMS, WithPeopleMs: st.WithPeopleMS, Worker: optional(st.Worker),
		Steps: []*runs.StepState{}, Questions: []*types.Question{}}
	if p := st.Planning; p != nil {
		w.Answer, w.Finalized, w.Model, w.Turns = optional(p.Answer), optional(p.Finalized), optional(p.Model), nonZero(p.Turns)
	}
	for _, s := range st.Steps {
		x := &runs.StepState{CallID: s.CallID, Tool: string(s.Tool), Title: s.Title, Status: string(s.Status), ExpectFailure: optional(string(s.Expects)), ChildRun: optional(s.ChildRun)}
		if s.Result != nil {
			x.Result = wireResult(s.Result)
		}
		w.Steps = append(w.Steps, x)
	}
	for _, q := range st.Questions {
		w.Questions = append(w.Questions, wireQuestion(q))
	}
	return w
}

func wirePolicy(p tool.Policy) *runs.Policy {
	return &runs.Policy{Repair: optional(string(p.Repair)), Ask: nonZero(p.Ask), Approve: optional(string(p.Approve)), Allow: p.Allow, Deny: p.Deny,
		MaxCalls: nonZero(p.MaxCalls), MaxFailures: nonZero(p.MaxFailures), TimeBudgetMs: nonZero(p.TimeBudgetMS), TokenBudget: nonZero(p.TokenBudget),
		WaitBudgetMs: nonZero(p.WaitBudgetMS), QuestionTTLMs: nonZero(p.QuestionTTLMS)}
}

// policyOf is the policy that a caller sent; none is the default policy.
func policyOf(w *runs.Policy) tool.Policy {
	if w == nil {
		return tool.Policy{}
	}
	return tool.Policy{Repair: tool.RepairLevel(value(w.Repair)), Ask: value(w.Ask), Approve: tool.ApproveMode(value(w.Approve)), Allow: w.Allow, Deny: w.Deny,
		MaxCalls: value(w.MaxCalls), MaxFailures: value(w.MaxFailures), TimeBudgetMS: value(w.TimeBudgetMs), TokenBudget: value(w.TokenBudget),
		WaitBudgetMS: value(w.WaitBudgetMs), QuestionTTLMS: value(w.QuestionTTLMs)}
}

// value is what p points to, or the zero value.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
