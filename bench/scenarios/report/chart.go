package report

import (
	"fmt"
	"html"
	"strings"
)

// The measures of the chart, in pixels.
const (
	chartWidth = 860
	plotLeft   = 250
	plotRight  = 800
	barHeight  = 18
	barGap     = 6
	groupGap   = 30
	chartTop   = 84
)

// Chart draws the shares of runs that succeeded, beside the published ones, with their confidence intervals, as SVG. It is readable on a
// light and on a dark ground: its colours follow the reader's.
func Chart(entries []Entry) string {
	type bar struct {
		label, class string
		percent      float64
		low, high    float64 // below 0: there is no interval
		note         string
	}
	var body strings.Builder
	y := chartTop
	for _, e := range entries {
		bars := []bar{{"published, without healing", "pub", e.PublishedSingle, -1, -1, fmt.Sprintf("%g %%", e.PublishedSingle)}}
		measured := func(label, class string, f Figures) {
			if f.Runs == 0 {
				return
			}
			low, high := Wilson(f.Success, f.Runs)
			bars = append(bars, bar{label, class, Share(f.Success, f.Runs), 100 * low, 100 * high, fmt.Sprintf("%.1f %%", Share(f.Success, f.Runs))})
		}
		measured("toolsvc, one attempt", "one", e.Single)
		bars = append(bars, bar{"published, with healing", "pub", e.PublishedHealing, -1, -1, fmt.Sprintf("%g %%", e.PublishedHealing)})
		measured("toolsvc, healing", "heal", e.Healing)
		fmt.Fprintf(&body, `<text class="group" x="24" y="%d">%s</text>`+"\n", y-8, html.EscapeString(e.Title))
		for _, r := range bars {
			middle := y + barHeight/2
			fmt.Fprintf(&body, `<text class="label" x="%d" y="%d">%s</text>`+"\n", plotLeft-10, middle+4, html.EscapeString(r.label))
			fmt.Fprintf(&body, `<rect class="%s" x="%d" y="%d" width="%.1f" height="%d" rx="3"/>`+"\n", r.class, plotLeft, y, wide(r.percent), barHeight)
			end := wide(r.percent)
			if r.low >= 0 {
				fmt.Fprintf(&body, `<path class="ci" d="M%.1f %dH%.1fM%.1f %dv8M%.1f %dv8"/>`+"\n", plotLeft+wide(r.low), middle, plotLeft+wide(r.high),
					plotLeft+wide(r.low), middle-4, plotLeft+wide(r.high), middle-4)
				end = max(end, wide(r.high))
			}
			fmt.Fprintf(&body, `<text class="value" x="%.1f" y="%d">%s</text>`+"\n", plotLeft+end+7, middle+4, html.EscapeString(r.note))
			y += barHeight + barGap
		}
		y += groupGap
	}
	height := y
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-labelledby="t d">`+"\n", chartWidth, height, chartWidth, height)
	b.WriteString(`<title id="t">Runs that succeeded in the three published scenarios</title>` + "\n")
	fmt.Fprintf(&b, `<desc id="d">%s</desc>`+"\n", html.EscapeString(describe(entries)))
	b.WriteString(`<style>
svg { --ink: #1d2433; --soft: #5b6478; --grid: #e1e5ec; --pub: #b6bdca; --one: #e0a13c; --heal: #14805a; --ci: #1d2433; font: 13px system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { svg { --ink: #e8ecf4; --soft: #a9b2c3; --grid: #333b4a; --pub: #5d6677; --one: #d9962b; --heal: #2fb380; --ci: #e8ecf4; } }
text { fill: var(--ink); } .title { font-size: 17px; font-weight: 650; } .group { font-weight: 650; } .label { fill: var(--soft); text-anchor: end; }
.tick { fill: var(--soft); text-anchor: middle; font-size: 11px; } .value { font-variant-numeric: tabular-nums; } .sub { fill: var(--soft); }
.grid { stroke: var(--grid); fill: none; } .pub { fill: var(--pub); } .one { fill: var(--one); } .heal { fill: var(--heal); } .ci { stroke: var(--ci); stroke-width: 1.5; fill: none; }
</style>
`)
	b.WriteString(`<text class="title" x="24" y="30">Runs that succeeded, with faults injected at the published rates</text>` + "\n")
	fmt.Fprintf(&b, `<text class="sub" x="24" y="50">%s</text>`+"\n", html.EscapeString(counts(entries)))
	for p := 0; p <= 100; p += 20 {
		x := float64(plotLeft) + wide(float64(p))
		fmt.Fprintf(&b, `<path class="grid" d="M%.1f %dV%d"/><text class="tick" x="%.1f" y="%d">%d</text>`+"\n", x, chartTop-14, height-24, x, height-8, p)
	}
	b.WriteString(body.String())
	b.WriteString("</svg>\n")
	return b.String()
}

// wide is the width of a share in percent.
func wide(percent float64) float64 { return percent / 100 * (plotRight - plotLeft) }

// counts says how much was measured.
func counts(entries []Entry) string {
	single, healing := 0, 0
	for _, e := range entries {
		single, healing = single+e.Single.Runs, healing+e.Healing.Runs
	}
	return fmt.Sprintf("%d runs with one attempt a step, %d with healing; lines are 95 %% confidence intervals (Wilson); in percent", single, healing)
}

// describe says the chart in words.
func describe(entries []Entry) string {
	var parts []string
	for _, e := range entries {
		parts = append(parts, fmt.Sprintf("%s: one attempt %.1f %% (published %g %%), healing %.1f %% (published %g %%)", e.Title,
			Share(e.Single.Success, e.Single.Runs), e.PublishedSingle, Share(e.Healing.Success, e.Healing.Runs), e.PublishedHealing))
	}
	return strings.Join(parts, "; ") + "."
}
