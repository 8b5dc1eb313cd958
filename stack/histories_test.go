package stack

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"toolsvc/planner"
	"toolsvc/store"
	"toolsvc/tool"
)

// A call that lacks an argument is asked about, and goes on with the answer.
func TestMissingArgumentIsAskedFor(t *testing.T) {
	put(t, "asked/a.md", "# Asked\n")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req := request(t, "document.read", map[string]any{})
	req.Policy = &tool.Policy{Repair: tool.RepairPerson}
	res, err := shared.Service.Call(ctx, req, "en")
	if err != nil || res.Status != tool.StatusNeedsInput || res.Question == nil {
		t.Fatalf("nobody is asked: %+v %v", res, err)
	}
	res, err = shared.Service.Answer(ctx, res.RunID, res.Question.ID, json.RawMessage(`{"path":"asked/a.md"}`), "the test")
	if err != nil || !res.OK() {
		t.Fatalf("%+v %v", res, err)
	}
	if _, err := shared.Service.Wait(ctx, res.RunID); err != nil {
		t.Fatal(err)
	}
	history(t, res.RunID, "asked")
}

// A target that two elements answer to is asked about, and the answer names one of them.
func TestAmbiguousTargetIsAskedAbout(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	runID := tool.NewRunID()
	t.Cleanup(func() { _ = shared.Browser.Close(context.Background(), runID) })
	var res *tool.Result
	for _, req := range []tool.Request{open(t, "/c/twin"), click(t, play, playing)} {
		req.RunID, req.Policy = runID, &tool.Policy{Ask: true}
		var err error
		if res, err = shared.Service.Call(ctx, req, "en"); err != nil {
			t.Fatal(err)
		}
	}
	if res.Status != tool.StatusNeedsInput || res.Question == nil || len(res.Question.Candidates) != 2 {
		t.Fatalf("nobody is asked: %+v %+v", res, res.Error)
	}
	res, err := shared.Service.Answer(ctx, runID, res.Question.ID, json.RawMessage(`{"target":{"name":"Play","role":"button","within":"Now playing"}}`), "the test")
	if err != nil || !res.OK() {
		t.Fatalf("%+v %+v %v", res, res.Error, err)
	}
	if err := shared.Service.Cancel(ctx, runID); err != nil {
		t.Fatal(err)
	}
	_, _ = shared.Service.Wait(ctx, runID) // a cancelled run is an error
	history(t, runID, "asked-target")
}

// An irreversible call waits for its approval, and is made then.
func TestApprovalIsAskedFor(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if res := settles(t, shared, request(t, "orders.upsert", map[string]any{"order": "H-90", "customer": "Ada", "lines": []any{map[string]any{"sku": "LPV-0001", "quantity": 3, "cents": 1000}}})); !res.OK() {
		t.Fatalf("%+v", res.Error)
	}
	res := settles(t, shared, request(t, "orders.refund", map[string]any{"order": "H-90", "cents": 1000, "reason": "late"}))
	if res.Status != tool.StatusNeedsInput || res.Question == nil || paidBack(t, "H-90") != 0 {
		t.Fatalf("nobody is asked: %+v %+v", res, res.Error)
	}
	res, err := shared.Service.Approve(ctx, res.RunID, res.Question.ID, true, res.Question.Digest, "the test")
	if err != nil || !res.OK() || paidBack(t, "H-90") != 1000 {
		t.Fatalf("%+v %v", res, err)
	}
	if _, err := shared.Service.Wait(ctx, res.RunID); err != nil {
		t.Fatal(err)
	}
	history(t, res.RunID, "approved")
}

// A paused run begins no step before it is resumed.
func TestPausedRunWaits(t *testing.T) {
	put(t, "paused/a.md", "# Paused\n")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	look := request(t, "document.read", map[string]any{"path": "paused/a.md"})
	look.RunID = tool.NewRunID()
	if res := settles(t, shared, look); !res.OK() {
		t.Fatalf("%+v", res.Error)
	}
	if err := shared.Service.Pause(ctx, look.RunID); err != nil {
		t.Fatal(err)
	}
	calls, err := shared.Service.Append(ctx, look.RunID, []tool.Request{{Tool: look.Tool, Arguments: json.RawMessage(`{"path":"paused/a.md","intent":"look again"}`)}}, "")
	if err != nil {
		t.Fatal(err)
	}
	if st, err := shared.Service.State(ctx, look.RunID); err != nil || !st.Paused || len(st.Steps) != 2 || st.Steps[1].Status != planner.StatusQueued {
		t.Errorf("%+v %v", st, err)
	}
	if err := shared.Service.Resume(ctx, look.RunID); err != nil {
		t.Fatal(err)
	}
	if res, err := shared.Service.Result(ctx, look.RunID, calls[0]); err != nil || !res.OK() {
		t.Errorf("%+v %v", res, err)
	}
	if err := shared.Service.Cancel(ctx, look.RunID); err != nil {
		t.Fatal(err)
	}
	_, _ = shared.Service.Wait(ctx, look.RunID) // a cancelled run is an error
	history(t, look.RunID, "paused")
}

// The same request to start a run, under one idempotency key, starts one run, however often and from wherever it comes, also when the run is
// over; another request under that key starts none.
func TestRunIsStartedOnce(t *testing.T) {
	put(t, "once/a.md", "# Once\n")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	key, digest := tool.NewCallID(), tool.Digest([]byte("a request"))
	input := func() planner.Input {
		in, err := shared.Service.PreparePlan(&planner.Plan{Name: "Once", Steps: []planner.PlanStep{{Tool: "document.read"}}}, []tool.Request{request(t, "document.read", map[string]any{"path": "once/a.md"})}, "en")
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	type started struct {
		given, run string
		err        error
	}
	answers := make(chan started)
	for range 4 {
		in := input()
		go func() {
			run, err := shared.Service.StartOnce(ctx, in, key, digest)
			answers <- started{in.RunID, run, err}
		}()
	}
	var others []string
	run := ""
	for range 4 {
		a := <-answers
		if a.err != nil || run != "" && a.run != run {
			t.Fatalf("%+v, and another request was answered with %s", a, run)
		}
		if run = a.run; a.given != a.run {
			others = append(others, a.given)
		}
	}
	if st, err := shared.Service.Wait(ctx, run); err != nil || !st.Succeeded() {
		t.Fatalf("%+v %v", st, err)
	}
	in := input()
	if again, err := shared.Service.StartOnce(ctx, in, key, digest); err != nil || again != run {
		t.Errorf("after its end: %s %v", again, err)
	}
	others = append(others, in.RunID)
	in = input()
	if _, err := shared.Service.StartOnce(ctx, in, key, tool.Digest([]byte("another request"))); !errors.Is(err, store.ErrKeyReused) {
		t.Errorf("another request: %v", err)
	}
	for _, id := range append(others, in.RunID) {
		if _, err := shared.Service.State(ctx, id); !errors.Is(err, planner.ErrUnknownRun) {
			t.Errorf("the run %s was started too (%v)", id, err)
		}
	}
	if len(others) != 4 {
		t.Errorf("%d of 5 requests were answered with the run of another one", len(others))
	}
}
