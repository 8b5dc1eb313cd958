package browser

import (
	"testing"
	"time"

	"toolsvc/tool"
)

func TestDecideEffect(t *testing.T) {
	t.Parallel()
	long := patience + time.Millisecond
	for _, c := range []struct {
		name    string
		facts   facts
		effect  tool.Effect
		changed bool
	}{
		{"reacted", facts{Delivered: true, Mutations: 1}, tool.EffectConfirmed, true},
		{"requests only", facts{Delivered: true, Requests: 1}, tool.EffectConfirmed, true},
		{"left the page", facts{Navigated: true, Blind: true}, tool.EffectConfirmed, true},
		{"a dialog", facts{Delivered: true, Dialogs: 1}, tool.EffectConfirmed, true},
		{"pixels only", facts{Delivered: true, Opaque: true, Compared: true, Pixels: 0.001}, tool.EffectConfirmed, true},
		{"perhaps the page's own", facts{Delivered: true, Mutations: 1, Unsure: true}, tool.EffectUnknown, true},
		{"refused, and nothing else", facts{Delivered: true, Requests: 2, Refused: 2}, tool.EffectUnknown, false},
		{"refused, and taken back", facts{Delivered: true, Requests: 1, Refused: 1, Mutations: 1, Passed: 1}, tool.EffectUnknown, false},
		{"refused, and said so", facts{Delivered: true, Requests: 1, Refused: 1, Mutations: 1}, tool.EffectConfirmed, true},
		{"one of two refused", facts{Delivered: true, Requests: 2, Refused: 1}, tool.EffectConfirmed, true},
		{"not answered", facts{Delivered: true, Requests: 1, Mutations: 1, Unanswered: true}, tool.EffectUnknown, false},
		{"nobody listens", facts{Delivered: true, Watched: 100 * time.Millisecond}, tool.EffectNone, false},
		{"somebody listens, watched long", facts{Delivered: true, Listens: true, Watched: long}, tool.EffectNone, false},
		{"somebody listens, watched briefly", facts{Delivered: true, Listens: true, Watched: 100 * time.Millisecond}, tool.EffectUnknown, false},
		{"stopped by the guard", facts{Blocked: true}, tool.EffectNone, false},
		{"stopped, but something changed", facts{Blocked: true, Mutations: 1}, tool.EffectConfirmed, true},
		{"not delivered", facts{}, tool.EffectNone, false},
		{"record lost", facts{Blind: true}, tool.EffectUnknown, false},
		{"canvas, not compared", facts{Delivered: true, Opaque: true, Watched: long}, tool.EffectUnknown, false},
		{"canvas, compared", facts{Delivered: true, Opaque: true, Compared: true, Watched: long}, tool.EffectNone, false},
		{"canvas that never rests", facts{Delivered: true, Opaque: true, Compared: true, Restless: true, Watched: long}, tool.EffectUnknown, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			effect, changed, proof := c.facts.decide()
			if effect != c.effect || changed != c.changed || proof == "" {
				t.Errorf("got %s, %t, %q; want %s, %t", effect, changed, proof, c.effect, c.changed)
			}
		})
	}
}
