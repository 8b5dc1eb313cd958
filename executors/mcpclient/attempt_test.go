package mcpclient

import (
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// However much a server answers, what is kept of it stays small enough to be a result.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	res := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "all of it follows"}}}
	for i := range 3 * maxResources {
		uri := fmt.Sprintf("file:///%d", i)
		res.Content = append(res.Content, &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: uri, Text: strings.Repeat("x", maxText/10)}}, &sdk.ResourceLink{URI: uri})
	}
	r, err := (&Executor{}).resultOf(t.Context(), res)
	if err != nil {
		t.Fatal(err)
	}
	total := len(r.Text)
	for _, x := range r.Resources {
		total += len(x.Text)
	}
	if len(r.Resources) != maxResources || total < maxText || total > maxText+maxResources*len("…") {
		t.Errorf("%d resources, %d bytes", len(r.Resources), total)
	}
	if r.Text != "all of it follows" || len(r.Resources[0].Text) != maxText/10 {
		t.Errorf("what fits is cut: %q, %d bytes", r.Text, len(r.Resources[0].Text))
	}
}
