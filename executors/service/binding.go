package service

import (
	"context"
	"errors"
	"time"

	"toolsvc/tool"
)

// Binding is how one tool is done by a method of a Goa service. It is generated from the tool's Bind.
type Binding struct {
	Tool            tool.ID
	Service, Method string
	// Effect is the class of the tool.
	Effect tool.EffectClass
	// Remote reports that the service is reached by a generated client, so that errors of its transport can occur.
	Remote bool
	// Call calls the method and returns the tool's typed result.
	Call func(ctx context.Context, in Input) (any, error)
	// Observe looks at what the tool acts on: the state as plain values, and the tool's result as it can be read from it, nil where it
	// cannot. Nil when the design declares no Observe.
	Observe func(ctx context.Context, in Input) (state, result any, err error)
	// Absences are the declared errors by which the observing method says that there is nothing; each is an answer, not a failure.
	Absences []string
	// NoResult makes the result of a tool that answers nothing; nil for others. It stands in for a lost answer.
	NoResult func() any
	// Compensate undoes a call. before is the state from before it, nil when there is none. Nil when the design declares none.
	Compensate func(ctx context.Context, in Input, result, before any) error
	// Compensation is the name of that method.
	Compensation string
	// Refusals say what the declared errors of the method mean, by their names.
	Refusals map[string]Refusal
	// Arguments are the names of the tool's arguments by the attributes of the method's payload that they go to, where those differ.
	Arguments map[string]string
}

// ErrNoAnswer is the error of a method that returned neither an answer nor an error.
var ErrNoAnswer = errors.New("the method returned no answer")

// Input is what a method's payload is made from.
type Input struct {
	Args tool.Payload
	// CallID is the idempotency key: the same for all attempts at one call.
	CallID string
}

// Refusal is what a declared error means.
type Refusal struct {
	Failure tool.Failure
	// Hint says what to do, in one sentence.
	Hint string
	// Argument is the argument that the error is about, "" when that is not always the same one.
	Argument string
	// Details reads more from the error; nil when its type holds no more.
	Details func(error) Details
}

// Details are what an error of a type of its own says; zero values where it says nothing.
type Details struct {
	Message string
	// Attribute of the method's payload that the error is about, as Goa writes it: "lines[2].sku".
	Attribute  string
	RetryAfter time.Duration
}
