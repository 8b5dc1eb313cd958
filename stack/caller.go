package stack

//lint:file-ignore SA1019 Sampling is deprecated since MCP 2026-07-28, with nothing in its place; until it is gone, it is how a client offers its model.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/executors/browser/vision"
	"toolsvc/gemini"
	"toolsvc/planner"
	"toolsvc/repair"
)

// CallerModel is the model of whoever makes a call, which an MCP client offers by sampling. An mcp.Surface is one. It lives in the process
// of the surface: a call that is worked on elsewhere, or whose client has gone, has none.
type CallerModel interface {
	// Offers reports whether the client that waits for the call offers a model; for any call at all when the call is "".
	Offers(callID string) bool
	// Sample puts a question to it. A refusal, a client that has gone, and the end of ctx are errors.
	Sample(ctx context.Context, callID string, q *sdk.CreateMessageParams) (*sdk.CreateMessageResult, error)
}

// Bounds of what a caller's model is asked.
const (
	callerTimeout   = 60 * time.Second // somebody may have to allow it
	callerMaxTokens = 2048
)

// callersModel asks the caller's model what Gemini would be asked, in the same words, and trusts its answers as little. It takes the place
// of the Gemini service below the client: a question becomes a sampling request, and so keeps its prompt, its schema, its bounds and the
// checks of its answer.
type callersModel struct {
	of     CallerModel
	client *gemini.Client
	eyes   *gemini.Grounder
}

func newCallersModel(of CallerModel) (*callersModel, error) {
	if of == nil {
		return nil, nil
	}
	m := &callersModel{of: of}
	// The address is never reached: the transport answers by itself.
	c, err := gemini.New(gemini.Options{APIKey: "none", BaseURL: "http://127.0.0.1", Model: "caller", Called: "The client's model", HTTPClient: &http.Client{Transport: sampling{of}},
		Timeout: callerTimeout, MaxOutputTokens: callerMaxTokens, Retries: -1})
	if err != nil {
		return nil, fmt.Errorf("set up the callers' models: %w", err)
	}
	m.client, m.eyes = c, c.Grounder(gemini.GroundOptions{})
	return m, nil
}

// Available implements planner.Sometimes.
func (m *callersModel) Available(ctx context.Context) bool {
	_, call := planner.CallOf(ctx)
	return call != "" && m.of.Offers(call)
}

var errNoCaller = fmt.Errorf("whoever made the call offers no model, or has gone: %w", planner.ErrNoModel)

// Repair implements repair.Repairer.
func (m *callersModel) Repair(ctx context.Context, in repair.RepairRequest) (repair.RepairReply, error) {
	if !m.Available(ctx) {
		return repair.RepairReply{}, errNoCaller
	}
	ctx, by := asking(ctx)
	reply, err := repairer{m.client}.Repair(ctx, in)
	reply.Model = by.model
	return reply, by.explain(err)
}

// Verify implements planner.Verifier.
func (m *callersModel) Verify(ctx context.Context, r gemini.VerifyRequest) (gemini.Opinion, error) {
	ctx, by := asking(ctx)
	o, err := m.client.Verify(ctx, r)
	if by.err == nil {
		o.Model = by.model
	}
	return o, by.explain(err)
}

// asked is what became of a question.
type asked struct {
	model string // that answered
	err   error  // why none did
}

type askedKey struct{}

func asking(ctx context.Context) (context.Context, *asked) {
	by := &asked{}
	return context.WithValue(ctx, askedKey{}, by), by
}

// explain says that there was no model, where there was none.
func (by *asked) explain(err error) error {
	if err != nil && by.err != nil {
		return fmt.Errorf("the caller's model did not answer: %w: %w", by.err, planner.ErrNoModel)
	}
	return err
}

// callerEyes are a seer whose model is that of the caller, where there is one.
type callerEyes struct {
	words vision.Grounder
	model *callersModel
}

// Name implements vision.Grounder.
func (e callerEyes) Name() string { return e.words.Name() }

// Available implements vision.Grounder.
func (e callerEyes) Available() error {
	err := e.words.Available()
	if err != nil && e.model.of.Offers("") {
		return nil
	}
	return err
}

func (e callerEyes) with(ctx context.Context) vision.Grounder {
	if e.model.Available(ctx) {
		return seer{words: e.words, model: e.model.eyes}
	}
	return e.words
}

// Locate implements vision.Grounder.
func (e callerEyes) Locate(ctx context.Context, p vision.Screenshot, q vision.Query) ([]vision.Candidate, error) {
	return e.with(ctx).Locate(ctx, p, q)
}

// Read implements vision.Grounder.
func (e callerEyes) Read(ctx context.Context, p vision.Screenshot, region vision.Rect) (string, error) {
	return e.with(ctx).Read(ctx, p, region)
}

// sampling answers requests to the Gemini API by the model of the caller of the request's context.
type sampling struct{ of CallerModel }

// The part of the Gemini API's messages that package gemini uses without tools.
type (
	generate struct {
		System   generated   `json:"systemInstruction"`
		Contents []generated `json:"contents"`
		Config   struct {
			MaxOutputTokens int64           `json:"maxOutputTokens"`
			Schema          json.RawMessage `json:"responseJsonSchema"`
		} `json:"generationConfig"`
	}
	generated struct {
		Role  string `json:"role,omitempty"`
		Parts []part `json:"parts"`
	}
	part struct {
		Text  string `json:"text,omitempty"`
		Image *blob  `json:"inlineData,omitempty"`
	}
	blob struct {
		Data []byte `json:"data"`
		MIME string `json:"mimeType"`
	}
)

// RoundTrip implements http.RoundTripper.
func (s sampling) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err = errors.Join(err, r.Body.Close()); err != nil {
		return nil, err
	}
	var in generate
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("read the question: %w", err)
	}
	q := in.question()
	_, call := planner.CallOf(r.Context())
	by, ok := r.Context().Value(askedKey{}).(*asked)
	if !ok {
		by = &asked{}
	}
	res, err := s.of.Sample(r.Context(), call, q)
	if err != nil {
		by.err = err
		return nil, err
	}
	text, ok := res.Content.(*sdk.TextContent)
	if !ok {
		by.err = errors.New("it answered without text")
		return nil, by.err
	}
	by.model = cut(res.Model, 100)
	answer, err := json.Marshal(in.answer(text.Text, res.StopReason))
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(answer)), ContentLength: int64(len(answer))}, nil
}

// question is the same as a sampling request. Sampling knows no schemas, so that of the answer is told in words; a message has one content.
func (in generate) question() *sdk.CreateMessageParams {
	q := &sdk.CreateMessageParams{MaxTokens: in.Config.MaxOutputTokens, IncludeContext: "none"}
	var system []string
	for _, p := range in.System.Parts {
		system = append(system, p.Text)
	}
	if len(in.Config.Schema) > 0 {
		system = append(system, "Answer with one JSON object that keeps to this JSON Schema, and with nothing else:\n"+string(in.Config.Schema))
	}
	q.SystemPrompt = strings.Join(system, "\n")
	for _, c := range in.Contents {
		role := sdk.Role("user")
		if c.Role == "model" {
			role = "assistant"
		}
		for _, p := range c.Parts {
			m := &sdk.SamplingMessage{Role: role, Content: &sdk.TextContent{Text: p.Text}}
			if p.Image != nil {
				m.Content = &sdk.ImageContent{Data: p.Image.Data, MIMEType: p.Image.MIME}
			}
			q.Messages = append(q.Messages, m)
		}
	}
	return q
}

// bytesPerToken estimates what sampling does not count, on the high side.
const bytesPerToken = 3

// answer is what the Gemini API would have answered.
func (in generate) answer(text, stopped string) any {
	if len(in.Config.Schema) > 0 { // models like to wrap JSON in words
		if from, to := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}'); from >= 0 && to > from {
			text = text[from : to+1]
		}
	}
	reason := "STOP"
	if stopped == "maxTokens" {
		reason = "MAX_TOKENS"
	}
	var size int
	for _, c := range append(in.Contents, in.System) {
		for _, p := range c.Parts {
			size += len(p.Text)
			if p.Image != nil {
				size += bytesPerToken * imageTokens
			}
		}
	}
	return map[string]any{
		"candidates":    []any{map[string]any{"content": generated{Role: "model", Parts: []part{{Text: text}}}, "finishReason": reason}},
		"usageMetadata": map[string]any{"promptTokenCount": (size + len(in.Config.Schema)) / bytesPerToken, "candidatesTokenCount": (len(text) + bytesPerToken - 1) / bytesPerToken},
	}
}

// imageTokens is what a picture of the size that is sent costs about.
const imageTokens = 1600

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
