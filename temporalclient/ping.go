package temporalclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What can be wrong between toolsvc and Temporal. Match with errors.Is.
var (
	// ErrUnreachable: nothing answers at the address, or not in time. Trying again later may help.
	ErrUnreachable = errors.New("the Temporal server is unreachable")
	// ErrNamespaceNotFound: the cluster answers, and has no such namespace.
	ErrNamespaceNotFound = errors.New("the Temporal server has no such namespace")
	// ErrDenied: the cluster answers, and refuses these credentials.
	ErrDenied = errors.New("the Temporal server denied the request")
)

// PingTimeout bounds one [Conn.Ping] whose context has no earlier deadline.
const PingTimeout = 5 * time.Second

// waitInterval is the pause between two pings of [Conn.WaitReady].
const waitInterval = 50 * time.Millisecond

// Ping checks that the frontend answers and serves the client's namespace. It costs one round trip and starts nothing; use it for
// readiness probes.
func (c *Conn) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, PingTimeout)
	defer cancel()
	_, err := c.Client.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: c.Namespace})
	return explain(err, "ask for the namespace at", c.Address, c.Namespace)
}

// WaitReady pings until Temporal serves the namespace, and returns the last ping's error when ctx ends first. It gives up at once when
// the credentials are refused, because waiting does not mend that.
func (c *Conn) WaitReady(ctx context.Context) error {
	for {
		err := c.Ping(ctx)
		if err == nil || errors.Is(err, ErrDenied) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("gave up waiting for Temporal: %w", err)
		case <-time.After(waitInterval):
		}
	}
}

// IsUnreachable reports whether an error of any call to Temporal means that it could not be reached or did not answer in time, so that
// the same call may succeed later. A call that timed out may still have been carried out.
func IsUnreachable(err error) bool {
	if errors.Is(err, ErrUnreachable) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	switch codeOf(err) {
	case codes.Unavailable, codes.DeadlineExceeded:
		return true
	}
	return false
}

// codeOf is the gRPC status of an error of the SDK (which has types of its own) or of a raw call, however deeply it is wrapped.
func codeOf(err error) codes.Code {
	var typed serviceerror.ServiceError
	if errors.As(err, &typed) {
		return typed.Status().Code()
	}
	return status.Code(err)
}

// explain turns an error of the SDK into one sentence a person can act on, and attaches the sentinel that it matches.
func explain(err error, did, address, namespace string) error {
	if err == nil {
		return nil
	}
	var missing *serviceerror.NamespaceNotFound
	code := codeOf(err)
	switch {
	case errors.As(err, &missing):
		return fmt.Errorf("%w: %s %s: namespace %q does not exist there; create it (temporal operator namespace create %s) or name another: %w",
			ErrNamespaceNotFound, did, address, namespace, namespace, err)
	case code == codes.PermissionDenied, code == codes.Unauthenticated:
		return fmt.Errorf("%w: %s %s as namespace %q: check the API key, the client certificate and their permissions: %w",
			ErrDenied, did, address, namespace, err)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s %s: %w", did, address, err)
	case IsUnreachable(err):
		return fmt.Errorf("%w: %s %s: is it running, and are address and TLS settings right? %w", ErrUnreachable, did, address, err)
	}
	return fmt.Errorf("%s %s (namespace %q): %w", did, address, namespace, err)
}
