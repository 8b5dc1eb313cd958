package mcptest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// The Inspector's command line lists, calls and reads, over HTTP and over stdio.
func TestInspector(t *testing.T) {
	modules(t)
	url := pages(t)
	s := serve(t)
	for _, target := range [][]string{{s.url(), "--transport", "http"}, {toolsvc(t), "mcp", "-e", "TOOLSVC_STATE_DIR=" + t.TempDir()}} {
		inspect := func(args ...string) map[string]any {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := node(ctx, t, "mcp-inspector", slices.Concat([]string{"--cli"}, target, args)...)
			cmd.Dir = t.TempDir()
			cmd.Env = append(cmd.Env, "HOME="+t.TempDir())
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %v\n%s%s", args, err, tail(out), tail([]byte(stderr.String())))
			}
			var got map[string]any
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatalf("%v: %v\n%s", args, err, tail(out))
			}
			return got
		}
		tools, _ := inspect("--method", "tools/list")["tools"].([]any)
		if len(tools) < 10 {
			t.Errorf("%d tools", len(tools))
		}
		called := inspect("--method", "tools/call", "--tool-name", "browser_navigate", "--tool-arg", "url="+url+"/c/canvas")
		structured, _ := called["structuredContent"].(map[string]any)
		if structured == nil || structured["result"] == nil {
			t.Errorf("%v", called)
		}
		if read := inspect("--method", "resources/read", "--uri", "toolsvc://guide"); read["contents"] == nil {
			t.Errorf("%v", read)
		}
		if got := inspect("--method", "prompts/list"); got["prompts"] == nil {
			t.Errorf("%v", got)
		}
	}
}
