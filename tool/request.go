package tool

import (
	"crypto/rand"
	"encoding/json"
	"strings"
)

// MaxPayload bounds a payload, in bytes.
const MaxPayload = 1 << 20

// Request is one call as a caller makes it.
type Request struct {
	// CallID identifies the call; made by [NewCallID] when the caller gives none.
	CallID string `json:"call_id"`
	// RunID is the run that the call belongs to; "" for a run of its own.
	RunID string `json:"run_id,omitempty"`
	Tool  ID     `json:"tool"`
	// Arguments is the payload as it came, at most [MaxPayload] bytes.
	Arguments json.RawMessage `json:"arguments"`
	// IdempotencyKey makes a repeated request return the first one's result; "" for none.
	IdempotencyKey string `json:"idempotency_key,omitempty"`
	// Policy of the run that the call starts; nil is the default policy. A run that is there keeps its own.
	Policy *Policy `json:"policy,omitempty"`
}

// NewCallID makes an identifier of a call: "c_" and 26 random characters.
func NewCallID() string { return "c_" + strings.ToLower(rand.Text()) }

// NewRunID makes an identifier of a run: "r_" and 26 random characters.
func NewRunID() string { return "r_" + strings.ToLower(rand.Text()) }
