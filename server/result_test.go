package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	toolshttp "toolsvc/gen/http/tools/server"
	"toolsvc/gen/tools"
	"toolsvc/tool"
)

func number(n int) json.Number { return json.Number(fmt.Sprint(n)) }

func showPayload(id string) *tools.ShowPayload { return &tools.ShowPayload{Tool: id} }

// samples are results that between them have every field of a tool.Result. They break the rules of a real one, such as holding a result
// and an error, because here only the encoding counts.
func samples(t *testing.T) []*tool.Result {
	t.Helper()
	hint := func(text string) *tool.RetryHint {
		var h tool.RetryHint
		if err := json.Unmarshal([]byte(text), &h); err != nil {
			t.Fatal(err)
		}
		return &h
	}
	full := tool.Result{
		CallID: "c_1", RunID: "r_1", Tool: "lamp.switch", Result: json.RawMessage(`{"a":[1,2.50,{"b":null}],"c":"<&>\u2028é"}`),
		Error: &tool.Error{Code: tool.VerificationFailed, Message: "it <did> not", Cause: &tool.Error{Code: tool.Timeout, Message: "because",
			Cause: &tool.Error{Message: "of that"}}},
		RetryHint: hint(`{"reason":"invalid_arguments","tool":"lamp.switch","restrict_to_tool":true,"missing_fields":["/a","/b/c"],"issues":[
			{"path":"/a","constraint":"maximum","limit":12345678901234567890,"allowed":["x","y"],"expected_type":"integer","got":"\"<z>\"","offset":4611686018427387904,"suggestion":"y","message":"No."},
			{"path":"","constraint":"pattern","limit":"^a","offset":0,"message":"No pattern."}],
			"example_input":{"a":1},"prior_input":"{\"a\":","clarifying_question":"Which?","message":"Mend it.","retry_after_ms":0,
			"rollback":{"performed":true,"restored_to":"before attempt 1","failed_checks":["x","y"]}}`),
		Verification: &tool.Verification{Verdict: tool.VerdictUncertain, Confidence: 0.25, Threshold: 0.75, Explanation: "because", Checks: []tool.Check{
			{Name: "n", Condition: "c", Expected: "e", Observed: "o", Passed: true}, {Name: "n2", Condition: "c2", Expected: "e2", Observed: "o2", Undecided: true}},
			Evidence: tool.EvidenceRefs{Before: "sha256:1", After: "sha256:2"}, Opinion: &tool.Opinion{Model: "m", Verdict: tool.VerdictFailure, Confidence: 0.5, Explanation: "so", Agrees: true}},
		Attempts: []tool.AttemptRecord{
			{Number: 1, Source: tool.SourceAX, Input: tool.InputMouse, Phase: tool.PhaseSettled, Effect: tool.EffectConfirmed, Failure: tool.WrongTarget, Message: "m", RolledBack: true, DurationMS: 12},
			{Number: 2, Source: tool.SourceVision, Phase: tool.PhaseStarted, Effect: tool.EffectNone}},
		Repairs:       []tool.Repair{{Path: "/timeout_ms", Rule: "string_to_integer", Tier: "lossless", From: `"500"`, To: "500"}},
		Telemetry:     tool.Telemetry{DurationMS: 1, QueuedMS: 2, WaitedMS: 5, Model: "m", InputTokens: 3, OutputTokens: 1 << 40},
		ChildrenCount: 7, RunLink: &tool.RunLink{WorkflowID: "r_1", URL: "http://127.0.0.1/x"}, ChildRuns: []tool.RunLink{{WorkflowID: "r_1-1-1", URL: "http://127.0.0.1/y"}, {WorkflowID: "r_1-1-2"}},
	}
	ambiguous, wait, least := full, full, tool.Result{CallID: "c_2", Tool: "lamp.read", Error: tool.NewError("", "no")}
	ambiguous.RetryHint = hint(`{"reason":"ambiguous_target","tool":"lamp.switch","restrict_to_tool":false,"message":"m","retry_after_ms":0,
		"candidates":[{"name":"n","role":"r","within":"w","near":"x","selector":"s"},{"name":"only"}]}`)
	wait.RetryHint = hint(`{"reason":"rate_limited","tool":"lamp.switch","restrict_to_tool":false,"message":"m","retry_after_ms":1500}`)
	waits := tool.Result{CallID: "c_3", RunID: "r_1", Tool: "lamp.switch", Status: tool.StatusNeedsInput, Question: &tool.Question{
		ID: "q_1", Kind: tool.AskArguments, RunID: "r_1", CallID: "c_3", Tool: "lamp.switch", Text: "Which?", Reason: tool.ReasonMissingFields,
		MissingFields: []string{"/a"}, Issues: tool.Issues{{Path: "/a", Constraint: "required", Message: "a is missing."}}, Candidates: []tool.Candidate{{Name: "n", Role: "r"}},
		Schema: json.RawMessage(`{"type":"object"}`), ExampleInput: json.RawMessage(`{"a":1}`), PriorInput: json.RawMessage(`{}`), Digest: "sha256:1", RestrictToTool: true,
		AskedAt: someTime, ExpiresAt: someTime.Add(time.Hour)}}
	asks := tool.Result{CallID: "c_3", RunID: "r_1", Tool: "lamp.switch", Status: tool.StatusNeedsInput,
		Question: &tool.Question{ID: "q_1", Kind: tool.AskFreely, RunID: "r_1", Text: "What now?", AskedAt: someTime.Truncate(time.Second), ExpiresAt: someTime}}
	return []*tool.Result{&full, &ambiguous, &wait, &least, &waits, &asks}
}

// A field that is added to tool.Result must be in a sample, or the round trip below would not notice its loss.
func TestSamplesHaveEveryField(t *testing.T) {
	t.Parallel()
	all, set := map[string]bool{}, map[string]bool{}
	var walk func(reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			if h, ok := v.Interface().(*tool.RetryHint); ok && h != nil {
				walk(reflect.ValueOf(h.Fields()))
			} else if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Struct:
			if v.Type() == reflect.TypeFor[time.Time]() {
				return
			}
			for i := range v.NumField() {
				name := v.Type().Name() + "." + v.Type().Field(i).Name
				all[name] = true
				set[name] = set[name] || !v.Field(i).IsZero()
				walk(v.Field(i))
			}
		}
	}
	for _, r := range samples(t) {
		walk(reflect.ValueOf(r))
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !set[name] {
			t.Errorf("no sample sets %s", name)
		}
	}
	if len(all) < 60 {
		t.Errorf("only %d fields were seen", len(all))
	}
}

// A result comes out of HTTP and of gRPC with the very fields and values of its own JSON.
func TestResultsSurviveBothTransports(t *testing.T) {
	t.Parallel()
	rs := samples(t)
	w := start(t, Options{Caller: callerFunc(func(_ context.Context, req tool.Request, _ string) (*tool.Result, error) {
		var i int
		if err := json.Unmarshal(req.Arguments, &i); err != nil {
			return nil, err
		}
		return rs[i], nil
	})})
	for i, r := range rs {
		own, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		want := values(t, own)
		if got := values(t, w.do(t, "POST", "/v1/tools/lamp.switch", strings.NewReader(fmt.Sprint(i))).body); !reflect.DeepEqual(got, want) {
			t.Errorf("sample %d over HTTP:\n%v\nwant\n%v", i, got, want)
		}
		for transport, client := range w.clients() {
			res, err := client.Call(t.Context(), callPayload("lamp.switch", fmt.Sprint(i)))
			if err != nil {
				t.Fatalf("%s: %v", transport, err)
			}
			back, err := json.Marshal(toolshttp.NewCallOKResponseBody(res))
			if err != nil {
				t.Fatal(err)
			}
			if got := values(t, back); !reflect.DeepEqual(got, want) {
				t.Errorf("sample %d through the client for %s:\n%v\nwant\n%v", i, transport, got, want)
			}
		}
	}
}

// values decodes JSON into plain values, numbers as they are written but for their trailing zeros.
func values(t *testing.T, b []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return v
}

func TestListsAreNeverNull(t *testing.T) {
	t.Parallel()
	r := &tool.Result{Verification: &tool.Verification{}, RetryHint: tool.HintUnknown("a.b", "m", &tool.RollbackNotice{})}
	b, err := json.Marshal(toolshttp.NewCallOKResponseBody(&tools.CallResult{Result: wireResult(r)}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"checks":[]`, `"failed_checks":[]`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %s in %s", want, b)
		}
	}
}
