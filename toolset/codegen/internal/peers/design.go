// Package peers declares two payloads twice: as tools of a toolset, and as payloads of a Goa service over HTTP. The benchmark of
// package codegen decodes the same text with the generated decoder, with encoding/json and Goa's generated validators, and with a
// JSON Schema engine. What is generated stands in gen/; go test ./toolset/codegen -update writes it.
package peers

import (
	. "goa.design/goa/v3/dsl"

	. "toolsvc/toolset/dsl"
)

// GenPackage is the import path of gen/.
const GenPackage = "toolsvc/toolset/codegen/internal/peers/gen"

// Design declares the toolset and the service.
func Design() {
	var Target = Type("Target", func() {
		Attribute("name", String, func() {
			MinLength(1)
			MaxLength(500)
		})
		Attribute("role", String, func() {
			Pattern(`^[a-z]+$`)
			MaxLength(40)
		})
		Attribute("within", String, func() {
			MinLength(1)
			MaxLength(500)
		})
		Attribute("nth", Int, func() {
			Minimum(1)
			Maximum(10000)
		})
		Required("name")
	})
	var Click = Type("ClickInput", func() {
		Attribute("target", Target)
		Attribute("button", String, func() {
			Enum("left", "right", "middle")
			Default("left")
		})
		Required("target")
		Example(Val{"target": Val{"name": "Play"}})
	})
	var Field = Type("Field", func() {
		Attribute("name", String, func() {
			MinLength(1)
			MaxLength(64)
		})
		Attribute("kind", String, func() { Enum("text", "checkbox", "radio", "select", "slider") })
		Attribute("target", Target)
		Attribute("value", String, func() { MaxLength(4096) })
		Attribute("confidence", Float64, func() {
			ExclusiveMinimum(0)
			Maximum(1)
		})
		Attribute("tags", ArrayOf(String, func() {
			Pattern(`^[a-z][a-z0-9_-]*$`)
			MaxLength(32)
		}), func() { MaxLength(8) })
		Required("name", "kind", "target", "value")
	})
	var FillForm = Type("FormInput", func() {
		Attribute("session_id", String, func() { Format(FormatUUID) })
		Attribute("url", String, func() {
			Format(FormatURI)
			MaxLength(2048)
		})
		Attribute("fields", ArrayOf(Field), func() {
			MinLength(1)
			MaxLength(50)
		})
		Attribute("submit", Target)
		Attribute("since", String, func() { Format(FormatDateTime) })
		Attribute("labels", MapOf(String, String), func() { MaxLength(16) })
		Attribute("dry_run", Boolean, func() { Default(false) })
		Required("session_id", "fields")
		Example(Val{"session_id": "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
			"fields": []Val{{"name": "a", "kind": "text", "target": Val{"name": "A"}, "value": "x"}}})
	})

	Toolset("forms", func() {
		Description("Payloads to measure.")
		Tool("click", "A small payload.", func() {
			Args(Click)
			Effect(ReadOnly)
		})
		Tool("fill_form", "A nested payload.", func() {
			Args(FillForm)
			Effect(ReadOnly)
		})
	})

	Service("forms", func() {
		Method("click", func() {
			Payload(Click)
			HTTP(func() { POST("/click") })
		})
		Method("fill_form", func() {
			Payload(FillForm)
			HTTP(func() { POST("/fill_form") })
		})
	})
}
