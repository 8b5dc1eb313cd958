package pipeline_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
)

var update = flag.Bool("update", false, "write the excerpt of the history in README.md anew")

// The history in Temporal is readable stage by stage: every activity has a summary, every stage's run is a child workflow with its own name, and
// README.md shows how it looks. go test ./examples/document-pipeline -run TestHistoryIsReadable -update writes it there.
func TestHistoryIsReadable(t *testing.T) {
	fresh(t)
	scripted(t, turnsOf(t, "overview", "concepts-corrects-itself", "visualization")...)
	st := finished(t, parsed(t), nil, "")
	if !st.Succeeded() {
		t.Fatal(why(st))
	}
	lines := story(t, st.RunID, "")
	text := strings.ReplaceAll(strings.Join(lines, "\n"), st.RunID, "r_…")
	for _, want := range []string{
		"stage 1/3, attempt 1: check what must hold before Write the overview, and back up",
		"r_…-1-1  Write the overview, attempt 1",
		"r_…-2-1  Write the core concepts, attempt 1",
		"r_…-2-2  Write the core concepts, attempt 2",
		"r_…-3-1  Draw the concepts, attempt 1",
		"stage 3/3, attempt 1: check what must hold after Draw the concepts",
		"turn 1: ask the planner what to do next",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the history does not say %q", want)
		}
	}
	var second []string // of the three stages, the one with two attempts
	for _, line := range strings.Split(text, "\n") {
		switch {
		case len(second) == 0 && strings.HasPrefix(line, "stage 2/3"):
			second = []string{line}
		case strings.HasPrefix(line, "stage 3/3"):
		case len(second) > 0 && !strings.Contains(strings.Join(second, "\n"), "attempt 2: check what must hold after"):
			second = append(second, line)
		}
	}
	excerpt(t, strings.Join(second, "\n"))
}

// story lists what the history of a run, and of those below it, says to whoever reads it in Temporal's UI.
func story(t *testing.T, runID, indent string) (lines []string) {
	t.Helper()
	it := shared.Client.Client.GetWorkflowHistory(t.Context(), runID, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for it.HasNext() {
		e, err := it.Next()
		if err != nil {
			t.Fatal(err)
		}
		switch e.EventType {
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
			lines = append(lines, indent+summary(t, e))
		case enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
			id := e.GetStartChildWorkflowExecutionInitiatedEventAttributes().WorkflowId
			lines = append(lines, indent+id+"  "+summary(t, e))
			lines = append(lines, story(t, id, indent+"    ")...)
		}
	}
	return lines
}

func summary(t *testing.T, e *historypb.HistoryEvent) string {
	t.Helper()
	var s string
	if err := converter.GetDefaultDataConverter().FromPayload(e.GetUserMetadata().GetSummary(), &s); err != nil || s == "" {
		t.Errorf("event %d (%s) has no summary: %v", e.EventId, e.EventType, err)
	}
	return s
}

// excerpt compares what README.md shows, or writes it there.
func excerpt(t *testing.T, want string) {
	t.Helper()
	const begin, end = "<!-- history: written by go test -update -->\n```text\n", "\n```\n<!-- end of history -->"
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	got, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("README.md has no place for the history")
	}
	if got == want {
		return
	}
	if !*update {
		t.Errorf("README.md does not show the history as it is; run go test ./examples/document-pipeline -run TestHistoryIsReadable -update\n%s", want)
		return
	}
	if err := os.WriteFile("README.md", []byte(fmt.Sprint(head, begin, want, end, tail)), 0o644); err != nil {
		t.Fatal(err)
	}
}
