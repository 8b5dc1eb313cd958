package mcp

import (
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of HTTP.
const (
	// sessionIdle ends a session of the older protocol that is not used. Its run goes on, and ends by its own rules.
	sessionIdle = 2 * time.Hour
	// maxBody bounds a request: a payload, and what surrounds it.
	maxBody = 2 << 20
	// maxReplay bounds what is kept for clients whose connection broke, in bytes over all sessions.
	maxReplay = 32 << 20
)

// Handler serves MCP over streamable HTTP. One endpoint serves both eras, which differ in whether there are sessions: the header that
// names the protocol version tells them apart. Whoever mounts it checks origin and host, and authenticates.
func (s *Surface) Handler() http.Handler {
	server := func(*http.Request) *sdk.Server { return s.server }
	replay := sdk.NewMemoryEventStore(nil)
	replay.SetMaxBytes(maxReplay)
	// The host is checked by the server that mounts this handler, which knows the names of reverse proxies.
	sessions := sdk.NewStreamableHTTPHandler(server, &sdk.StreamableHTTPOptions{
		EventStore: replay, SessionTimeout: sessionIdle, MaxRequestBodyBytes: maxBody, DisableLocalhostProtection: true})
	single := sdk.NewStreamableHTTPHandler(server, &sdk.StreamableHTTPOptions{
		Stateless: true, MaxRequestBodyBytes: maxBody, DisableLocalhostProtection: true, PropagateRequestCancellation: true})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= stateless {
			if r.Method == http.MethodPost && r.Header.Get("Mcp-Method") == methodListen {
				s.serveListen(w, r, single)
				return
			}
			single.ServeHTTP(w, r)
			return
		}
		sessions.ServeHTTP(w, r)
	})
}
