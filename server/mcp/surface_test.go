package mcp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"context"

	"toolsvc/gen/toolsets"
	"toolsvc/store"
	"toolsvc/tool"
)

// Every tool is advertised so that clients can use it: with schemas that compile and let pass what toolsvc can ask for, with a result that
// fits the output schema, and with everything that a person reads.
func TestEveryToolIsAdvertised(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string, connect connector) {
		cs := connect(t, newSurface(t, newRuns()), version, nil)
		seen := map[string]bool{}
		for tl, err := range cs.Tools(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			seen[tl.Name] = true
			if tl.Title == "" || tl.Description == "" || tl.Annotations == nil || len(tl.Icons) != 1 {
				t.Errorf("%s lacks a title, a description, annotations or an icon", tl.Name)
			}
			in := compile(t, tl.InputSchema)
			if err := in.Validate(map[string]any{}); err != nil {
				t.Errorf("%s: a client that validates would never send a call that lacks something: %v", tl.Name, err)
			}
			if err := in.Validate(map[string]any{"mistyped": true}); err != nil {
				t.Errorf("%s: a client that validates would never send a call that can be corrected: %v", tl.Name, err)
			}
			if strings.HasPrefix(tl.Name, "run_") {
				continue
			}
			if text, _ := json.Marshal(tl.InputSchema); !strings.Contains(string(text), runProperty) || strings.Contains(string(text), "$schema") {
				t.Errorf("%s: %s", tl.Name, text)
			}
			out := compile(t, tl.OutputSchema)
			for _, r := range []*tool.Result{
				{Tool: "a.b", Error: tool.NewError(tool.Timeout, "late"), RetryHint: tool.HintWait("a.b", tool.ReasonTimeout, "late", time.Second)},
				{Tool: "a.b", Status: tool.StatusNeedsInput, Question: &tool.Question{ID: "q_1"}},
			} {
				text, _ := json.Marshal(r)
				v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
				if err != nil {
					t.Fatal(err)
				}
				if err := out.Validate(v); err != nil {
					t.Errorf("%s: %v", tl.Name, err)
				}
			}
		}
		for _, id := range toolsets.Registry().IDs() {
			if !seen[Name(id)] {
				t.Errorf("%s is not advertised", id)
			}
		}
		for name := range runTools {
			if !seen[name] {
				t.Errorf("%s is not advertised", name)
			}
		}
	})
}

func compile(t *testing.T, schema any) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:s", schema); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:s")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAnnotationsComeFromTheGravestClass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		class                             tool.EffectClass
		rule                              tool.EffectClass
		readOnly, idempotent, destructive bool
	}{
		{tool.ReadOnly, "", true, true, false},
		{tool.Idempotent, "", false, true, false},
		{tool.Reversible, "", false, false, true},
		{tool.Irreversible, "", false, false, true},
		{tool.Idempotent, tool.Reversible, false, false, true},
		{tool.Reversible, tool.ReadOnly, false, false, true},
	} {
		spec := &tool.Spec{ID: "shop.pay", Effect: c.class}
		if c.rule != "" {
			spec.EffectRules = []tool.EffectRule{{When: "true", Class: c.rule}}
		}
		a := annotations(spec)
		if a.ReadOnlyHint != c.readOnly || a.IdempotentHint != c.idempotent || *a.DestructiveHint != c.destructive {
			t.Errorf("%s, %s: %+v destructive %v", c.class, c.rule, a, *a.DestructiveHint)
		}
	}
}

func TestReferencesInResultSchemasFollow(t *testing.T) {
	t.Parallel()
	s := compile(t, unmarshal(t, outputSchema(json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}}}},"$ref":"#/$defs/n"}`))))
	if err := s.Validate(unmarshal(t, []byte(`{"tool":"a.b","result":{"next":{"next":{}}}}`))); err != nil {
		t.Error(err)
	}
	if err := s.Validate(unmarshal(t, []byte(`{"tool":"a.b","result":{"next":{"next":5}}}`))); err == nil {
		t.Error("the reference does not lead to the definition")
	}
}

func unmarshal(t *testing.T, text []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestCatalogueChangesWhileClientsAreConnected(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string, connect connector) {
		changed := make(chan struct{}, 10)
		s := newSurface(t, newRuns())
		cs := connect(t, s, version, &sdk.ClientOptions{ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed <- struct{}{} }})
		extra := &tool.Spec{ID: "shop.pay", Title: "Pay", Description: "Pay.", PayloadSchema: json.RawMessage(`{"type":"object"}`)}
		reg, err := tool.NewRegistry([]*tool.Spec{extra})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.SetRegistry(reg); err != nil {
			t.Fatal(err)
		}
		<-changed
		list, err := cs.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, x := range list.Tools {
			names = append(names, x.Name)
		}
		if !slices.Equal(names, []string{"run_answer", "run_approve", "run_cancel", "run_get", "shop_pay"}) {
			t.Error(names)
		}
	})
}

func TestNamesThatCollideAreRefused(t *testing.T) {
	t.Parallel()
	s := newSurface(t, newRuns())
	for _, ids := range [][]tool.ID{{"a.b_c", "a_b.c"}, {"run.get"}, {"a.ü"}, {tool.ID("a." + strings.Repeat("x", 200))}} {
		var specs []*tool.Spec
		for _, id := range ids {
			specs = append(specs, &tool.Spec{ID: id, PayloadSchema: json.RawMessage(`{"type":"object"}`)})
		}
		reg, err := tool.NewRegistry(specs)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.SetRegistry(reg); err == nil {
			t.Errorf("%q is accepted", ids)
		}
	}
}

func TestPromptsAndCompletions(t *testing.T) {
	t.Parallel()
	cs := connect(t, newSurface(t, newRuns()), modern, nil)
	got, err := cs.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: promptTask, Arguments: map[string]string{"task": "buy milk"}})
	if err != nil || !strings.Contains(got.Messages[0].Content.(*sdk.TextContent).Text, "buy milk") {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := cs.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: promptInvestigate}); err == nil || !strings.Contains(err.Error(), "needs the argument run") {
		t.Error(err)
	}
	_, res, _ := callTool(t, cs, "browser_click", play)
	done, err := cs.Complete(t.Context(), &sdk.CompleteParams{Ref: &sdk.CompleteReference{Type: "ref/prompt", Name: promptInvestigate}, Argument: sdk.CompleteParamsArgument{Name: "run", Value: "r_"}})
	if err != nil || !slices.Contains(done.Completion.Values, res.RunID) {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestRunToolsValidate(t *testing.T) {
	t.Parallel()
	cs := connect(t, newSurface(t, newRuns()), modern, nil)
	raw, res, text := callTool(t, cs, "run_approve", map[string]any{"run": "r_1", "aproval": "a_1"})
	if !raw.IsError || res.Error.Code != tool.InvalidArguments || !strings.Contains(text, "did you mean approval?") || !strings.Contains(text, "/digest: digest is missing.") {
		t.Error(text)
	}
	if _, res, _ := callTool(t, cs, "run_answer", map[string]any{"run": "r_1", "question": "q_1", "answer": map[string]any{}}); res.Error == nil || res.Error.Code != tool.PreconditionFailed {
		t.Errorf("%+v", res)
	}
}

func TestApprovalByTool(t *testing.T) {
	t.Parallel()
	service := newRuns()
	service.do = func(_ context.Context, req tool.Request) *tool.Result { return approval(req) }
	cs := connect(t, newSurface(t, service), legacy, nil)
	_, res, text := callTool(t, cs, "browser_click", play)
	if res.Status != tool.StatusNeedsInput || !strings.Contains(text, "call run_approve with") || !strings.Contains(text, digest) {
		t.Fatal(text)
	}
	args := map[string]any{"run": res.RunID, "approval": res.Question.ID, "digest": "sha256:other", "approve": true}
	if _, wrong, _ := callTool(t, cs, "run_approve", args); wrong.OK() {
		t.Error("an approval of other arguments was taken")
	}
	args["digest"] = digest
	if _, done, _ := callTool(t, cs, "run_approve", args); !done.OK() {
		t.Errorf("%+v", done)
	}
	raw, _, _ := callTool(t, cs, "run_cancel", map[string]any{"run": res.RunID})
	if raw.IsError || !slices.Equal(service.cancelled, []string{res.RunID}) {
		t.Error(service.cancelled)
	}
}

func TestKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keys := make([][]byte, 8)
	var all sync.WaitGroup
	for i := range keys {
		all.Go(func() {
			var err error
			if keys[i], err = LoadKey(dir); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, k := range keys {
		if len(k) != minKey || string(k) != string(keys[0]) {
			t.Fatalf("%x and %x", k, keys[0])
		}
	}
	info, err := os.Stat(filepath.Join(dir, "mcp.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) != 0 {
		t.Error(left)
	}
	if err := os.WriteFile(filepath.Join(dir, "mcp.key"), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKey(dir); err == nil || !strings.Contains(err.Error(), "delete it") {
		t.Error(err)
	}
}

func TestSealsCannotBeChanged(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s, err := sealed(testKey, "a", now.Add(time.Minute), "value")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := opened[string](testKey, "a", s, now); err != nil || v != "value" {
		t.Errorf("%q, %v", v, err)
	}
	for name, f := range map[string]func() (string, error){
		"another purpose": func() (string, error) { return opened[string](testKey, "b", s, now) },
		"another key":     func() (string, error) { return opened[string]([]byte(strings.Repeat("k", 32)), "a", s, now) },
		"too late":        func() (string, error) { return opened[string](testKey, "a", s, now.Add(time.Hour)) },
		"longer":          func() (string, error) { return opened[string](testKey, "a", s+"A", now) },
		"changed":         func() (string, error) { return opened[string](testKey, "a", "A"+s[1:], now) },
		"unsigned":        func() (string, error) { return opened[string](testKey, "a", strings.Split(s, ".")[0], now) },
		"huge":            func() (string, error) { return opened[string](testKey, "a", strings.Repeat("x", maxSealed+1), now) },
	} {
		if v, err := f(); err == nil || v != "" {
			t.Errorf("%s: %q, %v", name, v, err)
		}
	}
}

// A subscriber of a run hears when its state changes, and nothing after unsubscribing.
func TestRunsCanBeSubscribed(t *testing.T) {
	t.Parallel()
	for _, version := range []string{modern, legacy} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			heard := make(chan string, 10)
			s := newSurface(t, newRuns(), func(o *Options) {
				o.Events = events{{ID: 1, Kind: store.KindNarration}, {ID: 2, Kind: store.KindToolResult}}
			})
			cs := connectStdio(t, s, version, &sdk.ClientOptions{ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) { heard <- r.Params.URI }})
			if err := cs.Subscribe(t.Context(), &sdk.SubscribeParams{URI: runPrefix + "r_1"}); err != nil {
				t.Fatal(err)
			}
			if got := <-heard; got != runPrefix+"r_1" {
				t.Error(got)
			}
			if err := cs.Unsubscribe(t.Context(), &sdk.UnsubscribeParams{URI: runPrefix + "r_1"}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A request that is sent again under the same key is the same call, and the keys of other clients are others.
func TestIdempotencyKeysAreTheClientsOwn(t *testing.T) {
	t.Parallel()
	service := newRuns()
	s := newSurface(t, service)
	for range 2 {
		p := &sdk.CallToolParams{Name: "browser_click", Arguments: play, Meta: sdk.Meta{metaKey: "1"}}
		if _, err := connect(t, s, legacy, nil).CallTool(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if _, err := connect(t, s, modern, nil).CallTool(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	// Two sessions are two clients; without sessions it is one that comes twice.
	keys := map[string]int{}
	for _, c := range service.calls {
		keys[c.IdempotencyKey]++
	}
	if len(keys) != 3 || keys[""] != 0 {
		t.Error(keys)
	}
}
