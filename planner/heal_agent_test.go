package planner

import (
	"testing"

	"toolsvc/tool"
)

// Asking for an answer alone dispatches nothing, so it is allowed after any effect, as long as attempts are left.
func TestDecideAsksForTheAnswerAgain(t *testing.T) {
	t.Parallel()
	malformed := tool.AttemptRecord{Number: 1, Source: tool.SourceSystem, Phase: tool.PhaseSettled, Effect: tool.EffectConfirmed, Failure: tool.MalformedResponse}
	for _, c := range []struct {
		name    string
		reask   bool
		healing bool
		most    int
		want    Action
	}{
		{"asked again", true, true, 3, ActionRetry},
		{"not an agent's answer", false, true, 3, ActionStop},
		{"no attempt left", true, true, 1, ActionStop},
		{"healing switched off", true, false, 3, ActionStop},
	} {
		for _, class := range tool.EffectClasses {
			s := Situation{Class: class, Sources: []tool.Source{tool.SourceSystem}, Attempts: []tool.AttemptRecord{malformed}, Healing: c.healing, Reask: c.reask, Most: c.most, Learns: true}
			if d := Decide(s); d.Action != c.want {
				t.Errorf("%s, %s: %s, because %s", c.name, class, d.Action, d.Why)
			}
		}
	}
}
