package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/tool"
)

// asksTheUser is a call whose tool, as one of an MCP backend, asks the client's user twice, and tells meanwhile how far it is.
func asksTheUser(s **Surface) func(context.Context, tool.Request) *tool.Result {
	return func(ctx context.Context, req tool.Request) *tool.Result {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second) // as an activity: the call goes on without its request
		defer cancel()
		var said []string
		for _, field := range []string{"name", "town"} {
			(*s).Progress(req.CallID, "asking for "+field, 1, 2)
			res, err := (*s).Ask(ctx, req.CallID, "Your "+field+"?", json.RawMessage(`{"type":"object","properties":{"`+field+`":{"type":"string"}}}`))
			if err != nil {
				said = append(said, "none: "+err.Error())
				continue
			}
			said = append(said, fmt.Sprint(res.Action, " ", res.Content[field]))
		}
		return titled(req, said)
	}
}

// The questions and the progress of a backend reach the client that waits for the call, in both eras and over both transports. A client
// that shows no forms, and a user who shows no interest, dismiss them.
func TestQuestionsOfBackendsReachTheClient(t *testing.T) {
	t.Parallel()
	bothEras(t, func(t *testing.T, version string, connect func(*testing.T, *Surface, string, *sdk.ClientOptions) *sdk.ClientSession) {
		answering := func(action string) *sdk.ClientOptions {
			return &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
				if action != "accept" {
					return &sdk.ElicitResult{Action: action}, nil
				}
				field := strings.TrimSuffix(strings.TrimPrefix(r.Params.Message, "Your "), "?")
				return &sdk.ElicitResult{Action: action, Content: map[string]any{field: "my " + field}}, nil
			}}
		}
		for name, c := range map[string]struct {
			client *sdk.ClientOptions
			want   string
		}{
			"accept": {answering("accept"), "accept my name, accept my town"},
			"cancel": {answering("cancel"), "cancel <nil>, cancel <nil>"},
			"none":   {&sdk.ClientOptions{}, "cancel <nil>, cancel <nil>"},
		} {
			t.Run(name, func(t *testing.T) {
				service := &durable{runs: newRuns()}
				var s *Surface
				service.do = asksTheUser(&s)
				s = newSurface(t, service)
				told := make(chan string, 10)
				c.client.ProgressNotificationHandler = func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { told <- r.Params.Message }
				params := &sdk.CallToolParams{Name: "browser_click", Arguments: map[string]any{"target": map[string]any{"name": "Play"}}}
				params.SetProgressToken("p")
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				out, err := connect(t, s, version, c.client).CallTool(ctx, params)
				if err != nil {
					t.Fatal(err)
				}
				var result struct {
					Title string `json:"title"`
				}
				if err := json.Unmarshal(toolResult(t, out).Result, &result); err != nil || result.Title != c.want {
					t.Errorf("%s %v, want %s", textOf(out), err, c.want)
				}
				select {
				case m := <-told:
					if m != "asking for name" {
						t.Error(m)
					}
				case <-ctx.Done():
					t.Error("no progress came")
				}
				if len(s.asked.open) != 0 {
					t.Error("something is left of the call")
				}
			})
		}
	})
}

// A model that calls a tool that is not there learns which one it probably meant.
func TestUnknownToolsAreCorrected(t *testing.T) {
	t.Parallel()
	s := newSurface(t, newRuns())
	bothEras(t, func(t *testing.T, version string, connect func(*testing.T, *Surface, string, *sdk.ClientOptions) *sdk.ClientSession) {
		cs := connect(t, s, version, nil)
		for name, want := range map[string]string{"browser_klick": "Did you mean browser_click?", "browser.snapshot": "Did you mean browser_snapshot?", "run_awnser": "Did you mean run_answer?", "xyzzy": "tools/list"} {
			_, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: name})
			if err == nil || !strings.Contains(err.Error(), "There is no tool "+name) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// The text of a failure ends with what to do next, in the names of the tools that a model sees.
func TestFailuresSayWhatToDoNext(t *testing.T) {
	t.Parallel()
	failed := func(id tool.ID, f tool.Failure, r tool.Reason, message string) *tool.Result {
		return &tool.Result{Tool: id, Error: tool.NewError(f, message), RetryHint: tool.HintTarget(&tool.Spec{ID: id}, r, message, nil, nil)}
	}
	for want, r := range map[string]*tool.Result{
		"Next: look with browser_snapshot":     failed("browser.click", tool.TargetNotFound, tool.ReasonTargetNotFound, "The page has no element e99."),
		"document_outline":                     failed("document.read", tool.TargetNotFound, tool.ReasonTargetNotFound, "There is no file nope.md."),
		"Next: send the same call with what":   failed("browser.click", tool.AmbiguousTarget, tool.ReasonAmbiguousTarget, "Two are equally good."),
		"Next: look with browser_snapshot bef": {Tool: "browser.click", Error: tool.NewError(tool.OutcomeUnknown, "Lost."), RetryHint: tool.HintUnknown("browser.click", "Lost.", nil)},
	} {
		if text := inWords(r); !strings.Contains(text, want) || strings.Contains(text, "What to do") {
			t.Errorf("%s lacks %q", text, want)
		}
	}
}
