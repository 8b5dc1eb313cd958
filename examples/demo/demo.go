// Package demo holds the plan that `toolsvc demo` runs against the demo shop of the failure gym.
package demo

import (
	"bytes"
	_ "embed" // the plan
	"io"
)

//go:embed plan.yaml
var plan []byte

// Plan is the demo's plan.
func Plan() io.Reader { return bytes.NewReader(plan) }
