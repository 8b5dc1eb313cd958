package temporalclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Prepared says what [Setup] found and did.
type Prepared struct {
	Address, Namespace string
	// Created: the namespace was not there.
	Created bool
}

// Setup readies a cluster for toolsvc: the namespace, which keeps closed runs for retention when it is new, and the search attributes. It may be
// repeated, and changes nothing that is there. Errors are those of [Dial] and [Conn.EnsureSearchAttributes].
func Setup(ctx context.Context, o Options, retention time.Duration) (Prepared, error) {
	o.Lazy = true
	c, err := Dial(ctx, o)
	if err != nil {
		return Prepared{}, err
	}
	defer c.Close()
	p := Prepared{Address: c.Address, Namespace: c.Namespace}
	if err := c.Ping(ctx); err != nil {
		if !errors.Is(err, ErrNamespaceNotFound) {
			return p, err
		}
		_, err := c.Client.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
			Namespace: c.Namespace, Description: "Runs of toolsvc", WorkflowExecutionRetentionPeriod: durationpb.New(retention)})
		var exists *serviceerror.NamespaceAlreadyExists
		if err != nil && !errors.As(err, &exists) {
			return p, explain(err, fmt.Sprintf("create namespace %q at", c.Namespace), c.Address, c.Namespace)
		}
		p.Created = err == nil
	}
	// A new namespace is known to every part of a cluster only after a while.
	ctx, cancel := context.WithTimeout(ctx, 2*visibleWithin)
	defer cancel()
	for {
		err := c.Ping(ctx)
		if err == nil {
			err = c.EnsureSearchAttributes(ctx)
		}
		var unknown *serviceerror.NamespaceNotFound
		if err == nil || !errors.Is(err, ErrNamespaceNotFound) && !errors.As(err, &unknown) {
			return p, err
		}
		select {
		case <-time.After(visibleInterval):
		case <-ctx.Done():
			return p, err
		}
	}
}
