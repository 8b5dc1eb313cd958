package server

import (
	"encoding/json"

	"toolsvc/gen/tools"
	"toolsvc/tool"
)

// wireResult is r as Goa encodes it on HTTP and gRPC. The fields and values are those of r's own JSON.
func wireResult(r *tool.Result) *tools.ToolResult {
	w := &tools.ToolResult{
		CallID: r.CallID, RunID: r.RunID, Tool: string(r.Tool), Result: r.Result, Error: wireError(r.Error), RetryHint: wireHint(r.RetryHint),
		Verification: wireVerification(r.Verification), ChildrenCount: r.ChildrenCount,
		Telemetry: &tools.Telemetry{DurationMs: r.Telemetry.DurationMS, QueuedMs: r.Telemetry.QueuedMS, Model: r.Telemetry.Model,
			InputTokens: r.Telemetry.InputTokens, OutputTokens: r.Telemetry.OutputTokens},
	}
	for _, a := range r.Attempts {
		w.Attempts = append(w.Attempts, &tools.AttemptRecord{Number: a.Number, Source: string(a.Source), Input: optional(string(a.Input)),
			Phase: string(a.Phase), Effect: string(a.Effect), Failure: optional(string(a.Failure)), Message: optional(a.Message),
			RolledBack: a.RolledBack, DurationMs: a.DurationMS})
	}
	for _, p := range r.Repairs {
		w.Repairs = append(w.Repairs, &tools.Repair{Path: p.Path, Rule: p.Rule, Tier: p.Tier, From: p.From, To: p.To})
	}
	if l := r.RunLink; l != nil {
		w.RunLink = &tools.RunLink{WorkflowID: l.WorkflowID, URL: optional(l.URL)}
	}
	return w
}

func wireError(e *tool.Error) *tools.ToolError {
	if e == nil {
		return nil
	}
	w := &tools.ToolError{Code: optional(string(e.Code)), Message: e.Message}
	if e.Cause != nil {
		w.Cause = rawJSON(e.Cause)
	}
	return w
}

func wireHint(h *tool.RetryHint) *tools.RetryHint {
	if h == nil {
		return nil
	}
	f := h.Fields()
	w := &tools.RetryHint{Reason: string(f.Reason), Tool: string(f.Tool), RestrictToTool: f.RestrictToTool, MissingFields: f.MissingFields,
		ExampleInput: f.ExampleInput, PriorInput: f.PriorInput, ClarifyingQuestion: optional(f.ClarifyingQuestion), Message: f.Message,
		RetryAfterMs: f.RetryAfterMS}
	for _, i := range f.Issues {
		x := &tools.Issue{Path: i.Path, Constraint: i.Constraint, Allowed: i.Allowed, ExpectedType: optional(i.ExpectedType), Got: optional(i.Got),
			Offset: i.Offset, Suggestion: optional(i.Suggestion), Message: i.Message}
		if i.Limit != nil {
			x.Limit = rawJSON(i.Limit)
		}
		w.Issues = append(w.Issues, x)
	}
	for _, c := range f.Candidates {
		w.Candidates = append(w.Candidates, &tools.Candidate{Name: c.Name, Role: optional(c.Role), Within: optional(c.Within),
			Near: optional(c.Near), Selector: optional(c.Selector)})
	}
	if n := f.Rollback; n != nil {
		w.Rollback = &tools.RollbackNotice{Performed: n.Performed, RestoredTo: n.RestoredTo, FailedChecks: notNil(n.FailedChecks)}
	}
	return w
}

func wireVerification(v *tool.Verification) *tools.Verification {
	if v == nil {
		return nil
	}
	w := &tools.Verification{Verdict: string(v.Verdict), Confidence: v.Confidence, Threshold: v.Threshold, Explanation: v.Explanation,
		Checks:   []*tools.Check{},
		Evidence: &tools.EvidenceRefs{Before: optional(v.Evidence.Before), After: optional(v.Evidence.After)}}
	for _, c := range v.Checks {
		x := &tools.Check{Name: c.Name, Condition: c.Condition, Expected: c.Expected, Observed: c.Observed, Passed: c.Passed}
		if c.Undecided {
			x.Undecided = &c.Undecided
		}
		w.Checks = append(w.Checks, x)
	}
	return w
}

// rawJSON encodes a part that is free JSON on the wire. What cannot be encoded, which no bound and no error chain is, is left out.
func rawJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}

// notNil keeps a list that is always there from becoming null.
func notNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
