package ocr

import (
	"slices"
	"strings"
)

// readable reports whether a run is text rather than an icon or a pattern that was read as
// characters.
func readable(r *run) bool {
	text := squeeze(fold(r.text()))
	switch n := len([]rune(text)); {
	case n == 0:
		return false
	case n <= 2:
		return leastSure(r.words) >= 75
	}
	sum := 0.0
	for _, w := range r.words {
		sum += w.sure
	}
	return sum/float64(len(r.words)) >= 50
}

// textLines puts labels into lines from top to bottom, and in a line from left to right.
func textLines(runs []run) []string {
	slices.SortFunc(runs, func(a, b run) int { return a.box.Min.Y + a.box.Max.Y - b.box.Min.Y - b.box.Max.Y })
	var lines [][]run
	for _, r := range runs {
		if n := len(lines); n > 0 {
			last := lines[n-1][0].box
			if common := min(last.Max.Y, r.box.Max.Y) - max(last.Min.Y, r.box.Min.Y); common*2 >= min(last.Dy(), r.box.Dy()) {
				lines[n-1] = append(lines[n-1], r)
				continue
			}
		}
		lines = append(lines, []run{r})
	}
	var out []string
	for _, line := range lines {
		slices.SortFunc(line, func(a, b run) int { return a.box.Min.X - b.box.Min.X })
		texts := make([]string, len(line))
		for i := range line {
			texts[i] = line[i].text()
		}
		out = append(out, strings.Join(texts, "  "))
	}
	return out
}
