// Package http holds tests of the HTTP and gRPC surface on a whole toolsvc: a real Temporal, a real store, and the shop of examples/orders as
// a toolset of its own. They also run every command of docs/reference/http.md.
package http

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"toolsvc/examples/orders"
	gen "toolsvc/examples/orders/gen/orders"
	tools "toolsvc/examples/orders/gen/toolsets/orders"
	"toolsvc/examples/orders/gen/toolsets/orders/executor"
	"toolsvc/server"
	"toolsvc/server/auth"
	"toolsvc/stack"
)

// The tokens of the toolsvc of these tests.
const (
	agentToken  = "agent-0123456789abcdef"
	personToken = "person-0123456789abcdef"
)

var (
	base  string // http://127.0.0.1:port
	conn  *grpc.ClientConn
	shop  *orders.Service
	parts *stack.Stack
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "toolsvc-http-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	ctx := context.Background()
	if shop, err = orders.Open(ctx, filepath.Join(dir, "orders.db")); err != nil {
		return 1, err
	}
	defer shop.Close() //nolint:errcheck // the end of the tests
	for i := range 20 {
		if _, err := shop.Upsert(ctx, &gen.UpsertPayload{ID: fmt.Sprintf("H-%d", i+1), Customer: "Ada", Lines: []*gen.Line{{Sku: "LPV-0001", Quantity: 3, Cents: 1000}}}); err != nil {
			return 1, err
		}
	}
	parts, err = stack.Open(ctx, stack.Options{StateDir: filepath.Join(dir, "state"), Ephemeral: true, UIPort: -1,
		Toolsets: []stack.Toolset{{Specs: tools.Specs(), Executor: executor.New(shop)}}})
	if err != nil {
		return 1, err
	}
	tokens, err := auth.Parse(strings.NewReader("agent call " + agentToken + "\nperson call,approve " + personToken + "\n"))
	if err != nil {
		return 1, err
	}
	srv, err := server.New(server.Options{Caller: parts.Service, Registry: parts.Service.Registry, Events: parts.Store, Artifacts: parts.Store, Ready: parts.Ready, Tokens: tokens,
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return 1, err
	}
	httpL, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1, err
	}
	grpcL, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1, err
	}
	base = "http://" + httpL.Addr().String()
	if conn, err = grpc.NewClient(grpcL.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		return 1, err
	}
	serving, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(serving, httpL, grpcL) }()
	code = m.Run()
	_ = conn.Close()
	stop()
	if err := <-ended; err != nil {
		return 1, err
	}
	return code, parts.Close(ctx)
}
