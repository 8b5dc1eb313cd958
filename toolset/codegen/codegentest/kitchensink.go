// Package codegentest hands the toolset that uses every construct of a design to the tests of other packages.
package codegentest

import (
	"toolsvc/tool"
	"toolsvc/toolset/codegen/internal/kitchensink/gen/toolsets/kitchen"
)

// KitchenSink lists the tools of the design in toolset/codegen/internal/kitchensink.
func KitchenSink() []*tool.Spec { return kitchen.Specs() }
