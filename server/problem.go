package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	goahttp "goa.design/goa/v3/http"
	goa "goa.design/goa/v3/pkg"

	"toolsvc/gen/types"
	"toolsvc/planner"
)

// kind is a kind of problem. Its code never changes: clients match on it.
type kind struct {
	code   string
	title  string
	status int
	// retryAfter is how many seconds to wait before the same request; 0 when waiting does not help.
	retryAfter int
}

// The kinds of problems. Those of the upper half are in the design, so that gRPC knows them too.
var (
	kindInvalidParameter = kind{code: "invalid_parameter", title: "Invalid parameter", status: http.StatusBadRequest}
	kindUnknownTool      = kind{code: "unknown_tool", title: "Unknown tool", status: http.StatusNotFound}
	kindUnknownRun       = kind{code: "unknown_run", title: "Unknown run", status: http.StatusNotFound}
	kindRunEnded         = kind{code: "run_ended", title: "The run has ended", status: http.StatusConflict}
	kindPayloadTooLarge  = kind{code: "payload_too_large", title: "Payload too large", status: http.StatusRequestEntityTooLarge}
	kindRunFull          = kind{code: "run_full", title: "The run is full", status: http.StatusTooManyRequests, retryAfter: 1}
	kindTooManyCalls     = kind{code: "too_many_calls", title: "Too many calls at once", status: http.StatusTooManyRequests, retryAfter: 1}
	kindUnavailable      = kind{code: "unavailable", title: "Temporal is unavailable", status: http.StatusServiceUnavailable, retryAfter: 5}
	kindStopping         = kind{code: "unavailable", title: "toolsvc is stopping", status: http.StatusServiceUnavailable, retryAfter: 5}
	kindNoRoom           = kind{code: "unavailable", title: "No room to keep runs", status: http.StatusServiceUnavailable, retryAfter: 60}
	kindInterrupted      = kind{code: "interrupted", title: "Interrupted", status: http.StatusServiceUnavailable}
	kindInternal         = kind{code: "internal", title: "Internal fault", status: http.StatusInternalServerError}
	kindForbidden        = kind{code: "forbidden", title: "Forbidden", status: http.StatusForbidden}
	kindUnknownCall      = kind{code: "unknown_call", title: "Unknown call", status: http.StatusNotFound}
	kindUnknownArtifact  = kind{code: "unknown_artifact", title: "Unknown artifact", status: http.StatusNotFound}
	kindQuestionClosed   = kind{code: "question_closed", title: "The question is closed", status: http.StatusConflict}
	kindInvalidBody      = kind{code: "invalid_body", title: "Invalid body", status: http.StatusUnprocessableEntity}
	kindKeyReused        = kind{code: "key_reused", title: "Idempotency key reused", status: http.StatusUnprocessableEntity}
	kindTooManyStreams   = kind{code: "too_many_streams", title: "Too many streams at once", status: http.StatusTooManyRequests, retryAfter: 5}

	kindUnauthorized     = kind{code: "unauthorized", title: "Unauthorized", status: http.StatusUnauthorized}
	kindForeignHost      = kind{code: "foreign_host", title: "Foreign host", status: http.StatusForbidden}
	kindCrossOrigin      = kind{code: "cross_origin", title: "Cross-origin request", status: http.StatusForbidden}
	kindNotFound         = kind{code: "not_found", title: "Not found", status: http.StatusNotFound}
	kindMethodNotAllowed = kind{code: "method_not_allowed", title: "Method not allowed", status: http.StatusMethodNotAllowed}
	kindBodyTimeout      = kind{code: "body_timeout", title: "The body came too slowly", status: http.StatusRequestTimeout}
	kindBrokenBody       = kind{code: "broken_body", title: "The body broke off", status: http.StatusBadRequest}
	kindEncodedBody      = kind{code: "encoded_body", title: "Encoded body", status: http.StatusUnsupportedMediaType}
	kindNotReady         = kind{code: "not_ready", title: "Not ready", status: http.StatusServiceUnavailable, retryAfter: 5}
	kindClientGone       = kind{code: "client_gone", title: "The client went away", status: statusClientGone}
)

// statusClientGone is only seen in the log.
const statusClientGone = 499

// Details of faults. They say what a caller must know: whether something may have happened.
const (
	faultInCall = "toolsvc failed while it made this call. Whether the call had its effect is not known: look at the state before calling again. The log tells more under this request_id."
	fault       = "toolsvc failed while it answered. Nothing was called. The log tells more under this request_id."
)

// interruptedBy is the refusal for a request whose answer was lost after it was sent, so that nobody knows what became of it; nil for any other
// error. It advises no wait: the same request again is safe only under an idempotency key.
func interruptedBy(ctx context.Context, run string, err error) *refusal {
	var full *planner.FilledError
	what := "Temporal, which keeps the runs, was lost while this request was under way."
	switch {
	case errors.As(err, &full):
		what = "The disk that keeps the runs became full while this request was under way. The run goes on when its operator has made room."
		if full.RunID != "" {
			run = full.RunID
		}
	case !errors.Is(err, planner.ErrInterrupted):
		return nil
	}
	where := "its run"
	if run != "" {
		where = "the run " + strconv.Quote(clip(run))
	}
	return refuse(ctx, kindInterrupted, what+" Whether what was asked for was done is not known: look at "+where+" before asking again, or ask again with the same Idempotency-Key.")
}

// refusal is an error that a caller may read: problem details, whose text is the detail.
type refusal struct{ *types.Problem }

func (r *refusal) Error() string { return r.Detail }

// Unwrap lets Goa find the problem, which it encodes.
func (r *refusal) Unwrap() error { return r.Problem }

// refuse makes a refusal for the request of ctx.
func refuse(ctx context.Context, k kind, detail string) *refusal {
	p := &types.Problem{Type: "urn:toolsvc:problem:" + k.code, Title: k.title, Status: k.status, Detail: detail, Code: k.code}
	if k.retryAfter > 0 {
		p.RetryAfter = &k.retryAfter
	}
	if id := requestID(ctx); id != "" {
		p.RequestID = &id
	}
	return &refusal{p}
}

// problemJSON is a problem as it stands in an HTTP body (RFC 9457); retry_after stands in the header.
type problemJSON struct {
	Type      string      `json:"type"`
	Title     string      `json:"title"`
	Status    int         `json:"status"`
	Detail    string      `json:"detail"`
	Code      string      `json:"code"`
	Nearest   []string    `json:"nearest,omitempty"`
	Issues    []issueJSON `json:"issues,omitempty"`
	RequestID *string     `json:"request_id,omitempty"`
}

// issueJSON is an issue of a problem, which Goa's type has no names of fields for.
type issueJSON struct {
	Path         string          `json:"path"`
	Constraint   string          `json:"constraint"`
	Limit        json.RawMessage `json:"limit,omitempty"`
	Allowed      []string        `json:"allowed,omitempty"`
	ExpectedType *string         `json:"expected_type,omitempty"`
	Got          *string         `json:"got,omitempty"`
	Offset       int64           `json:"offset"`
	Suggestion   *string         `json:"suggestion,omitempty"`
	Message      string          `json:"message"`
}

func issuesJSON(is []*types.Issue) (out []issueJSON) {
	for _, i := range is {
		out = append(out, issueJSON(*i))
	}
	return out
}

// StatusCode tells Goa which status to write.
func (p problemJSON) StatusCode() int { return p.Status }

// prepare sets the headers of a problem and returns its body.
func prepare(h http.Header, p *types.Problem) problemJSON {
	h.Set("Content-Type", "application/problem+json")
	if p.RetryAfter != nil {
		h.Set("Retry-After", strconv.Itoa(*p.RetryAfter))
	}
	return problemJSON{Type: p.Type, Title: p.Title, Status: p.Status, Detail: p.Detail, Code: p.Code, Nearest: p.Nearest, Issues: issuesJSON(p.Issues), RequestID: p.RequestID}
}

// writeProblem answers a request that Goa's handlers do not see.
func writeProblem(w http.ResponseWriter, r *refusal) {
	body := prepare(w.Header(), r.Problem)
	w.WriteHeader(body.Status)
	_ = encode(w, body) // a client that has gone cannot be told so
}

// formatProblem is Goa's formatter: every error that a generated handler meets comes out as a problem.
func formatProblem(ctx context.Context, err error) goahttp.Statuser {
	return prepare(exchangeOf(ctx).header, problemOf(ctx, err))
}

// problemOf turns any error into a problem, without showing what is not meant to be shown.
func problemOf(ctx context.Context, err error) *types.Problem {
	var p *types.Problem
	var invalid *goa.ServiceError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &invalid):
		return invalidParameter(ctx, invalid).Problem
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return refuse(ctx, kindClientGone, "The client went away before the call ended. The call goes on in its run.").Problem
	}
	exchangeOf(ctx).log.ErrorContext(ctx, "a request failed", "request_id", requestID(ctx), "error", err)
	return refuse(ctx, kindInternal, faultInCall).Problem
}

// parameterRules say what each parameter of the design must be, as the design does.
var parameterRules = map[string]string{
	"run":             `run must be "r_" and 1 to 62 letters, digits, underscores or hyphens.`,
	"lang":            "lang must be a language tag of at most 35 characters, such as en, ko or ja.",
	"accept_language": "Accept-Language may have at most 1000 characters.",
	"repair":          "repair must be none, syntax, lossless, model or person.",
	"ask":             "ask must be true or false.",
	"approve":         "approve must be ask, allow or deny.",
	"idempotency_key": "Idempotency-Key must have 1 to 255 characters.",
	"limit":           "limit must be a number from 1 to 1000.",
	"waiting":         "waiting must be true or false.",
	"after":           "after must be a number of 0 or more.",
	"question":        "A question is named by at most 64 characters.",
	"approval":        "An approval is named by at most 64 characters.",
	"call":            "A call is named by at most 64 characters.",
	"digest":          `digest must be "sha256:" and 64 hexadecimal digits.`,
	"language":        "language must be a language tag of at most 35 characters, such as en, ko or ja.",
	"title":           "title may have at most 200 characters.",
}

// invalidParameter says in plain words what Goa's validation of the parameters found.
func invalidParameter(ctx context.Context, err *goa.ServiceError) *refusal {
	var rules []string
	for _, e := range err.History() {
		field := ""
		if e.Field != nil {
			field = strings.TrimPrefix(*e.Field, "message.")
		}
		rule, ok := parameterRules[field]
		if !ok {
			rule = "A parameter is not as the description at /openapi.json says."
		}
		rules = append(rules, rule)
	}
	return refuse(ctx, kindInvalidParameter, strings.Join(append(rules, "Nothing was done."), " "))
}

// encode writes v as JSON, without the escapes that only HTML needs.
func encode(w http.ResponseWriter, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// clip bounds a name that came from outside before it is shown again.
func clip(s string) string {
	const limit = 128
	if len(s) <= limit {
		return s
	}
	n := limit
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// alternatives joins names for a question: "a, b or c".
func alternatives(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
