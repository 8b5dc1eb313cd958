package mcptest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/executors/mcpclient"
	"toolsvc/tool"
)

// clientMain is what the conformance suite starts to test clients: the executor of a backend, which reaches the suite's server, lists its
// tools and makes the calls that the scenario asks for, or one of each tool.
func clientMain(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	defer cancel()
	var scenario struct {
		ToolCalls []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
	if given := os.Getenv("MCP_CONFORMANCE_CONTEXT"); given != "" {
		if err := json.Unmarshal([]byte(given), &scenario); err != nil {
			return err
		}
	}
	e, err := mcpclient.Open(ctx, "suite", mcpclient.Backend{URL: url, Open: true, Effects: map[string]tool.EffectClass{"*": tool.ReadOnly}}, mcpclient.Options{Version: "1",
		Ask: func(context.Context, string, string, any) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"confirmed": true}}, nil
		}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err) // a server without tools is no toolset; the suite judges what it has seen
		return nil
	}
	defer e.Shutdown(ctx) //nolint:errcheck // the process ends
	call := func(spec *tool.Spec, args json.RawMessage) {
		payload, issues := spec.Decode(args)
		if issues != nil {
			fmt.Fprintln(os.Stderr, spec.ID, issues)
			return
		}
		a, err := e.Begin(ctx, &tool.Call{ID: tool.NewCallID(), RunID: "r_suite", Spec: spec, Args: payload, Raw: args}, tool.Plan{Number: 1, Source: tool.SourceSystem})
		if err == nil {
			err = a.Resolve(ctx)
		}
		if err == nil {
			err = a.Dispatch(ctx)
		}
		if err != nil { // some of the suite's tools are wrong on purpose
			fmt.Fprintln(os.Stderr, spec.ID, err)
		}
	}
	byName := map[string]*tool.Spec{}
	for _, s := range e.Specs() {
		byName[e.ServerName(s.ID)] = s
	}
	for _, c := range scenario.ToolCalls {
		// A null where the schema wants a boolean never leaves toolsvc: it is an issue. Left out, it is what the suite wants to see.
		args := map[string]any{}
		if err := json.Unmarshal(c.Arguments, &args); err != nil {
			return err
		}
		maps.DeleteFunc(args, func(_ string, v any) bool { return v == nil })
		text, err := json.Marshal(args)
		if err != nil {
			return err
		}
		if s := byName[c.Name]; s != nil {
			call(s, text)
		}
	}
	if len(scenario.ToolCalls) == 0 {
		for _, s := range e.Specs() {
			call(s, json.RawMessage(cmp.Or(string(s.Example), "{}")))
		}
	}
	return nil
}

// The client's side of the requirements, of what a backend does: it calls tools, and answers questions. The scenarios of OAuth are not its
// business (it sends the headers that it is given), nor are those of prompts and resources, which it does not use.
func TestClientConformance(t *testing.T) {
	modules(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for scenario, version := range map[string]string{
		"initialize": "2025-11-25", "tools_call": "2026-07-28", "request-metadata": "2026-07-28", "sep-2322-client-request-state": "2026-07-28", "sse-retry": "2025-11-25",
		"http-custom-headers": "2026-07-28", "http-invalid-tool-headers": "2026-07-28", "json-schema-ref-no-deref": "2026-07-28", "elicitation-sep1034-client-defaults": "2025-11-25",
	} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			conform(t, "client", "--command", self, "--scenario", scenario, "--spec-version", version, "-o", t.TempDir())
		})
	}
}
