package planner

import (
	"encoding/json"
	"testing"
	"time"

	"toolsvc/gen/toolsets"
	"toolsvc/store"
	"toolsvc/tool"
)

// A result that was published by a workflow task which was lost afterwards is published again with other times: what the events told first is
// what the caller gets, so that both agree.
func TestPublishedAgainTheFirstResultCounts(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	a := &Activities{Registry: toolsets.Registry(), Events: s}
	publish := func(took time.Duration) *tool.Result {
		t.Helper()
		rep := Report{Record: tool.AttemptRecord{Number: 1, Source: tool.SourceSystem, Phase: tool.PhaseSettled, Effect: tool.EffectConfirmed}, Result: json.RawMessage(`{"text":"a <b>"}`),
			Verification: &tool.Verification{Verdict: tool.VerdictSuccess, Confidence: 1, Threshold: 0.7, Evidence: tool.EvidenceRefs{After: "sha256:a"}}}
		res, err := a.Publish(t.Context(), Publication{Input: Input{RunID: "r_1", Language: "en"}, Number: 1, Steps: 1, Ended: &Conclusion{RunID: "r_1",
			Step: Step{CallID: "c_1", Tool: "document.read", Arguments: json.RawMessage(`{}`)}, Reports: []Report{rep}, Decision: Decision{Action: ActionDone}, Took: took}})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	first, again := publish(242*time.Millisecond), publish(8108*time.Millisecond)
	events, err := s.Events(t.Context(), "r_1", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var told tool.Result
	if err := json.Unmarshal(events[0].Data, &told); err != nil || events[0].Kind != store.KindToolResult {
		t.Fatalf("%+v, %v", events[0], err)
	}
	if !first.OK() || first.Telemetry.DurationMS != 242 || again.Telemetry.DurationMS != 242 || told.Telemetry.DurationMS != 242 || string(again.Result) != string(told.Result) {
		t.Errorf("first %+v, again %+v, told %+v", first.Telemetry, again.Telemetry, told.Telemetry)
	}
}
