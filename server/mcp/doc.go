// Package mcp is the MCP surface: it lets any MCP client call the tools of a registry, and reach the runs in which the calls are made.
//
// It guarantees:
//   - one server speaks both protocol eras, over stdio and from one HTTP endpoint: 2026-07-28, without sessions, and 2025-11-25 and older,
//     with them;
//   - every call ends in a ToolResult, which is the structured content and is mirrored in words into the text, because some clients
//     show only one of the two; a call that was not accepted is a ToolResult as well;
//   - the schema that the decoder enforces is stricter than the advertised one: fields that toolsvc can ask for are advertised as
//     optional, because some clients never send a call that lacks a required field;
//   - a question reaches the client by elicitation where it can answer, in either era; otherwise the result says needs_input and how to
//     answer with run_answer. A dismissed question is neither an answer nor a failure: it stays open;
//   - a client's own model is asked, where the client offers one, by the stack's work on the client's calls; it is never needed;
//   - a request that its client cancels ends its call, and no other; one whose client is gone goes on;
//   - what is carried through a client (requestState, task ids, cursors of runs) is signed with a key in the state directory, so a
//     restarted server takes it up again, and a client cannot change it.
//
// The surface decodes, encodes and asks; it decides nothing about calls. cmd/toolsvc starts it on stdio and mounts it at /mcp.
package mcp
