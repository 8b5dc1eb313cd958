package repair_test

import (
	"strings"
	"testing"

	"toolsvc/repair"
)

// BenchmarkPayload: a valid payload costs what decoding it costs; others are repaired in a fraction of a millisecond.
func BenchmarkPayload(b *testing.B) {
	spec := specOf(b, "browser.click")
	valid := []byte(`{"target":{"name":"Play","role":"button","within":"Now playing"},"button":"left"}`)
	b.Run("valid/decoder", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, issues := spec.Decode(valid); len(issues) > 0 {
				b.Fatal(issues)
			}
		}
	})
	for _, c := range []struct {
		name, text string
		ok         bool
	}{
		{"valid/repair", string(valid), true},
		{"syntax", `{'target':{'name':'Play','role':'button','within':'Now playing'},'button':'left',}`, true},
		{"lossless", `{"target":{"name":"Play","role":"button","within":"Now playing","nth":"1"},"button":"LEFT"}`, true},
		{"wrapped", `{"arguments":"{\"target\":{\"name\":\"Play\",\"role\":\"button\"}}"}`, true},
		{"bracket", `{"target":{"name":"Play","role":"button","within":"Now playing","button":"left"}`, true},
		{"hopeless", `{"target":{"role":"button"},"colour":"red"}`, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if out := repair.Payload(spec, []byte(c.text), repair.Lossless); out.OK() != c.ok {
					b.Fatal(out.Issues)
				}
			}
		})
	}
	// The largest payloads, broken in the ways that take most work.
	containers := specOf(b, "kitchen.containers")
	for name, text := range map[string]string{
		"large/quotes":     `{'anything':[` + strings.Repeat(`{'a':'b'},`, 90_000) + `]}`,
		"large/never":      `{"anything":[` + strings.Repeat(`{"a":"b"},`, 90_000),
		"large/duplicates": `{"anything":` + strings.Repeat(`"x`, 1) + strings.Repeat(`y`, 900_000) + `","tags":["a"],"tags":["a"]}`,
		"large/issues":     `{"points":[` + strings.TrimSuffix(strings.Repeat(`{"x":"1"},`, 90_000), ",") + `]}`,
		"large/trials":     `{"list":"[\"a\"]","tags":"[\"a\"]","anythings":"[1]","anything":"` + strings.Repeat("y", 900_000) + `"}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				repair.Payload(containers, []byte(text), repair.Lossless)
			}
		})
	}
}
