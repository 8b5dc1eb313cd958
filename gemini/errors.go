package gemini

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/genai"

	"toolsvc/tool"
)

// What the errors of this package wrap; all but ErrNoKey come inside a *[tool.Failed].
var (
	// ErrNoKey: there is no API key, so there is no model.
	ErrNoKey = errors.New("no Gemini API key is set: set GEMINI_API_KEY to use the model")
	// ErrUnauthorized: the service does not accept the key.
	ErrUnauthorized = errors.New("the API key is not accepted")
	// ErrRejected: the service calls the request wrong. It is our mistake, or one of the model's name.
	ErrRejected = errors.New("the request is rejected")
	// ErrBlocked: the service refused the prompt before the model saw it.
	ErrBlocked = errors.New("the prompt is blocked")
	// ErrRefused: the answer is withheld, by a safety filter for example.
	ErrRefused = errors.New("the answer is withheld")
	// ErrTruncated: the answer reached the limit of tokens.
	ErrTruncated = errors.New("the answer is cut off")
	// ErrEmpty: there is no answer in the answer.
	ErrEmpty = errors.New("the answer is empty")
	// ErrMalformed: the answer is not what was asked for.
	ErrMalformed = errors.New("the answer is malformed")
	// ErrUnchanged: a repair came back as it was.
	ErrUnchanged = errors.New("the payload came back unchanged")
	// ErrBudget: asking would cost more than the caller allows.
	ErrBudget = errors.New("the budget does not allow it")
)

// maxWords bounds what is quoted of the service's own words, in bytes.
const maxWords = 300

// failed makes the error of a call. what was tried is said first: "Gemini did not plan the next step".
func failed(f tool.Failure, what string, kind error, format string, args ...any) *tool.Failed {
	return &tool.Failed{Failure: f, Message: what + ": " + fmt.Sprintf(format, args...), Cause: kind}
}

// failure turns an error of genai, or of the connection, into one of ours. Nothing of the original is kept but its words, with the key
// taken out, because its text may hold anything.
func (c *Client) failure(ctx context.Context, what string, x *exchange, err error) *tool.Failed {
	switch {
	case errors.Is(err, errTooLarge):
		return failed(tool.MalformedResponse, what, ErrMalformed, "its answer is larger than %d MB.", maxAnswer>>20)
	case errors.Is(ctx.Err(), context.Canceled):
		return failed(tool.Cancelled, what, context.Canceled, "the call was cancelled.")
	case errors.Is(ctx.Err(), context.DeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return failed(tool.Timeout, what, context.DeadlineExceeded, "there was no answer in time.")
	}
	var api genai.APIError
	if errors.As(err, &api) {
		return c.refused(what, x, api)
	}
	if x.status >= 200 && x.status < 300 {
		return failed(tool.MalformedResponse, what, ErrMalformed, "its answer cannot be read.")
	}
	return failed(tool.ToolUnavailable, what, errTemporary, "%s cannot be reached: %s.", c.host, c.scrub(innermost(err)))
}

// errTemporary marks what may pass by itself.
var errTemporary = errors.New("the service is not available")

// refused sorts an HTTP error.
func (c *Client) refused(what string, x *exchange, api genai.APIError) *tool.Failed {
	words := c.scrub(api.Message)
	after := retryAfter(api.Details)
	if after == 0 {
		after = x.retryAfter
	}
	code := api.Code
	if x.status >= 400 {
		code = x.status // the body may say anything
	}
	switch {
	case code == http.StatusTooManyRequests:
		f := failed(tool.RateLimited, what, errTemporary, "%s has had too many requests%s (%s).", c.model, wait(after), words)
		f.RetryAfter = after
		return f
	case code >= 500:
		f := failed(tool.ToolUnavailable, what, errTemporary, "the service is not available%s (%d: %s).", wait(after), code, words)
		f.RetryAfter = after
		return f
	case code == http.StatusUnauthorized, code == http.StatusForbidden, strings.Contains(api.Message, "API key not valid"), hasReason(api.Details, "API_KEY_INVALID"):
		return failed(tool.ToolUnavailable, what, ErrUnauthorized, "the API key is not accepted (%s). Check GEMINI_API_KEY.", words)
	case code == http.StatusNotFound:
		return failed(tool.ToolUnavailable, what, ErrRejected, "the model %s is not there (%s).", c.model, words)
	case code == http.StatusRequestTimeout:
		return failed(tool.Timeout, what, errTemporary, "the service gave up waiting (%s).", words)
	}
	return failed(tool.Internal, what, ErrRejected, "the request is rejected (%d: %s).", code, words)
}

func wait(after time.Duration) string {
	if after <= 0 {
		return ""
	}
	return fmt.Sprintf(" and asks to wait %s", after)
}

// retryAfter reads google.rpc.RetryInfo; 0 when there is none. It is bounded by a day.
func retryAfter(details []map[string]any) time.Duration {
	for _, d := range details {
		if t, _ := d["@type"].(string); strings.HasSuffix(t, "google.rpc.RetryInfo") {
			s, _ := d["retryDelay"].(string)
			if after, err := time.ParseDuration(s); err == nil && after > 0 {
				return min(after, 24*time.Hour)
			}
		}
	}
	return 0
}

// hasReason looks into google.rpc.ErrorInfo.
func hasReason(details []map[string]any, reason string) bool {
	for _, d := range details {
		if d["reason"] == reason {
			return true
		}
	}
	return false
}

// innermost is the text of the error at the bottom of the chain: "connection refused" without the URL that was called.
func innermost(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}

// scrub takes the key out of a text, and cuts the text.
func (c *Client) scrub(text string) string {
	if c.key != "" {
		text = strings.ReplaceAll(text, c.key, tool.Redacted)
	}
	return clip(strings.TrimSuffix(strings.Join(strings.Fields(text), " "), "."), maxWords)
}

// clip cuts s to at most n bytes at a rune's boundary, and marks the cut.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
