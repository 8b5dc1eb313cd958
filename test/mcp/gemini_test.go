package mcptest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toolsvc/gemini/geminitest"
)

// click is browser_click as gemini-cli names the tools of the server "toolsvc".
const click, navigate = "mcp_toolsvc_browser_click", "mcp_toolsvc_browser_navigate"

// A whole agent: gemini-cli, with a model that calls a tool wrongly, reads the hint, and calls it rightly, on a page whose button is a
// picture. What the model is sent is what a real one would read.
func TestGeminiCLI(t *testing.T) {
	modules(t)
	url := pages(t)
	home := t.TempDir()
	settings, err := json.Marshal(map[string]any{
		"security":   map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}},
		"privacy":    map[string]any{"usageStatisticsEnabled": false},
		"telemetry":  map[string]any{"enabled": false},
		"general":    map[string]any{"disableAutoUpdate": true, "disableUpdateNag": true},
		"mcpServers": map[string]any{"toolsvc": map[string]any{"command": toolsvc(t), "args": []string{"mcp", "--state-dir", t.TempDir()}, "trust": true, "timeout": 60000}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(home, ".gemini"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".gemini", "settings.json"), settings, 0o600); err != nil {
		t.Fatal(err)
	}
	fake := geminitest.Start(t,
		geminitest.Turn{If: geminitest.Declares(click), Reply: geminitest.Calls(geminitest.Call(navigate, map[string]any{"url": url + "/c/canvas"}))},
		geminitest.Turn{If: geminitest.Answers(navigate), Reply: geminitest.Calls(geminitest.Call(click, map[string]any{"button_name": "Play", "expect": []string{`page.text.contains("Playing")`}}))},
		geminitest.Turn{If: geminitest.All(geminitest.Answers(click), told("target is missing")), Reply: geminitest.Calls(geminitest.Call(click, map[string]any{"target": map[string]any{"name": "Play"}, "expect": []string{`page.text.contains("Playing")`}}))},
		geminitest.Turn{If: geminitest.All(geminitest.Answers(click), told("Done and verified")), Reply: geminitest.Text("The song is playing.")},
	)
	fake.Tolerate()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := node(ctx, t, "gemini", "--skip-trust", "-y", "-m", "gemini-3.8-flash", "-p", "Play the song on "+url+"/c/canvas")
	cmd.Dir = t.TempDir()
	cmd.Env = append(cmd.Env, "HOME="+home, "GEMINI_CLI_HOME="+home, "GEMINI_API_KEY=test", "GOOGLE_GEMINI_BASE_URL="+fake.URL(), "GEMINI_TELEMETRY_ENABLED=false")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "The song is playing.") {
		for i, r := range fake.Requests() {
			t.Logf("request %d: %d functions, last: %s", i+1, len(r.FunctionNames()), clipped(lastText(r)))
		}
		t.Fatalf("%v\n%s", err, tail(out))
	}
}

// told reports that the last function response says the text.
func told(text string) geminitest.Matcher {
	return func(r *geminitest.Request) bool {
		for _, x := range r.Responses() {
			if strings.Contains(string(x.Response), text) {
				return true
			}
		}
		return false
	}
}

func lastText(r geminitest.Request) string {
	text, err := json.Marshal(r.Last())
	if err != nil {
		return err.Error()
	}
	return string(text)
}
