package main

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
)

// Tokens that every user of the machine may read are told of.
func TestTokensThatOthersMayRead(t *testing.T) {
	t.Parallel()
	path := write(t, "tokens", "ann call 0123456789abcdef0123456789abcdef\n")
	for mode, want := range map[os.FileMode]bool{0o600: false, 0o640: false, 0o644: true} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var said bytes.Buffer
		(&exposure{Tokens: path}).follow(ctx, nil, slog.New(slog.NewTextHandler(&said, nil)))
		if got := strings.Contains(said.String(), "chmod 600"); got != want {
			t.Errorf("mode %o: %q", mode, said.String())
		}
	}
}
