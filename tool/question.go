package tool

import (
	"crypto/rand"
	"encoding/json"
	"strings"
	"time"
)

// Status says where a call stands. A call that has ended has none: its result or error tells.
type Status string

// StatusNeedsInput: the call waits for the answer to its [Question]; it goes on when that is given, however long it takes.
const StatusNeedsInput Status = "needs_input"

// QuestionKind says what is asked.
type QuestionKind string

// The kinds of questions.
const (
	// AskArguments asks for what the payload lacks. The answer is an object that is merged into the payload (RFC 7396).
	AskArguments QuestionKind = "arguments"
	// AskApproval asks whether a call may be made with exactly these arguments. The answer approves or refuses.
	AskApproval QuestionKind = "approval"
	// AskOutcome asks what became of an action whose outcome no evidence decides. The answer is {"happened": true} or
	// {"happened": false}; neither makes it a success: the first looks again, the second allows another attempt.
	AskOutcome QuestionKind = "outcome"
	// AskFreely asks for a text; a planner's own question. The answer is {"text": "…"}.
	AskFreely QuestionKind = "text"
)

// Question is what a run waits for. It survives restarts, and can be answered from any surface.
type Question struct {
	// ID begins with "q_", of an approval with "a_".
	ID    string       `json:"id"`
	Kind  QuestionKind `json:"kind"`
	RunID string       `json:"run_id"`
	// CallID and Tool are those of the call that waits; "" when a planner asks.
	CallID string `json:"call_id,omitempty"`
	Tool   ID     `json:"tool,omitempty"`
	// Text is the question in words.
	Text string `json:"text"`
	// Reason says why it is asked.
	Reason        Reason      `json:"reason,omitempty"`
	MissingFields []string    `json:"missing_fields,omitempty"`
	Issues        Issues      `json:"issues,omitempty"`
	Candidates    []Candidate `json:"candidates,omitempty"`
	// Schema is a JSON Schema 2020-12 that every answer has to meet; forms are made from it.
	Schema       json.RawMessage `json:"schema,omitempty"`
	ExampleInput json.RawMessage `json:"example_input,omitempty"`
	// PriorInput is the payload so far; of an approval, the exact arguments. Secrets are redacted.
	PriorInput json.RawMessage `json:"prior_input,omitempty"`
	// Digest binds an approval to the tool and the exact arguments: "sha256:…".
	Digest string `json:"digest,omitempty"`
	// RestrictToTool: only this tool's call can follow.
	RestrictToTool bool      `json:"restrict_to_tool,omitempty"`
	AskedAt        time.Time `json:"asked_at"`
	ExpiresAt      time.Time `json:"expires_at"`
}

// NewQuestionID makes an identifier of a question of this kind.
func NewQuestionID(k QuestionKind) string {
	prefix := "q_"
	if k == AskApproval {
		prefix = "a_"
	}
	return prefix + strings.ToLower(rand.Text())
}
