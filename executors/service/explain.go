package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	goahttp "goa.design/goa/v3/http"
	goa "goa.design/goa/v3/pkg"

	"toolsvc/tool"
)

// maxMessage bounds what a service says of an error, in bytes.
const maxMessage = 500

// validations are the names of Goa's own validation errors.
var validations = []string{goa.InvalidFieldType, goa.MissingField, goa.InvalidEnumValue, goa.InvalidFormat, goa.InvalidPattern, goa.InvalidRange,
	goa.InvalidLength, goa.DecodePayload, goa.MissingPayload}

// explain says what an error of the method means. unsent reports the proof that the request never left. The rules, in order:
//
//  1. An error that the design maps means what it says.
//  2. A remote request that was proven unsent did nothing: tool_unavailable.
//  3. Goa's own validation of the payload comes before the method: invalid_arguments. A client's validation of what was answered comes
//     after it: malformed_response.
//  4. All others leave the effect unknown: timeout where the error says so, cancelled where the context was, tool_unavailable else.
func explain(b *Binding, err error, unsent bool) *tool.Failed {
	name := errorName(err)
	if r, ok := b.Refusals[name]; ok {
		return refused(b, r, err)
	}
	where := fmt.Sprintf("%s of the service %s", b.Method, b.Service)
	if b.Remote && (unsent || neverDialled(err)) {
		return &tool.Failed{Failure: tool.ToolUnavailable, What: b.Service, Cause: err,
			Message: fmt.Sprintf("The service %s cannot be reached, so nothing was sent: %s", b.Service, said(err))}
	}
	var se *goa.ServiceError
	var ce *goahttp.ClientError
	isClient := errors.As(err, &ce)
	if message, ok := notAccepted(ce); ok {
		return &tool.Failed{Failure: tool.InvalidArguments, Cause: tool.Issues{issue(b, "", "", message)},
			Message: fmt.Sprintf("%s does not accept the payload: %s", where, clip(message))}
	}
	if errors.As(err, &se) && slices.Contains(validations, name) {
		if b.Remote && se.Field != nil { // a field is named only where the validation ran: in this process, on the answer
			return &tool.Failed{Failure: tool.MalformedResponse, Dispatched: true, Cause: err,
				Message: fmt.Sprintf("What %s answered breaks its design: %s", where, said(err))}
		}
		var is tool.Issues
		for _, one := range se.History() {
			attribute := ""
			if one.Field != nil {
				attribute = *one.Field
			}
			is = append(is, issue(b, attribute, "", one.Message))
		}
		return &tool.Failed{Failure: tool.InvalidArguments, Cause: is, Message: fmt.Sprintf("%s does not accept the payload: %s", where, said(err))}
	}
	f := &tool.Failed{Failure: tool.ToolUnavailable, Dispatched: true, What: b.Service, Cause: err, Message: fmt.Sprintf("%s failed: %s", where, said(err))}
	switch {
	case errors.Is(err, context.Canceled):
		f.Failure = tool.Cancelled
	case errors.Is(err, context.DeadlineExceeded), se != nil && se.Timeout, isClient && ce.Timeout, strings.Contains(err.Error(), "code = DeadlineExceeded"):
		f.Failure, f.Message = tool.Timeout, fmt.Sprintf("%s did not answer in time: %s", where, said(err))
	case errors.Is(err, ErrNoAnswer), isClient && (ce.Name == "decoding_error" || ce.Name == "validation_error"):
		f.Failure, f.Message = tool.MalformedResponse, fmt.Sprintf("What %s answered breaks its design: %s", where, said(err))
	}
	return f
}

// notAccepted reads the answer by which Goa's HTTP server rejects a payload before the method sees it: status 400, with the name of a
// validation. Goa's client knows it only as an unexpected status with a body.
func notAccepted(ce *goahttp.ClientError) (message string, ok bool) {
	if ce == nil || ce.Name != "invalid_response" {
		return "", false
	}
	body, ok := strings.CutPrefix(ce.Message, "invalid response code 400, body: ")
	var answer goahttp.ErrorResponse
	if !ok || json.Unmarshal([]byte(body), &answer) != nil || !slices.Contains(validations, answer.Name) {
		return "", false
	}
	return answer.Message, true
}

// errorName is the name of the error in the design, "" when it has none.
func errorName(err error) string {
	var named goa.GoaErrorNamer
	if errors.As(err, &named) {
		return named.GoaErrorName()
	}
	return ""
}

// lost reports that a request was sent and its answer did not arrive: the connection broke. What the service itself answered, an error
// too, is not lost.
func lost(b *Binding, err error) bool {
	if !b.Remote {
		return false
	}
	var ce *goahttp.ClientError
	if errors.As(err, &ce) {
		return ce.Name == "request_error"
	}
	return strings.Contains(err.Error(), "rpc error: code = Unavailable")
}

// neverDialled reports an error that a connection could not even be made. gRPC's reaches us through Goa as text only.
func neverDialled(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Op == "dial"
	}
	text := err.Error()
	return strings.Contains(text, "code = Unavailable") && strings.Contains(text, "Error while dialing")
}

// refused is a declared error with the meaning that the design gives it.
func refused(b *Binding, r Refusal, err error) *tool.Failed {
	var d Details
	if r.Details != nil {
		d = r.Details(err)
	}
	message := d.Message
	if message == "" {
		message = said(err)
	}
	f := &tool.Failed{Failure: r.Failure, Cause: err, RetryAfter: d.RetryAfter, What: b.Service,
		Message: sentence(clip(message)) + " " + r.Hint, Dispatched: r.Failure == tool.Timeout || r.Failure == tool.OutcomeUnknown}
	if r.Failure == tool.InvalidArguments {
		attribute := d.Attribute
		var se *goa.ServiceError
		if attribute == "" && errors.As(err, &se) && se.Field != nil {
			attribute = *se.Field
		}
		f.Cause = tool.Issues{issue(b, attribute, r.Argument, f.Message)}
	}
	return f
}

// issue is a violation that the service found: in an argument, or where an attribute of the method's payload leads to.
func issue(b *Binding, attribute, argument, message string) tool.Issue {
	i := tool.Issue{Constraint: tool.ConstraintTool, Message: sentence(clip(message))}
	if argument != "" {
		i.Path = "/" + argument
		return i
	}
	i.Path = pointer(b.Arguments, attribute)
	return i
}

// pointer leads from an attribute as Goa writes it ("body.lines[2].sku") to the argument: "/lines/2/sku". "" when it names none.
func pointer(arguments map[string]string, attribute string) string {
	for _, root := range []string{"body.", "payload.", "message."} {
		attribute = strings.TrimPrefix(attribute, root)
	}
	var p strings.Builder
	for i, part := range strings.FieldsFunc(attribute, func(c rune) bool { return c == '.' || c == '[' || c == ']' }) {
		if i == 0 && arguments[part] != "" {
			part = arguments[part]
		}
		if part == "*" { // Goa does not say which element
			break
		}
		p.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(part))
	}
	return p.String()
}

// said is the error's text, clipped.
func said(err error) string {
	var se *goa.ServiceError
	if errors.As(err, &se) && se.Message != "" {
		return clip(se.Message)
	}
	if text := err.Error(); text != "" {
		return clip(text)
	}
	if n := errorName(err); n != "" {
		return "the service answered " + n
	}
	return "the service gave no reason"
}

func clip(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessage], "") + "…"
}

// sentence ends s with a full stop.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") || strings.HasSuffix(s, "…") {
		return s
	}
	return s + "."
}
