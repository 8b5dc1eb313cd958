package planner

import (
	"path/filepath"
	"testing"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Histories that were recorded on a real Temporal (go test ./stack -update) still lead this workflow to the same commands. When this
// fails after a change, runs that are open while toolsvc is upgraded would break: version the change (workflow.GetVersion), or record the
// histories anew only if no released version made them.
func TestReplay(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/histories/*.json")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d histories, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			r := worker.NewWorkflowReplayer()
			r.RegisterWorkflowWithOptions(Run, workflow.RegisterOptions{Name: WorkflowRun})
			if err := r.ReplayWorkflowHistoryFromJSONFile(nil, file); err != nil {
				t.Error(err)
			}
		})
	}
}
