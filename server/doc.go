// Package server is the HTTP and gRPC surface of toolsvc: the Goa services "tools" and "runs" on both, server-sent events, artifacts, OpenAPI,
// health and readiness; and who may reach it, by package auth.
//
// It decodes, bounds and encodes; it decides nothing. What a call means is the business of the planner.
//
// It guarantees:
//   - a payload reaches the tool's own decoder byte for byte, so that broken JSON is answered with a position; nothing beyond
//     [tool.MaxPayload] is read;
//   - a tool.Result comes out with the same fields and values on HTTP and gRPC;
//   - what is refused is refused as RFC 9457 problem details on HTTP and as a typed status on gRPC, with the same code and text,
//     and never with the text of a Go error;
//   - a client that goes away, and a server that stops, cancel nothing: the call goes on in its run;
//   - the events of a run come once and in order, also after a lost connection, and a client that is slow holds up nobody;
//   - where there are tokens, nothing but health is answered without one;
//   - a request from a foreign web page, or for a host that this server does not answer for, gets nothing.
//
// Status codes of a call: 200 it was made, well or not; 422 its payload is not valid (a ToolResult too); 400, 401, 403, 404, 409, 413, 429 it was
// refused and not made; 503 Temporal cannot be reached; 500 a fault of toolsvc. On gRPC, 200 and 422 are both OK, told apart by the
// field outcome, because a caller corrects a payload by reading the same ToolResult either way; the others are InvalidArgument, NotFound,
// FailedPrecondition, ResourceExhausted (413 and 429), Unavailable and Internal.
//
// Host and origin are checked on HTTP only: a web page cannot speak gRPC. docs/reference/http.md is the reference for callers.
//
// cmd/toolsvc wires it and gives it its listeners.
package server
