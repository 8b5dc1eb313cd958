package mcpclient

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"toolsvc/tool"
)

// Only what proves that the tool was not called may count as not dispatched: everything else could have had its effect.
func TestErrorsProveNoMoreThanTheySay(t *testing.T) {
	t.Parallel()
	rpc := func(code int64, message string) error { return &jsonrpc.Error{Code: code, Message: message} }
	for _, c := range []struct {
		name       string
		err        error  // of the request
		text       string // or of a result with isError
		want       tool.Failure
		dispatched bool
	}{
		{name: "unknown tool", err: rpc(jsonrpc.CodeInvalidParams, `unknown tool "pay"`), want: tool.PreconditionFailed},
		{name: "no such method", err: rpc(jsonrpc.CodeMethodNotFound, "method not found"), want: tool.ToolUnavailable},
		{name: "output, as an error", err: rpc(jsonrpc.CodeInvalidParams, "MCP error -32602: Tool pay has an output schema but no structured content was provided"),
			want: tool.MalformedResponse, dispatched: true},
		{name: "output that breaks the schema, as an error", err: rpc(jsonrpc.CodeInvalidParams, "MCP error -32602: Invalid structured content for tool pay: …"),
			want: tool.MalformedResponse, dispatched: true},
		{name: "a limit, perhaps of another service", err: rpc(jsonrpc.CodeInternalError, "mailed; receipts: Too Many Requests"), want: tool.RateLimited, dispatched: true},
		{name: "failed inside", err: rpc(jsonrpc.CodeInternalError, "broken"), want: tool.ToolUnavailable, dispatched: true},
		{name: "lost", err: errors.New("connection reset"), want: tool.ToolUnavailable, dispatched: true},

		{name: "arguments", text: "MCP error -32602: Input validation error: Invalid arguments for tool pay: …", want: tool.PreconditionFailed},
		{name: "arguments, an older SDK", text: "MCP error -32602: Invalid arguments for tool pay: …", want: tool.PreconditionFailed},
		{name: "tool gone", text: "MCP error -32602: Tool pay not found", want: tool.PreconditionFailed},
		{name: "tool disabled", text: "MCP error -32602: Tool pay disabled", want: tool.PreconditionFailed},
		{name: "output", text: "MCP error -32602: Output validation error: Tool pay has an output schema but no structured content was provided",
			want: tool.MalformedResponse, dispatched: true},
		{name: "passed on from a server behind it", text: "MCP error -32602: Invalid arguments for tool mail: …", want: tool.VerificationFailed, dispatched: true},
		{name: "a tool whose name begins like this one's", text: "MCP error -32602: Invalid arguments for tool pay_out: …", want: tool.VerificationFailed, dispatched: true},
		{name: "quoted", text: "paid; log: MCP error -32602: Tool pay not found", want: tool.VerificationFailed, dispatched: true},
		{name: "limit", text: "Error: rate limit reached", want: tool.RateLimited, dispatched: true},
	} {
		f := refused("shop", "pay", c.text)
		said := c.text
		if c.err != nil {
			f, said = explain(context.Background(), "shop", "pay", c.err), c.err.Error()
		}
		if f.Failure != c.want || f.Dispatched != c.dispatched {
			t.Errorf("%s: %s, dispatched %v", c.name, f.Failure, f.Dispatched)
		}
		if last := said[strings.LastIndex(said, ": ")+1:]; !strings.Contains(f.Message, strings.TrimSpace(last)) {
			t.Errorf("%s: the message does not say what the server said: %s", c.name, f.Message)
		}
	}
}
