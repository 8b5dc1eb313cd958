package tutorial_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolsvc/planner"
	"toolsvc/tool"
	"toolsvc/toolset/codegen/internal/tutorial/gen/toolsets"
	"toolsvc/toolset/codegen/internal/tutorial/gen/toolsets/shop"
)

var update = flag.Bool("update", false, "write the output that docs/declare-a-tool.md shows")

// golden compares text with a file of testdata, which the page shows; docs/docs_test.go holds the page to it.
func golden(t *testing.T, name string, text []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	text = append(bytes.TrimSpace(text), '\n')
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, want) {
		t.Errorf("%s is\n%s\nwant\n%s\nIf the change is meant: go test ./toolset/codegen/internal/tutorial -update, then go test ./docs -update", name, text, want)
	}
}

// What a caller gets for a payload with four mistakes, exactly as toolsvc answers it.
func TestRejectedPayload(t *testing.T) {
	t.Parallel()
	payload := []byte(`{"order": "H-1024", "lines": [{"sku": "lpv-1", "quanity": 2}], "reason": "damage", "card": "4111 1111"}`)
	service := &planner.Service{Registry: toolsets.Registry()}
	_, rejected, err := service.Prepare(tool.Request{CallID: "c_1", RunID: "r_1", Tool: shop.RefundID, Arguments: payload}, "en")
	if err != nil || rejected == nil {
		t.Fatalf("the payload was not rejected: %v", err)
	}
	if n := len(rejected.RetryHint.Fields().Issues); n != 4 {
		t.Errorf("%d issues, want 4", n)
	}
	text, err := marshal(rejected)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "4111") {
		t.Errorf("the secret is shown: %s", text)
	}
	golden(t, "payload.json", payload)
	golden(t, "rejected.json", []byte(layout(t, text, "")))
}

// What becomes of a result that breaks its own contract.
func TestMalformedResult(t *testing.T) {
	t.Parallel()
	_, err := shop.RefundSpec.EncodeResult(&shop.RefundResult{Refund: "1024", Cents: -1, Lines: 1})
	if err == nil {
		t.Fatal("a result that breaks its contract is accepted")
	}
	golden(t, "malformed.txt", []byte(err.Error()))
	text, err := shop.RefundSpec.EncodeResult(&shop.RefundResult{Refund: "R-7", Cents: 2400, Lines: 1})
	if err != nil || string(text) != `{"refund":"R-7","cents":2400,"lines":1}` {
		t.Errorf("a right result: %s, %v", text, err)
	}
}

// A valid payload is typed, with the defaults filled in.
func TestValidPayload(t *testing.T) {
	t.Parallel()
	p, issues := shop.RefundSpec.Decode([]byte(`{"order":"H-1","lines":[{"sku":"LPV-0001"}],"reason":"late"}`))
	r, ok := p.(*shop.RefundPayload)
	if len(issues) > 0 || !ok || len(r.Lines) != 1 || r.Lines[0].Quantity != 1 {
		t.Fatalf("got %+v, %v", p, issues)
	}
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// layout breaks JSON into lines of a readable width, and no more of them than that takes.
func layout(t *testing.T, text []byte, indent string) string {
	t.Helper()
	const width = 280
	if len(indent)+len(text) <= width || text[0] != '{' && text[0] != '[' {
		return string(text)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteByte(text[0])
	for n := 0; d.More(); n++ {
		if n > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n" + indent + "  ")
		if text[0] == '{' {
			key, err := d.Token()
			if err != nil {
				t.Fatal(err)
			}
			name, err := marshal(key)
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(string(name) + ": ")
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
		b.WriteString(layout(t, value, indent+"  "))
	}
	return b.String() + "\n" + indent + string(text[len(text)-1])
}
