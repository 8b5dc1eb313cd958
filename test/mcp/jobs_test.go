package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"toolsvc/planner"
	"toolsvc/tool"
)

// jobs stands for the planner under the tools that the conformance suite calls as tasks. It keeps calls, questions and results as runs do,
// so that everything about tasks is the surface's own.
type jobs struct {
	mu    sync.Mutex
	calls map[string]*job // by call
	order []string
}

// job is one call.
type job struct {
	req       tool.Request
	questions map[string]*tool.Question
	answers   map[string]json.RawMessage
	result    *tool.Result
	changed   chan struct{} // closed and made anew at every change
	cancel    context.CancelFunc
}

func newJobs() *jobs { return &jobs{calls: map[string]*job{}} }

// jobSpecs are the tools. Their names have no toolset, because the suite wants them so.
func jobSpecs() []*tool.Spec {
	var specs []*tool.Spec
	for id, in := range map[tool.ID]string{
		"slow_compute":        `{"type":"object","properties":{"seconds":{"type":"number"},"label":{"type":"string"}}}`,
		"failing_job":         `{"type":"object"}`,
		"protocol_error_job":  `{"type":"object"}`,
		"confirm_delete":      `{"type":"object","properties":{"filename":{"type":"string"}}}`,
		"multi_input":         `{"type":"object"}`,
		"test_tool_with_task": `{"type":"object"}`,
	} {
		specs = append(specs, &tool.Spec{ID: id, Title: string(id), Description: "A fixture of the conformance suite", Effect: tool.ReadOnly, PayloadSchema: json.RawMessage(in)})
	}
	return specs
}

func (j *jobs) update(b *job, f func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f()
	close(b.changed)
	b.changed = make(chan struct{})
}

// until waits for the call's end or its first open question.
func (j *jobs) until(ctx context.Context, b *job) (*tool.Result, error) {
	for {
		j.mu.Lock()
		res, changed := j.resultOf(b), b.changed
		j.mu.Unlock()
		if res != nil {
			return res, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (j *jobs) resultOf(b *job) *tool.Result {
	if b.result != nil {
		return b.result
	}
	for _, id := range slices.Sorted(maps.Keys(b.questions)) {
		return &tool.Result{CallID: b.req.CallID, RunID: b.req.RunID, Tool: b.req.Tool, Status: tool.StatusNeedsInput, Question: b.questions[id]}
	}
	return nil
}

func (j *jobs) Call(ctx context.Context, req tool.Request, _ string) (*tool.Result, error) {
	working, cancel := context.WithCancel(context.Background())
	b := &job{req: req, questions: map[string]*tool.Question{}, answers: map[string]json.RawMessage{}, changed: make(chan struct{}), cancel: cancel}
	j.mu.Lock()
	j.calls[req.CallID] = b
	j.order = append(j.order, req.CallID)
	j.mu.Unlock()
	go func() {
		defer cancel()
		res := j.work(working, b)
		res.CallID, res.RunID, res.Tool = req.CallID, req.RunID, req.Tool
		j.update(b, func() { b.result = res })
	}()
	return j.until(ctx, b)
}

// work does the job.
func (j *jobs) work(ctx context.Context, b *job) *tool.Result {
	wait := func(d time.Duration) bool {
		select {
		case <-time.After(d):
			return true
		case <-ctx.Done():
			return false
		}
	}
	done := func(format string, args ...any) *tool.Result {
		text, _ := json.Marshal(map[string]string{"text": fmt.Sprintf(format, args...)})
		return &tool.Result{Result: text, Verification: &tool.Verification{Verdict: tool.VerdictSuccess, Confidence: 1, Evidence: tool.EvidenceRefs{After: "sha256:0"}}}
	}
	failed := func(code tool.Failure, message string) *tool.Result {
		return &tool.Result{Error: tool.NewError(code, message), RetryHint: tool.HintStop(b.req.Tool, tool.ReasonCancelled, message)}
	}
	var in struct {
		Seconds float64 `json:"seconds"`
	}
	if err := json.Unmarshal(b.req.Arguments, &in); err != nil && len(b.req.Arguments) > 0 {
		return failed(tool.InvalidArguments, err.Error())
	}
	switch b.req.Tool {
	case "slow_compute":
		if !wait(time.Duration(in.Seconds * float64(time.Second))) {
			break
		}
		return done("computed")
	case "failing_job":
		if !wait(time.Second) {
			break
		}
		return failed(tool.ToolUnavailable, "the job failed")
	case "protocol_error_job":
		if !wait(time.Second) {
			break
		}
		return failed(tool.Internal, "the job broke")
	case "confirm_delete":
		if !wait(time.Second) {
			break
		}
		if a, ok := j.ask(ctx, b, "confirm"); ok {
			return done("deleted: %s", a["confirm"])
		}
	case "multi_input":
		if !wait(time.Second) {
			break
		}
		if a, ok := j.ask(ctx, b, "name", "confirm"); ok {
			return done("%s", a)
		}
	case "test_tool_with_task":
		a, ok := j.ask(ctx, b, "user_name")
		if ok && wait(time.Second) {
			return done("%s", a["user_name"])
		}
	}
	return failed(tool.Cancelled, "the job was cancelled")
}

var jobAnswers = map[string]string{
	"confirm":   `{"type":"object","properties":{"confirm":{"type":"boolean"}},"required":["confirm"]}`,
	"name":      `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`,
	"user_name": `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`,
}

// ask opens the questions and waits for all answers.
func (j *jobs) ask(ctx context.Context, b *job, names ...string) (map[string]json.RawMessage, bool) {
	j.update(b, func() {
		for _, n := range names {
			id := n + "_" + b.req.CallID
			b.questions[id] = &tool.Question{ID: id, Kind: tool.AskFreely, RunID: b.req.RunID, CallID: b.req.CallID, Tool: b.req.Tool, Text: n + "?", Schema: json.RawMessage(jobAnswers[n])}
		}
	})
	for {
		j.mu.Lock()
		open, changed := len(b.questions), b.changed
		j.mu.Unlock()
		if open == 0 {
			return b.answers, true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, false
		}
	}
}

func (j *jobs) Answer(ctx context.Context, runID, questionID string, answer json.RawMessage, _ string) (*tool.Result, error) {
	j.mu.Lock()
	var b *job
	for _, x := range j.calls {
		if x.req.RunID == runID && x.questions[questionID] != nil {
			b = x
		}
	}
	j.mu.Unlock()
	if b == nil {
		return nil, planner.ErrUnknownRun
	}
	j.update(b, func() {
		delete(b.questions, questionID)
		b.answers[strings.TrimSuffix(questionID, "_"+b.req.CallID)] = answer
	})
	return j.until(ctx, b)
}

func (j *jobs) Approve(context.Context, string, string, bool, string, string) (*tool.Result, error) {
	return nil, planner.ErrUnknownRun
}

func (j *jobs) Result(_ context.Context, _, callID string) (*tool.Result, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if b := j.calls[callID]; b != nil {
		if res := j.resultOf(b); res != nil {
			return res, nil
		}
	}
	return nil, planner.ErrUnknownRun
}

func (j *jobs) State(_ context.Context, runID string) (*planner.State, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	st := &planner.State{RunID: runID, Outcome: planner.OutcomeRunning}
	for _, id := range j.order {
		b := j.calls[id]
		if b.req.RunID != runID {
			continue
		}
		st.Steps = append(st.Steps, planner.StepState{CallID: id, Tool: b.req.Tool, Title: string(b.req.Tool), Result: b.result})
		for _, n := range slices.Sorted(maps.Keys(b.questions)) {
			st.Questions = append(st.Questions, *b.questions[n])
		}
	}
	if st.Steps == nil {
		return nil, planner.ErrUnknownRun
	}
	return st, nil
}

func (j *jobs) Cancel(context.Context, string) error { return nil }

// CancelCall ends one call.
func (j *jobs) CancelCall(_ context.Context, _, callID string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if b := j.calls[callID]; b != nil {
		b.cancel()
	}
	return nil
}
