package auth

import (
	"context"
	"fmt"
	"net/http"
	"time"

	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// principalKey is where a principal travels through the MCP library, whose handlers do not get the context of the HTTP request.
const principalKey = "toolsvc/principal"

// ForMCP hands the principal of a request on to the MCP library, which also keeps a session to the principal that opened it.
func ForMCP(next http.Handler) http.Handler {
	verify := func(ctx context.Context, _ string, _ *http.Request) (*sdkauth.TokenInfo, error) {
		p := From(ctx)
		if p.Name == "" {
			return nil, fmt.Errorf("%w: nobody is known to make this request", sdkauth.ErrInvalidToken)
		}
		return &sdkauth.TokenInfo{UserID: p.Name, Expiration: time.Now().Add(time.Hour), Extra: map[string]any{principalKey: p}}, nil
	}
	return sdkauth.RequireBearerToken(verify, nil)(next)
}

// MCPMiddleware puts who makes a request into the context of MCP handlers: whom [ForMCP] handed on, or otherwise. Otherwise is [Local] where
// no tokens are set up, and the zero Principal where they are.
func MCPMiddleware(otherwise Principal) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			p := otherwise
			if extra := req.GetExtra(); extra != nil && extra.TokenInfo != nil {
				if known, ok := extra.TokenInfo.Extra[principalKey].(Principal); ok {
					p = known
				}
			}
			return next(With(ctx, p), method, req)
		}
	}
}
