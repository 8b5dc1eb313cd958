package planner

import (
	"testing"

	"toolsvc/tool"
)

func TestCombine(t *testing.T) {
	t.Parallel()
	const s, f, u = tool.VerdictSuccess, tool.VerdictFailure, tool.VerdictUncertain
	for _, c := range []struct {
		name       string
		conditions tool.Verdict
		model      tool.Verdict
		confidence float64
		threshold  float64
		want       tool.Verdict
		agrees     bool
	}{
		{"a failed condition stands", f, s, 1, 0, f, false},
		{"both say failure", f, f, 1, 0, f, true},
		{"open, and the model is sure of success", u, s, 0.9, 0, s, false},
		{"open, and the model is sure of failure", u, f, 0.9, 0, f, false},
		{"open, and the model is not sure enough", u, s, 0.69, 0, u, false},
		{"open, below a stricter threshold", u, s, 0.9, 0.95, u, false},
		{"open, and the model does not know", u, u, 1, 0, u, true},
		{"proven, and the model agrees", s, s, 0.8, 0, s, true},
		{"proven, and the model is sure of the contrary", s, f, 0.8, 0, u, false},
		{"proven, and the model doubts", s, f, 0.5, 0, s, false},
		{"proven, and the model does not know", s, u, 0, 0, s, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := combine(tool.Verification{Verdict: c.conditions, Confidence: 1, Explanation: "e"}, tool.Opinion{Verdict: c.model, Confidence: c.confidence, Model: "m"}, c.threshold)
			if v.Verdict != c.want || v.Opinion == nil || v.Opinion.Agrees != c.agrees {
				t.Errorf("got %+v %+v", v, v.Opinion)
			}
		})
	}
}

func TestModelIsAskedOnlyWhereItMayDecide(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode tool.VerifyMode
		v    tool.Verdict
		want bool
	}{
		{"", tool.VerdictUncertain, true}, {"", tool.VerdictSuccess, false}, {"", tool.VerdictFailure, false},
		{tool.VerifyAlways, tool.VerdictSuccess, true}, {tool.VerifyAlways, tool.VerdictFailure, false}, {tool.VerifyAlways, tool.VerdictUncertain, true},
		{tool.VerifyNever, tool.VerdictUncertain, false},
	} {
		if got := wanted(c.mode, c.v); got != c.want {
			t.Errorf("%q, %s: %t", c.mode, c.v, got)
		}
	}
}
