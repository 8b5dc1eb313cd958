package design

import (
	. "goa.design/goa/v3/dsl"
)

// refusal says how an error outside a call is told on both transports. Errors of one status share a description, because OpenAPI has one
// for each status; the code in the body tells them apart.
type refusal struct {
	status, grpc int
}

var refusals = map[string]refusal{
	"invalid_parameter": {StatusBadRequest, CodeInvalidArgument},
	"forbidden":         {StatusForbidden, CodePermissionDenied},
	"unknown_tool":      {StatusNotFound, CodeNotFound},
	"unknown_run":       {StatusNotFound, CodeNotFound},
	"unknown_call":      {StatusNotFound, CodeNotFound},
	"unknown_artifact":  {StatusNotFound, CodeNotFound},
	"run_ended":         {StatusConflict, CodeFailedPrecondition},
	"question_closed":   {StatusConflict, CodeFailedPrecondition},
	"payload_too_large": {StatusRequestEntityTooLarge, CodeResourceExhausted},
	"invalid_body":      {StatusUnprocessableEntity, CodeInvalidArgument},
	"key_reused":        {StatusUnprocessableEntity, CodeFailedPrecondition},
	"run_full":          {StatusTooManyRequests, CodeResourceExhausted},
	"too_many_calls":    {StatusTooManyRequests, CodeResourceExhausted},
	"too_many_streams":  {StatusTooManyRequests, CodeResourceExhausted},
	"internal":          {StatusInternalServerError, CodeInternal},
	"unavailable":       {StatusServiceUnavailable, CodeUnavailable},
	"interrupted":       {StatusServiceUnavailable, CodeAborted}, // not Unavailable, which clients repeat by themselves
}

var statusWords = map[int]string{
	StatusBadRequest:            "A parameter is not as it must be. Nothing was done.",
	StatusForbidden:             "The token does not have the scope that this takes. Nothing was done.",
	StatusNotFound:              "There is no such tool, run, call or artifact; the code says which, and nearest lists names that are near. Nothing was done.",
	StatusConflict:              "It is too late: the run has ended, or the question was answered or has expired. Nothing was done.",
	StatusRequestEntityTooLarge: "The body is larger than it may be. Nothing was done.",
	StatusUnprocessableEntity:   "The body is not valid, and issues lists everything that is wrong with it; or, with the code key_reused, the idempotency key belongs to another request. Nothing was done.",
	StatusTooManyRequests:       "Too much at once: calls, streams, or calls that wait in the run. Nothing was done; wait as Retry-After says.",
	StatusInternalServerError:   "A fault of toolsvc itself. The text says whether a call may have been made.",
	StatusServiceUnavailable:    "What keeps the runs cannot be reached. Nothing was accepted; wait as Retry-After says. With the code interrupted it was lost while the request was under way: what was asked for may have been done, so look at the run first.",
}

// problems declares the errors of a service.
func problems(names ...string) {
	for _, n := range names {
		Error(n, problemType)
	}
}

// httpProblems answers errors with problem details, and with Retry-After when waiting helps.
func httpProblems(names ...string) {
	for _, n := range names {
		r := refusals[n]
		Response(n, r.status, func() {
			Description(statusWords[r.status])
			ContentType("application/problem+json")
			Header("retry_after:Retry-After")
		})
	}
}

// grpcProblems answers errors with a status whose details are the problem.
func grpcProblems(names ...string) {
	for _, n := range names {
		Response(n, refusals[n].grpc)
	}
}

// runPattern is what a run is called.
func runPattern() {
	Pattern(`^r_[A-Za-z0-9_-]{1,62}$`)
	Example("r_4mwhq6zt2c9xk7bnv5sd3jyp8a")
}

func idempotencyKey() {
	MinLength(1)
	MaxLength(255)
	Example("order-4711-refund")
}
