// Package design declares toolsvc's API, its services and its toolsets, in Goa's DSL and in the toolset DSL. It holds declarations
// only; `make gen` turns it into gen/.
package design

import (
	. "goa.design/goa/v3/dsl"

	_ "toolsvc/tools/openapiembed" // puts the OpenAPI description into a Go package
)

var _ = API("toolsvc", func() {
	Title("toolsvc")
	Description("Tools for agents that repair, verify and heal.")
	Version("1")
	Meta("openapi:example", "false")              // Goa invents examples; ours stand with the tools
	Meta("protoc:cmd", "go", "tool", "protolite") // no protoc on the user's machine
	Server("toolsvc", func() {
		Services("tools", "runs")
		Host("localhost", func() {
			URI("http://127.0.0.1:7070")
			URI("grpc://127.0.0.1:7071")
		})
	})
})
