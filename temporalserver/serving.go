package temporalserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

const (
	// servingWithin bounds the wait for a started server to serve, and servingInterval is the pause between two looks.
	servingWithin   = 30 * time.Second
	servingInterval = 5 * time.Millisecond
	// probeWithin bounds one look.
	probeWithin = 5 * time.Second
)

// waitServing waits until the server can start a workflow: the frontend answers, knows the namespace, and the history shard is acquired.
// The last two show in one read-only question, for a workflow that cannot exist, whose right answer is "not found".
func waitServing(ctx context.Context, address, namespace string, failures *failures) error {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("prepare a connection to %s: %w", address, err)
	}
	defer conn.Close() //nolint:errcheck // nothing is sent on it any more
	frontend := workflowservice.NewWorkflowServiceClient(conn)
	ctx, cancel := context.WithTimeout(ctx, servingWithin)
	defer cancel()
	for {
		err := probe(ctx, frontend, namespace)
		if err == nil {
			return nil
		}
		select {
		case failure := <-failures.first:
			return failure
		case <-ctx.Done():
			return fmt.Errorf("wait for the server at %s to serve: %w (last answer: %w)", address, ctx.Err(), err)
		case <-time.After(servingInterval):
		}
	}
}

func probe(ctx context.Context, frontend workflowservice.WorkflowServiceClient, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	_, err := frontend.DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: "toolsvc: is the server serving?"},
	})
	var notFound *serviceerror.NotFound
	if err == nil || errors.As(serviceerror.FromStatus(status.Convert(err)), &notFound) {
		return nil
	}
	return err
}
