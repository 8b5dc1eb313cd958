// Package mcpclient makes the tools of other MCP servers tools of toolsvc: each configured server, over stdio or HTTP, is a toolset whose
// specs are built at run time from what the server lists. stack merges them with the designed ones; the planner calls them like any other.
//
// It guarantees:
//   - a payload is validated against the server's schema before anything is sent, with all issues at once, pointers and suggestions, as by a
//     generated decoder; a result that breaks the server's output schema is never passed on;
//   - a failure says "nothing was sent" only where that is proven: the connection was never made, or the server refused the request by
//     JSON-RPC's own errors. Any other failure leaves the effect unknown, and the effect class of the tool decides about a repetition;
//   - one dispatch is one tools/call. A server that died is started again, with growing waits between the starts;
//   - a server's process gets the environment that is configured for it, and nothing else of this one's but PATH, HOME and the locale;
//   - secrets come from the environment, and are sent to the server's own host only, over TLS or within this machine;
//   - a server that says that its tools have changed is believed, and whoever wants to know is told;
//   - what a server says of itself (effects, schemas) can be overruled by the configuration, and is bounded in size.
package mcpclient
