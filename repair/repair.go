package repair

import (
	"encoding/json"

	"toolsvc/tool"
)

// Level says how far [Payload] may go.
type Level uint8

// The levels; each includes the ones before it.
const (
	// None decodes only.
	None Level = iota
	// Syntax corrects text that is not JSON.
	Syntax
	// Lossless also corrects types and spellings. It is the default of every surface.
	Lossless
)

// The tiers that a [tool.Repair] names.
const (
	TierSyntax   = "syntax"
	TierLossless = "lossless"
	TierModel    = "model"
	TierPerson   = "person"
)

// Outcome is what became of a payload.
type Outcome struct {
	// Payload is the text as far as it could be corrected: the text that was given when nothing was. Issues count their offsets in it, so
	// it is also what a hint shows as the prior input.
	Payload json.RawMessage
	// Value is the decoded payload, with defaults filled in; nil while there are issues.
	Value tool.Payload
	// Repairs are the corrections that lead from the text that was given to Payload, in the order of their making.
	Repairs []tool.Repair
	// Issues are what is still wrong; none when the payload is valid.
	Issues tool.Issues
}

// OK reports whether the payload is valid, as it came or after correction.
func (o Outcome) OK() bool { return len(o.Issues) == 0 }

// Payload decodes a payload and, where that fails, corrects it as far as level allows. It depends on nothing but its arguments.
func Payload(spec *tool.Spec, raw []byte, level Level) Outcome {
	value, issues := spec.Decode(raw)
	out := Outcome{Payload: raw, Value: value, Issues: issues}
	if len(issues) == 0 || level == None {
		return out
	}
	out.Value = nil // a nil pointer in an interface is not nil
	c := &corrector{spec: spec, schema: schemaOf(spec)}
	root, notes, ok := c.read(raw)
	if !ok {
		return out
	}
	if len(notes) > 0 {
		out = c.decode(root)
		out.Repairs = c.records(notes)
	}
	if out.OK() || level < Lossless {
		return out
	}
	return c.lossless(root, out)
}

// corrector corrects one payload.
type corrector struct {
	spec   *tool.Spec
	schema *schema
}

// decode renders a document and decodes it.
func (c *corrector) decode(root *node) Outcome {
	text := root.json()
	value, issues := c.spec.Decode(text)
	if len(issues) > 0 {
		value = nil
	}
	return Outcome{Payload: text, Value: value, Issues: issues}
}
