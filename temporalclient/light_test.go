package temporalclient

import (
	"os/exec"
	"strings"
	"testing"
)

// This package stays light: what imports it must not pay for the Temporal server.
func TestServerIsNotLinked(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(out)) {
		if strings.HasPrefix(path, "go.temporal.io/server") || strings.HasPrefix(path, "modernc.org/") {
			t.Errorf("links %s", path)
		}
	}
}
