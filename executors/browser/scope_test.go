package browser

import (
	"fmt"
	"strings"
	"testing"

	"toolsvc/tool"
)

// A search within a part of the page looks there only, and must see all that the search of the whole page would.
func TestSearchWithinAPart(t *testing.T) {
	t.Parallel()
	button := func(id string) string {
		return `<button onclick="window.hit='` + id + `';this.title='x'">Play</button>`
	}
	for _, c := range []struct{ name, body, within, hit string }{
		{"label", `<section aria-label="Now playing">` + button("a") + `</section><section aria-label=Queue>` + button("b") + `</section>`, "Now playing", "a"},
		{"heading beside", `<div><h2>Now playing</h2><p>x</p><div>` + button("a") + `</div></div><div><h2>Queue</h2>` + button("b") + `</div>`, "Now playing", "a"},
		{"heading of inline parts", `<div><h2>Now <b>playing</b></h2>` + button("a") + `</div><div><h2>Queue</h2>` + button("b") + `</div>`, "Now playing", "a"},
		{"labelled by", `<span id=l>Now playing</span><div role=group aria-labelledby=l>` + button("a") + `</div><div role=group aria-label=Queue>` + button("b") + `</div>`, "Now playing", "a"},
		{"row", `<table><tr><td>Track 1<td>` + button("a") + `<tr><td>Track 2<td>` + button("b") + `</table>`, "Track 2", "b"},
		{"dialog", button("b") + `<div role=dialog aria-label="Now playing"><header><h2>Song</h2></header>` + button("a") + `</div>`, "Song", "a"},
		{"legend", `<fieldset><legend>Left</legend>` + button("a") + `</fieldset><fieldset><legend>Right</legend>` + button("b") + `</fieldset>`, "Right", "b"},
		{"other case and spaces", `<section aria-label="NOW  Playing">` + button("a") + `</section><section aria-label=Queue>` + button("b") + `</section>`, "now playing", "a"},
		{"two of the name, named otherwise", `<section aria-label="Now playing">` + button("a") + `</section><div><h2>Now playing</h2>` + button("b") + `</div>`, "Now playing", ""},
		{"shadow tree", `<section aria-label="Now playing"><x-a></x-a></section>` + button("b") + `<script>customElements.define('x-a',class extends HTMLElement{constructor(){super();this.attachShadow({mode:'open'}).innerHTML='<button>Play</button>';this.shadowRoot.firstChild.onclick=e=>{window.hit='a';e.target.title='x'}}})</script>`, "Now playing", "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := open(t, c.body)
			d := p.by(tool.SourceCDP, "click", clickOn("Play", "within", c.within))
			if c.hit == "" {
				d.fails(t, tool.AmbiguousTarget)
				return
			}
			if d.err != nil || p.truth("window.hit") != c.hit {
				t.Errorf("%v, hit %s", d.err, p.truth("window.hit"))
			}
		})
	}
}

// Names are found whatever characters they are made of, and however their text is broken up.
func TestNamesOfAllKinds(t *testing.T) {
	t.Parallel()
	names := []string{"a.b*c(d)[e]", "C++ \\ /", "Straße", "ΣΊΣΥΦΟΣ", "İstanbul", "再生する", "تشغيل", "🎵 Play", strings.Repeat("long ", 60) + "name"}
	var body strings.Builder
	for i, n := range names {
		fmt.Fprintf(&body, `<button onclick="window.hit=%d;this.title='x'">%s</button>`, i, n)
	}
	p := open(t, body.String()+`<button onclick="window.hit='split';this.title='x'">Shuf<b>fle</b> <i>all</i></button>`)
	for i, n := range names {
		if d := p.by(tool.SourceCDP, "click", clickOn(n)); d.err != nil || p.truth("window.hit") != fmt.Sprint(i) {
			t.Errorf("%s: %v, hit %s", n, d.err, p.truth("window.hit"))
		}
	}
	if d := p.by(tool.SourceCDP, "click", clickOn("shuffle all")); d.err != nil || p.truth("window.hit") != "split" {
		t.Errorf("%v, hit %s", d.err, p.truth("window.hit"))
	}
}

// A region is not its heading, where the region is asked for.
func TestRegionOfItsHeadingsName(t *testing.T) {
	t.Parallel()
	p := open(t, `<section aria-label=Done style="height:200px" onclick="window.hit=event.target.tagName;this.title='x'"><h3>Done</h3></section>`)
	if d := p.by(tool.SourceCDP, "click", clickOn("Done", "role", "region")); d.err != nil || p.truth("window.hit") != "SECTION" {
		t.Errorf("%v, hit %s", d.err, p.truth("window.hit"))
	}
}
