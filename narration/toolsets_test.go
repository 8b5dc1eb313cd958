package narration_test

import (
	"encoding/json"
	"strings"
	"testing"

	"toolsvc/gen/toolsets"
	"toolsvc/narration"
)

// Every tool that toolsvc ships is described in each language, from the payload as it is after decoding, with its defaults filled in.
func TestShippedToolsHavePhrases(t *testing.T) {
	t.Parallel()
	r := toolsets.Registry()
	want := map[string]string{
		"browser.click":    "「Now playing」の「Play」をクリック",
		"browser.type":     "「E-mail」に入力",
		"browser.wait_for": "「Order placed」が表示されるまで待機",
	}
	for _, id := range r.IDs() {
		spec := r.Lookup(id)
		payload, issues := spec.Decode(spec.Example)
		if len(issues) > 0 {
			t.Fatalf("%s: %v", id, issues)
		}
		args, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		said := map[string]string{}
		for _, l := range narration.Langs {
			said[string(l)] = narration.Describe(spec, args, string(l))
		}
		if said["en"] == said["ko"] || said["en"] == said["ja"] || strings.HasPrefix(said["en"], spec.Title+":") {
			t.Errorf("%s has no phrase of its own: %q", id, said)
		}
		if w := want[string(id)]; w != "" && said["ja"] != w {
			t.Errorf("%s: %q, want %q", id, said["ja"], w)
		}
	}
}
