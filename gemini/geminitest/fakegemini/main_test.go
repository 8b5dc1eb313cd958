package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/genai"
)

// The program prints where it serves, serves, and tells at its end what it refused.
func TestRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, in := io.Pipe()
	var log bytes.Buffer
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, "127.0.0.1:0", filepath.Join("..", "testdata", "script.yaml"), in, &log)
	}()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	c, err := genai.NewClient(ctx, &genai.ClientConfig{APIKey: "test", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: strings.TrimSpace(url)}})
	if err != nil {
		t.Fatal(err)
	}
	config := &genai.GenerateContentConfig{ResponseMIMEType: "application/json", ResponseJsonSchema: map[string]any{"type": "object", "properties": map[string]any{"verdict": map[string]any{}}}}
	if res, err := c.Models.GenerateContent(ctx, "gemini-3.8-flash", genai.Text("x"), config); err != nil || !strings.Contains(res.Text(), "success") {
		t.Errorf("%v, %v", res, err)
	}
	if _, err := c.Models.GenerateContent(ctx, "gemini-3.8-flash", genai.Text("x"), nil); err == nil {
		t.Error("something that is not in the script is answered")
	}
	cancel()
	if err := <-ended; err != nil || !strings.HasPrefix(log.String(), "2 requests\nrefused: The script has no answer") {
		t.Errorf("%v, %q", err, log.String())
	}
	if err := run(ctx, "127.0.0.1:0", "none.yaml", io.Discard, io.Discard); err == nil {
		t.Error("a script that is not there")
	}
}
