package terminal

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"toolsvc/narration"
	"toolsvc/tool"
)

const (
	gap      = "  "
	minWidth = 12 // columns that a title or a verdict keeps on the narrowest terminal
)

// Table prints the steps of a run as a table, with headings in the language. On a terminal titles, and then verdicts, are clipped so that a row
// fits into a line of 80 columns or more.
func Table(w io.Writer, lang string, rows []narration.Row) error {
	return TableWith(w, Detect(w), lang, rows)
}

// TableWith prints the table with these options.
func TableWith(w io.Writer, options Options, lang string, rows []narration.Row) error {
	cells := make([][]string, 0, len(rows)+1)
	var headings []string
	for _, c := range narration.Columns {
		headings = append(headings, c.Heading(lang))
	}
	cells = append(cells, headings)
	for _, r := range rows {
		cells = append(cells, cellsOf(r, lang))
	}
	widths := widthsOf(cells)
	if columns := options.columns(); columns > 0 {
		for _, c := range []int{titleColumn, verdictColumn} {
			over := max(total(widths)-(columns-1), 0) // the last column of the window stays free
			widths[c] = max(widths[c]-over, min(widths[c], minWidth))
		}
	}
	paint := painter(options.Color)
	var b strings.Builder
	for i, row := range cells {
		for len(row) > 1 && row[len(row)-1] == "" { // no spaces at the end of a line
			row = row[:len(row)-1]
		}
		for c, cell := range row {
			cell = fit(cell, widths[c])
			if c < len(row)-1 || rightAligned(c) {
				cell = pad(cell, widths[c], rightAligned(c))
			}
			switch {
			case i == 0:
				cell = paint(bold, cell)
			case c == verdictColumn:
				cell = paint(verdictColor(rows[i-1].Verdict), cell)
			}
			if c > 0 {
				b.WriteString(gap)
			}
			b.WriteString(cell)
		}
		b.WriteByte('\n')
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("print the table of steps: %w", err)
	}
	return nil
}

// The places of titles and verdicts in a row.
var (
	titleColumn   = slices.Index(narration.Columns, narration.ColumnTitle)
	verdictColumn = slices.Index(narration.Columns, narration.ColumnVerdict)
)

func cellsOf(r narration.Row, lang string) []string {
	attempts, took := "", ""
	if r.Verdict != "" {
		attempts, took = strconv.Itoa(r.Attempts), narration.Duration(r.Took, lang)
	}
	return []string{strconv.Itoa(r.Step), narration.Clean(r.Title), attempts, narration.Clean(r.Tried(lang)), verdictSymbol(r.Verdict) + " " + narration.Clean(r.Outcome(lang)), took}
}

func rightAligned(column int) bool {
	switch narration.Columns[column] {
	case narration.ColumnStep, narration.ColumnAttempts, narration.ColumnTime:
		return true
	}
	return false
}

func widthsOf(cells [][]string) []int {
	widths := make([]int, len(cells[0]))
	for _, row := range cells {
		for c, cell := range row {
			widths[c] = max(widths[c], columnsOf(cell))
		}
	}
	return widths
}

func total(widths []int) int {
	n := len(gap) * (len(widths) - 1)
	for _, w := range widths {
		n += w
	}
	return n
}

func verdictSymbol(v tool.Verdict) string {
	switch v {
	case tool.VerdictSuccess:
		return "✓"
	case tool.VerdictFailure:
		return "✗"
	case tool.VerdictUncertain:
		return "?"
	}
	return "-"
}

func verdictColor(v tool.Verdict) string {
	switch v {
	case tool.VerdictSuccess:
		return green
	case tool.VerdictFailure:
		return red
	case tool.VerdictUncertain:
		return yellow
	}
	return dim
}
