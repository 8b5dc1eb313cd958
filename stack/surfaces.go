package stack

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/server"
	"toolsvc/server/auth"
	"toolsvc/server/mcp"
)

// Surfaces say where and how Serve answers. The zero value of everything but the addresses is what a program on one machine wants.
type Surfaces struct {
	// HTTP and GRPC are addresses (host:port). Port 0 takes a free one; an empty address leaves the surface out. An address that is not
	// loopback takes Tokens, and TLS or BehindProxy.
	HTTP, GRPC string
	// AllowedHosts are host names under which a proxy may reach the HTTP surface.
	AllowedHosts []string
	// Tokens are those who may make requests; nil lets everyone on this machine do everything.
	Tokens *auth.Tokens
	// TLS encrypts both surfaces; nil does not.
	TLS *tls.Config
	// BehindProxy states that a proxy in front encrypts, and that nobody reaches the addresses past it.
	BehindProxy bool
	// NoPage leaves out the live page, and NoMCP the MCP endpoint.
	NoPage, NoMCP bool
	// Language of the narration for MCP clients that ask for none: en, ko or ja; en when empty.
	Language string
	// MCPAsk opens questions also for MCP clients that cannot show them; they get needs_input.
	MCPAsk bool
	// Version of the program, for MCP clients, metrics and traces.
	Version string
	// Opened is called once, when everything is put together and before anything is answered; the surface is nil with NoMCP. nil is not called.
	Opened func(*Stack, *mcp.Surface)
	// Out is told, in a few lines, where what answers; nothing when nil.
	Out io.Writer
}

// listen takes the addresses; nil for an empty one.
func (at Surfaces) listen(ctx context.Context) (httpL, grpcL net.Listener, err error) {
	if at.HTTP == "" && at.GRPC == "" {
		return nil, nil, errors.New("there is neither an HTTP nor a gRPC address to serve")
	}
	for _, x := range []struct {
		addr string
		into *net.Listener
	}{{at.HTTP, &httpL}, {at.GRPC, &grpcL}} {
		if x.addr == "" {
			continue
		}
		err = server.Exposure{Address: x.addr, Tokens: at.Tokens != nil, TLS: at.TLS != nil, BehindProxy: at.BehindProxy}.Check()
		if err == nil {
			*x.into, err = listen(ctx, x.addr)
		}
		if err != nil {
			closeListeners(httpL, grpcL)
			return nil, nil, err
		}
	}
	return httpL, grpcL, nil
}

// listen takes an address.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; another program uses it? give another address", addr, err)
	}
	return l, nil
}

// ports are those of listeners.
func ports(ls ...net.Listener) (out []int) {
	for _, l := range ls {
		if l == nil {
			continue
		}
		if a, ok := l.Addr().(*net.TCPAddr); ok {
			out = append(out, a.Port)
		}
	}
	return out
}

// tell says where what answers.
func (at Surfaces) tell(s *Stack, stateDir string, httpL, grpcL net.Listener) {
	line := func(name, where string) { fmt.Fprintf(at.Out, "%-9s %s\n", name, where) }
	scheme := "http"
	if at.TLS != nil {
		scheme = "https"
	}
	address := ""
	if httpL != nil {
		address = scheme + "://" + httpL.Addr().String()
		if !at.NoPage {
			line("Page", address+"/")
		}
		line("HTTP", address)
	}
	if grpcL != nil {
		line("gRPC", grpcL.Addr().String())
	}
	if httpL != nil && !at.NoMCP {
		line("MCP", address+"/mcp")
	}
	if s.UIURL != "" {
		line("Temporal", s.UIURL)
	}
	line("State", stateDir)
	fmt.Fprintln(at.Out, "Ready. Ctrl-C ends it; runs go on when it is started again.")
}

// MCPKey is the key that signs what is carried through MCP clients. Where several processes share a sealing key, it is made of that, because an
// answer may come back to another one.
func MCPKey(stateDir string) ([]byte, error) {
	if shared := os.Getenv(SealKeyVariable); shared != "" {
		return hkdf.Key(sha256.New, []byte(shared), nil, "toolsvc MCP signing key", 32)
	}
	return mcp.LoadKey(stateDir)
}

// ClientModel is the [CallerModel] of MCP clients that offer one by sampling, once there is a surface for them. Its zero value has none.
type ClientModel struct{ of atomic.Pointer[mcp.Surface] }

// Ask asks the clients of that surface from now on.
func (m *ClientModel) Ask(s *mcp.Surface) { m.of.Store(s) }

// Offers implements CallerModel.
func (m *ClientModel) Offers(callID string) bool {
	s := m.of.Load()
	return s != nil && s.Offers(callID)
}

// Sample implements CallerModel.
//
//lint:ignore SA1019 sampling is deprecated since MCP 2026-07-28, and still how a client offers its model
func (m *ClientModel) Sample(ctx context.Context, callID string, q *sdk.CreateMessageParams) (*sdk.CreateMessageResult, error) {
	s := m.of.Load()
	if s == nil {
		return nil, errors.New("no client is there yet")
	}
	return s.Sample(ctx, callID, q)
}
