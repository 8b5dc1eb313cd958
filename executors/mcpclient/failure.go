package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/tool"
)

// lostRetry is how long to wait before a call over a lost connection is made again, where its effect class allows that.
const lostRetry = 500 * time.Millisecond

// gone reports an error of a connection that will not serve again.
func gone(err error) bool {
	return errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, os.ErrClosed) || strings.Contains(err.Error(), "broken pipe")
}

// unsentCodes are JSON-RPC's own refusals: the request was not carried out.
var unsentCodes = []int64{jsonrpc.CodeParseError, jsonrpc.CodeInvalidRequest, jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidParams}

// explain says what an error of a request means. The dispatch counts as not done only where the error proves that: a repetition is then free.
func explain(ctx context.Context, server, name string, err error) *tool.Failed {
	f := &tool.Failed{Failure: tool.ToolUnavailable, Dispatched: true, What: server, Cause: err}
	var rpc *jsonrpc.Error
	switch {
	case ctx.Err() != nil:
		f.Failure, f.Message = tool.Timeout, fmt.Sprintf("%s of the MCP server %s did not answer in time, so its outcome is not known.", name, server)
		if errors.Is(ctx.Err(), context.Canceled) {
			f.Failure = tool.Cancelled
		}
	case errors.As(err, &rpc) && rpc.Code == jsonrpc.CodeInvalidParams && aboutAnswer(rpc.Message):
		return broken(server, name, rpc.Message, err)
	case errors.As(err, &rpc) && slices.Contains(unsentCodes, rpc.Code):
		f.Dispatched = false
		f.Message = fmt.Sprintf("The MCP server %s refused the call of %s: %s", server, name, clip(rpc.Message, maxSaid))
		if rpc.Code == jsonrpc.CodeInvalidParams {
			f.Failure = tool.PreconditionFailed // its own schema let the arguments pass
		}
	case errors.As(err, &rpc) && limited(rpc.Message): // the limit may be that of a service which the tool called half-way
		f.Failure = tool.RateLimited
		f.Message = fmt.Sprintf("The MCP server %s asks to call %s later: %s", server, name, clip(rpc.Message, maxSaid))
	case errors.As(err, &rpc):
		f.Message = fmt.Sprintf("%s of the MCP server %s failed: %s", name, server, clip(rpc.Message, maxSaid))
	default:
		f.RetryAfter = lostRetry
		f.Message = fmt.Sprintf("The MCP server %s was lost during the call of %s, so its outcome is not known: %s", server, name, clip(err.Error(), maxSaid))
	}
	return f
}

// maxSaid bounds what a server says of an error, in bytes.
const maxSaid = 2000

// refused says what a result with isError means. Servers of the TypeScript SDK put their refusals of arguments, and of tools that they do not
// have any more, into such results, too. Those prove that nothing was done. What else a result means stands only in its words.
func refused(server, name, text string) *tool.Failed {
	text = strings.TrimSpace(text)
	f := &tool.Failed{Failure: tool.VerificationFailed, Dispatched: true, What: server,
		Message: fmt.Sprintf("%s of the MCP server %s answered an error: %s", name, server, clip(text, maxSaid))}
	switch {
	case unsent(name, text):
		f.Failure, f.Dispatched = tool.PreconditionFailed, false
	case strings.HasPrefix(text, sdkInvalid) && aboutAnswer(text):
		return broken(server, name, text, nil)
	case limited(text):
		f.Failure = tool.RateLimited
	}
	return f
}

// sdkInvalid begins what the TypeScript SDK says of parameters that are not valid.
const sdkInvalid = "MCP error -32602: "

// unsent reports whether the TypeScript SDK says that it did not call the tool. The words must name this tool, because a tool that calls other
// servers passes on what is said of theirs.
func unsent(name, text string) bool {
	said, ok := strings.CutPrefix(text, sdkInvalid)
	if !ok {
		return false
	}
	said = strings.TrimPrefix(said, "Input validation error: ")
	return strings.HasPrefix(said, "Invalid arguments for tool "+name+":") || said == "Tool "+name+" not found" || said == "Tool "+name+" disabled"
}

// aboutAnswer reports whether an error about parameters is about what the tool answered: the TypeScript SDK uses the code of invalid parameters for
// an answer that breaks the output schema, too. By then the tool has done its work.
func aboutAnswer(text string) bool {
	t := strings.ToLower(text)
	return strings.Contains(t, "output validation error") || strings.Contains(t, "structured content") || strings.Contains(t, "output schema")
}

// broken is a call whose answer the server itself did not let pass.
func broken(server, name, text string, cause error) *tool.Failed {
	return &tool.Failed{Failure: tool.MalformedResponse, Dispatched: true, What: server, Cause: cause,
		Message: fmt.Sprintf("%s of the MCP server %s was called, and its answer breaks its own output schema: %s", name, server, clip(text, maxSaid))}
}

func limited(text string) bool {
	t := strings.ToLower(text)
	return strings.Contains(t, "rate limit") || strings.Contains(t, "too many requests")
}
