// Command orders runs the orders example: the service, over HTTP and gRPC, or a toolsvc that serves the tools which its operations are.
//
//	orders service [--db orders.db]                             the service alone, at 127.0.0.1:7080 (HTTP) and 7081 (gRPC)
//	orders tools   [--db orders.db]                             toolsvc, with the service in the same process
//	orders tools   --service http://127.0.0.1:7080              toolsvc, with the service elsewhere; grpc://127.0.0.1:7081 as well
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"toolsvc/examples/orders"
	"toolsvc/examples/orders/gen/toolsets/desk"
	tools "toolsvc/examples/orders/gen/toolsets/orders"
	"toolsvc/examples/orders/gen/toolsets/orders/executor"
	"toolsvc/stack"
)

type cli struct {
	Service serviceCmd `cmd:"" help:"Run the service over HTTP and gRPC."`
	Tools   toolsCmd   `cmd:"" help:"Run a toolsvc that serves the tools."`
}

// database is where the shop's books are.
type database struct {
	DB string `name:"db" help:"A file of SQLite, or postgres://…" default:"orders.db" env:"ORDERS_DB"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	k := kong.Parse(&cli{}, kong.Description("Orders of a record shop, as a service and as tools."), kong.BindTo(ctx, (*context.Context)(nil)))
	k.FatalIfErrorf(k.Run())
}

type serviceCmd struct {
	database
	HTTP string `name:"http" help:"HTTP address." default:"127.0.0.1:7080"`
	GRPC string `name:"grpc" help:"gRPC address." default:"127.0.0.1:7081"`
}

func (c *serviceCmd) Run(ctx context.Context) (err error) {
	s, err := orders.Open(ctx, c.DB)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	httpL, err := net.Listen("tcp", c.HTTP)
	if err != nil {
		return fmt.Errorf("serve HTTP: %w", err)
	}
	grpcL, err := net.Listen("tcp", c.GRPC)
	if err != nil {
		return errors.Join(fmt.Errorf("serve gRPC: %w", err), httpL.Close())
	}
	web := &http.Server{Handler: orders.Handler(s), ReadHeaderTimeout: 10 * time.Second}
	rpc := orders.GRPCServer(s)
	failed := make(chan error, 2)
	go func() { failed <- web.Serve(httpL) }()
	go func() { failed <- rpc.Serve(grpcL) }()
	fmt.Fprintf(os.Stderr, "HTTP  http://%s\ngRPC  %s\n", httpL.Addr(), grpcL.Addr())
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	rpc.GracefulStop()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(err, web.Shutdown(ending))
}

type toolsCmd struct {
	database
	Service  string `help:"Where the service is: http://host:port or grpc://host:port. In this process without it." env:"ORDERS_SERVICE"`
	HTTP     string `name:"http" help:"HTTP address of toolsvc." default:"127.0.0.1:7070"`
	GRPC     string `name:"grpc" help:"gRPC address of toolsvc." default:"127.0.0.1:7071"`
	StateDir string `help:"Where runs, evidence and Temporal's database are kept." default:"orders-state" type:"path"`

	out io.Writer // where it says what answers; standard error when nil
}

func (c *toolsCmd) Run(ctx context.Context) (err error) {
	service, closer, err := c.reach(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closer.Close()) }()
	out := c.out
	if out == nil {
		out = os.Stderr
	}
	return stack.Serve(ctx,
		stack.Options{StateDir: c.StateDir, Toolsets: []stack.Toolset{{Specs: tools.Specs(), Executor: executor.New(service)}, {Specs: desk.Specs()}}},
		stack.Surfaces{HTTP: c.HTTP, GRPC: c.GRPC, Out: out})
}

// reach opens the service in this process, or makes a client of it.
func (c *toolsCmd) reach(ctx context.Context) (executor.Orders, io.Closer, error) {
	if c.Service != "" {
		return orders.Dial(c.Service)
	}
	s, err := orders.Open(ctx, c.DB)
	return s, s, err
}
