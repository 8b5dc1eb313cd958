package codegen_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
	"toolsvc/toolset/codegen/internal/kitchensink/gen/toolsets/kitchen"
)

var (
	seed   = flag.Uint64("seed", 20261121, "seed of the generated documents")
	rounds = flag.Int("rounds", 100_000, "how many documents to generate")
)

// side is a payload or a result of a tool.
type side struct {
	name   string
	schema []byte
	decode func([]byte) (any, tool.Issues)
	encode func(any) ([]byte, error) // nil for payloads
}

func sides() []side {
	var all []side
	for _, s := range slices.Concat(kitchen.Specs(), kitchen.Specs(), kitchen.Specs(), browser.Specs()) {
		all = append(all,
			side{string(s.ID) + " payload", s.PayloadSchema, func(b []byte) (any, tool.Issues) { return s.Decode(b) }, nil},
			side{string(s.ID) + " result", s.ResultSchema, s.DecodeResult, s.EncodeResult})
	}
	return all
}

// TestDecodersAgreeWithJSONSchema compares the generated decoders with a JSON Schema engine on documents that are valid, and on
// mutations of them: the sets of (pointer, keyword) are the same. What decodes as a result encodes to what decodes to the same.
func TestDecodersAgreeWithJSONSchema(t *testing.T) {
	t.Parallel()
	t.Logf("seed %d, %d documents", *seed, *rounds)
	all := sides()
	each := *rounds/len(all) + 1
	total, valid, issues := 0, 0, 0
	keywords := map[string]int{}
	for i, s := range all {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(s.schema))
		if err != nil {
			t.Fatal(err)
		}
		root := doc.(map[string]any)
		o, g := newOracle(t, s.schema), newDocuments(root)
		for n := range each {
			g.Rand = rand.New(rand.NewPCG(*seed, uint64(i*each+n)))
			v := any(g.object(root, 0))
			for range g.IntN(4) {
				v = g.mutate(v)
			}
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			got, found := s.decode(text)
			mine, want := ours(found), o.violations(t, text)
			total++
			if len(found) >= tool.MaxIssues { // the rest was not collected
				continue
			}
			if !slices.Equal(mine, want) {
				t.Fatalf("%s: seed %d, document %d\n%s\ndecoder: %q\noracle:  %q", s.name, *seed, i*each+n, text, mine, want)
			}
			for _, f := range found {
				issues++
				keywords[f.Constraint]++
				checkIssue(t, f, text)
			}
			if len(found) > 0 {
				continue
			}
			valid++
			if s.encode != nil {
				roundTrip(t, s, got)
			}
		}
	}
	t.Logf("%d documents: %d valid, %d issues: %v", total, valid, issues, keywords)
	if total < *rounds || valid < total/10 || issues < total {
		t.Errorf("the documents are too much alike: %d, of them %d valid, with %d issues", total, valid, issues)
	}
	for _, k := range []string{"type", "required", "additionalProperties", "enum", "pattern", "format", "contentEncoding", "minLength", "maxLength", "minimum", "maximum",
		"exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems", "minProperties", "maxProperties", "propertyNames", "anyOf", "oneOf"} {
		if keywords[k] == 0 && *rounds >= 100_000 {
			t.Errorf("no document broke %s", k)
		}
	}
}

// checkIssue checks what every issue must have.
func checkIssue(t *testing.T, i tool.Issue, text []byte) {
	t.Helper()
	if i.Message == "" || i.Offset < 0 || i.Offset >= int64(len(text)) || len(i.Got) > 128 {
		t.Fatalf("%s\nissue %+v", text, i)
	}
	if _, err := json.Marshal(i); err != nil {
		t.Fatal(err)
	}
}

func roundTrip(t *testing.T, s side, v any) {
	t.Helper()
	text, err := s.encode(v)
	if err != nil {
		t.Fatalf("%s: %+v\nencode: %v", s.name, v, err)
	}
	again, issues := s.decode(text)
	if issues != nil {
		t.Fatalf("%s: %s\ndecode what was encoded: %v", s.name, text, issues)
	}
	if !reflect.DeepEqual(v, again) {
		t.Fatalf("%s: %s\nbecame another value: %s", s.name, text, fmt.Sprint(again))
	}
}
