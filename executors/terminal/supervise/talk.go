//go:build linux

package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ErrGone: the session has ended, or its supervisor is gone. What is known of it, its record says.
var ErrGone = errors.New("the session has ended")

// Look shows the session of a directory as it is now, with up to scrollback lines above its screen.
func Look(ctx context.Context, dir string, scrollback int) (*Screen, error) {
	a, err := talk(ctx, dir, request{Op: "look", Scrollback: scrollback})
	if err != nil {
		return nil, err
	}
	return a.Screen, nil
}

// Send sends an input to the session of a directory; the same key is sent once, whoever asks for it.
func Send(ctx context.Context, dir string, in Input) (*Sent, error) {
	a, err := talk(ctx, dir, request{Op: "send", Send: &in})
	if err != nil {
		return nil, err
	}
	return a.Sent, nil
}

// Settle waits until the session of a directory has settled.
func Settle(ctx context.Context, dir string, p Patience) (*Settled, error) {
	a, err := talk(ctx, dir, request{Op: "settle", Patience: &p})
	if err != nil {
		return nil, err
	}
	return a.Settled, nil
}

func talk(ctx context.Context, dir string, q request) (response, error) {
	a, err := ask(ctx, dir, q)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ECONNRESET) {
		return a, fmt.Errorf("%w: %v", ErrGone, err) //nolint:errorlint // the cause is for people
	}
	if err != nil && ctx.Err() == nil {
		if r, e := Read(dir); e == nil && (r.State == StateEnded || !r.Supervisor.Alive()) {
			return a, fmt.Errorf("%w: %v", ErrGone, err) //nolint:errorlint // the cause is for people
		}
	}
	return a, err
}
