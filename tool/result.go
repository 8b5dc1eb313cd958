package tool

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Result is what every call ends in, on every surface.
type Result struct {
	CallID string `json:"call_id"`
	RunID  string `json:"run_id"`
	Tool   ID     `json:"tool"`
	// Status is needs_input while the call waits for the answer to Question; "" when it has ended.
	Status       Status          `json:"status,omitempty"`
	Question     *Question       `json:"question,omitempty"`
	Result       json.RawMessage `json:"result,omitempty"`
	Error        *Error          `json:"error,omitempty"`
	RetryHint    *RetryHint      `json:"retry_hint,omitempty"`
	Verification *Verification   `json:"verification,omitempty"`
	Attempts     []AttemptRecord `json:"attempts,omitempty"`
	Repairs      []Repair        `json:"repairs,omitempty"`
	Telemetry    Telemetry       `json:"telemetry"`
	// ChildrenCount is how many calls an agent-backed tool made.
	ChildrenCount int      `json:"children_count"`
	RunLink       *RunLink `json:"run_link,omitempty"`
	// ChildRuns are the runs in which an agent did the work, one for each attempt; none for other tools.
	ChildRuns []RunLink `json:"child_runs,omitempty"`
}

// AttemptRecord is the account of one attempt.
type AttemptRecord struct {
	Number     int     `json:"number"`
	Source     Source  `json:"source"`
	Input      Input   `json:"input,omitempty"`
	Phase      Phase   `json:"phase"`
	Effect     Effect  `json:"effect"`
	Failure    Failure `json:"failure,omitempty"`
	Message    string  `json:"message,omitempty"`
	RolledBack bool    `json:"rolled_back"`
	DurationMS int64   `json:"duration_ms"`
}

// Repair is one correction of a payload.
type Repair struct {
	Path string `json:"path"`
	Rule string `json:"rule"`
	// Tier is syntax, lossless, model or person.
	Tier string `json:"tier"`
	From string `json:"from"`
	To   string `json:"to"`
}

// Telemetry is what a call cost.
type Telemetry struct {
	DurationMS int64 `json:"duration_ms"`
	// QueuedMS is how long the call waited for the calls before it.
	QueuedMS int64 `json:"queued_ms"`
	// WaitedMS is how long the call backed off, or waited for a person.
	WaitedMS     int64  `json:"waited_ms,omitempty"`
	Model        string `json:"model"`
	InputTokens  int64  `json:"input_tokens"`
	OutputTokens int64  `json:"output_tokens"`
}

// RunLink leads to the run in Temporal.
type RunLink struct {
	WorkflowID string `json:"workflow_id"`
	URL        string `json:"url,omitempty"`
}

// OK reports a verified success.
func (r *Result) OK() bool {
	return r.Status == "" && r.Error == nil && r.Verification != nil && r.Verification.Verdict == VerdictSuccess
}

// Validate rejects a Result that breaks the contract. It is called where results leave the run; an invalid one is a bug of ours
// and is turned into an internal error, never passed on.
func (r *Result) Validate() error {
	var errs []error
	reject := func(bad bool, what string) {
		if bad {
			errs = append(errs, errors.New(what))
		}
	}
	reject(r.CallID == "" || r.Tool == "", "a result names its call and its tool")
	reject((r.Status == "") != (r.Question == nil), "a call waits exactly when there is a question")
	if r.Status != "" {
		reject(r.Status != StatusNeedsInput, "a call that has not ended needs input")
		reject(r.Result != nil || r.Verification != nil, "a call that waits has no result yet")
		return errors.Join(errs...)
	}
	reject(r.Error == nil && r.Result == nil, "a result holds a result or an error")
	reject(r.Error != nil && r.Result != nil, "a result and an error exclude each other")
	reject(r.Error == nil && !r.OK(), "a result without an error needs a verdict of success")
	reject(r.Error != nil && r.Verification != nil && r.Verification.Verdict == VerdictSuccess, "an error contradicts a verdict of success")
	if v := r.Verification; v != nil && v.Verdict == VerdictSuccess {
		reject(v.Confidence < v.Threshold, "success needs a confidence of at least the threshold")
		reject(v.Evidence.After == "", "success needs evidence from after the action")
		for _, c := range v.Checks {
			vouched := c.Undecided && v.Opinion != nil && v.Opinion.Verdict == VerdictSuccess && v.Opinion.Confidence >= v.Threshold
			reject(!c.Passed && !vouched, fmt.Sprintf("success although check %q did not pass", c.Name))
		}
	}
	reject(r.RetryHint != nil && r.Error == nil, "a hint without an error")
	for i, a := range r.Attempts {
		reject(a.Number != i+1, fmt.Sprintf("attempt %d stands in place %d", a.Number, i+1))
	}
	return errors.Join(errs...)
}
