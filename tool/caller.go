package tool

import (
	"context"
	"fmt"
)

// Caller makes calls: a client of a server, or the server itself. The generated clients of toolsets call through it.
type Caller interface {
	// Call makes one call and waits for its result. A tool that failed is a Result with an Error; the error says that there is no
	// result at all: the caller could not reach the service, or ctx ended.
	Call(ctx context.Context, r Request) (*Result, error)
}

// CallTyped makes a call and decodes its result with a generated function. It is what generated clients call.
func CallTyped[T any](ctx context.Context, c Caller, r Request, doc *Document, decode func(*Decoder) *T) (*T, *Result, error) {
	res, err := c.Call(ctx, r)
	if err != nil {
		return nil, res, fmt.Errorf("call %s: %w", r.Tool, err)
	}
	if res.Error != nil {
		return nil, res, res.Error
	}
	v, issues := Decode(res.Result, doc, decode)
	if issues != nil {
		return nil, res, fmt.Errorf("decode the result of %s: %w", r.Tool, issues)
	}
	return v, res, nil
}
