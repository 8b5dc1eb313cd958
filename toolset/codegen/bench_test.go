package codegen_test

import (
	"bytes"
	"encoding/json"
	"syscall"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"toolsvc/gen/toolsets/browser"
	"toolsvc/toolset/codegen/internal/peers/gen/http/forms/server"
	"toolsvc/toolset/codegen/internal/peers/gen/toolsets/forms"
)

// click is a small payload, and form a nested one of 1.8 KB.
var (
	click = []byte(`{"target":{"name":"Play","role":"button","within":"Now playing"},"button":"left"}`)
	form  = makeForm()
)

func makeForm() []byte {
	field := func(name, kind, value string) map[string]any {
		return map[string]any{"name": name, "kind": kind, "value": value, "confidence": 0.93, "tags": []string{"seen", "in-view"},
			"target": map[string]any{"name": "The field " + name, "role": "textbox", "within": "Delivery address", "nth": 1}}
	}
	doc := map[string]any{
		"session_id": "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
		"url":        "https://shop.example.com/checkout?step=2",
		"since":      "2026-11-21T09:30:00Z",
		"labels":     map[string]string{"customer": "c_17", "campaign": "autumn"},
		"submit":     map[string]any{"name": "Continue", "role": "button"},
		"dry_run":    true,
		"fields": []any{field("first_name", "text", "Ada"), field("last_name", "text", "Lovelace"), field("street", "text", "12 St James's Square"),
			field("city", "text", "London"), field("postcode", "text", "SW1Y 4JH"), field("country", "select", "United Kingdom"), field("terms", "checkbox", "on"),
			field("newsletter", "checkbox", "off")},
	}
	text, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	return text
}

// BenchmarkValidate decodes and validates a payload in three ways: with the generated decoder; with encoding/json and Goa's generated
// validators, which stop at the first wrong type and name no path; and with encoding/json and a JSON Schema engine, which gives no
// typed value. See peers.md for the aims.
func BenchmarkValidate(b *testing.B) {
	b.Run("click/toolsvc", func(b *testing.B) {
		run(b, click, func() error { _, is := forms.ClickSpec.Decode(click); return is.Err() })
	})
	b.Run("click/toolsvc-browser", func(b *testing.B) {
		run(b, click, func() error { _, is := browser.ClickSpec.Decode(click); return is.Err() })
	})
	b.Run("click/goa", func(b *testing.B) {
		run(b, click, func() error {
			var body server.ClickRequestBody
			if err := json.Unmarshal(click, &body); err != nil {
				return err
			}
			if err := server.ValidateClickRequestBody(&body); err != nil {
				return err
			}
			server.NewClickInput(&body)
			return nil
		})
	})
	b.Run("click/jsonschema", func(b *testing.B) { engine(b, forms.ClickSpec.PayloadSchema, click) })
	b.Run("form/toolsvc", func(b *testing.B) {
		run(b, form, func() error { _, is := forms.FillFormSpec.Decode(form); return is.Err() })
	})
	b.Run("form/goa", func(b *testing.B) {
		run(b, form, func() error {
			var body server.FillFormRequestBody
			if err := json.Unmarshal(form, &body); err != nil {
				return err
			}
			if err := server.ValidateFillFormRequestBody(&body); err != nil {
				return err
			}
			server.NewFillFormFormInput(&body)
			return nil
		})
	})
	b.Run("form/jsonschema", func(b *testing.B) { engine(b, forms.FillFormSpec.PayloadSchema, form) })
}

// run also reports the processor time of an operation, garbage collection included: on a shared machine it is the steadier figure.
func run(b *testing.B, text []byte, f func() error) {
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	before := processorTime(b)
	for b.Loop() {
		if err := f(); err != nil {
			b.Fatal(err)
		}
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

func engine(b *testing.B, schema, text []byte) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		b.Fatal(err)
	}
	if err := c.AddResource("mem:schema", doc); err != nil {
		b.Fatal(err)
	}
	s, err := c.Compile("mem:schema")
	if err != nil {
		b.Fatal(err)
	}
	run(b, text, func() error {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return err
		}
		return s.Validate(v)
	})
}
