package server

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"toolsvc/gen/toolsets"
	"toolsvc/planner"
	"toolsvc/tool"
)

// prepared is the planner's own validation over the tools of the design; a call that is valid succeeds without being made.
func prepared() Options {
	reg := toolsets.Registry()
	svc := &planner.Service{Registry: reg}
	return Options{Registry: reg, Caller: callerFunc(func(ctx context.Context, req tool.Request, lang string) (*tool.Result, error) {
		if _, rejected, err := svc.Prepare(req, lang); err != nil || rejected != nil {
			return rejected, err
		}
		return succeed(ctx, req, lang)
	})}
}

func TestAllViolationsComeAtOnce(t *testing.T) {
	t.Parallel()
	w := start(t, prepared())
	const payload = `{"target":{"name":"","role":"BUTTON","within":"","near":"","selector":"","ref":"!!","nth":0,"description":"","colour":"red","nme":1},
		"append":"yes","submit":1,"txt":"x","expect":[1,""],"intent":5,"append":true,"more":null,"less":[{}]}`
	want := []string{
		"/append duplicate", "/append type", "/less additionalProperties", "/more additionalProperties", "/submit type",
		"/target/colour additionalProperties", "/target/description minLength", "/target/name minLength", "/target/near minLength",
		"/target/nme additionalProperties", "/target/nth minimum", "/target/ref pattern", "/target/role pattern", "/target/selector minLength",
		"/target/within minLength", "/text required", "/txt additionalProperties",
	}
	a := w.do(t, "POST", "/v1/tools/browser.type", strings.NewReader(payload))
	if a.status != 422 || a.header.Get("Content-Type") != "application/json" || a.header.Get("Toolsvc-Outcome") != "rejected" {
		t.Fatalf("answer %d %v", a.status, a.header)
	}
	hint := a.json(t)["retry_hint"].(map[string]any)
	var got []string
	for _, i := range hint["issues"].([]any) {
		i := i.(map[string]any)
		got = append(got, fmt.Sprint(i["path"], " ", i["constraint"]))
		if i["message"] == "" {
			t.Errorf("an issue without words: %v", i)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%d issues:\n%s\nwant %d:\n%s", len(got), strings.Join(got, "\n"), len(want), strings.Join(want, "\n"))
	}
	if hint["example_input"] == nil || hint["prior_input"] == nil || hint["clarifying_question"] == nil {
		t.Errorf("the hint lacks its help: %v", hint)
	}
	res, err := w.grpc.Call(t.Context(), callPayload("browser.type", payload))
	if err != nil {
		t.Fatal(err)
	}
	if res.Outcome != outcomeRejected || len(res.Result.RetryHint.Issues) != len(want) {
		t.Errorf("gRPC: outcome %s, %d issues", res.Outcome, len(res.Result.RetryHint.Issues))
	}
}

func TestBrokenJSONIsAnsweredWithItsPosition(t *testing.T) {
	t.Parallel()
	w := start(t, prepared())
	const payload = "{\"target\":{\"name\":\"x\"},\n\"text\":\"a\" \"b\"}"
	a := w.do(t, "POST", "/v1/tools/browser.type", strings.NewReader(payload))
	issues, _ := dig(a.json(t), "retry_hint", "issues").([]any)
	if a.status != 422 || len(issues) == 0 {
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	last := issues[len(issues)-1].(map[string]any)
	if want := strings.LastIndex(payload, `"b"`); last["constraint"] != "syntax" || last["offset"] != number(want) || !strings.Contains(last["message"].(string), "line 2") {
		t.Errorf("issue %v, want a syntax issue at offset %d, in line 2", last, want)
	}
	client, err := w.grpc.Call(t.Context(), callPayload("browser.type", payload))
	if err != nil {
		t.Fatal(err)
	}
	if is := client.Result.RetryHint.Issues; is[len(is)-1].Message != last["message"] {
		t.Errorf("gRPC says %q", is[len(is)-1].Message)
	}
}

func TestToolsOfTheDesign(t *testing.T) {
	t.Parallel()
	w := start(t, prepared())
	p := wantProblem(t, w.do(t, "POST", "/v1/tools/browser.clik", strings.NewReader("{")), kindUnknownTool)
	if nearest, _ := p["nearest"].([]any); len(nearest) == 0 || nearest[0] != "browser.click" {
		t.Errorf("nearest %v", p["nearest"])
	}
	ids := toolsets.Registry().IDs()
	for transport, client := range w.clients() {
		list, err := client.List(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", transport, err)
		}
		if len(list.Tools) != len(ids) {
			t.Errorf("%s: %d tools, want %d", transport, len(list.Tools), len(ids))
		}
		for _, id := range ids { // each takes its own example
			spec, err := client.Show(t.Context(), showPayload(string(id)))
			if err != nil {
				t.Fatalf("%s: %s: %v", transport, id, err)
			}
			res, err := client.Call(t.Context(), callPayload(string(id), string(spec.Example)))
			if err != nil || res.Outcome != outcomeCalled {
				t.Errorf("%s: %s does not take its own example: %v %+v", transport, id, err, res)
			}
			if !bytes.Equal(spec.PayloadSchema, toolsets.Registry().Lookup(id).PayloadSchema) && transport == "grpc" {
				t.Errorf("%s: %s: another payload schema", transport, id)
			}
		}
	}
}
