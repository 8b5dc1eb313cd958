package http

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Every command of the documentation works, in the order in which it stands there, and shows what the text says.
func TestDocumentedCommandsWork(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "http.md"))
	if err != nil {
		t.Fatal(err)
	}
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Fatalf("install curl, which the commands of the documentation use: %v", err)
	}
	script := "set -eu\n"
	blocks := strings.Split(string(text), "\n```sh\n")[1:]
	for _, b := range blocks {
		block, _, _ := strings.Cut(b, "\n```\n")
		script += block + "\necho\n"
	}
	if n := strings.Count(script, "curl "); n < 12 {
		t.Fatalf("only %d commands were found: this test no longer sees the documentation", n)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=" + filepath.Dir(curl) + ":/usr/bin:/bin", "URL=" + base, "TOKEN=" + personToken}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		`"customer":"Ada"`, `"retry_hint":{"reason":"invalid_arguments"`, `"call_id":"c_`, `"status":"needs_input"`, `"path":"/order","rule":"answered","tier":"person"`,
		`"refund":"R-`, "event: question\ndata: ", "event: tool_result\ndata: ", "event: run\ndata: ", `"outcome":"cancelled"`, "id: 1\n",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the output lacks %s", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}
