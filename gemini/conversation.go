package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genai"
)

// Role says who speaks.
type Role string

// The roles.
const (
	RoleUser  Role = "user"
	RoleModel Role = "model"
)

// Message is one message of a conversation, as plain data.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
}

// Part is one part of a message: text, a function call, or the response to one.
type Part struct {
	Text string `json:"text,omitempty"`
	// Thought marks a text as the model's thought.
	Thought  bool              `json:"thought,omitempty"`
	Call     *FunctionCall     `json:"call,omitempty"`
	Response *FunctionResponse `json:"response,omitempty"`
	// Signature is the model's thought signature. It has to go back with its part as it came, otherwise the service refuses the
	// conversation.
	Signature []byte `json:"signature,omitempty"`
}

// FunctionCall is a call that the model made.
type FunctionCall struct {
	// ID is unique in the conversation.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Args is an object, as the model wrote it: numbers keep all their digits.
	Args json.RawMessage `json:"args"`
}

// FunctionResponse answers a call; see [Response].
type FunctionResponse struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Response is an object.
	Response json.RawMessage `json:"response"`
}

// UserText is a message of the user's.
func UserText(text string) Message { return Message{Role: RoleUser, Parts: []Part{{Text: text}}} }

// Calls lists the function calls of a message, in order.
func (m Message) Calls() []FunctionCall {
	var out []FunctionCall
	for _, p := range m.Parts {
		if p.Call != nil {
			out = append(out, *p.Call)
		}
	}
	return out
}

// Text is the text of a message, without thoughts.
func (m Message) Text() string {
	var b strings.Builder
	for _, p := range m.Parts {
		if !p.Thought {
			b.WriteString(p.Text)
		}
	}
	return strings.TrimSpace(b.String())
}

// Answer is the message that answers all function calls of a model's message, in order, as the service demands: responses are found by
// the id of their call. A call without one is answered with "not_done".
func Answer(m Message, responses map[string]json.RawMessage) Message {
	out := Message{Role: RoleUser}
	for _, c := range m.Calls() {
		r := responses[c.ID]
		if len(r) == 0 {
			r = NotDone("The call was not made.")
		}
		out.Parts = append(out.Parts, Part{Response: &FunctionResponse{ID: c.ID, Name: c.Name, Response: r}})
	}
	return out
}

// received reads a model's message. body is the answer as it came: the arguments of calls are taken from it, because genai has made
// floats of their numbers.
func received(c *genai.Content, body []byte) (Message, error) {
	m := Message{Role: RoleModel}
	raw, err := rawParts(body)
	if err != nil || len(raw) != len(c.Parts) {
		return m, errors.New("its answer cannot be read")
	}
	for i, p := range c.Parts {
		if p == nil {
			continue
		}
		part := Part{Text: p.Text, Thought: p.Thought, Signature: p.ThoughtSignature}
		if p.FunctionCall != nil {
			args := raw[i].FunctionCall.Args
			if len(args) == 0 || string(args) == "null" {
				args = json.RawMessage(`{}`)
			}
			if !bytes.HasPrefix(args, []byte("{")) {
				return m, fmt.Errorf("the arguments of %s are not an object", p.FunctionCall.Name)
			}
			var compact bytes.Buffer
			if err := json.Compact(&compact, args); err != nil {
				return m, err
			}
			part.Call = &FunctionCall{ID: p.FunctionCall.ID, Name: p.FunctionCall.Name, Args: compact.Bytes()}
		}
		if part.Call == nil && part.Text == "" && len(part.Signature) == 0 {
			continue // code that was run, or anything else that was not asked for
		}
		m.Parts = append(m.Parts, part)
	}
	return m, nil
}

type rawPart struct {
	FunctionCall struct {
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
}

func rawParts(body []byte) ([]rawPart, error) {
	var w struct {
		Candidates []struct {
			Content struct {
				Parts []rawPart `json:"parts"`
			} `json:"content"`
		} `json:"candidates"`
	}
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, err
	}
	if len(w.Candidates) == 0 {
		return nil, errors.New("no candidate")
	}
	return w.Candidates[0].Content.Parts, nil
}

// contents renders a conversation for the service. Messages of one role that follow each other become one; parts without data, which
// the service refuses, are left out.
func contents(messages []Message) ([]*genai.Content, error) {
	var out []*genai.Content
	for _, m := range messages {
		c := &genai.Content{Role: string(m.Role)}
		for _, p := range m.Parts {
			part := &genai.Part{Text: p.Text, Thought: p.Thought, ThoughtSignature: p.Signature}
			switch {
			case p.Call != nil:
				args, err := object(p.Call.Args)
				if err != nil {
					return nil, fmt.Errorf("the arguments of the call %s of %s: %w", p.Call.ID, p.Call.Name, err)
				}
				part.FunctionCall = &genai.FunctionCall{ID: p.Call.ID, Name: p.Call.Name, Args: args}
			case p.Response != nil:
				response, err := object(p.Response.Response)
				if err != nil {
					return nil, fmt.Errorf("the response to the call %s of %s: %w", p.Response.ID, p.Response.Name, err)
				}
				part.FunctionResponse = &genai.FunctionResponse{ID: p.Response.ID, Name: p.Response.Name, Response: response}
			case p.Text == "":
				continue
			}
			c.Parts = append(c.Parts, part)
		}
		if len(c.Parts) == 0 {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Role == c.Role {
			out[n-1].Parts = append(out[n-1].Parts, c.Parts...)
			continue
		}
		out = append(out, c)
	}
	return out, nil
}

func object(raw json.RawMessage) (map[string]any, error) {
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil || m == nil {
		return nil, errors.New("it is not a JSON object")
	}
	return m, nil
}
