//go:build linux

package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Measures of the drawing, in pixels.
const (
	panelW, panelH   = 330, 220
	marginL, marginT = 52, 40
)

var colours = map[string]string{"step": "#1f6feb", "edit": "#1a7f37", "command": "#9a6700", "click": "#cf222e"}

// draw makes the curves: throughput and 95th percentile over the number of clients, both with logarithmic axes.
func draw(levels []level) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11"><rect width="100%%" height="100%%" fill="#fff"/>`+"\n",
		2*(panelW+marginL)+20, panelH+marginT+50)
	panel(&b, 0, "verified calls a second", levels, func(l level) float64 { return l.rate() })
	panel(&b, panelW+marginL, "95th percentile, ms", levels, func(l level) float64 { return percentile(l.Answered, 95).Seconds() * 1000 })
	x := marginL
	for _, s := range series {
		fmt.Fprintf(&b, `<rect x="%d" y="8" width="12" height="4" fill="%s"/><text x="%d" y="14">%s</text>`+"\n", x, colours[s.name], x+16, s.name)
		x += 90
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func panel(b *strings.Builder, left int, title string, levels []level, of func(level) float64) {
	xMax, yMax := 1.0, 1.0
	for _, l := range levels {
		xMax, yMax = max(xMax, math.Log2(float64(l.Concurrency))), max(yMax, math.Ceil(math.Log10(max(of(l), 1))))
	}
	px := func(c int) float64 { return float64(left+marginL) + math.Log2(float64(c))/xMax*(panelW-20) }
	py := func(v float64) float64 { return float64(marginT+panelH) - math.Log10(max(v, 1))/yMax*panelH }
	fmt.Fprintf(b, `<text x="%d" y="%d" font-weight="bold">%s</text>`+"\n", left+marginL, marginT-10, title)
	for e := 0.0; e <= yMax; e++ {
		y := py(math.Pow(10, e))
		fmt.Fprintf(b, `<path d="M%d %.1fh%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%.0f</text>`+"\n", left+marginL, y, panelW-20, left+marginL-5, y+4, math.Pow(10, e))
	}
	for c := 1; math.Log2(float64(c)) <= xMax; c *= 2 {
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%d</text>`+"\n", px(c), marginT+panelH+16, c)
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">clients</text>`+"\n", left+marginL+panelW/2, marginT+panelH+34)
	for _, s := range series {
		var points []string
		for _, l := range levels {
			if l.Series == s.name && len(l.Answered) > 0 {
				points = append(points, fmt.Sprintf("%.1f,%.1f", px(l.Concurrency), py(of(l))))
			}
		}
		points = slices.Clip(points)
		fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(points, " "), colours[s.name])
	}
}
