package tool

import (
	"slices"
	"strings"
	"testing"
)

func TestRegistry(t *testing.T) {
	t.Parallel()
	r, err := NewRegistry([]*Spec{{ID: "shop.pay"}, {ID: "shop.refund"}}, []*Spec{{ID: "browser.click"}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(r.IDs(), []ID{"browser.click", "shop.pay", "shop.refund"}) {
		t.Error(r.IDs())
	}
	if r.Lookup("shop.pay") == nil || r.Lookup("shop.nothing") != nil {
		t.Error("another tool was found")
	}
	if got := r.Nearest("shop.refnud"); len(got) == 0 || got[0] != "shop.refund" {
		t.Error(got)
	}
	if got := r.Nearest("shop.exchange"); len(got) != 0 {
		t.Errorf("the same toolset alone makes no name alike: %v", got)
	}
	if got := r.Nearest("shp.pay"); len(got) == 0 || got[0] != "shop.pay" {
		t.Error(got)
	}
	r.IDs()[0] = "changed"
	if r.IDs()[0] != "browser.click" {
		t.Error("a registry can be changed")
	}
	if _, err := NewRegistry([]*Spec{{ID: "a.b"}}, []*Spec{{ID: "a.b"}}); err == nil || !strings.Contains(err.Error(), "a.b is declared twice") {
		t.Error(err)
	}
	if id := ID("shop.pay"); id.Toolset() != "shop" || id.Name() != "pay" {
		t.Error(id.Toolset(), id.Name())
	}
}

func TestIDsAreOfTheirKind(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 100 {
		c, r := NewCallID(), NewRunID()
		if len(c) != 28 || len(r) != 28 || !strings.HasPrefix(c, "c_") || !strings.HasPrefix(r, "r_") || c != strings.ToLower(c) || seen[c] || seen[r] {
			t.Fatal(c, r)
		}
		seen[c], seen[r] = true, true
	}
}

func TestEffectClasses(t *testing.T) {
	t.Parallel()
	for c, want := range map[EffectClass]bool{ReadOnly: true, Idempotent: true, Reversible: false, Irreversible: false, "": false} {
		if c.Repeatable() != want {
			t.Errorf("%s: %v", c, !want)
		}
	}
	for p, want := range map[Phase]bool{PhaseStarted: false, PhaseResolved: false, PhaseDispatched: true, PhaseSettled: true} {
		if p.Dispatched() != want {
			t.Errorf("%s: %v", p, !want)
		}
	}
	for _, s := range Sources {
		if !strings.EqualFold(s.Badge(), string(s)) {
			t.Errorf("%s: %s", s, s.Badge())
		}
	}
}

func TestEvidenceDigest(t *testing.T) {
	t.Parallel()
	a := &Evidence{Values: map[string]any{"b": 1, "a": map[string]any{"y": 2, "x": 1}}}
	text, digest, err := a.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != `{"values":{"a":{"x":1,"y":2},"b":1}}` || digest != Digest(text) || len(digest) != len("sha256:")+64 {
		t.Errorf("%s %s", text, digest)
	}
	if _, _, err := (&Evidence{Values: map[string]any{"f": func() {}}}).Encode(); err == nil || !strings.Contains(err.Error(), "encode evidence") {
		t.Error(err)
	}
}

func TestIssues(t *testing.T) {
	t.Parallel()
	is := Issues{{Path: "/a", Constraint: "required"}, {Path: "/b", Constraint: "type", Message: "b must be a string."}, {Path: "/c/d", Constraint: "required", Message: "c.d is missing."}}
	if got := is.Error(); got != "/a: required b must be a string. c.d is missing." {
		t.Error(got)
	}
	if !slices.Equal(is.Missing(), []string{"/a", "/c/d"}) {
		t.Error(is.Missing())
	}
	if is.Err() == nil || Issues(nil).Err() != nil || (Issues{}).Err() != nil {
		t.Error("an error from nothing")
	}
}
