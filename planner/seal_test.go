package planner

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"toolsvc/tool"
)

func sealer(t *testing.T, b byte) *Sealer {
	t.Helper()
	s, err := NewSealer(bytes.Repeat([]byte{b}, SealKeySize))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSealerKeepsSecretsOutOfSteps(t *testing.T) {
	t.Parallel()
	s := sealer(t, 1)
	clear := Step{CallID: "c_1", Arguments: json.RawMessage(`{"text":"hunter22"}`), Draft: &Draft{Payload: []byte(`{"text":"hunter22`)},
		Repairs: []tool.Repair{{Path: "/text", Rule: "trimmed", Tier: "lossless", From: `" hunter22"`, To: `"hunter22"`}, {Path: "/x", Rule: "removed", From: "hunter22"}}}
	sealed, err := s.seal(clear)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(sealed)
	if err != nil || bytes.Contains(text, []byte("hunter22")) || bytes.Contains(sealed.Draft.Payload, []byte("hunter22")) {
		t.Errorf("%s, %v", text, err)
	}
	again, _ := s.seal(clear)
	twice, _ := s.seal(sealed)
	if !bytes.Equal(again.Arguments, sealed.Arguments) || !bytes.Equal(twice.Arguments, sealed.Arguments) {
		t.Error("the same step is sealed in two ways")
	}
	var back Step // through a history
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	opened, err := s.open(back)
	if err != nil || !bytes.Equal(opened.Arguments, clear.Arguments) || !bytes.Equal(opened.Draft.Payload, clear.Draft.Payload) || !slices.Equal(opened.Repairs, clear.Repairs) || clear.Repairs[1].From != "hunter22" {
		t.Errorf("%+v, %v", opened, err)
	}
	for name, other := range map[string]*Sealer{"another key": sealer(t, 2), "no key": nil} {
		if _, err := other.open(sealed); !errors.Is(err, errNoSealKey) {
			t.Errorf("%s opens it: %v", name, err)
		}
	}
	if plain, err := s.open(clear); err != nil || !bytes.Equal(plain.Arguments, clear.Arguments) { // of a history from before there was sealing
		t.Errorf("%+v, %v", plain, err)
	}
	damaged := sealed
	damaged.Arguments = json.RawMessage(`"sealed:v1:AAAA"`)
	if _, err := s.open(damaged); err == nil {
		t.Error("damage goes unnoticed")
	}
}

func TestSealerWantsAWholeKey(t *testing.T) {
	t.Parallel()
	if _, err := NewSealer([]byte("short")); err == nil {
		t.Error("a short key is taken")
	}
}
