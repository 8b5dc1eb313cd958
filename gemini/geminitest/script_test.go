package geminitest_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/genai"

	"toolsvc/gemini/geminitest"
)

// The script of the documentation plays through a real client.
func TestLoad(t *testing.T) {
	t.Parallel()
	script, err := geminitest.Load(filepath.Join("testdata", "script.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := geminitest.Serve("127.0.0.1:0", script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	c := client(t, s)
	config := &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "browser_click"}}}}}
	talk := genai.Text("Play a song")
	var busy genai.APIError
	if _, err := c.Models.GenerateContent(t.Context(), model, talk, config); !errors.As(err, &busy) || busy.Code != 503 {
		t.Fatalf("first %v", err)
	}
	res, err := c.Models.GenerateContent(t.Context(), model, talk, config)
	if err != nil {
		t.Fatal(err)
	}
	call := res.FunctionCalls()[0]
	if res.Text() != "I will press play." || call.Args["target"].(map[string]any)["name"] != "Play" {
		t.Errorf("then %q, %+v", res.Text(), call)
	}
	verdict, err := c.Models.GenerateContent(t.Context(), model, talk, &genai.GenerateContentConfig{ResponseMIMEType: "application/json",
		ResponseJsonSchema: map[string]any{"type": "object", "properties": map[string]any{"verdict": map[string]any{"type": "string"}}}})
	if err != nil || verdict.Text() != `{"confidence":0.9,"verdict":"success"}` {
		t.Errorf("in between %v, %v", verdict, err)
	}
	talk = append(talk, res.Candidates[0].Content, &genai.Content{Role: "user", Parts: []*genai.Part{{
		FunctionResponse: &genai.FunctionResponse{ID: call.ID, Name: call.Name, Response: map[string]any{"ok": true}}}}})
	if res, err = c.Models.GenerateContent(t.Context(), model, talk, config); err != nil || res.Text() != "The song is playing." {
		t.Errorf("at last %v, %v", res, err)
	}
	if left := s.Unused(); left != nil {
		t.Errorf("unused %q", left)
	}
}

// A script that repeats starts again.
func TestRepeat(t *testing.T) {
	t.Parallel()
	script, err := geminitest.Parse([]byte(`{"repeat": true, "turns": [{"reply": {"text": "one"}}, {"reply": {"text": "two"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	s, err := geminitest.Serve("127.0.0.1:0", script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	var said []string
	for range 3 {
		res, err := client(t, s).Models.GenerateContent(t.Context(), model, genai.Text("x"), nil)
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, res.Text())
	}
	if strings.Join(said, " ") != "one two one" {
		t.Errorf("said %q", said)
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"nothing":         {"", "empty"},
		"no turns":        {"model: m", "no turns"},
		"unknown field":   {"turns: [{replay: {text: x}}]", "replay"},
		"no reply":        {"turns: [{name: first}]", "turn 1 first: a reply is one of"},
		"two replies":     {"turns: [{reply: {text: x, drop: true}}]", "this one is 2"},
		"times":           {"turns: [{times: 0, reply: {text: x}}]", "times is a number"},
		"status":          {"turns: [{reply: {error: {status: 200}}}]", "between 400 and 599"},
		"retry_after":     {"turns: [{reply: {error: {status: 429, retry_after: soon}}}]", "soon"},
		"call without":    {"turns: [{reply: {calls: [{args: {}}]}}]", "no name"},
		"arguments":       {"turns: [{reply: {calls: [{name: f, args: [1]}]}}]", "not an object"},
		"keys of numbers": {"turns: [{reply: {json: {1: x}}}]", "JSON"},
	} {
		if _, err := geminitest.Parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := geminitest.Load(filepath.Join(t.TempDir(), "none.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
