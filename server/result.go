package server

import (
	"encoding/json"
	"time"

	"toolsvc/gen/types"
	"toolsvc/tool"
)

// wireResult is r as Goa encodes it on HTTP and gRPC. The fields and values are those of r's own JSON.
func wireResult(r *tool.Result) *types.ToolResult {
	w := &types.ToolResult{
		CallID: r.CallID, RunID: r.RunID, Tool: string(r.Tool), Result: r.Result, Error: wireError(r.Error), RetryHint: wireHint(r.RetryHint),
		Verification: wireVerification(r.Verification), ChildrenCount: r.ChildrenCount,
		Telemetry: &types.Telemetry{DurationMs: r.Telemetry.DurationMS, QueuedMs: r.Telemetry.QueuedMS, WaitedMs: nonZero(r.Telemetry.WaitedMS),
			Model: r.Telemetry.Model, InputTokens: r.Telemetry.InputTokens, OutputTokens: r.Telemetry.OutputTokens},
		Status: optional(string(r.Status)),
	}
	if r.Question != nil {
		w.Question = wireQuestion(*r.Question)
	}
	for _, a := range r.Attempts {
		w.Attempts = append(w.Attempts, &types.AttemptRecord{Number: a.Number, Source: string(a.Source), Input: optional(string(a.Input)),
			Phase: string(a.Phase), Effect: string(a.Effect), Failure: optional(string(a.Failure)), Message: optional(a.Message),
			RolledBack: a.RolledBack, DurationMs: a.DurationMS})
	}
	for _, p := range r.Repairs {
		w.Repairs = append(w.Repairs, &types.Repair{Path: p.Path, Rule: p.Rule, Tier: p.Tier, From: p.From, To: p.To})
	}
	if l := r.RunLink; l != nil {
		w.RunLink = &types.RunLink{WorkflowID: l.WorkflowID, URL: optional(l.URL)}
	}
	for _, l := range r.ChildRuns {
		w.ChildRuns = append(w.ChildRuns, &types.RunLink{WorkflowID: l.WorkflowID, URL: optional(l.URL)})
	}
	return w
}

func wireError(e *tool.Error) *types.ToolError {
	if e == nil {
		return nil
	}
	w := &types.ToolError{Code: optional(string(e.Code)), Message: e.Message}
	if e.Cause != nil {
		w.Cause = rawJSON(e.Cause)
	}
	return w
}

func wireHint(h *tool.RetryHint) *types.RetryHint {
	if h == nil {
		return nil
	}
	f := h.Fields()
	w := &types.RetryHint{Reason: string(f.Reason), Tool: string(f.Tool), RestrictToTool: f.RestrictToTool, MissingFields: f.MissingFields,
		ExampleInput: f.ExampleInput, PriorInput: f.PriorInput, ClarifyingQuestion: optional(f.ClarifyingQuestion), Message: f.Message,
		RetryAfterMs: f.RetryAfterMS}
	w.Issues, w.Candidates = wireIssues(f.Issues), wireCandidates(f.Candidates)
	if n := f.Rollback; n != nil {
		w.Rollback = &types.RollbackNotice{Performed: n.Performed, RestoredTo: n.RestoredTo, FailedChecks: notNil(n.FailedChecks)}
	}
	return w
}

func wireIssues(is tool.Issues) (out []*types.Issue) {
	for _, i := range is {
		x := &types.Issue{Path: i.Path, Constraint: i.Constraint, Allowed: i.Allowed, ExpectedType: optional(i.ExpectedType), Got: optional(i.Got),
			Offset: i.Offset, Suggestion: optional(i.Suggestion), Message: i.Message}
		if i.Limit != nil {
			x.Limit = rawJSON(i.Limit)
		}
		out = append(out, x)
	}
	return out
}

func wireCandidates(cs []tool.Candidate) (out []*types.Candidate) {
	for _, c := range cs {
		out = append(out, &types.Candidate{Name: c.Name, Role: optional(c.Role), Within: optional(c.Within), Near: optional(c.Near), Selector: optional(c.Selector)})
	}
	return out
}

func wireQuestion(q tool.Question) *types.Question {
	return &types.Question{ID: q.ID, Kind: string(q.Kind), RunID: q.RunID, CallID: optional(q.CallID), Tool: optional(string(q.Tool)), Text: q.Text,
		Reason: optional(string(q.Reason)), MissingFields: q.MissingFields, Issues: wireIssues(q.Issues), Candidates: wireCandidates(q.Candidates),
		Schema: q.Schema, ExampleInput: q.ExampleInput, PriorInput: q.PriorInput, Digest: optional(q.Digest), RestrictToTool: nonZero(q.RestrictToTool),
		AskedAt: instant(q.AskedAt), ExpiresAt: instant(q.ExpiresAt)}
}

// instant writes a time as package json does.
func instant(t time.Time) string { return t.Format(time.RFC3339Nano) }

// nonZero is nil for the zero value.
func nonZero[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func wireVerification(v *tool.Verification) *types.Verification {
	if v == nil {
		return nil
	}
	w := &types.Verification{Verdict: string(v.Verdict), Confidence: v.Confidence, Threshold: v.Threshold, Explanation: v.Explanation,
		Checks:   []*types.Check{},
		Evidence: &types.EvidenceRefs{Before: optional(v.Evidence.Before), After: optional(v.Evidence.After)}}
	if o := v.Opinion; o != nil {
		w.Opinion = &types.Opinion{Model: o.Model, Verdict: string(o.Verdict), Confidence: o.Confidence, Explanation: o.Explanation, Agrees: o.Agrees}
	}
	for _, c := range v.Checks {
		x := &types.Check{Name: c.Name, Condition: c.Condition, Expected: c.Expected, Observed: c.Observed, Passed: c.Passed}
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
