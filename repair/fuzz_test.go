package repair_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"toolsvc/repair"
	"toolsvc/tool"
)

// FuzzPayload: whatever comes in, repairing does not panic, is stable, bounded, accepts only what the decoder accepts, and leaves a valid
// payload as it is.
func FuzzPayload(f *testing.F) {
	specs := allSpecs()
	for i, s := range specs {
		f.Add(uint8(i), []byte(s.Example))
	}
	for _, es := range examples {
		for _, e := range es {
			for i, s := range specs {
				if s.ID == e.tool {
					f.Add(uint8(i), []byte(e.in))
				}
			}
		}
	}
	for _, l := range leftAlone {
		f.Add(uint8(0), []byte(l.in))
	}
	f.Fuzz(func(t *testing.T, i uint8, text []byte) {
		spec := specs[int(i)%len(specs)]
		given := bytes.Clone(text)
		value, before := spec.Decode(text)
		out := repair.Payload(spec, text, repair.Lossless)
		if !bytes.Equal(text, given) {
			t.Fatal("the text was changed in place")
		}
		if len(before) == 0 {
			if !out.OK() || !bytes.Equal(out.Payload, text) || len(out.Repairs) > 0 || canonical(t, out.Value) != canonical(t, value) {
				t.Fatalf("a valid payload became %s: %v", out.Payload, out.Repairs)
			}
			return
		}
		_, after := spec.Decode(out.Payload)
		if out.OK() != (len(after) == 0) || out.OK() != (out.Value != nil) || len(after) != len(out.Issues) {
			t.Fatalf("%s: issues %v, decoded %v", out.Payload, out.Issues, after)
		}
		if bytes.Equal(out.Payload, text) != (len(out.Repairs) == 0) && !sameJSON(out.Payload, text) {
			t.Fatalf("%s became %s by %v", text, out.Payload, out.Repairs)
		}
		if len(out.Repairs) > repair.MaxRepairs+32 {
			t.Fatalf("%d repairs", len(out.Repairs))
		}
		for _, r := range out.Repairs {
			if len(r.From) > 160 || len(r.To) > 160 || r.Rule == "" || r.Tier == "" {
				t.Fatalf("%+v", r)
			}
		}
		again := repair.Payload(spec, out.Payload, repair.Lossless)
		if !bytes.Equal(again.Payload, out.Payload) && out.OK() {
			t.Fatalf("%s is not stable: %s, %v", out.Payload, again.Payload, again.Repairs)
		}
		// What is JSON keeps every value that had no issue: only places of issues, or in them, may differ.
		if json.Valid(text) && out.OK() && !unwrapped(out.Repairs) {
			for _, r := range repair.Changes(spec, text, out.Payload, repair.TierLossless) {
				if !about(before, out.Repairs, r.Path) {
					t.Fatalf("%s became %s: %s had no issue: %v", text, out.Payload, r.Path, before)
				}
			}
		}
	})
}

func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

func unwrapped(repairs []tool.Repair) bool {
	for _, r := range repairs {
		if r.Path == "" {
			return true
		}
	}
	return false
}

// about reports whether an issue, or a repair that renamed, is about a place.
func about(issues tool.Issues, repairs []tool.Repair, path string) bool {
	at := func(place string) bool {
		return place == "" || path == place || len(path) > len(place) && path[:len(place)] == place && path[len(place)] == '/'
	}
	for _, i := range issues {
		if at(i.Path) {
			return true
		}
	}
	for _, r := range repairs {
		if (r.Rule == "field_name_spelling" || r.Rule == "field_name_misspelt" || r.Rule == "identical_duplicate") && at(r.Path) {
			return true
		}
	}
	return len(issues) >= tool.MaxIssues
}

// FuzzModel: whatever a model answers, what had no issue keeps its value.
func FuzzModel(f *testing.F) {
	specs := allSpecs()
	f.Add(uint8(0), []byte(`{"target":{"name":"Play","nth":"first"}}`), []byte(`{"target":{"name":"Play","nth":1}}`))
	f.Add(uint8(0), []byte(`{"target":{"name":"Play","nth":2},"button":"le`), []byte(`{"target":{"name":"Play","nth":2},"button":"left"}`))
	f.Fuzz(func(t *testing.T, i uint8, text, reply []byte) {
		spec := specs[int(i)%len(specs)]
		out := repair.Payload(spec, text, repair.Lossless)
		if out.OK() {
			return
		}
		got, err := repair.Model{Repairer: &script{replies: []string{string(reply), string(reply)}}}.Correct(t.Context(), spec, out)
		if err != nil {
			t.Fatal(err)
		}
		if !got.OK() {
			if !bytes.Equal(got.Payload, out.Payload) || len(got.Refusals) == 0 {
				t.Fatalf("%+v", got)
			}
			return
		}
		if _, issues := spec.Decode(got.Payload); len(issues) > 0 {
			t.Fatalf("%s was accepted: %v", got.Payload, issues)
		}
	})
}
