package server

import (
	"context"
	"fmt"
)

// bounds are what all calls and streams share, whatever the service and the transport.
type bounds struct {
	traffic *traffic
	// stopping ends, with the cause errStopping, when waiting for calls must end; draining, when streams must.
	stopping, draining context.Context
	// slots and streams hold one entry for each call that is waited for, and each stream; their capacity is the bound.
	slots, streams chan struct{}
}

// enter takes a place among the calls; release gives it back.
func (b *bounds) enter(ctx context.Context) (release func(), refused error) {
	leave, ok := b.traffic.enter()
	if !ok {
		return nil, refuse(ctx, kindStopping, stoppingDetail)
	}
	select {
	case b.slots <- struct{}{}:
		return func() { <-b.slots; leave() }, nil
	default:
		leave()
		return nil, refuse(ctx, kindTooManyCalls, fmt.Sprintf(
			"%d calls are being made at once, which is the limit. Nothing was called; send the same request again in a second.", cap(b.slots)))
	}
}

// enterStream takes a place among the streams.
func (b *bounds) enterStream(ctx context.Context) (release func(), refused *refusal) {
	select {
	case b.streams <- struct{}{}:
		return func() { <-b.streams }, nil
	default:
		return nil, refuse(ctx, kindTooManyStreams, fmt.Sprintf(
			"%d streams are open at once, which is the limit. Close those that nobody reads, and try again.", cap(b.streams)))
	}
}

// waiting is ctx until waiting for calls must end.
func (b *bounds) waiting(ctx context.Context) (context.Context, context.CancelFunc) {
	wait, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(b.stopping, func() { cancel(errStopping) })
	return wait, func() { stop(); cancel(nil) }
}
