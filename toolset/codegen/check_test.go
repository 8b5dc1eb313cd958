package codegen_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"toolsvc/tool"
	"toolsvc/toolset/codegen/internal/kitchensink"
	"toolsvc/toolset/codegen/internal/kitchensink/gen/toolsets/kitchen"
	"toolsvc/toolset/expr"
	"toolsvc/toolset/internal/designtest"
	"toolsvc/toolset/shape"
)

// TestChecksOfTheDesignAgreeWithGeneratedCode holds that the interpreter, which checks the examples and defaults of a design before
// any code exists, finds what the generated decoder finds.
func TestChecksOfTheDesignAgreeWithGeneratedCode(t *testing.T) {
	if err := designtest.Eval(kitchensink.Design); err != nil {
		t.Fatal(err)
	}
	n := 0
	for i, tl := range expr.Root.Toolsets[0].Tools {
		spec := kitchen.Specs()[i]
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(spec.PayloadSchema)))
		if err != nil {
			t.Fatal(err)
		}
		g := newDocuments(doc.(map[string]any))
		for round := range 500 {
			g.Rand = rand.New(rand.NewPCG(*seed, uint64(round)))
			v := any(g.object(g.root, 0))
			for range g.IntN(4) {
				v = g.mutate(v)
			}
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			_, want := spec.Decode(text)
			got := shape.Check(tl.Payload, text)
			n += len(got)
			if !reflect.DeepEqual(bare(got), bare(want)) {
				t.Fatalf("%s: %s\ninterpreter %+v\ngenerated   %+v", spec.ID, text, got, want)
			}
		}
	}
	if n < 1000 {
		t.Errorf("only %d issues were compared", n)
	}
}

// bare drops the words, which name a payload or a value, and what redaction changes.
func bare(is tool.Issues) tool.Issues {
	out := append(tool.Issues{}, is...)
	for i := range out {
		out[i].Message, out[i].Got, out[i].Suggestion = "", "", ""
	}
	return out
}
