package planner

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"toolsvc/tool"
)

// Asking is all that a question is made from.
type Asking struct {
	ID    string            `json:"id"`
	Kind  tool.QuestionKind `json:"kind"`
	RunID string            `json:"run_id"`
	// Step that waits, and its Number; no step when a planner asks.
	Step   *Step `json:"step,omitempty"`
	Number int   `json:"number,omitempty"`
	Steps  int   `json:"steps,omitempty"`
	// Failure is what is asked about, Message what is known of it.
	Failure    tool.Failure     `json:"failure,omitempty"`
	Message    string           `json:"message,omitempty"`
	Candidates []tool.Candidate `json:"candidates,omitempty"`
	// Text is the planner's own question.
	Text     string    `json:"text,omitempty"`
	Language string    `json:"language"`
	At       time.Time `json:"at"`
	Expires  time.Time `json:"expires"`
}

// callIDOf makes the identifier of a call that a planner asked for, the same on every try of its turn.
func callIDOf(runID string, turn int, id string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%s", runID, turn, id))
	return "c_" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16]))
}

// questionID makes the identifier of a run's n-th question, the same on every replay.
func questionID(k tool.QuestionKind, runID string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", k, runID, n))
	prefix := "q_"
	if k == tool.AskApproval {
		prefix = "a_"
	}
	return prefix + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16]))
}

// Schemas of the answers that are not payloads.
var (
	approvalSchema = json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"approved":{"type":"boolean","title":"Approve","description":"Whether the call may be made with exactly these arguments"},"digest":{"type":"string","description":"The digest of the question"}},"required":["approved"],"additionalProperties":false}`)
	outcomeSchema  = json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"happened":{"type":"boolean","title":"It happened","description":"Whether the action had its effect"}},"required":["happened"],"additionalProperties":false}`)
	textSchema     = json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"text":{"type":"string","title":"Answer","minLength":1,"maxLength":10000}},"required":["text"],"additionalProperties":false}`)
)

// newQuestion words a question. spec is nil when a planner asks.
func newQuestion(spec *tool.Spec, a Asking) tool.Question {
	q := tool.Question{ID: a.ID, Kind: a.Kind, RunID: a.RunID, Text: a.Text, AskedAt: a.At.UTC(), ExpiresAt: a.Expires.UTC()}
	if a.Step == nil || spec == nil {
		q.Schema = textSchema
		return q
	}
	spec = spec.Concealing(a.Step.Concealed...)
	q.CallID, q.Tool = a.Step.CallID, a.Step.Tool
	switch a.Kind {
	case tool.AskApproval:
		q.Reason, q.Digest, q.Schema = tool.ReasonConfirmationRequired, a.Step.Digest, approvalSchema
		q.PriorInput = spec.Redact(a.Step.Arguments)
		q.Text = fmt.Sprintf("%s (%s)", a.Step.Confirm, a.Step.Title)
	case tool.AskOutcome:
		q.Reason, q.Schema = tool.ReasonOutcomeUnknown, outcomeSchema
		q.PriorInput = spec.Redact(a.Step.Arguments)
		q.Text = fmt.Sprintf("Did this happen: %s? %s", a.Step.Title, a.Message)
	default:
		q.Kind = tool.AskArguments
		q.RestrictToTool = true
		q.Schema, q.ExampleInput = spec.PayloadSchema, spec.Example
		payload, issues := []byte(a.Step.Arguments), tool.Issues(nil)
		if d := a.Step.Draft; d != nil {
			payload, issues = d.Payload, d.Issues
		}
		if len(issues) > 0 {
			h := tool.HintArguments(spec, issues, payload).Fields()
			q.Reason, q.MissingFields, q.Issues, q.PriorInput, q.Text = h.Reason, h.MissingFields, h.Issues, h.PriorInput, h.ClarifyingQuestion
			break
		}
		h := tool.HintTarget(spec, tool.ReasonAmbiguousTarget, a.Message, a.Candidates, payload).Fields()
		q.Reason, q.Candidates, q.PriorInput, q.Text = h.Reason, h.Candidates, h.PriorInput, h.ClarifyingQuestion
	}
	return q
}

// Reply is an accepted answer.
type Reply struct {
	QuestionID string `json:"question_id"`
	// By says who answered, as the surface knows it.
	By string `json:"by,omitempty"`
	// Step is the corrected call, for AskArguments.
	Step     *Step  `json:"step,omitempty"`
	Approved bool   `json:"approved,omitempty"`
	Happened bool   `json:"happened,omitempty"`
	Text     string `json:"text,omitempty"`
}

// parseAnswer decodes an answer that is not a payload. The issues are those of the answer.
func parseAnswer(k tool.QuestionKind, answer []byte, digest string) (Reply, tool.Issues) {
	var a struct {
		Approved *bool   `json:"approved"`
		Digest   string  `json:"digest"`
		Happened *bool   `json:"happened"`
		Text     *string `json:"text"`
	}
	dec := json.NewDecoder(bytes.NewReader(answer))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a); err != nil || dec.More() {
		return Reply{}, tool.Issues{{Constraint: tool.ConstraintSyntax, ExpectedType: "object", Offset: dec.InputOffset(),
			Message: "The answer must be a JSON object like " + exampleAnswer(k) + "."}}
	}
	missing := func(field, typ string) tool.Issues {
		return tool.Issues{{Path: "/" + field, Constraint: "required", ExpectedType: typ, Message: fmt.Sprintf("The answer needs %s; send an object like %s.", field, exampleAnswer(k))}}
	}
	switch k {
	case tool.AskApproval:
		if a.Approved == nil {
			return Reply{}, missing("approved", "boolean")
		}
		if *a.Approved && a.Digest != digest {
			return Reply{}, tool.Issues{{Path: "/digest", Constraint: "const", Limit: digest, ExpectedType: "string", Got: a.Digest,
				Message: "An approval has to repeat the digest of the question, because it holds for exactly these arguments."}}
		}
		return Reply{Approved: *a.Approved}, nil
	case tool.AskOutcome:
		if a.Happened == nil {
			return Reply{}, missing("happened", "boolean")
		}
		return Reply{Happened: *a.Happened}, nil
	}
	if a.Text == nil || strings.TrimSpace(*a.Text) == "" {
		return Reply{}, missing("text", "string")
	}
	if n := utf8.RuneCountInString(*a.Text); n > 10000 {
		return Reply{}, tool.Issues{{Path: "/text", Constraint: "maxLength", Limit: 10000, ExpectedType: "string", Message: fmt.Sprintf("The text has %d characters; at most 10000 are taken.", n)}}
	}
	return Reply{Text: *a.Text}, nil
}

func exampleAnswer(k tool.QuestionKind) string {
	switch k {
	case tool.AskApproval:
		return `{"approved": true, "digest": "sha256:…"}`
	case tool.AskOutcome:
		return `{"happened": true}`
	}
	return `{"text": "…"}`
}

// merge applies an answer to a payload as a JSON merge patch (RFC 7396): fields of the answer replace those of the payload, objects are
// merged, null removes. Numbers keep their digits. A payload that is no JSON object is replaced as a whole.
func merge(payload, answer []byte) ([]byte, error) {
	into, err := decodeExactly(payload)
	if _, ok := into.(map[string]any); err != nil || !ok {
		into = map[string]any{}
	}
	patch, err := decodeExactly(answer)
	if err != nil {
		return nil, err
	}
	return json.Marshal(mergePatch(into, patch))
}

func mergePatch(into, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	m, ok := into.(map[string]any)
	if !ok {
		m = map[string]any{}
	}
	for k, v := range p {
		if v == nil {
			delete(m, k)
			continue
		}
		m[k] = mergePatch(m[k], v)
	}
	return m
}

func decodeExactly(text []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	err = dec.Decode(&v)
	return v, err
}

// personRepairs records what a person's answer changed in a payload, one entry for each field of the answer.
func personRepairs(spec *tool.Spec, payload, answer []byte) []tool.Repair {
	before, _ := decodeExactly(spec.Redact(payload)) //nolint:errcheck // what is not JSON has no fields
	after, err := decodeExactly(spec.Redact(answer))
	if err != nil {
		return nil
	}
	was, _ := before.(map[string]any)
	now, _ := after.(map[string]any)
	var rs []tool.Repair
	for k, v := range now {
		r := tool.Repair{Path: "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(k), Rule: "answered", Tier: "person"}
		if old, ok := was[k]; ok {
			r.From = shortJSON(old)
		}
		r.To = shortJSON(v)
		rs = append(rs, r)
	}
	slices.SortFunc(rs, func(a, b tool.Repair) int { return strings.Compare(a.Path, b.Path) })
	return rs
}

func shortJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	if len(text) > 128 {
		return strings.ToValidUTF8(string(text[:125]), "") + "…"
	}
	return string(text)
}
