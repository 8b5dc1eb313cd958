package narration

import (
	"time"

	"toolsvc/tool"
)

// Row is a step in the table that ends a run.
type Row struct {
	Step     int
	Title    string
	Attempts int
	// Sources are those that were tried, in order.
	Sources []tool.Source
	// Verdict is "" when the step did not run.
	Verdict tool.Verdict
	// Failure is what the step failed with; "" when it did not.
	Failure tool.Failure
	Took    time.Duration
}

// RowOf makes the row of a step from its result; r is nil when the step did not run.
func RowOf(step int, title string, r *tool.Result) Row {
	row := Row{Step: step, Title: title}
	if r == nil {
		return row
	}
	row.Attempts, row.Took = len(r.Attempts), time.Duration(r.Telemetry.DurationMS)*time.Millisecond
	for _, a := range r.Attempts {
		row.Sources = append(row.Sources, a.Source)
	}
	row.Verdict = tool.VerdictFailure
	if r.OK() {
		row.Verdict = tool.VerdictSuccess
	}
	if r.Error != nil {
		row.Failure = r.Error.Code
		if row.Failure == tool.VerificationUncertain || row.Failure == tool.OutcomeUnknown {
			row.Verdict = tool.VerdictUncertain
		}
	}
	return row
}

// Column is a column of the table.
type Column string

// The columns, from left to right.
const (
	ColumnStep     Column = "step"
	ColumnTitle    Column = "title"
	ColumnAttempts Column = "attempts"
	ColumnSources  Column = "sources"
	ColumnVerdict  Column = "verdict"
	ColumnTime     Column = "time"
)

// Columns lists all columns, from left to right.
var Columns = []Column{ColumnStep, ColumnTitle, ColumnAttempts, ColumnSources, ColumnVerdict, ColumnTime}

// Heading is the column's name for people.
func (c Column) Heading(lang string) string { return Match(lang).text("column."+string(c), nil) }

// Outcome words the verdict of the row: "verified", "failed (covered)", "not run".
func (r Row) Outcome(lang string) string {
	l := Match(lang)
	verdict := string(r.Verdict)
	if verdict == "" {
		verdict = "none"
	}
	text := l.text("verdict."+verdict, nil)
	if r.Failure != "" && r.Verdict != tool.VerdictSuccess {
		text += " (" + string(r.Failure) + ")"
	}
	return text
}

// Tried lists the badges of the sources that were tried, in order.
func (r Row) Tried(lang string) string { return badges(r.Sources, Match(lang)) }
