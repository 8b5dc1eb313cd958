package gemini

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"toolsvc/tool"
)

// The bounds of a function response.
const (
	// MaxResponse bounds a response, in bytes: longer texts in a result are cut, the longest first.
	MaxResponse = 32 << 10
	// maxListed bounds issues, checks and candidates.
	maxListed = 20
	// maxObserved bounds what was expected or observed in a check, in bytes.
	maxObserved = 400
)

// response is what a model is told of a call. It has no fields "output" and "error": the service gives those a meaning of their own.
type response struct {
	// Status is success, failed (something was dispatched, and nothing is left of it), not_done (nothing was dispatched) or unknown.
	Status   string          `json:"status"`
	Result   json.RawMessage `json:"result,omitempty"`
	Verified []string        `json:"verified,omitempty"`
	// Corrected says what toolsvc changed in the payload.
	Corrected    []string         `json:"corrected,omitempty"`
	Failure      *failureWords    `json:"failure,omitempty"`
	Todo         string           `json:"todo,omitempty"`
	OnlyThisTool bool             `json:"only_this_function,omitempty"`
	Missing      []string         `json:"missing_fields,omitempty"`
	Issues       []issueWords     `json:"issues,omitempty"`
	Candidates   []tool.Candidate `json:"candidates,omitempty"`
	Example      json.RawMessage  `json:"example,omitempty"`
	YouSent      json.RawMessage  `json:"you_sent,omitempty"`
	Question     string           `json:"question_for_the_user,omitempty"`
	RetryAfterMS int64            `json:"retry_after_ms,omitempty"`
	FailedChecks []checkWords     `json:"failed_checks,omitempty"`
	Rollback     string           `json:"rollback,omitempty"`
}

type failureWords struct {
	Code    tool.Failure `json:"code"`
	Reason  tool.Reason  `json:"reason,omitempty"`
	Message string       `json:"message"`
	Causes  []string     `json:"causes,omitempty"`
}

type issueWords struct {
	Path       string   `json:"path"`
	Message    string   `json:"message"`
	Type       string   `json:"expected_type,omitempty"`
	Allowed    []string `json:"allowed,omitempty"`
	Suggestion string   `json:"suggestion,omitempty"`
}

type checkWords struct {
	Check    string `json:"check"`
	Expected string `json:"expected,omitempty"`
	Observed string `json:"observed,omitempty"`
}

// Response renders a result as the response to the model's call: its status, the result or what failed, the hint with its issues,
// example and question, the checks that failed with what was observed, and a rollback in words. It is a JSON object of at most
// [MaxResponse] bytes.
func Response(r *tool.Result) json.RawMessage {
	out := response{Status: status(r)}
	for _, p := range r.Repairs[:min(len(r.Repairs), maxListed)] {
		out.Corrected = append(out.Corrected, fmt.Sprintf("%s: %s instead of %s", p.Path, clip(p.To, 100), clip(p.From, 100)))
	}
	if r.Error == nil {
		out.Result = fit(r.Result, MaxResponse/2)
		if v := r.Verification; v != nil {
			for _, c := range v.Checks[:min(len(v.Checks), maxListed)] {
				out.Verified = append(out.Verified, clip(c.Name, 100))
			}
		}
		return encode(out)
	}
	out.Failure = &failureWords{Code: r.Error.Code, Message: clip(r.Error.Message, 1000)}
	for c := r.Error.Cause; c != nil && len(out.Failure.Causes) < 4; c = c.Cause {
		if m := clip(c.Message, maxObserved); m != "" && m != out.Failure.Message && !slices.Contains(out.Failure.Causes, m) {
			out.Failure.Causes = append(out.Failure.Causes, m)
		}
	}
	var checks []tool.Check
	if r.Verification != nil {
		checks = r.Verification.Checks
	}
	out.FailedChecks = failedChecks(checks)
	if r.RetryHint != nil {
		out.hint(r.RetryHint.Fields(), checks)
	}
	return encode(out)
}

// status sorts results as a planner needs it.
func status(r *tool.Result) string {
	dispatched := slices.ContainsFunc(r.Attempts, func(a tool.AttemptRecord) bool { return a.Phase.Dispatched() })
	switch {
	case r.Error == nil && r.OK():
		return "success"
	case r.Error == nil, r.RetryHint != nil && r.RetryHint.Reason() == tool.ReasonOutcomeUnknown, r.RetryHint == nil && dispatched,
		r.RetryHint != nil && r.RetryHint.Reason() == tool.ReasonMalformedResponse:
		return "unknown"
	case dispatched:
		return "failed"
	}
	return "not_done"
}

// hint takes over what a RetryHint says.
func (out *response) hint(f tool.HintFields, checks []tool.Check) {
	out.Failure.Reason = f.Reason
	out.OnlyThisTool, out.Missing, out.Question, out.RetryAfterMS = f.RestrictToTool, f.MissingFields, f.ClarifyingQuestion, f.RetryAfterMS
	if f.Message != out.Failure.Message {
		out.Todo = clip(f.Message, 1000)
	}
	for _, i := range f.Issues[:min(len(f.Issues), maxListed)] {
		w := issueWords{Path: i.Path, Message: clip(i.Message, maxObserved), Type: i.ExpectedType, Suggestion: i.Suggestion}
		if len(i.Allowed) <= maxListed {
			w.Allowed = i.Allowed
		}
		out.Issues = append(out.Issues, w)
	}
	out.Candidates = f.Candidates[:min(len(f.Candidates), maxListed)]
	out.Example, out.YouSent = fit(f.ExampleInput, 4<<10), fit(f.PriorInput, 8<<10)
	if f.Rollback != nil {
		out.Rollback = RollbackWords(*f.Rollback, checks)
	}
}

func failedChecks(checks []tool.Check) []checkWords {
	var out []checkWords
	for _, c := range checks {
		if !c.Passed && len(out) < maxListed {
			out = append(out, checkWords{Check: clip(c.Name, 100), Expected: clip(c.Expected, maxObserved), Observed: clip(c.Observed, maxObserved)})
		}
	}
	return out
}

// RollbackWords tells a model of a rollback: that it was done, that the state is as before, and which of the checks failed with what was
// observed.
func RollbackWords(n tool.RollbackNotice, checks []tool.Check) string {
	var b strings.Builder
	if n.Performed {
		b.WriteString("1. A rollback was done: all that this call had changed is undone.")
		state := "as it was before this call"
		if n.RestoredTo != "" {
			state += " (" + clip(n.RestoredTo, maxObserved) + ")"
		}
		fmt.Fprintf(&b, " 2. The state is %s. Nothing of this call's work is there any more: do not take it for done.", state)
	} else {
		b.WriteString("1. No rollback was done: what this call changed may still be there.")
		if n.RestoredTo != "" {
			fmt.Fprintf(&b, " (%s)", clip(n.RestoredTo, maxObserved))
		}
		b.WriteString(" 2. The state may not be as it was before this call: look at it before you go on.")
	}
	var words []string
	for _, c := range failedChecks(checks) {
		w := c.Check
		if c.Expected != "" {
			w += ", expected " + c.Expected
		}
		if c.Observed != "" {
			w += ", observed " + c.Observed
		}
		words = append(words, w)
	}
	if len(words) == 0 {
		words = n.FailedChecks[:min(len(n.FailedChecks), maxListed)]
	}
	if len(words) == 0 {
		return b.String() + " 3. Which check failed is not known."
	}
	fmt.Fprintf(&b, " 3. These checks failed: %s.", strings.Join(words, "; "))
	return b.String()
}

// NotDone is the response to a call that was not made, and says why.
func NotDone(why string) json.RawMessage {
	return encode(response{Status: "not_done", Todo: clip(why, 1000)})
}

// UserAnswer is the response to [AskUser]: the user's answer, which is any JSON value.
func UserAnswer(answer json.RawMessage) json.RawMessage {
	if !json.Valid(answer) {
		answer = quote(string(answer))
	}
	b, err := json.Marshal(map[string]json.RawMessage{"status": json.RawMessage(`"success"`), "answer": fit(answer, MaxResponse/2)})
	if err != nil { // valid JSON always marshals
		return NotDone("The answer cannot be passed on.")
	}
	return b
}

// NoAnswer is the response to [AskUser] when there will be no answer: it expired, or the user declined.
func NoAnswer(why string) json.RawMessage { return NotDone("The user gave no answer. " + why) }

func encode(r response) json.RawMessage {
	b, err := json.Marshal(r)
	if err == nil && len(b) > MaxResponse { // what is left too long is not needed for the next step
		r.Example, r.YouSent, r.Candidates, r.Verified, r.Corrected = nil, nil, nil, nil, nil
		b, err = json.Marshal(r)
	}
	if err != nil || len(b) > MaxResponse {
		code := tool.MalformedResponse
		if r.Failure != nil {
			code = r.Failure.Code
		}
		b, _ = json.Marshal(response{Status: r.Status, Failure: &failureWords{Code: code, Message: "What there is to say of this call does not fit in here."}, Rollback: clip(r.Rollback, 4<<10)})
	}
	return b
}

// fit shortens a JSON value to at most limit bytes, by cutting its longest texts and lists.
func fit(raw json.RawMessage, limit int) json.RawMessage {
	if len(raw) == 0 || !json.Valid(raw) {
		return nil
	}
	if len(raw) <= limit {
		return raw
	}
	v := value(raw)
	for most := limit / 2; most >= 64; most /= 2 {
		b, err := json.Marshal(shorten(v, most, max(5, most/100)))
		if err == nil && len(b) <= limit {
			return b
		}
	}
	return quote(fmt.Sprintf("%d bytes, too long to show", len(raw)))
}

// shorten cuts texts to most bytes and lists to few elements, and says how much is gone.
func shorten(v any, most, few int) any {
	switch x := v.(type) {
	case string:
		if len(x) > most {
			return fmt.Sprintf("%s (cut: %d characters in all)", clip(x, most), utf8.RuneCountInString(x))
		}
	case []any:
		var out []any
		for _, e := range x[:min(len(x), few)] {
			out = append(out, shorten(e, most, few))
		}
		if len(x) > few {
			out = append(out, fmt.Sprintf("(cut: %d elements in all)", len(x)))
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			out[k] = shorten(e, most, few)
		}
		return out
	}
	return v
}

func quote(s string) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil { // a string always marshals
		return json.RawMessage(`""`)
	}
	return b
}
