package repair_test

import (
	"strings"
	"syscall"
	"testing"

	"toolsvc/repair"
)

// timed also reports the processor time of an operation: on a shared machine it is the steadier figure.
func timed(b *testing.B, f func()) {
	b.ReportAllocs()
	before := processorTime(b)
	for b.Loop() {
		f()
	}
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
}

func processorTime(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkPayload: a valid payload costs what decoding it costs; others are repaired in a fraction of a millisecond, and the largest ones
// in a fraction of a second, whatever is wrong with them.
func BenchmarkPayload(b *testing.B) {
	spec := specOf(b, "browser.click")
	valid := []byte(`{"target":{"name":"Play","role":"button","within":"Now playing"},"button":"left"}`)
	b.Run("valid/decoder", func(b *testing.B) {
		timed(b, func() {
			if _, issues := spec.Decode(valid); len(issues) > 0 {
				b.Fatal(issues)
			}
		})
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
			text := []byte(c.text)
			timed(b, func() {
				if out := repair.Payload(spec, text, repair.Lossless); out.OK() != c.ok {
					b.Fatal(out.Issues)
				}
			})
		})
	}
	// The largest payloads, broken in the ways that take most work.
	containers := specOf(b, "kitchen.containers")
	for name, text := range map[string]string{
		"large/quotes":     `{'anything':[` + strings.Repeat(`{'a':'b'},`, 90_000) + `]}`,
		"large/never":      `{"anything":[` + strings.Repeat(`{"a":"b"},`, 90_000),
		"large/duplicates": `{"anything":"` + strings.Repeat("y", 900_000) + `","tags":["a"],"tags":["a"]}`,
		"large/issues":     `{"points":[` + strings.TrimSuffix(strings.Repeat(`{"x":"1"},`, 90_000), ",") + `]}`,
		"large/bracket":    `{"anything":["` + strings.Repeat("y", 7_000) + `"` + strings.Repeat(`,{"a":1}`, 60) + `,"tags":["a"]}`,
		"large/trials":     `{"list":"[\"a\"]","tags":"[\"a\"]","anythings":"[1]","anything":"` + strings.Repeat("y", 900_000) + `"}`,
	} {
		b.Run(name, func(b *testing.B) {
			timed(b, func() { repair.Payload(containers, []byte(text), repair.Lossless) })
		})
	}
}
