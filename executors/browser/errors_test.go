package browser

import (
	"slices"
	"testing"

	"toolsvc/tool"
)

// An error that was shown after the action stays in the evidence of the attempt, although it is gone at the next look: looking again must
// not make a success of it.
func TestErrorThatPassesIsNotForgotten(t *testing.T) {
	t.Parallel()
	p := open(t, `<button onclick="const d=document.createElement('div');d.setAttribute('role','alert');d.textContent='Could not save';document.body.append(d)">Save</button>`)
	att, err := p.x.Begin(t.Context(), p.call("click", clickOn("Save")), tool.Plan{Number: 1, Source: tool.SourceAX, Input: tool.InputMouse})
	if err != nil {
		t.Fatal(err)
	}
	defer att.Close() //nolint:errcheck // the test is about evidence
	look := func() []any {
		e, err := att.Observe(t.Context(), tool.Needs{})
		if err != nil {
			t.Fatal(err)
		}
		return at(t, e, "page", "errors").([]any)
	}
	if err := att.Resolve(t.Context()); err != nil {
		t.Fatal(err)
	}
	if before := look(); len(before) != 0 {
		t.Fatalf("errors before: %v", before)
	}
	if err := att.Dispatch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := att.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if shown := look(); !slices.Contains(shown, any("Could not save")) {
		t.Fatalf("errors while it is shown: %v", shown)
	}
	p.truth("document.querySelector('[role=alert]').remove()")
	if gone := look(); !slices.Contains(gone, any("Could not save")) {
		t.Errorf("errors when it is gone again: %v", gone)
	}
}
