package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	goahttp "goa.design/goa/v3/http"
	goa "goa.design/goa/v3/pkg"

	"toolsvc/tool"
)

// invalid is an error type as Goa generates one for a user type.
type invalid struct{ field, text string }

func (*invalid) Error() string        { return "" }
func (*invalid) GoaErrorName() string { return "invalid" }

// binding maps the errors that TestExplain meets.
func binding(remote bool) *Binding {
	return &Binding{Service: "orders", Method: "refund", Remote: remote, Arguments: map[string]string{"id": "order"}, Refusals: map[string]Refusal{
		"not_found": {Failure: tool.TargetNotFound, Hint: "Check the number."},
		"busy":      {Failure: tool.RateLimited, Hint: "Wait.", Details: func(error) Details { return Details{Message: "much to do", RetryAfter: 3 * time.Second} }},
		"slow":      {Failure: tool.Timeout, Hint: "Look first."},
		"fixed":     {Failure: tool.InvalidArguments, Hint: "Mend it.", Argument: "cents"},
		"invalid": {Failure: tool.InvalidArguments, Hint: "Mend it.", Details: func(err error) Details {
			var e *invalid
			errors.As(err, &e)
			return Details{Message: e.text, Attribute: e.field}
		}},
	}}
}

// TestExplain lists what each kind of error says of the effect.
func TestExplain(t *testing.T) {
	t.Parallel()
	dial := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	reset := &net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset by peer")}
	grpcDial := goa.Fault(`rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp: connection refused"`)
	for name, c := range map[string]struct {
		err        error
		remote     bool
		unsent     bool
		failure    tool.Failure
		dispatched bool
		path       string // of the issue; "-" for none
		message    string
	}{
		"mapped":                     {err: goa.PermanentError("not_found", "no order 7"), failure: tool.TargetNotFound, path: "-", message: "no order 7. Check the number."},
		"mapped and wrapped":         {err: fmt.Errorf("look: %w", goa.PermanentError("not_found", "no order 7")), failure: tool.TargetNotFound, path: "-", message: "no order 7. Check the number."},
		"mapped, of its own type":    {err: namedError("busy"), failure: tool.RateLimited, path: "-", message: "much to do. Wait."},
		"mapped to a time-out":       {err: namedError("slow"), failure: tool.Timeout, dispatched: true, path: "-", message: "the service answered slow. Look first."},
		"mapped, one argument":       {err: namedError("fixed"), failure: tool.InvalidArguments, path: "/cents", message: "the service answered fixed. Mend it."},
		"mapped, a field":            {err: &invalid{"body.lines[2].sku", "no such article"}, failure: tool.InvalidArguments, path: "/lines/2/sku", message: "no such article. Mend it."},
		"mapped, a renamed field":    {err: &invalid{"id", "no such order"}, failure: tool.InvalidArguments, path: "/order", message: "no such order. Mend it."},
		"mapped, any element":        {err: &invalid{"lines[*].sku", "no such article"}, failure: tool.InvalidArguments, path: "/lines", message: "no such article. Mend it."},
		"mapped, no field":           {err: &invalid{"", "something"}, failure: tool.InvalidArguments, path: "", message: "something. Mend it."},
		"mapped wins over transport": {err: goa.PermanentError("not_found", "x"), remote: true, unsent: true, failure: tool.TargetNotFound, path: "-", message: "x. Check the number."},

		"never dialled":              {err: goahttp.ErrRequestError("orders", "refund", dial), remote: true, failure: tool.ToolUnavailable, path: "-", message: "so nothing was sent"},
		"never connected":            {err: goahttp.ErrRequestError("orders", "refund", errors.New("no such host")), remote: true, unsent: true, failure: tool.ToolUnavailable, path: "-", message: "so nothing was sent"},
		"never dialled by gRPC":      {err: grpcDial, remote: true, failure: tool.ToolUnavailable, path: "-", message: "so nothing was sent"},
		"another's dial":             {err: fmt.Errorf("ask the bank: %w", dial), failure: tool.ToolUnavailable, dispatched: true, path: "-", message: "refund of the service orders failed: ask the bank"},
		"another's dial by gRPC":     {err: grpcDial, failure: tool.ToolUnavailable, dispatched: true, path: "-", message: "failed"},
		"another's missed transport": {err: errors.New("x"), unsent: true, failure: tool.ToolUnavailable, dispatched: true, path: "-", message: "failed: x"},
		"cut off":                    {err: goahttp.ErrRequestError("orders", "refund", reset), remote: true, failure: tool.ToolUnavailable, dispatched: true, path: "-", message: "connection reset"},

		"payload not valid":         {err: goa.InvalidPatternError("body.id", "x", "^H"), failure: tool.InvalidArguments, path: "/order", message: "does not accept the payload"},
		"payload over gRPC":         {err: goa.PermanentError(goa.InvalidPattern, "id must match"), remote: true, failure: tool.InvalidArguments, path: "", message: "does not accept the payload"},
		"answer not valid":          {err: goa.InvalidPatternError("body.number", "x", "^R"), remote: true, failure: tool.MalformedResponse, dispatched: true, path: "-", message: "breaks its design"},
		"answer not valid, HTTP":    {err: goahttp.ErrValidationError("orders", "refund", errors.New("number")), remote: true, failure: tool.MalformedResponse, dispatched: true, path: "-", message: "breaks its design"},
		"answer no JSON":            {err: goahttp.ErrDecodingError("orders", "refund", errors.New("EOF")), remote: true, failure: tool.MalformedResponse, dispatched: true, path: "-", message: "breaks its design"},
		"no answer":                 {err: ErrNoAnswer, failure: tool.MalformedResponse, dispatched: true, path: "-", message: "breaks its design"},
		"status that no one meant":  {err: goahttp.ErrInvalidResponse("orders", "refund", 503, "sorry"), remote: true, failure: tool.ToolUnavailable, dispatched: true, path: "-", message: "503"},
		"payload over HTTP":         {err: goahttp.ErrInvalidResponse("orders", "refund", 400, `{"name":"invalid_range","message":"cents must be greater"}`), remote: true, failure: tool.InvalidArguments, path: "", message: "does not accept the payload: cents must be greater"},
		"400 that no one meant":     {err: goahttp.ErrInvalidResponse("orders", "refund", 400, `{"name":"fault"}`), remote: true, failure: tool.ToolUnavailable, dispatched: true, path: "-", message: "400"},
		"gateway time-out":          {err: goahttp.ErrInvalidResponse("orders", "refund", 504, ""), remote: true, failure: tool.Timeout, dispatched: true, path: "-", message: "did not answer in time"},
		"time-out of the service":   {err: goa.TemporaryTimeoutError("bank", "slow"), failure: tool.Timeout, dispatched: true, path: "-", message: "did not answer in time: slow"},
		"time-out of the call":      {err: context.DeadlineExceeded, failure: tool.Timeout, dispatched: true, path: "-", message: "did not answer in time"},
		"time-out by gRPC":          {err: goa.Fault("rpc error: code = DeadlineExceeded desc = slow"), remote: true, failure: tool.Timeout, dispatched: true, path: "-", message: "did not answer in time"},
		"cancelled":                 {err: context.Canceled, failure: tool.Cancelled, dispatched: true, path: "-", message: "canceled"},
		"temporary":                 {err: goa.TemporaryError("bank", "busy"), failure: tool.ToolUnavailable, dispatched: true, path: "-", message: "failed: busy"},
		"fault":                     {err: goa.Fault("disk full"), failure: tool.ToolUnavailable, dispatched: true, path: "-", message: "failed: disk full"},
		"panic":                     {err: fmt.Errorf("%w: no paper", errPanicked), failure: tool.ToolUnavailable, dispatched: true, path: "-", message: "the method panicked: no paper"},
		"a very long error message": {err: errors.New(strings.Repeat("é", 4000)), failure: tool.ToolUnavailable, dispatched: true, path: "-", message: "…"},
	} {
		f := explain(binding(c.remote), c.err, c.unsent)
		if f.Failure != c.failure || f.Dispatched != c.dispatched || !strings.Contains(f.Message, c.message) || len(f.Message) > 2*maxMessage {
			t.Errorf("%s: %+v", name, f)
		}
		var is tool.Issues
		found := errors.As(f, &is)
		if c.path == "-" && found || c.path != "-" && (len(is) != 1 || is[0].Path != c.path || is[0].Constraint != tool.ConstraintTool) {
			t.Errorf("%s: issues %+v", name, is)
		}
		if !found && !errors.Is(f, c.err) {
			t.Errorf("%s: the cause is lost", name)
		}
	}
}

// namedError is an error that has nothing but its name.
type namedError string

func (namedError) Error() string          { return "" }
func (n namedError) GoaErrorName() string { return string(n) }

// All mistakes that Goa's validation found are issues, not the first only.
func TestExplainMergedValidation(t *testing.T) {
	t.Parallel()
	err := goa.MergeErrors(goa.MissingFieldError("sku", "body.lines[0]"), goa.InvalidRangeError("body.cents", 0, 1, true))
	var is tool.Issues
	if f := explain(binding(false), err, false); !errors.As(f, &is) || len(is) != 2 || is[1].Path != "/cents" {
		t.Errorf("%+v", is)
	}
}

func TestValue(t *testing.T) {
	t.Parallel()
	state := map[string]any{"text": "a", "count": float64(3), "price": 2.5, "open": true, "none": nil}
	if v, err := Value[string](state, "text"); v != "a" || err != nil {
		t.Error(v, err)
	}
	if v, err := Value[int32](state, "count"); v != 3 || err != nil {
		t.Error(v, err)
	}
	if v, err := Value[bool](state, "open"); !v || err != nil {
		t.Error(v, err)
	}
	for _, field := range []string{"none", "missing"} {
		if _, err := Value[string](state, field); !errors.Is(err, ErrAbsent) {
			t.Error(field, err)
		}
	}
	if _, err := Value[string](nil, "text"); !errors.Is(err, ErrAbsent) {
		t.Error(err)
	}
	if _, err := Value[int](state, "price"); err == nil || errors.Is(err, ErrAbsent) {
		t.Error("2.5 is no whole number", err)
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	double := func(n int) int { return 2 * n }
	if got := List([]int{1, 2}, double); !reflect.DeepEqual(got, []int{2, 4}) {
		t.Error(got)
	}
	if List[int](nil, double) != nil || Some(List[int](nil, double)) == nil || Table(nil, double, double) != nil {
		t.Error("nil is not kept, or Some left it")
	}
	if got := Table(map[int]int{1: 2}, double, double); !reflect.DeepEqual(got, map[int]int{2: 4}) {
		t.Error(got)
	}
}

// Evidence is bounded, and what is no JSON is none.
func TestPlain(t *testing.T) {
	t.Parallel()
	type status string
	v, text, err := plain(map[string]any{"b": []status{"open"}, "a": int32(1), "c": []byte("x")})
	want := map[string]any{"a": float64(1), "b": []any{"open"}, "c": "eA=="}
	if err != nil || !reflect.DeepEqual(v, want) || text != `{"a":1,"b":["open"],"c":"eA=="}` {
		t.Errorf("%v %s %v", v, text, err)
	}
	if _, _, err := plain(strings.Repeat("x", maxState)); err == nil {
		t.Error("what is too large is taken")
	}
	if _, _, err := plain(make(chan int)); err == nil {
		t.Error("a channel is no JSON")
	}
}

// A tool that this process has no binding for is unavailable, and says so.
func TestUnboundTool(t *testing.T) {
	t.Parallel()
	_, err := New().Begin(t.Context(), &tool.Call{Spec: &tool.Spec{ID: "shop.refund"}}, tool.Plan{})
	if f := tool.AsFailed(err); f.Failure != tool.ToolUnavailable || f.Dispatched {
		t.Error(f)
	}
}

// An irreversible tool whose state did not change is not taken for done, and neither is one that cannot be observed; one that may be
// repeated is left to its conditions.
func TestReconcileDecidesNothingByItself(t *testing.T) {
	t.Parallel()
	look := func(context.Context, Input) (any, any, error) { return map[string]any{"n": 1}, "result", nil }
	before := &tool.Evidence{Values: map[string]any{"state": map[string]any{"n": float64(1)}}}
	for name, c := range map[string]struct {
		b      Binding
		rules  []tool.EffectRule
		effect tool.Effect // "" for an error
	}{
		"irreversible":               {b: Binding{Effect: tool.Irreversible, Observe: look}},
		"idempotent":                 {b: Binding{Effect: tool.Idempotent, Observe: look}, effect: tool.EffectUnknown},
		"idempotent but not always":  {b: Binding{Effect: tool.Idempotent, Observe: look}, rules: []tool.EffectRule{{When: "true", Class: tool.Irreversible}}},
		"no observation":             {b: Binding{Effect: tool.Idempotent}},
		"the result cannot be read":  {b: Binding{Effect: tool.Idempotent, Observe: func(context.Context, Input) (any, any, error) { return nil, nil, nil }}},
		"there is no result to read": {b: Binding{Effect: tool.Idempotent, NoResult: func() any { return "" }, Observe: func(context.Context, Input) (any, any, error) { return 7, nil, nil }}, effect: tool.EffectConfirmed},
		"it has changed": {b: Binding{Effect: tool.Irreversible, Observe: func(context.Context, Input) (any, any, error) { return map[string]any{"n": 2}, "result", nil }},
			effect: tool.EffectConfirmed},
	} {
		c.b.Tool = "shop.refund"
		_, out, err := New(&c.b).Reconcile(t.Context(), &tool.Call{Spec: &tool.Spec{ID: "shop.refund", EffectRules: c.rules}}, before)
		if c.effect == "" && err == nil || c.effect != "" && (err != nil || out.Effect != c.effect) {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
	}
}
