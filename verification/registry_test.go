package verification_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"toolsvc/gen/toolsets"
	"toolsvc/verification"
)

// Every condition and every effect rule of the design compiles, and the example of every tool passes them.
func TestDesignCompiles(t *testing.T) {
	t.Parallel()
	registry := toolsets.Registry()
	if len(registry.IDs()) == 0 {
		t.Fatal("there are no tools")
	}
	for _, id := range registry.IDs() {
		t.Run(string(id), func(t *testing.T) {
			t.Parallel()
			spec := registry.Lookup(id)
			payload, issues := spec.Decode(spec.Example)
			if issues != nil {
				t.Fatalf("the example: %v", issues)
			}
			args, err := json.Marshal(payload) // with the defaults filled in
			if err != nil {
				t.Fatal(err)
			}
			conditions, issues := verification.Compile(spec, args, payload.Expectations())
			if issues != nil {
				t.Fatal(issues)
			}
			if !conditions.HasPostconditions() {
				t.Error("without postconditions no call can succeed")
			}
			if conditions.HasPreconditions() != (len(spec.Preconditions) > 0) {
				t.Error("the preconditions were lost")
			}
			class, err := verification.EffectClass(spec, args)
			if err != nil {
				t.Error(err)
			}
			t.Logf("%s, needs %+v", class, conditions.Needs())
		})
	}
}

// Options that were written in other letters are selected when the page says so; without its word only what is called alike counts.
func TestSelectedInOtherLetters(t *testing.T) {
	t.Parallel()
	spec := toolsets.Registry().Lookup("browser.select")
	for _, entered := range []bool{true, false} {
		c, issues := verification.Compile(spec, json.RawMessage(`{"target":{"name":"Color"},"values":["green"]}`), nil)
		if issues != nil {
			t.Fatal(issues)
		}
		seen := evidence(t, fmt.Sprintf(`{"values":{"target":{"entered":%t,"selected":["Green"],"selected_labels":["Green"]},"page":{"errors":[]}}}`, entered))
		if got := c.Judge(seen, seen, json.RawMessage(`{}`)).Checks[0]; got.Passed != entered {
			t.Errorf("%+v", got)
		}
	}
}
