package report

import (
	"errors"
	"fmt"
	"strings"
)

// Entry is what is reported of one scenario.
type Entry struct {
	Name, Title                       string
	PublishedSingle, PublishedHealing float64
	Single, Healing                   Figures
}

// The marks between which the table stands in a document.
const (
	markBegin = "<!-- scenarios: written by go run ./bench/scenarios -docs -->"
	markEnd   = "<!-- /scenarios -->"
)

// Table is the figures as Markdown.
func Table(entries []Entry) string {
	var b strings.Builder
	b.WriteString("| scenario | mode | published | measured | 95 % interval | false successes | wrong actions | duplicate effects | attempts 1 / 2 / 3 | median | p95 |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, e := range entries {
		for _, m := range []struct {
			name      string
			published float64
			f         Figures
		}{{"one attempt", e.PublishedSingle, e.Single}, {"healing", e.PublishedHealing, e.Healing}} {
			if m.f.Runs == 0 {
				continue
			}
			low, high := Wilson(m.f.Success, m.f.Runs)
			fmt.Fprintf(&b, "| %s | %s | %g %% | %d of %d (%.1f %%) | %.1f–%.1f %% | %d | %d | %d | %d / %d / %d | %s | %s |\n", e.Title, m.name, m.published,
				m.f.Success, m.f.Runs, Share(m.f.Success, m.f.Runs), 100*low, 100*high, m.f.FalseSuccess, m.f.Wrong, m.f.Double,
				m.f.Attempts[1], m.f.Attempts[2], m.f.Attempts[3], seconds(m.f.Median), seconds(m.f.P95))
		}
	}
	return b.String()
}

// Share is k of n in percent; 0 of none.
func Share(k, n int) float64 {
	if n == 0 {
		return 0
	}
	return 100 * float64(k) / float64(n)
}

func seconds(ms int64) string { return fmt.Sprintf("%.1f s", float64(ms)/1000) }

// Put replaces what stands between the marks of a document by the text.
func Put(document, text string) (string, error) {
	before, rest, ok := strings.Cut(document, markBegin)
	_, after, ok2 := strings.Cut(rest, markEnd)
	if !ok || !ok2 {
		return "", errors.New("the document has no place for the table: it needs the lines " + markBegin + " and " + markEnd)
	}
	return before + markBegin + "\n\n" + strings.TrimRight(text, "\n") + "\n\n" + markEnd + after, nil
}
