package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genai"

	"toolsvc/tool"
)

// RepairRequest asks for a corrected payload.
type RepairRequest struct {
	Spec *tool.Spec
	// Payload is the latest attempt, as it came; earlier ones are not shown.
	Payload []byte
	// Issues are all violations that the generated decoder found in it.
	Issues tool.Issues
	// Refusal says in one sentence why the model's last correction of this payload was refused; "" on the first attempt.
	Refusal string
	// MaxTokens bounds what the repair may use, question and answer together; 0 for no bound. Where the estimate of the question alone is
	// above it, nothing is asked.
	MaxTokens int
}

// RepairReply is the model's correction. The caller validates it with the generated decoder, as any payload.
type RepairReply struct {
	Payload json.RawMessage `json:"payload"`
	Usage   Usage           `json:"usage"`
	Model   string          `json:"model"`
}

// Repair asks for a corrected payload. The model is told to change only what an issue names and to leave out what it cannot know, and
// the schema of its answer requires no field, so that nothing forces it to make something up. Secrets of the payload are not sent: they
// are replaced, and put back into the answer. A payload that may hold secrets and cannot be read as JSON is not sent at all.
//
// Its errors are *[tool.Failed], and wrap [ErrBudget], [ErrUnchanged] or what [Client.PlanTurn]'s do.
func (c *Client) Repair(ctx context.Context, r RepairRequest) (RepairReply, error) {
	what := fmt.Sprintf("%s did not repair the payload of %s", c.called, r.Spec.ID)
	reply := RepairReply{Model: c.model}
	schema, err := optional(r.Spec.PayloadSchema)
	if err != nil {
		return reply, failed(tool.Internal, what, ErrRejected, "%s.", err)
	}
	shown, secrets, err := hide(r.Spec, r.Payload, r.Issues)
	if err != nil {
		return reply, failed(tool.PolicyDenied, what, ErrRefused, "%s.", err)
	}
	text, err := repairText(r, shown)
	if err != nil {
		return reply, failed(tool.Internal, what, ErrRejected, "%s.", err)
	}
	q := question{what: what, purpose: purposeRepair, system: repairInstruction, schema: schema, brief: true,
		contents: []*genai.Content{{Role: genai.RoleUser, Parts: []*genai.Part{{Text: text}}}}}
	if r.MaxTokens > 0 {
		if q.maxTokens = r.MaxTokens - estimate(len(q.system)+len(text)+len(schema)); q.maxTokens < 1 {
			return reply, failed(tool.PolicyDenied, what, ErrBudget, "asking would use more than the %d tokens that are left for it.", r.MaxTokens)
		}
	}
	m, usage, err := c.ask(ctx, q)
	reply.Usage = usage
	if err != nil {
		return reply, err
	}
	payload := json.RawMessage(unfence(m.Text()))
	if len(payload) > tool.MaxPayload || !json.Valid(payload) || !bytes.HasPrefix(payload, []byte("{")) {
		return reply, failed(tool.MalformedResponse, what, ErrMalformed, "its answer is not one JSON object.")
	}
	if payload, err = secrets.restore(payload); err != nil {
		return reply, failed(tool.MalformedResponse, what, ErrMalformed, "%s.", err)
	}
	if same(payload, r.Payload) {
		return reply, failed(tool.MalformedResponse, what, ErrUnchanged, "it gave the payload back unchanged.")
	}
	reply.Payload = payload
	return reply, nil
}

const repairInstruction = `You correct the JSON payload of one function call so that it keeps to its schema.

Rules:
1. Change only what an issue names. Everything else stays as it is, to the letter.
2. Keep what the payload means. Move a value to the right field, write it in the right type or form, choose the allowed value that says the same.
3. Never make a value up. When a required value is neither in the payload nor follows from it without doubt, leave its field out: somebody will be asked for it. The example shows the form only; its values are not the payload's.
4. Texts such as "[secret 1]" stand for secrets. Keep them exactly as they are, each in the field where it belongs.
5. Answer with the whole corrected payload, as one JSON object.

` + untrusted

// repairText is the question. The payload may hold what somebody else wrote, so it is fenced.
func repairText(r RepairRequest, payload []byte) (string, error) {
	issues := slices.Clone(r.Issues[:min(len(r.Issues), tool.MaxIssues)])
	list, err := json.Marshal(issues)
	if err != nil {
		return "", fmt.Errorf("the issues cannot be written: %w", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Function: %s\nWhat it does: %s\n", r.Spec.ID, r.Spec.Description)
	if schema := bytes.TrimSpace(r.Spec.PayloadSchema); len(schema) > 0 {
		var compact bytes.Buffer
		if err := json.Compact(&compact, schema); err != nil {
			return "", fmt.Errorf("the schema cannot be written: %w", err)
		}
		fmt.Fprintf(&b, "Schema: %s\n", compact.Bytes())
	}
	if len(r.Spec.Example) > 0 {
		fmt.Fprintf(&b, "Example of a valid payload: %s\n", r.Spec.Example)
	}
	b.WriteString(fenced("issues", string(list)) + "\n" + fenced("payload", string(payload)) + "\n")
	if r.Refusal != "" {
		fmt.Fprintf(&b, "Your last correction of this payload was refused: %s\n", clip(r.Refusal, 1000))
	}
	return b.String(), nil
}

// estimate is the number of tokens of a text, on the high side: three bytes a token.
func estimate(bytes int) int { return (bytes + 2) / 3 }

// same reports whether two payloads are the same value.
func same(a, b []byte) bool {
	x, errX := canonical(a)
	y, errY := canonical(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

func canonical(b []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v) // sorts keys
}
