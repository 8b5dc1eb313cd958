package orders_test

import (
	"context"
	"errors"

	"toolsvc/examples/orders"
	"toolsvc/examples/orders/gen/toolsets/orders/executor"
	"toolsvc/tool"
)

// bound binds the tools to the service itself, and to a client of one elsewhere. docs/declare-a-tool.md shows it.
func bound(ctx context.Context, file, address string) (here, there tool.Executor, err error) {
	service, err := orders.Open(ctx, file)
	client, _, err2 := orders.Dial(address)
	if err := errors.Join(err, err2); err != nil {
		return nil, nil, err
	}
	// page:begin
	here = executor.New(service) // in this process
	there = executor.New(client) // orders.NewClient(…), which Goa generates for HTTP and for gRPC
	// page:end
	return here, there, nil
}

var _ = bound // it is compiled, and what it shows is tested by the transports of tools_test.go
