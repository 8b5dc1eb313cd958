package browser

import (
	"testing"

	"toolsvc/tool"
)

const counter = `<main aria-label="Now playing"><button onclick="window.n=(window.n||0)+1;out.textContent='played '+n">Play</button><p id=out></p></main>`

func TestClickReacts(t *testing.T) {
	t.Parallel()
	for _, src := range []tool.Source{tool.SourceAX, tool.SourceCDP} {
		t.Run(string(src), func(t *testing.T) {
			t.Parallel()
			p := open(t, counter)
			d := p.by(src, "click", clickOn("Play", "role", "button")).must(t, tool.EffectConfirmed)
			if got := p.truth("window.n"); got != "1" {
				t.Errorf("clicked %s times", got)
			}
			if at(t, d.after, "effect", "delivered") != true || at(t, d.after, "effect", "changed") != true || at(t, d.before, "effect", "changed") != false {
				t.Errorf("evidence before %v after %v", d.before.Values["effect"], d.after.Values["effect"])
			}
			t.Logf("%s: %s", d.took, d.out.Proof)
		})
	}
}
