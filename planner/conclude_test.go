package planner

import (
	"encoding/json"
	"testing"

	"toolsvc/tool"
)

// What the tool itself finds wrong in a payload reaches the caller as issues, as what the decoder finds does.
func TestHintOfAPayloadThatTheToolRefuses(t *testing.T) {
	t.Parallel()
	issue := tool.Issue{Path: "/cents", Constraint: tool.ConstraintTool, Message: "only 3000 cents are left."}
	spec := &tool.Spec{ID: "orders.refund", Example: json.RawMessage(`{"cents":1}`)}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"with its place":    {&tool.Failed{Failure: tool.InvalidArguments, Message: "too much", Cause: tool.Issues{issue}}, "/cents"},
		"without its place": {tool.Failf(tool.InvalidArguments, "too much"), ""},
	} {
		rep := Report{Record: tool.AttemptRecord{Number: 1, Source: tool.SourceSystem, Phase: tool.PhaseResolved, Effect: tool.EffectNone}}.failed(t.Context(), c.err)
		res := Conclude(spec, Conclusion{RunID: "r_1", Step: Step{CallID: "c_1", Tool: spec.ID, Arguments: json.RawMessage(`{"cents":9000}`)},
			Reports: []Report{rep}, Decision: Decision{Action: ActionStop, Failure: tool.InvalidArguments}})
		h := res.RetryHint.Fields()
		if h.Reason != tool.ReasonInvalidArguments || len(h.Issues) != 1 || h.Issues[0].Path != c.want || !h.RestrictToTool || string(h.PriorInput) != `{"cents":9000}` {
			t.Errorf("%s: %+v", name, h)
		}
	}
}
