package geminitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Reply is what the fake answers. The constructors make the usual ones; their fields may be changed afterwards.
type Reply struct {
	// Parts are the parts of the candidate's message.
	Parts []ReplyPart
	// Finish is the finish reason; "" means STOP. "-" leaves it out.
	Finish string
	// FinishMessage explains it.
	FinishMessage string
	// BlockReason refuses the prompt: there is no candidate then.
	BlockReason string
	// NoCandidates answers with usage only.
	NoCandidates bool
	// Status is the HTTP status of an error, 0 for none; Message explains it.
	Status  int
	Message string
	// RetryAfter is told in the error's google.rpc.RetryInfo; 0 leaves that out.
	RetryAfter time.Duration
	// Header is added to the response's.
	Header http.Header
	// RawBody, when not nil, is sent as the body of a 200, whatever it is.
	RawBody []byte
	// DropConnection closes the connection without an answer.
	DropConnection bool
	// CutAfter, when above 0, closes the connection after that many bytes of the body; a stream after that many events.
	CutAfter int
	// Wait, when set, holds the reply back until the channel is closed, the client goes away, or the server is closed.
	Wait <-chan struct{}
	// PromptTokens, OutputTokens and ThoughtTokens override the counts of usageMetadata where they are above 0.
	PromptTokens, OutputTokens, ThoughtTokens int
	// Unsigned leaves out the thought signature that the first function call gets otherwise.
	Unsigned bool
}

// ReplyPart is one part of a reply.
type ReplyPart struct {
	Text    string
	Thought bool
	Call    *FunctionCall
	// Signature overrides the thought signature.
	Signature []byte
}

// Text answers in words.
func Text(text string) Reply { return Reply{Parts: []ReplyPart{{Text: text}}} }

// JSON answers with v as JSON text, as a request with a response schema asks for. A string is taken as the text itself.
func JSON(v any) Reply {
	if s, ok := v.(string); ok {
		return Text(s)
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("geminitest: the reply cannot be written as JSON: %v", err)) // a mistake in the test's own code
	}
	return Text(string(b))
}

// Calls answers with function calls, several in parallel in the order given. The first one carries a thought signature.
func Calls(calls ...FunctionCall) Reply {
	var r Reply
	for i := range calls {
		r.Parts = append(r.Parts, ReplyPart{Call: &calls[i]})
	}
	return r
}

// Call makes a function call. args is anything that json.Marshal renders as an object; a [json.RawMessage] is sent as it is. The fake gives
// the call an id that is unique in this server, unless WithID gives one.
func Call(name string, args any) FunctionCall {
	b, err := json.Marshal(args)
	if err != nil {
		panic(fmt.Sprintf("geminitest: the arguments of %s cannot be written as JSON: %v", name, err))
	}
	return FunctionCall{ID: autoID, Name: name, Args: b}
}

// autoID is replaced by an id of the server's.
const autoID = "\x00"

// WithID sets the id; "" sends none, as models before Gemini 3 do.
func (c FunctionCall) WithID(id string) FunctionCall { c.ID = id; return c }

// Finish answers with a finish reason other than STOP: MAX_TOKENS, SAFETY, RECITATION, MALFORMED_FUNCTION_CALL, … Text may be "".
func Finish(reason, text string) Reply {
	r := Reply{Finish: reason}
	if text != "" {
		r.Parts = []ReplyPart{{Text: text}}
	}
	return r
}

// Blocked refuses the prompt: promptFeedback with the reason (SAFETY, OTHER, BLOCKLIST, PROHIBITED_CONTENT), and no candidate.
func Blocked(reason string) Reply { return Reply{BlockReason: reason} }

// Empty answers with no candidate at all.
func Empty() Reply { return Reply{NoCandidates: true} }

// Fail answers with an HTTP error in the service's format: 400, 401, 403, 404, 429, 500, 503, 504.
func Fail(status int, message string) Reply { return Reply{Status: status, Message: message} }

// After adds the time to wait to an error: google.rpc.RetryInfo, as the service sends it with 429 and 503.
func (r Reply) After(d time.Duration) Reply { r.RetryAfter = d; return r }

// Body answers 200 with a body that is sent as it is.
func Body(body string) Reply { return Reply{RawBody: []byte(body)} }

// Drop closes the connection without an answer.
func Drop() Reply { return Reply{DropConnection: true} }

// Cut sends only the first n bytes of the body (n events of a stream), then closes the connection.
func (r Reply) Cut(n int) Reply { r.CutAfter = n; return r }

// Until holds the reply back until done is closed.
func (r Reply) Until(done <-chan struct{}) Reply { r.Wait = done; return r }

// And appends the parts of another reply: words before calls, for example.
func (r Reply) And(more Reply) Reply {
	r.Parts = append(append([]ReplyPart(nil), r.Parts...), more.Parts...)
	return r
}

// Tokens sets the counts of usageMetadata.
func (r Reply) Tokens(prompt, output, thoughts int) Reply {
	r.PromptTokens, r.OutputTokens, r.ThoughtTokens = prompt, output, thoughts
	return r
}

// statusNames are the canonical codes of google.rpc by HTTP status.
var statusNames = map[int]string{400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ABORTED",
	413: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED", 499: "CANCELLED", 500: "INTERNAL", 501: "UNIMPLEMENTED", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED"}

// refusal renders an error reply.
func (r Reply) refusal(model string) *refusal {
	f := &refusal{code: r.Status, status: statusNames[r.Status], message: r.Message}
	if f.status == "" {
		f.status = "UNKNOWN"
	}
	if r.Status == http.StatusTooManyRequests {
		f.details = append(f.details, map[string]any{
			"@type": "type.googleapis.com/google.rpc.QuotaFailure",
			"violations": []any{map[string]any{"quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
				"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "quotaDimensions": map[string]string{"location": "global", "model": model}}},
		}, map[string]any{
			"@type": "type.googleapis.com/google.rpc.Help",
			"links": []any{map[string]string{"description": "Learn more about Gemini API quotas", "url": "https://ai.google.dev/gemini-api/docs/rate-limits"}},
		})
	}
	if r.RetryAfter > 0 {
		f.details = append(f.details, map[string]any{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": seconds(r.RetryAfter)})
	}
	return f
}

// seconds renders a duration as google.protobuf.Duration is in JSON, with no, three, six or nine digits: "2s", "0.500s".
func seconds(d time.Duration) string {
	digits := 9
	switch {
	case d%time.Second == 0:
		digits = 0
	case d%time.Millisecond == 0:
		digits = 3
	case d%time.Microsecond == 0:
		digits = 6
	}
	return fmt.Sprintf("%.*fs", digits, d.Seconds())
}
